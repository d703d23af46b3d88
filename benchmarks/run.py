"""Run benchmarks: `python -m benchmarks.run tc_linear same_generation --repeat 3 --json out.json`.

Each measurement is a process of its own, ended when its time is up. A benchmark's ways take turns (way 1, way 2, ...,
way 1, way 2, ...), so that a busy minute of the machine does not hit one of them alone. All ways must give the same
number of facts for each predicate, and the right number where it is known: a wrong answer is a failure, however fast,
and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import way, ways
from benchmarks.registry import BENCHMARKS, Benchmark
from benchmarks.report import markdown

ROOT = Path(__file__).parents[1]


@dataclass
class Result:
    """One benchmark, size and way. Status: ok, wrong, cannot, missing, timeout or failed; `why` when not ok."""

    benchmark: str
    size: str
    way: str
    status: str = "ok"
    why: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> int:
        return sum(self.counts.values())


def ask(job: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Do a step in a process of its own; its answer, with the wall time of the process."""
    command = [sys.executable, "-m", "benchmarks.measure", json.dumps(job)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    started = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "why": f"more than {timeout:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"status": "failed", "why": f"exit code {done.returncode}: {last[:200]}"}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer | {"process": time.perf_counter() - started}


def measure(
    benchmark: Benchmark, size: str, names: Sequence[str], repeat: int, timeout: float, work: Path
) -> list[Result]:
    """All ways of one benchmark and size."""
    results = [Result(benchmark.name, size, name) for name in names]
    folder = work / f"{benchmark.name}-{size}"
    shutil.rmtree(folder, ignore_errors=True)
    made = ask({"step": "data", "benchmark": benchmark.name, "size": size, "data": str(folder / "data")}, timeout)
    for result in results:
        _prepare(result, benchmark, made, folder / result.way.replace(":", "."), timeout)
    for _ in range(repeat):
        for result in results:
            if result.status == "ok":
                _run_once(result, folder / result.way.replace(":", "."), timeout)
    check(results, benchmark.sizes[size].facts)
    shutil.rmtree(folder, ignore_errors=True)
    return results


def _prepare(result: Result, benchmark: Benchmark, made: dict[str, Any], folder: Path, timeout: float) -> None:
    if way(result.way).version() is None:
        made = {"status": "missing", "why": "not installed"}
    if made["status"] == "ok":
        job = {"step": "prepare", "way": result.way, "program": str(benchmark.program), "files": made["files"]}
        made = ask(job | {"folder": str(folder)}, timeout)
    result.status, result.why = made["status"], made.get("why", "")


def _run_once(result: Result, folder: Path, timeout: float) -> None:
    answer = ask({"step": "run", "way": result.way, "folder": str(folder)}, timeout)
    result.status, result.why = answer["status"], answer.get("why", "")
    if result.status != "ok":
        return
    if result.counts and result.counts != answer["counts"]:
        result.status, result.why = "wrong", "two runs gave different facts"
    result.counts = answer.pop("counts")
    result.runs.append({key: answer[key] for key in ("seconds", "peak_memory", "process")})
    line = ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in answer["seconds"].items())
    print(f"{result.benchmark} {result.size} {result.way}: {line}; {result.facts:,} facts", file=sys.stderr, flush=True)


def check(results: Sequence[Result], facts: int | None) -> None:
    """Mark wrong answers. Where the right number is not known, the majority is right, and in a tie nobody is."""
    finished = [result for result in results if result.status == "ok"]
    answers = [result.counts for result in finished]
    for result in finished:
        alike = answers.count(result.counts)
        if facts is not None and result.facts != facts:
            result.status, result.why = "wrong", f"{result.facts:,} facts, and {facts:,} are right"
        elif facts is None and alike * 2 <= len(answers):
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
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"benchmarks (default: all of {', '.join(BENCHMARKS)})")
    parser.add_argument("--size", default="full", help="small, full, or a size of the benchmark (default: full)")
    parser.add_argument("--ways", help="ways, with commas (default: deltalog and all peers)")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each measurement")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--markdown", type=Path, help="write the table here (it is printed in any case)")
    parser.add_argument("--work", type=Path, help="a folder for data and translations (default: a temporary one)")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    options.names = options.names or [n for n, b in BENCHMARKS.items() if options.size in b.sizes]
    for name in options.names:
        if options.size not in BENCHMARKS[name].sizes:
            parser.error(f"{name} has no size {options.size!r}; it has {', '.join(BENCHMARKS[name].sizes)}")
    options.ways = options.ways.split(",") if options.ways else None
    for name in options.ways or ():
        if ":" not in name and name not in ways():
            parser.error(f"there is no way {name!r}; there are {', '.join(ways())}")
    return options


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 1 when an answer was wrong or a way failed."""
    options = arguments(words)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="deltalog-bench-") as temporary:
        for benchmark in map(BENCHMARKS.__getitem__, options.names):
            chosen = options.ways or benchmark.ways or [name for name in ways() if name != "deltalog-naive"]
            work = options.work or Path(temporary)
            results += measure(benchmark, options.size, chosen, options.repeat, options.timeout, work)
    used = list(dict.fromkeys(result.way for result in results))
    versions = {name: way(name).version() for name in used}
    measures = {name: way(name).measures for name in used}
    report = {"machine": machine(), "versions": versions, "measures": measures, "results": list(map(asdict, results))}
    text = markdown(report)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text + "\n")
    return int(any(result.status in ("wrong", "failed") for result in results))


if __name__ == "__main__":
    sys.exit(main())
