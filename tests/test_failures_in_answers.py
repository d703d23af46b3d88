"""Answers say if expressions failed that they depend on: by every method, in the command line and on the server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from deltalog import IRI, KnowledgeBase
from deltalog.apps.cli.main import main

sys.path.insert(0, str(Path(__file__).parent / "server"))
from serving import client, post

PROGRAM = """
p(1, 0). p(2, 5).
q(?x, ?z) :- p(?x, ?y), BIND(10 / ?y AS ?z) .
r(?x) :- q(?x, _) .
other(?x) :- p(?x, _) .
"""


@pytest.mark.parametrize("method", ["materialised", "magic", "qsqr", "auto"])
def test_goals(method: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    for _ in range(2):  # the same when it is asked again
        [failed] = kb.query("r(?x)", method=method).failures
        assert (failed.rule_id, failed.expression, failed.count) == ("r1", "10 / ?y", 1)
        assert kb.query("other(?x)", method=method).failures == ()
        [own] = kb.query("p(?x, ?y), BIND(1 / ?y AS ?z)", method=method).failures
        assert (own.rule, own.count) == (None, 1)


@pytest.mark.parametrize("method", ["materialised", "magic"])
def test_sparql(method: str) -> None:
    kb = KnowledgeBase(PROGRAM)
    assert [each.rule_id for each in kb.solve("SELECT * { ?x a <r> }", method).failures] == ["r1"]
    assert kb.solve("SELECT * { ?x a <other> FILTER(?x / 0 > 1) }", method).failures == ()


def test_after_a_change() -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.materialise()
    kb.update(add={"p": [(3, 0)]})
    assert [each.count for each in kb.query("r(?x)").failures] == [2]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.dl"
    program.write_text(PROGRAM)
    assert main(["query", str(program), "r(?x)"]) == 0
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == (
        "2\n",
        "warning: 1 rule instance did not apply because an expression failed; answers may be missing",
    )
    assert main(["query", str(program), "r(?x)", "--format", "json"]) == 0
    assert [each["reason"] for each in json.loads(capsys.readouterr().out)["failures"]] == ["a division by zero"]
    assert main(["query", str(program), "other(?x)", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert ("failures" in json.loads(out), err) == (False, "")
    assert main(["run", str(program), "--json"]) == 0
    assert [each["count"] for each in json.loads(capsys.readouterr().out)["failures"]] == [1]


def test_on_the_server() -> None:
    with client(KnowledgeBase(PROGRAM)) as server:
        found = server.get("/query", params={"goal": "r(?x)"}).json()
        assert [each["rule"]["id"] for each in found["failures"]] == ["r1"]
        assert server.get("/query", params={"goal": "other(?x)"}).json()["failures"] == []
        answer = server.get("/sparql", params={"query": "SELECT * { ?x a <r> }"})
        assert answer.headers["deltalog-failed-expressions"] == "1"
        changed = post(server, "/update", {"add": {"p": [[4, 0]]}})
        assert [each["count"] for each in changed["failures"]] == [2]


def test_a_loop_over_predicates() -> None:
    """A predicate that was given keeps its name when a class of the same name is derived."""
    kb = KnowledgeBase("[?w, ?y, ?x] :- [?x, ?y, ?w] .")
    kb.add("http://e/r", [(IRI("http://e/a"), IRI("http://e/c"))])
    kb.add("http://e/C", [(IRI("http://e/r"),)])
    names = kb.predicates
    assert [len(kb.facts(name)) > 0 for name in names] == [True, True]
    assert set(names) <= set(kb.predicates)


def test_rules_of_a_store_with_the_same_expression(tmp_path: Path) -> None:
    """Rules of a store have no place; each failure belongs to its own rule, and has no place that nobody wrote."""
    kb = KnowledgeBase(
        "p(1, 0). q(?x, ?z) :- p(?x, ?y), BIND(10 / ?y AS ?z) . <r>(?x, ?z) :- p(?x, ?y), BIND(10 / ?y AS ?z) ."
    )
    kb.save(tmp_path / "store")
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as opened:
        opened.update(add={"p": [(2, 0)]})
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert [(each.rule_id, each.place) for each in opened.query("q(?x, ?z)").failures] == [("r1", "")]
        assert [each.rule_id for each in opened.sparql("SELECT * { ?x <r> ?z }").failures] == ["r2"]
        assert {each.rule_id for each in opened.materialise().failures} == {"r1", "r2"}
