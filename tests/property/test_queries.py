"""Goals without a materialisation have the answers that they have over one, on random programs."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from conftest import as_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import INTEGERS, MIXED, Example, Features, examples

from deltalog import KnowledgeBase
from deltalog.syntax.ast import Atom, Constant, Pred, Term, Variable
from deltalog.syntax.printer import print_literal

KINDS = {
    "joins": Features(INTEGERS, functions=False, aggregates=False),
    "integers": Features(INTEGERS),
    "mixed": Features(MIXED),
}


def term(random: Random, values: list[object]) -> Term:
    if values and random.random() < 0.5:
        return Constant(random.choice(values))
    return Variable(random.choice("xyz"))


def goals(kb: KnowledgeBase, example: Example, random: Random) -> list[str]:
    """A goal of each predicate that has a rule, with any binding pattern, and a conjunction of two."""
    values = [value for rows in example.facts.values() for row in rows for value in row]
    preds = sorted({head.pred for rule in kb.rules for head in rule.heads}, key=str)
    atoms = [Atom(p.name, tuple(term(random, values) for _ in range(p.arity))) for p in preds if isinstance(p, Pred)]
    single = [print_literal(atom) for atom in atoms]
    return single + [f"{one}, {other}" for one, other in pairwise(single)][:2]


def agrees(example: Example, random: Random) -> None:
    facts = {pred.name: rows for pred, rows in example.facts.items() if rows}
    asked, whole = KnowledgeBase(example.program), KnowledgeBase(example.program, engine="naive")
    for predicate, rows in facts.items():
        asked.add(predicate, rows)
        whole.add(predicate, rows)
    for goal in goals(asked, example, random):
        expected = as_sets({"answers": whole.query(goal, method="materialised")})
        for method in ("magic", "qsqr"):
            assert as_sets({"answers": asked.query(goal, method=method)}) == expected, f"{goal} by {method}"


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_materialisation_as_with_one(kind: str) -> None:
    @settings(max_examples=max(120, settings().max_examples))
    @given(examples(KINDS[kind]), st.randoms(use_true_random=False))
    def check(example: Example, random: Random) -> None:
        agrees(example, random)

    check()
