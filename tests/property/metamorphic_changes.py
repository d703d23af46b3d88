"""Changes of programs that must not change what follows, in the manner of Deopt and queryFuzz.

A change takes a program and returns another one with the same facts for the predicates of the first (with new names
where `Changed.names` says so), or None where it does not apply. Helper predicates start with `h_`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.property import judge
from tests.property.metamorphic_programs import Program
from tests.property.small_language import (
    Aggregate,
    Atom,
    Bind,
    Call,
    Compare,
    Either,
    Not,
    Op,
    Rule,
    bound,
    is_iri,
    is_variable,
    parts,
    variables,
)

Key = tuple[str, int]


@dataclass
class Changed:
    """A program in the course of its changes."""

    program: Program
    random: Random
    names: dict[Key, str] = field(default_factory=dict)  # predicates that have another name now
    helpers: int = 0

    def pick(self, things: Sequence[Any]) -> Any:
        return self.random.choice(things) if things else None

    def helper(self) -> str:
        self.helpers += 1
        return f"h_{self.helpers}"

    def fresh(self) -> str:
        self.helpers += 1
        return f"?h{self.helpers}"

    def having(self, rules: Sequence[Rule] | None = None, facts: Sequence[Any] | None = None) -> bool:
        """Takes over other rules and facts, if these are stratified."""
        program = self.program
        program = replace(program, rules=tuple(program.rules if rules is None else rules))
        program = replace(program, facts=tuple(program.facts if facts is None else facts))
        stated = [rule for rule in program.rules if not rule.body and None not in {head.name for head in rule.heads}]
        more = [(head.name or "", head.terms) for rule in stated for head in rule.heads]
        rules = tuple(rule for rule in program.rules if rule not in stated)
        program = Program(rules, tuple(dict.fromkeys((*program.facts, *more))))
        if not judge.is_stratified(program.rules):
            return False
        self.program = program
        return True

    def with_rule(self, old: Rule, *new: Rule) -> list[Rule]:
        i = self.program.rules.index(old)
        return [*self.program.rules[:i], *new, *self.program.rules[i + 1 :]]

    def keys(self, *, facts: bool) -> list[Key]:
        """Predicates with bare names that have facts, or rules."""
        if facts:
            found = {(name, len(row)) for name, row in self.program.facts}
        else:
            found = {(head.name or ":", len(head.terms)) for rule in self.program.rules for head in rule.heads}
        return sorted(key for key in found if not is_iri(key[0]))


def _map(part: Any, of_atom: Callable[[Atom], Any], of_term: Callable[[Any], Any] = lambda term: term) -> Any:
    """A literal, rule or expression with its atoms and terms replaced."""

    def go(part: Any) -> Any:
        return _map(part, of_atom, of_term)

    match part:
        case Rule(heads, body):
            return Rule(tuple(map(go, heads)), tuple(map(go, body)))
        case Atom(name, terms):
            return of_atom(Atom(name, tuple(map(go, terms))))
        case Not(body):
            return Not(tuple(map(go, body)))
        case Compare(operator, left, right):
            return Compare(operator, go(left), go(right))
        case Op(operator, left, right):
            return Op(operator, go(left), go(right))
        case Bind(expression, variable):
            return Bind(go(expression), go(variable))
        case Call(function, argument, result, distinct):
            return Call(function, None if argument is None else go(argument), go(result), distinct)
        case Aggregate(body, on, calls, per):
            return Aggregate(tuple(map(go, body)), tuple(map(go, on)), tuple(map(go, calls)), per)
        case Either(alternatives):
            return Either(tuple(tuple(map(go, body)) for body in alternatives))
    return of_term(part)


def _same_atom(atom: Atom) -> Atom:
    return atom


def _all_variables(rule: Rule) -> set[str]:
    found: set[str] = set()
    _map(rule, _same_atom, lambda term: found.add(term) if is_variable(term) else None)
    return found


def substituted(rule: Any, by: Mapping[str, Any]) -> Any:
    return _map(rule, _same_atom, lambda term: by.get(term, term) if is_variable(term) else term)


# Atoms and rules.


def repeat_atom(c: Changed) -> bool:
    """An atom stands twice in its body."""
    rule = c.pick([rule for rule in c.program.rules if any(isinstance(one, Atom) for one in rule.body)])
    if rule is None:
        return False
    atom = c.pick([one for one in rule.body if isinstance(one, Atom)])
    body = list(rule.body)
    body.insert(c.random.randint(0, len(body)), atom)
    return c.having(c.with_rule(rule, Rule(rule.heads, tuple(body))))


def weaken_atom(c: Changed) -> bool:
    """Beside an atom stands the same one with a new variable in a place: it holds, too."""
    rule = c.pick([rule for rule in c.program.rules if any(isinstance(one, Atom) and one.name for one in rule.body)])
    if rule is None:
        return False
    atom = c.pick([one for one in rule.body if isinstance(one, Atom) and one.name])
    terms = list(atom.terms)
    terms[c.random.randrange(len(terms))] = c.fresh()
    return c.having(c.with_rule(rule, Rule(rule.heads, (*rule.body, Atom(atom.name, tuple(terms))))))


def reorder(c: Changed) -> bool:
    """Literals, heads, rules and facts come in another order."""

    def shuffled(things: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(c.random.sample(list(things), len(things)))

    rules = [Rule(shuffled(rule.heads), shuffled(rule.body)) for rule in c.program.rules]
    return c.having(shuffled(rules), shuffled(c.program.facts))


def rename_variables(c: Changed) -> bool:
    rules = []
    for rule in c.program.rules:
        names = sorted(_all_variables(rule))
        rules.append(substituted(rule, dict(zip(names, (c.fresh() for _ in names), strict=True))))
    return c.having(rules)


def rename_predicate(c: Changed) -> bool:
    key = c.pick(sorted({*c.keys(facts=True), *c.keys(facts=False)}))
    if key is None or key[0].startswith("h_"):
        return False
    new = c.helper() + "_renamed"

    def renamed(atom: Atom) -> Atom:
        return Atom(new, atom.terms) if (atom.name, len(atom.terms)) == key else atom

    rules = [_map(rule, renamed) for rule in c.program.rules]
    facts = [(new if (name, len(row)) == key else name, row) for name, row in c.program.facts]
    original = next((old for old, name in c.names.items() if (name, old[1]) == key), key)
    c.names[original] = new
    return c.having(rules, facts)


def subsumed_rule(c: Changed) -> bool:
    """A rule comes again: with other names, with more in its body, or with a constant for a variable."""
    rule = c.pick(c.program.rules)
    if rule is None:
        return False
    if any(isinstance(one, Aggregate | Not | Either) for one in rule.body):
        names = sorted(_all_variables(rule))
        return c.having([*c.program.rules, substituted(rule, {name: c.fresh() for name in names})])
    kind = c.random.randrange(2)
    values = sorted({value for _, row in c.program.facts for value in row}, key=str)
    targets = {literal.variable for literal in rule.body if isinstance(literal, Bind)}
    names = sorted(_all_variables(rule) - targets)
    if kind == 0 and values and names:
        copy = substituted(rule, {c.pick(names): c.pick(values)})
        return is_safe(copy) and c.having([*c.program.rules, copy])
    more = c.pick([one for other in c.program.rules for one in other.body if isinstance(one, Atom)])
    return more is not None and c.having([*c.program.rules, Rule(rule.heads, (*rule.body, more))])


def is_safe(rule: Rule) -> bool:
    """Whether heads, comparisons and expressions have values for their variables."""
    needed = [Not(rule.heads), *(one for one in rule.body if isinstance(one, Compare))]
    needed += [one.expression for one in rule.body if isinstance(one, Bind)]
    return {name for one in needed for name in variables(one)} <= set(bound(rule.body))


def split_heads(c: Changed) -> bool:
    rule = c.pick([rule for rule in c.program.rules if len(rule.heads) > 1])
    return rule is not None and c.having(c.with_rule(rule, *(Rule((head,), rule.body) for head in rule.heads)))


def expand_alternatives(c: Changed) -> bool:
    """Each alternative is a rule."""
    rule = c.pick([rule for rule in c.program.rules if any(isinstance(one, Either) for one in rule.body)])
    if rule is None:
        return False
    i = next(i for i, one in enumerate(rule.body) if isinstance(one, Either))
    before, after = rule.body[:i], rule.body[i + 1 :]
    return c.having(
        c.with_rule(rule, *(Rule(rule.heads, (*before, *each, *after)) for each in rule.body[i].alternatives))
    )


def join_rules(c: Changed) -> bool:
    """Two rules with one head become alternatives."""
    pairs = [
        (one, other)
        for one in c.program.rules
        for other in c.program.rules
        if one is not other
        and one.heads == other.heads
        and not any(isinstance(x, Either) for x in (*one.body, *other.body))
    ]
    if not pairs:
        return False
    one, other = c.pick(pairs)
    rest = [rule for rule in c.program.rules if rule not in (one, other)]
    return c.having([*rest, Rule(one.heads, (Either((one.body, other.body)),))])


# Predicates.


def split_facts(c: Changed) -> bool:
    """p = p1 + p2: each fact of p is a fact of one of two predicates."""
    key = c.pick(c.keys(facts=True))
    if key is None:
        return False
    new = (c.helper(), c.helper())
    facts = [(c.pick(new) if (name, len(row)) == key else name, row) for name, row in c.program.facts]
    terms = tuple(f"?v{i}" for i in range(key[1]))
    return c.having([*c.program.rules, *(Rule((Atom(key[0], terms),), (Atom(name, terms),)) for name in new)], facts)


def split_rules(c: Changed) -> bool:
    """p = p1 + p2: each rule of p derives one of two predicates."""
    key = c.pick(c.keys(facts=False))
    if key is None:
        return False
    new = (c.helper(), c.helper())
    rules = []
    for rule in c.program.rules:
        heads = [Atom(c.pick(new), h.terms) if (h.name, len(h.terms)) == key else h for h in rule.heads]
        rules.append(Rule(tuple(heads), rule.body))
    terms = tuple(f"?v{i}" for i in range(key[1]))
    return c.having([*rules, *(Rule((Atom(key[0], terms),), (Atom(name, terms),)) for name in new)])


def merge_facts(c: Changed) -> bool:
    """Two predicates become one with a tag."""
    keys = c.keys(facts=True)
    pairs = [(p, q) for p in keys for q in keys if p < q and p[1] == q[1]]
    if not pairs:
        return False
    pair, new = c.pick(pairs), c.helper()
    facts = []
    for name, row in c.program.facts:
        inside = (name, len(row)) in pair
        facts.append((new, (f'"{name}"', *row)) if inside else (name, row))
    terms = tuple(f"?v{i}" for i in range(pair[0][1]))
    made = [Rule((Atom(name, terms),), (Atom(new, (f'"{name}"', *terms)),)) for name, _ in pair]
    return c.having([*c.program.rules, *made], facts)


def copy_predicate(c: Changed) -> bool:
    """A rule reads a copy of a predicate."""
    rule = c.pick([rule for rule in c.program.rules if any(isinstance(p, Atom) and p.name for p in parts(rule.body))])
    if rule is None:
        return False
    atom = c.pick([part for part in parts(rule.body) if isinstance(part, Atom) and part.name])
    new, terms = c.helper(), tuple(f"?v{i}" for i in range(len(atom.terms)))
    body = tuple(_map(one, lambda a: Atom(new, a.terms) if a == atom else a) for one in rule.body)
    copied = Rule((Atom(new, terms),), (Atom(atom.name, terms),))
    return c.having([*c.with_rule(rule, Rule(rule.heads, body)), copied])


# Facts and constants.


def facts_to_rules(c: Changed) -> bool:
    """Facts are derived from a fact that always holds."""
    new = c.helper()
    moved = [fact for fact in c.program.facts if c.random.random() < 0.4]
    if not moved:
        return False
    rules = [Rule((Atom(name, row),), (Atom(new, (1,)),)) for name, row in moved]
    return c.having([*c.program.rules, *rules], [*(f for f in c.program.facts if f not in moved), (new, (1,))])


def body_to_predicate(c: Changed) -> bool:
    """The body of a rule becomes a predicate."""
    rule = c.pick(c.program.rules)
    if rule is None:
        return False
    names = tuple(sorted(set(variables(Not(rule.heads)))))
    head = Atom(c.helper(), names or (0,))
    return c.having(c.with_rule(rule, Rule((head,), rule.body), Rule(rule.heads, (head,))))


def constant_to_fact(c: Changed) -> bool:
    """A constant of an atom becomes a variable with a fact."""
    return _constant_out(c, as_filter=False)


def constant_to_filter(c: Changed) -> bool:
    """A constant of an atom becomes a variable with a comparison."""
    return _constant_out(c, as_filter=True)


def _constant_out(c: Changed, as_filter: bool) -> bool:
    found = [
        (rule, i, j)
        for rule in c.program.rules
        for i, atom in enumerate(rule.body)
        if isinstance(atom, Atom) and atom.name
        for j, term in enumerate(atom.terms)
        if not is_variable(term)
    ]
    if not found:
        return False
    (rule, i, j), name, new = c.pick(found), c.fresh(), c.helper()
    atom = rule.body[i]
    value = atom.terms[j]
    atom = Atom(atom.name, (*atom.terms[:j], name, *atom.terms[j + 1 :]))
    more = Compare("=", name, value) if as_filter else Atom(new, (name,))
    rules = c.with_rule(rule, Rule(rule.heads, (*rule.body[:i], atom, more, *rule.body[i + 1 :])))
    return c.having(rules, c.program.facts if as_filter else [*c.program.facts, (new, (value,))])


# Negation.


def double_negation(c: Changed) -> bool:
    """An atom whose variables have values elsewhere holds if its absence does not."""
    found = []
    for rule in c.program.rules:
        for i, literal in enumerate(rule.body):
            rest = rule.body[:i] + rule.body[i + 1 :]
            if isinstance(literal, Atom | Not) and _stands_alone(rest):
                needed = variables(literal) if isinstance(literal, Atom) else ()
                if set(needed) <= set(bound(rest)) and is_safe(Rule(rule.heads, rest)):
                    found.append((rule, literal, rest))
    if not found:
        return False
    rule, literal, rest = c.pick(found)
    names = tuple(bound(rest)) or (0,)
    absent = Atom(c.helper(), names)
    if isinstance(literal, Atom):
        made = [Rule((absent,), (*rest, Not((literal,))))]
    else:
        present = Atom(c.helper(), names)
        made = [Rule((present,), (*rest, literal)), Rule((absent,), (*rest, Not((present,))))]
    return c.having([*c.with_rule(rule, Rule(rule.heads, (*rest, Not((absent,))))), *made])


def _stands_alone(rest: Sequence[Any]) -> bool:
    """Whether what is left is a body: something gives values, and expressions have theirs."""
    names = set(bound(rest))
    needed = [one for one in rest if isinstance(one, Compare | Bind | Aggregate)]
    per = [one for one in needed if isinstance(one, Aggregate) and one.per]
    given = set(bound(one for one in rest if isinstance(one, Atom)))
    conditions = (one for one in needed if isinstance(one, Compare))
    computed = (name for one in needed if isinstance(one, Bind) for name in variables(one.expression))
    return (
        any(isinstance(one, Atom) for one in rest)
        and all(set(variables(one)) <= names for one in conditions)
        and set(computed) <= names
        and all(set(one.on) <= given for one in per)
    )


# Unfolding.


def unfold(c: Changed) -> bool:
    """An atom is replaced by the bodies of all rules, and by all facts, that give it."""
    derived = c.keys(facts=False)
    found = [
        (rule, i)
        for rule in c.program.rules
        for i, atom in enumerate(rule.body)
        if isinstance(atom, Atom) and (atom.name, len(atom.terms)) in derived
    ]
    if not found:
        return False
    rule, i = c.pick(found)
    made = _unfolded(c, rule, i)
    return made is not None and len(made) <= 12 and c.having(c.with_rule(rule, *made))


def _unfolded(c: Changed, rule: Rule, i: int) -> list[Rule] | None:
    atom, made = rule.body[i], []
    for head, body in _definitions(c, atom):
        binding = _unified(atom.terms, head.terms)
        if binding is None:
            continue
        body = (*rule.body[:i], *body, *rule.body[i + 1 :])
        if any(_needs_variables(one, binding) for one in parts(body)):
            return None
        made.append(substituted(Rule(rule.heads, body), binding))
    return [one for one in made if one.body or not variables(Not(one.heads))]


def _definitions(c: Changed, atom: Atom) -> Iterator[tuple[Atom, tuple[Any, ...]]]:
    key = (atom.name, len(atom.terms))
    for rule in c.program.rules:
        fresh = substituted(rule, {name: c.fresh() for name in sorted(_all_variables(rule))})
        yield from ((head, fresh.body) for head in fresh.heads if (head.name, len(head.terms)) == key)
    for name, row in c.program.facts:
        if (name, len(row)) == key:
            yield Atom(name, row), ()


def _unified(terms: Sequence[Any], others: Sequence[Any]) -> dict[str, Any] | None:
    binding: dict[str, Any] = {}

    def of(term: Any) -> Any:
        while is_variable(term) and term in binding:
            term = binding[term]
        return term

    for one, other in zip(map(of, terms), others, strict=True):
        one, other = of(one), of(other)
        if is_variable(other):
            if one != other:
                binding[other] = one
        elif is_variable(one):
            binding[one] = other
        elif one != other:
            return None
    return {name: of(name) for name in binding}


def _needs_variables(literal: Any, binding: Mapping[str, Any]) -> bool:
    """Whether a literal has a variable where no constant may stand, or in its local part, and would lose it."""
    match literal:
        case Aggregate(_, _, calls):
            inside = {name for part in parts((literal,)) for name in variables(part)}
            after = {binding.get(name, name) for name in inside}
            results = {call.result for call in calls}
            return len(after) < len(inside) or not all(map(is_variable, after)) or bool(results & binding.keys())
        case Bind(_, variable):
            return binding.get(variable, variable) != variable
    return False


CHANGES: dict[str, Callable[[Changed], bool]] = {
    change.__name__: change
    for change in (
        repeat_atom,
        weaken_atom,
        reorder,
        rename_variables,
        rename_predicate,
        subsumed_rule,
        split_heads,
        expand_alternatives,
        join_rules,
        split_facts,
        split_rules,
        merge_facts,
        copy_predicate,
        facts_to_rules,
        body_to_predicate,
        constant_to_fact,
        constant_to_filter,
        double_negation,
        unfold,
    )
}
