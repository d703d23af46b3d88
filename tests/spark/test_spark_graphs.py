"""Named graphs on the Spark engine: read by executors, queried, changed and written as on the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, KnowledgeBase

pytestmark = pytest.mark.usefixtures("spark")
RULES = "PREFIX : <http://e/> :r[?x, ?y] :- :p[?x, ?y] . :r[?x, ?z] :- :r[?x, ?y], :p[?y, ?z] ."
PREFIX = "PREFIX : <http://e/> "
REQUEST = "INSERT { GRAPH :new { ?x :q ?y } } WHERE { ?x :r ?y . GRAPH :g0 { ?x :p ?z } } ; DELETE WHERE { :n3 :p ?y }"


def quads(folder: Path) -> Path:
    lines = [f"<http://e/n{i}> <http://e/p> <http://e/n{i + 1}> <http://e/g{i % 3}> .\n" for i in range(8)]
    lines += ["<http://e/n0> <http://e/p> <http://e/n1> .\n", "<http://e/n0> <http://e/p> <http://e/n1> _:b .\n"]
    (folder / "x.nq").write_text("".join(lines))
    return folder / "x.nq"


def story(engine: str, file: Path, out: Path) -> Any:
    """What is in the graphs before and after a request, what changed, and what was written."""
    kb = KnowledgeBase(RULES, engine=engine)
    kb.load(file)
    before = dict(kb.graphs), set(kb.sparql(PREFIX + "SELECT * { GRAPH ?g { ?x :p+ ?y } }"))  # type: ignore[arg-type]
    change = kb.sparql_update(PREFIX + REQUEST)
    changed = change.added.counts(), change.removed.counts(), set(change.added_quads), set(change.removed_quads)
    kb.update(remove={"http://e/p": [(IRI("http://e/n0"), IRI("http://e/n1"))]}, graph=IRI("http://e/g0"))
    kb.write(out, "nq")
    again = KnowledgeBase("")
    again.load(out / "facts.nq")
    return before, changed, kb.graphs, set(kb.facts("http://e/r")), again.graphs, again.explicit_facts


def test_graphs_in_executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_frames: None) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "SPLIT_BYTES", 200)
    file = quads(tmp_path)
    assert story("spark", file, tmp_path / "spark") == story("local", file, tmp_path / "local")


def test_graphs_in_the_driver(tmp_path: Path) -> None:
    file = quads(tmp_path)
    assert story("auto", file, tmp_path / "auto") == story("local", file, tmp_path / "local")
