"""Conversion of rows, Arrow tables, data frames and Parquet files to columns of ids, and back.

A column of one kind of value gets Arrow's type for it: int64, double, decimal128, bool, string, date32, timestamp. IRIs
and blank nodes are strings, too, and the field's metadata has their kind: `deltalog:kind` is `iri` or `blank`. Any
other column, and one of mixed kinds, has strings with the syntax of CSV cells (`deltalog.formats.csv_cells`), and its
kind is `cell`. So converting a table back gives the same values. pandas keeps the kinds in `attrs`; polars has no
metadata, so IRIs become strings there.

Data with Arrow's stream protocol is converted column by column, without a Python object for each value: pyarrow,
pandas, polars, DuckDB and others. Spark's DataFrames are converted by `toArrow`. Everything else is rows of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltalog.core.arguments import short_repr
from deltalog.core.dictionary import Dictionary, distinct_ids, plain
from deltalog.core.errors import DataError, UsageError
from deltalog.core.limits import checked
from deltalog.core.terms import NO_VALUE, TOO_FINE, Kind, kind, lexical
from deltalog.formats.columns import Column, Columns
from deltalog.formats.csv_cells import parse_cell, print_cell
from deltalog.formats.files import name_of, read_all

if TYPE_CHECKING:
    import pyarrow as pa

KIND = b"deltalog:kind"
MAX_SMALL_ROWS = 1 << 15
MAX_ARROW_DIGITS = 38  # of a decimal of 128 bits
_NO_ROWS = str | bytes | bytearray | memoryview
_NO_VALUES = (TypeError, ValueError, OverflowError, RecursionError)  # of what is no value
_TEXT_KINDS = {b"iri": Kind.IRI, b"blank": Kind.BLANK, b"string": Kind.STRING}


# To columns of ids.

_EXPECTED = "expected rows, such as [('a', 'b'), ('b', 'c')], or a table"


def listed(data: Any) -> Any:
    """Rows of any iterable as a list; any other data unchanged."""
    if isinstance(data, Mapping):
        raise UsageError(
            f"{_EXPECTED}, and not the dictionary {short_repr(data)}; pandas.DataFrame(...) makes a table of columns"
        )
    if isinstance(data, tuple) and data and not any(isinstance(row, list | tuple) for row in data):
        raise UsageError(f"{_EXPECTED}, and not a single row; write [{short_repr(data)}]")
    is_table = is_series(data) or isinstance(data, np.ndarray | _NO_ROWS) or hasattr(data, "__arrow_c_stream__")
    return list(data) if isinstance(data, Iterable) and not is_table else data


def is_series(data: Any) -> bool:
    """Whether data are a single column of pandas or polars."""
    return type(data).__name__ == "Series" and hasattr(data, "to_frame")


def has_rows(columns: Sequence[Column], data: Any) -> bool:
    """Whether there are rows in data, of which these are the columns. Rows may have no columns."""
    return len(columns[0]) > 0 if columns else isinstance(data, Sized) and len(data) > 0


def columns_of(data: Any, dictionary: Dictionary) -> list[Column]:
    """The columns of ids of rows, of an Arrow table or of a data frame. Rows without any row have no columns."""
    if hasattr(data, "toArrow"):
        data = spark_to_arrow(data)
    if isinstance(data, np.ndarray):
        return _from_values([_array_values(data[:, i]) for i in range(_width(data))], dictionary)
    if hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(_as_arrow(data), dictionary)
    return _from_rows(data, dictionary)


def columns_of_all(several: Sequence[Any], dictionary: Dictionary) -> list[list[Column]]:
    """The same for several inputs; if all are small lists of rows, their values are encoded in one batch."""
    if not all(isinstance(data, list) for data in several) or sum(map(len, several)) > MAX_SMALL_ROWS:
        return [columns_of(data, dictionary) for data in checked(several)]
    for rows in checked(several):
        if rows:
            _check_rows(rows)
    columns = [list(zip(*rows, strict=True)) for rows in several]
    try:
        ids = iter(dictionary.encode_columns([column for table in columns for column in table]))
    except _NO_VALUES:
        raise _bad_value(columns) from None
    return [[next(ids) for _ in table] for table in columns]


def spark_to_arrow(data: Any) -> pa.Table:
    """A Spark DataFrame as an Arrow table, with the kinds of its columns."""
    import pyarrow as pa

    table = data.toArrow()
    kinds = [field.metadata.get(KIND.decode()) for field in data.schema.fields]
    fields = [f.with_metadata({KIND: k}) if k else f for f, k in zip(table.schema, kinds, strict=True)]
    return table.cast(pa.schema(fields))


def _width(array: np.ndarray[Any, Any]) -> int:
    if array.ndim != 2:
        hint = "; array.reshape(-1, 1) has one value in each row" if array.ndim == 1 else ""
        raise UsageError(f"an array of facts has two dimensions, rows and columns; this one has {array.ndim}{hint}")
    return int(array.shape[1])


def _array_values(column: np.ndarray[Any, Any]) -> list[Any]:
    """The values of a column of an array; as numpy's own where `tolist` makes integers of nanoseconds."""
    return list(column) if column.dtype.kind in "mM" else column.tolist()


