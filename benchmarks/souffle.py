"""A points-to analysis in Soufflé's language: `python -m benchmarks.souffle [--facts 100000] [--shape deep]`.

A random object-oriented program (allocations, moves, fields, virtual calls) and the analysis that Doop made known:
subtyping, method look-up, a call graph on the fly, points-to sets of variables and fields. The same rules run as a
Soufflé program, which is read, preprocessed, checked and lowered, and in deltalog's own language, over the same facts.
With `souffle` on the PATH, it runs the same files compiled. Otherwise, with g++ and Abseil, a stand-in does: a C++
program of our own, in the way in which Soufflé compiles these rules (`peers/points_to.cpp`), with each join order.

All run in turn, and medians are printed; DELTALOG_KERNELS=compile compiles all kernels in a first run. Exit code 1 if
sizes of derived relations differ, if the Soufflé program takes more than 1.2 times as long to evaluate as our own, or
that more than 1.5 times as long as the best peer.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.peers import points_to
from deltalog import KnowledgeBase
from deltalog.knowledge_base.calls import session_of

RATIO = 1.2  # of the Soufflé program and the same rules of our own
PEER_RATIO = 1.5  # of our rules and the best peer
TIMEOUT = 300  # seconds for a run of the stand-in
SOUFFLE_TEXT, OWN_TEXT, ONE_THREAD = "deltalog, Soufflé's text", "deltalog", "deltalog, one thread"
INPUTS = {
    "allocation": "var : symbol, heap : symbol, method : symbol",
    "move": "to : symbol, from : symbol",
    "load": "to : symbol, base : symbol, field : symbol",
    "store": "base : symbol, field : symbol, from : symbol",
    "virtualCall": "base : symbol, signature : symbol, invocation : symbol, method : symbol",
    "heapType": "heap : symbol, type : symbol",
    "declares": "type : symbol, signature : symbol, method : symbol",
    "extends": "type : symbol, super : symbol",
    "formal": "method : symbol, n : number, var : symbol",
    "actual": "invocation : symbol, n : number, var : symbol",
    "this": "method : symbol, var : symbol",
    "entry": "method : symbol",
}
DERIVED = {
    "lookup": "type : symbol, signature : symbol, method : symbol",
    "reachable": "method : symbol",
    "callGraph": "invocation : symbol, method : symbol",
    "points": "var : symbol, heap : symbol",
    "fieldPoints": "base : symbol, field : symbol, heap : symbol",
    "assign": "to : symbol, from : symbol",
}
RULES = """
lookup(T, S, M) :- declares(T, S, M).
lookup(T, S, M) :- extends(T, U), lookup(U, S, M), !declares(T, S, _).
reachable(M) :- entry(M).
points(V, H) :- reachable(M), allocation(V, H, M).
points(V, H) :- assign(V, W), points(W, H).
assign(V, W) :- move(V, W).
assign(V, W) :- callGraph(I, M), formal(M, N, V), actual(I, N, W).
points(V, H) :- load(V, B, F), points(B, G), fieldPoints(G, F, H).
fieldPoints(G, F, H) :- store(B, F, V), points(B, G), points(V, H).
callGraph(I, M), reachable(M), points(V, H) :-
    virtualCall(B, S, I, C), reachable(C), points(B, H), heapType(H, T), lookup(T, S, M), this(M, V).
