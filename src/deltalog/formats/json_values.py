"""Values as the types of JSON, and back.

Values are JSON's own where that says it all: strings, integers, booleans, doubles with a fraction. Others are
`{"iri"}`, `{"blank"}`, `{"text", "language"}`, `{"text", "datatype"}`; `value_of` reads them back. Integers of more
than 53 bits, which many readers round, and doubles without a fraction, which JavaScript takes for integers, are
objects, too.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from deltalog.core.errors import UsageError
from deltalog.core.terms import IRI, BlankNode, Literal, Value, datatype, lexical, literal

EXACT_BITS = 53  # integers that doubles have


def json_value(value: Value) -> Any:
    """A value as JSON; `value_of` is the way back."""
    match value:
        case IRI():
            return {"iri": lexical(value)}
        case BlankNode():
            return {"blank": lexical(value)}
        case Literal(language=str(language)):
            return {"text": value.text, "language": language}
        case bool() | str():
            return value
        case int() if value.bit_length() <= EXACT_BITS:
            return value
        case float() if isfinite(value) and not value.is_integer():
            return value
        case _:
            return {"text": lexical(value), "datatype": datatype(value)}


def value_of(found: Any) -> Value:
    """The value that `json_value` made something of."""
    match found:
        case {"iri": str(iri)}:
            return IRI(iri)
        case {"blank": str(label)}:
            return BlankNode(label)
        case {"text": str(text), "language": str(language)}:
            return Literal(text, language=language)
        case {"text": str(text), "datatype": str(name)}:
            return literal(text, name)
        case bool() | int() | float() | str():
            return found
        case _:
            raise UsageError(
                f"{found!r:.80} is no value; write JSON's own, an iri, a blank, or a text with a language or a datatype"
            )
