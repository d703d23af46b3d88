"""SPARQL Update and the Graph Store Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import client
from starlette.testclient import TestClient

from deltalog import KnowledgeBase

UPDATE, FORM = "application/sparql-update", "application/x-www-form-urlencoded"
RULES = "PREFIX : <http://e.org/>\n[?x, :knows, ?y] :- [?y, :knows, ?x]."
TURTLE = "@prefix : <http://e.org/> . :a :knows :b . <c> :name [] ."
G = {"graph": "http://e.org/g"}
IN_TURTLE = {"content-type": "text/turtle"}


@pytest.fixture
def made() -> Iterator[TestClient]:
    with client(KnowledgeBase(RULES)) as found:
        yield found


def count(made: TestClient, pattern: str, **parameters: str) -> int:
    query = f"PREFIX : <http://e.org/> SELECT * {{ {pattern} }}"
    answer = made.get("/sparql", params={"query": query, **parameters})
    assert answer.status_code == 200, answer.text
    return len(answer.json()["results"]["bindings"])


def change(made: TestClient, text: str, **parameters: str) -> dict[str, object]:
    answer = made.post("/sparql", params=parameters, content=text, headers={"content-type": UPDATE})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_updates(made: TestClient) -> None:
    text = "INSERT DATA { :a :knows :b . GRAPH :g { :c :knows :d } } ; DELETE { ?x :knows ?y } INSERT { ?x :met ?y } "
    text += "WHERE { ?x :knows ?y }"
    described = change(made, text, dry_run="true")
    assert described["dry_run"] and count(made, "?x ?p ?y") == 0
    done = change(made, text)
    assert done["version"] == 2 and done["added"] == described["added"]
    assert count(made, "?x :met ?y") == 4 and count(made, "?x :knows ?y") == 0
    sent = made.post("/sparql", data={"update": "DELETE WHERE { :a :met ?y }"})
    assert sent.json()["removed"]["http://e.org/met"]["count"] == 1


def test_a_wrong_update_changes_nothing(made: TestClient) -> None:
    good = "INSERT DATA { :a :knows :b }"
    wrong = [f"{good} ; LOAD <file:///etc/passwd>", f"{good} ; LOAD <http://e.org/data.ttl>", "INSERT"]
    for text in (*wrong, "INSERT DATA { ?x :knows :b }", "INSERT DATA { :a x:y :b }"):
        answer = made.post("/sparql", content=text, headers={"content-type": UPDATE})
        assert answer.status_code == 400 and answer.json()["error"]["message"], answer.text
    assert count(made, "?x ?p ?y") == 0 and made.get("/versions").json()["version"] == 1


def test_files_that_the_operator_allows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data.ttl").write_text(TURTLE)
    (tmp_path / "out.ttl").write_text(TURTLE)
    with client(KnowledgeBase(RULES), load_folder=tmp_path / "in") as made:
        for name in ("../out.ttl", (tmp_path / "out.ttl").as_uri(), "in/data.ttl"):
            assert made.post("/sparql", content=f"LOAD <{name}>", headers={"content-type": UPDATE}).status_code == 400
        assert change(made, "LOAD <data.ttl> INTO GRAPH :g")["version"] == 2
        assert count(made, "GRAPH :g { ?x ?p ?y }") == 2


def test_graphs_of_the_protocol(made: TestClient) -> None:
    change(made, "INSERT DATA { GRAPH :g { :a :p 1 } GRAPH :h { :b :p 2 } }")
    assert count(made, "?x :p ?y", **{"default-graph-uri": "http://e.org/g"}) == 1
    assert count(made, "GRAPH ?g { ?x :p ?y }", **{"named-graph-uri": "http://e.org/h"}) == 1
    wrong = made.get("/sparql", params={"query": "ASK {}", "default-graph-uri": "g"})
    assert wrong.status_code == 400
    using = {"using-graph-uri": "http://e.org/g"}
    assert change(made, "INSERT { ?x :q ?y } WHERE { ?x :p ?y }", **using)["added"]["http://e.org/q"]["count"] == 1  # type: ignore
    twice = made.post("/sparql", params=using, content="INSERT { ?x :q ?y } USING :h WHERE { ?x :p ?y }",
                      headers={"content-type": UPDATE})  # fmt: skip
    assert twice.status_code == 400


def test_a_graph_comes_changes_and_goes(made: TestClient) -> None:
    assert made.get("/graph", params=G).status_code == 404
    put = made.put("/graph", params=G, content=TURTLE, headers=IN_TURTLE)
    assert put.status_code == 201 and put.json()["added_quads"]["count"] == 2
    found = made.get("/graph", params=G, headers={"accept": "application/n-triples"})
    assert found.headers["content-type"] == "application/n-triples" and len(found.text.splitlines()) == 2
    assert "<http://e.org/c> <http://e.org/name> _:" in found.text
    assert count(made, "?x :knows ?y") == 2
    added = made.post("/graph", params=G, content="<a:x> <a:y> 1 .", headers=IN_TURTLE)
    assert added.status_code == 200 and len(made.get("/graph", params=G).text.splitlines()) >= 3
    again = made.put("/graph", params=G, content="<a:x> <a:y> 2 .", headers={"content-type": "application/n-triples"})
    assert again.status_code == 200 and again.json()["removed_quads"]["count"] == 4 - 1
    assert count(made, "GRAPH :g { ?x ?p ?y }") == 1 and count(made, "?x :knows ?y") == 0
    assert made.delete("/graph", params=G).status_code == 200 and made.delete("/graph", params=G).status_code == 404


def test_the_default_graph(made: TestClient) -> None:
    change(made, "INSERT DATA { GRAPH :g { :a :p 1 } }")
    assert made.post("/graph?default", content=TURTLE, headers=IN_TURTLE).status_code == 200
    whole = made.get("/graph?default", headers={"accept": "application/n-triples"})
    assert len(whole.text.splitlines()) == 4  # with what follows
    put = made.put("/graph?default", content=b"", headers=IN_TURTLE)
    assert put.status_code == 200 and count(made, "?x ?p ?y") == 1 and count(made, "GRAPH :g { ?x ?p ?y }") == 1
    assert made.delete("/graph?default").status_code == 200 and count(made, "?x ?p ?y") == 1


def test_wrong_requests_for_graphs(made: TestClient) -> None:
    assert made.get("/graph").status_code == 400
    assert made.get("/graph?default&graph=http://e.org/g").status_code == 400
    assert made.get("/graph?graph=g").status_code == 400
    assert made.put("/graph", params=G, content="x", headers={"content-type": "text/csv"}).status_code == 415
    broken = made.put("/graph", params=G, content=":a :b .", headers=IN_TURTLE)
    assert broken.status_code == 400 and "the body" in broken.json()["error"]["message"]
    assert "tmp" not in broken.text
    assert made.get("/graph?default", headers={"accept": "text/csv"}).status_code == 406
    assert made.get("/versions").json()["version"] == 1
