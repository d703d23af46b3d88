"""`deltalog update --sparql`, `--graph` and `deltalog run --default-graph`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from deltalog import IRI, KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.knowledge_base.calls import session_of

RULES = "PREFIX : <http://e/> :r[?x, ?y] :- :p[?x, ?y] . :r[?x, ?z] :- :r[?x, ?y], :p[?y, ?z] ."
QUADS = "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/b> <http://e/p> <http://e/c> <http://e/g> .\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "data.nq").write_text(QUADS)
    words = ["run", str(tmp_path / "rules.dl"), "--data", str(tmp_path / "data.nq"), "--store", str(tmp_path / "store")]
    assert main([*words, "--quiet"]) == 0
    return tmp_path / "store"


def test_a_request_from_a_file(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = tmp_path / "request.ru"
    request.write_text("INSERT DATA { GRAPH :h { :b :p :c . :c :p :d } } ; DELETE WHERE { :a :r ?y }")
    words = ["update", str(store), "--sparql", str(request)]
    assert main([*words, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "note: 3 facts of http://e/r to delete still follow from rules\n" in out
    assert "2 triples added to named graphs, 0 removed; " in out
    assert main([*words, "--json", "--changes", str(tmp_path / "changes"), "--format", "nq"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["version"], done["added"]) == (2, {"http://e/p": 1, "http://e/r": 3})
    assert (done["quads_added"], done["quads_removed"]) == (2, 0)
    assert "<http://e/c> <http://e/p> <http://e/d> <http://e/h> ." in (tmp_path / "changes/added/facts.nq").read_text()
    with KnowledgeBase.open(store) as kb:
        assert kb.graphs == {IRI("http://e/g"): 1, IRI("http://e/h"): 2}


def test_a_request_from_standard_input(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "more.ttl").write_text("<http://e/x> <http://e/p> <http://e/y> .")
    monkeypatch.setattr("sys.stdin", io.StringIO("LOAD <more.ttl> INTO GRAPH <http://e/g>"))
    assert main(["update", str(store), "--sparql", "-", "--load-from", str(tmp_path)]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("LOAD <more.ttl> INTO GRAPH <http://e/g>"))
    assert main(["update", str(store), "--sparql", "-"]) == 1
    assert "is refused" in capsys.readouterr().err


def test_files_of_a_graph(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.ttl").write_text("<http://e/b> <http://e/p> <http://e/c> .")
    assert main(["update", str(store), "--remove", str(tmp_path / "x.ttl"), "--graph", "http://e/g", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == {"http://e/p": 1, "http://e/r": 2}
    assert main(["store", "export", str(store), "--out", str(tmp_path / "out"), "--format", "nq"]) == 0
    assert (tmp_path / "out/facts.nq").read_text().count("\n") == 2


def test_the_default_graph(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", str(tmp_path / "rules.dl"), "--data", str(tmp_path / "data.nq"), "--json", "--quiet"]
    assert main([*words, "--default-graph", "unnamed", "--store", str(tmp_path / "other")]) == 0
    assert json.loads(capsys.readouterr().out)["facts_total"] == 2
    with KnowledgeBase.open(tmp_path / "other") as kb:
        assert session_of(kb).settings.default_graph == "unnamed"
    assert main(["query", str(tmp_path / "other"), "SELECT ?g { GRAPH ?g { ?x <http://e/p> ?y } }"]) == 0
    assert "http://e/g" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to do"),
        (["--sparql", "x.ru", "--add", "y.nt"], "--sparql is a change of its own"),
        (["--add", "y.nt", "--load-from", "."], "--load-from goes with --sparql"),
    ],
)
def test_wrong_usage(words: list[str], message: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update", str(store), *words]) == 2
    assert message in capsys.readouterr().err
    assert main(["update", str(store), "--sparql", str(store / "nothing.ru")]) == 1
    assert "cannot be read" in capsys.readouterr().err
