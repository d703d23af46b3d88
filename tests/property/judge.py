"""Datalog, equality and a few axioms of OWL by their definitions, over Python sets. Shares nothing with deltalog.

A program is evaluated stratum by stratum: every rule is applied to all facts until nothing is new. With equality,
owl:sameAs is symmetric and transitive, and equal individuals replace each other in every place of every class and
property that is not of RDF, RDFS or OWL itself. Axioms are rules (W3C OWL 2 Profiles, tables 5 to 9).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from statistics import mean, median
from typing import Any

from tests.property.small_language import (
    TYPE,
    Aggregate,
    Atom,
    Bind,
    Call,
    Compare,
    Fact,
    New,
    Not,
    Op,
    Row,
    Rule,
    Term,
    bound,
    expanded,
    is_iri,
    is_variable,
    parts,
    variables,
)

Key = tuple[str, int]
Facts = dict[Key, set[Row]]
Binding = dict[str, Any]
SAME = "owl:sameAs"
RDF_NODE = ("any triple", 0)  # stands for all classes and properties where rules have variables in their places
MOST_GIVEN = 60  # facts with new values are among these
RESERVED = ("rdf:", "rdfs:", "owl:")


def _no_name(label: str, arguments: Row) -> Term:
    raise AssertionError("no names for new values")


class Unstratified(Exception):
    """A predicate depends on itself through a negation or an aggregate."""


class Failed(Exception):
    """An expression has no value."""


class Endless(Exception):
    """New values do not end."""


def consequences(
    rules: Iterable[Rule], facts: Iterable[Fact], equality: bool = False, name: Callable[[str, Row], Term] = _no_name
) -> Facts:
    """All facts that follow, by predicate and arity. `name` is how a new value is called."""
    single = [one for rule in rules for one in expanded(rule)]
    ordinary = [rule for rule in single if not _is_inventing(rule)]
    given = list(facts)
    found = _closed(ordinary, given, equality)
    for rules_of_level in _inventing(single, equality):
        while any([_invents(rule, ordinary, given, found, equality, name) for rule in rules_of_level]):
            pass
    return found


def _closed(single: Sequence[Rule], facts: Iterable[Fact], equality: bool) -> Facts:
    found: Facts = defaultdict(set)
    for name, row in facts:
        add(found, Atom(name, row), {})
    for stratum in _strata(single, equality):
        _close(found, stratum, equality)
    return {key: rows for key, rows in found.items() if rows}


# New values: the restricted chase.


def _is_inventing(rule: Rule) -> bool:
    return any(isinstance(literal, Bind) and isinstance(literal.expression, New) for literal in rule.body)


def _inventing(rules: Sequence[Rule], equality: bool) -> list[list[Rule]]:
    """The rules with new values by the stratum of their bodies."""
    levels, node = _leveled(rules, equality)
    found: dict[int, list[Rule]] = defaultdict(list)
    for rule in filter(_is_inventing, rules):
        found[max((levels[node(atom)] + weight for atom, weight in _reads(rule.body, 0)), default=0)].append(rule)
    return [found[level] for level in sorted(found)]


def _invents(
    rule: Rule, ordinary: Sequence[Rule], given: list[Fact], found: Facts, equality: bool, name: Callable[..., Term]
) -> bool:
    """Adds the heads of a rule for all matches of its body for which they hold with no known values; again and again
    if the rule reads its heads. Then everything that follows."""
    names = {one.variable: one.expression for one in rule.body if isinstance(one, Bind)}
    body = tuple(one for one in rule.body if not isinstance(one, Bind))
    recursive = any(isinstance(one, Atom) and one.name == head.name for one in body for head in rule.heads)
    applied = False
    while new := _without_values(rule, body, names, found, name):
        given += new
        if len(given) > MOST_GIVEN:
            raise Endless
        after = _closed(ordinary, given, equality)
        found.clear()
        found.update(after)
        applied = True
        if not recursive:
            break
    return applied


def _without_values(
    rule: Rule, body: tuple[Any, ...], names: Mapping[str, New], found: Facts, name: Callable[..., Term]
) -> list[Fact]:
    facts: list[Fact] = []
    for binding in _solutions(body, found, {}):
        shared = {v: binding[v] for head in rule.heads for v in head.terms if v in binding}
        if next(_solutions(rule.heads, found, shared), None) is None:
            new = {v: name(one.label, tuple(binding[a] for a in one.arguments)) for v, one in names.items()}
            values = {**binding, **new}
            facts += [(str(head.name), tuple(values.get(t, t) for t in head.terms)) for head in rule.heads]
    return list(dict.fromkeys(facts))


def answers(goal: Sequence[Any], facts: Facts) -> set[Row]:
    """The values of the variables of a goal, in the order of writing."""
    names = bound(goal)
    return {tuple(binding[name] for name in names) for binding in _solutions(tuple(goal), facts, {})}


def _close(facts: Facts, rules: Sequence[Rule], equality: bool) -> None:
    size = -1
    while size != (size := sum(map(len, facts.values()))):
        for rule in rules:
            for binding in list(_solutions(rule.body, facts, {})):
                for head in rule.heads:
                    add(facts, head, binding)
        if equality:
            _replace_equals(facts)


def add(facts: Facts, head: Atom, binding: Binding) -> None:
    """A fact of a head; triples are facts of their class or property."""
    row = tuple(binding.get(term, term) if is_variable(term) else term for term in head.terms)
    name = head.name
    if name is None:
        name, row = row[1], (row[0], row[2])
        if not is_iri(name):
            raise AssertionError("a triple whose predicate is not an IRI")
    if name == TYPE and len(row) == 2 and is_iri(row[1]):
        name, row = row[1], row[:1]
    facts[name, len(row)].add(row)


# Equality.


def _replace_equals(facts: Facts) -> None:
    same = facts[SAME, 2]
    same |= {(y, x) for x, y in same}
    while new := {(x, z) for x, y in same for w, z in same if y == w} - same:
        same |= new
    names = defaultdict(set)
    for x, y in same:
        names[x].add(y)
    for (name, arity), rows in list(facts.items()):
        if is_iri(name) and arity <= 2 and not name.startswith(RESERVED):
            for row in list(rows):
                rows.update(product(*(names.get(value) or (value,) for value in row)))


# Strata.


def _strata(rules: Sequence[Rule], equality: bool, strict: bool = False) -> list[list[Rule]]:
    """Rules by the stratum of their heads."""
    levels, node = _leveled(rules, equality, strict)
    by_level: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        by_level[levels[node(rule.heads[0])]].append(rule)
    return [by_level[level] for level in range(max(levels.values(), default=0) + 1)]


def _leveled(
    rules: Sequence[Rule], equality: bool, strict: bool = False
) -> tuple[dict[Key, int], Callable[[Atom], Key]]:
    """The stratum of each predicate, and what an atom is one of."""
    merged = any(_has_wildcard(rule) for rule in rules)

    def node(atom: Atom) -> Key:
        if atom.name is None or (merged and is_iri(atom.name)) or (atom.name == TYPE and len(atom.terms) == 2):
            return _class_of(atom) if not merged else RDF_NODE
        return atom.name, len(atom.terms)

    needs: dict[Key, set[tuple[Key, int]]] = defaultdict(set)
    for rule in rules:
        for head in rule.heads:
            needs[node(head)] |= {
                (node(atom), weight) for atom, weight in _reads(rule.body, int(_has_givers(rule, strict)))
            }
            needs[node(head)] |= {(node(other), 0) for other in rule.heads}
    known = {*needs, *(read for reads in needs.values() for read, _ in reads)}
    if equality and not merged:
        for key in known:
            if is_iri(key[0]) and not key[0].startswith(RESERVED):
                needs[key].add(((SAME, 2), 0))
        known.add((SAME, 2))
    return _levels(known, needs), node


def _levels(known: Iterable[Key], needs: Mapping[Key, set[tuple[Key, int]]]) -> dict[Key, int]:
    levels = dict.fromkeys(known, 0)
    for _ in range(len(levels) + 1):
        before = dict(levels)
        for key, reads in needs.items():
            levels[key] = max([levels[key], *(levels[read] + weight for read, weight in reads)])
        if levels == before:
            return levels
    raise Unstratified


def is_stratified(rules: Iterable[Rule], equality: bool = False) -> bool:
    """Whether rules are certain to be accepted: what gives values to a negated body does not depend on the head."""
    try:
        _strata([one for rule in rules for one in expanded(rule)], equality, strict=True)
    except Unstratified:
        return False
    return True


def _has_wildcard(rule: Rule) -> bool:
    atoms = [*rule.heads, *(part for part in parts(rule.body) if isinstance(part, Atom))]
    return any(
        is_variable(atom.terms[1]) or (atom.terms[1] == TYPE and is_variable(atom.terms[2]))
        for atom in atoms
        if atom.name is None
    ) or any(atom.name == TYPE and is_variable(atom.terms[1]) for atom in atoms)


def _class_of(atom: Atom) -> Key:
    terms = atom.terms if atom.name is None else (atom.terms[0], TYPE, atom.terms[1])
    return (terms[2], 1) if terms[1] == TYPE else (terms[1], 2)


def _has_givers(rule: Rule, strict: bool) -> bool:
    """Whether the rest of a rule gives values to groups or, if one is `strict`, may give some to a negated body."""
    return any(
        (isinstance(one, Aggregate) and one.per) or (strict and isinstance(one, Not) and len(one.body) > 1)
        for one in rule.body
    )


def _reads(body: Iterable[Any], weight: int) -> Iterator[tuple[Atom, int]]:
    for literal in body:
        match literal:
            case Atom():
                yield literal, weight
            case Not(inner) | Aggregate(inner, _, _, _):
                yield from _reads(inner, 1)


# Bodies.


def _solutions(body: tuple[Any, ...], facts: Facts, given: Binding) -> Iterator[Binding]:
    """The bindings of a body: one literal after the other, as soon as it can be evaluated."""
    if not body:
        yield given
        return
    i = next(i for i, literal in enumerate(_ordered(body, given)) if literal is not None)
    literal, rest = body[i], body[:i] + body[i + 1 :]
    for binding in _of_literal(literal, facts, given):
        yield from _solutions(rest, facts, binding)


def _ordered(body: Sequence[Any], given: Binding) -> list[Any]:
    """The body with None for what has to wait: for the values of an expression, or for what is outside of a negation
    or a group."""
    waiting = [not _is_ready(literal, body, given) for literal in body]
    return [None if wait else literal for wait, literal in zip(waiting, body, strict=True)]


def _is_ready(literal: Any, body: Sequence[Any], given: Binding) -> bool:
    match literal:
        case Compare():
            return all(name in given for name in variables(literal))
        case Bind(expression, _):
            return all(name in given for name in variables(expression))
        case Not():
            return not any(_gives(other) for other in body if other is not literal)
        case Aggregate(_, on, _, True):
            return all(name in given for name in on)
    return True


def _gives(literal: Any) -> bool:
    return isinstance(literal, Atom | Bind | Aggregate)


def _of_literal(literal: Any, facts: Facts, given: Binding) -> Iterator[Binding]:
    match literal:
        case Atom():
            yield from _matches(literal, facts, given)
        case Not(body):
            if next(_solutions(body, facts, given), None) is None:
                yield given
        case Compare(operator, left, right):
            if _compare(operator, left, right, given):
                yield given
        case Bind(expression, variable):
            yield from _bound(expression, variable, given)
        case Aggregate():
            yield from _groups(literal, facts, given)


def _matches(atom: Atom, facts: Facts, given: Binding) -> Iterator[Binding]:
    for row in _rows(atom, facts, given):
        binding = given
        for term, value in zip(atom.terms, row, strict=True):
            if not is_variable(term):
                if not same(term, value):
                    break
            elif term in binding:
                if not same(binding[term], value):
                    break
            else:
                binding = {**binding, term: value}
        else:
            yield binding


def _rows(atom: Atom, facts: Facts, given: Binding) -> list[Row]:
    if atom.name is None:
        return _triples(facts)
    if atom.name == TYPE and len(atom.terms) == 2:
        return [(s, o) for s, p, o in _triples(facts) if p == TYPE]
    return list(facts.get((atom.name, len(atom.terms)), ()))


def _triples(facts: Facts) -> list[Row]:
    found: list[Row] = []
    for (name, arity), rows in facts.items():
        if is_iri(name) and arity == 1:
            found += [(x, TYPE, name) for (x,) in rows]
        elif is_iri(name) and arity == 2:
            found += [(x, name, y) for x, y in rows]
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two values are one value: 1 and 1.0 are not."""
    return type(one) is type(other) and one == other


