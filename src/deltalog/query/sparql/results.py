"""Results as text, piece by piece: what is written need not be in memory as a whole.

    format   rows                                            a truth value       triples
    json     SPARQL 1.1 Query Results JSON                   JSON                as rows
    xml      SPARQL Query Results XML                        XML                 as rows
    csv      SPARQL 1.1 Query Results CSV: values as text    true or false       as rows
    tsv      SPARQL 1.1 Query Results TSV: terms             true or false       as rows
    table    a table to read, with a header                  true or false       as rows
    nt ttl   -                                               -                   N-Triples, Turtle

`pieces` gives the parts of the text, `write` puts them on a stream, `text` joins them. Rows are any sequence with
`columns`: solutions of SPARQL as well as answers of goals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from io import TextIOBase
from itertools import groupby
from typing import IO, Any, Protocol, TypeVar
from xml.sax.saxutils import escape, quoteattr

from deltalog.io.triples import is_label, print_term
from deltalog.model.errors import DataError, UsageError
from deltalog.model.terms import IRI, RDF_TYPE, XSD, BlankNode, Literal, Value, datatype, lexical

T = TypeVar("T")
ResultRow = Sequence[Value | None]

# For HTTP, and for whoever names a format by it.
MEDIA_TYPES = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "table": "text/plain",
    "nt": "application/n-triples",
    "ttl": "text/turtle",
}


class ResultRows(Protocol):
    """Rows with the names of their columns."""

    columns: Any

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


def pieces(results: ResultRows | bool, format: str) -> Iterator[str]:
    """The parts of a text for results in a format; UsageError if there is no such format for them."""
    truth = _truth(results)
    if truth is not None:
        return _chosen(_TRUTHS, format, "a truth value")(truth)
    assert not isinstance(results, bool)
    writers = {**_TABLES, **_GRAPHS} if _is_graph(results) else _TABLES
    return _chosen(writers, format, "triples" if _is_graph(results) else "rows")(results)


def write(results: ResultRows | bool, format: str, stream: IO[Any]) -> None:
    """Writes results to a stream of text, or of bytes in UTF-8."""
    in_text = isinstance(stream, TextIOBase)
    for piece in pieces(results, format):
        stream.write(piece if in_text else piece.encode())


def text(results: ResultRows | bool, format: str) -> str:
    """Results as one text."""
    return "".join(pieces(results, format))


def _truth(results: ResultRows | bool) -> bool | None:
    """The truth value of an ASK."""
    if isinstance(results, bool):
        return results
    return len(results) > 0 if getattr(results, "ask", False) else None


def _is_graph(results: ResultRows) -> bool:
    form = getattr(results, "form", None)
    return form is not None and bool(form.is_graph)


def _chosen(
    writers: Mapping[str, Callable[[T], Iterator[str]]], format: str, what: str
) -> Callable[[T], Iterator[str]]:
    if format not in writers:
        raise UsageError(f"there is no format {format!r} for {what}; formats are {', '.join(writers)}")
    return writers[format]


# JSON: https://www.w3.org/TR/sparql11-results-json/


def _json(results: ResultRows) -> Iterator[str]:
    yield f'{{"head": {{"vars": {json.dumps(list(results.columns), ensure_ascii=False)}}},\n "results": {{"bindings": ['
    before = "\n  "
    for row in results:
        binding = {name: _json_term(v) for name, v in zip(results.columns, row, strict=True) if v is not None}
        yield before + json.dumps(binding, ensure_ascii=False)
        before = ",\n  "
    yield "]}}\n"


def _json_term(value: Value) -> dict[str, str]:
    type_, attributes = _described(value)
    return {"type": type_, "value": lexical(value), **attributes}


def _described(value: Value) -> tuple[str, dict[str, str]]:
    """The type of a term, and its language or datatype."""
    if isinstance(value, IRI | BlankNode):
        return ("uri" if isinstance(value, IRI) else "bnode"), {}
    if isinstance(value, Literal) and value.language is not None:
        return "literal", {"xml:lang": value.language}
    type_ = datatype(value)
    return "literal", {} if type_ is None or type_ == XSD + "string" else {"datatype": type_}


def _json_truth(truth: bool) -> Iterator[str]:
    yield json.dumps({"head": {}, "boolean": truth}) + "\n"


# XML: https://www.w3.org/TR/rdf-sparql-XMLres/

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n'
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _xml(results: ResultRows) -> Iterator[str]:
    names = [_attribute(name) for name in results.columns]
    yield f"{_XML}  <head>\n"
    yield from (f"    <variable name={name}/>\n" for name in names)
    yield "  </head>\n  <results>\n"
    for row in results:
        bound = [
            f"      <binding name={name}>{_xml_term(v)}</binding>\n"
            for name, v in zip(names, row, strict=True)
            if v is not None
        ]
        yield f"    <result>\n{''.join(bound)}    </result>\n"
    yield "  </results>\n</sparql>\n"


def _xml_term(value: Value) -> str:
    type_, attributes = _described(value)
    given = "".join(f" {name}={_attribute(text)}" for name, text in attributes.items())
    return f"<{type_}{given}>{_content(lexical(value))}</{type_}>"


def _content(text: str) -> str:
    return escape(_writable(text), {"\r": "&#xD;"})


def _attribute(text: str) -> str:
    return quoteattr(_writable(text))


def _writable(text: str) -> str:
    if found := _NOT_IN_XML.search(text):
        raise DataError(f"{text!r:.80} cannot be written as XML, which has no way to write {found[0]!r}; choose json")
    return text


def _xml_truth(truth: bool) -> Iterator[str]:
    yield f"{_XML}  <head/>\n  <boolean>{_word(truth)}</boolean>\n</sparql>\n"


# CSV and TSV: https://www.w3.org/TR/sparql11-results-csv-tsv/


def _csv(results: ResultRows) -> Iterator[str]:
    yield ",".join(map(_csv_cell, results.columns)) + "\r\n"
    for row in results:
        yield ",".join("" if v is None else _csv_value(v) for v in row) + "\r\n"


def _csv_value(value: Value) -> str:
    return _csv_cell(f"_:{value}" if isinstance(value, BlankNode) else lexical(value))


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text


def _tsv(results: ResultRows) -> Iterator[str]:
    yield "\t".join(f"?{name}" for name in results.columns) + "\n"
    for row in results:
        yield "\t".join("" if v is None else _term(v) for v in row) + "\n"


def _plain_truth(truth: bool) -> Iterator[str]:
    yield _word(truth) + "\n"


def _word(truth: bool) -> str:
    return "true" if truth else "false"


# Terms as N-Triples and Turtle have them.

_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")


def _full_term(value: Value) -> str:
    """A term of N-Triples; a blank node whose label cannot be written has another one."""
    if isinstance(value, BlankNode) and not is_label(value):
        return f"_:x{value.encode('utf-8', 'surrogatepass').hex()}"
    return print_term(value)


def _term(value: Value) -> str:
    """A term of Turtle: numbers and booleans without quotes, where reading them gives the same term."""
    if isinstance(value, bool | int):
        return lexical(value)
    if isinstance(value, float) and _DOUBLE.fullmatch(lexical(value)):
        return lexical(value)
    if isinstance(value, Decimal) and "." in lexical(value):
        return lexical(value)
    return _full_term(value)


def _ntriples(triples: Iterable[ResultRow]) -> Iterator[str]:
    for triple in triples:
        yield f"{' '.join(map(_full_term, triple))} .\n"  # type: ignore[arg-type]  # all have values


def _turtle(results: ResultRows) -> Iterator[str]:
    """Triples by their subjects, and under these by their predicates, with the prefixes that occur."""
    names = _Names(getattr(results, "prefixes", {}))
    triples = sorted(results, key=lambda triple: _place(triple[0], triple[1]))
    blocks = [_block(subject, list(about), names) for subject, about in groupby(triples, key=lambda triple: triple[0])]
    yield "".join(f"@prefix {prefix}: {_full_term(IRI(names.prefixes[prefix]))} .\n" for prefix in sorted(names.used))
    for block in blocks:
        yield f"\n{block}" if names.used or block is not blocks[0] else block


def _place(subject: Value, predicate: Value) -> tuple[bool, str, bool, str]:
    """Blank nodes after IRIs, and the classes of a subject before its other properties."""
    return (isinstance(subject, BlankNode), str(subject), predicate != RDF_TYPE, str(predicate))


def _block(subject: Value, triples: Sequence[ResultRow], names: _Names) -> str:
    lines = []
    for predicate, about in groupby(triples, key=lambda triple: triple[1]):
        verb = "a" if predicate == RDF_TYPE else names.term(predicate)
        lines.append(f"{verb} {', '.join(names.term(o) for _, _, o in about)}")
    return f"{names.term(subject)} " + " ;\n    ".join(lines) + " .\n"


class _Names:
    """IRIs by prefixes, and which prefixes were used."""

    _LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
    _PREFIX = re.compile(r"(?:[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?)?")

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        by_length = sorted(prefixes.items(), key=lambda item: (-len(item[1]), item[0]))
        self.prefixes = {name: iri for name, iri in by_length if iri and self._PREFIX.fullmatch(name)}
        self.used: set[str] = set()

    def term(self, value: Value | None) -> str:
        assert value is not None
        if isinstance(value, IRI):
            return self._short(str(value)) or _full_term(value)
        if isinstance(value, Literal) and value.language is None:
            short = self._short(value.datatype)
            return _full_term(value) if short is None else f"{_full_term(value.text)}^^{short}"
        return _term(value)

    def _short(self, iri: str) -> str | None:
        for name, start in self.prefixes.items():
            if iri.startswith(start) and self._LOCAL.fullmatch(iri, len(start)):
                self.used.add(name)
                return f"{name}:{iri[len(start) :]}"
        return None


# A table to read.


def _table(results: ResultRows) -> Iterator[str]:
    """Columns as wide as their values, IRIs by their prefixes."""
    names = _Names(getattr(results, "prefixes", {}))
    rows = [["" if v is None else _shown(v, names) for v in row] for row in results]
    widths = [
        max(map(len, (name, *column))) for name, column in zip(results.columns, _columns(rows, results), strict=True)
    ]
    yield _line(results.columns, widths)
    yield _line(["-" * width for width in widths], widths)
    for row in rows:
        yield _line(row, widths)


def _columns(rows: Sequence[Sequence[str]], results: ResultRows) -> Collection[tuple[str, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * len(results.columns)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n"


def _shown(value: Value, names: _Names) -> str:
    """A string as it is, on one line, and any other term as in Turtle."""
    if isinstance(value, str) and not isinstance(value, IRI | BlankNode):
        return re.sub(r"[\x00-\x1f\x7f]", lambda found: repr(found[0])[1:-1], value)
    return lexical(value) if isinstance(value, float | date) else names.term(value)


_TABLES: dict[str, Callable[[ResultRows], Iterator[str]]] = {
    "json": _json,
    "xml": _xml,
    "csv": _csv,
    "tsv": _tsv,
    "table": _table,
}
_TRUTHS: dict[str, Callable[[bool], Iterator[str]]] = {
    "json": _json_truth,
    "xml": _xml_truth,
    **dict.fromkeys(("csv", "tsv", "table"), _plain_truth),
}
_GRAPHS: dict[str, Callable[[ResultRows], Iterator[str]]] = {"nt": _ntriples, "ttl": _turtle}
FORMATS = (*_TABLES, *_GRAPHS)
