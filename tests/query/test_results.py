"""Results as text: other readers (Oxigraph, csv) read back the same terms, in every format and to every stream."""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime
from typing import Any
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
from sparql_oracle import mark

from deltalog import IRI, BlankNode, DataError, KnowledgeBase, Literal, UsageError
from deltalog.core.terms import XSD, Value, lexical
from deltalog.languages.sparql.results import FORMATS, MEDIA_TYPES, pieces, text, write
from deltalog.languages.sparql.solutions import Solutions

E = "http://e/"
AWKWARD: tuple[Value, ...] = (
    *(
        "",
        "a",
        'say "hi"',
        "a,b",
        "a\tb",
        "line\nbreak",
        "return\rhere",
        "<&>",
        "é\U0001f600",
        "back\\slash",
        "'",
    ),
    *(0, -7, 10**30, 1.5, 1e300, 0.1, float("inf"), True, False, date(2024, 5, 1), datetime(2024, 5, 1, 12)),
    *(
        Literal("chat", language="fr"),
        Literal("1.50", XSD + "decimal"),
        Literal("5", XSD + "byte"),
        Literal("x", E + "t"),
    ),
    *(IRI(E + "a"), IRI(E + "é"), BlankNode("b1"), BlankNode("b.2")),
)


def knowledge_base() -> KnowledgeBase:
    kb = KnowledgeBase(f"@prefix : <{E}> .")
    kb.add(E + "p", [(IRI(f"{E}n{i}"), value) for i, value in enumerate(AWKWARD)])
    kb.add(E + "q", [(IRI(f"{E}n{i}"), IRI(E + "other")) for i in range(0, len(AWKWARD), 2)])
    kb.add(E + "C", [(IRI(E + "n1"),)])
    return kb


def solved(query: str = "SELECT ?x ?v ?o { ?x :p ?v OPTIONAL { ?x :q ?o } } ORDER BY ?x ?v") -> Solutions:
    return knowledge_base().solve(query)


READABLE = {"json": ox.QueryResultsFormat.JSON, "xml": ox.QueryResultsFormat.XML, "tsv": ox.QueryResultsFormat.TSV}


@pytest.mark.parametrize("format", READABLE)
def test_terms_are_read_back(format: str) -> None:
    solutions = solved()
    read: Any = ox.parse_query_results(solutions.serialize(format), READABLE[format])
    assert tuple(v.value for v in read.variables) == solutions.columns
    found = [tuple(mark(row[name]) for name in solutions.columns) for row in read]
    assert found == [tuple(map(mark, row)) for row in solutions]
    assert len(found) == len(AWKWARD)


def test_csv_has_the_text_of_each_value() -> None:
    solutions = solved()
    header, *rows = csv.reader(io.StringIO(solutions.serialize("csv"), newline=""))
    assert tuple(header) == solutions.columns
    assert [tuple(row) for row in rows] == [tuple(map(_plain, row)) for row in solutions]
    assert solutions.serialize("csv").startswith("x,v,o\r\n")


def _plain(value: Value | None) -> str:
    if value is None:
        return ""
    return f"_:{value}" if isinstance(value, BlankNode) else lexical(value)


def test_json_is_what_the_standard_shows() -> None:
    found = json.loads(solved("SELECT ?v { VALUES ?v { 1 'a' 'b'@en 2.5 :a UNDEF } }").to_json())
    assert found["head"] == {"vars": ["v"]}
    assert sorted(found["results"]["bindings"], key=str) == sorted(
        [
            {"v": {"type": "literal", "value": "1", "datatype": XSD + "integer"}},
            {"v": {"type": "literal", "value": "a"}},
            {"v": {"type": "literal", "value": "b", "xml:lang": "en"}},
            {"v": {"type": "literal", "value": "2.5", "datatype": XSD + "decimal"}},
            {"v": {"type": "uri", "value": E + "a"}},
            {},
        ],
        key=str,
    )


def test_xml_keeps_white_space() -> None:
    query = "SELECT ?v { VALUES ?v { ' x ' '\\r\\n' '\\t' '' } } ORDER BY ?v"
    root = ElementTree.fromstring(solved(query).serialize("xml"))
    literals = root.iter("{http://www.w3.org/2005/sparql-results#}literal")
    assert [literal.text or "" for literal in literals] == ["", "\t", "\r\n", " x "]


