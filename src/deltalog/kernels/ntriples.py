"""N-Triples and N-Quads from bytes to ids, one pass, no Python object on the way.

`parse` reads whole lines of a buffer and interns their terms in a room (see `deltalog.kernels.intern`), giving three
columns of that room's ids. A subject equal to that of the line before is recognised without hashing it again.

The buffer must end with a newline, and eight readable bytes must follow that. Every scan stops at a newline, so no
check for the end of the buffer is needed elsewhere. The room must have space for three ids a line, and for as much text
as the lines have: what is kept of a term is never longer than its spelling. Escapes are undone right at the end of the
heap, where the text has to be if it is new.

Terms that only Python can make a value of are kept as texts of two kinds of their own, once for each distinct term:
RAW_TYPED (`datatype NUL text`, an XML Schema datatype) and RAW_BARE (a number, or true or false, without quotes).

Names are checked when they are new to the room (see `deltalog.kernels.rdf_names`).

`group` then brings the triples of each predicate together, and those of each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.intern import (
    COUNT,
    HEAP,
    INTEGERS,
    OFFSETS,
    put_hashed,
    put_text,
    put_word,
    same_text,
)
from deltalog.kernels.memory import get, load8, load64, put, store8
from deltalog.kernels.rdf_names import has_scheme, iri_fault, label_fault, language_end
from deltalog.kernels.text_scan import (
    AT,
    BACKSLASH,
    CARET,
    COLON,
    DOUBLE_QUOTE,
    HASH,
    IRI,
    LESS,
    MINUS,
    MORE,
    NEWLINE,
    POINT,
    RETURN,
    UNDERSCORE,
    ZERO,
    escaped_letter,
    hexadecimal,
    iri_end,
    is_digit,
    is_letter,
    is_sign,
    is_word,
    label_end,
    number_end,
    put_character,
    scan_iri,
    scan_string,
    skip_blanks,
    skip_line,
)

# Kinds of terms.Kind, and two of our own.
BLANK, INTEGER, STRING, LANGUAGE, TYPED = map(np.int64, (1, 4, 10, 11, 12))
RAW_TYPED, RAW_BARE = map(np.int64, (100, 101))

# Fields of the state of a parser: the rooms' addresses, what has just been read, and the subject before.
# STRICT: what is wrong beyond errors of syntax: nothing, relative IRIs and bare values, or graphs as well.
ROOM, XSD, ID, ERROR, PLACE, BEFORE, BEFORE_LENGTH, BEFORE_ID, STRICT = range(9)
STATE = 9
LENIENT, STRICT_QUADS, STRICT_TRIPLES = range(3)

# What was expected where a line is wrong.
FINE, SUBJECT, PREDICATE, OBJECT, IN_IRI, LABEL, QUOTE, ESCAPE, LANGUAGE_TAG, DATATYPE, DOT, END_OF_LINE = map(
    np.int64, range(12)
)
IRI_CHARACTER, IRI_ESCAPE, ABSOLUTE, LABEL_CHARACTER = map(np.int64, range(12, 16))

INTEGER_NAME = np.uint64(int.from_bytes(b"integer>", "little"))
STRING_NAME = np.uint64(int.from_bytes(b"string>\0", "little"))
TRUE = np.uint64(int.from_bytes(b"true", "little"))
FALSE = np.uint64(int.from_bytes(b"false", "little"))
FOUR_BYTES, FIVE_BYTES = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFF)
SEVEN_BYTES = np.uint64(0x00FFFFFFFFFFFFFF)
XSD_LENGTH = 33  # of http://www.w3.org/2001/XMLSchema#


@inner
def fail(error: Any, place: Any, state: Any) -> Any:
    put(state, ERROR, error)
    put(state, PLACE, place)
    return np.int64(0)


@inner
def unescape(at: Any, end: Any, to: Any, letters: Any, state: Any) -> Any:
    """Copy a text with its escapes undone; gives the address after the copy, 0 for a bad escape.

    \\t and its like (`letters`) are escapes in literals, but not in IRIs.
    """
    while at < end:
        byte = load8(at)
        if byte != BACKSLASH:
            store8(to, byte)
            to += 1
            at += 1
            continue
        byte = load8(at + 1)
        digits = 4 if byte == 117 else (8 if byte == 85 else 0)
        code = hexadecimal(at + 2, digits) if digits else (escaped_letter(byte) if letters else 0)
        if code < 0 or (code == 0 and digits == 0):
            return fail(ESCAPE if letters else IRI_ESCAPE, at, state)
        to = put_character(code, to)
        at += 2 + digits
    return to


@inner
def heap_end(state: Any) -> Any:
    """The address where the next new text will lie."""
    room = get(state, ROOM)
    return get(room, HEAP) + get(get(room, OFFSETS), get(room, COUNT))


@inner
def keep(at: Any, end: Any, kind: Any, state: Any) -> Any:
    """The term just read has this text."""
    put(state, ID, put_text(at, end - at, kind, get(state, ROOM)))


@inner
def next_id(state: Any) -> Any:
    """The id of the next new term."""
    return get(get(state, ROOM), COUNT)


@inner
def proper_iri(at: Any, end: Any, start: Any, state: Any) -> Any:
    """Whether a text is an IRI; if not, that has been said of the place in it, or of `start` if that is not 0."""
    fault = iri_fault(at, end)
    if fault != end:
        fail(IRI_CHARACTER, start if start else fault, state)
        return False
    if get(state, STRICT) and not has_scheme(at, end):
        fail(ABSOLUTE, start if start else at, state)
        return False
    return True


@inner
def escaped_iri(at: Any, end: Any, state: Any) -> Any:
    """The address after an IRI with its escapes undone, which lies at the end of the heap; 0 if it is wrong."""
    target = heap_end(state)
    after = unescape(at, end, target, False, state)
    return after if after and proper_iri(target, after, at, state) else np.int64(0)


@inner
def iri(at: Any, state: Any) -> Any:
    """The IRI after a <."""
    end, h = scan_iri(at)
    if load8(end) == MORE:
        new = next_id(state)
        id = put_hashed(at, end - at, IRI, h, get(state, ROOM))
        put(state, ID, id)
        return end + 1 if id != new or proper_iri(at, end, np.int64(0), state) else np.int64(0)
    end = iri_end(end)
    if load8(end) != MORE:
        return fail(IN_IRI, end, state)
    target = heap_end(state)
    after = escaped_iri(at, end, state)
    if after == 0:
        return after
    keep(target, after, IRI, state)
    return end + 1


@inner
def label(at: Any, state: Any) -> Any:
    """The end of the label of the blank node _:label; 0 if there is none."""
    if load8(at + 1) != COLON or not is_word(load8(at + 2)):
        return fail(LABEL, at, state)
    return label_end(at + 2)


@inner
def proper_label(at: Any, end: Any, state: Any) -> Any:
    """Whether a text may be the label of a blank node; if not, that has been said."""
    fault = label_fault(at, end)
    if fault != end:
        fail(LABEL_CHARACTER, fault, state)
    return fault == end


@inner
def blank(at: Any, state: Any) -> Any:
    """The blank node _:label."""
    end = label(at, state)
    if end == 0:
        return end
    new = next_id(state)
    keep(at + 2, end, BLANK, state)
    return end if get(state, ID) != new or proper_label(at + 2, end, state) else np.int64(0)


@inner
def keep_integer(at: Any, end: Any, state: Any) -> Any:
    """The term just read is the integer written in at most 18 digits; False if it is none."""
    start = at + 1 if is_sign(load8(at)) else at
    if end - start < 1 or end - start > 18:
        return False
    number = np.int64(0)
    for i in range(start, end):
        byte = load8(i)
        if not is_digit(byte):
            return False
        number = number * 10 + byte - ZERO
    room = get(state, ROOM)
    if load8(at) == MINUS:
        number = -number
    put(state, ID, put_word(number, INTEGER, get(room, INTEGERS), room))
    return True


@inner
def bare(at: Any, state: Any) -> Any:
    """A number, or true or false, without quotes: no N-Triples, but people write it."""
    end = number_end(at)
    if load64(at) & FOUR_BYTES == TRUE:
        end = at + 4
    elif load64(at) & FIVE_BYTES == FALSE:
        end = at + 5
    if end == at or is_word(load8(end)) or get(state, STRICT):
        return fail(OBJECT, at, state)
    if not keep_integer(at, end, state):
        keep(at, end, RAW_BARE, state)
    return end


@inner
def with_language(start: Any, quote: Any, state: Any) -> Any:
    """The literal from `start` to `quote` whose language comes after the @ behind the quote."""
    tag = quote + 2
    end = language_end(tag)
    if end == tag:
        return fail(LANGUAGE_TAG, tag, state)
    target = heap_end(state)
    for i in range(end - tag):
        byte = load8(tag + i)
        store8(target + i, byte | 32 if is_letter(byte) else byte)
    store8(target + (end - tag), 0)
    after = unescape(start, quote, target + (end - tag) + 1, True, state)
    if after == 0:
        return after
    keep(target, after, LANGUAGE, state)
    return end


@inner
def with_datatype(start: Any, quote: Any, kind: Any, end: Any, state: Any) -> Any:
    """The literal from `start` to `quote` whose datatype is between `quote` + 4 and `end`."""
    target = heap_end(state)
    middle = unescape(quote + 4, end, target, False, state)
    if middle == 0:
        return middle
    store8(middle, 0)
    after = unescape(start, quote, middle + 1, True, state)
    if after == 0:
        return after
    new = next_id(state)
    keep(target, after, kind, state)
    seen = get(state, ID) != new and middle - target == end - (quote + 4)  # and has no escape, which could be a NUL
    return end + 1 if seen or proper_iri(target, middle, quote + 4, state) else np.int64(0)


@inner
def string(start: Any, quote: Any, escaped: Any, state: Any) -> Any:
    """The string from `start` to `quote`. Gives 0 for a bad escape."""
    if not escaped:
        keep(start, quote, STRING, state)
        return quote
    target = heap_end(state)
    after = unescape(start, quote, target, True, state)
    if after:
        keep(target, after, STRING, state)
    return after


@inner
def typed(start: Any, quote: Any, escaped: Any, state: Any) -> Any:
    """The literal from `start` to `quote` whose datatype comes after the ^^ behind the quote."""
    name = quote + 4
    if load8(name - 2) != CARET or load8(name - 1) != LESS:
        return fail(DATATYPE, quote + 1, state)
    end = iri_end(name)
    if load8(end) != MORE:
        return fail(IN_IRI, end, state)
    local = name + XSD_LENGTH
    if end <= local or not same_text(name, get(state, XSD), XSD_LENGTH):
        return with_datatype(start, quote, TYPED, end, state)
    if end - local == 7 and load64(local) == INTEGER_NAME and keep_integer(start, quote, state):
        return end + 1
    if end - local == 6 and load64(local) & SEVEN_BYTES == STRING_NAME:
        return end + 1 if string(start, quote, escaped, state) else np.int64(0)
    return with_datatype(start, quote, RAW_TYPED, end, state)


@inner
def literal(at: Any, state: Any) -> Any:
    """The literal after an opening quote."""
    quote = scan_string(at)
    escaped = load8(quote) == BACKSLASH
    while load8(quote) == BACKSLASH and load8(quote + 1) != NEWLINE and load8(quote + 1) != RETURN:
        quote = scan_string(quote + 2)
    if load8(quote) != DOUBLE_QUOTE:
        return fail(QUOTE, quote, state)
    if load8(quote + 1) == AT:
        return with_language(at, quote, state)
    if load8(quote + 1) == CARET:
        return typed(at, quote, escaped, state)
    return quote + 1 if string(at, quote, escaped, state) else np.int64(0)


@inner
def subject(at: Any, state: Any) -> Any:
    """An IRI or a blank node; often the one before again."""
    length = get(state, BEFORE_LENGTH)
    if load8(at) == LESS and load8(at + length) == MORE and same_text(at, get(state, BEFORE), length):
        put(state, ID, get(state, BEFORE_ID))
        return at + length + 1
    if load8(at) == UNDERSCORE:
        return blank(at, state)
    if load8(at) != LESS:
        return fail(SUBJECT, at, state)
    end = iri(at + 1, state)
    if end:
        put(state, BEFORE, at)
        put(state, BEFORE_LENGTH, end - at - 1)
        put(state, BEFORE_ID, get(state, ID))
    return end


@inner
def object(at: Any, state: Any) -> Any:
    """Any term, by its first character."""
    byte = load8(at)
    if byte == LESS:
        return iri(at + 1, state)
    if byte == DOUBLE_QUOTE:
        return literal(at + 1, state)
    return blank(at, state) if byte == UNDERSCORE else bare(at, state)


@inner
def graph(at: Any, state: Any) -> Any:
    """The graph of an N-Quads line, if it has one: an IRI or a blank node; its ID is 0 where it has none."""
    put(state, ID, np.int64(0))
    if get(state, STRICT) == STRICT_TRIPLES:
        return at
    if load8(at) == LESS:
        return iri(at + 1, state)
    return blank(at, state) if load8(at) == UNDERSCORE else at


@inner
def statement_end(at: Any, state: Any) -> Any:
    """From behind the graph to the end of the line."""
    at = skip_blanks(at)
    if load8(at) != POINT:
        return fail(DOT, at, state)
    at = skip_blanks(at + 1)
    if load8(at) == HASH:
        at = skip_line(at)
    return at if load8(at) == NEWLINE or load8(at) == RETURN else fail(END_OF_LINE, at, state)


@inner
def statement(at: Any, state: Any, rows: Any, n: Any) -> Any:
    """One statement, into the n-th of the rows."""
    at = subject(at, state)
    if at == 0:
        return at
    rows[0, n] = get(state, ID)
    at = skip_blanks(at)
    if load8(at) != LESS:
        return fail(PREDICATE, at, state)
    at = iri(at + 1, state)
    if at == 0:
        return at
    rows[1, n] = get(state, ID)
    at = object(skip_blanks(at), state)
    if at == 0:
        return at
    rows[2, n] = get(state, ID)
    at = graph(skip_blanks(at), state)
    if at == 0:
        return at
    rows[3, n] = get(state, ID)
    return statement_end(at, state)


@kernel
def parse(data: Any, end: int, room: Any, xsd: Any, strict: int, rows: Any) -> Any:
    """Parse data[:end] into the four columns of `rows`. Gives the number of rows, and an error and its place."""
    state_array = np.zeros(STATE, np.int64)
    base, state = np.int64(data.ctypes.data), np.int64(state_array.ctypes.data)
    put(state, ROOM, np.int64(room.ctypes.data))
    put(state, XSD, np.int64(xsd.ctypes.data))
    put(state, STRICT, np.int64(strict))
    at, stop, n = base, base + end, np.int64(0)
    while at < stop:
        at = skip_blanks(at)
        byte = load8(at)
        if (byte == NEWLINE) | (byte == RETURN):
            at += 1
        elif byte == HASH:
            at = skip_line(at)
        else:
            at = statement(at, state, rows, n)
            if at == 0:
                return n, state_array[ERROR], state_array[PLACE] - base
            n += 1
    return n, state_array[ERROR], 0


@kernel
def survey(data: Any, end: int, one: int, other: int) -> Any:
    """Whether a byte of data[:end] is not ASCII, and how often two bytes occur in it."""
    every, ones, others = np.uint8(0), 0, 0
    for i in range(end):
        every |= data[i]
        ones += data[i] == one
        others += data[i] == other
    return every >= 128, ones, others


@kernel
def group(rows: Any, kinds: Any, rdf_type: int, numbers: Any, groups: Any, out: Any) -> Any:
    """Bring together the subjects and objects of each predicate, and the members of each class.

    numbers[0, id] and numbers[1, id] are work space, all 0. groups[:, g] = (predicate or class, 1 if it is a class,
    where it ends in out); gives the number of groups. out[:, start:end] are the subjects and objects of a group.
    """
    count = 0
    for i in range(rows.shape[1]):
        unary = rows[1, i] == rdf_type and kinds[rows[2, i]] == IRI
        name = rows[2, i] if unary else rows[1, i]
        g = numbers[1 if unary else 0, name]
        if g == 0:
            count += 1
            g = count
            numbers[1 if unary else 0, name] = g
            groups[0, g - 1], groups[1, g - 1] = name, 1 if unary else 0
        groups[2, g - 1] += 1
    end = 0
    for g in range(count):
        size = groups[2, g]
        groups[2, g] = end
        end += size
    for i in range(rows.shape[1]):
        unary = rows[1, i] == rdf_type and kinds[rows[2, i]] == IRI
        g = numbers[1, rows[2, i]] - 1 if unary else numbers[0, rows[1, i]] - 1
        to = groups[2, g]
        out[0, to], out[1, to] = rows[0, i], rows[2, i]
        groups[2, g] += 1
    return count
