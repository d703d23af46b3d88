"""N-Triples and N-Quads, parsed in parallel.

The file is read in blocks of whole lines. Each worker thread has a dictionary of its own and parses every n-th block
with the kernel `parse`, which needs no lock and no Python; the main thread only reads (and decompresses) ahead of them.
At the end the workers' dictionaries are merged into the caller's, ids are translated, and `group` collects the facts of
each predicate. Nothing reaches the caller's dictionary before the whole file has been read without an error, and the
same file always gives the same ids.

Some extensions of the standard are accepted unless the reader is strict: relative IRIs, objects that are bare numbers
or true and false (`<road1> <volume> 25 .`), and graphs in `.nt` as in `.nq`. Triples with a graph are rows of QUADS.
Blank nodes are named by `deltalog.formats.documents` when dictionaries are merged, each distinct label once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import check_running
from deltalog.core.rules import QUADS, Pred
from deltalog.core.terms import RDF_TYPE, TUPLE, XSD, Kind, Value, lexical, literal
from deltalog.formats.columns import Column, FactColumns
from deltalog.formats.documents import DEFAULT, MARK, Reading
from deltalog.formats.files import name_of, opened
from deltalog.formats.text import (
    BYTE_ORDER_MARK,
    NEWLINE,
    PADDING,
    RETURN,
    Block,
    excerpt_error,
    fill,
    last_line_end,
    survey,
)
from deltalog.kernels import ntriples as kernels

BLOCK = 2 * 2**20
MOST_WORKERS = 8
AHEAD = 2  # how many blocks a worker may have waiting

EXPECTED = {
    kernels.SUBJECT: "expected a subject: an IRI in <> or a blank node like _:b1",
    kernels.PREDICATE: "expected a predicate: an IRI in <>",
    kernels.OBJECT: "expected an object: an IRI in <>, a blank node like _:b1, a literal in double quotes, or a number",
    kernels.IN_IRI: "expected the > that ends the IRI (spaces, quotes and < cannot stand in one)",
    kernels.IRI_CHARACTER: 'expected an IRI without spaces, control characters and <>"{}|^`\\, not even as escapes',
    kernels.IRI_ESCAPE: "expected \\uXXXX or \\UXXXXXXXX, the only escapes in an IRI",
    kernels.ABSOLUTE: "expected an absolute IRI, such as <http://example.org/a>",
    kernels.LABEL: "expected a blank node like _:b1",
    kernels.LABEL_CHARACTER: "expected a character that can stand in the label of a blank node: letters, digits, _ - .",
    kernels.QUOTE: 'expected the " that ends the literal (a line break in it is written \\n)',
    kernels.ESCAPE: "expected an escape that exists: \\t \\b \\n \\r \\f \\\" \\' \\\\ \\uXXXX or \\UXXXXXXXX",
    kernels.LANGUAGE_TAG: "expected a language after @, like en or de-at (at most 8 letters or digits between hyphens)",
    kernels.DATATYPE: "expected a datatype after ^^: an IRI in <>",
    kernels.DOT: "expected the . that ends the statement",
    kernels.END_OF_LINE: "expected the end of the line after the .",
}


STRICTLY = "expected an object: an IRI in <>, a blank node like _:b1, or a literal in double quotes"


def read_ntriples(path: Path, dictionary: Dictionary, reading: Reading = DEFAULT) -> FactColumns:
    """The facts of an N-Triples or N-Quads file."""
    with opened(path) as stream:
        return read_stream(stream, path, dictionary, by_mark(path, reading))


def read_stream(
    stream: BinaryIO, path: Path, dictionary: Dictionary, reading: Reading = DEFAULT, from_start: bool = True
) -> FactColumns:
    """The facts of the lines of a file that a stream has, from its start or from some line on."""
    workers = _parse_all(_blocks(stream, from_start), path, _strictness(path, reading))
    return facts_of(_merged(workers, dictionary, reading.label_prefix(path)), dictionary, reading.graphs)


def _strictness(path: Path, reading: Reading) -> int:
    if not reading.strict:
        return kernels.LENIENT
    quads = path.name.lower().removesuffix(name_of(path).compression).endswith(".nq")
    return kernels.STRICT_QUADS if quads else kernels.STRICT_TRIPLES


def by_mark(path: Path, reading: Reading) -> Reading:
    """How a file is read: with shared labels, too, if deltalog wrote it."""
    return replace(reading, shared_blank_nodes=True) if is_marked(path) else reading


def is_marked(path: Path) -> bool:
    """Whether a file begins with the line that says that its labels are global names."""
    if not path.is_file():
        return False
    with opened(path) as stream:
        return stream.read(len(MARK)) == MARK


def _blocks(stream: BinaryIO, from_start: bool) -> Iterator[Block]:
    """Cut a stream into blocks at line ends."""
    size, carry, first = BLOCK, np.empty(0, np.uint8), from_start
    while True:
        data = np.empty(size + PADDING, np.uint8)
        data[: len(carry)] = carry
        filled = fill(stream, data, len(carry), size)
        final = filled < size
        if first and data[:3].tobytes() == BYTE_ORDER_MARK and filled >= 3:
            data, filled = data[3:], filled - 3
        first = False
        if final:
            if filled > 0:
                data[filled : filled + PADDING] = 0
                data[filled] = NEWLINE
                yield Block(data, filled + 1)
            return
        end = last_line_end(data, len(carry), filled)
        carry = data[end:filled].copy()
        if end > 0:
            data[end:] = 0
            yield Block(data, end)
        size = max(BLOCK, 2 * len(carry))


class Worker:
    """One thread's dictionary, and the rows (of its ids) of each block it has parsed."""

    def __init__(self, strict: int) -> None:
        self.strict = strict
        self.terms = Dictionary()
        self.rows: list[NDArray[np.uint32]] = []

    def parse(self, block: Block) -> Result:
        """Parse a block; what is wrong with it, if anything, is in the result."""
        bad, lines, returns = survey(block, RETURN)
        most = lines + returns  # every statement ends with one of the two
        rows = np.empty((4, most), np.uint32)
        room = self.terms.reserve(4 * most, block.end + PADDING)
        first = len(self.terms)
        n, error, at = kernels.parse(block.data, block.end, room, _XSD, self.strict, rows)
        self.terms.settle(first)
        if bad is not None and (error == kernels.FINE or bad <= at):
            return Result(lines, "expected UTF-8 text", block, bad)
        if error != kernels.FINE:
            problem = STRICTLY if self.strict and error == kernels.OBJECT else EXPECTED[error]
            return Result(lines, problem, block, int(at))
        self.rows.append(rows[:, :n])
        return Result(lines)


