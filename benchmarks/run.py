"""Run benchmarks: `deltalog bench`, or `python -m benchmarks.run`, which is the same.

Each measurement is a process of its own, ended when its time is up; what takes little time is measured up to three
times in it. A benchmark's ways take turns (way 1, way 2, ..., way 1, way 2, ...) when there are several processes for
each, so that a busy minute of the machine does not hit one of them alone. All ways must have the same number of facts
for each predicate after a task, and the right number where it is known: a wrong answer is a failure, however fast, and
makes the exit code 1.

Everything ends: each process has a time limit, a way whose materialisation did not end in time is not asked for changes
of it, and the whole has a budget; what does not fit into it is shown as skipped.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import way, ways
from benchmarks.registry import BENCHMARKS, Benchmark
from benchmarks.tasks import ANSWER, ONCE, TASKS
from deltalog.core.errors import UsageError

ROOT = Path(__file__).parents[1]
OURS, SCRATCH = "deltalog", "scratch"
PREPARATION = 300.0  # seconds for data and translations: never measured


@dataclass
class Result:
    """One benchmark, size, task and way. Status: ok, wrong, cannot, missing, timeout, skipped or failed; `why` says why
    it is not ok."""

    benchmark: str
    size: str
    task: str
    way: str
    status: str = "ok"
    why: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> int:
        return sum(self.counts.values())


@dataclass
class Unit:
    """What one process measures: a session of ours, or a way from scratch over a state; and whose results it gives."""

    way: str
    what: str
    results: list[Result]

    def fail(self, status: str, why: str) -> None:
        for result in self.results:
            result.status, result.why = status, why

    @property
    def is_well(self) -> bool:
        return all(result.status == "ok" for result in self.results)


@dataclass(frozen=True)
class Entry:
    """A benchmark, a size, and the tasks of each way: a line of the plan."""

    benchmark: Benchmark
    size: str
    tasks: tuple[tuple[str, tuple[str, ...]], ...]


def ask(job: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Do a step in a process of its own; its answer."""
    command = [sys.executable, "-m", "benchmarks.measure", json.dumps(job)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "why": f"more than {timeout:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"status": "failed", "why": f"exit code {done.returncode}: {last[:200]}"}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def measure(entry: Entry, repeat: int, timeout: float, work: Path) -> list[Result]:
    """All ways and tasks of one line of the plan."""
    folder = work / f"{entry.benchmark.name}-{entry.size}"
    shutil.rmtree(folder, ignore_errors=True)
    units = list(_units(entry))
    made = _prepare(entry, units, folder)
    for _ in range(repeat):
        for unit in units:
            if unit.is_well:
                _run_once(unit, folder, timeout, made)
                _give_up(unit, units)
    results = [result for unit in units for result in unit.results]
    results += _additions_from_scratch(entry, results)
    check_all(results, entry.benchmark.sizes[entry.size].facts, made.get("facts"))
    shutil.rmtree(folder, ignore_errors=True)
    return results


def _give_up(late: Unit, units: Sequence[Unit]) -> None:
    """Changes of a materialisation that took too long would take as long and more."""
    if late.what == "materialise" and late.results[0].status == "timeout":
        for unit in units:
            if unit.way == late.way:
                unit.fail("timeout", late.results[0].why)


def _units(entry: Entry) -> Iterator[Unit]:
    """Sessions for those who have them; for the others the states that the tasks lead to."""
    for name, tasks in entry.tasks:
        own = getattr(way(name), "sessions", False)
        grouped: dict[str, list[Result]] = {}
        for task in tasks:
            what = TASKS[task].session if own else TASKS[task].after
            if what is None or (name == SCRATCH and what == "full"):
                continue  # from scratch to the full state is what `materialise` measures
            grouped.setdefault(what, []).append(Result(entry.benchmark.name, entry.size, task, name))
        for what, results in grouped.items():
            yield Unit(name, what, results)


def _prepare(entry: Entry, units: list[Unit], folder: Path) -> dict[str, Any]:
    for unit in units:
        if way(unit.way).version() is None:
            unit.fail("missing", "not installed")
    wanted = [unit for unit in units if unit.is_well]
    tasks = sorted({result.task for unit in wanted for result in unit.results})
    names = [[unit.way, unit.what] for unit in wanted]
    job = {"step": "prepare", "benchmark": entry.benchmark.name, "size": entry.size, "folder": str(folder)}
    made = ask(job | {"tasks": tasks, "units": names}, PREPARATION) if wanted else {}
    for unit, answer in zip(wanted, made.get("units", [made] * len(wanted)), strict=True):
        if answer["status"] != "ok":
            unit.fail(answer["status"], answer["why"])
    return made


def _run_once(unit: Unit, folder: Path, timeout: float, made: dict[str, Any]) -> None:
    answer = ask({"step": "run", "way": unit.way, "what": unit.what, "folder": str(folder)}, timeout)
    if answer["status"] != "ok":
        unit.fail(answer["status"], answer["why"])
        return
    for result in unit.results:
        found = answer["tasks"].get(result.task) or answer["tasks"][unit.what]
        counts = _comparable(result.task, found["counts"], made["heads"])
        if found["differed"] or (result.counts and result.counts != counts):
            result.status, result.why = "wrong", "two runs gave different facts"
        result.counts = counts
        result.runs += found["runs"]
        _say(result)


def _comparable(task: str, counts: dict[str, int], heads: dict[str, list[str]]) -> dict[str, int]:
    """The counts that all ways have: of what the rules after the task derive, or the number of answers."""
    after = TASKS[task].after
    if after == "query":
        return {"answers": counts.get("answers", counts.get(ANSWER, -1))}
    return counts if after is None else {name: counts.get(name, 0) for name in heads[after]}


def _say(result: Result) -> None:
    line = ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in result.runs[-1]["seconds"].items())
    head = f"{result.benchmark} {result.size} {result.task} {result.way}"
    print(f"{head}: {line}; {result.facts:,} facts", file=sys.stderr, flush=True)


