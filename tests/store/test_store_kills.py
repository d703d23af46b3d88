"""Writers that are killed at random moments; `tests/campaigns/store_kills.py` kills more of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.store.kill_histories import MEMORY, StoreHistory

KILLS = 10


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory where there is one: a kill does not ask for a disk."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("seed", range(32))
def test_writers_that_are_killed(place: Path, seed: int) -> None:
    history = StoreHistory(seed, place)
    history.play(KILLS)
    assert history.kills == KILLS
    assert history.versions >= KILLS
