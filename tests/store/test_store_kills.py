"""Writers that are killed at random moments; `tests/campaigns/store_kills.py` kills more of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.store.kill_histories import StoreHistory

KILLS = 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("seed", range(32))
def test_writers_that_are_killed(tmp_path: Path, seed: int) -> None:
    history = StoreHistory(seed, tmp_path)
    history.play(KILLS)
    assert history.kills == KILLS
    assert history.versions >= KILLS
