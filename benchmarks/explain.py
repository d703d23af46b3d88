"""Explanations: `python -m benchmarks.explain [lubm_l:20] [dag_r:full] [pointers:full] [categories:full]`.

For each benchmark, the knowledge base is materialised, and random derived facts are explained, one call each. Facts are
drawn evenly from all derived facts (of a virtual relation: a random first value, then a random one of its facts).
Figures are milliseconds of `kb.explain`: median, 99th percentile and worst, of wall time and of processor time (another
process's load is in the first one); the largest height and the most facts of a proof; and the peak memory of the
process before and after. The first call, which also makes plans,
is reported on its own. Exit code 1 if the median is above 20 ms, the worst above 200 ms, or memory above 1.2 times.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np

from benchmarks import datasets
from benchmarks.registry import BENCHMARKS, PROGRAMS, Benchmark, NoData, Size
from deltalog import KnowledgeBase
from deltalog.core.terms import Value
from deltalog.knowledge_base.calls import session_of

DEFAULT = ("lubm_l:20", "dag_r:full", "pointers:full", "categories:full")
MEDIAN_MS, WORST_MS, MEMORY = 20.0, 200.0, 1.2
POINTERS = Benchmark(
    "pointers",
    "WordNet 3.0: what is above, part of or like what",
    PROGRAMS / "wordnet.dl",
    {"full": Size(datasets.pointers)},
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Explains random derived facts.")
    parser.add_argument("benchmarks", nargs="*", default=DEFAULT, help="name:size")
    parser.add_argument("--facts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schemes", default="auto")
    parser.add_argument("--slow", type=float, default=WORST_MS, help="name explanations that take longer (ms)")
    options = parser.parse_args(arguments)
    good = True
    for name in options.benchmarks:
        try:
            good &= measure(name, options.facts, options.seed, options.schemes, options.slow)
        except NoData as why:
            print(f"{name}: {why}", file=sys.stderr)
    return 0 if good else 1


def measure(name: str, facts: int, seed: int, schemes: str, slow: float) -> bool:
    """Measures a benchmark and prints a line; whether it keeps within the limits."""
    kind, _, size = name.partition(":")
    benchmark = {**BENCHMARKS, "pointers": POINTERS}[kind]
    with tempfile.TemporaryDirectory() as folder:
        files = benchmark.files(size, Path(folder))
        kb = KnowledgeBase(benchmark.program_path(), schemes=schemes)
        kb.load(*files)
        report = kb.materialise()
        before = peak_mb()
        asked = list(drawn(kb, facts, Random(seed)))
        drawing = peak_mb()
        _reset_peak()
        times, busy, heights, steps = [], [], [], []
        for predicate, row in asked:
            started, spent = time.perf_counter(), time.process_time()
            explanation = kb.explain(predicate, row)
            times.append(1e3 * (time.perf_counter() - started))
            busy.append(1e3 * (time.process_time() - spent))
            heights.append(explanation.height or 0)
            steps.append(explanation.proofs[0].steps)
            if times[-1] > slow:
                print(f"  {times[-1]:,.1f} ms ({busy[-1]:,.1f} ms busy): {explanation.fact}")
    after = peak_mb()
    print(
        f"{name}: {report.facts_total:,} facts; {len(times)} explanations; "
        f"wall {summary(times)}; busy {summary(busy)}; "
        f"height up to {max(heights)}, up to {max(steps)} facts; "
        f"peak {before:,.0f} MB before, {after:,.0f} MB after (drawing facts: {drawing:,.0f} MB)",
        flush=True,
    )
    median, worst = statistics.median(times[1:]), max(times[1:])
    return median <= MEDIAN_MS and worst <= WORST_MS and after <= MEMORY * before


def summary(times: list[float]) -> str:
    first, *rest = times
    last = sorted(rest)[int(0.99 * len(rest))]
    return (
        f"median {statistics.median(rest):.1f} ms, 99 % {last:.1f} ms, worst {max(rest):.1f} ms, first {first:.1f} ms"
    )


def drawn(kb: KnowledgeBase, facts: int, random: Random) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Random derived facts, evenly from all of them."""
    explicit = session_of(kb).contents().explicit
    counts = {name: kb.count(name) for name in kb.predicates}
    for pred, table in explicit.items():
        counts[str(pred) if str(pred) in counts else pred.name] -= session_of(kb).backend.size(table)
    for name in random.choices(list(counts), list(counts.values()), k=facts):
        table = explicit.get(session_of(kb).predicate(name))
        while True:
            row = random_row(kb, name, random)
            if table is None or not session_of(kb).backend.codec.contains(table, row):
                yield name, row
                break


def random_row(kb: KnowledgeBase, name: str, random: Random) -> tuple[Value, ...]:
    """A random fact; of a virtual relation, a random second value of a random first one."""
    table = kb.facts(name).table
    if table.is_stored:
        columns = table.columns()
        number = random.randrange(len(columns[0]))
        ids = [int(column[number]) for column in columns]
    else:
        first = table.leads(0)
        chosen = first[random.randrange(len(first))]
        partners = table.partners(np.array([chosen], np.uint32), True)[1]
        ids = [int(chosen), int(partners[random.randrange(len(partners))])]
    return tuple(session_of(kb).backend.codec.values(np.array(ids)))


def _reset_peak() -> None:
    """Lets the kernel measure the peak from now on, on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The high-water mark of this process."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1e3 for line in status.splitlines() if line.startswith("VmHWM"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
