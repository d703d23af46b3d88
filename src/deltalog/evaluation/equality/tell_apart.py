"""Which expressions tell the names of one individual apart.

Equality is between IRIs and blank nodes. A function of numbers or texts fails on all of these alike, and whether a
value is a literal does not depend on the name, so most conditions of ontologies hold whatever name an individual has.
`=`, `!=`, STR, SKOLEM and everything that is not known here depend on names.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltalog.core.rules import Call, Constant, Expression, Variable, variables
from deltalog.core.terms import IRI, BlankNode
from deltalog.functions.registry import FUNCTIONS

_COMPARISONS = ("=", "!=")


def told_apart(expression: Expression) -> Iterator[Variable]:
    """The variables whose names matter to an expression."""
    if not isinstance(expression, Call):
        yield from variables(expression)
        return
    function, compared = FUNCTIONS[expression.function], _compares_literal(expression)
    for position, argument in enumerate(expression.arguments):
        if not compared and not (function.gives.is_literal and function.sort_of(position).is_literal):
            yield from variables(argument)
        elif isinstance(argument, Call):
            yield from told_apart(argument)


def is_literal_valued(expression: Expression) -> bool:
    """Whether the value of an expression is always a literal."""
    match expression:
        case Constant(value):
            return not isinstance(value, IRI | BlankNode)
        case Call(function):
            return FUNCTIONS[function].gives.is_literal
    return False


def _compares_literal(call: Call) -> bool:
    """Whether something is compared with a literal: no name of an individual is one."""
    return call.function in _COMPARISONS and any(map(is_literal_valued, call.arguments))
