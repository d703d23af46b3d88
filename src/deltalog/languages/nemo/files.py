"""Files that a Nemo program imports and exports.

A cell of CSV, TSV or DSV of the format `any` is trimmed, and then

    12  +5                    an integer; 4.0 too
    1.5                       a decimal
    <http://example.org/a>    an IRI
    "chat"  "chat"@fr  "1"^^<...#byte>      a literal (in CSV, its quotes are doubled and in quotes)
    two words, or nothing     a string; a literal whose text is wrong for its datatype, too
    everything else           an IRI: a, http://example.org/a, 1e5, true

A row with another number of cells than the predicate has arguments, or with a cell that its format does not allow or
that is no UTF-8, is left out, as in Nemo; a warning says how many were. So is a statement of RDF that is wrong. Blank
nodes of RDF are numbered in the order of reading, before those that existential rules invent.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

from deltalog.core.errors import DataError, UsageError, warning
from deltalog.core.limits import checked
from deltalog.core.rules import Rule, Source, Span
from deltalog.core.terms import IRI, BlankNode, Literal, Value, lexical
from deltalog.core.user_warnings import warn
from deltalog.formats.documents import DEFAULT, document_iri
from deltalog.formats.entities import expanded
from deltalog.formats.rdfxml import prepared
from deltalog.functions.nemo_functions import full_text, literal_value, text_of
from deltalog.languages.nemo.file_use import FileUse

ImportedRow = tuple[Value, ...]
DELIMITERS = {"csv": ",", "tsv": "\t", "dsv": ","}
RDF_FORMATS = {
    **{"ntriples": "N_TRIPLES", "nquads": "N_QUADS", "turtle": "TURTLE", "trig": "TRIG", "rdfxml": "RDF_XML"},
    **{"nt": "N_TRIPLES", "nq": "N_QUADS", "ttl": "TURTLE", "rdf": "RDF_XML", "xml": "RDF_XML", "owl": "RDF_XML"},
}
QUADS = ("N_QUADS", "TRIG")
PARAMETERS = {
    **dict.fromkeys(DELIMITERS, ("delimiter", "format", "ignore_headers", "quoting")),
    **dict.fromkeys(("rdf", "ntriples", "nquads", "turtle", "trig", "rdfxml"), ("base",)),
    "json": (),
}
COMMON = {"resource", "limit", "compression"}
FLAGS = {"ignore_headers", "quoting"}
DEFAULT_GRAPH = IRI("tag:nemo:defaultgraph")
CELL_FORMATS = ("any", "string", "int", "double", "skip")


def read_import(use: FileUse, nulls: Iterator[int] | None = None) -> list[ImportedRow]:
    """The rows that an @import names. Blank nodes are numbered in the order of reading, by `nulls` if it is given."""
    _check(use)
    resource = use.parameters.get("resource", f"{use.predicate}.{use.format}")
    path = _input(str(resource), use)
    try:
        with _opened(path, use) as stream:
            rows = _rows(use, path, stream, count() if nulls is None else nulls)
            return [row for row in checked(islice(rows, _limit(use))) if row is not None]
    except OSError as error:
        raise DataError(f"{use.span}: cannot read {resource}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error, SyntaxError, ValueError) as error:
        raise DataError(f"{use.span}: {resource} is not {use.format}: {error}") from None
    except RecursionError:
        raise DataError(f"{use.span}: {resource} has too many parts inside of each other") from None


def _check(use: FileUse) -> None:
    """Refuses formats and parameters that are not known."""
    if use.format == "sparql":
        raise UsageError(
            f"{use.span}: sparql{{...}} asks a server, which deltalog does not; save the results as CSV or "
            "TSV, and import them with csv{...} or tsv{...}"
        )
    if use.format not in PARAMETERS:
        raise UsageError(f"{use.span}: there is no file format {use.format!r}; formats are {', '.join(PARAMETERS)}")
    known = COMMON.union(PARAMETERS[use.format])
    unknown = [name for name in use.parameters if name not in known]
    if unknown:
        names = ", ".join(sorted(known))
        raise UsageError(f"{use.span}: {use.format} has no parameter {unknown[0]!r}; its parameters are {names}")
    for name in FLAGS.intersection(use.parameters):
        if not isinstance(use.parameters[name], bool):
            raise UsageError(f"{use.span}: {name} is true or false, not {use.parameters[name]!r}")
    if use.format == "dsv" and "delimiter" not in use.parameters:
        raise UsageError(f'{use.span}: dsv needs a delimiter; write delimiter = ";" or the like')


def _limit(use: FileUse) -> int | None:
    """How many rows are read or written at most; 0 is no limit, as in Nemo."""
    found = use.parameters.get("limit", 0)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise UsageError(f"{use.span}: a limit is a number of rows, not {found!r}")
    return found or None


def _check_arity(use: FileUse, arity: int) -> None:
    if use.arity not in (None, arity):
        raise UsageError(f"{use.span}: {use.format} has {arity} columns; {use.predicate} has {use.arity} arguments")


def _input(resource: str, use: FileUse) -> Path:
    if re.match(r"[a-z]+://", resource) and not resource.startswith("file://"):
        raise UsageError(f"{use.span}: {resource} is not on this machine; download it, and name the file")
    path = Path(resource.removeprefix("file://"))
    beside = use.folder / path if use.folder is not None else path
    return path if not beside.exists() and path.exists() else beside


def _is_compressed(path: Path, use: FileUse) -> bool:
    wanted = use.parameters.get("compression")
    if wanted not in (None, "gzip", "none"):
        raise UsageError(f"{use.span}: the compression is gzip or none, not {wanted!r}")
    return path.suffix == ".gz" if wanted is None else wanted == "gzip"


def _opened(path: Path, use: FileUse) -> IO[bytes]:
    return gzip.open(path, "rb") if _is_compressed(path, use) else path.open("rb")  # type: ignore[return-value]


def _rows(use: FileUse, path: Path, stream: IO[bytes], nulls: Iterator[int]) -> Iterator[ImportedRow | None]:
    """The rows of a file; None for one that does not fit, and counts."""
    if use.format in DELIMITERS:
        return _table(use, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline=""))
    if use.format == "json":
        _check_arity(use, 3)
        return _json(json.load(stream, parse_constant=_no_constant))
    return _rdf(use, path, stream, nulls)


# Tables


def _table(use: FileUse, text: IO[str]) -> Iterator[ImportedRow | None]:
    formats = cell_formats(use)
    quoted = use.parameters.get("quoting", True) is not False
    reader = csv.reader(text, delimiter=_delimiter(use), quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    if use.parameters.get("ignore_headers") is True:
        next(reader, None)
    left_out = 0
    for cells in filter(None, reader):
        used = formats or ["any"] * (use.arity or len(cells))
        row = _row(cells, used)
        left_out += row is None
        if row is not None or len(cells) == len(used):
            yield row
    if left_out:
        warn(warning(f"{left_out:,} rows do not fit {use.predicate}, and are left out", use.span))


def _delimiter(use: FileUse) -> str:
    found = use.parameters.get("delimiter", DELIMITERS[use.format])
    if not isinstance(found, str) or len(found) != 1:
        raise UsageError(f"{use.span}: a delimiter is one character, not {found!r}")
    return found


def cell_formats(use: FileUse) -> list[str]:
    """The formats of the columns, if they are given."""
    given = use.parameters.get("format")
    if given is None:
        return []
    found = [str(each) for each in (given if isinstance(given, tuple) else (given,))]
    if wrong := [each for each in found if each not in CELL_FORMATS]:
        raise UsageError(f"{use.span}: a column is {', '.join(CELL_FORMATS)}, not {wrong[0]!r}")
    columns = sum(each != "skip" for each in found)
    if use.arity not in (None, columns):
        raise UsageError(f"{use.span}: the format has {columns} columns; {use.predicate} has {use.arity} arguments")
    return found


def _row(cells: Sequence[str], formats: Sequence[str]) -> ImportedRow | None:
    if len(cells) != len(formats) or any(map(_NO_TEXT.search, cells)):
        return None
    try:
        return tuple(_READ[format](cell) for cell, format in zip(cells, formats, strict=True) if format != "skip")
    except ValueError:
        return None


_NO_TEXT = re.compile("[\ud800-\udfff]")  # bytes that are no UTF-8
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?[0-9]+\.[0-9]*")
_LITERAL = re.compile(r'"(.*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<([^<>]*)>)?', re.DOTALL)


def any_value(cell: str) -> Value:
    """The value of a cell of the format `any`; ValueError if it has none."""
    text = cell.strip()
    if not text:
        return ""
    if found := _LITERAL.fullmatch(text):
        return _cell_literal(found)
    if text[0] == "<" and text[-1] == ">":
        return IRI(text[1:-1])
    if _INTEGER.fullmatch(text):
        return literal_value(text, "http://www.w3.org/2001/XMLSchema#integer")
    if _DECIMAL.fullmatch(text):
        return literal_value(text, "http://www.w3.org/2001/XMLSchema#decimal")
    if text == '"':
        raise ValueError(text)
    return text if re.search(r"[> \n]", text) else IRI(text)


def _cell_literal(found: re.Match[str]) -> Value:
    """A literal; the text of all of it, if it is wrong for its datatype."""
    try:
        return literal_value(found[1], found[3], found[2])
    except ValueError:
        return found[0]


def _integer(cell: str) -> Value:
    return literal_value(cell, "http://www.w3.org/2001/XMLSchema#integer")


def _double(cell: str) -> Value:
    return literal_value(cell, "http://www.w3.org/2001/XMLSchema#double")


_READ: dict[str, Callable[[str], Value]] = {"any": any_value, "string": str, "int": _integer, "double": _double}

# RDF and JSON


def _rdf(use: FileUse, path: Path, stream: IO[bytes], nulls: Iterator[int]) -> Iterator[ImportedRow]:
    import pyoxigraph

    name = _rdf_name(use, path)
    format = getattr(pyoxigraph.RdfFormat, RDF_FORMATS[name])
    base = use.parameters.get("base")
    has_graphs = RDF_FORMATS[name] in QUADS
    _check_arity(use, 4 if has_graphs else 3)
    labels: defaultdict[str, int] = defaultdict(nulls.__next__)
    source: Any = stream
    no_language: str | None = None
    if RDF_FORMATS[name] == "RDF_XML":
        source, no_language = prepared(expanded(stream.read(), path), path, DEFAULT.max_depth)
    parsed: Iterable[Any] = pyoxigraph.parse(
        source, format=format, base_iri=document_iri(path) if base is None else str(base)
    )
    for quad in _without_errors(parsed, use):
        object = quad.object
        if no_language is not None and getattr(object, "language", None) == no_language:
            object = pyoxigraph.Literal(object.value)
        row = tuple(_term(term, labels) for term in (quad.subject, quad.predicate, object))
        yield (_graph(quad.graph_name, labels), *row) if has_graphs else row


def _rdf_name(use: FileUse, path: Path) -> str:
    """The name of a format of RDF; `rdf` is what the ending of the file says."""
    name = use.format if use.format != "rdf" else Path(path.name.removesuffix(".gz")).suffix[1:]
    if name not in RDF_FORMATS:
        raise UsageError(f"{use.span}: the ending of {path.name} is none of RDF; write turtle{{...}} or the like")
    return name


def _without_errors(parsed: Iterable[Any], use: FileUse) -> Iterator[Any]:
    """Reading goes on after a statement that is wrong, as in Nemo."""
    statements, wrong = iter(parsed), 0
    while True:
        try:
            yield next(statements)
        except StopIteration:
            break
        except SyntaxError:
            wrong += 1
    if wrong:
        warn(warning(f"{wrong:,} statements are no {use.format}, and are left out", use.span))


def _graph(term: Any, labels: Mapping[str, int]) -> Value:
    return _term(term, labels) if hasattr(term, "value") else DEFAULT_GRAPH


def _term(term: Any, labels: Mapping[str, int]) -> Value:
    match type(term).__name__:
        case "NamedNode":
            return IRI(term.value)
        case "BlankNode":
            return BlankNode(str(labels[term.value]))
    try:
        return literal_value(term.value, term.datatype.value, term.language)
    except ValueError:
        return Literal(term.value, term.datatype.value)


def _json(document: Any) -> Iterator[ImportedRow]:
    """A value by its number: its type, its value, and the numbers of its parts, which are numbered together when their
    whole is visited; the last that was numbered is visited first, as in Nemo."""
    waiting, numbers = [(0, document)], count(1)
    while waiting:
        number, value = waiting.pop()
        yield (number, IRI("type"), _JSON_TYPES[type(value)])
        if isinstance(value, dict | list):
            keys: Iterable[Any] = sorted(value) if isinstance(value, dict) else range(len(value))
            for key in keys:
                part = next(numbers)
                waiting.append((part, value[key]))
                yield (number, key, part)
        elif value is not None:
            yield (number, IRI("value"), value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


_JSON_TYPES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "bool",
    type(None): "null",
}

# Exports


def other_exports(rules: Sequence[Rule], exports: Sequence[FileUse], outputs: Sequence[str]) -> Iterator[FileUse]:
    """What a program exports besides @export: what @output names, and if there are neither, all predicates that its
    rules derive, as CSV. No two files have the same name."""
    named = {use.predicate for use in exports}
    taken = {str(use.parameters.get("resource") or file_name(use)) for use in exports}
    heads = dict.fromkeys((head.name, len(head.terms)) for rule in rules for head in rule.heads)
    implied = () if exports else dict.fromkeys(head.name for rule in rules if rule.body for head in rule.heads)
    for name in (name for name in outputs or implied if name not in named):
        arities: list[int | None] = [n for derived, n in heads if derived == name]
        for arity in arities or [None]:
            use = FileUse(name, "csv", {}, _NOWHERE, arity, directive="output" if outputs else "")
            resource = _free_name(file_name(use), taken)
            taken.add(resource)
            yield replace(use, parameters={"resource": resource})


def _free_name(name: str, taken: Container[str]) -> str:
    """The name of a file; with a number if another has it."""
    if name not in taken:
        return name
    stem, _, ending = name.rpartition(".")
    return next(each for i in count(2) if (each := f"{stem}-{i}.{ending}") not in taken)


_NOWHERE = Span(Source("<export>", ""), 0, 0)


def write_export(use: FileUse, rows: Iterable[ImportedRow], folder: Path) -> Path:
    """Writes the rows of an @export into a folder; the file."""
    _check(use)
    resource = str(use.parameters.get("resource") or file_name(use))
    path = folder / resource
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{use.span}: {resource} is outside of the folder for exports; name a file inside of it")
    lines = _lines(use, path, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb") if _is_compressed(path, use) else path.open("wb") as stream:
        for line in lines:
            stream.write(line.encode())
    return path


def file_name(use: FileUse) -> str:
    """The name of a file that no resource names: the predicate, without what file systems do not take."""
    ending = {"ntriples": "nt", "nquads": "nq", "turtle": "ttl", "rdf": "nt", "rdfxml": "rdf"}.get(
        use.format, use.format
    )
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', use.predicate)}.{ending}"


def _lines(use: FileUse, path: Path, rows: Iterable[ImportedRow]) -> Iterator[str]:
    if use.format in DELIMITERS:
        return islice(_table_lines(use, rows), _limit(use))
    if use.format == "json":
        raise UsageError(f"{use.span}: facts cannot be exported as json, as in Nemo; export them as csv or RDF")
    name = RDF_FORMATS[_rdf_name(use, path)]
    triples = islice(_triple_lines(use, rows, name in QUADS), _limit(use))
    return _document_lines(use, name, triples) if name in ("TRIG", "RDF_XML") else triples


def _table_lines(use: FileUse, rows: Iterable[ImportedRow]) -> Iterator[str]:
    delimiter, formats = _delimiter(use), cell_formats(use)
    for row in rows:
        try:
            cells = [_WRITE[format](value) for value, format in zip(row, formats or ["any"] * len(row), strict=True)]
        except ValueError:
            continue
        texts = [_quoted(cell, delimiter) for cell in cells if cell is not None]
        yield (delimiter.join(texts) if texts != [""] else '""') + "\n"


def cell(value: Value) -> str:
    """The cell of a value, of the format `any`."""
    if isinstance(value, IRI):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return full_text(value)


def _string_cell(value: Value) -> str:
    if not isinstance(value, str) or isinstance(value, IRI | BlankNode):
        raise ValueError(value)
    return lexical(value)


def _number_cell(kind: type) -> Callable[[Value], str]:
    def write(value: Value) -> str:
        if type(value) is not kind:
            raise ValueError(value)
        return text_of(value)

    return write


_WRITE: dict[str, Callable[[Value], str | None]] = {
    "any": cell,
    "string": _string_cell,
    "int": _number_cell(int),
    "double": _number_cell(float),
    "skip": lambda value: None,
}


def _quoted(text: str, delimiter: str) -> str:
    special = delimiter in text or '"' in text or "\n" in text or "\r" in text
    return '"' + text.replace('"', '""') + '"' if special else text


def _triple_lines(use: FileUse, rows: Iterable[ImportedRow], has_graphs: bool) -> Iterator[str]:
    for graph, *terms in _quads(use, rows, has_graphs):
        named = [] if graph == DEFAULT_GRAPH else [full_text(graph)]
        yield " ".join([*map(full_text, terms), *named, "."]).replace("\t", "\\t") + "\n"


def _quads(use: FileUse, rows: Iterable[ImportedRow], has_graphs: bool) -> Iterator[tuple[Value, ...]]:
    """Rows as quads; those that RDF cannot say are left out, as in Nemo."""
    for row in rows:
        if len(row) != 3 and not (has_graphs and len(row) == 4):
            what = "triples and quads" if has_graphs else "triples"
            raise UsageError(f"{use.span}: {use.format} has {what}; {use.predicate} has {len(row)} arguments")
        graph, *terms = row if len(row) == 4 else (DEFAULT_GRAPH, *row)
        if isinstance(graph, IRI | BlankNode) and isinstance(terms[0], IRI | BlankNode) and isinstance(terms[1], IRI):
            yield (graph, *terms)


def _document_lines(use: FileUse, format: str, lines: Iterable[str]) -> Iterator[str]:
    """TriG and RDF/XML. IRIs may be relative, as names of programs are."""
    import pyoxigraph

    try:
        quads = pyoxigraph.parse("".join(lines), format=pyoxigraph.RdfFormat.N_QUADS, lenient=True)
        written = pyoxigraph.serialize(
            quads if format == "TRIG" else (q.triple for q in quads), format=getattr(pyoxigraph.RdfFormat, format)
        )
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{use.span}: {use.predicate} cannot be written as {use.format}: {error}") from None
    yield (written or b"").decode()
