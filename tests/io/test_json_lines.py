"""JSON lines and JSON-LD in, Turtle out: forms, and errors with their places."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pytest

from deltalog import IRI, DataError, KnowledgeBase, UsageError
from deltalog.core.terms import Value


def loaded(path: Path, text: str) -> KnowledgeBase:
    path.write_text(text, encoding="utf-8")
    kb = KnowledgeBase()
    kb.load(path)
    return kb


def rows(kb: KnowledgeBase, predicate: str) -> list[tuple[Value, ...]]:
    return sorted(kb.facts(predicate), key=repr)


def test_objects(tmp_path: Path) -> None:
    lines = '\ufeff{"a": "x", "b": 1}\n\n{"b": 1.0, "a": {"iri": "http://e/x"}}\r\n{"a": true, "b": 1e2}'
    kb = loaded(tmp_path / "edge.jsonl", lines)
    assert set(kb.facts("edge")) == {("x", 1), (IRI("http://e/x"), 1.0), (True, 100.0)}
    assert kb.facts("edge").to_arrow().column_names == ["a", "b"]
    assert type(next(b for a, b in kb.facts("edge") if a == "x")) is int


def test_arrays(tmp_path: Path) -> None:
    big, number = 10**40, '{"text": "1.50", "datatype": "http://www.w3.org/2001/XMLSchema#decimal"}'
    kb = loaded(tmp_path / "n.ndjson", f'["é", {big}]\n["漢", {number}]\n')
    assert set(kb.facts("n")) == {("é", big), ("漢", Decimal("1.5"))}
    assert list(loaded(tmp_path / "holds.jsonl", "[]\n").facts("holds")) == [()]
    assert loaded(tmp_path / "empty.jsonl", "\n").predicates == []
    with gzip.open(tmp_path / "z.jsonl.gz", "wb") as file:
        file.write(b"[1]\n")
    kb.load(tmp_path / "z.jsonl.gz")
    assert list(kb.facts("z")) == [(1,)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": null}', "1: the value of 'a' is null: there is no value"),
        ('{"a": 1}\n{"b": 1}', "2: there is no value of 'a'; every line has the keys of the first one"),
        ('{"a": 1}\n{"a": 1, "b": 1}', "2: there is another key, 'b'"),
        ('{"a": {"x": 1}}', "1: the value of 'a' is an object or an array"),
        ("[[1]]", "1: value 1 is an object or an array"),
        ("[1]\n\n[1, 2]", "3: expected 1 values, as in the first line, and not 2"),
        ('[1]\n{"a": 1}', "2: expected an array, as in the first line"),
        ('{"a": 1}\n[1]', "2: expected an object, as in the first line"),
        ('{"a": 1', "1: expected JSON: Expecting ',' delimiter at column 8"),
        ("[NaN]", "1: NaN is no JSON"),
        ("[1e999]", "1: value 1 is a number too large for a float"),
        ('{"a": 1, "a": 2}', "1: a key occurs twice"),
        ("3", "1: expected an object"),
    ],
)
def test_errors(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DataError) as error:
        loaded(tmp_path / "bad.jsonl", text)
    assert f"bad.jsonl:{problem}" in str(error.value)


def test_json_ld(tmp_path: Path) -> None:
    text = """{"@context": {"n": "http://e/n"},
        "@graph": [{"@id": "http://e/a", "n": [1, 1.5, "x", {"@id": "_:b"}]},
                   {"@id": "http://e/g", "@graph": [{"@id": "_:b", "n": true}]}]}"""
    kb = loaded(tmp_path / "d.jsonld", text)
    found = dict[Value, Value]((o, s) for s, o in kb.facts("http://e/n"))
    assert {1, 1.5, "x"} <= set(found)
    assert found[True] in found  # the same blank node
    assert len(kb.sparql("SELECT ?s { GRAPH <http://e/g> { ?s ?p ?o } }")) == 1  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a @context of another document is not fetched"):
        loaded(tmp_path / "r.jsonld", '{"@context": "http://schema.org/", "name": "x"}')


def test_turtle_with_the_prefixes_of_the_program(tmp_path: Path) -> None:
    facts = ':age[:a, 5] . :age[:b, "1.50"^^xsd:decimal] .'
    kb = KnowledgeBase(f"PREFIX : <http://e/> :Old[?x] :- :age[?x, ?n], ?n > 3 . {facts}")
    kb.write(tmp_path / "out", "ttl")
    assert (tmp_path / "out" / "facts.ttl").read_text() == (
        "@prefix : <http://e/> .\n\n:a a :Old ;\n    :age 5 .\n\n:b :age 1.5 .\n"
    )


@pytest.mark.parametrize("format", ["ttl", "trig"])
@pytest.mark.parametrize(
    ("predicate", "row", "problem"),
    [
        ("edge", (IRI("http://e/a"), 1), "1 of edge/2 (the name is not an absolute IRI"),
        ("http://e/p", (IRI("rel"), 1), "<rel> cannot be written as Turtle"),
        ("http://e/p", ("s", 1), "1 of http://e/p/2 (the subject 's' is not an IRI"),
        ("http://e/p", (1, 2, 3), "1 of http://e/p/3 (only one or two arguments"),
    ],
)
def test_facts_that_turtle_has_not(
    tmp_path: Path, format: str, predicate: str, row: tuple[Value, ...], problem: str
) -> None:
    terms = ", ".join(f"?x{i}" for i in range(len(row)))
    kb = KnowledgeBase(f"<{predicate}>({terms}) :- given({terms}) .")  # what rules derive may have any subject
    kb.add("given", [row])
    with pytest.raises((DataError, UsageError)) as error:
        kb.write(tmp_path / "out", format, only=[predicate])
    assert problem in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_helpers_of_ontologies_are_no_triples(tmp_path: Path, format: str) -> None:
    (tmp_path / "o.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix : <http://e/> .\n"
        "[] a owl:AllDifferent ; owl:distinctMembers (:a :b) . :a a owl:NamedIndividual . :b a owl:NamedIndividual ."
    )
    kb = KnowledgeBase(ontology=tmp_path / "o.ttl")
    assert kb.count("all_different") == 2
    kb.write(tmp_path / "out", format)
    assert (tmp_path / "out" / f"facts.{format}").is_file()


def test_columns_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "road.jsonl"
    path.write_text('{"from": "a", "to": "b", "km": 3}\n')
    kb = KnowledgeBase("")
    kb.load(path, header=True, columns={"km": "length", "from": "start"})
    assert (kb.facts("road").columns, list(kb.facts("road"))) == (("length", "start"), [(3, "a")])
    with pytest.raises(DataError, match="there is no column 'tos'; did you mean 'to'"):
        kb.load(path, columns=["tos"])
    path.write_text('["a", "b", 3]\n')
    kb = KnowledgeBase("")
    kb.load(path, columns={3: "length", 1: "start"})
    assert (kb.facts("road").columns, list(kb.facts("road"))) == (("length", "start"), [(3, "a")])
