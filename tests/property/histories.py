"""Campaigns of random histories: a program, its facts and a list of changes, all drawn from one seed.

python -m tests.property.histories --seeds 0:20000 --jobs 2     a campaign: failing seeds, each shrunk
python -m tests.property.histories --seeds 17 --show            prints a history without playing it

history_model       what a history is
history_programs    random rules, facts and goals
history_generator   `history(seed)`
history_player      `run(history)`, against the naive engine
history_shrinker    smaller histories that still fail

history_ontologies  all of this for ontologies, equality, nested aggregates, PER and SPARQL updates; every even seed
judge               what these mean, by definition: it shares nothing with any engine

Half of the time is spent in kernels that Python interprets; DELTALOG_KERNELS=auto compiles those that pay.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from tests.property import history_generator, history_ontologies, history_player, history_shrinker
from tests.property.history_model import History
from tests.property.history_ontologies import OntologyHistory

AnyHistory = History | OntologyHistory


class TooLong(Exception):
    """A history took longer than it may."""


MOST_SECONDS = 120


def history(seed: int) -> AnyHistory:
    """The history of a seed: with an ontology, if the seed is even."""
    return history_generator.history(seed) if seed % 2 else history_ontologies.history(seed)


def run(history: AnyHistory) -> None:
    if isinstance(history, OntologyHistory):
        history_ontologies.run(history)
    else:
        history_player.run(history)


def shrunk(history: AnyHistory, fails: Callable[[AnyHistory], bool]) -> AnyHistory:
    if isinstance(history, OntologyHistory):
        return history_ontologies.shrunk(history, fails)
    return history_shrinker.shrunk(history, fails)


def failure(history: AnyHistory) -> str | None:
    """What is wrong with a history, in one word or line; None if nothing is."""
    try:
        with _time_limit(MOST_SECONDS):
            run(history)
    except (history_player.Disagreement, history_ontologies.Disagreement) as wrong:
        return str(wrong).splitlines()[0]
    except Exception as wrong:
        place = traceback.extract_tb(wrong.__traceback__)[-1]
        return f"{type(wrong).__name__} at {place.filename.rpartition('/')[2]}:{place.lineno}: {wrong}".splitlines()[0]
    return None


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong(f"more than {seconds} seconds")

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor: other work on the machine does not count
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def kind_of(failure: str) -> str:
    """What must stay the same while a history is shrunk."""
    return failure.split(":")[0].split(" ")[0]


def examined(seed: int, shrink: bool = True) -> str | None:
    """A report of a seed that fails."""
    found = history(seed)
    wrong = failure(found)
    if wrong is None:
        return None
    if shrink:
        kind = kind_of(wrong)
        found = shrunk(found, lambda one: (failure(one) or "").startswith(kind))
        wrong = failure(found)
    return f"seed {seed}: {wrong}\n{found}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Plays random histories against the naive engine and a judge.")
    parser.add_argument("--seeds", default="0:1000", help="one seed, or first:last (last not included)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print histories, and do not play them")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    if options.show:
        print("\n\n".join(str(history(seed)) for seed in seeds))
        return 0
    return _campaign(seeds, options.jobs, not options.no_shrink)


def _campaign(seeds: Sequence[int], jobs: int, shrink: bool) -> int:
    failing: list[int] = []
    warnings.simplefilter("ignore")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = (pool.submit(_examined_part, seeds[i : i + 50], shrink) for i in range(0, len(seeds), 50))
        for number, future in enumerate(list(futures)):
            for seed, report in future.result():
                failing.append(seed)
                print(report, flush=True)
            done = min(len(seeds), 50 * (number + 1))
            print(f"{done} of {len(seeds)} histories, {len(failing)} failing", file=sys.stderr, flush=True)
    print(f"{len(seeds)} histories, {len(failing)} failing: {failing}")
    return 1 if failing else 0


def _examined_part(seeds: Sequence[int], shrink: bool) -> list[tuple[int, str]]:
    warnings.simplefilter("ignore")
    found = ((seed, examined(seed, shrink)) for seed in seeds)
    return [(seed, report) for seed, report in found if report is not None]


if __name__ == "__main__":
    sys.exit(main())
