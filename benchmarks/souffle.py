"""A points-to analysis in Soufflé's language: `python -m benchmarks.souffle [--facts 100000] [--repeat 3]`.

A random object-oriented program (allocations, moves, fields, virtual calls) and the analysis that Doop made known:
subtyping, method look-up, a call graph on the fly, points-to sets of variables and fields. The same rules run as a
Soufflé program, which is read, preprocessed, checked and lowered, and in deltalog's own language, in turn, over the
same facts; the numbers of facts must agree. With `souffle` on the PATH, it runs the same files compiled.
Exit code 1 if evaluation takes more than 1.2 times as long, or results differ.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from random import Random

from deltalog import KnowledgeBase

RATIO = 1.2
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


def souffle_program() -> str:
    declared = [f".decl {name}({attributes})" for name, attributes in {**INPUTS, **DERIVED}.items()]
    inputs = [f".input {name}" for name in INPUTS]
    outputs = [f".printsize {name}" for name in DERIVED]
    return "\n".join([*declared, *inputs, *outputs, RULES])


def evaluated(program: Path, folder: Path) -> tuple[dict[str, int], float, float]:
    """The sizes of derived relations, and the seconds to read everything and to evaluate."""
    started = time.perf_counter()
    kb = KnowledgeBase(program)
    if kb.directives:
        kb.load_inputs(folder)
    else:
        kb.load(folder)
    read = time.perf_counter() - started
    report = kb.materialise()
    return {name: kb.count(name) for name in DERIVED}, read, report.seconds["evaluate"]


def measure(size: int, repeat: int) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "facts").mkdir()
        for relation, rows in generate(size).items():
            text = "".join("\t".join(row) + "\n" for row in rows)
            (folder / "facts" / f"{relation}.facts").write_text(text)
        ways = {"souffle": folder / "souffle.dl", "deltalog": folder / "own.dl"}
        ways["souffle"].write_text(souffle_program())
        ways["deltalog"].write_text(RULES)
        evaluated(ways["deltalog"], folder / "facts")  # kernels are compiled
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        sizes: dict[str, dict[str, int]] = {}
        for _ in range(repeat):
            for way, program in ways.items():
                sizes[way], read, evaluation = evaluated(program, folder / "facts")
                times[way].append((read, evaluation))
        best = {way: [min(column) for column in zip(*rows, strict=True)] for way, rows in times.items()}
        for way, (read, evaluation) in best.items():
            print(f"{way:10} {sum(sizes[way].values()):>10,} facts  read {read:.3f} s  evaluate {evaluation:.3f} s")
        _peer(folder)
        ratio = best["souffle"][1] / best["deltalog"][1]
        print(f"evaluation of the Soufflé program: {ratio:.2f} times the same rules of our own")
        return sizes["souffle"] == sizes["deltalog"] and ratio <= RATIO


def _peer(folder: Path) -> None:
    """Compiled Soufflé, if there is one."""
    if shutil.which("souffle") is None:
        print("souffle    is not on the PATH", file=sys.stderr)
        return
    binary = folder / "compiled"
    subprocess.run(["souffle", "-o", binary, folder / "souffle.dl"], check=True)
    started = time.perf_counter()
    subprocess.run([binary, "-F", folder / "facts", "-D", folder], check=True, stdout=subprocess.DEVNULL)
    print(f"compiled Soufflé: {time.perf_counter() - started:.3f} s, reading included")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measures a points-to analysis in two languages.")
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    return 0 if measure(options.facts, options.repeat) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