# Expressions and aggregates.


def value(expression: Any, given: Binding) -> Any:
    if isinstance(expression, Op):
        left, right = value(expression.left, given), value(expression.right, given)
        if isinstance(left, str) or isinstance(right, str):
            raise Failed
        return _arithmetic(expression.operator, left, right)
    return given[expression] if is_variable(expression) else expression


def _arithmetic(operator: str, left: Any, right: Any) -> Any:
    if operator == "%":
        if right == 0:
            raise Failed
        return left % right
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


def _compare(operator: str, left: Any, right: Any, given: Binding) -> bool:
    try:
        one, other = value(left, given), value(right, given)
    except Failed:
        return False
    alike = isinstance(one, str) == isinstance(other, str)
    if operator in ("=", "!="):
        return (alike and one == other) == (operator == "=")
    if not alike or is_iri(one) or is_iri(other):
        return False
    return bool({"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator])


def _bound(expression: Any, variable: str, given: Binding) -> Iterator[Binding]:
    try:
        found = value(expression, given)
    except Failed:
        return
    if variable not in given:
        yield {**given, variable: found}
    elif same(given[variable], found):
        yield given


def _groups(literal: Aggregate, facts: Facts, given: Binding) -> Iterator[Binding]:
    outside = {name: given[name] for name in literal.on if name in given} if literal.per else {}
    names = list(dict.fromkeys((*literal.on, *bound(literal.body))))
    rows = {tuple(one[name] for name in names) for one in _solutions(literal.body, facts, outside)}
    groups: dict[Row, list[Binding]] = defaultdict(list)
    if not literal.on:
        groups[()] = []
    if literal.per:
        groups[tuple(given[name] for name in literal.on)] = []
    for row in rows:
        binding = dict(zip(names, row, strict=True))
        groups[tuple(binding[name] for name in literal.on)].append(binding)
    for group, members in groups.items():
        yield from _joined(literal, group, members, given)


def _joined(literal: Aggregate, group: Row, members: Sequence[Binding], given: Binding) -> Iterator[Binding]:
    try:
        results = [_aggregate(call, members) for call in literal.calls]
    except Failed:
        return
    binding = dict(given)
    names = (*literal.on, *(call.result for call in literal.calls))
    for name, found in zip(names, (*group, *results), strict=True):
        if not same(binding.setdefault(name, found), found):
            return
    yield binding


def _aggregate(call: Call, members: Sequence[Binding]) -> Any:
    if call.argument is None:
        return len(members)
    found = []
    for member in members:
        try:
            found.append(value(call.argument, member))
        except Failed:
            continue
    if call.distinct:
        found = list({(type(one), one): one for one in found}.values())
    if call.function != "COUNT" and call.function not in ("MIN", "MAX") and any(isinstance(v, str) for v in found):
        raise Failed
    if not found and call.function not in ("COUNT", "SUM"):
        raise Failed
    return FUNCTIONS[call.function](found)


FUNCTIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    "COUNT": len,
    "SUM": sum,
    "MIN": min,
    "MAX": max,
    "AVG": lambda values: float(mean(values)),
    "MED": lambda values: median(values) if len(values) % 2 else float(median(values)),  # the middle one is itself
}


# Axioms.


def rules_of_axioms(triples: Iterable[Row]) -> list[Rule]:
    return [rule for axiom in triples for rule in _rules_of(*axiom)]


def _rules_of(s: Any, p: Any, o: Any) -> list[Rule]:
    x, y, z = "?x", "?y", "?z"
    if p == TYPE:
        p, q = o, s
    else:
        q = o
    a, b, r, q2 = Atom(s, (x,)), Atom(o, (x,)), Atom(s, (x, y)), Atom(q, (x, y))
    same_yz, same_xy = Atom(SAME, (y, z)), Atom(SAME, (x, y))
    kinds = {
        "rdfs:subClassOf": [Rule((b,), (a,))],
        "owl:equivalentClass": [Rule((b,), (a,)), Rule((a,), (b,))],
        "rdfs:subPropertyOf": [Rule((q2,), (r,))],
        "owl:equivalentProperty": [Rule((q2,), (r,)), Rule((r,), (q2,))],
        "rdfs:domain": [Rule((Atom(o, (x,)),), (r,))],
        "rdfs:range": [Rule((Atom(o, (y,)),), (r,))],
        "owl:inverseOf": [Rule((Atom(o, (y, x)),), (r,)), Rule((Atom(s, (y, x)),), (q2,))],
        "owl:SymmetricProperty": [Rule((Atom(s, (y, x)),), (r,))],
        "owl:TransitiveProperty": [Rule((Atom(s, (x, z)),), (r, Atom(s, (y, z))))],
        "owl:FunctionalProperty": [Rule((same_yz,), (r, Atom(s, (x, z)), Compare("!=", y, z)))],
        "owl:InverseFunctionalProperty": [Rule((same_xy,), (Atom(s, (x, z)), Atom(s, (y, z)), Compare("!=", x, y)))],
    }
    return kinds.get(p, [])
