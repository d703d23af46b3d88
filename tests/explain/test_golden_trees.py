"""The examples of the papers, explained: `golden/<name>.txt` has facts of `cases/papers/<name>.dl`, each in a line with
a question mark, and their trees. A line is a fact with the rule that derives it and its height; premises are indented.

DELTALOG_GOLDEN=write writes the trees of the facts that the files ask for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.extensions.explain.model import Absent, Condition, Explanation, Group, Premise, Proof

GOLDEN = Path(__file__).parent / "golden"
PAPERS = Path(__file__).parents[1] / "cases" / "papers"


def tree(explanation: Explanation) -> Iterator[str]:
    """An explanation as lines."""
    seen: set[int] = set()
    for proof in explanation.proofs:
        yield from _lines(proof, 0, seen)
    for attempt in explanation.attempts:
        yield f"{attempt.rule.id} fails: {attempt.failed}; needed: {attempt.needed}"
        for premise in attempt.satisfied:
            yield from (line for line in _lines(premise, 1, seen) if not line.startswith("    "))
    yield from (f"near: {near.text}" for near in explanation.near)
    if explanation.reason:
        yield explanation.reason


def _lines(premise: Premise, depth: int, seen: set[int]) -> Iterator[str]:
    indent = "  " * depth
    match premise:
        case Proof(rule=None):
            yield f"{indent}{premise.fact}"
        case Proof(rule=rule):
            assert rule is not None
            again = id(premise) in seen
            yield f"{indent}{premise.fact} by {rule.id}, height {premise.height}{', see above' if again else ''}"
            if not again:
                seen.add(id(premise))
                for below in premise.premises:
                    yield from _lines(below, depth + 1, seen)
        case Absent(atom, reason):
            yield f"{indent}NOT {atom}: {reason}"
        case Condition(text, value):
            yield f"{indent}{text}: {value}"
        case Group():
            yield f"{indent}{premise.text}: {premise.arithmetic}, {premise.count} members"
            for member in premise.members:
                for below in member.premises:
                    yield from _lines(below, depth + 1, seen)


def explained(name: str, **options: str) -> str:
    """The trees of the facts that a golden file asks for."""
    kb = KnowledgeBase(PAPERS / f"{name}.dl", **options)  # type: ignore[arg-type]
    asked = [line[2:] for line in (GOLDEN / f"{name}.txt").read_text().splitlines() if line.startswith("? ")]
    return "\n".join(line for fact in asked for line in (f"? {fact}", *tree(kb.explain(fact)), "")).rstrip() + "\n"


NAMES = sorted(path.stem for path in GOLDEN.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("schemes", ["auto", "standard", "scheme", "module"])
def test_trees_of_the_papers(name: str, schemes: str) -> None:
    found = explained(name, schemes=schemes)
    if os.environ.get("DELTALOG_GOLDEN") == "write":
        (GOLDEN / f"{name}.txt").write_text(found)
    assert found == (GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_trees_of_the_naive_engine(name: str) -> None:
    assert explained(name, engine="naive") == (GOLDEN / f"{name}.txt").read_text()
