"""Which characters may stand in IRIs, in labels of blank nodes and in language tags.

Texts are checked after escapes have been undone, and only when they are new to a dictionary: a file has far fewer
distinct names than places where they occur. Non-ASCII characters are decoded from UTF-8 in labels only; a text that is
not UTF-8 is refused by whoever reads the file, so what is said of one here is of no importance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inner
from deltalog.kernels.memory import load8
from deltalog.kernels.text_scan import COLON, MINUS, PLUS, POINT, UNDERSCORE, is_digit, is_letter

MOST_IN_SUBTAG = 8  # characters, by BCP 47
DELETE, FIRST_OF_C1, AFTER_C1 = 0x7F, 0xC2, 0xA0  # the control characters U+0080 to U+009F are C2 80 to C2 9F

NOT_IN_IRI = np.zeros(256, np.bool_)
NOT_IN_IRI[[*range(0x21), *b'<>"{}|^`\\', DELETE]] = True

# PN_CHARS_BASE of N-Triples and Turtle outside of ASCII; and what PN_CHARS has beyond that.
FIRST_IN_LABEL = np.array(
    [
        *((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF), (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D)),
        *((0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFFD)),
        (0x10000, 0xEFFFF),
    ],
    np.int64,
)
LATER_IN_LABEL = np.array([(0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)], np.int64)


@inner
def iri_fault(at: Any, end: Any) -> Any:
    """The first byte that may not stand in an IRI; `end` if there is none."""
    while at < end:
        byte = load8(at)
        if NOT_IN_IRI[byte] or (byte == FIRST_OF_C1 and load8(at + 1) < AFTER_C1):
            return at
        at += 1
    return at


@inner
def has_scheme(at: Any, end: Any) -> Any:
    """Whether an IRI is absolute."""
    if at == end or not is_letter(load8(at)):
        return False
    while at < end:
        byte = load8(at)
        if byte == COLON:
            return True
        if not (is_letter(byte) or is_digit(byte) or byte == PLUS or byte == MINUS or byte == POINT):
            return False
        at += 1
    return False


@inner
def character(at: Any) -> Any:
    """The character at an address that is not ASCII, and its number of bytes."""
    byte = load8(at)
    length = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
    code = byte & (0x7F >> length)
    for i in range(1, length):
        code = (code << 6) | (load8(at + i) & 0x3F)
    return code, length


@inner
def is_among(code: Any, ranges: Any) -> Any:
    for i in range(len(ranges)):
        if ranges[i, 0] <= code <= ranges[i, 1]:
            return True
    return False


@inner
def label_fault(start: Any, end: Any) -> Any:
    """The first byte that may not stand in the label of a blank node; `end` if there is none."""
    at = start
    while at < end:
        byte, length = load8(at), 1
        if byte >= 128:
            code, length = character(at)
            fine = is_among(code, FIRST_IN_LABEL) or (at > start and is_among(code, LATER_IN_LABEL))
        else:
            fine = is_letter(byte) or is_digit(byte) or byte == UNDERSCORE
            fine = fine or (at > start and (byte == MINUS or byte == POINT))
        if not fine:
            return at
        at += length
    return end


@inner
def subtag_end(at: Any, digits: Any) -> Any:
    """The end of a run of letters (and digits); `at` itself if it is empty or too long."""
    end = at
    while is_letter(load8(end)) or (digits and is_digit(load8(end))):
        end += 1
    return at if end - at > MOST_IN_SUBTAG else end


@inner
def language_end(at: Any) -> Any:
    """The end of a language tag such as en or de-at; `at` itself if there is none."""
    end = subtag_end(at, False)
    if end == at:
        return at
    while load8(end) == MINUS:
        after = subtag_end(end + 1, True)
        if after == end + 1:
            return at
        end = after
    return at if is_digit(load8(end)) else end