def _from_rows(rows: Iterable[Sequence[Any]], dictionary: Dictionary) -> list[Column]:
    if isinstance(rows, _NO_ROWS) or not isinstance(rows, Iterable):
        raise UsageError(f"{_EXPECTED}, and not {short_repr(rows)}")
    rows = list(rows)
    if not rows:
        return []
    _check_rows(rows)
    return _from_values(list(zip(*rows, strict=True)), dictionary)


def _from_values(columns: Sequence[Sequence[Any]], dictionary: Dictionary) -> list[Column]:
    try:
        return [dictionary.encode(column) for column in columns]
    except _NO_VALUES:
        raise _bad_value([columns]) from None


def _check_rows(rows: list[Any]) -> None:
    """Every row is a tuple or a list, and they are of one length."""
    if not set(map(type, rows)) <= {tuple, list}:
        for number, row in enumerate(rows, 1):
            if isinstance(row, _NO_ROWS) or not isinstance(row, Sequence):
                hint = (
                    f"; a row of one value is written ({short_repr(row)},)" if not isinstance(row, dict | set) else ""
                )
                raise UsageError(f"row {number}: expected a tuple of values, and not {short_repr(row)}{hint}")
    width = len(rows[0])
    if set(map(len, rows)) != {width}:
        number, row = next((n, row) for n, row in enumerate(rows, 1) if len(row) != width)
        raise UsageError(
            f"row {number}: expected {width} values, as in the first row, and not {len(row)}: {short_repr(row)}"
        )


def _bad_value(tables: Sequence[Sequence[Sequence[Any]]]) -> UsageError:
    """The error for the first row with a value that is none; a table is its columns."""
    for number, row in (numbered for columns in tables for numbered in enumerate(zip(*columns, strict=True), 1)):
        for value in row:
            try:
                kind(plain(value)), lexical(plain(value)).encode()
            except UnicodeEncodeError:
                return UsageError(
                    f"row {number}: {short_repr(value)} has half a character (a surrogate), which is no text"
                )
            except _NO_VALUES as problem:
                return UsageError(f"row {number}: {problem}")
    return UsageError("a value is of a type that deltalog does not have")


def _as_arrow(data: Any) -> pa.Table:
    import pyarrow as pa

    if not type(data).__module__.startswith("pandas"):
        try:
            return pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            raise _no_table(data, str(problem)) from None
    if not hasattr(data, "columns"):
        raise _no_table(data, "it has no columns")
    noted = data.attrs.get(KIND.decode(), {})
    arrays, fields = [], []
    for i, name in enumerate(map(str, data.columns)):
        with _named(name):
            array, what = _pandas_column(data.iloc[:, i], noted.get(name))
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={KIND: what} if what else None))
    return pa.table(arrays, schema=pa.schema(fields))


def _no_table(data: Any, problem: str) -> UsageError:
    name = type(data).__name__
    if name in ("Series", "ChunkedArray"):
        return UsageError(f"expected rows or a table, and a {name} is a single column; put it into a DataFrame first")
    return UsageError(f"Arrow cannot read this {name} ({problem}); convert its columns to other types first")


@contextmanager
def _named(column: str) -> Iterator[None]:
    """Adds the column to error messages."""
    try:
        yield
    except UsageError as problem:
        raise UsageError(f"column {column!r}: {problem}") from None


