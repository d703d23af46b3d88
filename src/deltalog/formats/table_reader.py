"""Tables with options (`TableOptions`): CSV, TSV and Parquet files to columns of ids.

Columns of the type `auto` have cells as `deltalog.formats.csv_cells` says; the kernel of `deltalog.formats.tables`
reads them. Columns of other types are texts, which Arrow's CSV reader finds and `deltalog.formats.typed_cells`
converts; so a file with both is read twice. With other quotes than `"`, Arrow reads all columns, and a quoted cell is
like any other.

A file is read into a dictionary of its own, which is merged into the caller's at the end: an error has no effect. An
error names the line, which is looked for only then, by Python's slow reader.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np

from deltalog.core.arrays import Mask
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, UsageError
from deltalog.core.limits import check_running, checked
from deltalog.core.table_options import AUTO, DROP, ERROR, ChosenColumn, TableOptions
from deltalog.formats.columns import Column
from deltalog.formats.csv_cells import parse_plain
from deltalog.formats.files import opened
from deltalog.formats.formats import DELIMITERS
from deltalog.formats.table_files import TableFile
from deltalog.formats.table_head import TableHead, decoded, records, table_head
from deltalog.formats.text import BYTE_ORDER_MARK
from deltalog.formats.typed_cells import EXAMPLES, WrongCell, typed_ids

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 60  # characters of a cell in a message


class Cells(NamedTuple):
    """A column that was read: its ids, and which of its rows have no value."""

    ids: Column
    nulls: Mask


class Missing(Exception):
    """A row without a value in a column, where that is an error."""

    def __init__(self, row: int) -> None:
        self.row = row  # from 0 on
        super().__init__(row)


def read_text_table(
    path: Path, dictionary: Dictionary, format: str, options: TableOptions, table: TableFile
) -> list[Column] | None:
    """The chosen columns of a CSV or TSV file and of its partition; None if it has no row."""
    head = table_head(path, format, options)
    if head.width is None:
        return None
    file = _TextFile(path, format, options, head)
    own = Dictionary()
    columns = _columns(options, table, head.header, head.width, own, path, file.read)
    return _merged(columns, own, dictionary)


def read_parquet_table(
    path: Path, dictionary: Dictionary, options: TableOptions, table: TableFile, row_groups: Sequence[int] | None = None
) -> list[Column] | None:
    """The chosen columns of a Parquet file, or of some of its row groups, and of its partition."""
    from deltalog.formats.frames import parquet_table

    data = parquet_table(path, row_groups)
    names, own = table.names or tuple(data.column_names), Dictionary()
    if sorted(names) != sorted(data.column_names):
        raise DataError(f"{path}: the columns are {', '.join(data.column_names)}, and not {', '.join(names)}")

    def read(wanted: Sequence[ChosenColumn], dictionary: Dictionary) -> dict[int, Cells]:
        return {
            column.place: _reported(
                lambda column=column: _arrow_cells(data, names[column.place], column, options, dictionary),  # type: ignore[misc]
                column,
                lambda row: f"{path}: row {row + 1}",
            )
            for column in wanted
        }

    return _merged(_columns(options, table, names, len(names), own, path, read), own, dictionary)


def _columns(
    options: TableOptions,
    table: TableFile,
    header: Sequence[str] | None,
    width: int,
    dictionary: Dictionary,
    path: Path,
    read: Callable[[Sequence[ChosenColumn], Dictionary], dict[int, Cells]],
) -> list[Column]:
    """The chosen columns: those that `read` finds in the file, and those of its partition."""
    names = None if header is None else (*header, *table.partition_names)
    try:
        chosen = options.chosen(names, width + len(table.partition))
    except UsageError as problem:
        raise DataError(f"{path}: {problem}") from None
    inside = [column for column in chosen if column.place < width]
    if not inside:
        raise DataError(f"{path}: choose a column that is in the file, and not in the names of its folders only")
    found = read(inside, dictionary)
    first = found[inside[0].place]
    for column in (column for column in chosen if column.place >= width):
        ids = np.full(len(first.ids), dictionary.intern(table.partition[column.place - width]), np.uint32)
        found[column.place] = Cells(ids, np.zeros(len(ids), np.bool_))
    return _without_nulls([found[column.place] for column in chosen], options, dictionary)


def _without_nulls(columns: Sequence[Cells], options: TableOptions, dictionary: Dictionary) -> list[Column]:
    """Rows without a value are dropped, or get the one of the options. (If they are errors, there are none.)"""
    if not any(cells.nulls.any() for cells in columns):
        return [cells.ids for cells in columns]
    if options.nulls == DROP:
        kept = ~np.any([cells.nulls for cells in columns], axis=0)
        return [cells.ids[kept] for cells in columns]
    assert options.nulls is not None
    value = np.uint32(dictionary.intern(options.nulls))
    return [np.where(cells.nulls, value, cells.ids) for cells in columns]


def _merged(columns: Sequence[Column], own: Dictionary, dictionary: Dictionary) -> list[Column] | None:
    if not len(columns[0]):
        return None
    ids = dictionary.merge(own)
    return [np.ascontiguousarray(ids[column]) for column in columns]


def _reported(read: Callable[[], Cells], column: ChosenColumn, place: Callable[[int], str]) -> Cells:
    """Cells of a column, with its name and the place of a wrong one in messages."""
    named = f"column {column.name!r}" if column.name is not None else f"column {column.place + 1}"
    check_running()
    try:
        return read()
    except WrongCell as wrong:
        shown = wrong.text if len(wrong.text) <= SHOWN else f"{wrong.text[:SHOWN]}…"
        hint = "; nulls says what becomes of rows without a value" if not shown.strip() else ""
        message = f"{shown!r} is not of the type {column.type}, such as {EXAMPLES[column.type]}{hint}"
        raise DataError(f"{place(wrong.row)}: {named}: {message}") from None
    except Missing as missing:
        message = 'there is no value; nulls = "drop" drops the row, and any other value takes its place'
        raise DataError(f"{place(missing.row)}: {named}: {message}") from None
    except UsageError as problem:
        raise DataError(f"{named}: {problem}") from None


def _checked_nulls(nulls: Mask, options: TableOptions) -> Mask:
    if options.nulls in (None, ERROR) and nulls.any():
        raise Missing(int(np.flatnonzero(nulls)[0]))
    return nulls


# Text.


class _TextFile(NamedTuple):
    """A CSV or TSV file that is being read."""

    path: Path
    format: str
    options: TableOptions
    head: TableHead

    @property
    def delimiter(self) -> str:
        return self.options.delimiter or DELIMITERS[self.format]

    def read(self, wanted: Sequence[ChosenColumn], dictionary: Dictionary) -> dict[int, Cells]:
        """Columns by their places."""
        by_kernel = [c for c in wanted if c.type == AUTO and self.options.has_standard_quotes and not self._has_comma]
        others = [column for column in wanted if column not in by_kernel]
        found = self._auto(by_kernel, dictionary) if by_kernel else {}
        if others:
            found |= self._typed(others, dictionary)
        return found

    @property
    def _has_comma(self) -> bool:
        return self.options.decimal == ","

    def _auto(self, wanted: Sequence[ChosenColumn], dictionary: Dictionary) -> dict[int, Cells]:
        from deltalog.formats.tables import read_stream

        with self._stream() as stream:
            width, lines = self.head.width or -1, self.head.lines
            columns = read_stream(stream, self.path, dictionary, self.delimiter, lines, width) or []
        if not columns:
            columns = [np.empty(0, np.uint32)] * (self.head.width or 0)
        texts = self.options.nulls_as_text
        known = [dictionary.find(value) for text in texts for value in (text, parse_plain(text))]
        none = np.array([i for i in known if i is not None], np.uint32)

        def cells(column: ChosenColumn) -> Cells:
            ids = columns[column.place]
            return Cells(ids, _checked_nulls(np.isin(ids, none), self.options))

        return {column.place: _reported(lambda c=column: cells(c), column, self._place) for column in wanted}  # type: ignore[misc]

    def _typed(self, wanted: Sequence[ChosenColumn], dictionary: Dictionary) -> dict[int, Cells]:
        texts = self._texts(wanted)
        return {
            column.place: _reported(
                lambda i=i, column=column: _text_cells(texts.column(i), column, self.options, dictionary),  # type: ignore[misc]
                column,
                self._place,
            )
            for i, column in enumerate(wanted)
        }

    def _texts(self, wanted: Sequence[ChosenColumn]) -> pa.Table:
        """The texts of columns, by Arrow."""
        import pyarrow as pa
        import pyarrow.csv as arrow

        names = [str(place) for place in range(self.head.width or 0)]
        chosen = [str(column.place) for column in wanted]
        quote = '"' if self.options.quote is None else self.options.quote
        parsing = arrow.ParseOptions(
            delimiter=self.delimiter,
            quote_char=quote or False,
            escape_char=self.options.escape or False,
            newlines_in_values=bool(quote),
        )
        converting = arrow.ConvertOptions(
            column_types=dict.fromkeys(chosen, pa.string()),
            include_columns=chosen,
            strings_can_be_null=False,
        )
        reading = arrow.ReadOptions(column_names=names, use_threads=False)
        with self._stream() as stream:
            if not stream.peek(1):  # type: ignore[attr-defined]
                return pa.table({name: pa.array([], pa.string()) for name in chosen})
            try:
                batches = arrow.open_csv(pa.PythonFile(stream, "r"), reading, parsing, converting)
                return pa.Table.from_batches(checked(batches, every=1), batches.schema)
            except pa.ArrowInvalid as problem:
                raise self._diagnosed(str(problem)) from None

    @contextmanager
    def _stream(self) -> Iterator[BinaryIO]:
        """The rows of facts as UTF-8."""
        with opened(self.path) as raw:
            stream = cast(Any, raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(Any, raw)))
            if self.options.encoding not in (None, "utf-8"):
                text = decoded(stream.read(), self.path, self.options, True).removeprefix("\ufeff")
                stream = io.BufferedReader(cast(Any, io.BytesIO(text.encode())))
            elif stream.peek(3)[:3] == BYTE_ORDER_MARK:
                stream.read(3)
            for _ in range(self.head.lines):
                stream.readline()
            yield stream

    # Places of errors.

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of facts, each with the line in which it begins."""
        with self._stream() as stream:
            reader = records(io.TextIOWrapper(stream, "utf-8", "replace", newline="\n"), self.format, self.options)
            end = 0
            for cells in reader:
                if cells:
                    yield self.head.lines + end + 1, cells
                end = reader.line_num

    def _place(self, row: int) -> str:
        try:
            for number, (line, _) in enumerate(self._records()):
                if number == row:
                    return f"{self.path}:{line}"
        except csv.Error:  # a row before it that Python's reader refuses, and Arrow does not
            pass
        return f"{self.path}: row {row + 1}"

    def _not_utf8(self) -> int:
        """The first line that is not UTF-8."""
        with self._stream() as stream:
            for number, line in enumerate(stream, self.head.lines + 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return self.head.lines + 1

    def _diagnosed(self, problem: str) -> DataError:
        """The error for a file that Arrow refuses: the first row of another width, if there is one."""
        width, what = self.head.width, "header" if self.head.header is not None else "first row"
        if "UTF8" in problem:
            hint = 'say the encoding if it is another, such as encoding = "latin-1"'
            return DataError(f"{self.path}:{self._not_utf8()}: expected UTF-8 text; {hint}")
        try:
            for line, cells in self._records():
                if len(cells) != width:
                    found = f"{len(cells)} cell{'s' if len(cells) != 1 else ''}"
                    wanted = f"expected {width} cells, as in the {what}, but this row has {found}"
                    return DataError(f"{self.path}:{line}: {wanted}: {cells!r:.120}")
        except csv.Error as error:
            problem = str(error)
        return DataError(f"{self.path}: cannot be read as {self.format.upper()} ({problem})")


def _text_cells(texts: pa.ChunkedArray, column: ChosenColumn, options: TableOptions, dictionary: Dictionary) -> Cells:
    import pyarrow as pa
    import pyarrow.compute as pc

    none = pc.is_in(texts, value_set=pa.array(options.nulls_as_text, pa.string())).to_numpy()
    return _with_gaps(texts, _checked_nulls(none, options), column, options, dictionary)


def _with_gaps(
    texts: pa.ChunkedArray, nulls: Mask, column: ChosenColumn, options: TableOptions, dictionary: Dictionary
) -> Cells:
    """The cells of texts, of which some are no values."""
    import pyarrow as pa

    decimal = options.decimal or "."
    if not nulls.any():
        return Cells(typed_ids(texts, column.type, decimal, dictionary), nulls)
    ids = np.zeros(len(texts), np.uint32)
    try:
        ids[~nulls] = typed_ids(texts.filter(pa.array(~nulls)), column.type, decimal, dictionary)
    except WrongCell as wrong:
        raise WrongCell(int(np.flatnonzero(~nulls)[wrong.row]), wrong.text) from None
    return Cells(ids, nulls)


# Arrow.


def _arrow_cells(
    table: pa.Table, name: str, column: ChosenColumn, options: TableOptions, dictionary: Dictionary
) -> Cells:
    """The cells of a column of Parquet, as it is or by its texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from deltalog.formats.frames import ids_of_column

    data, field = table.column(name), table.field(name)
    nulls = data.is_null().to_numpy()
    if options.null_values and pa.types.is_string(data.type):
        nulls = nulls | pc.is_in(data, value_set=pa.array(options.null_values, pa.string())).to_numpy()
    _checked_nulls(nulls, options)
    if column.type != AUTO and not _has_type(data.type, column.type):
        texts = _as_texts(data)
        return _with_gaps(texts, nulls, column, options, dictionary)
    ids = np.zeros(len(data), np.uint32)
    ids[~nulls] = ids_of_column(data.filter(pa.array(~nulls)), field, dictionary)
    return Cells(ids, nulls)


def _as_texts(data: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        return data.cast(pa.string())
    except pa.ArrowException as problem:
        raise UsageError(f"values of the type {data.type} cannot be read as text ({problem})") from None


def _has_type(found: Any, wanted: str) -> bool:
    """Whether a type of Arrow is the wanted one already."""
    import pyarrow as pa

    is_one = {
        "int": pa.types.is_integer,
        "float": pa.types.is_floating,
        "decimal": pa.types.is_decimal,
        "bool": pa.types.is_boolean,
        "date": pa.types.is_date,
        "datetime": pa.types.is_timestamp,
        "string": pa.types.is_string,
    }.get(wanted)
    return is_one is not None and is_one(found)
