"""The 14 queries of LUBM over a generated university have the solutions that Oxigraph finds in its materialisation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import pytest
from sparql_oracle import bag

from benchmarks.generators import lubm
from deltalog import KnowledgeBase
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.sparql.solutions import Solutions

HERE = Path(__file__).parent
RULES = HERE.parent.parent / "benchmarks" / "programs" / "lubm_l.dl"


@dataclass
class University:
    """The same university: to ask, materialised, and in Oxigraph."""

    unprepared: KnowledgeBase
    materialised: KnowledgeBase
    store: ox.Store


@pytest.fixture(scope="module")
def university(tmp_path_factory: pytest.TempPathFactory) -> University:
    folder = tmp_path_factory.mktemp("lubm")
    lubm.write(1, folder / "lubm-1.nt")
    both = [KnowledgeBase(RULES), KnowledgeBase(RULES)]
    for kb in both:
        kb.load(folder / "lubm-1.nt")
    both[1].materialise()
    both[1].write(folder / "all", "nt")
    store = ox.Store()
    store.bulk_load(path=str(folder / "all" / "facts.nt"), format=ox.RdfFormat.N_TRIPLES)
    return University(*both, store)


@pytest.mark.parametrize("number", range(1, 15))
def test_query(university: University, number: int) -> None:
    query = (HERE / "lubm" / f"q{number}.rq").read_text()
    expected = university.store.query(query)
    assert isinstance(expected, ox.QuerySolutions)
    theirs = bag(list(row) for row in expected)
    ways = [(university.materialised, "auto"), (university.unprepared, "magic"), (university.unprepared, "qsqr")]
    for kb, method in ways:
        ours = kb.sparql(query, method)
        assert isinstance(ours, Solutions)
        assert list(ours.columns) == [variable.value for variable in expected.variables]
        assert bag(ours) == theirs
    assert session_of(university.unprepared).state.materialised is None


def test_the_queries_have_solutions(university: University) -> None:
    """All but query 2, which finds graduates who stayed, in a university of which there may be none."""
    sizes = [len(list(university.store.query((HERE / "lubm" / f"q{n}.rq").read_text()))) for n in range(1, 15)]  # type: ignore[arg-type]
    assert sum(size > 0 for size in sizes) >= 12, sizes