def _pandas_column(series: Any, what: str | None) -> tuple[Any, str | None]:
    """A column as Arrow has it, and its kind; values that Arrow cannot put into one column become cells."""
    import pyarrow as pa

    try:
        if isinstance(series.dtype, np.dtype) and series.dtype.kind == "f":
            return pa.array(series.to_numpy(), from_pandas=False), what
        return pa.array(series, from_pandas=True), what
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(_cells(series.tolist()), pa.string()), "cell"


def _cells(values: Iterable[Any]) -> Iterator[str]:
    for number, value in enumerate(values, 1):
        try:
            value = plain(value)
            kind(value)
        except TypeError as problem:
            raise UsageError(f"row {number}: {problem}") from None
        yield print_cell(value)


def _from_arrow(table: pa.Table, dictionary: Dictionary) -> list[Column]:
    columns = []
    for i, field in enumerate(table.schema):
        what = (field.metadata or {}).get(KIND, b"string")
        with _named(field.name):
            columns.append(_from_column(table.column(i), what, dictionary))
    return columns


def _from_column(column: pa.ChunkedArray, what: bytes, dictionary: Dictionary) -> Column:
    if column.null_count:
        number = int(np.flatnonzero(column.is_null().to_numpy())[0]) + 1
        raise UsageError(f"row {number}: {NO_VALUE}")
    parts = [_from_array(chunk, what, dictionary) for chunk in column.chunks]
    return np.concatenate([np.empty(0, np.uint32), *parts])


def ids_of_column(column: pa.ChunkedArray, field: pa.Field, dictionary: Dictionary) -> Column:
    """The ids of the values of a column, none of which is null."""
    return _from_column(column, (field.metadata or {}).get(KIND, b"string"), dictionary)


def ids_of_strings(column: pa.ChunkedArray, dictionary: Dictionary) -> Column:
    """The ids of strings."""
    return _from_column(column, b"string", dictionary)


def _from_array(array: Any, what: bytes, dictionary: Dictionary) -> Column:
    import pyarrow as pa

    type_ = array.type
    if pa.types.is_dictionary(type_):
        if array.dictionary.null_count:
            return _from_column(pa.chunked_array([array.dictionary_decode()]), what, dictionary)
        return _taken(_from_array(array.dictionary, what, dictionary), array.indices)
    if pa.types.is_integer(type_) and type_ != pa.uint64():
        return dictionary.intern_integers(array.to_numpy(zero_copy_only=False).astype(np.int64))
    if pa.types.is_floating(type_):
        return dictionary.intern_doubles(array.to_numpy(zero_copy_only=False).astype(np.float64))
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return _from_strings(array, what, dictionary)
    return _from_distinct(array, dictionary)


def _from_strings(array: Any, what: bytes, dictionary: Dictionary) -> Column:
    import pyarrow as pa

    if what == b"cell":
        encoded = array.dictionary_encode()
        ids = dictionary.encode([parse_cell(text) for text in encoded.dictionary.to_pylist()])
        return _taken(ids, encoded.indices)
    array = array.cast(pa.large_string())
    _, bounds, data = array.buffers()
    places = slice(array.offset, array.offset + len(array) + 1)
    offsets = np.frombuffer(bounds, np.int64)[places] if bounds else np.zeros(1, np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return dictionary.intern_texts(text, offsets[:-1].copy(), offsets[1:].copy(), _TEXT_KINDS.get(what, Kind.STRING))


def _from_distinct(array: Any, dictionary: Dictionary) -> Column:
    """Columns of a type that needs Python: each distinct value once."""
    import pyarrow as pa

    type_ = array.type
    if pa.types.is_timestamp(type_) and type_.unit == "ns":
        array = _cast(array, pa.timestamp("us", type_.tz))
    if not (pa.types.is_primitive(type_) or pa.types.is_decimal(type_)):
        raise UsageError(f"values of the type {type_} are not values of deltalog")
    encoded = array.dictionary_encode()
    try:
        ids = dictionary.encode(_python_values(encoded.dictionary))
    except TypeError as problem:
        raise UsageError(str(problem)) from None
    return _taken(ids, encoded.indices)


def _python_values(array: Any) -> list[Any]:
    import pyarrow as pa

    try:
        values: list[Any] = array.to_pylist()
    except OverflowError:
        raise UsageError("dates have years from 1 to 9999, and some of these have others") from None
    except (pa.ArrowException, ValueError) as problem:
        raise UsageError(f"values of the type {array.type} cannot be read ({problem})") from None
    return values


def _taken(ids: Column, places: Any) -> Column:
    taken: Column = ids[places.to_numpy(zero_copy_only=False)]
    return taken


def _cast(array: Any, type_: Any) -> Any:
    import pyarrow as pa

    try:
        return array.cast(type_)
    except pa.ArrowInvalid:
        raise UsageError(TOO_FINE) from None


# From columns of ids.


def to_arrow(columns: Columns, dictionary: Dictionary, names: Sequence[str] | None = None) -> pa.Table:
    """An Arrow table of columns of ids. Columns are named c0, c1, ... unless `names` says otherwise."""
    import pyarrow as pa

    names = names or [f"c{i}" for i in range(len(columns))]
    arrays, fields = [], []
    for name, ids in zip(names, columns, strict=True):
        array, what = _to_array(np.asarray(ids, np.uint32), dictionary)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={KIND: what} if what else None))
    return pa.table(arrays, schema=pa.schema(fields))


