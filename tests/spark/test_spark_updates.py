"""Changes of facts and rules, and goals, on the Spark engine: the same as on the local one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from counted import check_counts, count_all
from test_cases import expected
from test_changes import STEPS, applied
from test_changes import shown as facts_of

from deltalog import KnowledgeBase
from deltalog.evaluation.change import Difference

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
out(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
hub(X) :- out(X, N), N > 2.
leaf(Y) :- path(_, Y), NOT path(Y, _).
next(X, M) :- out(X, N), BIND(N + 1 AS M).
"""
LINEAR = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z)."
EDGES = [(1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (6, 7)]


def shown(difference: Difference) -> dict[str, set[tuple[Any, ...]]]:
    return {predicate: set(facts) for predicate, facts in difference.items()}


def story(engine: str, maintenance: str = "auto", schemes: str = "auto") -> list[object]:
    """What some changes do, one after the other."""
    kb = KnowledgeBase(PROGRAM, engine=engine, maintenance=maintenance, schemes=schemes)
    kb.add("edge", EDGES)
    told: list[object] = [set(kb.query("path(4, ?x)", method="magic")), kb.count("path")]
    for change in (
        lambda: kb.update(add={"edge": [(5, 6)]}, remove={"edge": [(4, 2)]}),
        lambda: kb.update(remove={"edge": [(2, 3), (9, 9)]}),
        lambda: kb.add_rules("both(X, Y) :- path(X, Y), path(Y, X). edge(7, 6)."),
        lambda: kb.remove_rules("path(X, Z) :- path(X, Y), path(Y, Z)."),
        lambda: kb.update(add={"edge": [(2, 3)]}),
    ):
        done = change()
        told += [shown(done.added), shown(done.removed)]
        assert check_counts(kb) > 0 or maintenance != "counting"
    return [*told, {predicate: set(kb.facts(predicate)) for predicate in kb.predicates}]


@pytest.mark.usefixtures("spark")
def test_changes_are_those_of_the_local_engine() -> None:
    assert story("spark") == story("local")


@pytest.mark.usefixtures("spark")
def test_changes_with_counts_are_those_of_the_local_engine() -> None:
    assert story("spark", "counting", "standard") == story("local")


@pytest.mark.usefixtures("everything_far")
def test_changes_in_frames_alone() -> None:
    kb = KnowledgeBase(PROGRAM, engine="spark")
    kb.add("edge", EDGES[:3])
    change = kb.update(add={"edge": [(4, 5)]}, remove={"edge": [(1, 2)]})
    assert set(change.added["path"]) == {(4, 5), (3, 5), (2, 5)}
    assert set(change.removed["path"]) == {(1, 2), (1, 3), (1, 4)}
    assert set(kb.facts("hub")) == {(2,)}


@pytest.mark.usefixtures("everything_far")
def test_counts_in_frames_alone() -> None:
    """From 1 to 3 there is another way, from 1 to 4 not."""
    kb = KnowledgeBase(LINEAR, engine="spark", maintenance="counting", schemes="standard")
    kb.add("edge", [(1, 2), (2, 3), (1, 3), (1, 4)])
    count_all(kb)
    change = kb.update(remove={"edge": [(1, 3), (1, 4)]})
    assert set(change.removed["path"]) == {(1, 4)}
    assert (change.report.overdeleted, change.report.rederived) == (2, 1)
    assert check_counts(kb) == 3


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: steps.parent.name)
def test_steps_of_the_papers(steps: Path) -> None:
    """The cases of Hu et al. and Xu and Curé, step by step: see tests/test_changes.py."""
    kb = KnowledgeBase(steps.parent.with_suffix(".dl"), engine="spark")
    kb.materialise()
    for step in sorted(steps.iterdir()):
        applied(kb, step)
        wanted = expected(step)
        assert wanted and facts_of(kb, wanted) == wanted, step.name
