"""What our choices cost: the default settings against every fixed one, on all benchmarks.

    python -m benchmarks.choices [BENCHMARK[:SIZE] ...] [--json FILE] [--table FILE] [--times N] [--above RATIO]

For each benchmark, at its size for choices (see `size_of`), and for each of its tasks: seconds of processor time (all
threads, planning included, loading not) with the default settings and with each setting of SETTINGS fixed, one at a
time; goals without a materialisation by each method. A figure is the median of up to three, after one that does not
count (kernels are read or compiled then). The ratio is that of the default to the best fixed setting, where neither
counts as less than FLOOR seconds: below it there is only noise, and a user does not notice.

A fixed setting that takes longer than the default by more than a margin is stopped: it is not the best, and is shown as
such. After each task all settings that were not stopped must have the same number of facts for each predicate; if not,
the exit code is 1.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import states
from benchmarks.ours import _rows
from benchmarks.registry import BENCHMARKS, Benchmark, NoData
from deltalog.knowledge_base.facade import KnowledgeBase

ROOT = Path(__file__).parents[1]
AUTO = "auto"
SETTINGS: dict[str, dict[str, Any]] = {
    AUTO: {},
    "cyclic=standard": {"cyclic": "standard"},
    "cyclic=hypertree": {"cyclic": "hypertree"},
    "schemes=standard": {"schemes": "standard"},
    "schemes=module": {"schemes": "module"},
    "schemes=scheme": {"schemes": "scheme"},
    "maintenance=dred": {"maintenance": "dred"},
    "maintenance=bf": {"maintenance": "bf"},
    "maintenance=counting": {"maintenance": "counting"},
}
METHODS = (AUTO, "materialised", "magic", "qsqr")
CHANGES = {
    "small": ("small deletion", "small addition"),
    "large": ("large deletion",),
    "rule": ("rule deletion", "rule addition"),
}
FLOOR = 0.005  # seconds
MOST = 60.0  # seconds that a task with the default settings may take
TIMES, ENOUGH = 3, 2.0  # measured so often, but not again after so many seconds
MARGIN, PATIENCE = 1.5, 0.3  # a fixed setting is stopped at MARGIN times the default, and PATIENCE seconds

Counts = dict[str, int]
Measured = tuple[float, Counts]  # seconds, and what was there afterwards


class Stopped(Exception):
    """It takes too long."""


# One benchmark, in a process of its own.


class Session:
    """The tasks of a benchmark over a folder of states; `found` has seconds by task and setting."""

    def __init__(self, folder: Path, times: int) -> None:
        self.folder, self.times = folder, times
        self.found: dict[str, dict[str, float]] = {}
        self.counts: dict[str, dict[str, Counts]] = {}
        self.reasons: dict[str, str] = {}

    def run(self, tasks: Sequence[str]) -> None:
        self._each(("materialise",), SETTINGS, self._materialise)
        if (self.folder / "goal.txt").exists():
            self._each(("goal",), {method: {} for method in METHODS}, self._goal)
        for name, pair in CHANGES.items():
            if f"{name}_deletion" in tasks:
                self._each(pair, SETTINGS, getattr(self, f"_{name}"))

    def _each(
        self, tasks: Sequence[str], settings: dict[str, dict[str, Any]], measure: Callable[[str], Iterator[Measured]]
    ) -> None:
        """Every setting in turn, the default first; a stopped one has no figure."""
        for task in tasks:
            self.found[task], self.counts[task] = {}, {}
        for name in settings:
            limit = MOST if name == AUTO else MARGIN * max(map(self._default, tasks)) + PATIENCE
            try:
                runs = list(self._runs(tasks, name, measure, limit))
            except Stopped:
                runs = []
            for i, task in enumerate(tasks):
                self.found[task][name] = median(run[i][0] for run in runs) if runs else inf
                if runs:
                    self.counts[task][name] = runs[-1][i][1]

    def _default(self, task: str) -> float:
        return min(self.found[task].get(AUTO, MOST), MOST)

    def _runs(
        self, tasks: Sequence[str], name: str, measure: Callable[[str], Iterator[Measured]], limit: float
    ) -> Iterator[list[Measured]]:
        """Runs that count: the first one does not, unless there is no time for another."""
        started = time.process_time()
        compiling = MOST if name == AUTO else PATIENCE  # the default needs nearly all kernels
        first = list(_limited(measure(name), limit + compiling, len(tasks)))
        if time.process_time() - started > 4 * ENOUGH:
            yield first
            return
        for _ in range(self.times):
            yield list(_limited(measure(name), limit, len(tasks)))
            if time.process_time() - started > ENOUGH:
                return

    def _empty(self, **settings: Any) -> KnowledgeBase:
        kb = KnowledgeBase(self.folder / "program.dl", **settings)
        kb.load(*sorted((self.folder / "full").iterdir()))
        return kb

    def _materialised(self, setting: str) -> KnowledgeBase:
        kb = self._empty(**SETTINGS[setting])
        kb.materialise()
        return kb

    def _materialise(self, setting: str) -> Iterator[Measured]:
        kb = self._empty(**SETTINGS[setting])
        yield seconds(kb.materialise), counts(kb)

    def _goal(self, method: str) -> Iterator[Measured]:
        kb, goal = self._empty(), (self.folder / "goal.txt").read_text("utf-8")
        answers = []
        taken = seconds(lambda: answers.append(kb.query(goal, method)))
        if method == AUTO:
            self.reasons["goal"] = f"{answers[0].method}: {answers[0].reason}"
        yield taken, {"answers": len(answers[0])}

    def _small(self, setting: str) -> Iterator[Measured]:
        kb, rows = self._materialised(setting), _rows(self.folder / "small")
        kb.update(remove=rows), kb.update(add=rows)
        yield seconds(lambda: kb.update(remove=rows)), counts(kb)
        yield seconds(lambda: kb.update(add=rows)), counts(kb)

    def _large(self, setting: str) -> Iterator[Measured]:
        kb, rows = self._materialised(setting), _rows(self.folder / "large")
        yield seconds(lambda: kb.update(remove=rows)), counts(kb)

    def _rule(self, setting: str) -> Iterator[Measured]:
        kb, rule = self._materialised(setting), (self.folder / "rule.dl").read_text("utf-8")
        yield seconds(lambda: kb.remove_rules(rule)), counts(kb)
        yield seconds(lambda: kb.add_rules(rule)), counts(kb)


def _limited(runs: Iterator[Measured], limit: float, most: int) -> Iterator[Measured]:
    """Runs of which each, with what is before it, takes at most about `limit` seconds; else Stopped."""
    for _ in range(most):
        with stopping(4 * limit + 10):  # other work on the machine, and materialisations before, do not count
            run = next(runs)
        if run[0] > limit:
            raise Stopped
        yield run


@contextmanager
def stopping(limit: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    except SystemError as error:  # what a kernel that is called makes of an exception
        raise Stopped from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds(call: Callable[[], object]) -> float:
    """Processor time. Garbage of earlier runs is collected before: that takes 150 ms, whoever's turn it is."""
    gc.collect()
    started = time.process_time()
    call()
    return time.process_time() - started


