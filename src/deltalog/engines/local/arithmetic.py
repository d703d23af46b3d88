"""Expressions as code for `kernels.arithmetic`."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np

from deltalog.core.rules import Call, Constant, Expression, Variable
from deltalog.functions.souffle_functors import PREFIX as SOUFFLE
from deltalog.functions.sparql_operators import PREFIX
from deltalog.kernels import arithmetic as kernel

Register = Callable[[Variable | Constant], int]  # where the id of a term is
Ops = list[tuple[int, int, int]]

EXACT = 2**53  # integers below are exact as floats
_NUMBERS = {
    "+": kernel.ADD,
    "-": kernel.SUBTRACT,
    "*": kernel.MULTIPLY,
    "/": kernel.DIVIDE,
    "%": kernel.MODULO,
    "<": kernel.LESS,
    "<=": kernel.LESS_EQUAL,
    ">": kernel.GREATER,
    ">=": kernel.GREATER_EQUAL,
    "=": kernel.EQUAL,
    "!=": kernel.UNEQUAL,
}
# Of integers and floats these are the same in SPARQL; division is not.
_BINARY = _NUMBERS | {PREFIX + name: op for name, op in _NUMBERS.items() if name not in ("/", "%")}
_BINARY |= {"&&": kernel.AND, "||": kernel.OR}
_BINARY |= {"div": kernel.QUOTIENT, "rem": kernel.REMAINDER}
_UNARY = {"!": kernel.NOT, "abs": kernel.ABSOLUTE}
# Soufflé's functions of two numbers; `i` and `u` before the name say how the result is wrapped around to 32 bits.
_WRAPPED = {
    "+": kernel.ADD,
    "-": kernel.SUBTRACT,
    "*": kernel.LOW_PRODUCT,
    "/": kernel.QUOTIENT,
    "%": kernel.REMAINDER,
    "&": kernel.BIT_AND,
    "|": kernel.BIT_OR,
    "^": kernel.BIT_XOR,
    "<<": kernel.SHIFT_LEFT,
    ">>": kernel.SHIFT_RIGHT,
    "min": kernel.MINIMUM,
    "max": kernel.MAXIMUM,
}
_WRAPS = {f"{SOUFFLE}i": kernel.SIGNED, f"{SOUFFLE}u": kernel.UNSIGNED}
_SOUFFLE = {prefix + name: (op, wrap) for prefix, wrap in _WRAPS.items() for name, op in _WRAPPED.items()}
_NEGATED = {f"{prefix}neg": wrap for prefix, wrap in _WRAPS.items()}
_UNARY |= {f"{prefix}wrap": wrap for prefix, wrap in _WRAPS.items()}
_UNARY |= {f"{SOUFFLE}u>i": kernel.SIGNED, f"{SOUFFLE}i>u": kernel.UNSIGNED}
_TERMS = {"=": kernel.EQUAL_IDS, "!=": kernel.UNEQUAL_IDS, "sameterm": kernel.SAME}
DEPTH = 16  # of the stack


def compiled(expression: Expression, register: Register) -> Ops | None:
    """The code of an expression; None if it has anything that the kernel does not know."""
    if isinstance(expression, Variable | Constant):
        return [(kernel.ID, register(expression), 0)]
    found = _compiled(expression, register)
    return found if found is None or _depth(found) <= DEPTH else None


def _compiled(expression: Expression, register: Register) -> Ops | None:
    match expression:
        case Constant(int(value)) if not isinstance(value, bool) and -EXACT < value < EXACT:
            return [(kernel.WHOLE, 0, value)]
        case Constant(float(value)) if isfinite(value):
            return [(kernel.REAL, 0, int(np.float64(value).view(np.int64)))]
        case Variable():
            return [(kernel.NUMBER, register(expression), 0)]
        case Call(function, (Variable() | Constant() as left, Variable() | Constant() as right)) if function in _TERMS:
            return [(kernel.ID, register(left), 0), (kernel.ID, register(right), 0), (_TERMS[function], 0, 0)]
        case Call("sameterm", (Variable() as variable, computed)):
            return _with([computed], (kernel.SAME_NUMBER, register(variable), 0), register)
        case Call(function, (left, right)) if function in _BINARY:
            return _with([left, right], (_BINARY[function], 0, 0), register)
        case Call(function, (left, right)) if function in _SOUFFLE:
            op, wrap = _SOUFFLE[function]
            return _then(_with([left, right], (op, 0, 0), register), wrap)
        case Call(function, (argument,)) if function in _NEGATED:
            return _then(_with([Constant(0), argument], (kernel.SUBTRACT, 0, 0), register), _NEGATED[function])
        case Call(function, (argument,)) if function in _UNARY:
            return _with([argument], (_UNARY[function], 0, 0), register)
        case _:
            return None


def _with(arguments: list[Expression], op: tuple[int, int, int], register: Register) -> Ops | None:
    code: Ops = []
    for argument in arguments:
        found = _compiled(argument, register)
        if found is None:
            return None
        code += found
    return [*code, op]


def _then(code: Ops | None, op: int) -> Ops | None:
    return None if code is None else [*code, (op, 0, 0)]


def _depth(code: Ops) -> int:
    """At most how many values are on the stack, and one more that comparisons need."""
    return sum(op <= kernel.ID for op, _, _ in code) + 1
