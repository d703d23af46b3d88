"""A sample of random histories; `histories` runs campaigns of many more."""

from __future__ import annotations

import pytest

from tests.property import history_ontologies
from tests.property.history_generator import history
from tests.property.history_player import run

BATCH = 15


@pytest.mark.parametrize("first", range(0, 150, BATCH))
def test_histories_agree_with_naive(first: int) -> None:
    for seed in range(first, first + BATCH):
        run(history(seed))


@pytest.mark.parametrize("first", range(0, 150, BATCH))
def test_histories_with_ontologies_agree_with_the_judge(first: int) -> None:
    for seed in range(first, first + BATCH):
        history_ontologies.run(history_ontologies.history(seed))
