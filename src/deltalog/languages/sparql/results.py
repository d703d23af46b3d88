"""Results as text, piece by piece: what is written need not be in memory as a whole.

    format   rows                                            a truth value       triples
    json     SPARQL 1.1 Query Results JSON                   JSON                as rows
    xml      SPARQL Query Results XML                        XML                 as rows
    csv      SPARQL 1.1 Query Results CSV: values as text    true or false       as rows
    tsv      SPARQL 1.1 Query Results TSV: terms             true or false       as rows
    jsonl    an object a line, of JSON's own values          true or false       as rows
    table    a table to read, with a header                  true or false       as rows
    nt ttl   -                                               -                   N-Triples, Turtle

`pieces` gives the parts of the text, `write` puts them on a stream, `text` joins them. Rows are any sequence with
`columns`: solutions of SPARQL as well as answers of goals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from io import TextIOBase
from itertools import groupby
from math import isfinite
from typing import IO, Any, Protocol, TypeVar
from xml.sax.saxutils import escape, quoteattr

from deltalog.core.errors import DataError, UsageError
from deltalog.core.limits import checked, checked_sort
from deltalog.core.render.text_table import text_table
from deltalog.core.terms import IRI, XSD, BlankNode, Literal, Value, datatype, lexical
from deltalog.formats.turtle import TurtleNames, any_term, turtle_block, turtle_order, turtle_term

T = TypeVar("T")
UNCHECKED_PIECES = 64  # of text, which may be long, between two checks of limits
ResultRow = Sequence[Value | None]

# For HTTP, and for whoever names a format by it.
MEDIA_TYPES = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "jsonl": "application/jsonl",
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
    for piece in checked(pieces(results, format), UNCHECKED_PIECES):
        stream.write(piece if in_text else piece.encode())


def text(results: ResultRows | bool, format: str) -> str:
    """Results as one text."""
    return "".join(checked(pieces(results, format), UNCHECKED_PIECES))


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


# JSON lines, for whoever wants values and no terms: https://jsonlines.org


def _json_lines(results: ResultRows) -> Iterator[str]:
    for row in results:
        values = {name: _json_plain(value) for name, value in zip(results.columns, row, strict=True)}
        yield json.dumps(values, ensure_ascii=False) + "\n"


def _json_plain(value: Any) -> Any:
    """A value of JSON: IRIs and other terms are texts, as in CSV."""
    match value:
        case IRI():
            return str(value)
        case BlankNode():
            return f"_:{value}"
        case tuple():
            return [_json_plain(each) for each in value]
        case float() if not isfinite(value):
            return lexical(value)
        case None | str() | int() | float():
            return value
    return lexical(value)


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
        yield "\t".join("" if v is None else turtle_term(v) for v in row) + "\n"


def _plain_truth(truth: bool) -> Iterator[str]:
    yield _word(truth) + "\n"


def _word(truth: bool) -> str:
    return "true" if truth else "false"


def _ntriples(triples: Iterable[ResultRow]) -> Iterator[str]:
    for triple in triples:
        yield f"{' '.join(map(any_term, triple))} .\n"  # type: ignore[arg-type]  # all have values


def _turtle(results: ResultRows) -> Iterator[str]:
    """Triples by their subjects, and under these by their predicates, with the prefixes that occur."""
    names = TurtleNames(getattr(results, "prefixes", {}))
    triples = checked_sort(results, lambda triple: turtle_order(triple[0], triple[1]))
    subjects = groupby(checked(triples), key=lambda triple: triple[0])
    blocks = [turtle_block(names.term(s), [(p, names.term(o)) for _, p, o in about], names) for s, about in subjects]
    yield names.header()
    for block in blocks:
        yield f"\n{block}" if names.used or block is not blocks[0] else block


# A table to read.


def table_lines(
    columns: Sequence[str], found: Iterable[ResultRow], prefixes: Mapping[str, str], width: int | None = None
) -> Iterator[str]:
    """The lines of a table, at most so wide; IRIs by their prefixes."""
    names, listed = TurtleNames(prefixes), list(found)
    rows = [["" if v is None else _shown(v, names) for v in row] for row in checked(listed)]
    are_numbers = [all(map(_is_number, checked(column))) for column in zip(*listed, strict=True)]
    return text_table(columns, rows, are_numbers, width)


def _table(results: ResultRows) -> Iterator[str]:
    return (f"{line}\n" for line in table_lines(results.columns, results, getattr(results, "prefixes", {})))


def _is_number(value: Value | None) -> bool:
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))


def _shown(value: Value, names: TurtleNames) -> str:
    """A string as it is, on one line, and any other term as in Turtle."""
    if isinstance(value, str) and not isinstance(value, IRI | BlankNode):
        return re.sub(r"[\x00-\x1f\x7f]", lambda found: repr(found[0])[1:-1], value)
    return lexical(value) if isinstance(value, float | date) else names.term(value)


_TABLES: dict[str, Callable[[ResultRows], Iterator[str]]] = {
    "json": _json,
    "xml": _xml,
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _json_lines,
    "table": _table,
}
_TRUTHS: dict[str, Callable[[bool], Iterator[str]]] = {
    "json": _json_truth,
    "xml": _xml_truth,
    **dict.fromkeys(("csv", "tsv", "jsonl", "table"), _plain_truth),
}
_GRAPHS: dict[str, Callable[[ResultRows], Iterator[str]]] = {"nt": _ntriples, "ttl": _turtle}
FORMATS = (*_TABLES, *_GRAPHS)
