"""Expressions as code for `kernels.arithmetic`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np

from deltalog.core.rules import Call, Constant, Expression, Variable
from deltalog.functions.registry import FUNCTIONS
from deltalog.kernels import arithmetic as kernel

Register = Callable[[Variable | Constant], int]  # where the id of a term is
Ops = list[tuple[int, int, int]]

EXACT = 2**53  # integers below are exact as floats
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
            code = _compiled(computed, register)
            return None if code is None else [*code, (kernel.SAME_NUMBER, register(variable), 0)]
        case Call(function, arguments):
            return _called(FUNCTIONS[function].kernel.split(), arguments, register)
        case _:
            return None


def _called(form: Sequence[str], arguments: Sequence[Expression], register: Register) -> Ops | None:
    """The code of a call by the form of the function, in which arguments have names."""
    given = dict(zip("xy", arguments, strict=False))
    if not form or set(form).intersection("xy") != given.keys() or len(given) != len(arguments):
        return None
    parts = [_part(given.get(word, word), register) for word in form]
    return None if None in parts else [op for part in parts for op in part or ()]


def _part(part: Expression | str, register: Register) -> Ops | None:
    if not isinstance(part, str):
        return _compiled(part, register)
    return [(kernel.WHOLE, 0, int(part)) if part.isdigit() else (getattr(kernel, part), 0, 0)]


def _depth(code: Ops) -> int:
    """At most how many values are on the stack, and one more that comparisons need."""
    return sum(op <= kernel.ID for op, _, _ in code) + 1
