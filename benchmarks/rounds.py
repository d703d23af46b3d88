"""Programs of many small rounds: `python -m benchmarks.rounds [recursions] [changes] [goals] [thresholds]`.

    recursions   counters and chains of `--rounds` rounds, materialised: fact by fact, by sets (of a tenth of the
                 rounds, unless `--all`), and by clingo, where it is installed and has the functions
    changes      an edge that closes a chain, and one that opens it again
    goals        reachability from one end of a chain, by magic sets
    thresholds   rounds over 1 to 4,096 facts each, fact by fact and by sets: where `rounds_max_new_facts` comes from

Figures are seconds of processor time (all threads) without loading, the best of `--times`; for clingo, grounding and
solving. Wrong numbers of facts end it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning

NEVER, ALWAYS = 0, 1 << 20
Edges = list[tuple[int, int]]

# Rules, whether they read a chain, the predicate that is counted, and how many facts it has after n rounds.
RECURSIONS: dict[str, tuple[str, bool, str, Callable[[int], int]]] = {
    "counter": ("n(0). n(Y) :- n(X), X < {n}, BIND(X + 1 AS Y).", False, "n", lambda n: n + 1),
    "reachability": ("r(0). r(Y) :- r(X), e(X, Y).", True, "r", lambda n: n + 1),
    "even and odd": (
        "even(0). odd(Y) :- even(X), e(X, Y). even(Y) :- odd(X), e(X, Y).",
        True,
        "even",
        lambda n: n // 2 + 1,
    ),
    "distance": ("d(0, 0). d(Y, M) :- d(X, N), e(X, Y), BIND(N + 1 AS M).", True, "d", lambda n: n + 1),
    "same generation": ("sg(0, 0). sg(A, B) :- sg(X, Y), e(X, A), e(Y, B).", True, "sg", lambda n: n + 1),
    "negation": ("r(0). gap(-1). r(Y) :- r(X), e(X, Y), NOT gap(Y), X != Y.", True, "r", lambda n: n + 1),
    "fibonacci": (
        "f(0, 0, 1). f(M, B, C) :- f(N, A, B), N < {n}, BIND(N + 1 AS M), BIND((A + B) % 1000007 AS C).",
        False,
        "f",
        lambda n: n + 1,
    ),
    "list": (
        "l(0, 0). l(L, M) :- l(X, N), N < {n}, BIND(N + 1 AS M), BIND(SKOLEM(X, N) AS L).",
        False,
        "l",
        lambda n: n + 1,
    ),
    "text": (
        't("", 0). t(L, M) :- t(X, N), N < {n}, BIND(N + 1 AS M), BIND(CONCAT("item ", M) AS L).',
        False,
        "t",
        lambda n: n + 1,
    ),
}
CLINGO = {
    "counter": "n(0). n(X+1) :- n(X), X < {n}.",
    "reachability": "r(0). r(Y) :- r(X), e(X, Y).",
    "even and odd": "even(0). odd(Y) :- even(X), e(X, Y). even(Y) :- odd(X), e(X, Y).",
    "distance": "d(0, 0). d(Y, N+1) :- d(X, N), e(X, Y).",
    "same generation": "sg(0, 0). sg(A, B) :- sg(X, Y), e(X, A), e(Y, B).",
    "negation": "r(0). gap(-1). r(Y) :- r(X), e(X, Y), not gap(Y), X != Y.",
    "fibonacci": "f(0, 0, 1). f(N+1, B, (A+B) \\ 1000007) :- f(N, A, B), N < {n}.",
}


def chain(n: int) -> Edges:
    return [(i, i + 1) for i in range(n)]


def base(program: str, edges: Edges, few: int | None) -> KnowledgeBase:
    tuning = Tuning() if few is None else Tuning(rounds_max_new_facts=few)
    kb = KnowledgeBase(program, schemes="standard", tuning=tuning)
    if edges:
        kb.add("e", edges)
    return kb


def seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def best(times: int, once: Callable[[], float]) -> float:
    return min(once() for _ in range(times))


def materialised(name: str, n: int, few: int | None) -> float:
    program, reads, counted, expected = RECURSIONS[name]
    kb = base(program.format(n=n), chain(n) if reads else [], few)
    taken = seconds(kb.materialise)
    assert kb.count(counted) == expected(n), name
    return taken


def by_clingo(name: str, n: int) -> float | None:
    try:
        import clingo
    except ImportError:
        return None
    if name not in CLINGO:
        return None
    facts = "".join(f"e({a},{b})." for a, b in chain(n)) if RECURSIONS[name][1] else ""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], CLINGO[name].format(n=n) + facts)
    return seconds(lambda: (control.ground([("base", [])]), control.solve()))


def show(what: str, *figures: float | None) -> None:
    cells = ("-" if figure is None else f"{figure:.3f}" for figure in figures)
    print(f"| {what} | {' | '.join(cells)} |", flush=True)


def recursions(n: int, times: int, everything: bool) -> None:
    few = n if everything else n // 10
    print(f"| {n:,} rounds | fact by fact | by sets ({few:,} rounds) | clingo |\n| --- | --- | --- | --- |")
    for name in RECURSIONS:
        materialised(name, 100, None)
        materialised(name, 100, NEVER)
        ours = best(times, lambda name=name: materialised(name, n, None))  # type: ignore[misc]
        show(name, ours, materialised(name, few, NEVER), by_clingo(name, n))


def changes(n: int, times: int, everything: bool) -> None:
    print(f"| an edge of a chain of {n:,} | in | out |\n| --- | --- | --- |")
    for name in ("reachability", "distance", "same generation"):
        for size in (50, n):
            kb = base(RECURSIONS[name][0], [edge for edge in chain(size) if edge[0] != 1], None)
            kb.materialise()
            closed = seconds(lambda kb=kb: kb.update(add={"e": [(1, 2)]}))  # type: ignore[misc]
            assert kb.count(RECURSIONS[name][2]) == size + 1
        opened = seconds(lambda kb=kb: kb.update(remove={"e": [(1, 2)]})) if everything else None  # type: ignore[misc]
        show(name, closed, opened)


def goals(n: int, times: int, everything: bool) -> None:
    program = "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z). q(X, Y) :- e(X, Y). q(X, Z) :- q(X, Y), e(Y, Z)."
    print(f"| a goal over a chain of {n:,} | magic sets |\n| --- | --- |")
    for goal, size in (("q(0, X)", n), (f"p({n - 1000}, X)", n)):
        kb = base(program, chain(size), None)
        kb.query("q(3, 4)", method="magic")
        show(goal, seconds(lambda kb=kb, goal=goal: len(kb.query(goal, method="magic"))))  # type: ignore[misc]


def thresholds(n: int, times: int, everything: bool) -> None:
    """Layers of `width` vertices, each with two edges into the next layer: a round has as many facts as that."""
    print("| facts of a round | fact by fact, µs a round | by sets, µs a round |\n| --- | --- | --- |")
    for bits in range(0, 13):
        width, layers = 1 << bits, max(40, 400 >> bits)
        edges = [
            (layer * width + i, (layer + 1) * width + (i + step) % width)
            for layer in range(layers)
            for i in range(width)
            for step in (0, 1)
        ]
        program = f"r(X) :- e(X, Y), X < {width}. r(Y) :- r(X), e(X, Y)."
        figures = [layered(program, edges, few, times) for few in (ALWAYS, NEVER)]
        show(f"{width:,}", *(1e6 * figure / layers for figure in figures))


def layered(program: str, edges: Edges, few: int, times: int) -> float:
    return best(times, lambda: seconds(base(program, edges, few).materialise))


PARTS = {"recursions": recursions, "changes": changes, "goals": goals, "thresholds": thresholds}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="by sets as many rounds; edges out as well")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in options.parts or ("recursions", "changes", "goals"):
        PARTS[part](options.rounds, options.times, options.all)
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