def counts(kb: KnowledgeBase) -> Counts:
    return {name: kb.count(name) for name in kb.predicates if kb.count(name)}


def one(name: str, size: str, times: int, folder: Path) -> dict[str, Any]:
    benchmark = BENCHMARKS[name]
    benchmark.files(size, folder / "full")
    states.write(
        folder, benchmark.program_path(), benchmark.rule, benchmark.goal, {"minus_small", "minus_large", "minus_rule"}
    )
    session = Session(folder, times)
    session.run(benchmark.tasks)
    wrong = [
        f"{task}: {setting}"
        for task, each in session.counts.items()
        for setting, found in each.items()
        if AUTO in each and found != each[AUTO]
    ]
    return {"benchmark": name, "size": size, "seconds": session.found, "wrong": wrong, "reasons": session.reasons}


# All of them.


def size_of(benchmark: Benchmark) -> str:
    """Small, or the only one."""
    return "small" if "small" in benchmark.sizes else next(iter(benchmark.sizes))


def asked(name: str, size: str, times: int) -> dict[str, Any]:
    """One benchmark, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.choices", f"{name}:{size}", "--one", "--times", str(times)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        return {"benchmark": name, "size": size, "seconds": {}, "wrong": [f"exit code {done.returncode}"]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def lines(results: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A line of the table for each benchmark and task: the default, the best fixed setting, and their ratio."""
    for result in results:
        for task, each in result["seconds"].items():
            auto = each[AUTO]
            best = min((name for name in each if name != AUTO), key=lambda name: each[name])
            ratio = max(auto, FLOOR) / max(each[best], FLOOR)
            name = f"{result['benchmark']} ({result['size']})"
            yield {"name": name, "task": task, AUTO: auto, "best": best, "seconds": each[best], "ratio": ratio} | {
                "worst": max(each[n] for n in each if n != AUTO)
            }


def table(results: Sequence[dict[str, Any]]) -> str:
    """The table, worst ratios first."""
    rows = sorted(lines(results), key=lambda line: -line["ratio"])
    text = ["| benchmark | task | auto, ms | best fixed setting | its ms | auto / best |", "| --- " * 6 + "|"]
    for row in rows:
        cells = (row["name"], row["task"], _ms(row[AUTO]), row["best"], _ms(row["seconds"]), f"{row['ratio']:.2f}")
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def _ms(value: float) -> str:
    return "stopped" if value == inf else f"{1000 * value:,.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="The default settings against every fixed one, on all benchmarks.")
    parser.add_argument("benchmarks", nargs="*", help="NAME or NAME:SIZE; all, if none is named")
    parser.add_argument("--json", type=Path, help="write the figures of all settings here")
    parser.add_argument("--table", type=Path, help="write the table in Markdown here")
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    chosen = [
        (name, size or size_of(BENCHMARKS[name]))
        for name, _, size in (text.partition(":") for text in given.benchmarks or BENCHMARKS)
    ]
    if given.one:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = one(*chosen[0], given.times, Path(folder))
            except NoData as reason:
                found = {
                    "benchmark": chosen[0][0],
                    "size": chosen[0][1],
                    "seconds": {},
                    "wrong": [],
                    "missing": str(reason),
                }
        print(json.dumps(found))
        return 0
    results = []
    for name, size in chosen:
        results.append(asked(name, size, given.times))
        print(f"{name}:{size}", results[-1].get("missing", ""), *results[-1]["wrong"], file=sys.stderr, flush=True)
        print(table(results[-1:]), file=sys.stderr, flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))
    if given.table:
        given.table.write_text(table(results), "utf-8")
    print(table(results))
    return int(any(result["wrong"] for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
