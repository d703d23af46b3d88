"""Values as text, in bulk.

Most values of most files are IRIs and strings that are written unchanged, between brackets or quotes or nothing.
Kernels copy these directly from the dictionary's heap. Python prints only the others: numbers, literals, and texts with
characters that a `Wrapping` excludes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary, joined
from deltalog.core.errors import DataError
from deltalog.core.terms import Kind, Value
from deltalog.formats.columns import Column
from deltalog.kernels import csv_cells as kernels

IRI_ESCAPED = "".join(map(chr, range(0x21))) + '<>"{}|^`\\'  # characters that are escaped in an IRI


@dataclass(frozen=True)
class Wrapping:
    """Texts without certain characters, and not starting with certain others, are written between two marks.

    An empty text is written so only where there are marks.
    """

    before: str
    after: str
    never: str
    not_first: str = ""

    def refused(self) -> NDArray[np.bool_]:
        """By byte: those that are not taken as the first (row 0), and anywhere (row 1)."""
        bytes_of = [np.frombuffer(text.encode(), np.uint8) for text in (self.never + self.not_first, self.never)]
        table = np.zeros((2, 256), np.bool_)
        table[0, bytes_of[0]] = table[1, bytes_of[1]] = True
        return table


@dataclass(frozen=True)
class Forms:
    """How values are written: by `form`, or by the wrapping of their kind if that accepts them."""

    form: Callable[[Value], str]
    wrappings: Mapping[Kind, Wrapping]


class Texts(NamedTuple):
    """UTF-8 texts one after the other, their boundaries, and for each id the number of its text."""

    data: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    order: NDArray[np.int64]


def print_all(ids: Column, dictionary: Dictionary, forms: Forms) -> Texts:
    """The texts of ids."""
    left = np.ones(len(ids), np.bool_)
    datas, lengths, places = [], [], []
    for kind, wrapping in forms.wrappings.items():
        taken = left & (dictionary.kinds[ids] == kind)
        here = np.flatnonzero(taken)
        with dictionary.lock:
            plain = kernels.as_they_are(ids[here], wrapping.refused(), bool(wrapping.before), dictionary.room)
        here = here[plain]
        left[here] = False
        data, bounds = _wrapped(ids[here], wrapping, dictionary)
        datas.append(data)
        lengths.append(np.diff(bounds))
        places.append(here)
    here = np.flatnonzero(left)
    data, size = _printed([forms.form(value) for value in dictionary.decode(ids[here])])
    bounds = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(np.concatenate([*lengths, size]), out=bounds[1:])
    order = np.empty(len(ids), np.int64)
    order[np.concatenate([*places, here])] = np.arange(len(ids))
    return Texts(np.concatenate([*datas, data]), bounds, order)


def _wrapped(ids: Column, wrapping: Wrapping, dictionary: Dictionary) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    before, after = wrapping.before.encode(), wrapping.after.encode()
    _, bounds = plain = dictionary.texts(ids)
    if not before and not after:
        return plain
    steps = np.arange(len(ids) + 1) * (len(before) + len(after))
    out = np.empty(int(bounds[-1] + steps[-1]), np.uint8)
    kernels.wrap(*plain, np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8), out)
    return out, bounds + steps


def _printed(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 of strings, one after the other, and the length of each."""
    data, starts, ends = joined(texts)
    try:
        data.tobytes().decode()
    except UnicodeDecodeError:
        bad = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise DataError(f"half a surrogate pair is no character, and cannot be written: {bad!r:.80}") from None
    return data, ends - starts
