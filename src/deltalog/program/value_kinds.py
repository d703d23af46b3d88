"""Whether `!=` on the values of a relation is `!=` on their ids.

`=` and `!=` compare numbers by value: 1, 1.0 and "1"^^xsd:int are equal, and have different ids. Integers among
themselves have one id each, and so have floats. So ids can be compared where all numbers are integers, or all floats.

Which values a relation can have depends on the facts and rules that it is derived from, directly or not: its scope. A
scope has the numbers of its explicit facts, and those that its rules introduce: constants of heads, and results of
expressions and aggregates. The analysis is by kinds of numbers, not by values, and conservative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from deltalog.core.rules import Aggregate, AggregateCall, Bind, BodyLiteral, Call, Constant, Expression, Pred, Rule
from deltalog.core.terms import Kind, kind
from deltalog.functions.function import Sort
from deltalog.functions.registry import AGGREGATES, FUNCTIONS

Kinds = frozenset[Kind]
Numbers = Callable[[Collection[Pred]], Kinds]  # the kinds of numbers in the explicit facts of some predicates

NUMERIC: Kinds = frozenset((Kind.INTEGER, Kind.BIG_INTEGER, Kind.DOUBLE, Kind.NUMBER))
ONE_ID_EACH = (frozenset((Kind.INTEGER, Kind.BIG_INTEGER)), frozenset((Kind.DOUBLE,)))


@dataclass(frozen=True, slots=True)
class Scope:
    """The predicates whose values are compared by guards, all predicates that these are derived from, and an upper
    bound of the kinds of numbers among their values."""

    preds: frozenset[Pred] = frozenset()
    numbers: Kinds = frozenset()

    @property
    def distinct(self) -> bool:
        """Whether different ids are different values."""
        return any(self.numbers <= kinds for kinds in ONE_ID_EACH)

    def covers(self, added: Collection[Pred], numbers: Numbers) -> bool:
        """Whether the kinds of numbers in added facts are in the scope already."""
        preds = self.preds.intersection(added)
        return not preds or numbers(preds) <= self.numbers


def no_numbers(_: Collection[Pred]) -> Kinds:
    return frozenset()


def scope(preds: Iterable[Pred], rules: Iterable[Rule], numbers: Numbers) -> Scope:
    """The scope of some predicates."""
    by_head: dict[Pred, list[Rule]] = {}
    for rule in rules:
        for head in rule.heads:
            by_head.setdefault(head.pred, []).append(rule)
    found, made = set(preds), set[Kind]()
    waiting = list(found)
    while waiting:
        for rule in by_head.get(waiting.pop(), ()):
            made.update(_made_by_rule(rule))
            new = rule.reads - found
            found |= new
            waiting += new
    return Scope(frozenset(found), numbers(found).union(made)) if found else Scope()


# Numbers that rules introduce.


def _made_by_rule(rule: Rule) -> Iterator[Kind]:
    for head in rule.heads:
        for term in head.terms:
            yield from _made(term)
    yield from _made_by_body(rule.body)


def _made_by_body(body: Iterable[BodyLiteral]) -> Iterator[Kind]:
    for literal in body:
        if isinstance(literal, Bind):
            yield from _made(literal.expression)
        elif isinstance(literal, Aggregate):
            yield from _made_by_body(literal.body)
            for call in literal.calls:
                yield from _aggregated(call)


def _aggregated(call: AggregateCall) -> Iterator[Kind]:
    if call.argument is not None:
        yield from _made(call.argument)
    yield from _given(AGGREGATES[call.function].gives)


def _made(expression: Expression) -> Iterator[Kind]:
    """An upper bound of the kinds of numbers that an expression adds to those of its variables."""
    if isinstance(expression, Constant):
        yield from NUMERIC.intersection((kind(expression.value),))
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _made(argument)
        yield from _given(FUNCTIONS[expression.function].gives)


def _given(result: Sort) -> Iterable[Kind]:
    """An upper bound of the kinds of numbers among results that no argument has."""
    if result is Sort.INTEGER:
        return (Kind.INTEGER,)
    return NUMERIC if result in (Sort.ANYTHING, Sort.NUMBER) else ()