"""


def generate(size: int, seed: int = 0) -> dict[str, list[tuple[str, ...]]]:
    """Facts of a random program of about this many facts."""
    random = Random(seed)
    types, methods = max(size // 60, 10), max(size // 25, 20)
    signatures = [f"s{i}" for i in range(max(methods // 100, 5))]
    facts: dict[str, list[tuple[str, ...]]] = {name: [] for name in INPUTS}
    facts["extends"] = [(f"T{i}", f"T{random.randrange(i)}") for i in range(1, types)]
    for m in range(methods):
        facts["declares"].append((f"T{random.randrange(types)}", random.choice(signatures), f"m{m}"))
        facts["this"].append((f"m{m}", f"m{m}/v0"))
        facts["formal"].append((f"m{m}", "1", f"m{m}/v1"))
    facts["entry"] = [(f"m{m}",) for m in range(0, methods, 2)]
    while sum(map(len, facts.values())) < size:
        m = random.randrange(methods)
        later, earlier = sorted(random.sample(range(12), 2), reverse=True)
        one, two = f"m{m}/v{later}", f"m{m}/v{earlier}"
        field = f"f{random.randrange(max(size // 1000, 10))}"
        match random.choices(("allocation", "move", "load", "store", "call"), (40, 30, 8, 8, 14))[0]:
            case "allocation":
                heap = f"h{len(facts['heapType'])}"
                facts["heapType"].append((heap, f"T{random.randrange(types)}"))
                facts["allocation"].append((one, heap, f"m{m}"))
            case "move":
                facts["move"].append((one, two))
            case "load":
                facts["load"].append((one, two, field))
            case "store":
                facts["store"].append((one, field, two))
            case "call":
                call = f"i{len(facts['virtualCall'])}"
                facts["virtualCall"].append((one, random.choice(signatures), call, f"m{m}"))
                facts["actual"].append((call, "1", two))
    return facts


def generate_deep(size: int, seed: int = 0) -> dict[str, list[tuple[str, ...]]]:
    """Facts of about this many, in packages whose variables point to most of the objects of their package.

    A package is a chain of assignments with short cuts, back and forth, and few fields, which all objects share. So
    most of the work is in the recursion, and there are many times as many facts as given ones.
    """
    random = Random(seed)
    facts: dict[str, list[tuple[str, ...]]] = {name: [] for name in INPUTS}
    package = 0
    while sum(map(len, facts.values())) < size:
        _deep_package(package, random, facts)
        package += 1
    return facts


def _deep_package(p: int, random: Random, facts: dict[str, list[tuple[str, ...]]]) -> None:
    types = [f"p{p}/T{i}" for i in range(20)]
    facts["extends"] += [(types[i], types[random.randrange(i)]) for i in range(1, len(types))]
    methods, variables = [f"p{p}/m{m}" for m in range(10)], [f"p{p}/v{v}" for v in range(400)]
    facts["entry"].append((methods[0],))
    facts["entry"] += [(method,) for method in methods[1:] if random.random() < 0.8]
    for m, method in enumerate(methods):
        facts["declares"].append((random.choice(types), f"s{m % 3}", method))
        facts["this"].append((method, variables[40 * m]))
        facts["formal"].append((method, "1", variables[40 * m + 1]))
    facts["move"] += [(later, earlier) for earlier, later in pairwise(variables)]
    facts["move"] += [(random.choice(variables), random.choice(variables)) for _ in range(40)]
    for a in range(60):
        heap = f"p{p}/h{a}"
        facts["heapType"].append((heap, random.choice(types)))
        facts["allocation"].append((random.choice(variables), heap, random.choice(methods)))
    for _ in range(20):
        base, other, field = random.choice(variables), random.choice(variables), f"f{random.randrange(3)}"
        facts["load"].append((other, base, field))
        base, other, field = random.choice(variables), random.choice(variables), f"f{random.randrange(3)}"
        facts["store"].append((base, field, other))
    for _ in range(20):
        call = f"i{len(facts['virtualCall'])}"
        facts["virtualCall"].append((random.choice(variables), f"s{random.randrange(3)}", call, random.choice(methods)))
        facts["actual"].append((call, "1", random.choice(variables)))


SHAPES = {"random": generate, "deep": generate_deep}


def souffle_program() -> str:
    declared = [f".decl {name}({attributes})" for name, attributes in {**INPUTS, **DERIVED}.items()]
    inputs = [f".input {name}" for name in INPUTS]
    outputs = [f".printsize {name}" for name in DERIVED]
    return "\n".join([*declared, *inputs, *outputs, RULES])


@dataclass(frozen=True)
class Measured:
    """Seconds to read and to evaluate (None: included in `read`), CPU seconds of all threads to evaluate (ours:
    to plan, too), and sizes of derived relations."""

    read: float
    evaluate: float | None
    cpu: float
    sizes: dict[str, int]


Way = Callable[[], Measured | None]  # None: it took too long


def evaluated(program: Path, folder: Path, threads: int | None = None) -> Measured:
    started = time.perf_counter()
    kb = KnowledgeBase(program, threads=threads)
    if any(file.kind == "input" for file in session_of(kb).document.files):
        kb.load_inputs(folder)
    else:
        kb.load(folder)
    read = time.perf_counter() - started
    before = time.process_time()
    report = kb.materialise()
    cpu = time.process_time() - before
    return Measured(read, report.seconds["evaluate"], cpu, {name: kb.count(name) for name in DERIVED})


def our_ways(folder: Path) -> dict[str, Way]:
    """The Soufflé program, and the same rules in our own language, also on one thread."""
    souffle, own, facts = folder / "souffle.dl", folder / "own.dl", folder / "facts"
    souffle.write_text(souffle_program())
    own.write_text(RULES)
    return {
        SOUFFLE_TEXT: lambda: evaluated(souffle, facts),
        OWN_TEXT: lambda: evaluated(own, facts),
        ONE_THREAD: lambda: evaluated(own, facts, 1),
    }


def peer_ways(folder: Path, orders: Sequence[str]) -> dict[str, Way]:
    """Compiled Soufflé, or else the stand-in for it, if they are there."""
    if shutil.which("souffle") is not None:
        binary = folder / "compiled"
        subprocess.run(["souffle", "-o", binary, folder / "souffle.dl"], check=True)
        return {"compiled Soufflé": lambda: _run_souffle(binary, folder)}
    print("souffle is not on the PATH", file=sys.stderr)
    if (lacking := points_to.missing()) is not None:
        print(f"the stand-in for it needs {lacking}", file=sys.stderr)
        return {}
    binary = points_to.build(folder)
    return {f"stand-in, {order}": partial(_run_stand_in, binary, folder / "facts", order) for order in orders}


def _run_souffle(binary: Path, folder: Path) -> Measured:
    """The whole process: it does not tell reading from evaluating."""
    started = time.perf_counter()
    command = [binary, "-F", folder / "facts", "-D", folder]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    total = time.perf_counter() - started
    lines = (line.split("\t") for line in printed.splitlines() if "\t" in line)
    return Measured(total, None, 0.0, {name: int(size) for name, size in lines})


def _run_stand_in(binary: Path, facts: Path, order: str) -> Measured | None:
    found = points_to.run(binary, facts, order, TIMEOUT)
    return None if found is None else Measured(found["read"], found["evaluate"], found["cpu"], found["sizes"])


def alternated(ways: dict[str, Way], repeat: int) -> dict[str, list[Measured]]:
    """The runs of all ways in turn, after one of our own that compiles kernels. A way that took too long is not run
    again."""
    ways[OWN_TEXT]()
    runs: dict[str, list[Measured]] = {way: [] for way in ways}
    for _ in range(repeat):
        for way in list(runs):
            found = ways[way]()
            if found is not None:
                runs[way].append(found)
            else:
                del runs[way]
                print(f"{way:24} more than {TIMEOUT} s")
    return runs


def measure(shape: str, size: int, seed: int, repeat: int, orders: Sequence[str]) -> bool:
    """Prints medians and ratios for one set of facts. Whether results agree, and no ratio is too large."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "facts").mkdir()
        facts = SHAPES[shape](size, seed)
        for relation, rows in facts.items():
            text = "".join("\t".join(row) + "\n" for row in rows)
            (folder / "facts" / f"{relation}.facts").write_text(text)
        print(f"{shape}, seed {seed}: {sum(map(len, facts.values())):,} facts")
        ours = our_ways(folder)
        runs = alternated({**ours, **peer_ways(folder, orders)}, repeat)
    for way, found in runs.items():
        print(f"{way:24} {sum(found[0].sizes.values()):>10,} derived  {_shown(found)}")
    agree = all(run.sizes == runs[OWN_TEXT][0].sizes for found in runs.values() for run in found)
    if not agree:
        print("the sizes of derived relations differ")
    return agree and _within_ratios(runs, [way for way in runs if way not in ours])