@pytest.mark.parametrize(("format", "reader"), [("nt", ox.RdfFormat.N_TRIPLES), ("ttl", ox.RdfFormat.TURTLE)])
def test_triples_are_read_back(format: str, reader: Any) -> None:
    triples = solved("CONSTRUCT { ?x :p ?v ; :r [ a :C ] } WHERE { ?x :p ?v }")
    read = list(ox.parse(triples.serialize(format), reader))
    assert len(read) == len(triples) == 3 * len(AWKWARD)
    values = [mark(quad.object) for quad in read if quad.predicate.value == E + "p"]
    assert sorted(values, key=str) == sorted(map(mark, AWKWARD), key=str)


def test_turtle_groups_by_subject_and_uses_prefixes() -> None:
    kb = KnowledgeBase("")
    query = "PREFIX : <http://e/> CONSTRUCT { :a a :C ; :p 1, 2.5, 'x'@en . <http://f/b> :q :a } {}"
    assert kb.solve(query).serialize("ttl") == (
        '@prefix : <http://e/> .\n\n:a a :C ;\n    :p 1, 2.5, "x"@en .\n\n<http://f/b> :q :a .\n'
    )


def test_a_table_has_a_header_and_columns_of_equal_width() -> None:
    query = "SELECT * { VALUES (?a ?bc) { (:x 'one\\ntwo') ('long text' UNDEF) (1 2.5) } } ORDER BY ?bc"
    assert KnowledgeBase(f"@prefix : <{E}> .").solve(query).serialize("table").splitlines() == [
        "a          bc",
        "---------  --------",
        "long text",
        "1          2.5",
        ":x         one\\ntwo",
    ]


def test_truth_values() -> None:
    yes = solved("ASK { ?x :p ?y }")
    for results in (yes, True):
        assert json.loads(text(results, "json")) == {"head": {}, "boolean": True}
        assert bool(ox.parse_query_results(text(results, "xml"), ox.QueryResultsFormat.XML)) is True
        assert [text(results, format) for format in ("csv", "tsv", "table")] == ["true\n"] * 3
    assert text(solved("ASK { ?x :none ?y }"), "csv") == "false\n"


def test_goals_have_the_same_formats() -> None:
    kb = KnowledgeBase("p(1, a). p(2, b).")
    assert text(kb.query("p(?x, ?y)"), "csv") == "x,y\r\n1,a\r\n2,b\r\n"


@pytest.mark.parametrize("format", FORMATS)
def test_streams_of_text_and_of_bytes(format: str) -> None:
    results = solved("CONSTRUCT WHERE { ?x :p ?v }")
    characters, octets = io.StringIO(newline=""), io.BytesIO()
    write(results, format, characters)
    results.write(octets, format)
    assert characters.getvalue() == octets.getvalue().decode() == "".join(pieces(results, format))
    assert format in MEDIA_TYPES


def test_what_has_no_place_in_a_format_is_refused() -> None:
    with pytest.raises(UsageError, match="no format 'nt' for rows; formats are json, xml, csv, tsv, jsonl, table"):
        solved().serialize("nt")
    with pytest.raises(UsageError, match=r"there is no format 'pdf' for triples; formats are .*nt, ttl"):
        solved("DESCRIBE :n1").serialize("pdf")
    with pytest.raises(DataError, match="cannot be written as XML"):
        solved("SELECT ('\\u0001' AS ?x) {}").serialize("xml")


def test_labels_of_blank_nodes_that_have_no_way_to_be_written_are_others() -> None:
    kb = KnowledgeBase("")
    kb.add(E + "p", [(BlankNode("a b"), BlankNode("c"))])
    (triple,) = ox.parse(kb.solve("CONSTRUCT WHERE { ?x ?p ?y }").serialize("nt"), ox.RdfFormat.N_TRIPLES)
    assert (triple.subject, triple.object) == (ox.BlankNode("x612062"), ox.BlankNode("c"))
