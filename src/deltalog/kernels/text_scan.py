"""Scanning texts at addresses: characters, escapes, numbers, IRIs.

What the kernels that read files share. Long stretches are read eight bytes at a time: the first byte of a word that
ends an IRI or a string, or may not stand in it, is found by the arithmetic of `zero_bytes`, and the hash of an IRI is
computed in the same pass. Every scan stops at a newline, so there must be one; and eight readable bytes after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inlined, inner
from deltalog.kernels.intern import finish, mix, seed
from deltalog.kernels.memory import load8, load64, store8, trailing_zeros

IRI = np.int64(2)  # of terms.Kind
TAB, NEWLINE, RETURN, SPACE, DOUBLE_QUOTE, HASH, SINGLE_QUOTE = 9, 10, 13, 32, 34, 35, 39
PLUS, MINUS, POINT, ZERO, NINE, COLON, LESS, MORE, AT, BACKSLASH, CARET, UNDERSCORE = (
    43, 45, 46, 48, 57, 58, 60, 62, 64, 92, 94, 95,
)  # fmt: skip

ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)
CONTROLS = np.uint64(0x2121212121212121)  # a byte less than 0x21 is a control character or the space
BRACKETS, WITHOUT_BIT_1 = np.uint64(0x3C3C3C3C3C3C3C3C), np.uint64(0xFDFDFDFDFDFDFDFD)  # < is 0x3C and > is 0x3E
QUOTES = np.uint64(0x2222222222222222)
BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
RETURNS = np.uint64(0x0D0D0D0D0D0D0D0D)


@inlined
def zero_bytes(word: Any) -> Any:
    """Has the high bit of the first byte that is 0 set, and of none before it."""
    return (word - ONES) & ~word & HIGHS


@inlined
def is_digit(byte: Any) -> Any:
    return (byte >= ZERO) & (byte <= NINE)


@inlined
def is_letter(byte: Any) -> Any:
    return ((byte | 32) >= 97) & ((byte | 32) <= 122)


@inlined
def is_sign(byte: Any) -> Any:
    return (byte == PLUS) | (byte == MINUS)


@inner
def is_word(byte: Any) -> Any:
    """Letters, digits, underscores, and every byte of a character outside ASCII."""
    return is_letter(byte) or is_digit(byte) or byte == UNDERSCORE or byte >= 128


@inner
def skip_blanks(at: Any) -> Any:
    while load8(at) == SPACE or load8(at) == TAB:
        at += 1
    return at


@inner
def scan_iri(at: Any) -> Any:
    """The first byte from `at` that is > or may not stand in an IRI, and the hash of the IRI up to there."""
    h = seed(IRI)
    start = at
    while True:
        w = load64(at)
        stops = ((w - CONTROLS) & ~w & HIGHS) | zero_bytes((w & WITHOUT_BIT_1) ^ BRACKETS)
        stops |= zero_bytes(w ^ QUOTES) | zero_bytes(w ^ BACKSLASHES)
        if stops:
            break
        h = mix(h, w)
        at += 8
    bits = trailing_zeros(stops) & 56
    if bits:
        h = mix(h, w & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))
    at += bits >> 3
    return at, finish(h, at - start)


@inner
def iri_end(at: Any) -> Any:
    """The first byte that is > or may not stand in an IRI, not even in an escape."""
    end, _ = scan_iri(at)
    while load8(end) == BACKSLASH:
        end, _ = scan_iri(end + 1)
    return end


@inner
def scan_string(at: Any) -> Any:
    """The first byte from `at` that is a double quote, a backslash or the end of the line."""
    while True:
        w = load64(at)
        stops = zero_bytes(w ^ QUOTES) | zero_bytes(w ^ BACKSLASHES)
        stops |= zero_bytes(w ^ NEWLINES) | zero_bytes(w ^ RETURNS)
        if stops:
            return at + (trailing_zeros(stops) >> 3)
        at += 8


@inner
def hexadecimal(at: Any, digits: Any) -> Any:
    """The character whose code is written in so many hexadecimal digits; -1 if there is none."""
    code = np.int64(0)
    for i in range(digits):
        byte = load8(at + i)
        letter = byte | 32
        if is_digit(byte):
            code = code * 16 + byte - ZERO
        elif 97 <= letter <= 102:
            code = code * 16 + letter - 87
        else:
            return np.int64(-1)
    return np.int64(-1) if code > 0x10FFFF or 0xD800 <= code < 0xE000 else code


@inner
def put_character(code: Any, to: Any) -> Any:
    """Write a character as UTF-8; gives the address after it."""
    if code < 0x80:
        store8(to, code)
        return to + 1
    length = 2 if code < 0x800 else (3 if code < 0x10000 else 4)
    for i in range(length - 1, 0, -1):
        store8(to + i, 0x80 | (code & 0x3F))
        code >>= 6
    store8(to, code | ((0xF00 >> length) & 0xFF))
    return to + length


@inner
def escaped_letter(byte: Any) -> Any:
    """The character that \\n and its like stand for; 0 for none."""
    if byte == 110:
        return NEWLINE
    if byte == 116:
        return TAB
    if byte == 114:
        return RETURN
    if byte == 98:
        return 8
    if byte == 102:
        return 12
    return byte if (byte == DOUBLE_QUOTE) | (byte == SINGLE_QUOTE) | (byte == BACKSLASH) else 0


@inner
def label_end(at: Any) -> Any:
    """The end of a blank node's label; a point is part of it, but not its last character."""
    while is_word(load8(at)) or load8(at) == MINUS or load8(at) == POINT or load8(at) == COLON:
        at += 1
    while load8(at - 1) == POINT:
        at -= 1
    return at


@inner
def digits_end(at: Any) -> Any:
    while is_digit(load8(at)):
        at += 1
    return at


@inner
def number_end(at: Any) -> Any:
    """The address after a number of the form 1, -1.5 or 2e10; `at` itself if there is none."""
    start = at + 1 if is_sign(load8(at)) else at
    end = digits_end(start)
    if end == start:
        return at
    if load8(end) == POINT and is_digit(load8(end + 1)):
        end = digits_end(end + 1)
    if load8(end) | 32 == 101:
        exponent = end + 2 if is_sign(load8(end + 1)) else end + 1
        if is_digit(load8(exponent)):
            end = digits_end(exponent)
    return end


@inner
def skip_line(at: Any) -> Any:
    while load8(at) != NEWLINE:
        at += 1
    return at
