"""Expressions over the ids of one binding: a stack machine for integers, doubles, conditions and ids.

An expression is some lines of operations in postfix order: an operation, a register (of those that hold ids) and a
word. It computes what `deltalog.functions.scalar` says, or gives up: on values of other kinds, on results that do not
fit, on divisions by zero. Then the caller evaluates the expression by that reference.

A value on the stack is two words: its kind, and an integer, a truth value, an id or the bits of a double. Everything is
taken by address: see `kernels.intern`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inner
from deltalog.kernels.intern import COUNT, DOUBLES, INTEGERS, KINDS, put_word
from deltalog.kernels.memory import bits_of, get, load8, put, real_of

OP, REGISTER, WORD = range(3)
OP_FIELDS = 3
NUMBER, WHOLE, REAL, ID, ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, ABSOLUTE = range(10)
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL, AND, OR, NOT = range(10, 19)
SAME, EQUAL_IDS, UNEQUAL_IDS, SAME_NUMBER = range(19, 23)
# Of integers only. SIGNED and UNSIGNED keep the lowest 32 bits; LOW_PRODUCT and SHIFT_LEFT are right in these.
SIGNED, UNSIGNED, QUOTIENT, REMAINDER, LOW_PRODUCT, BIT_AND, BIT_OR, BIT_XOR = range(23, 31)
SHIFT_LEFT, SHIFT_RIGHT, MINIMUM, MAXIMUM = range(31, 35)
# Kinds of values: those of `terms.Kind`, as far as they have numbers, and those of the stack.
INTEGER, BIG_INTEGER, DOUBLE, OTHER_NUMBER = 4, 5, 6, 7
TRUTH, AN_ID = 32, 33
EXACT = 2.0**53  # integers below are exact as doubles; the next one after it is rounded to it
LOW, HIGHEST_LOW = 0xFFFFFFFF, 1 << 31  # the lowest 32 bits, and the highest of them
INT64 = 2.0**63 - 2.0**13  # results below surely fit: factors and product are rounded, by one part in 2**53 each


@inner
def _kind(stack: Any, at: Any) -> Any:
    return get(stack, 2 * at)


@inner
def _word(stack: Any, at: Any) -> Any:
    return get(stack, 2 * at + 1)


@inner
def _push(stack: Any, at: Any, kind: Any, word: Any) -> Any:
    put(stack, 2 * at, kind)
    put(stack, 2 * at + 1, word)
    return True


@inner
def _push_real(stack: Any, at: Any, real: Any) -> Any:
    """A computed double, if it is finite; a zero is positive."""
    return np.isfinite(real) and _push(stack, at, DOUBLE, bits_of(real + 0.0))


@inner
def _load(stack: Any, at: Any, id: Any, room: Any) -> Any:
    """The number behind an id."""
    kind = load8(get(room, KINDS) + id)
    if kind == INTEGER:
        return _push(stack, at, INTEGER, get(get(room, INTEGERS), id))
    word = get(get(room, DOUBLES), id)
    return kind == DOUBLE and np.isfinite(real_of(word)) and _push(stack, at, DOUBLE, word)


@inner
def _real(stack: Any, at: Any) -> Any:
    return np.float64(_word(stack, at)) if _kind(stack, at) == INTEGER else real_of(_word(stack, at))


@inner
def _is_number(stack: Any, at: Any) -> Any:
    return _kind(stack, at) == INTEGER or _kind(stack, at) == DOUBLE


@inner
def _are_numbers(stack: Any, at: Any, exact: Any) -> Any:
    """Whether there are two numbers; if they become doubles, without loss."""
    if not (_is_number(stack, at) and _is_number(stack, at + 1)):
        return False
    return not exact or (abs(_real(stack, at)) < EXACT and abs(_real(stack, at + 1)) < EXACT)


@inner
def _are_whole(stack: Any, at: Any) -> Any:
    return _kind(stack, at) == INTEGER and _kind(stack, at + 1) == INTEGER


@inner
def _real_result(op: Any, a: Any, b: Any) -> Any:
    if op == ADD:
        return a + b
    if op == SUBTRACT:
        return a - b
    return a * b


@inner
def _divide(stack: Any, at: Any, op: Any) -> Any:
    whole = _are_whole(stack, at)
    if not _are_numbers(stack, at, op == DIVIDE) or _real(stack, at + 1) == 0.0 or (op == MODULO and not whole):
        return False
    if op == DIVIDE:
        return _push_real(stack, at, _real(stack, at) / _real(stack, at + 1))
    a, b = _word(stack, at), _word(stack, at + 1)
    return _push(stack, at, INTEGER, 0 if b == -1 else a % b)  # the processor does not divide the least one by -1


@inner
def _calculate(stack: Any, at: Any, op: Any) -> Any:
    whole = _are_whole(stack, at)
    if not _are_numbers(stack, at, not whole):
        return False
    result = _real_result(op, _real(stack, at), _real(stack, at + 1))
    if not whole:
        return _push_real(stack, at, result)
    if abs(result) > INT64:
        return False
    return _push(stack, at, INTEGER, _real_result(op, _word(stack, at), _word(stack, at + 1)))


@inner
def _wrap(stack: Any, at: Any, op: Any) -> Any:
    if _kind(stack, at) != INTEGER:
        return False
    word = _word(stack, at)
    return _push(stack, at, INTEGER, word & LOW if op == UNSIGNED else ((word + HIGHEST_LOW) & LOW) - HIGHEST_LOW)


@inner
def _cut_off(stack: Any, at: Any, op: Any) -> Any:
    """Quotient and remainder, cut off at the point: the remainder has the sign of the dividend."""
    a, b = _word(stack, at), _word(stack, at + 1)
    if b == 0 or abs(np.float64(a)) > INT64:
        return False
    remainder = 0 if b == -1 else a % b
    if remainder != 0 and (a < 0) != (b < 0):
        remainder -= b
    return _push(stack, at, INTEGER, remainder if op == REMAINDER else (a - remainder) // b)


@inner
def _bits(op: Any, a: Any, b: Any) -> Any:
    if op == BIT_AND:
        return a & b
    if op == BIT_OR:
        return a | b
    return a ^ b


@inner
def _shifted(op: Any, a: Any, b: Any) -> Any:
    if op == SHIFT_LEFT:
        return ((a & LOW) << (b & 31)) & LOW
    return a >> (b & 31)


@inner
def _of_integers(stack: Any, at: Any, op: Any) -> Any:
    if not _are_whole(stack, at):
        return False
    if op <= REMAINDER:
        return _cut_off(stack, at, op)
    a, b = _word(stack, at), _word(stack, at + 1)
    if op == LOW_PRODUCT:
        return _push(stack, at, INTEGER, (a * b) & LOW)
    if op <= BIT_XOR:
        return _push(stack, at, INTEGER, _bits(op, a, b))
    if op <= SHIFT_RIGHT:
        return _push(stack, at, INTEGER, _shifted(op, a, b))
    return _push(stack, at, INTEGER, min(a, b) if op == MINIMUM else max(a, b))


@inner
def _ordered(op: Any, a: Any, b: Any) -> Any:
    if op == LESS or op == LESS_EQUAL:
        return a < b or (op == LESS_EQUAL and a == b)
    if op == GREATER or op == GREATER_EQUAL:
        return a > b or (op == GREATER_EQUAL and a == b)
    return (a == b) == (op == EQUAL)


@inner
def _compare(stack: Any, at: Any, op: Any) -> Any:
    if not _are_numbers(stack, at, _kind(stack, at) != _kind(stack, at + 1)):
        return False
    if _are_whole(stack, at):
        return _push(stack, at, TRUTH, np.int64(_ordered(op, _word(stack, at), _word(stack, at + 1))))
    return _push(stack, at, TRUTH, np.int64(_ordered(op, _real(stack, at), _real(stack, at + 1))))


@inner
def _is_one_value(id: Any, room: Any) -> Any:
    """Whether no other id has an equal value."""
    kind = load8(get(room, KINDS) + id)
    return kind < BIG_INTEGER or kind > OTHER_NUMBER


@inner
def _compare_ids(stack: Any, at: Any, op: Any, room: Any) -> Any:
    """= and !=: by id, unless numbers of different kinds could be equal."""
    a, b = _word(stack, at), _word(stack, at + 1)
    if op == SAME or a == b or (_is_one_value(a, room) and _is_one_value(b, room)):
        return _push(stack, at, TRUTH, np.int64((a == b) == (op != UNEQUAL_IDS)))
    if not (_load(stack, at, a, room) and _load(stack, at + 1, b, room)):
        return False
    return _compare(stack, at, EQUAL if op == EQUAL_IDS else UNEQUAL)


@inner
def _same_number(stack: Any, at: Any, id: Any, room: Any) -> Any:
    """Whether an id is that of the number on the stack."""
    if not _is_number(stack, at):
        return False
    same = _load(stack, at + 1, id, room) and _kind(stack, at) == _kind(stack, at + 1)
    return _push(stack, at, TRUTH, np.int64(same and _word(stack, at) == _word(stack, at + 1)))


@inner
def _connect(stack: Any, at: Any, op: Any) -> Any:
    if _kind(stack, at) != TRUTH or _kind(stack, at + 1) != TRUTH:
        return False
    a, b = _word(stack, at), _word(stack, at + 1)
    return _push(stack, at, TRUTH, a & b if op == AND else a | b)


@inner
def _term(stack: Any, at: Any, op: Any, id: Any, word: Any, room: Any) -> Any:
    """A value without operands, or one of the value that is there already."""
    if op == NUMBER:
        return _load(stack, at, id, room)
    if op == WHOLE:
        return _push(stack, at, INTEGER, word)
    if op == REAL:
        return _push(stack, at, DOUBLE, word)
    if op == ID:
        return _push(stack, at, AN_ID, id)
    if op == SAME_NUMBER:
        return _same_number(stack, at, id, room)
    if op == NOT:
        return _kind(stack, at) == TRUTH and _push(stack, at, TRUTH, 1 - _word(stack, at))
    if op == SIGNED or op == UNSIGNED:
        return _wrap(stack, at, op)
    if not _is_number(stack, at) or abs(_real(stack, at)) > INT64:
        return False
    if _kind(stack, at) == DOUBLE:
        return _push_real(stack, at, abs(_real(stack, at)))
    return _push(stack, at, INTEGER, abs(_word(stack, at)))


@inner
def _combined(stack: Any, at: Any, op: Any, room: Any) -> Any:
    """An operation of two values."""
    if op == DIVIDE or op == MODULO:
        return _divide(stack, at, op)
    if op < DIVIDE:
        return _calculate(stack, at, op)
    if op <= UNEQUAL:
        return _compare(stack, at, op)
    if op <= OR:
        return _connect(stack, at, op)
    if op >= QUOTIENT:
        return _of_integers(stack, at, op)
    return _compare_ids(stack, at, op, room)


@inner
def computed(stack: Any, ops: Any, first: Any, last: Any, registers: Any, room: Any) -> Any:
    """Leaves the value of an expression at the bottom of the stack; False if it gives up."""
    top = 0
    for i in range(first, last):
        op, done = get(ops, OP_FIELDS * i + OP), False
        if op <= ID or op == ABSOLUTE or op == NOT or (SAME_NUMBER <= op and op <= UNSIGNED):
            top += op <= ID
            id = get(registers, get(ops, OP_FIELDS * i + REGISTER))
            done = _term(stack, top - 1, op, id, get(ops, OP_FIELDS * i + WORD), room)
        else:
            top -= 1
            done = _combined(stack, top - 1, op, room)
        if not done:
            return False
    return True


@inner
def truth(stack: Any) -> Any:
    """The truth value at the bottom of the stack; -1 if there is none."""
    return _word(stack, 0) if _kind(stack, 0) == TRUTH else np.int64(-1)


@inner
def interned(stack: Any, room: Any) -> Any:
    """The id of the value at the bottom of the stack, which is added if it is new (there must be room); 0 if it is
    neither an id nor a number."""
    kind, word = _kind(stack, 0), _word(stack, 0)
    if kind == AN_ID or not _is_number(stack, 0):
        return word if kind == AN_ID else np.int64(0)
    before, real = get(room, COUNT), bits_of(_real(stack, 0))
    id = put_word(word, kind, get(room, INTEGERS if kind == INTEGER else DOUBLES), room)
    if id == before:
        put(get(room, INTEGERS), id, word if kind == INTEGER else 0)
        put(get(room, DOUBLES), id, real)
    return id
