"""Neighbours of a value, and the facts that answers rest on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from browsing import university
from serving import client, events, knowledge_base, post, running
from starlette.testclient import TestClient

from deltalog import KnowledgeBase
from deltalog.formats.json_values import value_of

IRI = "http://example.org/university#"


@pytest.fixture(scope="module")
def people() -> Iterator[TestClient]:
    with client(university(), readonly=True) as made:
        yield made


def short(facts: list[dict[str, Any]]) -> list[str]:
    def text(value: Any) -> str:
        return str(value.get("iri", value)).removeprefix(IRI) if isinstance(value, dict) else str(value)

    return [f"{f['predicate'].removeprefix(IRI)}({', '.join(map(text, f['values']))})" for f in facts]


def support(server: TestClient, text: str, row: dict[str, Any], kind: str = "sparql") -> list[str]:
    (found,) = post(server, "/support", {kind: text, "rows": [row]})["facts"]
    return short(found)


def iri(name: str) -> dict[str, str]:
    return {"iri": f"{IRI}{name}"}


def test_neighbours_are_the_facts_with_a_value() -> None:
    kb = knowledge_base()
    with client(kb) as server:
        for value in ("a", "b", "c", "d", 1, "nowhere"):
            groups = post(server, "/neighbours", {"value": value})["groups"]
            found = {(g["predicate"], g["position"], tuple(row)) for g in groups for row in g["rows"]}
            everything = {name: set(kb.facts(name)) for name in kb.predicates}
            assert found == {
                (name, place, row)
                for name, rows in everything.items()
                for row in rows
                for place, each in enumerate(row)
                if each == value and type(each) is type(value)
            }
            assert all(g["total"] == len(g["rows"]) for g in groups)
        few = post(server, "/neighbours", {"value": "a", "limit": 1})["groups"]
        assert {(g["predicate"], g["position"], len(g["rows"]), g["total"]) for g in few} >= {("path", 0, 1, 3)}


def test_an_iri_is_no_string(people: TestClient) -> None:
    assert post(people, "/neighbours", {"value": f"{IRI}kim"})["groups"] == []
    assert len(post(people, "/neighbours", {"value": iri("kim")})["groups"]) == 10


def test_the_atoms_of_a_goal() -> None:
    with client() as server:
        row = {"x": "a", "y": "c"}
        assert support(server, "path(?x, ?y), edge(?y, _), NOT end(?y)", row, "goal") == ["path(a, c)", "edge(c, d)"]
        assert support(server, "degree(?x, ?n), ?n > 0", {"x": "b", "n": 1}, "goal") == ["degree(b, 1)"]
        assert support(server, "path(?x, ?y)", {"x": "d", "y": "a"}, "goal") == []


def test_triples_with_variables_for_predicates_and_classes(people: TestClient) -> None:
    row = {"p": iri("advisor"), "c": iri("Person")}
    goal = "[:kim, ?p, :ada], [:kim, rdf:type, ?c]"
    assert support(people, goal, row, "goal") == ["advisor(kim, ada)", "Person(kim)"]
    assert support(people, "SELECT ?p { :kim ?p :ada }", {"p": iri("knowsWell")}) == ["knowsWell(kim, ada)"]


TRIPLES: list[tuple[str, dict[str, Any], list[str] | None]] = [
    (
        "SELECT ?s { ?s :takes ?c . ?c :taughtBy :ada }",
        {"s": iri("kim")},
        ["takes(kim, datalog101)", "taughtBy(datalog101, ada)"],
    ),
    (
        "SELECT ?s { ?s :advisor [ :teaches :lambda301 ] }",
        {"s": iri("lee")},
        ["advisor(lee, alonzo)", "teaches(alonzo, lambda301)"],
    ),
    ("SELECT ?s { { ?s :takes :joins202 } UNION { ?s :advisor :ada } }", {"s": iri("max")}, ["takes(max, joins202)"]),
    ("SELECT ?s ?a { ?s a :Student OPTIONAL { ?s :advisor ?a } }", {"s": iri("max")}, ["Student(max)"]),
    ("SELECT ?s (COUNT(?c) AS ?n) { ?s :takes ?c } GROUP BY ?s", {"s": iri("max"), "n": 1}, ["takes(max, joins202)"]),
    ("SELECT ?s { ?s a :Student MINUS { ?s :takes ?c } }", {"s": iri("noa")}, ["Student(noa)"]),
    ("SELECT ?s { ?s :takes/:taughtBy :alonzo }", {"s": iri("lee")}, None),
    ("SELECT (SUM(?n) AS ?all) { ?s :load ?n }", {"all": 5}, None),
    ("SELECT ?x { BIND(1 + 1 AS ?x) }", {"x": 2}, []),
]


@pytest.mark.parametrize(("query", "row", "facts"), TRIPLES)
def test_the_triples_of_a_query(people: TestClient, query: str, row: dict[str, Any], facts: list[str] | None) -> None:
    """None: whatever it is, it is answered."""
    found = support(people, query, row)
    assert facts is None or sorted(found) == sorted(facts)


def test_answers_rest_on_facts_that_hold() -> None:
    """Random joins, as goals and as SPARQL: every atom has a fact that holds, with the values of the row."""
    chosen = random.Random(20)
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z).")
    kb.add("edge", [(chosen.randrange(6), chosen.randrange(6)) for _ in range(12)])
    with client(kb) as server:
        for _ in range(12):
            atoms = [
                (chosen.choice(["edge", "path"]), *chosen.choices("xyz", k=2)) for _ in range(chosen.randint(1, 3))
            ]
            goal = ", ".join(f"{name}(?{a}, ?{b})" for name, a, b in atoms)
            pattern = " . ".join(f"?{a} <{name}> ?{b}" for name, a, b in atoms)
            shown = [atoms[0][1]]  # the other variables are not in the row
            for asked, columns in ({"goal": goal}, None), ({"sparql": f"SELECT ?{shown[0]} {{ {pattern} }}"}, shown):
                found = kb.query(goal)
                rows = [dict(zip(found.columns, row, strict=True)) for row in list(found)[:5]]
                sent = [{name: row[name] for name in columns or row} for row in rows]
                for row, facts in zip(sent, post(server, "/support", {**asked, "rows": sent})["facts"], strict=True):
                    values = [tuple(map(value_of, fact["values"])) for fact in facts]
                    assert all(tuple(v) in kb.facts(f["predicate"]) for f, v in zip(facts, values, strict=True))
                    assert {name for name, *_ in atoms} == {fact["predicate"] for fact in facts}
                    assert set(row.values()) <= {value for each in values for value in each}


BAD: list[dict[str, Any]] = [
    {"rows": []},
    {"goal": "edge(?x, ?y)", "sparql": "ASK {}", "rows": []},
    {"goal": "edge(?x", "rows": [{}]},
    {"goal": "edge(?x, ?y)", "rows": [1]},
    {"goal": "edge(?x, ?y)", "rows": [{"x": [1]}]},
    {"goal": "nothing(?x)", "rows": [{}]},
    {"goal": "edge(?x, ?y)", "rows": [{}] * 201},
]


@pytest.mark.parametrize("body", BAD)
def test_bad_requests(body: dict[str, Any]) -> None:
    with client() as server:
        assert server.post("/support", json=body).status_code == 400


def test_everything_that_changes_is_an_event() -> None:
    with running() as server, httpx2.stream("GET", f"{server.address}/changes?since=1", timeout=300) as stream:
        change = {"add": {"edge": [["d", "e"]]}, "add_rules": "far(X, Y) :- path(X, Y), NOT edge(X, Y)."}
        made = httpx2.post(f"{server.address}/update", json=change).json()
        found = next(events(stream))
        assert found.name == "change" and found.id == 2 and found.data["added_rules"] == made["added_rules"]
        assert found.data["added"] == made["added"] and found.data["removed"] == made["removed"]