def _additions_from_scratch(entry: Entry, results: Sequence[Result]) -> Iterator[Result]:
    """An addition leads to the full state: from scratch it takes what the materialisation takes."""
    ours = next((r for r in results if (r.task, r.way) == ("materialise", OURS)), None)
    for task in dict(entry.tasks).get(SCRATCH, ()):
        if ours is not None and TASKS[task].after == "full" and task not in ONCE:
            yield Result(entry.benchmark.name, entry.size, task, SCRATCH, ours.status, ours.why, ours.runs, ours.counts)


def check_all(results: Sequence[Result], facts: int | None, loaded: int | None) -> None:
    """Mark wrong answers, task by task."""
    for task in dict.fromkeys(result.task for result in results):
        known = loaded if task == "load" else facts if TASKS[task].after == "full" else None
        check([result for result in results if result.task == task], known)


def check(results: Sequence[Result], facts: int | None) -> None:
    """Mark wrong answers: another number than the right one, where it is known; among the others the majority is right,
    and in a tie nobody is."""
    for result in results:
        if result.status == "ok" and facts is not None and result.facts != facts:
            result.status, result.why = "wrong", f"{result.facts:,} facts, and {facts:,} are right"
    finished = [result for result in results if result.status == "ok"]
    answers = [result.counts for result in finished]
    for result in finished:
        if answers.count(result.counts) * 2 <= len(answers):
            result.status, result.why = "wrong", f"others gave other facts: {_differences(result, finished)}"


def _differences(result: Result, others: Sequence[Result]) -> str:
    for other in others:
        for predicate, count in sorted(other.counts.items()):
            if result.counts.get(predicate) != count:
                return f"{predicate} {result.counts.get(predicate)} here, {count} in {other.way}"
    return ""


