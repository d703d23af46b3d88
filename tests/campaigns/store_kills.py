"""A campaign of `tests.store.kill_histories`: writers of stores that are killed, many times.

python -m tests.campaigns.store_kills --kills 1000 --jobs 2
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.store.kill_histories import MEMORY, StoreHistory

KILLS_PER_SEED = 20


class Played(NamedTuple):
    """The figures of a history."""

    seed: int
    kills: int
    actions: int
    versions: int  # that were compared
    unacknowledged: int
    lost_logs: int
    problem: str


def played(seed: int, kills: int) -> Played:
    """Plays the history of a seed, with so many kills."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        history = StoreHistory(seed, Path(folder))
        problem = ""
        try:
            history.play(kills)
        except Exception as wrong:
            problem = f"{type(wrong).__name__}: {wrong}"
        figures = history.kills, history.done, history.versions, history.unacknowledged, history.lost_logs
        return Played(seed, *figures, problem)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Kills writers of stores, and compares what is left.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + -(-options.kills // KILLS_PER_SEED))
    started, all_played = time.monotonic(), []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for one in pool.map(played, seeds, [KILLS_PER_SEED] * len(seeds)):
            all_played.append(one)
            if one.problem:
                print(f"seed {one.seed}: {one.problem}", flush=True)
    failing = [one.seed for one in all_played if one.problem]
    kills, actions, versions, made, logs = (sum(each) for each in list(zip(*all_played, strict=True))[1:6])
    print(
        f"{kills} kills in {len(all_played)} histories: {actions} actions, {versions} versions compared, "
        f"{made} actions made but not acknowledged, {logs} lost logs noticed, "
        f"{len(failing)} histories failing {failing}, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
