"""Stores on Spark: opened by every engine, and exported to and imported from the state of a pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import UsageError
from deltalog.spark import export_store, import_state

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
far(X, Y) :- path(X, Y), NOT edge(X, Y).
"""
Facts = dict[str, list[str]]


def facts(kb: KnowledgeBase) -> Facts:
    return {name: sorted(map(str, kb.facts(name))) for name in kb.predicates}


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, Facts]:
    """A store with a snapshot and changes of facts and rules after it, and what follows."""
    kb = KnowledgeBase(PROGRAM)
    kb.add("edge", [(i, i + 1) for i in range(12)] + [("a", "b"), ("b", 1.5)])
    kb.save(tmp_path / "store")
    kb.update(remove={"edge": [(5, 6)]})
    kb.add_rules("start(Y) :- path(1, Y).")
    kb.remove_rules("r3")
    found = facts(kb)
    kb.close()
    return tmp_path / "store", found


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_spark_opens_a_store(store: tuple[Path, Facts], engine: str) -> None:
    path, found = store
    with KnowledgeBase.open(path, engine=engine) as kb:
        assert facts(kb) == found
        assert (kb.version, list(kb.rule_ids)) == (4, ["r1", "r2", "r4"])
        kb.update(add={"edge": [(5, 6)]})
        after = facts(kb)
    with KnowledgeBase.open(path, readonly=True) as kb:
        assert (kb.version, facts(kb)) == (5, after)
    with KnowledgeBase.open(path, version=1, engine=engine) as kb:
        assert list(kb.rule_ids) == ["r1", "r2", "r3"]


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_a_store_becomes_a_state_and_a_store_again(store: tuple[Path, Facts], engine: str, tmp_path: Path) -> None:
    path, found = store
    manifest = export_store(path, (tmp_path / "state").as_uri(), engine=engine)
    assert (manifest.version, manifest.counts) == (1, {"edge/2": 13})
    import_state((tmp_path / "state").as_uri(), tmp_path / "again")
    with KnowledgeBase.open(tmp_path / "again") as kb:
        assert facts(kb) == found
        assert list(kb.rule_ids) == ["r1", "r2", "r4"]
        removed = kb.update(remove={"edge": [(1, 2)]}).removed
        assert (1, 5) in removed["path"]
    with pytest.raises(UsageError, match="has a state already"):
        export_store(path, (tmp_path / "state").as_uri(), engine=engine)