def _shown(found: list[Measured]) -> str:
    read = median(run.read for run in found)
    if found[0].evaluate is None:
        return f"read and evaluate {read:.3f} s"
    return f"read {read:.3f} s  evaluate {_seconds(found):.3f} s, CPU {_cpu(found):.3f} s"


def _seconds(found: list[Measured], total: bool = False) -> float:
    """The median to evaluate; of reading and evaluating together, where only that is known."""
    total = total or found[0].evaluate is None
    return median((run.read if total else 0.0) + (run.evaluate or 0.0) for run in found)


def _cpu(found: list[Measured]) -> float:
    return median(run.cpu for run in found)


def _within_ratios(runs: dict[str, list[Measured]], peers: list[str]) -> bool:
    ratio = _seconds(runs[SOUFFLE_TEXT]) / _seconds(runs[OWN_TEXT])
    print(f"evaluation of the Soufflé program: {ratio:.2f} times the same rules of our own")
    if not peers:
        return ratio <= RATIO
    best = min(peers, key=lambda peer: _seconds(runs[peer]))
    total = runs[best][0].evaluate is None
    against = {way: _seconds(runs[way], total) / _seconds(runs[best]) for way in (OWN_TEXT, ONE_THREAD)}
    print(f"against {best}: {against[OWN_TEXT]:.2f} times, on one thread {against[ONE_THREAD]:.2f} times")
    if not total:
        least = min(_cpu(runs[peer]) for peer in peers)
        print(f"CPU: {' and '.join(f'{_cpu(runs[way]) / least:.2f}' for way in against)} times")
    return ratio <= RATIO and against[OWN_TEXT] <= PEER_RATIO


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measures a points-to analysis in two languages, and against Soufflé.")
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--shape", choices=SHAPES, default="random")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--orders", choices=points_to.ORDERS, nargs="+", default=points_to.ORDERS)
    options = parser.parse_args(arguments)
    within = [measure(options.shape, options.facts, seed, options.repeat, options.orders) for seed in options.seeds]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
