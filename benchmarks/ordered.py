"""Records and relations in order, in Soufflé's language: `python -m benchmarks.ordered [NAME ...] [--facts 100000]`.

    queens     boards of 8 queens as lists, each joined from two that agree in all queens but their last ones
    tree       a spanning tree by choice-domain, over a random graph
    matching   pairs by choice-domain on both sides, of two million candidates
    chain      choice-domain in as many rounds as facts, a tenth of the facts
    numbers    autoinc() over all facts
    levels     recursive_iteration_cnt() over a random graph

Each runs in a process of its own, with compiled kernels. Exit code 1 if a number of facts is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from random import Random

from deltalog import KnowledgeBase

QUEENS = """
.type Square = [column : number, row : number]
.type Board = [last : Square, others : Board]
.decl line(i : number)
line(i) :- i = range(1, 9).
.decl square(s : Square)
square([c, r]) :- line(c), line(r).
.decl apart(s : Square, t : Square)
apart(s, t) :- square(s), square(t), s = [c, r], t = [d, q], c > d, r != q, c - d != r - q, c - d != q - r.
.decl board(b : Board, queens : number)
board([s, nil], 1) :- square(s).
board([s, [t, others]], n + 1) :- apart(s, t), board([s, others], n), board([t, others], n).
.decl found(b : Board)
found(b) :- board(b, 8).
"""
EDGES = ".decl edge(x : number, y : number)\n"
TREE = """
.decl found(x : number, y : number) choice-domain y
found(0, 0).
found(x, y) :- found(_, x), edge(x, y).
"""
MATCHING = """
.decl found(x : number, y : number) choice-domain x, y
found(x, y) :- edge(x, z), edge(y, w), w = z + 1, x != y, z < 5000.
"""
CHAIN = """
.decl found(x : number, y : number) choice-domain y
found(0, 0).
found(x, y) :- found(r, 0), found(_, x), edge(x, y), !edge(y, r).
"""
NUMBERS = """
.decl found(x : number, y : number, n : number)
found(x, y, autoinc()) :- edge(x, y).
"""
LEVELS = """
.decl found(x : number, n : unsigned) choice-domain x
found(0, 0).
found(y, recursive_iteration_cnt()) :- found(x, _), edge(x, y).
"""
PROGRAMS = {
    "queens": QUEENS,
    "tree": EDGES + TREE,
    "matching": EDGES + MATCHING,
    "chain": EDGES + CHAIN,
    "numbers": EDGES + NUMBERS,
    "levels": EDGES + LEVELS,
}


def edges(name: str, size: int) -> list[tuple[int, int]]:
    random = Random(0)
    if name == "chain":
        return [(i, i + 1) for i in range(size // 10)]
    nodes = size // 20 if name == "matching" else size // 2
    return sorted({(random.randrange(nodes), random.randrange(nodes)) for _ in range(size)})


def reached(given: list[tuple[int, int]]) -> int:
    """The number of nodes that can be reached from 0."""
    successors: dict[int, list[int]] = {}
    for x, y in given:
        successors.setdefault(x, []).append(y)
    found, waiting = {0}, [0]
    while waiting:
        new = [y for y in successors.get(waiting.pop(), ()) if y not in found]
        found.update(new)
        waiting += new
    return len(found)


def expected(name: str, given: list[tuple[int, int]]) -> int | None:
    """The number of facts, where it does not depend on what is chosen."""
    if name in ("tree", "chain", "levels"):
        return reached(given)
    return {"queens": 92, "numbers": len(given)}.get(name)


def measure(name: str, size: int) -> None:
    """Prints facts, seconds and megabytes as JSON."""
    given = [] if name == "queens" else edges(name, size)
    kb = KnowledgeBase(PROGRAMS[name], language="souffle")
    if given:
        kb.add("edge", given)
    started = time.perf_counter()
    kb.materialise()
    seconds = time.perf_counter() - started
    facts, wanted = kb.count("found"), expected(name, given)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"facts": facts, "right": wanted in (facts, None), "seconds": seconds, "memory": memory}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[[], *PROGRAMS])
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        return measure(options.names[0], options.facts)
    right = True
    for name in options.names or PROGRAMS:
        command = [sys.executable, "-m", "benchmarks.ordered", name, "--in-process", "--facts", str(options.facts)]
        environment = {**os.environ, "DELTALOG_KERNELS": "compile"}
        runs = [json.loads(subprocess.check_output(command, env=environment)) for _ in range(options.repeat)]
        best = min(runs, key=lambda run: run["seconds"])
        right &= all(run["right"] for run in runs)
        print(f"{name:10} {best['facts']:>9,} facts  {best['seconds']:8.2f} s  {best['memory']:>6,} MB", flush=True)
    sys.exit(not right)


if __name__ == "__main__":
    main()
