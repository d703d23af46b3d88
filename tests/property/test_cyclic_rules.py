"""Rules with cyclic bodies, in recursion, with conditions, under changes of facts and rules: the three ways to evaluate
them and the naive engine agree.

A failure prints the rules, the facts and the steps: save it under tests/cases/regressions as a case.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from conftest import Thresholds, in_parallel, tuned
from counted import check_counts
from hypothesis import given, settings
from hypothesis import strategies as st
from visible_facts import everything

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning

WAYS = ("standard", "hypertree", "combined")
PREDICATES = ("a", "b", "c", "p", "q")
VALUES = 7
Facts = dict[str, list[tuple[int, int]]]


def shape(random: Random) -> list[tuple[int, int]]:
    """The edges of a body over numbered variables."""
    kind = random.choice(("cycle", "clique", "petal", "flower", "random"))
    if kind == "cycle":
        n = random.randint(3, 7)
        return [(i, (i + 1) % n) for i in range(n)]
    if kind == "clique":
        return list(combinations(range(4), 2))
    if kind == "petal":  # several paths between two nodes
        return [(0, 2), (2, 1), (0, 3), (3, 1), (0, 4), (4, 1)]
    if kind == "flower":  # a cycle with leaves
        return [(0, 1), (0, 2), (0, 3), (0, 4), (5, 3), (5, 4)]
    return [(random.randrange(5), random.randrange(5)) for _ in range(random.randint(3, 6))]


def rule(random: Random) -> str:
    edges = [edge if random.random() < 0.5 else edge[::-1] for edge in shape(random)]
    names = sorted({v for edge in edges for v in edge})
    literals = [f"{random.choice(PREDICATES)}(?x{s}, ?x{o})" for s, o in edges]
    if random.random() < 0.2:
        literals.append(f"{random.choice('abc')}(?x{random.choice(names)}, {random.randrange(VALUES)})")
    if random.random() < 0.3:
        literals.append(f"?x{random.choice(names)} {random.choice(('!=', '<'))} ?x{random.choice(names)}")
    if random.random() < 0.2:
        literals.append(f"NOT {random.choice('abc')}(?x{random.choice(names)}, ?x{random.choice(names)})")
    heads = [f"{random.choice('pqrs')}(?x{random.choice(names)}, ?x{random.choice(names)})"]
    if random.random() < 0.4:
        heads.append(f"{random.choice('pqrs')}(?x{random.choice(names)}, ?x{random.choice(names)})")
    if random.random() < 0.2:
        literals.append(f"BIND((?x{random.choice(names)} + ?x{random.choice(names)}) % {VALUES} AS ?sum)")
        heads.append(f"t(?x{random.choice(names)}, ?sum)")
    return f"{', '.join(heads)} :- {', '.join(literals)} ."


def facts(random: Random, most: int) -> Facts:
    return {
        name: [(random.randrange(VALUES), random.randrange(VALUES)) for _ in range(random.randint(0, most))]
        for name in PREDICATES
    }


def naive(rules: list[str], explicit: Facts) -> dict[str, set[tuple[object, ...]]]:
    kb = KnowledgeBase("\n".join(rules), engine="naive")
    for predicate, rows in explicit.items():
        kb.add(predicate, rows)
    return everything(kb)


def agrees(random: Random, maintenance: str, tuning: Tuning) -> None:
    rules = [rule(random) for _ in range(random.randint(1, 3))] + ["r(?x, ?y) :- p(?x, ?z), q(?z, ?y) ."]
    late = rule(random)
    explicit = {name: list(dict.fromkeys(rows)) for name, rows in facts(random, 14).items()}
    if random.random() < 0.5:
        explicit["c"] = list(dict(explicit["c"]).items())  # functional, for a while
    kbs = [KnowledgeBase("\n".join(rules), cyclic=way, maintenance=maintenance, tuning=tuning) for way in WAYS]
    parallel = random.random() < 0.5
    for kb in kbs:
        if parallel:
            in_parallel(kb)
        for predicate, rows in explicit.items():
            kb.add(predicate, rows)
    log: list[object] = [rules, explicit]
    for step in ("start", "change", "rule", "change", "no rule"):
        add, remove = facts(random, 2), {n: random.sample(r, min(len(r), 2)) for n, r in explicit.items()}
        if step == "change":
            log.append((add, remove))
            explicit = {n: [*(x for x in r if x not in remove[n] or x in add[n]), *add[n]] for n, r in explicit.items()}
        elif step != "start":
            log.append((step, late))
            rules = [*rules, late] if step == "rule" else [r for r in rules if r != late]
        expected = naive(rules, explicit)
        for way, kb in zip(WAYS, kbs, strict=True):
            if step == "change":
                kb.update(add, remove)
            elif step == "rule":
                kb.add_rules(late)
            elif step == "no rule":
                kb.remove_rules(late)
            assert everything(kb) == expected, (way, log)
            check_counts(kb)


EASILY: Thresholds = {  # everything that only large data, or trees that pay, would take
    "nested_loop_max_leaf_rows": 0,
    "multiway_advantage_factor": 0,
    "planning_cost_rows": 0,
    "tree_cost_margin": 1e9,
    "tree_safe_join_factor": 0,
    "tombstone_max_divisor": 0,
}


WRONG: Thresholds = {  # every choice is made again at every chance, and every round given up
    "planning_cost_rows": 0,
    "misestimate_factor": 0.0,
}
UNSURE: Thresholds = {
    "planning_cost_rows": 1,
    "tree_cost_margin": 1.0,
    "tree_safe_join_factor": 0.5,
}


@pytest.mark.parametrize(
    ("maintenance", "thresholds"),
    [
        ("dred", {}),
        ("bf", {}),
        ("counting", {}),
        ("auto", {}),
        ("auto", EASILY),
        ("dred", {**EASILY, "small_table_rows": 0}),
        ("auto", {**WRONG, **UNSURE}),
        ("dred", {**WRONG, **UNSURE, "planning_cost_rows": 12}),
        ("auto", {**EASILY, **WRONG}),
    ],
    ids=["dred", "bf", "counting", "auto", "easily", "easily, dead rows", "wrong", "wrong, later", "easily, wrong"],
)
def test_three_ways_and_naive_agree(maintenance: str, thresholds: Thresholds) -> None:
    tuning = tuned({"recompute_all_min_changed_share": 10.0, **thresholds})

    @settings(max_examples=max(25, settings().max_examples // 4), deadline=None)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        agrees(Random(seed), maintenance, tuning)

    check()


def test_multiway_joins_agree() -> None:
    """From nothing, where no change is maintained: recursion makes tables of several runs."""
    tuning = tuned(EASILY)

    @settings(deadline=None)
    @given(st.integers(0, 2**32))
    def check(seed: int) -> None:
        random = Random(seed)
        rules = [rule(random) for _ in range(random.randint(1, 3))]
        explicit = facts(random, 25)
        for way in ("hypertree", "combined"):
            kb = KnowledgeBase("\n".join(rules), cyclic=way, tuning=tuning)
            for predicate, rows in explicit.items():
                kb.add(predicate, rows)
            assert everything(kb) == naive(rules, explicit), (way, rules, explicit)

    check()
