"""After every change of facts and rules, the knowledge base is what the naive engine makes of the same facts and rules
from nothing; and the change says exactly what is different.

A failure prints the program, its facts and the steps: save it under tests/cases/regressions as a case.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from conftest import Thresholds, in_parallel, tuned
from counted import check_counts, count_all
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import INTEGERS, MIXED, Example, Features, examples
from spelling import spell_rule
from visible_facts import everything, from_nothing, shown, without

from deltalog import KnowledgeBase, ProgramError
from deltalog.core.tuning import Tuning

KINDS = {
    "joins": Features(INTEGERS, functions=False, aggregates=False),
    "integers": Features(INTEGERS),
    "mixed": Features(MIXED),
    "nested": Features(MIXED, nested=True),
}
STEPS = 4
STRATEGIES = {
    "recompute": "dred",
    "spreading": "auto",
    "fact by fact": "auto",
    "fact by fact, at most a few": "auto",
    "tombstones, and none": "auto",
}
# By sets, which is what large changes and rules with more than atoms take; fact by fact; begun so, and given up.
BY_SETS: Thresholds = {"tuple_max_changed_facts": -1}
WAYS: dict[str, Thresholds] = {
    "dred": BY_SETS,
    "bf": {},
    "counting": {},
    "auto": {**BY_SETS, "bounded_overdeletion_min_facts": 4, "bounded_overdeletion_factor": 2},
    "recompute": {
        **BY_SETS,
        "recompute_min_facts": 0,
        "recompute_min_removed_share": 0.05,
        "recompute_min_changed_inputs": 1,
    },
    "spreading": {
        **BY_SETS,
        "recompute_min_facts": 0,
        "recompute_spread_factor": 1e9,
    },
    "fact by fact": {"small_table_rows": 0, "tombstone_max_divisor": 0},
    "tombstones, and none": {"small_table_rows": 0, "tombstone_max_divisor": 3},
    "fact by fact, at most a few": {
        "bounded_overdeletion_min_facts": 2,
        "bounded_overdeletion_factor": 1,
        "tuple_max_facts": 16,
        "tuple_max_matches": 64,
    },
}


@dataclass
class Story:
    """A knowledge base and what happens to it; some of the program's rules come late."""

    example: Example
    random: Random
    maintenance: str
    tuning: Tuning

    def __post_init__(self) -> None:
        lines = [spell_rule(rule, self.example.spelling) for rule in self.example.rules if rule.body]
        self.late = [line for line in lines if self.random.random() < 0.25]
        self.rules = [line for line in lines if line not in self.late]
        self.facts = {pred.name: [tuple(row) for row in rows] for pred, rows in self.example.facts.items() if rows}
        self.log: list[object] = []
        self.kb = KnowledgeBase("\n".join(self.rules), maintenance=self.maintenance, tuning=self.tuning)
        if self.random.random() < 0.3:
            in_parallel(self.kb)
        for predicate, rows in self.facts.items():
            self.kb.add(predicate, rows)

    def rows(self, most: int) -> dict[str, list[tuple[object, ...]]]:
        """Some rows of some predicates: given ones, and ones of the same values."""
        chosen: dict[str, list[tuple[object, ...]]] = {}
        for predicate, rows in self.facts.items():
            values = [value for row in rows for value in row]
            for _ in range(self.random.randint(0, most)):
                given = self.random.random() < 0.6 or not values
                row = self.random.choice(rows) if given else tuple(self.random.choice(values) for _ in rows[0])
                chosen.setdefault(predicate, []).append(row)
        return chosen

    def step(self) -> object:
        """One change, and the rules after it."""
        choice = self.random.random()
        if choice < 0.15 and self.rules:
            rule = self.random.choice(self.rules)
            self.log.append(("remove", rule))
            change = self.kb.remove_rules(rule)
            self.rules = [other for other in self.rules if other != rule]
            self.late.append(rule)
        elif choice < 0.4 and self.late:
            rule = self.late.pop()
            self.log.append(("add", rule))
            change = self.kb.add_rules(rule)
            self.rules.append(rule)
        else:
            add, remove = self.rows(2), self.rows(3)
            self.log.append((add, remove))
            change = self.kb.update(add, remove)
        return change


def agrees(example: Example, random: Random, maintenance: str, tuning: Tuning) -> None:
    story = Story(example, random, maintenance, tuning)
    before = everything(story.kb)
    if maintenance == "counting" and random.random() < 0.8:
        count_all(story.kb)
    for _ in range(STEPS):
        try:
            change = story.step()
        except ProgramError:  # a late rule closed a cycle through negation: nothing has changed
            assert everything(story.kb) == before, story.log
            return
        after = everything(story.kb)
        assert after == from_nothing(story.kb, story.rules), story.log
        assert shown(change.added) == without(after, before), story.log
        assert shown(change.removed) == without(before, after), story.log
        check_counts(story.kb)
        before = after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_updates_agree_with_naive(kind: str, way: str) -> None:
    tuning = tuned({"recompute_all_min_changed_share": 10.0, **WAYS[way]})

    @settings(max_examples=settings().max_examples // 2)
    @given(examples(KINDS[kind]), st.randoms(use_true_random=False))
    def check(example: Example, random: Random) -> None:
        agrees(example, random, STRATEGIES.get(way, way), tuning)

    check()
