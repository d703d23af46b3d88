"""Values of Soufflé's types as text: cells of files, and what is in records."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from deltalog.core.terms import Value
from deltalog.functions.souffle_functors import NIL, fields_of, record, single
from deltalog.languages.souffle.tree import Attribute
from deltalog.languages.souffle.types import Types

RANGES = {"number": (-(2**31), 2**31 - 1), "unsigned": (0, 2**32 - 1)}
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"', re.S)
_INTEGER = re.compile(r"[+-]?(?:0x[0-9a-fA-F]+|0b[01]+|[0-9]+)")

# Writing


def printer(types: Types, type_: str, quoted: bool = False) -> Callable[[Value], str]:
    """What prints the values of a type. quoted: with quotes around the symbols in a record or branch."""
    match types.base(type_):
        case "float":
            return float_text
        case "record":
            return lambda value: _record_text(types, type_, value, quoted)
        case "adt":
            return lambda value: _branch_text(types, type_, value, quoted)
    return str


def float_text(value: Value) -> str:
    """The nine digits that tell two floats of single precision from each other."""
    assert isinstance(value, float)
    if math.isnan(value):
        return "nan"
    return f"{value:.9g}"


def _record_text(types: Types, type_: str, value: Value, quoted: bool) -> str:
    if value == NIL:
        return "nil"
    structure = types.structure(type_)
    assert structure is not None
    return f"[{_joined(types, structure.attributes, fields_of(value), quoted)}]"


def _branch_text(types: Types, type_: str, value: Value, quoted: bool) -> str:
    name, *fields = fields_of(value)
    found = types.branch(str(name), type_)
    assert found is not None
    return f"${name}({_joined(types, found[1].attributes, tuple(fields), quoted)})" if fields else f"${name}"


def _joined(types: Types, attributes: tuple[Attribute, ...], fields: tuple[Value, ...], quoted: bool) -> str:
    def show(attribute: Attribute, field: Value) -> str:
        if quoted and isinstance(field, str):
            return '"' + field.replace('"', '\\"') + '"'
        return printer(types, attribute.type, quoted)(field)

    return ", ".join(show(attribute, field) for attribute, field in zip(attributes, fields, strict=True))


# Reading


def reader(types: Types, type_: str) -> Callable[[str], Value]:
    """What reads the values of a type; ValueError for a text that is none."""
    base = types.base(type_)
    match base:
        case "symbol":
            return str
        case "number" | "unsigned":
            return lambda text: integer(text, base)
        case "float":
            return floating
    return lambda text: _whole(types, type_, text)


def integer(text: str, base: str) -> int:
    text = text.lstrip()
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is no {base}")
    value = int(text, 16 if "x" in text else 2 if "b" in text else 10)
    least, most = RANGES[base]
    if not least <= value <= most:
        raise ValueError(f"{text} does not fit 32 bits")
    return value


def floating(text: str) -> float:
    if "_" in text or not text.isascii():  # which Python reads
        raise ValueError(f"{text!r} is no float")
    return single(float(text))


def _whole(types: Types, type_: str, text: str) -> Value:
    cursor = _Cursor(types, text)
    value = cursor.value(type_)
    cursor.skip()
    if cursor.at != len(text):
        raise ValueError(f"did not expect {text[cursor.at :]!r} after a value")
    return value


@dataclass
class _Cursor:
    """A position in the text of a record or of a branch."""

    types: Types
    text: str
    at: int = 0

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def takes(self, word: str) -> bool:
        self.skip()
        found = self.text.startswith(word, self.at)
        if found:
            self.at += len(word)
        return found

    def expect(self, word: str) -> None:
        if not self.takes(word):
            raise ValueError(f"expected {word!r} at position {self.at + 1} of {self.text!r}")

    def value(self, type_: str, close: str = "") -> Value:
        """A value, which ends at a comma or at this bracket if it is no record or branch itself."""
        base = self.types.base(type_)
        match base:
            case "record":
                return self._record(type_)
            case "adt":
                return self._branch(type_)
        self.skip()
        if base == "symbol" and self.text.startswith('"', self.at):
            return self._quoted()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ("," + close):
            self.at += 1
        return reader(self.types, type_)(self.text[start : self.at])

    def _quoted(self) -> str:
        found = _QUOTED.match(self.text, self.at)
        if found is None:
            raise ValueError(f"a quote in {self.text!r} is not closed")
        self.at = found.end()
        return re.sub(r"\\(.)", r"\1", found[1], flags=re.S)

    def _record(self, type_: str) -> Value:
        if self.takes("nil"):
            return NIL
        structure = self.types.structure(type_)
        assert structure is not None
        self.expect("[")
        fields = self._fields(structure.attributes, "]")
        self.expect("]")
        return record(*fields)

    def _branch(self, type_: str) -> Value:
        self.expect("$")
        name = re.compile(r"[\w.?]*").match(self.text, self.at)
        assert name is not None
        self.at = name.end()
        found = self.types.branch(name[0], type_)
        if found is None:
            raise ValueError(f"{type_} has no branch ${name[0]}")
        fields: list[Value] = []
        if found[1].attributes:
            self.expect("(")
            fields = self._fields(found[1].attributes, ")")
            self.expect(")")
        return record(found[1].name, *fields)

    def _fields(self, attributes: tuple[Attribute, ...], close: str) -> list[Value]:
        found: list[Value] = []
        for number, attribute in enumerate(attributes):
            if number:
                self.expect(",")
            found.append(self.value(attribute.type, close))
        return found
