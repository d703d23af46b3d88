"""Generators have the promised sizes, and are the same for the same seed on every machine."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.generators import (
    categories,
    draws,
    expressions,
    graphs,
    labelled,
    lubm,
    motivating,
    relations,
    windfarm,
)

# Counts of UBA's own LUBM(1) and LUBM(5) (seed 0), for 15 and 93 departments.
UBA_PER_DEPARTMENT = {
    "takesCourse": 134051 / 93,
    "name": 100002 / 93,
    "publicationAuthor": 67702 / 93,
    "telephone": 51955 / 93,
    "emailAddress": 51955 / 93,
    "memberOf": 48582 / 93,
    "type Publication": 37854 / 93,
    "type UndergraduateStudent": 36682 / 93,
    "advisor": 19371 / 93,
    "undergraduateDegreeFrom": 15273 / 93,
    "type GraduateStudent": 11900 / 93,
    "teacherOf": 10095 / 93,
    "type Course": 5063 / 93,
    "type GraduateCourse": 5032 / 93,
    "type ResearchAssistant": 3405 / 93,
    "worksFor": 3373 / 93,
    "mastersDegreeFrom": 3373 / 93,
    "doctoralDegreeFrom": 3373 / 93,
    "researchInterest": 2811 / 93,
    "type TeachingAssistant": 2643 / 93,
    "teachingAssistantOf": 2643 / 93,
    "subOrganizationOf": 1464 / 93,
    "type ResearchGroup": 1371 / 93,
    "type AssociateProfessor": 1110 / 93,
    "type AssistantProfessor": 907 / 93,
    "type FullProfessor": 794 / 93,
    "type Lecturer": 562 / 93,
    "type Department": 1,
    "headOf": 1,
}


@pytest.fixture(scope="module")
def lubm_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lubm") / "lubm-1.nt"
    lubm.write(1, path)
    return path


def test_lubm_has_the_shape_of_uba(lubm_1: Path) -> None:
    counts: Counter[str] = Counter()
    for line in lubm_1.read_text().splitlines():
        _, predicate, rest = line.split(" ", 2)
        name = predicate.rsplit("#", 1)[1][:-1]
        counts["type " + rest.split("#")[1].split(">")[0] if name == "type" else name] += 1
    assert set(counts) == set(UBA_PER_DEPARTMENT) | {"type University"}
    assert lubm.departments(0) == 15
    for name, count in UBA_PER_DEPARTMENT.items():
        assert counts[name] == pytest.approx(count * 15, rel=0.12), name


def test_lubm_sizes(lubm_1: Path) -> None:
    lines = lubm_1.read_text().splitlines()
    assert 98_000 < len(lines) < 105_000
    assert len(set(lines)) == len(lines)
    assert [sum(lubm.departments(u) for u in range(n)) for n in (1, 5, 10)] == [15, 93, 189]


def test_lubm_is_the_same_everywhere(lubm_1: Path) -> None:
    digest = hashlib.sha256(lubm_1.read_bytes()).hexdigest()
    assert digest == "b25702627b499a7d48959da5a05c93b756406db0ef5ea40b196462b76b2db5de"


def test_a_department_is_a_fifteenth(lubm_1: Path) -> None:
    lines = set(lubm.department())
    assert len(lines) == 6_563 and lines < set(lubm_1.read_text().splitlines(keepends=True))


def test_a_university_is_the_same_among_few_and_many() -> None:
    first, _ = lubm.triples(2)
    (alone,) = lubm.triples(1)
    assert first == alone


def test_lubm_courses_and_assistants_are_distinct(lubm_1: Path) -> None:
    teachers: Counter[str] = Counter()
    assistants: set[str] = set()
    researchers: set[str] = set()
    for line in lubm_1.read_text().splitlines():
        subject, predicate, object = line.removesuffix(" .").split(" ", 2)
        if predicate.endswith("#teacherOf>"):
            teachers[object] += 1
        elif object.endswith("#TeachingAssistant>"):
            assistants.add(subject)
        elif object.endswith("#ResearchAssistant>"):
            researchers.add(subject)
    assert max(teachers.values()) == 1
    assert assistants and researchers and not assistants & researchers


def closure_size(rows: draws.Ints, nodes: int) -> int:
    reach = np.zeros((nodes, nodes), bool)
    for u, v in rows[np.argsort(-rows[:, 0], kind="stable")]:
        reach[u] |= reach[v]
        reach[u, v] = True
    return int(reach.sum())


def test_dag_has_distinct_edges_upwards() -> None:
    rows = graphs.dag(500, 3_000, seed=7)
    assert rows.shape == (3_000, 2)
    assert len(np.unique(rows, axis=0)) == 3_000
    assert (rows[:, 0] < rows[:, 1]).all() and rows.min() >= 0 and rows.max() < 500


@pytest.mark.parametrize("nodes", [2, 3, 10, 60])
def test_dag_can_have_all_edges(nodes: int) -> None:
    possible = nodes * (nodes - 1) // 2
    assert len(graphs.dag(nodes, possible)) == possible


def test_dag_refuses_more_edges_than_pairs() -> None:
    with pytest.raises(ValueError, match="only 3 pairs"):
        graphs.dag(3, 4)


def test_promised_sizes() -> None:
    assert closure_size(graphs.dag(2_000, 10_000, seed=132), 2_000) == 413_733
    assert graphs.same_generation_size(graphs.tree(4_640)) == 2_202_325


def test_graphs_are_the_same_everywhere() -> None:
    assert graphs.dag(2_000, 10_000, seed=132)[:3].tolist() == [[897, 1632], [1683, 1941], [375, 869]]
    assert graphs.tree(4_640)[[1, 100, 4_000]].tolist() == [[2, 0], [101, 40], [4001, 3014]]


def test_seeds_differ() -> None:
    assert graphs.dag(100, 50, seed=1).tolist() != graphs.dag(100, 50, seed=2).tolist()


def test_draws_are_in_range_and_even() -> None:
    numbers = draws.between(0, "test", np.arange(60_000), 3, 8)
    counts = np.bincount(numbers, minlength=9)
    assert counts[:3].sum() == 0 and len(counts) == 9
    assert (abs(counts[3:] - 10_000) < 500).all()


def test_motivating_example_has_the_promised_sizes() -> None:
    rows = motivating.motivating(3, 4)
    assert {name: len(set(r)) for name, r in rows.items()} == {"cw": 13, "ca": 13, "pc": 24}


def digest(relations: dict[str, draws.Ints]) -> str:
    """The same for the same rows, on every machine."""
    made = hashlib.sha256()
    for name in sorted(relations):
        made.update(name.encode() + relations[name].astype("<i8").tobytes())
    return made.hexdigest()[:16]


def distinct(rows: draws.Ints) -> int:
    return len(np.unique(rows, axis=0))


def test_expressions_have_the_sizes_of_the_paper() -> None:
    trees = expressions.trees(300)
    operations, leaves = len(trees.operations), len(trees.leaves)
    assert (operations, leaves) == (3_420, 3_720)
    given = 3 * leaves * 300 + 3 * operations + leaves + 300
    assert (given, given + 3 * operations * 300) == (3_362_280, 6_440_280)


def test_expressions_are_trees_of_depth_five() -> None:
    trees = expressions.trees(50)
    left, right = trees.children()
    nodes = {*trees.operations.tolist(), *trees.leaves.tolist()}
    assert {*left.tolist(), *right.tolist()} == nodes - set(trees.roots.tolist())
    assert (trees.leaves % trees.width).max() < 64


def test_expressions_as_triples() -> None:
    lines = list(expressions.lines(4, 3))
    trees = expressions.trees(4)
    operations, leaves = len(trees.operations), len(trees.leaves)
    assert len(set(lines)) == len(lines) == 3 * leaves * 3 + 3 * operations + leaves + 4
    assert hashlib.sha256("".join(lines).encode()).hexdigest()[:16] == "2aaa6c1688e54a0b"


def test_a_labelled_graph_has_as_many_edges_as_asked_for_and_hubs() -> None:
    graph = labelled.labelled(3_000, 9_000)
    assert sum(map(distinct, graph.values())) == 9_000 and len(graph) == 22
    ends = np.bincount(np.concatenate([rows.ravel() for rows in graph.values()]), minlength=3_000)
    assert 0.28 < ends[:300].sum() / ends.sum() < 0.36
    assert len(graph["http://edge17"]) > 3 * len(graph["http://edge29"])
    assert digest(graph) == "215eb0844fece1f7"
    with pytest.raises(ValueError, match="too few"):
        labelled.labelled(5, 9_000)


def test_tc_plus_and_tcu_have_their_shares() -> None:
    plus, tcu = relations.tc_plus(200, 2_200), relations.tcu(200, 1_300)
    assert {name: distinct(rows) for name, rows in plus.items()} == {k: 100 * n for k, n in relations.TC_PLUS.items()}
    assert {name: distinct(rows) for name, rows in tcu.items()} == {k: 100 * n for k, n in relations.TCU.items()}
    both = {*map(tuple, plus["b"].tolist())} & {*map(tuple, plus["c"].tolist())}
    assert len(both) >= 200
    assert (digest(plus), digest(tcu)) == ("70a84d9f68606327", "ca541f5fa73f7d46")


def test_a_union_of_disjoint_relations() -> None:
    parts = relations.union(1_400)
    assert len(parts) == 14 and {len(rows) for rows in parts.values()} == {100}
    rows = np.concatenate([part[:, ::-1] if name == "d" else part for name, part in parts.items()])
    assert distinct(rows) == 1_400
    assert digest(parts) == "c9e5ab1bbe2d085d"


def test_categories_have_two_broader_ones_on_average_and_cycles() -> None:
    rows = categories.broader(5_000)
    assert len(rows) == distinct(rows) and abs(len(rows) - 2 * 4_999) < 20
    upwards = (rows[:, 0] < rows[:, 1]).sum()
    assert 0 < upwards < 30
    assert np.bincount(rows[:, 1]).max() > 100
    assert len(set(range(1, 5_000)) - set(rows[:, 0].tolist())) <= upwards
    assert digest({"broader": rows}) == "4d303525a3b0cd85"


def test_categories_as_large_as_those_of_dbpedia() -> None:
    """3 M edges; ten categories drawn evenly have thousands of broader ones, so all have billions."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    count = 1_500_000
    rows = categories.broader(count)
    assert abs(len(rows) - 3_000_000) < 10
    graph = csr_matrix((np.ones(len(rows), np.int8), tuple(rows.T)), shape=(count, count))
    starts = draws.between(0, "starts", np.arange(10), 0, count - 1).tolist()
    reached = np.mean([len(breadth_first_order(graph, start, return_predecessors=False)) for start in starts])
    assert 3e9 < reached * count < 3e10
    _, component = connected_components(graph, connection="strong")
    assert np.bincount(component).max() > 1_000


def test_wind_farms() -> None:
    first, second = windfarm.neighbours(400), windfarm.relations(800)
    assert {name: len(rows) for name, rows in first.items()} == {
        "hasNeighbour": 399,
        "hasAirTemperatureMesurement": 400,
    }
    assert windfarm.neighbours_size(400) == 160_800 + windfarm.broken(400).sum()
    assert {name: len(rows) for name, rows in second.items()} == dict.fromkeys(("p1", "p2", "p3", "p4"), 200) | {
        "p5": 40
    }
    assert (digest(first), digest(second)) == ("30bb756607b40549", "7744a1ba923aeedc")
