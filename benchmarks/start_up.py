"""How long a command takes to start: CPU seconds and peak memory of small runs, with empty and with filled caches.

    python -m benchmarks.start_up [--repeat 3]

CPU seconds vary less than elapsed time on a machine that does other things, too; compare them with those of
`import numpy` in the same run. Caches are those of Numba (`NUMBA_CACHE_DIR`), which are empty where it says so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DELTALOG = [sys.executable, "-m", "deltalog"]
TWO = "edge(a, b). edge(b, c).\npath(X, Y) :- edge(X, Y).\npath(X, Z) :- path(X, Y), edge(Y, Z).\n"
COUNTER = "n(0). n(Y) :- n(X), BIND(X+1 AS Y), FILTER(Y <= 20000).\n"
JOINS = "far(X, Z) :- edge(X, Y), edge(Y, Z).\ntriangle(X, Y, Z) :- edge(X, Y), edge(Y, Z), edge(Z, X).\n"


def commands(folder: Path) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """What is measured: a name, a command, and variables of its environment."""
    for name, text in (("two", TWO), ("counter", COUNTER), ("joins", JOINS)):
        (folder / f"{name}.dl").write_text(text)
    for rows in (3_000, 300_000):
        place = folder / str(rows)
        place.mkdir()
        (place / "edge.csv").write_text("".join(f"a{i % 997},b{i * 7 % rows}\n" for i in range(rows)))
    empty = {"NUMBA_CACHE_DIR": str(folder / "empty")}
    university = ["examples/university/rules.dlog", "--data", "examples/university/data.ttl"]
    yield "import numpy", [sys.executable, "-c", "import numpy"], {}
    yield "deltalog --version", [*DELTALOG, "--version"], {}
    yield "two facts", [*DELTALOG, "run", str(folder / "two.dl")], {}
    yield "two facts, all compiled", [*DELTALOG, "run", str(folder / "two.dl")], {"DELTALOG_KERNELS": "compile"}
    yield "university, empty cache", [*DELTALOG, "run", *university], empty
    yield (
        "20,000 rounds, interpreted",
        [*DELTALOG, "run", str(folder / "counter.dl")],
        {"DELTALOG_KERNELS": "interpret"},
    )
    yield "20,000 rounds", [*DELTALOG, "run", str(folder / "counter.dl")], {}
    for rows in (3_000, 300_000):
        run = [*DELTALOG, "run", str(folder / "joins.dl"), "--data", str(folder / str(rows))]
        yield f"joins of {rows:,} facts, empty cache", run, empty
        yield f"joins of {rows:,} facts", run, {}


def measured(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a command."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each command; the fastest counts")
    repeat = parser.parse_args().repeat
    print("| command | CPU seconds | peak MB |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, command, environment in commands(Path(folder)):
            times = 1 if "empty" in name else repeat
            seconds, megabytes = min(measured(command, environment) for _ in range(times))
            print(f"| {name} | {seconds:.2f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
