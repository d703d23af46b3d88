"""The stand-in for compiled Soufflé derives what the naive engine does, with every join order."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import souffle
from benchmarks.peers import points_to
from deltalog import KnowledgeBase

LACKING = points_to.missing()


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return points_to.build(tmp_path_factory.mktemp("stand-in"))


@pytest.mark.skipif(LACKING is not None, reason=f"needs {LACKING}")
@pytest.mark.parametrize("seed", range(3))
def test_sizes(binary: Path, tmp_path: Path, seed: int) -> None:
    for relation, rows in souffle.generate(800, seed).items():
        (tmp_path / f"{relation}.facts").write_text("".join("\t".join(row) + "\n" for row in rows))
    kb = KnowledgeBase(souffle.RULES, engine="naive")
    kb.load(tmp_path)
    kb.materialise()
    expected = {name: kb.count(name) for name in souffle.DERIVED}
    assert min(expected.values()) > 0
    for order in points_to.ORDERS:
        found = points_to.run(binary, tmp_path, order, 60)
        assert found is not None
        assert found["sizes"] == expected, order
