"""A sample of random histories; `histories` says what they are, and runs campaigns of many more."""

from __future__ import annotations

import pytest
from histories import history, run

BATCH = 15


@pytest.mark.parametrize("first", range(0, 150, BATCH))
def test_histories_agree_with_naive(first: int) -> None:
    for seed in range(first, first + BATCH):
        run(history(seed))
