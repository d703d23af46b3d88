"""Goals without a materialisation have the answers that they have over one, on random programs.

Over a thousand goals, each by four ways: magic sets, QSQ-R, the local engine's materialisation, and the naive engine,
which is right. Goals have any binding pattern, repeated variables, several atoms, negation and aggregates of their own.
One that fails prints as a file for tests/query/goals, where it is asked from then on.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from conftest import Materialisation, as_sets
from hypothesis import given
from hypothesis import strategies as st
from programs import INTEGERS, MIXED, Example, Features, examples

from deltalog import KnowledgeBase
from deltalog.core.rule_text import print_literal
from deltalog.core.rules import Aggregate, AggregateCall, Atom, BodyLiteral, Constant, Negation, Pred, Term, Variable

KINDS = {
    "joins": Features(INTEGERS, functions=False, aggregates=False),
    "integers": Features(INTEGERS),
    "mixed": Features(MIXED),
    "nested": Features(MIXED, nested=True),
}
LEAST = 400  # goals of each kind, over a hundred programs
SAVED = sorted((Path(__file__).parents[1] / "query" / "goals").glob("*.dl"))
GOAL = "# goal: "


def term(random: Random, values: list[object]) -> Term:
    if values and random.random() < 0.5:
        return Constant(random.choice(values))
    return Variable(random.choice("xyz"))


def atom(pred: Pred, random: Random, values: list[object]) -> Atom:
    return Atom(pred.name, tuple(term(random, values) for _ in range(pred.arity)))


def counted(one: Atom, random: Random) -> Aggregate:
    """How many facts match an atom, for each value of some of its variables."""
    names = list(dict.fromkeys(t for t in one.terms if isinstance(t, Variable)))
    return Aggregate(
        (one,), tuple(random.sample(names, len(names) // 2)), (AggregateCall("count", None, Variable("n")),)
    )


def summed(inner: Aggregate, random: Random) -> Aggregate:
    """An aggregate over the groups of another one."""
    on = tuple(random.sample(inner.on, len(inner.on) // 2))
    function = random.choice(("sum", "min", "max", "count"))
    return Aggregate((inner,), on, (AggregateCall(function, Variable("n"), Variable("s")),))


def goals(kb: KnowledgeBase, example: Example, random: Random) -> list[str]:
    """A goal of each derived predicate; of two of them; with a negation; with an aggregate; with two, one in the
    other."""
    values = [value for rows in example.facts.values() for row in rows for value in row]
    derived = {head.pred for rule in kb.rules for head in rule.heads}
    preds = sorted(derived or {pred for pred, rows in example.facts.items() if rows}, key=str)
    if not preds:
        return []
    atoms = [atom(pred, random, values) for pred in preds]
    found: list[list[BodyLiteral]] = [[one] for one in atoms]
    found += [[one, other] for one, other in pairwise(atoms)][:2]
    found.append([random.choice(atoms), Negation(random.choice(atoms))])
    found.append([counted(random.choice(atoms), random)])
    found.append([summed(counted(random.choice(atoms), random), random)])
    return [", ".join(map(print_literal, literals)) for literals in found]


def answers(kb: KnowledgeBase, goal: str, method: str) -> Materialisation:
    return as_sets({"answers": kb.query(goal, method=method)})


def compared(program: str, facts: dict[str, list[tuple[object, ...]]]) -> tuple[KnowledgeBase, ...]:
    """The same facts and rules three times: to ask, to materialise, and for the naive engine."""
    bases = tuple(KnowledgeBase(program, engine=engine) for engine in ("local", "local", "naive"))
    for kb in bases:
        for predicate, rows in facts.items():
            kb.add(predicate, rows)
    return bases


def disagreeing(goal: str, asked: KnowledgeBase, whole: KnowledgeBase, naive: KnowledgeBase) -> list[str]:
    """The ways that give other answers than the naive engine."""
    expected = answers(naive, goal, "materialised")
    ways = {"auto": asked, "magic": asked, "qsqr": asked, "materialised": whole}
    return [method for method, kb in ways.items() if answers(kb, goal, method) != expected]


def ask_all(example: Example, random: Random) -> int:
    """Asks goals about a program by every way; how many there were."""
    facts = {pred.name: rows for pred, rows in example.facts.items() if rows}
    asked, whole, naive = compared(example.program, facts)
    found = goals(asked, example, random)
    for goal in found:
        wrong = disagreeing(goal, asked, whole, naive)
        assert not wrong, f"wrong by {', '.join(wrong)}; save as tests/query/goals/<name>.dl:\n{GOAL}{goal}{example!r}"
    return len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_materialisation_as_with_one(kind: str) -> None:
    asked = 0

    @given(examples(KINDS[kind]), st.randoms(use_true_random=False))
    def check(example: Example, random: Random) -> None:
        nonlocal asked
        asked += ask_all(example, random)

    check()
    assert asked >= LEAST, f"only {asked} goals have been asked"


def test_there_are_a_thousand_goals() -> None:
    assert LEAST * len(KINDS) > 1_000


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_goals_that_once_failed(path: Path) -> None:
    text = path.read_text("utf-8")
    wanted = [line.removeprefix(GOAL) for line in text.splitlines() if line.startswith(GOAL)]
    assert wanted, f"{path} has no line that begins with {GOAL!r}"
    bases = compared(text, {})
    assert {goal: disagreeing(goal, *bases) for goal in wanted} == {goal: [] for goal in wanted}
