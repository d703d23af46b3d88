"""The SPARQL 1.1 Protocol: its own cases, and what clients get wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from serving import client
from starlette.testclient import TestClient

from deltalog import IRI, KnowledgeBase, UsageError
from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.negotiation import negotiated

QUERY, FORM = "application/sparql-query", "application/x-www-form-urlencoded"
SELECT, ASK = "SELECT ?x { ?x :knows :b } ORDER BY ?x", "ASK { :a :knows :b }"
CONSTRUCT = "CONSTRUCT { ?y :known ?x } { ?x :knows ?y }"


@pytest.fixture(scope="module")
def reader() -> Iterator[TestClient]:
    kb = KnowledgeBase("PREFIX : <http://e.org/>\n[?x, :knows, ?y] :- [?y, :knows, ?x].")
    names = {name: IRI(f"http://e.org/{name}") for name in "abc"}
    kb.add("http://e.org/knows", [(names["a"], names["b"]), (names["b"], names["c"])])
    with client(kb, rows=1000) as made:
        yield made


def names(document: Any) -> list[str]:
    return [binding["x"]["value"][-1] for binding in document["results"]["bindings"]]


def test_three_ways_to_ask(reader: TestClient) -> None:
    answers = [
        reader.get("/sparql", params={"query": SELECT}),
        reader.post("/sparql", data={"query": SELECT}),
        reader.post("/sparql", content=SELECT, headers={"content-type": QUERY}),
        reader.post("/sparql", content=SELECT, headers={"content-type": f"{QUERY}; charset=utf-8"}),
        reader.post("/sparql?timeout=5", content=SELECT, headers={"content-type": QUERY}),
    ]
    for answer in answers:
        assert answer.status_code == 200 and names(answer.json()) == ["a", "c"], answer.text
        assert answer.headers["content-type"] == "application/sparql-results+json"
        assert answer.headers["deltalog-version"] == "1"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/tab-separated-values;q=0.5, text/csv;q=0.4", "text/tab-separated-values; charset=utf-8"),
        ("*/*", "application/sparql-results+json"),
        ("text/*", "text/csv; charset=utf-8"),
        ("text/html, application/xml;q=0.9, */*;q=0.8", "application/xml"),
        ("application/json", "application/json"),
        ("nonsense", "application/sparql-results+json"),
    ],
)
def test_the_format_is_negotiated(reader: TestClient, accept: str, media_type: str) -> None:
    for query in (SELECT, ASK):
        answer = reader.get("/sparql", params={"query": query}, headers={"accept": accept})
        assert answer.status_code == 200 and answer.headers["content-type"] == media_type
        if "xml" in media_type:
            ElementTree.fromstring(answer.text)
        elif "json" in media_type:
            json.loads(answer.text)


def test_triples(reader: TestClient) -> None:
    turtle = reader.get("/sparql", params={"query": CONSTRUCT})
    assert turtle.headers["content-type"].startswith("text/turtle") and "known" in turtle.text
    plain = reader.get("/sparql", params={"query": CONSTRUCT}, headers={"accept": "application/n-triples"})
    assert len(plain.text.splitlines()) == 4
    other = reader.get("/sparql", params={"query": CONSTRUCT}, headers={"accept": "application/rdf+xml"})
    assert other.status_code == 406 and "text/turtle" in other.json()["error"]["message"]


def test_what_nobody_can_have(reader: TestClient) -> None:
    answer = reader.get("/sparql", params={"query": SELECT}, headers={"accept": "text/turtle"})
    assert answer.status_code == 406


def test_preferences() -> None:
    offered = ["a/b", "a/c", "d/e"]
    assert negotiated(None, offered) == "a/b"
    assert negotiated("a/*;q=0.2, d/e", offered) == "d/e"
    assert negotiated("a/b;q=0, a/*", offered) == "a/c"
    assert negotiated("*/*;q=0.1, a/c;q=0.1", offered) == "a/b"
    for header in ("x/y", "*/*;q=0", "a/b;q=0", "d/e;q=x"):
        with pytest.raises(HTTPError):
            negotiated(header, offered)


@pytest.mark.parametrize(
    ("method", "address", "body", "media_type", "status"),
    [
        ("GET", {}, None, None, 400),
        ("GET", {"query": "SELECT"}, None, None, 400),
        ("GET", {"query": "SELECT * { ?x ?p ?y ", "x": "1"}, None, None, 400),
        ("GET", [("query", SELECT), ("query", SELECT)], None, None, 400),
        ("GET", {"update": "INSERT DATA {}"}, None, None, 400),
        ("GET", {"query": SELECT, "update": "CLEAR ALL"}, None, None, 400),
        ("GET", {"query": SELECT, "timeout": "soon"}, None, None, 400),
        ("POST", {}, urlencode({"query": SELECT, "update": "CLEAR ALL"}), FORM, 400),
        ("POST", {}, urlencode([("query", SELECT), ("query", ASK)]), FORM, 400),
        ("POST", {"query": SELECT}, SELECT, QUERY, 400),
        ("POST", {}, b"\xff\xfe", QUERY, 400),
        ("POST", {}, b"query=%ff", FORM, 400),
        ("POST", {}, SELECT, "text/plain", 415),
        ("POST", {}, SELECT, None, 415),
        ("POST", {}, "", QUERY, 400),
        ("PUT", {}, SELECT, QUERY, 405),
        ("GET", {"query": "SELECT * { SERVICE <http://e.org/> { ?x ?p ?y } }"}, None, None, 400),
    ],
)  # fmt: skip
def test_wrong_requests(
    reader: TestClient, method: str, address: Any, body: Any, media_type: str | None, status: int
) -> None:
    headers = {} if media_type is None else {"content-type": media_type}
    answer = reader.request(method, "/sparql", params=address, content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]


def test_an_error_has_its_place(reader: TestClient) -> None:
    error = reader.get("/sparql", params={"query": "SELECT *\n{ ?x ?y }"}).json()["error"]
    assert error["code"] == "syntax" and (error["diagnostics"][0]["line"], error["diagnostics"][0]["column"]) == (2, 9)


def test_too_many_solutions_are_refused(reader: TestClient) -> None:
    pairs = "VALUES ?a { " + "1 " * 40 + "} VALUES ?b { " + "1 " * 40 + "}"
    answer = reader.get("/sparql", params={"query": f"SELECT * {{ {pairs} }}"})
    assert answer.status_code == 503 and answer.json()["error"]["limit"] == "rows"
    assert "1,600 solutions" in answer.json()["error"]["message"]
    assert reader.get("/sparql", params={"query": f"SELECT * {{ {pairs} }} LIMIT 9"}).status_code == 200


def test_values_that_utf_8_does_not_have() -> None:
    kb = KnowledgeBase("")
    kb.add("http://e.org/p", [(IRI("http://e.org/x"), "\ud800")])
    with client(kb) as made:
        query = {"query": "SELECT ?x { ?y <http://e.org/p> ?x }"}
        found = made.get("/sparql", params=query)
        assert json.loads(found.content)["results"]["bindings"][0]["x"]["value"] == "\ud800"
        assert made.get("/sparql", params=query, headers={"accept": "text/csv"}).status_code == 200
        xml = made.get("/sparql", params=query, headers={"accept": "application/xml"})
        assert xml.status_code == 400 and "XML" in xml.json()["error"]["message"]


def values(made: TestClient, query: str) -> set[tuple[str, ...]]:
    answer = made.get("/sparql", params={"query": query})
    assert answer.status_code == 200, answer.text
    return {tuple(each["value"] for each in row.values()) for row in answer.json()["results"]["bindings"]}


HERE = "http://127.0.0.1:8080/"


@pytest.fixture
def writer() -> Iterator[TestClient]:
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y).  big(X) :- path(X, _).")
    kb.add("edge", [("a", "b")])
    with client(kb) as made:
        yield made


def test_relative_iris_have_the_address_as_base(writer: TestClient) -> None:
    update = "INSERT DATA { <s> a <C> ; <knows> <x/../y>, <#f>, <> . GRAPH <g> { <s> <knows> <t> } }"
    assert writer.post("/sparql", data={"update": update}).status_code == 200
    assert {(f"{HERE}s", f"{HERE}{o}") for o in ("y", "sparql#f", "sparql")} <= values(
        writer, "SELECT ?s ?o { ?s <knows> ?o }"
    )
    assert values(writer, f"SELECT ?x {{ ?x a <{HERE}C> }}") == {(f"{HERE}s",)}
    assert values(writer, "SELECT ?o { GRAPH <g> { <s> <knows> ?o } }") == {(f"{HERE}t",)}
    assert values(writer, 'SELECT ?i { BIND(IRI("u") AS ?i) }') == {(f"{HERE}u",)}
    assert values(writer, "BASE <http://b/> SELECT ?i { BIND(<u> AS ?i) }") == {("http://b/u",)}
    asked = {"sparql": "SELECT ?o { <s> <knows> ?o }", "rows": [{"o": {"iri": f"{HERE}y"}}]}
    assert writer.post("/support", json=asked).json()["facts"][0][0]["predicate"] == f"{HERE}knows"


def test_known_predicates_keep_their_plain_names(writer: TestClient) -> None:
    assert values(writer, "SELECT ?x ?y { ?x <path> ?y }") == {("a", "b")}
    assert values(writer, "SELECT ?x { ?x a <big> ; <edge>+ ?y }") == {("a",)}
    assert writer.post("/sparql", data={"update": 'INSERT DATA { "b" <edge> "c" }'}).status_code == 200
    assert values(writer, "SELECT ?x { ?x <edge> ?y }") == {("a",), ("b",)}
    # A BASE of the request is one for all.
    assert values(writer, "BASE <http://b/> SELECT ?x { ?x <edge> ?y }") == set()


def test_paths_of_load_are_relative_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "d.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .")
    with client(KnowledgeBase(), load_folder=tmp_path) as made:
        assert made.post("/sparql", data={"update": "LOAD <d.nt> INTO GRAPH <g>"}).status_code == 200
        assert values(made, "SELECT ?g { GRAPH ?g { ?s ?p ?o } }") == {(f"{HERE}g",)}


def test_a_base_is_an_absolute_iri() -> None:
    kb = KnowledgeBase("p(1).")
    solutions = kb.sparql("SELECT ?x { BIND(<a> AS ?x) }", base="http://b/c")
    assert not isinstance(solutions, bool) and list(solutions) == [(IRI("http://b/a"),)]
    for call in (kb.sparql, kb.sparql_update):
        with pytest.raises(UsageError, match="base: expected an absolute IRI, got 'b/c'"):
            call("", base="b/c")