def to_pandas(columns: Columns, dictionary: Dictionary, names: Sequence[str] | None = None) -> Any:
    """A pandas DataFrame of columns of ids; what the strings of a column are is in its `attrs`."""
    table = to_arrow(columns, dictionary, names)
    frame = table.to_pandas()
    kinds = {field.name: field.metadata[KIND].decode() for field in table.schema if field.metadata}
    frame.attrs[KIND.decode()] = kinds
    return frame


def to_polars(columns: Columns, dictionary: Dictionary, names: Sequence[str] | None = None) -> Any:
    """A polars DataFrame of columns of ids."""
    try:
        import polars
    except ImportError:
        raise UsageError("polars is not installed: pip install 'deltalog[polars]'") from None
    return polars.from_arrow(to_arrow(columns, dictionary, names))


def _to_array(ids: Column, dictionary: Dictionary) -> tuple[Any, bytes | None]:
    """The Arrow array of a column, and the kind for its metadata."""
    import pyarrow as pa

    kinds = set(np.flatnonzero(np.bincount(dictionary.kinds[ids], minlength=1)).tolist())
    if kinds == {Kind.INTEGER}:
        return pa.array(dictionary.integers[ids]), None
    if kinds == {Kind.DOUBLE}:
        return pa.array(dictionary.doubles[ids]), None
    if not kinds or kinds == {Kind.STRING}:
        return _strings(ids, dictionary), None
    if kinds in ({Kind.IRI}, {Kind.BLANK}):
        return _strings(ids, dictionary), b"iri" if kinds == {Kind.IRI} else b"blank"
    distinct, places = distinct_ids(ids, len(dictionary))
    array, what = _distinct_array(dictionary.decode(distinct), kinds)
    return array.take(pa.array(places)), what


def arrow_of_rows(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> pa.Table:
    """An Arrow table of rows of values, in which None is null."""
    import pyarrow as pa

    arrays, fields = [], []
    for i, name in enumerate(names):
        array, what = _array_of([row[i] for row in rows])
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={KIND: what} if what else None))
    return pa.table(arrays, schema=pa.schema(fields))


def _array_of(values: list[Any]) -> tuple[Any, bytes | None]:
    """The Arrow array of values of which some may be None, and the kind for its metadata."""
    import pyarrow as pa

    present = [value for value in values if value is not None]
    kinds = {int(kind(value)) for value in present}
    ids = iter(range(len(present)))
    places = pa.array([None if value is None else next(ids) for value in values], pa.int64())
    if len(kinds) == 1 and (type_ := _OWN_TYPES.get(Kind(*kinds))) is not None:
        what = {Kind.IRI: b"iri", Kind.BLANK: b"blank"}.get(Kind(*kinds))
        return pa.array(map(str.__str__, present) if what else present, getattr(pa, type_)()).take(places), what
    array, what = _distinct_array(present, kinds) if present else (pa.array([], pa.string()), None)
    return array.take(places), what


_OWN_TYPES = {
    Kind.INTEGER: "int64",
    Kind.DOUBLE: "float64",
    Kind.STRING: "string",
    Kind.IRI: "string",
    Kind.BLANK: "string",
}


