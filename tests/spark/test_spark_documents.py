"""RDF documents on the Spark engine: names as on the local engine, however a file is cut."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from conftest import as_sets

from deltalog import KnowledgeBase
from deltalog.core.errors import DataError

pytestmark = pytest.mark.usefixtures("spark")


def documents(folder: Path) -> None:
    """Files that share labels, one of them compressed, and one that deltalog wrote."""
    lines = [f"_:n{i} <http://e/p> _:n{i * 7 % 100} .\n_:n{i} <http://e/q> {i} .\n" for i in range(100)]
    (folder / "a.nt").write_text("\ufeff" + "".join(lines))
    (folder / "b.nq").write_text("".join(lines[::2]))
    (folder / "c.nt.gz").write_bytes(gzip.compress("".join(lines[::3]).encode()))
    (folder / "d.ttl").write_text("_:n1 <http://e/p> [ <http://e/q> (1 2) ], <#x> .")
    KnowledgeBase("<http://e/p>(_:n1, _:mine).").write(folder / "e", "nt")


def facts_of(engine: str, *paths: Path, **options: Any) -> Any:
    kb = KnowledgeBase("", engine=engine)
    kb.load(*paths, **options)
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


@pytest.mark.parametrize("options", [{}, {"shared_blank_nodes": True, "base": "http://b/"}])
def test_the_same_names(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_frames: None
) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "SPLIT_BYTES", 1000)
    documents(tmp_path)
    assert facts_of("spark", tmp_path, **options) == facts_of("local", tmp_path, **options)


def test_strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_frames: None) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "SPLIT_BYTES", 1000)
    documents(tmp_path)
    with pytest.raises(DataError, match=r"a\.nt:2:19: expected an object"):
        facts_of("spark", tmp_path / "a.nt", strict=True)


def test_what_executors_write_keeps_its_labels(tmp_path: Path, everything_far: None) -> None:
    documents(tmp_path)
    kb = KnowledgeBase("<http://e/z>(<http://e/s>, 1).", engine="spark")
    kb.load(tmp_path)
    kb.write(tmp_path / "out", "nt")
    before = as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})
    assert facts_of("spark", tmp_path / "out") == facts_of("local", tmp_path / "out") == before
