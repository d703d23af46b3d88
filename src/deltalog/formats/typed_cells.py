"""From texts to values of a declared type: a column of strings to a column of ids.

Arrow converts integers and floats in plain notation. Whatever it refuses, and all other types, are converted here, each
distinct text once. A text that is no value of the type is a `WrongCell`, with the number of its row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.terms import IRI, XSD, Value, literal
from deltalog.formats.columns import Column
from deltalog.formats.csv_cells import parse_plain

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_SPECIAL |= {"infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf}
_BOOLEANS = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}
EXAMPLES = {
    "int": "12",
    "float": "1.5",
    "decimal": "1.50",
    "bool": "true",
    "date": "2024-05-31",
    "datetime": "2024-05-31T12:00:00",
    "iri": "http://example.org/a",
}


class WrongCell(Exception):
    """A text that is no value of the type of its column."""

    def __init__(self, row: int, text: str) -> None:
        self.row, self.text = row, text  # the row counts from 0
        super().__init__(row, text)


def typed_ids(texts: pa.ChunkedArray, type: str, decimal: str, dictionary: Dictionary) -> Column:
    """The ids of the values of texts, none of which is null."""
    if type == "string":
        from deltalog.formats.frames import ids_of_strings

        return ids_of_strings(texts, dictionary)
    if type in ("int", "float") and decimal == ".":
        ids = _numbers(texts, type, dictionary)
        if ids is not None:
            return ids
    return _distinct(texts, type, decimal, dictionary)


def _numbers(texts: pa.ChunkedArray, type: str, dictionary: Dictionary) -> Column | None:
    """Integers of 64 bits, or floats; None if Arrow does not take all texts for them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if type == "int":
            if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():  # 0x10 is an integer of Arrow
                return None
            return dictionary.intern_integers(texts.cast(pa.int64()).to_numpy())
        return dictionary.intern_doubles(texts.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid:
        return None


def _distinct(texts: pa.ChunkedArray, type: str, decimal: str, dictionary: Dictionary) -> Column:
    encoded = texts.combine_chunks().dictionary_encode()
    places = encoded.indices.to_numpy(zero_copy_only=False)
    convert = converter(type, decimal)
    converted = [convert(text) for text in encoded.dictionary.to_pylist()]
    values = [value for value in converted if value is not None]
    if len(values) < len(converted):
        wrong = [i for i, value in enumerate(converted) if value is None]
        row = int(np.flatnonzero(np.isin(places, wrong))[0])
        raise WrongCell(row, encoded.dictionary[int(places[row])].as_py())
    ids: Column = dictionary.encode(values)[places] if values else np.empty(0, np.uint32)
    return ids


def converter(type: str, decimal: str) -> Callable[[str], Value | None]:
    """What makes a value of a text, or None where it is none."""
    return partial(_CONVERTERS[type], decimal=decimal)


def _point(text: str, decimal: str) -> str:
    """A number with a decimal point; a point in one with a decimal comma separates thousands, and is refused."""
    text = text.strip()
    return text if decimal == "." else "" if "." in text else text.replace(decimal, ".")


def _auto(text: str, decimal: str) -> Value:
    return parse_plain(text)


def _integer(text: str, decimal: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text := text.strip()) else None


def _float(text: str, decimal: str) -> float | None:
    text = _point(text, decimal)
    return float(text) if _FLOAT.fullmatch(text) else _SPECIAL.get(text.lower())


def _decimal(text: str, decimal: str) -> Value | None:
    text = _point(text, decimal)
    return literal(text, XSD + "decimal") if _DECIMAL.fullmatch(text) else None


def _boolean(text: str, decimal: str) -> bool | None:
    return _BOOLEANS.get(text.strip().lower())


def _date(text: str, decimal: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def _datetime(text: str, decimal: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _iri(text: str, decimal: str) -> IRI | None:
    text = text.strip()
    text = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    return None if not text or _NOT_IN_IRI.search(text) else IRI(text)


def _string(text: str, decimal: str) -> str:
    return text


_CONVERTERS: dict[str, Callable[..., Any]] = {
    "auto": _auto,
    "string": _string,
    "int": _integer,
    "float": _float,
    "decimal": _decimal,
    "bool": _boolean,
    "date": _date,
    "datetime": _datetime,
    "iri": _iri,
}
