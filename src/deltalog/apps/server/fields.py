"""Parameters and bodies: one declaration reads them, checks them and describes them in OpenAPI."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from deltalog.apps.server.errors import NESTED, wrong
from deltalog.core.errors import UsageError
from deltalog.core.limits import MAX_SECONDS, check_running, checked, count, seconds
from deltalog.formats.json_values import value_of

Schema = Mapping[str, Any]
VALUE: Schema = {
    "description": "A value: JSON's own, or an object for an IRI, a blank node or another literal.",
    "anyOf": [
        *({"type": name} for name in ("string", "number", "boolean")),
        *(
            {"type": "object", "required": list(names), "properties": {name: {"type": "string"} for name in names}}
            for names in (("iri",), ("blank",), ("text", "language"), ("text", "datatype"))
        ),
    ],
}
REF: Schema = {"$ref": "#/components/schemas/Value"}
ROW: Schema = {"type": "array", "items": REF}
ROWS: Schema = {"type": "array", "items": ROW}
FLAGS = {"true": True, "1": True, "": True, "false": False, "0": False}
INTEGER_DIGITS = 18
GREATEST_COUNT = 10**INTEGER_DIGITS - 1


class FieldKind(NamedTuple):
    """A type of a field: its JSON schema, how a parameter becomes one, and what checks one."""

    schema: Schema
    parse: Callable[[str], Any]
    check: Callable[[Any], Any]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"expected a string, got {value!r:.80}")
    return value


def _texts(value: Any) -> list[str]:
    return [_text(each) for each in (value if isinstance(value, list) else [value])]


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"expected true or false, got {value!r:.80}")
    return value


def _parse_flag(text: str) -> bool:
    if text.lower() not in FLAGS:
        raise UsageError(f"expected true or false, got {text!r:.80}")
    return FLAGS[text.lower()]


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= INTEGER_DIGITS):
        raise UsageError(f"expected a whole number, got {text!r:.80}")
    return int(text)


def _parse_seconds(text: str) -> float:
    try:
        return seconds(float(text))
    except ValueError:
        raise UsageError(f"expected a number of seconds, got {text!r:.80}") from None


def _count(value: Any) -> int:
    found = count(
        int(value) if isinstance(value, float) and value.is_integer() else value, "things"
    )  # 1.0 is 1 in JSON
    if found > GREATEST_COUNT:
        raise UsageError(f"{found} is too large; write a number up to {GREATEST_COUNT}")
    return found


def _row(row: Any) -> tuple[Any, ...]:
    if not isinstance(row, list):
        raise UsageError(f"expected the values of a fact as a list, got {row!r:.80}")
    return tuple(map(value_of, row))


def _facts(value: Any) -> dict[str, list[tuple[Any, ...]]]:
    if not isinstance(value, dict) or not all(isinstance(rows, list) for rows in value.values()):
        raise UsageError('expected facts as {"predicate": [row, ...]}')
    return {name: list(map(_row, checked(rows))) for name, rows in checked(value.items())}


def _bindings(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise UsageError('expected rows as [{"variable": value, ...}, ...]')
    return [{name: value_of(found) for name, found in row.items()} for row in checked(value)]


def _in_body(what: str) -> Callable[[str], NoReturn]:
    def parse(_: str) -> NoReturn:
        raise UsageError(f"{what} go into a body in JSON")

    return parse


KINDS: Mapping[str, FieldKind] = {
    "text": FieldKind({"type": "string"}, str, _text),
    "texts": FieldKind(
        {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, lambda text: [text], _texts
    ),
    "flag": FieldKind({"type": "boolean"}, _parse_flag, _flag),
    "count": FieldKind({"type": "integer", "minimum": 0, "maximum": GREATEST_COUNT}, _parse_count, _count),
    "seconds": FieldKind({"type": "number", "minimum": 0, "exclusiveMaximum": MAX_SECONDS}, _parse_seconds, seconds),
    "value": FieldKind(REF, _in_body("values"), value_of),
    "bindings": FieldKind(
        {"type": "array", "items": {"type": "object", "additionalProperties": REF}}, _in_body("rows"), _bindings
    ),
    "row": FieldKind(ROW, _in_body("values"), _row),
    "facts": FieldKind({"type": "object", "additionalProperties": ROWS}, _in_body("facts"), _facts),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a member of a body."""

    name: str
    kind: str
    about: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        default = {} if self.default is None else {"default": self.default}
        choices = {"enum": list(self.choices)} if self.choices else {}
        return {**KINDS[self.kind].schema, **default, **choices}

    @property
    def body_schema(self) -> dict[str, Any]:
        """As a member of a body, where null is the same as no member."""
        found = self.schema if self.required else {"anyOf": [self.schema, {"type": "null"}]}
        return {**found, "description": self.about}

    def read(self, make: Callable[[FieldKind], Any]) -> Any:
        """A value of this field; HTTPError if it is wrong."""
        try:
            value = make(KINDS[self.kind])
        except UsageError as problem:
            raise wrong(f"{self.name}: {problem}") from None
        if self.choices and value not in self.choices:
            raise wrong(f"{self.name}: unknown value {value!r:.80}; choose one of {', '.join(self.choices)}")
        return value


TIMEOUT = Field("timeout", "seconds", "the seconds that it may take; at most those of the server")


def from_parameters(fields: Sequence[Field], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of parameters, each at most once and none unknown, with defaults."""
    known, found = {field.name: field for field in fields}, dict[str, Any]()
    for name, text in given:
        if name not in known:
            raise wrong(f"unknown parameter {name!r:.80}; {_listed(fields)}")
        if name in found:
            raise wrong(f"parameter {name} is given twice")
        found[name] = known[name].read(lambda kind, text=text: kind.parse(text))  # type: ignore[misc]
    return _completed(fields, found)


def from_document(fields: Sequence[Field], document: Any) -> dict[str, Any]:
    """The values of a body in JSON, none unknown, with defaults; null is no value."""
    if not isinstance(document, dict):
        raise wrong(f"expected a JSON object; {_listed(fields)}")
    known = {field.name: field for field in fields}
    for name in document:
        if name not in known:
            raise wrong(f"unknown field {name!r:.80}; {_listed(fields)}")
    given = {name: value for name, value in document.items() if value is not None}
    found = {name: known[name].read(lambda kind, v=value: kind.check(v)) for name, value in given.items()}  # type: ignore[misc]
    return _completed(fields, found)


def _completed(fields: Sequence[Field], found: Mapping[str, Any]) -> dict[str, Any]:
    for field in fields:
        if field.required and field.name not in found:
            raise wrong(f"{field.name} is missing: {field.about}")
    return {field.name: found.get(field.name, field.default) for field in fields}


def _listed(fields: Sequence[Field]) -> str:
    return f"expected {', '.join(field.name for field in fields)}" if fields else "expected none"


def parse_json(body: bytes) -> Any:
    """JSON as its standard has it: no NaN, no name twice."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once)
    except RecursionError:
        raise wrong(NESTED) from None
    except ValueError as problem:  # also of other encodings, and of numbers with too many digits
        raise wrong(f"the body is not JSON: {problem}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    check_running()
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate name")
    return found
