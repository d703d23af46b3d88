"""The collector of reference cycles, while calls run."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from deltalog import KnowledgeBase
from deltalog.core.concurrency.collector import rare_collections


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_calls_inside_of_each_other_put_back_what_there_was() -> None:
    with rare_collections(5_000):
        with rare_collections(9_000):
            assert gc.get_threshold()[0] == 5_000
        assert gc.get_threshold()[0] == 5_000
    assert gc.get_threshold() == (700, 10, 10)


def test_what_somebody_else_sets_meanwhile_stays() -> None:
    with rare_collections(5_000):
        gc.set_threshold(0)
    assert gc.get_threshold()[0] == 0


@pytest.mark.parametrize("threshold", [(0, 10, 10), (200_000, 10, 10)])
def test_a_collector_that_is_off_or_rarer_stays_so(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)
    with rare_collections(5_000):
        assert gc.get_threshold() == threshold
    assert gc.get_threshold() == threshold


def test_a_call_of_a_knowledge_base() -> None:
    during: list[int] = []
    kb = KnowledgeBase("p(1). q(X) :- p(X).", observe=lambda _: during.append(gc.get_threshold()[0]))
    kb.materialise()
    assert set(during) == {100_000}
    assert gc.get_threshold() == (700, 10, 10)
