"""Safety: every variable of a rule gets its values from somewhere.

Which variables get values is found by `deltalog.program.binding`. Then
  - a variable of a head, a condition or an expression must be bound;
  - a variable of a negated atom must be bound if it occurs anywhere else in the rule. If not, it is existential there;
  - inside of an AGGREGATE the same holds on its own: its body sees nothing of the rest of the rule, and the rest sees
    only the ON variables and the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    Filter,
    Negation,
    Rule,
    Variable,
    atoms,
    variables,
)
from deltalog.program.analysis import Analysis
from deltalog.program.binding import bound


def check_safety(analysis: Analysis) -> Analysis:
    """A pass: every unsafe variable of a rule or fact."""
    rules = (core for rule in analysis.statements for core in analysis.core_of.get(rule, (rule,)))
    found = (unsafe(rule) for rule in rules if rule not in analysis.checked)
    return analysis.having(unsafe=tuple(dict.fromkeys(diagnostic for each in found for diagnostic in each)))


def unsafe(rule: Rule) -> Iterator[Diagnostic]:
    """The unsafe variables of a rule, each once."""
    if rule.is_fact:
        yield from (_variable_in_fact(v) for v in _distinct(v for head in rule.heads for v in variables(head)))
        return
    if _is_plainly_safe(rule):
        return
    anonymous = [v for head in rule.heads for v in variables(head) if v.anonymous]
    yield from map(_anonymous_in_head, anonymous)
    head = _Place("head", [v for head in rule.heads for v in variables(head) if not v.anonymous])
    yield from _unsafe_body(rule.body, head)


def _is_plainly_safe(rule: Rule) -> bool:
    """Whether the body has only atoms, and the head only variables of these: so it is with most rules."""
    if not all(isinstance(literal, Atom) for literal in rule.body):
        return False
    known = {v for atom in rule.body for v in variables(atom)}
    return all(v in known and not v.anonymous for head in rule.heads for v in variables(head))


@dataclass(frozen=True)
class _Place:
    """Where some variables occur: "head", "negation", "condition", "on", "result" or "atom"."""

    kind: str
    variables: Sequence[Variable]


def _unsafe_body(body: Sequence[BodyLiteral], outside: _Place) -> Iterator[Diagnostic]:
    places = [outside, *map(_place, body)]
    occurs_in = Counter(v for place in places for v in set(place.variables))
    has_value = bound(body)
    unbound: dict[Variable, _Place] = {}
    for place in places:
        for variable in place.variables:
            existential = place.kind == "negation" and occurs_in[variable] == 1
            if variable not in has_value and not existential:
                unbound.setdefault(variable, place)
    if unbound:
        small = {term.value for atom in atoms(tuple(body)) for term in atom.terms if isinstance(term, Constant)}
        yield from (_unbound(variable, unbound[variable], places, small) for variable in _causes(unbound, body))
    for literal in body:
        if isinstance(literal, Aggregate):
            yield from _unsafe_aggregate(literal)


def _causes(unbound: Iterable[Variable], body: Sequence[BodyLiteral]) -> Iterator[Variable]:
    """The unbound variables without those that a BIND would bind if its inputs were bound."""
    computed = {literal.variable for literal in body if isinstance(literal, Bind)}
    enough = bound(body, given=set(unbound) - computed)
    return (variable for variable in unbound if variable not in computed or variable not in enough)


def _place(literal: BodyLiteral) -> _Place:
    match literal:
        case Negation():
            kind = "negation"
        case Filter() | Bind():
            kind = "condition"
        case _:
            kind = "atom"
    return _Place(kind, list(variables(literal)))


def _unsafe_aggregate(aggregate: Aggregate) -> Iterator[Diagnostic]:
    arguments = [v for call in aggregate.calls for v in variables(call.argument)]
    yield from _unsafe_body(aggregate.body, _Place("aggregate", [*aggregate.on, *arguments]))
    inside = {v for literal in aggregate.body for v in variables(literal)}.union(aggregate.on)
    results: set[Variable] = set()
    for call in aggregate.calls:
        name = written(call.variable)
        if call.variable in inside:
            yield Diagnostic(f"{name} is a variable inside of the AGGREGATE already", call.variable.span, _RENAME)
        elif call.variable in results:
            yield Diagnostic(f"another result of the AGGREGATE is called {name} already", call.variable.span, _RENAME)
        results.add(call.variable)


_RENAME = "Choose another name for the result."

# Messages


def written(variable: Variable) -> str:
    """A variable as the user wrote it; `?x` where the language writes variables as XML."""
    text = variable.span.source.text[variable.span.start : variable.span.end] if variable.span else ""
    if text and not text.startswith("<"):
        return text
    return "_" if variable.anonymous else f"?{variable.name}"


def _distinct(many: Iterable[Variable]) -> Iterable[Variable]:
    return dict.fromkeys(many)


def _variable_in_fact(variable: Variable) -> Diagnostic:
    name = written(variable)
    hint = "A fact has only constants; a rule has a body after `:-`."
    if name[:1].isupper():
        small = name[0].lower() + name[1:]
        hint = f'A name with a capital letter is a variable. For a constant write {small} or "{name}".'
    return Diagnostic(f"the variable {name} in a fact has no value", variable.span, hint)


def _anonymous_in_head(variable: Variable) -> Diagnostic:
    hint = "Write a variable that the body mentions, or a constant."
    return Diagnostic("`_` in a head has no value", variable.span, hint)


_WHERE = {
    "head": "the head needs a value for {}, and the body gives it none",
    "condition": "{} is used here, and nothing gives it a value",
    "negation": "{} occurs in a negation and elsewhere, and nothing gives it a value",
    "aggregate": "{} is used by the AGGREGATE, and its body gives it no value",
    "atom": "{} has no value",
}


def _unbound(variable: Variable, place: _Place, places: Sequence[_Place], constants: Collection[object]) -> Diagnostic:
    """`constants` are those of the body, one of which may be the variable, written small."""
    name = written(variable)
    negated = any(other.kind == "negation" and variable in other.variables for other in places)
    inside = " inside of the AGGREGATE" if places[0].kind == "aggregate" else ""
    hint = f"Mention {name} in an atom{inside}, or compute it: BIND(... AS {name})."
    if negated:
        hint = f"NOT only checks, it gives no values. Mention {name} in an atom without NOT{inside} as well."
    if (small := name[:1].lower() + name[1:]) != name and small in constants:
        hint = f"`{small}` in the body is a constant. A variable starts with a capital letter: write {name} there, too."
    return Diagnostic(_WHERE[place.kind].format(name), variable.span, hint)
