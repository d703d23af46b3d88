"""A checker of explanations that knows nothing of the engine.

It reads rules as frozen values and expressions by their reference; everything else is its own. `World` takes the rules,
the explicit facts and all facts that are claimed to hold. It lists every rule instance over them by nested loops, and
derives the facts again round by round: round 0 has the explicit facts, round n + 1 the heads of instances whose
premises are in round n or before. Negated atoms and groups of aggregates refer to all facts. So the claimed facts are
right if, and only if, the rounds end with exactly these, and the height of a fact is its round.

Facts are as users see them: a triple is a fact of its property or class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deltalog.core.rules import (
    TRIPLE,
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    Expression,
    Filter,
    Negation,
    Rule,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.extensions.explain.model import Absent, Condition, Explanation, Fact, Group, Premise, Proof, RuleAttempt
from deltalog.functions.scalar import ExpressionFails, aggregate, evaluate
from deltalog.languages.deltalog.parser import parse_goal

Row = tuple[Constant, ...]
Key = tuple[str, Row]  # a fact
Binding = dict[Variable, Constant]
TYPE = str(RDF_TYPE)


class Wrong(AssertionError):
    """An explanation that is not right."""


def key_of(name: str, values: Iterable[Value]) -> Key:
    """A fact as users see it."""
    return _shown(name, tuple(map(Constant, values)))


def _shown(name: str, row: Row) -> Key:
    if name == TRIPLE and len(row) == 3 and _is_name(row[1]):
        name, row = str(row[1].value), (row[0], row[2])
    if name == TYPE and len(row) == 2 and _is_name(row[1]):
        name, row = str(row[1].value), (row[0],)
    return name, row


def _is_name(constant: Constant) -> bool:
    return isinstance(constant.value, IRI) and ":" in constant.value


def _spellings(name: str, row: Row) -> Iterator[Key]:
    """All forms in which an atom can name a fact."""
    yield name, row
    if ":" not in name:
        return
    if len(row) == 1:
        name, row = TYPE, (row[0], Constant(IRI(name)))
        yield name, row
    if len(row) == 2:
        yield TRIPLE, (row[0], Constant(RDF_TYPE if name == TYPE else IRI(name)), row[1])


@dataclass
class World:
    """Rules by id, explicit facts, and all facts that hold."""

    rules: Mapping[str, Rule]
    explicit: set[Key]
    facts: set[Key]
    _rows: dict[tuple[str, int], list[Row]] = field(default_factory=dict)
    heights: dict[Key, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for fact in self.facts:
            for name, row in _spellings(*fact):
                self._rows.setdefault((name, len(row)), []).append(row)
        self._derive()

    def _derive(self) -> None:
        """Naive evaluation, round by round."""
        instances = [
            (key, frozenset(self.premises(rule.body, binding)))
            for rule in self.rules.values()
            for binding in self.bindings(rule.body)
            for key in self.heads(rule, binding)
        ]
        self.heights = dict.fromkeys(self.explicit, 0)
        turn = 0
        while True:
            turn += 1
            new = {head for head, needed in instances if head not in self.heights and needed <= self.heights.keys()}
            if not new:
                break
            self.heights.update(dict.fromkeys(new, turn))
        if self.heights.keys() != self.facts:
            raise Wrong(f"the facts are not those that follow: {set(self.heights) ^ self.facts}")

    # Rules.

    def heads(self, rule: Rule, binding: Binding) -> list[Key]:
        return [_shown(head.name, tuple(_value(term, binding) for term in head.terms)) for head in rule.heads]

    def bindings(self, body: Sequence[BodyLiteral], given: Binding | None = None) -> Iterator[Binding]:
        """The bindings of a body, one literal after the other."""
        yield from self._extended(list(body), given or {})

    def _extended(self, waiting: list[BodyLiteral], binding: Binding) -> Iterator[Binding]:
        if not waiting:
            yield binding
            return
        literal = min(waiting, key=lambda one: self._order(one, waiting, binding))
        rest = [one for one in waiting if one is not literal]
        for extended in self._satisfied(literal, binding):
            yield from self._extended(rest, extended)

    @staticmethod
    def _order(literal: BodyLiteral, waiting: Sequence[BodyLiteral], binding: Binding) -> int:
        """Conditions as soon as their variables are bound, negated atoms last."""
        match literal:
            case Filter(condition):
                return 0 if binding.keys() >= set(variables(condition)) else 5 - _binds(literal, binding)
            case Bind(expression):
                return 0 if binding.keys() >= set(variables(expression)) else 4
            case Negation():
                return 6
            case _:
                return 1

    def _satisfied(self, literal: BodyLiteral, binding: Binding) -> Iterator[Binding]:
        match literal:
            case Atom():
                yield from self._matches(literal, binding)
            case Negation(atom):
                if next(self._matches(atom, binding), None) is None:
                    yield binding
            case Filter(condition):
                yield from _filtered(condition, binding)
            case Bind(expression, variable):
                value = _evaluated(expression, binding)
                if value is not None and binding.get(variable, value) == value:
                    yield binding | {variable: value}
            case Aggregate():
                for group in self._groups(literal, binding):
                    yield binding | group

    def _matches(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        for row in self._rows.get((atom.name, len(atom.terms)), ()):
            extended = _unified(atom, row, binding)
            if extended is not None:
                yield extended

    def members(self, literal: Aggregate, group: Binding) -> list[Binding]:
        """The members of a group: the distinct bindings of the body for which no argument fails."""
        on = {variable: group[variable] for variable in literal.on}
        found = {frozenset(one.items()): one for one in self.bindings(literal.body, on)}
        arguments = [call.argument for call in literal.calls if call.argument is not None]
        return [one for one in found.values() if all(_evaluated(argument, one) is not None for argument in arguments)]

    def _groups(self, literal: Aggregate, binding: Binding) -> Iterator[Binding]:
        keys: dict[frozenset[tuple[Variable, Constant]], Binding] = {}
        for one in self.bindings(literal.body):
            on = {variable: one[variable] for variable in literal.on}
            keys[frozenset(on.items())] = on
        if not literal.on:
            keys[frozenset()] = {}
        for on in keys.values():
            result = self.results(literal, on)
            if result is not None and all(binding.get(v, value) == value for v, value in result.items()):
                yield result

    def results(self, literal: Aggregate, on: Binding) -> Binding | None:
        """A group with its results; None if there is none."""
        members = self.members(literal, on)
        if literal.on and not members:
            return None
        found = {variable: on[variable] for variable in literal.on}
        for call in literal.calls:
            argument = call.argument or Constant(True)
            values = [value.value for one in members if (value := _evaluated(argument, one)) is not None]
            try:
                result = Constant(aggregate(call.function, values, call.distinct and call.argument is not None))
            except ExpressionFails:
                return None
            if found.setdefault(call.variable, result) != result:
                return None
        return found

    def premises(self, body: Sequence[BodyLiteral], binding: Binding) -> Iterator[Key]:
        """The facts that an instance rests on, those of groups included."""
        for literal in body:
            if isinstance(literal, Atom):
                yield _shown(literal.name, tuple(_value(term, binding) for term in literal.terms))
            elif isinstance(literal, Aggregate):
                for member in self.members(literal, binding):
                    yield from self.premises(literal.body, member)

    # Explanations.

    def check(self, explanation: Explanation) -> None:
        """Raises Wrong unless an explanation is right."""
        asked = _key(explanation.fact)
        if explanation.holds != (asked in self.facts):
            raise Wrong(f"{explanation.fact} {'holds' if asked in self.facts else 'does not hold'}")
        if not explanation.holds:
            self._check_refutation(asked, explanation)
            return
        for number, proof in enumerate(explanation.proofs):
            if _key(proof.fact) != asked:
                raise Wrong(f"a proof of {proof.fact}, and not of {explanation.fact}")
            self.check_proof(proof, least=number == 0)
        if explanation.height != self.heights[asked]:
            raise Wrong(f"{explanation.fact} has height {self.heights[asked]}, and not {explanation.height}")

    def _check_refutation(self, asked: Key, explanation: Explanation) -> None:
        """Every rule whose head fits has an attempt, its satisfied part holds, and what has failed does not."""
        if explanation.proofs or not (explanation.attempts or explanation.reason):
            raise Wrong(f"{explanation.fact} has no explanation")
        heads = [(name, head) for name, rule in self.rules.items() for head in dict.fromkeys(rule.heads)]
        fitting = sorted(name for name, head in heads if _fits(head, asked))
        tried = sorted(attempt.rule.id for attempt in explanation.attempts)
        if tried != fitting:
            raise Wrong(f"{explanation.fact}: attempts of {tried}, and not of {fitting}")
        for attempt in explanation.attempts:
            self._check_attempt(attempt, asked, explanation.prefixes)

    def _check_attempt(self, attempt: RuleAttempt, asked: Key, prefixes: Mapping[str, str]) -> None:
        rule = self.rules[attempt.rule.id]
        binding = {Variable(name): Constant(value) for name, value in attempt.bindings.items()}
        if not any(_fits(head, asked, binding) for head in rule.heads):
            raise Wrong(f"{attempt} does not bind the head to {asked}")
        for premise in attempt.satisfied:
            if isinstance(premise, Proof):
                self.check_proof(premise, least=True)
                if not any(isinstance(one, Atom) and self._can_be(one, premise, binding) for one in rule.body):
                    raise Wrong(f"{premise} is in no atom of {rule} under {binding}")
        (failed,) = parse_goal(attempt.failed, "<failed>", prefixes)
        if isinstance(failed, Atom) and _has(self._matches(failed, {})):
            raise Wrong(f"{attempt.failed} holds")
        if isinstance(failed, Negation) and not _has(self._matches(failed.atom, {})):
            raise Wrong(f"{attempt.failed} holds")
        if not isinstance(failed, Atom | Negation) and failed not in rule.body:
            raise Wrong(f"{attempt.failed} is not in {rule}")
        if not isinstance(failed, Atom | Negation) and _has(self._satisfied(failed, binding)):
            raise Wrong(f"{attempt.failed} holds under {binding}")

    def _can_be(self, atom: Atom, proof: Proof, binding: Binding) -> bool:
        try:
            self._matched(atom, proof, binding)
        except Wrong:
            return False
        return True

    def check_proof(self, proof: Proof, least: bool) -> None:
        done: dict[int, Proof] = {}
        self._check(proof, least, done, [])
        facts = {_key(one.fact) for one in done.values()}
        if len(facts) != len(done):
            raise Wrong(f"a part of the proof of {proof.fact} is there twice")
        hidden = any(isinstance(p, Group) and p.count > len(p.members) for one in done.values() for p in one.premises)
        if not hidden and proof.steps != len(facts):
            raise Wrong(f"the proof of {proof.fact} has {len(facts)} facts, and not {proof.steps}")

    def _check(self, proof: Proof, least: bool, done: dict[int, Proof], above: list[Key]) -> None:
        key = _key(proof.fact)
        if key in above:
            raise Wrong(f"{proof.fact} rests on itself")
        if id(proof) in done:
            return
        if proof.kind == "explicit":
            if key not in self.explicit or proof.height != 0 or proof.rule is not None or proof.premises:
                raise Wrong(f"{proof.fact} is not explicit")
        else:
            self._check_step(proof, least, done, [*above, key])
        if least and proof.height != self.heights[key]:
            raise Wrong(f"{proof.fact} has height {self.heights[key]}, and not {proof.height}")
        done[id(proof)] = proof

    def _check_step(self, proof: Proof, least: bool, done: dict[int, Proof], above: list[Key]) -> None:
        if proof.rule is None or proof.rule.id not in self.rules:
            raise Wrong(f"{proof.fact} has no rule")
        rule = self.rules[proof.rule.id]
        given = {Variable(name): Constant(value) for name, value in proof.bindings.items()}
        binding, heights = self._check_body(rule.body, proof.premises, given, least, done, above)
        named = {variable for variable in binding if not variable.anonymous}
        if named != given.keys():
            raise Wrong(f"{proof.fact}: bindings of {given.keys() ^ named}")
        if _key(proof.fact) not in self.heads(rule, binding):
            raise Wrong(f"{proof.fact} is no head of {rule} under {binding}")
        if proof.height != 1 + max(heights, default=0):
            raise Wrong(f"{proof.fact}: height {proof.height} over {heights}")

    def _check_body(
        self,
        body: Sequence[BodyLiteral],
        premises: Sequence[Premise],
        given: Binding,
        least: bool,
        done: dict[int, Proof],
        above: list[Key],
    ) -> tuple[Binding, list[int]]:
        """Premises in the order of the body; the binding and the heights of all facts."""
        binding, heights, left = dict(given), list[int](), list(premises)
        for literal in body:  # atoms bind anonymous variables
            if isinstance(literal, Atom):
                proof = next((p for p in left if isinstance(p, Proof)), None)
                if proof is None:
                    raise Wrong(f"no proof for {literal}")
                left.remove(proof)
                binding = self._matched(literal, proof, binding)
                self._check(proof, least, done, above)
                heights.append(proof.height)
        rest = iter(left)
        for literal in body:
            match literal:
                case Negation(atom):
                    if not isinstance(next(rest, None), Absent) or _has(self._matches(atom, binding)):
                        raise Wrong(f"{atom} is not absent under {binding}")
                case Filter(condition):
                    if not isinstance(next(rest, None), Condition) or not _has(_filtered(condition, binding)):
                        raise Wrong(f"{condition} does not hold under {binding}")
                case Bind(expression, variable):
                    if (
                        not isinstance(next(rest, None), Condition)
                        or _evaluated(expression, binding) != binding[variable]
                    ):
                        raise Wrong(f"{expression} is not {variable} under {binding}")
                case Aggregate():
                    groups = [next(rest, None) for _ in literal.calls]
                    heights += self._check_groups(literal, groups, binding, least, done, above)
        if next(rest, None) is not None:
            raise Wrong("there are more premises than literals")
        return binding, heights

    def _matched(self, atom: Atom, proof: Proof, binding: Binding) -> Binding:
        for name, row in _spellings(*_key(proof.fact)):
            if name == atom.name and len(row) == len(atom.terms):
                extended = _unified(atom, row, binding)
                if extended is not None:
                    return extended
        raise Wrong(f"{proof.fact} does not match {atom} under {binding}")

    def _check_groups(
        self,
        literal: Aggregate,
        groups: Sequence[Premise | None],
        binding: Binding,
        least: bool,
        done: dict[int, Proof],
        above: list[Key],
    ) -> list[int]:
        result = self.results(literal, binding)
        if result is None or any(binding[variable] != value for variable, value in result.items()):
            raise Wrong(f"{literal} is not so under {binding}")
        members = self.members(literal, binding)
        heights = [self.heights[key] for member in members for key in self.premises(literal.body, member)]
        for group, call in zip(groups, literal.calls, strict=True):
            if not isinstance(group, Group) or group.function != call.function or group.count != len(members):
                raise Wrong(f"{group} is not the group of {call}")
            if tuple(map(Constant, group.key)) != tuple(binding[variable] for variable in literal.on):
                raise Wrong(f"{group.key} is not the group {binding}")
            for member in group.members:
                given = {Variable(name): Constant(value) for name, value in member.bindings.items()}
                one, _ = self._check_body(literal.body, member.premises, given, least, done, above)
                value = None if call.argument is None else _evaluated(call.argument, one)
                if one not in members or value != (None if member.value is None else Constant(member.value)):
                    raise Wrong(f"{member} is no member of {group.text}")
        return heights


def _has(bindings: Iterator[Binding]) -> bool:
    """Whether there is any; one of no variables counts, too."""
    return next(bindings, None) is not None


def _fits(head: Atom, fact: Key, binding: Binding | None = None) -> bool:
    """Whether a head can be a fact, under a binding."""
    return any(
        name == head.name and len(row) == len(head.terms) and _unified(head, row, binding or {}) is not None
        for name, row in _spellings(*fact)
    )


def _key(fact: Fact) -> Key:
    return fact.predicate, tuple(map(Constant, fact.values))


def _value(term: Variable | Constant, binding: Binding) -> Constant:
    return term if isinstance(term, Constant) else binding[term]


def _unified(atom: Atom, row: Row, binding: Binding) -> Binding | None:
    extended = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        known = extended.setdefault(term, value) if isinstance(term, Variable) else term
        if known != value:
            return None
    return extended


def _evaluated(expression: Expression, binding: Binding) -> Constant | None:
    try:
        return Constant(evaluate(expression, {variable: constant.value for variable, constant in binding.items()}))
    except ExpressionFails:
        return None


def _binds(literal: Filter, binding: Binding) -> bool:
    """Whether an equality can give a variable its value."""
    return next(_assigned(literal.condition, binding), None) is not None


def _assigned(condition: Expression, binding: Binding) -> Iterator[Binding]:
    arguments = getattr(condition, "arguments", ())
    if getattr(condition, "function", "") == "=" and len(arguments) == 2:
        for variable, other in (arguments, arguments[::-1]):
            if isinstance(variable, Variable) and variable not in binding:
                value = _evaluated(other, binding)
                if value is not None:
                    yield binding | {variable: value}


def _filtered(condition: Expression, binding: Binding) -> Iterator[Binding]:
    """The binding if the condition holds; an equality may give a variable its value."""
    if binding.keys() >= set(variables(condition)):
        if _evaluated(condition, binding) == Constant(True):
            yield binding
        return
    assigned = next(_assigned(condition, binding), None)
    if assigned is not None:
        yield assigned
