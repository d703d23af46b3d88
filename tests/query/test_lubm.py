"""The 14 queries of LUBM on a generated university, by every method and with both programs.

`python -m benchmarks.queries --published` asks them of the published data, for the published counts.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import datasets
from benchmarks.generators import lubm
from benchmarks.lubm_queries import PREFIX, QUERIES
from deltalog import KnowledgeBase

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"
HOME = "http://www.Department0.University0.edu"
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


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 24 of everything in a department, and a student who stayed: small enough for the naive engine."""
    folder = tmp_path_factory.mktemp("department")
    lines = [line for line in lubm.department() if all(int(n) < 24 for n in re.findall(r"[a-z](\d+)>", line))]
    student, university = f"<{HOME}/GraduateStudent1>", "<http://www.University0.edu>"
    lines.append(f"{student} <{PREFIX}undergraduateDegreeFrom> {university} .\n")
    (folder / "department.nt").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("program", ["lubm_l.dl", "lubm_le.dl"])
def test_every_method_gives_the_answers_of_the_naive_engine(program: str, small: Path) -> None:
    naive, kb, whole = (KnowledgeBase(PROGRAMS / program, engine=engine) for engine in ("naive", "local", "local"))
    for one in (naive, kb, whole):
        one.load(small)
    for name, query in QUERIES.items():
        expected = set(naive.query(query, "materialised"))
        assert expected, f"{name} has no answers"
        for method, one in (("magic", kb), ("qsqr", kb), ("materialised", whole), ("auto", kb)):
            assert set(one.query(query, method)) == expected, f"{name} by {method}"
