"""The 14 queries of LUBM on a generated university, by every method and with both programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import datasets
from benchmarks.lubm_queries import QUERIES
from deltalog import KnowledgeBase

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"
# Of LUBM(1,0), published. Generated data have its shape: where an answer is counted by the hundred, about as many.
PUBLISHED = {"Q5": 719, "Q6": 7790, "Q8": 7790, "Q9": 208, "Q11": 224, "Q12": 15, "Q14": 5916}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lubm")
    datasets.lubm(1, folder)
    return folder


@pytest.mark.parametrize("program", ["lubm_l.dl", "lubm_le.dl"])
def test_every_method_gives_the_same_answers(program: str, data: Path) -> None:
    kb, whole = KnowledgeBase(PROGRAMS / program), KnowledgeBase(PROGRAMS / program)
    kb.load(data)
    whole.load(data)
    counts = {}
    for name, query in QUERIES.items():
        expected = set(whole.query(query, "materialised"))
        for method in ("magic", "qsqr"):
            assert set(kb.query(query, method)) == expected, f"{name} by {method}"
        counts[name] = len(expected)
    assert all(counts.values())
    assert all(0.7 * expected < counts[name] < 1.3 * expected for name, expected in PUBLISHED.items())