def _strings(ids: Column, dictionary: Dictionary) -> Any:
    import pyarrow as pa

    data, bounds = dictionary.texts(ids)
    array = pa.LargeStringArray.from_buffers(len(ids), pa.py_buffer(bounds), pa.py_buffer(data))
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError("a string with half a surrogate pair has no place in Arrow") from None
    return array.cast(pa.string()) if len(data) < 2**31 else array


def _distinct_array(values: list[Any], kinds: set[int]) -> tuple[Any, bytes | None]:
    """The array of distinct values that are not all integers, floats, strings, IRIs or blank nodes."""
    import pyarrow as pa

    if kinds == {Kind.BOOLEAN}:
        return pa.array(values, pa.bool_()), None
    if kinds == {Kind.DATE}:
        return pa.array(values, pa.date32()), None
    if kinds == {Kind.DATETIME} and (zone := _common_zone(values)) is not None:
        return pa.array(values, pa.timestamp("us", zone or None)), None
    if kinds == {Kind.NUMBER} and (type_ := _decimal_type(values)) is not None:
        return pa.array(values, type_), None
    try:
        return pa.array([print_cell(value) for value in values], pa.string()), b"cell"
    except UnicodeEncodeError:
        raise DataError("a string with half a surrogate pair has no place in Arrow") from None


def _decimal_type(values: list[Any]) -> Any:
    """The type of decimals, with as many digits as they need; None if there are other numbers, or too many digits."""
    import pyarrow as pa

    if not all(isinstance(value, Decimal) for value in values):
        return None
    scale = max(max(0, -value.as_tuple().exponent) for value in values)
    precision = scale + max(max(0, value.adjusted() + 1) for value in values)
    return pa.decimal128(max(1, precision), scale) if precision <= MAX_ARROW_DIGITS else None


def _common_zone(values: list[datetime]) -> str | None:
    """'' for times without a zone, UTC for times in UTC; None for others and for a mixture."""
    zones = {"" if value.tzinfo is None else "UTC" if value.tzinfo == UTC else None for value in values}
    return zones.pop() if len(zones) == 1 else None


# Parquet.


def read_parquet(path: Path, dictionary: Dictionary, names: Sequence[str] = ()) -> list[Column]:
    """The columns of a Parquet file; if names are given, in their order."""
    with _parquet(path) as file:
        return columns_by_name(_row_groups(file, range(file.num_row_groups)), names, dictionary)


def parquet_table(path: Path, row_groups: Sequence[int] | None = None) -> pa.Table:
    """A Parquet file, or some of its row groups, as Arrow has it."""
    with _parquet(path) as file:
        return _row_groups(file, range(file.num_row_groups) if row_groups is None else row_groups)


def _row_groups(file: Any, numbers: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    groups = map(file.read_row_group, checked(numbers, every=1))
    table = pa.concat_tables([file.schema_arrow.empty_table(), *groups])
    table.validate(full=True)
    return table


def parquet_names(path: Path) -> tuple[str, ...]:
    """The names of the columns of a Parquet file."""
    with _parquet(path) as file:
        return tuple(file.schema_arrow.names)


def columns_by_name(table: pa.Table, names: Sequence[str], dictionary: Dictionary) -> list[Column]:
    """The columns of an Arrow table; if names are given, in their order, and UsageError if it has others."""
    found = table.column_names
    if names and sorted(found) != sorted(names):
        raise UsageError(
            f"the columns are {', '.join(found)}, and those of the first file of the folder are {', '.join(names)}; "
            "write the folder again with the same columns in all files"
        )
    return _from_arrow(table if not names or found == list(names) else table.select(list(names)), dictionary)


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    """A Parquet file; DataError if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pa.BufferReader(read_all(path)) if name_of(path).compression else pa.OSFile(str(path))
        yield pq.ParquetFile(source)
    except UsageError as problem:
        raise DataError(f"{path}: {problem}") from None
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise DataError(f"{path}: cannot be read as Parquet ({problem})") from None


def write_parquet(path: Path, columns: Columns, dictionary: Dictionary, names: Sequence[str] | None = None) -> None:
    """Write columns of ids as a Parquet file."""
    import pyarrow.parquet as pq

    pq.write_table(to_arrow(columns, dictionary, names), path, compression="zstd")
