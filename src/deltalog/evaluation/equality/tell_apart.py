"""Which expressions tell the names of one individual apart.

Equality is between IRIs and blank nodes. A function of numbers or texts fails on all of these alike, and whether a
value is a literal does not depend on the name, so most conditions of ontologies hold whatever name an individual has.
`=`, `!=`, STR, SKOLEM and everything that is not known here depend on names.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltalog.core.rules import Call, Constant, Expression, Variable, variables
from deltalog.core.terms import IRI, BlankNode

# Functions whose value is a literal, and that fail for all IRIs and blank nodes, or are the same for all of them.
_OF_NUMBERS = ("<", "<=", ">", ">=", "+", "-", "*", "/", "%", "abs", "ceil", "floor", "round", "pow", "sqrt")
_OF_TEXTS = ("strlen", "substr", "ucase", "lcase", "contains", "strstarts", "strends", "replace")
_OF_LITERALS = frozenset((*_OF_NUMBERS, *_OF_TEXTS, "!", "&&", "||", "isliteral"))
_COMPARISONS = ("=", "!=")


def told_apart(expression: Expression) -> Iterator[Variable]:
    """The variables whose names matter to an expression."""
    if not isinstance(expression, Call):
        yield from variables(expression)
    elif expression.function in _OF_LITERALS or _compares_literal(expression):
        for argument in expression.arguments:
            if isinstance(argument, Call):
                yield from told_apart(argument)
    elif expression.function == "hasdatatype" and isinstance(expression.arguments[1], Constant):
        if isinstance(expression.arguments[0], Call):
            yield from told_apart(expression.arguments[0])
    else:
        yield from variables(expression)


def is_literal_valued(expression: Expression) -> bool:
    """Whether the value of an expression is always a literal."""
    match expression:
        case Constant(value):
            return not isinstance(value, IRI | BlankNode)
        case Call(function):
            return function in _OF_LITERALS or function in _COMPARISONS or function == "hasdatatype"
    return False


def _compares_literal(call: Call) -> bool:
    """Whether something is compared with a literal: no name of an individual is one."""
    return call.function in _COMPARISONS and any(map(is_literal_valued, call.arguments))
