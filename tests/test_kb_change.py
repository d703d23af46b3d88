"""`change` and `what_if`: facts, files and rules in one change, and the difference as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltalog import DataError, Files, KnowledgeBase, NotStratified, UsageError
from deltalog.evaluation.change import Change

PATHS = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."
ASKED: dict[str, Any] = {
    "add": {"edge": [("c", "d")]},
    "remove": {"edge": [("a", "b")]},
    "add_rules": "end(X) :- edge(_, X), NOT edge(X, _).  edge(d, e).",
    "remove_rules": "r2",
}


@pytest.fixture(params=["local", "naive"])
def kb(request: pytest.FixtureRequest) -> KnowledgeBase:
    made = KnowledgeBase(PATHS, engine=request.param)
    made.add("edge", [("a", "b"), ("b", "c")])
    return made


def shown(change: Change) -> list[dict[str, list[tuple[Any, ...]]]]:
    return [{name: sorted(facts) for name, facts in part.items()} for part in (change.added, change.removed)]


def test_everything_in_one_change(kb: KnowledgeBase) -> None:
    change = kb.change(**ASKED)
    assert shown(change) == [
        {"edge": [("c", "d"), ("d", "e")], "end": [("e",)], "path": [("c", "d"), ("d", "e")]},
        {"edge": [("a", "b")], "path": [("a", "b"), ("a", "c")]},
    ]
    assert (list(change.added_rules), list(change.removed_rules)) == (["r3"], ["r2"])
    assert list(kb.rule_ids) == ["r1", "r3"]
    assert str(change.added_rules["r3"]) == "end(?X) :- edge(_, ?X), NOT edge(?X, _) ."


def test_what_if_tells_what_change_does(kb: KnowledgeBase) -> None:
    before = sorted(kb.facts("path"))
    would = kb.what_if(**ASKED)
    assert sorted(kb.facts("path")) == before
    assert list(kb.rule_ids) == ["r1", "r2"]
    done = kb.change(**ASKED)
    assert shown(would) == shown(done)
    assert (would.added_rules, would.removed_rules) == (done.added_rules, done.removed_rules)


def test_what_is_added_and_removed_is_there(kb: KnowledgeBase) -> None:
    rule = "path(X, Y) :- edge(X, Y)."
    change = kb.change({"edge": [("a", "b")]}, {"edge": [("a", "b")]}, [rule, "edge(x, y)."], [rule, "edge(x, y)."])
    assert shown(change) == [{"edge": [("x", "y")], "path": [("x", "y")]}, {}]
    assert not change.added_rules
    assert not change.removed_rules
    assert sorted(kb.rule_ids) == ["r1", "r2"]


def test_nothing_is_a_change_too(kb: KnowledgeBase) -> None:
    assert shown(kb.change()) == shown(kb.what_if()) == [{}, {}]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"add_rules": "q(X) :- edge(X, _), NOT q(X)."}, NotStratified),
        ({"remove_rules": "r9"}, UsageError),
        ({"add": {"edge": [("a",), ("b", "c")]}}, UsageError),
        ({"remove": Files.of("no-such-file.csv")}, DataError),
    ],
)
def test_a_change_that_fails_leaves_no_trace(kb: KnowledgeBase, more: dict[str, Any], error: type[Exception]) -> None:
    kb.materialise()
    with pytest.raises(error):
        kb.change(**{**ASKED, **more})
    assert sorted(kb.facts("path")) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(kb.rule_ids) == ["r1", "r2"]


def test_files(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name, text in {"new/edge.csv": "c,d\n", "old/edge.csv": "a,b\n", "rdf/a.ttl": "<a> <p> <b> ."}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    change = kb.update(Files.of(tmp_path / "new"), Files.of(tmp_path / "old"))
    assert shown(change) == [
        {"edge": [("c", "d")], "path": [("b", "d"), ("c", "d")]},
        {"edge": [("a", "b")], "path": [("a", "b"), ("a", "c")]},
    ]
    change = kb.what_if(add=Files.of(tmp_path / "rdf", base="http://e/"))
    assert list(change.added) == ["http://e/p"]
    with pytest.raises(UsageError, match="not an absolute IRI"):
        Files.of("x", base="e")


def test_a_change_is_written(kb: KnowledgeBase, tmp_path: Path) -> None:
    change = kb.change(**ASKED)
    change.write(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    change.write(tmp_path / "empty", "tsv")
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.?sv"))
    names = ("added/edge", "added/end", "added/path", "removed/edge", "removed/path")
    assert files == [f"empty/{name}.tsv" for name in names] + [f"new/{name}.csv" for name in names]
    assert sorted((tmp_path / "new/removed/path.csv").read_text().split()) == ["a,b", "a,c"]
    with pytest.raises(DataError, match="exists and is not an empty folder"):
        change.write(tmp_path / "new")
    with pytest.raises(UsageError, match="unknown format 'xml'"):
        change.write(tmp_path / "other", "xml")
    assert not (tmp_path / "other").exists()
