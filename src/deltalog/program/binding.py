"""Which variables of a body get values, and which literals give them.

A positive atom gives values to its variables; an aggregate to its ON variables and its results; `BIND(e AS ?x)` and
`?x = e` to ?x, once the variables of e have theirs. The order of literals does not matter: `bound` is the least
fixpoint. `directed` writes a safe body so that an engine need not compute this again: an equality that gives a variable
its value becomes a BIND, the others stay conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from deltalog.core.limits import check_running
from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Expression,
    Filter,
    Negation,
    Rule,
    Variable,
    variables,
)
from deltalog.program.analysis import Analysis

MANY_BINDINGS = 100  # of one body: with so many, putting them in order takes a while


def direct_equalities(analysis: Analysis) -> Analysis:
    """A pass: each rule with BINDs for the equalities that give values."""
    directed = {rule: directed_rule(rule) for rule in analysis.core}
    return analysis.having(directed=directed, evaluated=tuple(directed.values()))


def bound(body: Sequence[BodyLiteral], given: Iterable[Variable] = ()) -> set[Variable]:
    """The variables that get values in a body, if some have values already."""
    return _direct(body, given)[1]


def directed(body: Sequence[BodyLiteral]) -> tuple[BodyLiteral, ...]:
    """A body in which every equality that gives a variable its value is a BIND."""
    return _direct(body)[0]


def directed_rule(rule: Rule) -> Rule:
    if all(isinstance(literal, Atom | Negation | Bind) for literal in rule.body):
        return rule
    return replace(rule, body=directed(rule.body))


def _direct(
    body: Sequence[BodyLiteral], given: Iterable[Variable] = ()
) -> tuple[tuple[BodyLiteral, ...], set[Variable]]:
    result = [replace(li, body=directed(li.body)) if isinstance(li, Aggregate) else li for li in body]
    has_value = {v for li in body if isinstance(li, Atom | Aggregate) for v in variables(li)}.union(given)
    waiting = [i for i, literal in enumerate(body) if isinstance(literal, Bind) or _is_equality(literal)]
    while waiting:
        if len(waiting) > MANY_BINDINGS:
            check_running()
        i = _next_ready(waiting, result, has_value)
        if i is None:
            break
        waiting.remove(i)
        result[i] = _as_bind(result[i], has_value)
        has_value.update(variables(result[i]))
    return tuple(result), has_value


def _next_ready(waiting: Sequence[int], body: Sequence[BodyLiteral], has_value: set[Variable]) -> int | None:
    """A BIND whose inputs are bound, else an equality; so an equality binds a variable only if no BIND does."""
    ready = [i for i in waiting if any(has_value.issuperset(variables(e)) for e in _inputs(body[i]))]
    return min(ready, key=lambda i: not isinstance(body[i], Bind), default=None)


def _inputs(literal: BodyLiteral) -> Iterator[Expression]:
    """The expressions, any one of which gives a BIND or an equality its value."""
    match literal:
        case Bind(expression=expression):
            yield expression
        case Filter(condition=Call(arguments=(left, right))):
            if isinstance(left, Variable):
                yield right
            if isinstance(right, Variable):
                yield left


def _is_equality(literal: BodyLiteral) -> bool:
    match literal:
        case Filter(condition=Call(function="=", arguments=(left, right))):
            return isinstance(left, Variable) or isinstance(right, Variable)
    return False


def _as_bind(literal: BodyLiteral, has_value: set[Variable]) -> BodyLiteral:
    """An equality as a BIND, if one side is a variable without a value and the other side has one."""
    match literal:
        case Filter(condition=Call(arguments=(left, right)), span=span):
            for variable, expression in ((left, right), (right, left)):
                free = isinstance(variable, Variable) and variable not in has_value
                if free and has_value.issuperset(variables(expression)):
                    assert isinstance(variable, Variable)
                    return Bind(expression, variable, span)
    return literal
