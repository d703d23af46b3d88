"""Executors (Python workers): RDF files of any file system that Spark reads, as tables.

N-Triples and N-Quads are lines of Spark's text source, which splits and decompresses them. Turtle and RDF/XML are whole
files of its `binaryFile` source, each parsed by one task. A document is named by its URI, and a local one as
`deltalog.formats.documents` names it.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.engines.spark.io.read import SCHEMA, parsed_blocks, partitions_for, tables_of
from deltalog.engines.spark.table import SparkTable
from deltalog.formats.columns import FactColumns
from deltalog.formats.documents import Reading

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

LINES = "ntriples"


def read_uris(files: Mapping[str, Sequence[str]], reading: Reading, backend: SparkBackend) -> dict[Pred, SparkTable]:
    """The facts of files by their format: ntriples (or N-Quads), turtle, xml."""
    parsed = [_parsed(format, list(uris), reading, backend) for format, uris in files.items() if uris]
    if not parsed:
        return {}
    whole = parsed[0]
    for other in parsed[1:]:
        whole = whole.union(other)
    return tables_of(whole, partitions_for(0, backend), backend)


def _parsed(format: str, uris: list[str], reading: Reading, backend: SparkBackend) -> DataFrame:
    salt = backend.salt
    if format == LINES:
        rows = backend.spark.read.text(uris).select("_metadata.file_path", "value")
    else:
        rows = backend.spark.read.format("binaryFile").load(uris).select("path", "content")

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for uri, content in _documents(batch, format == LINES):
                yield from parsed_blocks(0, partial(_parse, uri, content, format, reading), salt)

    return rows.mapInArrow(each, SCHEMA)


# In Python workers.


def _documents(batch: pa.RecordBatch, lines: bool) -> Iterator[tuple[str, bytes]]:
    """The documents of a batch, or the lines of each."""
    if not lines:
        yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        return
    by_uri: dict[str, list[str]] = {}
    for uri, line in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
        by_uri.setdefault(uri, []).append(line)
    for uri, found in by_uri.items():
        yield uri, "\n".join(found).encode()


def _parse(uri: str, content: bytes, format: str, reading: Reading, dictionary: Dictionary) -> FactColumns:
    """The facts of a document, or of some lines of it."""
    path, shown = _named(uri)
    if reading.base is None:
        reading = replace(reading, base=shown if shown != str(path) else None)
    try:
        if format == LINES:
            from deltalog.formats.ntriples import read_stream

            return read_stream(io.BytesIO(content), path, dictionary, reading, from_start=False)
        from deltalog.formats.rdf import read_rdf_data

        return read_rdf_data(_decompressed(path, content), path, dictionary, format, reading)
    except DataError as problem:
        raise DataError(_readable(str(problem), path, shown, format)) from None


def _named(uri: str) -> tuple[Path, str]:
    """The path by which a document is named, and how messages show it."""
    found = re.match(r"file:/+", uri)
    if found:
        path = Path("/" + unquote(uri[found.end() :]))
        return path, str(path)
    return Path("/" + uri), uri


def _decompressed(path: Path, content: bytes) -> bytes:
    from deltalog.formats.files import name_of, read_all

    compression = name_of(path).compression
    if not compression:
        return content
    with tempfile.NamedTemporaryFile(suffix=compression) as file:
        file.write(content)
        file.flush()
        return read_all(Path(file.name))


def _readable(message: str, path: Path, shown: str, format: str) -> str:
    """A message with the URI. Spark's text source does not number lines: the line itself is in the message."""
    place = re.match(rf"{re.escape(str(path))}:\d+(:\d+)?: ", message) if format == LINES else None
    if place:
        return f"{shown}: {message[place.end() :]}"
    return message.replace(str(path), shown)
