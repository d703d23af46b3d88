"""Explanations of random programs, before and after every change, against the independent checker.

The programs are those of random histories: all constructs, all settings of schemes, cyclic and maintenance.
"""

from __future__ import annotations

from random import Random

import pytest

from deltalog import KnowledgeBase, ProgramError
from deltalog.core.rules import Constant
from deltalog.core.terms import Value
from deltalog.core.tuning import Tuning
from deltalog.languages.deltalog.parser import parse
from tests.explain.proof_checker import Key, World, Wrong, key_of
from tests.property.history_generator import history
from tests.property.history_model import PREFIX, TUNINGS, History, Step, is_rule, parsed, rows

BATCH = 10
ASKED = 6  # facts of each state


@pytest.mark.parametrize("first", range(0, 60, BATCH))
def test_explanations_are_right(first: int) -> None:
    asked = sum(play(history(seed)) for seed in range(first, first + BATCH))
    assert asked >= 10 * BATCH


def play(one: History) -> int:
    """Explains facts after every step of a history; how many explanations were right."""
    random = Random(one.seed)
    tuning = Tuning(**TUNINGS[one.tuning])  # type: ignore[arg-type]
    kb = KnowledgeBase(PREFIX + "\n".join(one.rules), tuning=tuning, **one.options)  # type: ignore[arg-type]
    explicit = set(one.facts)
    for predicate, found in rows(sorted(explicit)).items():
        kb.add(predicate, found)
    asked = explained(kb, explicit, random, one)
    for step in one.steps:
        try:
            _call(kb, step)
        except ProgramError:
            break
        explicit -= set(step.remove).difference(step.add)
        explicit |= {line for line in step.add if not is_rule(line)}
        asked += explained(kb, explicit, random, one)
    return asked


def explained(kb: KnowledgeBase, explicit: set[str], random: Random, one: History) -> int:
    world = world_of(kb, explicit)
    chosen = [*_drawn(world.facts - world.explicit, ASKED, random), *_drawn(world.explicit, 1, random)]
    absent = [*_absent(world, random), *_absent(world, random)]
    for fact in [*chosen, *absent]:
        values = tuple(constant.value for constant in fact[1])
        most = random.choice((1, 1, 1, 3))
        name = fact[0] if ":" in fact[0] else f"{fact[0]}/{len(values)}"
        try:
            world.check(kb.explain(name, values, all=most, depth=random.choice((None, 1, 3))))
        except Exception as wrong:
            raise Wrong(f"{fact[0]}{values}, all={most}: {wrong}\n{one}") from wrong
    return len(chosen) + len(absent)


def world_of(kb: KnowledgeBase, explicit: set[str]) -> World:
    """What should hold: the rules, the explicit facts and all facts."""
    given = {key_of(head.name, _values(head.terms)) for line in explicit for head in parsed(line).heads}
    kb.materialise()
    facts = {key_of(name.removesuffix(f"/{kb.arity(name)}"), row) for name in kb.predicates for row in kb.facts(name)}
    return World(kb.rule_ids, given, facts)


def _values(terms: object) -> tuple[Value, ...]:
    return tuple(term.value for term in terms if isinstance(term, Constant))  # type: ignore[attr-defined]


def _drawn(facts: set[Key], most: int, random: Random) -> list[Key]:
    listed = sorted(facts, key=repr)
    return random.sample(listed, min(most, len(listed)))


def _absent(world: World, random: Random) -> list[Key]:
    """A fact that does not hold, made of values that there are."""
    if not world.facts:
        return []
    name, row = random.choice(sorted(world.facts, key=repr))
    values = sorted({constant for _, others in world.facts for constant in others}, key=repr)
    other = name, tuple(random.choice(values) for _ in row)
    return [other] if other not in world.facts else []


def _call(kb: KnowledgeBase, step: Step) -> None:
    if step.kind == "update":
        kb.update(rows(step.add), rows(step.remove))
    else:
        text = PREFIX + "\n".join(step.add or step.remove)
        kb.add_rules(text) if step.kind == "add_rules" else kb.remove_rules(text)


def test_the_checker_finds_what_is_wrong() -> None:
    kb = KnowledgeBase("e(1, 2). e(2, 3). p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).")
    world = world_of(kb, {"e(1, 2).", "e(2, 3)."})
    explanation = kb.explain("p(1, 3)")
    world.check(explanation)
    (proof,) = explanation.proofs
    from dataclasses import replace

    for wrong in (
        replace(proof, height=1),
        replace(proof, premises=proof.premises[:1]),
        replace(proof, premises=proof.premises[::-1]),
        replace(proof, bindings={**proof.bindings, "y": 3}),
        replace(proof, kind="explicit"),
        replace(proof, premises=(proof, proof)),
        replace(proof, steps=2),
    ):
        with pytest.raises(Wrong):
            world.check(replace(explanation, proofs=(wrong,)))
    with pytest.raises(Wrong):
        World(dict(enumerate(parse("p(?x) :- e(?x, ?y)."))), set(), {key_of("p", (1,))})  # type: ignore[arg-type]