class Result(NamedTuple):
    """How many lines a block has, and where and why one of them is wrong."""

    lines: int
    problem: str = ""
    block: Block | None = None
    at: int = 0


_XSD = np.frombuffer(XSD.encode(), np.uint8)


def _parse_all(blocks: Iterator[Block], path: Path, strict: int) -> list[Worker]:
    """Parse every block, each worker every n-th; the first error in the order of the file is raised."""
    cores = min(MOST_WORKERS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    workers = [Worker(strict) for _ in range(cores)]
    threads = [ThreadPoolExecutor(1) for _ in workers]
    try:
        pending: list[Future[Result]] = []
        line = 0
        for i, block in enumerate(blocks):
            check_running()
            pending.append(threads[i % cores].submit(workers[i % cores].parse, block))
            if len(pending) > AHEAD * cores:
                line += _checked(pending.pop(0).result(), line, path)
        for future in pending:
            line += _checked(future.result(), line, path)
    finally:
        for thread in threads:
            thread.shutdown(cancel_futures=True)
    return workers


def _checked(result: Result, line: int, path: Path) -> int:
    """The number of lines of a good result; DataError for a bad one."""
    if result.block is None:
        return result.lines
    raise excerpt_error(path, line, result.block, result.at, result.problem)


def _merged(workers: list[Worker], dictionary: Dictionary, blank_prefix: str) -> NDArray[np.uint32]:
    """All rows in the caller's ids."""
    rows: list[list[NDArray[np.uint32]]] = []
    for worker in workers:
        ids = dictionary.merge(worker.terms, _RAW, blank_prefix)
        tuples = worker.terms.having_prefix(Kind.TYPED, TUPLE + "\0")
        ids[tuples] = dictionary.encode([_typed(text) for text in worker.terms.strings(tuples)])
        rows.append([ids[block] for block in worker.rows])
    ordered = [rows[i % len(rows)][i // len(rows)] for i in range(sum(map(len, rows)))]
    return np.concatenate([np.empty((4, 0), np.uint32), *ordered], axis=1)


def _typed(text: str) -> Value:
    datatype, _, text = text.partition("\0")
    return literal(text, datatype)


def _bare(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    return float(text) if set(text) & set(".eE") else literal(text, XSD + "integer")


_RAW = {int(kernels.RAW_TYPED): _typed, int(kernels.RAW_BARE): _bare}  # all that Python sees of a file


def facts_of(rows: NDArray[np.uint32], dictionary: Dictionary, graphs: bool) -> FactColumns:
    """The facts of rows of subjects, predicates, objects and graphs: by predicate where the graph is 0, else QUADS; all
    of them by predicate if graphs are not kept."""
    named = rows[3] != 0
    if not graphs or not named.any():
        return grouped(rows[:3], dictionary)
    s, p, o, graph = rows[:, named]
    return {**grouped(rows[:3, ~named], dictionary), QUADS: [graph, s, p, o]}


def grouped(rows: NDArray[np.uint32], dictionary: Dictionary) -> FactColumns:
    """The facts of each predicate; an rdf:type whose object is an IRI is a fact of the class."""
    rdf_type = dictionary.find(RDF_TYPE) or 0
    n = rows.shape[1]
    groups = np.zeros((3, min(n, 2 * len(dictionary))), np.int64)
    out = np.empty((2, n), np.uint32)
    numbers = np.zeros((2, len(dictionary)), np.int32)
    count = int(kernels.group(rows, dictionary.kinds, rdf_type, numbers, groups, out))
    names, unary, ends = groups[0, :count], groups[1, :count].tolist(), groups[2, :count].tolist()
    facts: FactColumns = {}
    starts = [0, *ends][:-1]
    for name, is_class, start, end in zip(dictionary.decode(names), unary, starts, ends, strict=True):
        columns: list[Column] = [out[0, start:end]] if is_class else [out[0, start:end], out[1, start:end]]
        facts[Pred(lexical(name), len(columns))] = columns
    return facts
