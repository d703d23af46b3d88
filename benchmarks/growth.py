"""Cyclic rules three ways, over data that grow: `python -m benchmarks.growth [DATA ...] [--json FILE] [--table FILE]`.

DATA is a benchmark and a size:

    motivating:NxK               companies and things of each           motivating:100x300
    exp:EXPRESSIONSxVALUES       Zhang et al. has 300 of 300               exp:60x1500
    yago:NODESxEDGES             a labelled graph                       yago:10000x100000
    lubm_lc:N, lubm_l:N          universities                           lubm_lc:10

For each: the materialisation, 1,000 random facts out and in again (100, of less than 100,000), and 25 % of the facts
out; `standard`, `hypertree` and `combined`, each in a process of its own, one after the other. Figures are seconds of
processor time (all threads), so that other work on the machine does little to them, planning included, loading not. The
small changes are the best of several, the others are done once or, what is short, three times. Memory is the peak of
the process after the materialisation, and the bytes of the tables that only trees have. After each task all ways must
have the same number of facts; if not, the exit code is 1.

`--parts materialise` leaves out the changes. `--ways` takes names from WAYS. Among them is `unreduced`: combined, but
nodes keep instantiations that nothing below them joins with, too. The standard way joins atom by atom, without
multiway joins, in the order of least estimated rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import datasets, states
from benchmarks.ours import Deltalog, _compiled, _rows
from benchmarks.peers.base import family_peak
from benchmarks.registry import BENCHMARKS
from deltalog.knowledge_base.calls import session_of

ROOT = Path(__file__).parents[1]
MAKERS: dict[str, Callable[..., None]] = {
    "motivating": datasets.motivating,
    "exp": datasets.expressions,
    "yago": datasets.labelled,
    "lubm_lc": datasets.lubm,
    "lubm_l": datasets.lubm,
}
DATA = (
    "motivating:100x300",
    "exp:300x300",
    "exp:60x1500",
    "exp:85x2100",
    "yago:10000x50000",
    "yago:10000x70000",
    "yago:10000x80000",
    "yago:10000x90000",
    "yago:10000x100000",
    "lubm_lc:10",
    "lubm_l:10",
)
WAYS = ("standard", "hypertree", "combined", "unreduced")
TASKS = ("materialise", "small deletion", "small addition", "large deletion")
PARTS = ("materialise", "small", "large")
SMALL_TIMES, LONG = 5, 1.0


# One way, in a process of its own.


def measured(folder: Path, way: str, parts: Sequence[str]) -> dict[str, Any]:
    """The tasks over a folder of states."""
    if way == "unreduced":
        keep_all_instantiations()
    ours = Deltalog(way, cyclic="combined" if way == "unreduced" else way)
    ours.warm("small", folder, folder / f"warm-{way}")
    return _compiled(lambda: session(ours, folder, parts))


def session(ours: Deltalog, folder: Path, parts: Sequence[str]) -> dict[str, Any]:
    kb = ours._empty(folder / "program.dl")
    kb.load(*sorted((folder / "full").iterdir()))
    loaded, cpu = family_peak(), seconds(kb.materialise)
    peak = family_peak()
    found = {"materialise": cpu, "facts": [kb.report.facts_total], "loaded": loaded, "peak": peak, "hidden": hidden(kb)}
    while cpu < LONG and len(found.setdefault("all", [])) < 2:  # type: ignore[arg-type]
        again = ours._empty(folder / "program.dl")
        again.load(*sorted((folder / "full").iterdir()))
        found["all"].append(seconds(again.materialise))  # type: ignore[attr-defined]
    found["materialise"] = min([cpu, *found.pop("all", [])])  # type: ignore[misc]
    if "small" in parts:
        rows, out, back = _rows(folder / "small"), [], []
        for _ in range(SMALL_TIMES):
            out.append(seconds(lambda: kb.update(remove=rows)))
            less = kb.report.facts_total
            back.append(seconds(lambda: kb.update(add=rows)))
        found |= {"small deletion": min(out), "small addition": min(back)}
        found["facts"] += [less, kb.report.facts_total]  # type: ignore[operator]
    if "large" in parts:
        rows = _rows(folder / "large")
        found["large deletion"] = seconds(lambda: kb.update(remove=rows))
        found["facts"] += [kb.report.facts_total]  # type: ignore[operator]
    return found


def seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def hidden(kb: Any) -> dict[str, int]:
    """Rows and bytes of the tables that only trees have."""
    tables = [
        table
        for (pred, _), table in session_of(kb).state.materialised.relations.parts.items()
        if pred.name.startswith("#")
    ]
    return {"rows": sum(table.size for table in tables), "bytes": sum(table.nbytes for table in tables)}


def keep_all_instantiations() -> None:
    from deltalog.evaluation.plan.hypertree import choose

    choose.rewritten = partial(_unreduced, choose.rewritten)  # type: ignore[assignment]


def _unreduced(rewritten: Callable[..., Any], rule: Any, root: Any, values: Any, reduced: bool) -> Any:
    return rewritten(rule, root, values)


# All of them.


def prepared(data: str, folder: Path) -> None:
    name, size = data.split(":")
    (folder / "full").mkdir()
    MAKERS[name](*map(int, size.split("x")), folder / "full")
    benchmark = BENCHMARKS[name]
    states.write(folder, benchmark.program_path(), benchmark.rule, None, {"minus_small", "minus_large"})


def rows(data: Sequence[str], ways: Sequence[str], parts: Sequence[str], timeout: float) -> Iterator[dict[str, Any]]:
    for name in data:
        with tempfile.TemporaryDirectory() as folder:
            prepared(name, Path(folder))
            for way in ways:
                row = {"data": name, "way": way, **asked(Path(folder), way, parts, timeout)}
                print(line(row), file=sys.stderr, flush=True)
                yield row


def asked(folder: Path, way: str, parts: Sequence[str], timeout: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.growth", "--one", str(folder), "--ways", way, "--parts", *parts]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {"why": f"more than {timeout:g} s"}
    if done.returncode:
        return {"why": (done.stderr.strip().splitlines() or ["failed"])[-1][:200]}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


# The table.


def line(row: dict[str, Any], base: dict[str, Any] | None = None) -> str:
    cells = [row["data"], row["way"]]
    if "why" in row:
        return "| " + " | ".join([*cells, row["why"], *[""] * (len(TASKS) + 1)]) + " |"
    cells += [_cell(task, row, base) for task in TASKS]
    cells += [f"{row['peak'] / 1e6:,.0f}", f"{row['hidden']['bytes'] / 1e6:,.1f} ({row['hidden']['rows']:,})"]
    return "| " + " | ".join(cells) + " |"


def _cell(task: str, row: dict[str, Any], base: dict[str, Any] | None) -> str:
    if task not in row:
        return ""
    ratio = f" ({base[task] / row[task]:.1f} x)" if base and task in base and base is not row else ""
    return f"{row[task]:.4f}{ratio}" if row[task] < 1 else f"{row[task]:.2f}{ratio}"


def table(found: Sequence[dict[str, Any]]) -> str:
    """In brackets: how many times longer the first way takes."""
    head = ["data", "way", *TASKS, "peak MB", "MB (rows) of trees"]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " ---: |" * (len(head) - 2)]
    firsts: dict[str, dict[str, Any]] = {}
    for row in found:
        lines.append(line(row, firsts.setdefault(row["data"], row)))
    return "\n".join(lines) + "\n"


def different(found: Sequence[dict[str, Any]]) -> list[str]:
    """The data for which the ways have different numbers of facts."""
    counts: dict[str, set[tuple[int, ...]]] = {}
    for row in found:
        if "facts" in row:
            counts.setdefault(row["data"], set()).add(tuple(row["facts"]))
    return [data for data, numbers in counts.items() if len(numbers) > 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", nargs="*", default=list(DATA), help="benchmark:size; a set of them, if none is named")
    parser.add_argument("--ways", default="standard,hypertree,combined", help="with commas; the first is the base")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for a way")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one, options.ways, options.parts)))
        return
    found = list(rows(options.data, options.ways.split(","), options.parts, options.timeout))
    print(table(found), end="")
    if options.table:
        options.table.write_text(table(found), "utf-8")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if wrong := different(found):
        raise SystemExit(f"different numbers of facts: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