def machine() -> dict[str, Any]:
    """Where and when: what a reader needs to judge the figures."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def plan(options: Namespace) -> list[Entry]:
    """What is to be measured; UsageError when there is no such benchmark, size, way or task."""
    _known("benchmark", options.names, BENCHMARKS)
    _known("task", options.tasks, TASKS)
    _known("way", [name for name in options.ways if ":" not in name], ways())
    chosen = [BENCHMARKS[name] for name in options.names] or _default_set(options)
    entries = []
    for benchmark in chosen:
        _known(f"size of {benchmark.name}", options.sizes, benchmark.sizes)
        for size in options.sizes or _default_sizes(benchmark, options.full):
            entries.append(_entry(benchmark, size, options))
        if options.full and not options.sizes:
            alone = (OURS, ONCE)
            entries += [Entry(benchmark, size, (alone,)) for size in benchmark.growth]
    return entries


def _default_set(options: Namespace) -> list[Benchmark]:
    found = [b for b in BENCHMARKS.values() if (options.full or options.sizes or b.quick)]
    return [b for b in found if not options.sizes or any(size in b.sizes for size in options.sizes)]


def _default_sizes(benchmark: Benchmark, full: bool) -> list[str]:
    return ["full" if full or "small" not in benchmark.sizes else "small"]


def _entry(benchmark: Benchmark, size: str, options: Namespace) -> Entry:
    """Ways that were asked for do all tasks; otherwise peers only materialise, and Spark and settings of ours come
    only with --full."""
    tasks = benchmark.tasks if options.full or options.names or options.sizes else benchmark.quick
    tasks = tuple(t for t in options.tasks or tasks if t != "query" or benchmark.goal)
    if options.ways:
        return Entry(benchmark, size, tuple((name, tasks) for name in options.ways))
    peers = [name for name in benchmark.ways if "materialise" in tasks and (options.full or name != "spark")]
    settings = [(name, tasks) for name in benchmark.settings if options.full]
    once = [(name, ("materialise",)) for name in peers]
    return Entry(benchmark, size, ((OURS, tasks), (SCRATCH, tasks), *settings, *once))


def _known(kind: str, names: Sequence[str], known: Any) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"there is no {kind} {name!r}; there are {', '.join(known)}")


def results_of(options: Namespace) -> dict[str, Any]:
    """Measure everything that the options ask for. The file of results is there after every line of the plan: an hour
    that ends early has not been in vain."""
    entries, here = plan(options), machine()
    results: list[Result] = []
    until = time.monotonic() + options.budget
    with tempfile.TemporaryDirectory(prefix="deltalog-bench-") as temporary:
        for number, entry in enumerate(entries, 1):
            if time.monotonic() < until:
                print(f"[{number}/{len(entries)}] {entry.benchmark.name} {entry.size}", file=sys.stderr, flush=True)
                timeout = max(options.timeout, entry.benchmark.timeout or 0)
                results += measure(entry, options.repeat, timeout, Path(temporary))
            else:
                results += _skipped(entry, f"the budget of {options.budget:g} s was used up")
            if options.json:
                _write(options.json, _report(here, results))
    return _report(here, results)


def _report(here: dict[str, Any], results: Sequence[Result]) -> dict[str, Any]:
    used = list(dict.fromkeys(result.way for result in results))
    return {
        "machine": here,
        "versions": {name: way(name).version() for name in used},
        "measures": {name: way(name).measures for name in used},
        "results": list(map(asdict, results)),
    }


def _write(file: Path, report: dict[str, Any]) -> None:
    """The old file or the new one, never half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    part.write_text(json.dumps(report, indent=1) + "\n")
    part.replace(file)


def _skipped(entry: Entry, why: str) -> Iterator[Result]:
    for unit in _units(entry):
        unit.fail("skipped", why)
        yield from unit.results


def bench(options: Namespace) -> int:
    """The exit code: 1 when an answer was wrong, a way failed, or something got slower than in --compare."""
    from benchmarks.compare import compare, conclusion, read
    from benchmarks.report import markdown, write

    if options.list:
        print(listed())
        return 0
    old = read(options.compare) if options.compare else None
    report = results_of(options)
    print(markdown(report))
    if options.report:
        write(report, options.report)
    slower = compare(old, report) if old is not None else []
    for line in slower:
        print(f"slower: {line}")
    if old is not None:
        print(conclusion(old, report))
    return int(bool(slower) or any(r["status"] in ("wrong", "failed") for r in report["results"]))


def listed() -> str:
    """All that can be asked for, for people to read."""
    width = max(map(len, BENCHMARKS))
    lines = [f"{name:{width}}  {found.what}; sizes: {', '.join(found.sizes)}" for name, found in BENCHMARKS.items()]
    return "\n".join([*lines, "", f"tasks: {', '.join(TASKS)}", f"ways: {', '.join(ways())}"])


def main(words: Sequence[str] | None = None) -> int:
    from deltalog.apps.cli.bench import parser

    read = parser()
    options = read.parse_intermixed_args(words)
    try:
        return bench(options)
    except UsageError as error:
        read.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
