"""Rounds over few facts, fact by fact and by sets: the same facts, the same rounds, the same changes and answers.

Programs are recursive in long chains: over a path with a few more edges, by counting, in several predicates of one to
four columns. `rounds_max_new_facts` is how many new facts a round may have to be evaluated fact by fact: never, always,
and so few that evaluation goes to and fro.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from conftest import as_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import DECIMALS, INTEGERS, MIXED, Example, Features, examples
from visible_facts import everything

from deltalog import KnowledgeBase, LimitReached
from deltalog.core.tuning import Tuning
from deltalog.evaluation import report

NEVER, ALWAYS = 0, 1 << 20
FEW = (NEVER, 1, 4, ALWAYS)
LENGTH = 24
EXAMPLES = max(12, settings().max_examples // 8)

HEADS = ("n(Y)", "m(Y)", "p(X, Y)", "p(Y, X)", "p(Y, Y)", "d(Y, V)", "t(X, Y, V)", "t(V, X, X)", "w(X, Y, V, X)", "s()")
FIRST = ("n(X)", "m(X)", "p(X, Z)", "p(Z, X)", "d(X, N)", "d(X, X)", "t(X, Z, N)", "t(N, X, X)", "w(Z, X, N, X)")
THEN = (
    "e(X, Y)", "e(Y, X)", "p(X, Y)", "p(Y, X)", "n(Y)", "t(X, Y, K)", "t(K, X, Y)", "w(X, Y, K, X)", "p(X, X), e(X, Y)",
    "s(), e(X, Y)", "BIND(X + 1 AS Y)", "BIND((X * 3) % 17 AS Y)", "BIND(X / 2 AS Y)", "BIND(abs(X - 9) AS Y)",
    "BIND(SKOLEM(\"a\") AS Y)", "e(1, Y)", "t(Y, 2, 3)",
)  # fmt: skip
CONDITIONS = (
    "X < 20", "Y != 3", "X <= Y || X > 5", "!(X = 7)", "NOT e(X, 3)", "NOT c(X, X)", "c(X, K), K > 2", "X * Y < 99.5",
    "NOT c(Y, K)", "str(X) != \"4\"", "NOT e(W, X)",
)  # fmt: skip
BOUNDED = "Y < 40, Y >= 0"


def rule(random: Random) -> str:
    """A recursive rule; what it computes is bounded."""
    head, first, then = random.choice(HEADS), random.choice(FIRST), random.choice(THEN)
    body = [first, then, *random.sample(CONDITIONS, random.choice((0, 0, 1, 2)))]
    if "BIND" in then and "SKOLEM" not in then:
        body.append(BOUNDED)
    if "V" in head:
        value = random.choice(("BIND(N + 1 AS V)", "BIND(X AS V)", "BIND((N + Y) % 5 AS V)", "BIND(2.5 AS V)"))
        numbered = "N" in first
        body.append(value if numbered or "N" not in value else "BIND(Y AS V)")
        body += ["V < 30"] if value == "BIND(N + 1 AS V)" and numbered else []
    random.shuffle(body)
    return f"{head} :- {', '.join(body)}."


Facts = dict[str, list[tuple[object, ...]]]


def recursion(random: Random) -> tuple[str, Facts]:
    rules = [rule(random) for _ in range(random.randint(1, 5))]
    seeds = random.sample(("n(0).", "m(1).", "p(0, 1).", "d(0, 0).", "t(0, 1, 0).", "w(0, 1, 2, 1)."), 4)
    length = random.randint(3, LENGTH)
    edges = {(i, i + 1) for i in range(length)} | {(random.randrange(length), random.randrange(9)) for _ in range(2)}
    facts: Facts = {"e": sorted(edges), "c": [(random.randrange(9), random.randrange(9)) for _ in range(4)]}
    return "\n".join([*rules, *seeds]), facts


RANDOM = st.integers(0, 2**30).map(Random)


def base(program: str, facts: Facts, few: int, variants: int = 16, **options: object) -> KnowledgeBase:
    tuning = Tuning(rounds_max_new_facts=few, rounds_variants_per_round=variants)
    kb = KnowledgeBase(program, schemes="standard", tuning=tuning, **options)
    for predicate, rows in facts.items():
        kb.add(predicate, rows)
    return kb


def rounds(kb: KnowledgeBase) -> list[tuple[int, ...]]:
    found = kb.materialise().rounds
    return [(r.hyper_node, r.number, r.new, r.total, r.rules) for r in found]


def check_rounds(program: str, facts: Facts) -> None:
    expected = everything(base(program, facts, 0, engine="naive"))
    by_sets = rounds(base(program, facts, 0))
    for few in FEW:
        for variants in (16, 1):  # with 1, even a few rules count as many
            kb = base(program, facts, few, variants)
            assert everything(kb) == expected, (few, variants)
            assert rounds(kb) == by_sets, (few, variants)


def check_changes(program: str, facts: Facts, random: Random, maintenance: str) -> None:
    kb = base(program, facts, random.choice(FEW[1:]), maintenance=maintenance)
    kb.materialise()
    now = set(facts["e"])
    for _ in range(2):
        before = everything(kb)
        remove = set(random.sample(sorted(now), 2))
        add = {(random.randrange(9), random.randrange(LENGTH))}
        change = kb.update(add={"e": sorted(add)}, remove={"e": sorted(remove)})
        now = (now - remove) | add
        after = everything(kb)
        assert after == everything(base(program, {**facts, "e": sorted(now)}, 0, engine="naive"))
        for predicate in before.keys() | after.keys():
            old, new = before.get(predicate, set()), after.get(predicate, set())
            assert rows(change.added[predicate]) == new - old
            assert rows(change.removed[predicate]) == old - new


def rows(facts: Iterable[tuple[object, ...]]) -> set[tuple[object, ...]]:
    return as_sets({"": list(facts)}).get("", set())


def check_answers(program: str, facts: Facts, random: Random) -> None:
    goals = ["n(X)", "p(0, X)", f"p(X, {random.randrange(9)})", "d(X, 3)", "t(0, X, Y)", "m(4)"]
    naive = base(program, facts, 0, engine="naive")
    asked = {few: base(program, facts, few) for few in FEW[1:]}
    for goal in (goal for goal in goals if goal.split("(")[0] in naive.predicates):
        expected = as_sets({"": naive.query(goal)})
        for few, kb in asked.items():
            assert as_sets({"": kb.query(goal, method="magic")}) == expected, (goal, few)


def check_limits(program: str, facts: Facts, more: int) -> None:
    most = sum(map(len, facts.values())) + more
    found = []
    for few in FEW:
        kb = base(program, facts, few, max_facts=most)
        done = kb.materialise(partial=True)
        found.append((done.complete, [(r.new, r.total) for r in done.rounds], everything(kb)))
    assert all(one == found[0] for one in found)


@settings(max_examples=EXAMPLES)
@given(RANDOM)
def test_the_same_facts_and_rounds(random: Random) -> None:
    check_rounds(*recursion(random))


@settings(max_examples=EXAMPLES)
@given(RANDOM, st.sampled_from(["auto", "dred", "bf"]))
def test_the_same_changes(random: Random, maintenance: str) -> None:
    check_changes(*recursion(random), random, maintenance)


@settings(max_examples=EXAMPLES)
@given(RANDOM)
def test_the_same_answers(random: Random) -> None:
    check_answers(*recursion(random), random)


@settings(max_examples=EXAMPLES)
@given(RANDOM)
def test_limits_of_facts_end_in_the_same_round(random: Random) -> None:
    check_limits(*recursion(random), random.randint(1, 60))


@pytest.mark.parametrize("values", [INTEGERS, MIXED, DECIMALS], ids=["integers", "mixed", "decimals"])
def test_all_programs(values: tuple[object, ...]) -> None:
    @settings(max_examples=EXAMPLES)
    @given(examples(Features(values)), st.sampled_from(FEW))
    def check(example: Example, few: int) -> None:
        facts = {pred.name: rows for pred, rows in example.facts.items() if rows}
        expected = everything(base(example.program, facts, 0, engine="naive"))
        assert everything(base(example.program, facts, few)) == expected

    check()


SOUFFLE = ("+", "-", "*", "/", "%", "band", "bor", "bxor", "bshl", "bshr", "bshru")
EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 65535, 2**31 - 1)


def souffle_expression(random: Random, depth: int, signed: bool) -> str:
    """An expression over the variables x and i that wraps around at 32 bits now and then."""
    if depth == 0:
        return random.choice(("x", "i", "x", str(random.choice(EDGES))))
    parts = [souffle_expression(random, depth - 1, signed) for _ in range(2)]
    kind = random.randrange(8)
    if kind == 0:
        return f"{random.choice(('min', 'max'))}({parts[0]}, {parts[1]})"
    if kind == 1:
        return f"-({parts[0]})" if signed else f"({parts[0]})"
    return f"({parts[0]} {random.choice(SOUFFLE)} {parts[1]})"


@pytest.mark.parametrize("kind", ["number", "unsigned"])
def test_integers_of_souffle(kind: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(RANDOM)
    def check(random: Random) -> None:
        rules = [souffle_expression(random, random.randint(1, 3), kind == "number") for _ in range(2)]
        steps = "".join(f"n(i + 1, {each}) :- n(i, x), i < 9.\n" for each in rules)
        seed = random.choice(EDGES)
        program = f".decl n(i: {kind}, x: {kind})\n.output n\nn(0, {seed}). n(0, 3).\n{steps}"
        found = []
        for few, engine in [(NEVER, "naive"), (NEVER, "local"), (1, "local"), (ALWAYS, "local")]:
            tuning = Tuning(rounds_max_new_facts=few)
            kb = KnowledgeBase(program, language="souffle", engine=engine, tuning=tuning)
            found.append((everything(kb), str(kb.materialise().failures)))
        assert all(facts == found[0][0] for facts, _ in found), program
        assert len({failures for _, failures in found[1:]}) == 1, program  # the naive engine counts none

    check()


@pytest.mark.parametrize("few", [NEVER, ALWAYS])
def test_an_endless_rule_ends_at_a_limit(few: int) -> None:
    kb = base("n(0). n(Y) :- n(X), BIND(X + 1 AS Y).", {}, few, timeout=0.2)
    with pytest.raises(LimitReached, match="time"):
        kb.materialise()


def test_many_rounds_are_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "ROUNDS_KEPT", 100)
    found = base("n(0). n(Y) :- n(X), X < 1000, BIND(X + 1 AS Y).", {}, ALWAYS).materialise()
    assert found.round_count == 1001
    assert 100 <= len(found.rounds) <= 200
    assert found.rounds[-1].number == 1001
