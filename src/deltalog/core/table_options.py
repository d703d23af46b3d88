"""How a table is read: a CSV, TSV or Parquet file.

`TableOptions` is what a call, a command line, a `.deltalog.toml` and `@input` in a program say in the same words. An
option that is not given is None, so options can be laid over each other: those of a predicate over those of all tables.
`TableOptions.of` is the one place that checks values; `chosen` finds the columns once the header is known.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypedDict

from deltalog.core.errors import UsageError
from deltalog.core.terms import Value

TYPES = ("auto", "string", "int", "float", "decimal", "bool", "date", "datetime", "iri")
AUTO, DROP, ERROR = "auto", "drop", "error"
INPUT_OPTIONS = (
    *("header", "columns", "types", "nulls", "null_values", "delimiter", "quote", "escape", "encoding", "skip"),
    "decimal",
)
OUTPUT_OPTIONS = ("header", "columns")
TEXT_ONLY = ("header", "delimiter", "quote", "escape", "encoding", "skip", "decimal")  # no options of Parquet


class TableKeywords(TypedDict, total=False):
    """The options of a table as keyword arguments."""

    header: bool | str | None
    delimiter: str | None
    quote: str | None
    escape: str | None
    encoding: str | None
    skip: int | None
    decimal: str | None
    columns: Any
    types: Any
    nulls: Any
    null_values: Any


class ColumnChoice(NamedTuple):
    """A column of a file, by its name in the header or its number from 1 on, and the name that it gets."""

    source: str | int
    name: str | None = None


class ChosenColumn(NamedTuple):
    """A column that is read: its place in the file from 0 on, its name if it has one, and its type."""

    place: int
    name: str | None
    type: str


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a table is read.

    header: whether the first row has the names of the columns; "auto" finds out.
    delimiter, quote, escape: single characters; by default those of the format, `"` and none (quotes are doubled). The
        quote "" is none.
    encoding: of the text, such as "latin-1"; by default UTF-8.
    skip: lines before the table.
    decimal: the decimal point of floats and decimals, "." or ",".
    columns: which columns to read, in the order of the arguments, and their names. By default all.
    types: of all chosen columns, or of some by name or number.
    nulls: what becomes of a row without a value: "error", "drop", or a value that takes its place.
    null_values: texts that are no value; by default the empty text if `nulls` is given, and otherwise none.
    """

    header: bool | str | None = None
    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    encoding: str | None = None
    skip: int | None = None
    decimal: str | None = None
    columns: tuple[ColumnChoice, ...] | None = None
    types: tuple[str, ...] | tuple[tuple[str | int, str], ...] | None = None
    nulls: Value | None = None
    null_values: tuple[str, ...] | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> TableOptions:
        """Options by their names, checked; UsageError says what is wrong. None is the same as not given."""
        for name in given:
            check_option(name, _CHECKS)
        made = {name: _CHECKS[name](name, value) for name, value in given.items() if value is not None}
        made |= _types_of_columns(given.get("columns"), made)
        options = cls(**made)
        options._check_together()
        return options

    def over(self, other: TableOptions) -> TableOptions:
        """These options, and where they say nothing those of the other."""
        return replace(other, **self.given)

    @property
    def given(self) -> dict[str, Any]:
        """The options that say something."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value is not None}

    def matter_for(self, format: str) -> bool:
        """Whether a file of a format is read in another way than without options."""
        given = self.given
        if format == "parquet":
            return not given.keys() <= set(TEXT_ONLY)
        return bool(given.pop("header", False) or given)

    @property
    def nulls_as_text(self) -> tuple[str, ...]:
        """The texts that are no value."""
        if self.null_values is not None:
            return self.null_values
        return () if self.nulls is None else ("",)

    @property
    def has_standard_quotes(self) -> bool:
        return self.quote in (None, '"') and self.escape is None

    def chosen(self, names: Sequence[str] | None, width: int) -> list[ChosenColumn]:
        """The columns to read of a file with so many, and a header with these names or none."""
        if self.columns is None:
            found = [(place, names[place] if names is not None else None) for place in range(width)]
        else:
            found = self._found(self.columns, names, width)
        types = self._types_of([name for _, name in found], [names[p] if names else None for p, _ in found])
        return [ChosenColumn(place, name, type) for (place, name), type in zip(found, types, strict=True)]

    def _found(
        self, columns: Sequence[ColumnChoice], names: Sequence[str] | None, width: int
    ) -> list[tuple[int, str | None]]:
        if names is not None or any(isinstance(c.source, int) for c in columns):
            return [(_place(column, names, width), _name(column, names, width)) for column in columns]
        renamed = next((column for column in columns if column.name is not None), None)
        if renamed is not None:
            raise UsageError(
                f"there is no header to find the column {renamed.source!r} in; say header = true if the first row is "
                "one, or choose columns by their numbers"
            )
        if len(columns) != width:
            raise UsageError(
                f"columns names {len(columns)} columns, and the table has {width}; without a header, name all of them, "
                "or choose some by their numbers"
            )
        return [(place, str(column.source)) for place, column in enumerate(columns)]

    def _types_of(self, names: Sequence[str | None], sources: Sequence[str | None]) -> list[str]:
        """The types of the chosen columns, by the names they get and those they have in the header."""
        if not self.types:
            return [AUTO] * len(names)
        if isinstance(self.types[0], str):
            if len(self.types) != len(names):
                raise UsageError(f"types has {len(self.types)} types, and there are {len(names)} columns")
            return [str(each) for each in self.types]
        made = [AUTO] * len(names)
        for key, type in self.types:
            made[_index(key, names, sources)] = str(type)
        return made

    def _check_together(self) -> None:
        if self.quote and self.quote == (self.delimiter or ","):
            raise UsageError(f"the delimiter and the quote are both {self.quote!r}")
        if self.types and isinstance(self.types[0], str) and self.columns and len(self.types) != len(self.columns):
            raise UsageError(f"types has {len(self.types)} types, and columns {len(self.columns)} columns")
        if self.null_values is not None and self.nulls is None:
            raise UsageError(
                'null_values says which texts are no value, but not what becomes of them: give nulls, too: "drop", '
                '"error", or a value'
            )


DEFAULT_OPTIONS = TableOptions()


@dataclass(frozen=True, slots=True)
class TableSettings:
    """How the tables of a call are read: those of some predicates, and all others. `predicate`: the one that all of
    them have, instead of the ones that their names say."""

    options: TableOptions = DEFAULT_OPTIONS
    by_predicate: tuple[tuple[str, TableOptions], ...] = ()
    predicate: str | None = None

    def of(self, predicate: str) -> TableOptions:
        """How a table of a predicate is read."""
        return dict(self.by_predicate).get(predicate, self.options)

    def beneath(self, call: TableSettings) -> TableSettings:
        """These settings, with those of a call over them."""
        own = tuple((name, call.options.over(options)) for name, options in self.by_predicate)
        return TableSettings(call.options.over(self.options), own, call.predicate)


DEFAULT_TABLES = TableSettings()


def option_names() -> tuple[str, ...]:
    return tuple(_CHECKS)


def check_option(name: str, known: Collection[str], what: str = "option of a table") -> None:
    """UsageError for an option that there is not."""
    if name in known:
        return
    from difflib import get_close_matches

    near = get_close_matches({"null": "nulls", "sep": "delimiter", "separator": "delimiter"}.get(name, name), known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise UsageError(f"there is no {what} {name!r}; {hint}")


def _place(column: ColumnChoice, names: Sequence[str] | None, width: int) -> int:
    if isinstance(column.source, int):
        if column.source > width:
            raise UsageError(f"there is no column {column.source}; the table has {width}")
        return column.source - 1
    if names is None:
        raise UsageError("without a header, choose all columns by their numbers, or name all of them")
    count = list(names).count(column.source)
    if count == 1:
        return list(names).index(column.source)
    if count:
        raise UsageError(f"the header has {count} columns {column.source!r}; choose one by its number")
    raise UsageError(f"there is no column {column.source!r}; {_near(column.source, names)}")


def _near(name: str, names: Iterable[str | None]) -> str:
    from difflib import get_close_matches

    known = [each for each in names if each is not None]
    lower = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), lower, 1)
    hint = f"did you mean {lower[near[0]]!r}? The" if near else "the"
    return f"{hint} columns are {', '.join(known)}" if known else "the columns have no names"


def _name(column: ColumnChoice, names: Sequence[str] | None, width: int) -> str | None:
    if column.name is not None:
        return column.name
    return names[_place(column, names, width)] if names is not None else None


def _index(key: str | int, names: Sequence[str | None], sources: Sequence[str | None]) -> int:
    """The place of a column of `types` among the chosen ones."""
    if isinstance(key, int):
        if key > len(names):
            raise UsageError(f"types: there is no column {key}; {len(names)} are read")
        return key - 1
    for known in (names, sources):
        if key in known:
            return list(known).index(key)
    raise UsageError(f"types: there is no column {key!r}; {_near(key, names)}")


# Values of options.


def _header(name: str, value: Any) -> bool | str:
    if isinstance(value, bool) or value == AUTO:
        return value  # type: ignore[no-any-return]
    raise UsageError(f'header is true, false or "auto", and not {value!r}')


def _character(name: str, value: Any) -> str:
    value = {"tab": "\t", "\\t": "\t"}.get(value, value) if isinstance(value, str) else value
    if name == "quote" and value in ("", False):
        return ""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in "\r\n":
        raise UsageError(f"{name} is one character of ASCII, such as {_EXAMPLES[name]!r}, and not {value!r}")
    return value


_EXAMPLES = {"delimiter": ";", "quote": "'", "escape": "\\"}


def _encoding(name: str, value: Any) -> str:
    try:
        "".encode(value)  # also refuses codecs that are no encodings of text, such as base64
        return codecs.lookup(value).name
    except (LookupError, TypeError, ValueError):
        raise UsageError(f"there is no encoding {value!r}; common ones are utf-8, latin-1, cp1252, utf-16") from None


def _lines(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError(f"skip is a number of lines, and not {value!r}")
    return value


def _decimal(name: str, value: Any) -> str:
    if value not in (".", ","):
        raise UsageError(f'decimal is "." or ",", and not {value!r}')
    return str(value)


def _columns(name: str, value: Any) -> tuple[ColumnChoice, ...]:
    if isinstance(value, Mapping):
        value = [ColumnChoice(source, new) for source, new in value.items()]
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise UsageError(f'columns is a list of names or numbers, such as ["from", "to"], and not {value!r}')
    made = tuple(map(_column, value))
    seen: dict[str, None] = {}
    for column in made:
        new = column.name if column.name is not None else column.source
        if isinstance(new, str) and new.lower() in seen:
            raise UsageError(f"columns has two columns {new!r}; names differ by more than upper and lower case")
        seen[str(new).lower()] = None
    return made


def _column(value: Any) -> ColumnChoice:
    if isinstance(value, Mapping):
        if unknown := value.keys() - {"column", "as", "type"}:
            raise UsageError(f"a column has column, as and type, and no {min(unknown)!r}")
        value = ColumnChoice(value.get("column"), value.get("as"))  # type: ignore[arg-type]
    column = value if isinstance(value, ColumnChoice) else ColumnChoice(value)
    source, new = column
    is_number = isinstance(source, int) and not isinstance(source, bool) and source > 0
    if not (is_number or (isinstance(source, str) and source)) or not (new is None or (isinstance(new, str) and new)):
        raise UsageError(f"a column is a name, or a number from 1 on, and not {(source if new is None else column)!r}")
    return column


def _types_of_columns(columns: Any, made: Mapping[str, Any]) -> dict[str, Any]:
    """The types that stand among the columns: { column = "km", type = "int" }."""
    if isinstance(columns, str | Mapping) or not isinstance(columns, Sequence):
        return {}
    inside = [each.get("type") if isinstance(each, Mapping) else None for each in columns]
    if not any(each is not None for each in inside):
        return {}
    if made.get("types"):
        raise UsageError("the types of columns are in types or among the columns, not in both")
    return {"types": tuple(AUTO if each is None else _type(each) for each in inside)}


def _types(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, Mapping):
        return tuple((_key(key), _type(each)) for key, each in value.items())
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UsageError(f"types is a list of types, or types by column, and not {value!r}")
    if any(isinstance(each, tuple) for each in value):
        return tuple((_key(key), _type(each)) for key, each in value)
    return tuple(map(_type, value))


def _key(key: Any) -> str | int:
    if not isinstance(key, str | int) or isinstance(key, bool) or key == "" or (isinstance(key, int) and key < 1):
        raise UsageError(f"types is by names of columns, or by numbers from 1 on, and not by {key!r}")
    return key


_OTHER_TYPES = {int: "int", float: "float", str: "string", bool: "bool", "integer": "int", "text": "string"}
_OTHER_TYPES |= {"str": "string", "double": "float", "boolean": "bool", "timestamp": "datetime", "long": "int"}


def _type(value: Any) -> str:
    if value in TYPES:
        return str(value)
    try:
        near = _OTHER_TYPES.get(value)
    except TypeError:
        near = None
    if isinstance(value, type) and near:
        return near
    hint = f"did you mean {near!r}?" if near else f"types are {', '.join(TYPES)}"
    raise UsageError(f"there is no type {value!r} of a column; {hint}")


def _nulls(name: str, value: Any) -> Value:
    from deltalog.core.terms import kind

    try:
        kind(value)
    except TypeError:
        raise UsageError(f'nulls is "error", "drop", or a value, and not {value!r}') from None
    return value  # type: ignore[no-any-return]


def _null_values(name: str, value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(each, str) for each in texts):
        raise UsageError(f"null_values is a list of texts, and not {value!r}")
    return tuple(texts)


_CHECKS: dict[str, Any] = {
    "header": _header,
    "delimiter": _character,
    "quote": _character,
    "escape": _character,
    "encoding": _encoding,
    "skip": _lines,
    "decimal": _decimal,
    "columns": _columns,
    "types": _types,
    "nulls": _nulls,
    "null_values": _null_values,
}
