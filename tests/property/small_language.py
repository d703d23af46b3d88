"""A small rule language as values: what random campaigns draw, change, judge and print.

A variable is a text that starts with `?`. A value is an integer, an IRI (`:a`, `owl:sameAs`) or a text in quotes
(`'"a"'`). A predicate is a bare name or such an IRI. `Atom(None, (s, p, o))` is a triple with anything in its places.
Nothing here uses deltalog, so that a judge over these values shares nothing with it but the text that is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

PREFIX = "PREFIX : <http://e.x/>\n"
NAMESPACES = {
    ":": "http://e.x/",
    "owl:": "http://www.w3.org/2002/07/owl#",
    "rdf:": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs:": "http://www.w3.org/2000/01/rdf-schema#",
}
TYPE = "rdf:type"
Term = str | int | float
Row = tuple[Term, ...]
Fact = tuple[str, Row]


class Op(NamedTuple):
    """An expression: `left operator right`."""

    operator: str
    left: Any
    right: Any


class New(NamedTuple):
    """A new value, where the heads of the rule hold for no known one: `!y` of Nemo."""

    label: str
    arguments: tuple[str, ...]


class Atom(NamedTuple):
    name: str | None
    terms: tuple[Any, ...]


class Not(NamedTuple):
    body: tuple[Any, ...]


class Compare(NamedTuple):
    operator: str
    left: Any
    right: Any


class Bind(NamedTuple):
    expression: Any
    variable: str


class Call(NamedTuple):
    """A function of an aggregate: the argument None is `*`."""

    function: str
    argument: Any
    result: str
    distinct: bool = False


class Aggregate(NamedTuple):
    body: tuple[Any, ...]
    on: tuple[str, ...]
    calls: tuple[Call, ...]
    per: bool = False


class Either(NamedTuple):
    alternatives: tuple[tuple[Any, ...], ...]


class Rule(NamedTuple):
    heads: tuple[Atom, ...]
    body: tuple[Any, ...] = ()


def is_variable(term: object) -> bool:
    return isinstance(term, str) and term.startswith("?")


def is_iri(term: object) -> bool:
    return isinstance(term, str) and ":" in term and term[0] not in '?"'


def variables(part: Any) -> list[str]:
    """The variables of a literal or an expression in the order of writing; of an aggregate those that are seen outside,
    of a negation all."""
    return list(dict.fromkeys(_variables(part)))


def _variables(part: Any) -> Iterator[str]:
    match part:
        case str() | int() | float() | None:
            if is_variable(part):
                yield part
        case Atom(_, terms) | New(_, terms):
            for term in terms:
                yield from _variables(term)
        case Not(body):
            for literal in body:
                yield from _variables(literal)
        case Bind(expression, variable):
            yield from _variables(expression)
            yield variable
        case Aggregate(_, on, calls):
            yield from on
            yield from (call.result for call in calls)
        case Either(alternatives):
            for body in alternatives:
                for literal in body:
                    yield from _variables(literal)
        case Op(_, left, right) | Compare(_, left, right):
            yield from _variables(left)
            yield from _variables(right)


def bound(body: Iterable[Any]) -> list[str]:
    """The variables that a body gives values to."""
    found: dict[str, None] = {}
    for literal in body:
        if isinstance(literal, Either):
            each = [bound(alternative) for alternative in literal.alternatives]
            found.update(dict.fromkeys(name for name in each[0] if all(name in other for other in each)))
        elif isinstance(literal, Bind):
            found[literal.variable] = None
        elif not isinstance(literal, Not | Compare):
            found.update(dict.fromkeys(variables(literal)))
    return list(found)


def parts(body: Iterable[Any]) -> Iterator[Any]:
    """All literals of a body, also those inside of others."""
    for literal in body:
        yield literal
        match literal:
            case Not(inner) | Aggregate(inner, _, _, _):
                yield from parts(inner)
            case Either(alternatives):
                for each in alternatives:
                    yield from parts(each)


def expanded(rule: Rule) -> list[Rule]:
    """A rule without alternatives at the top of its body."""
    for i, literal in enumerate(rule.body):
        if isinstance(literal, Either):
            before, after = rule.body[:i], rule.body[i + 1 :]
            return [r for each in literal.alternatives for r in expanded(Rule(rule.heads, (*before, *each, *after)))]
    return [rule]


# Text.


class Spelling(NamedTuple):
    """How a program is written; all of these mean the same."""

    capitals: bool = False  # X and not ?x
    negation: str = "NOT "
    conjunction: str = ", "
    arrow: str = ":-"
    filters: bool = True  # FILTER(x < y) and not x < y
    triples: bool = False  # [?x, :r, ?y] and not :r[?x, ?y]


SPELLINGS = (
    Spelling(),
    Spelling(capitals=True, filters=False),
    Spelling(negation="!", triples=True),
    Spelling(negation="not ", conjunction=" and "),
    Spelling(arrow="<-", filters=False),
)


def write_rule(rule: Rule, spelling: Spelling = SPELLINGS[0]) -> str:
    heads = ", ".join(_literal(head, spelling) for head in rule.heads)
    return f"{heads} {spelling.arrow} {_body(rule.body, spelling)} ." if rule.body else f"{heads} ."


def write_fact(fact: Fact) -> str:
    return write_rule(Rule((Atom(*fact),)))


def _body(body: Sequence[Any], spelling: Spelling) -> str:
    return spelling.conjunction.join(_literal(literal, spelling) for literal in body)


def _literal(literal: Any, s: Spelling) -> str:
    match literal:
        case Atom(name, terms):
            return _atom(name, terms, s)
        case Not((Atom() as atom,)):
            return s.negation + _literal(atom, s)
        case Not(body):
            return f"NOT ({_body(body, s)})"
        case Compare(operator, left, right):
            text = f"{_term(left, s)} {operator} {_term(right, s)}"
            return f"FILTER({text})" if s.filters else text
        case Bind(expression, variable):
            return f"BIND({_term(expression, s)} AS {_term(variable, s)})"
        case Aggregate(body, on, calls, per):
            group = f" {'PER' if per else 'ON'} {' '.join(_term(name, s) for name in on)}" if on else ""
            return f"AGGREGATE({_body(body, s)}{group}{''.join(_call(call, s) for call in calls)})"
        case Either(alternatives):
            return f"({' ; '.join(_body(each, s) for each in alternatives)})"
    raise AssertionError(literal)


def _atom(name: str | None, terms: Sequence[Any], s: Spelling) -> str:
    written = [_term(term, s) for term in terms]
    if name is None:
        return f"[{', '.join(written)}]"
    if not is_iri(name):
        return f"{name}({', '.join(written)})"
    if s.triples:
        return f"[{written[0]}, {name}, {written[1]}]" if len(terms) == 2 else f"[{written[0]}, rdf:type, {name}]"
    return f"{name}[{', '.join(written)}]"


def _call(call: Call, s: Spelling) -> str:
    argument = "*" if call.argument is None else ("DISTINCT " if call.distinct else "") + _term(call.argument, s)
    return f" BIND {call.function}({argument}) AS {_term(call.result, s)}"


def _term(term: Any, s: Spelling) -> str:
    if isinstance(term, Op):
        return f"({_term(term.left, s)} {term.operator} {_term(term.right, s)})"
    if isinstance(term, New):
        return f"SKOLEM({', '.join((f'<deltalog:new#{term.label}>', *(_term(t, s) for t in term.arguments)))})"
    if is_variable(term) and s.capitals:
        return "V_" + str(term)[1:]
    return str(term)
