"""`history(seed)`: a random history. All of it is drawn from the seed.

Rules that close a cycle through a negation or an aggregate are left out of the program, but some come late: they must
be refused and change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from deltalog import ProgramError
from deltalog.program import analyse
from tests.property.history_model import TUNINGS, History, Step, parsed
from tests.property.history_programs import AggregatePrograms, ClosurePrograms, Programs, TriplePrograms

T = TypeVar("T")
MAINTENANCE = ("auto", "auto", "dred", "bf", "counting")
SCHEMES = ("auto", "standard", "scheme", "module")
CYCLIC = ("combined", "standard", "hypertree")
STEPS = 5


def history(seed: int, length: int = STEPS) -> History:
    """The history of a seed, with so many steps."""
    random = Random(seed)
    programs = random.choice((Programs, Programs, AggregatePrograms, ClosurePrograms, TriplePrograms))(random)
    options = {
        "maintenance": random.choice(MAINTENANCE),
        "schemes": random.choice(SCHEMES),
        "cyclic": random.choice(CYCLIC),
    }
    tuning = random.choice(sorted(TUNINGS))
    rules = _stratified([programs.rule() for _ in range(random.randint(3, 10))])
    late = [rule for rule in rules if random.random() < 0.35]
    first = [rule for rule in rules if rule not in late]
    late += [programs.rule() for _ in range(random.choice((0, 0, 1)))]
    facts = list(dict.fromkeys(programs.fact() for _ in range(random.choice((6, 12, 20, 30)))))
    changes = _Steps(random, programs, list(first), late, list(facts))
    steps = tuple(changes.draw() for _ in range(length))
    counted = options["maintenance"] == "counting" and random.random() < 0.7
    questions = tuple(programs.question() for _ in range(random.choice((0, 0, 1, 2))))
    return History(options, tuning, tuple(first), tuple(facts), steps, counted, questions, seed)


def _stratified(rules: Sequence[str]) -> list[str]:
    """The rules, without those that close a cycle through a negation or an aggregate."""
    rules = list(dict.fromkeys(rules))
    if _is_stratified(rules):
        return rules
    kept: list[str] = []
    for rule in rules:
        if _is_stratified([*kept, rule]):
            kept.append(rule)
    return kept


def _is_stratified(rules: Sequence[str]) -> bool:
    try:
        analyse(map(parsed, rules))
    except ProgramError:
        return False
    return True


@dataclass
class _Steps:
    """Draws changes, and knows which rules and facts there are."""

    random: Random
    programs: Programs
    rules: list[str]
    late: list[str]
    facts: list[str]

    def draw(self) -> Step:
        choice = self.random.random()
        if choice < 0.3 and self.late:
            return self._come()
        if choice < 0.5 and self.rules:
            return self._go()
        return self._update()

    def _come(self) -> Step:
        rules = self._some(self.late, self.random.choice((1, 2, 3, 4)))
        facts = [self._new_fact() for _ in range(self.random.choice((0, 0, 1, 2, 3)))]
        self.late = [rule for rule in self.late if rule not in rules]
        self._keep(rules, facts, [])
        return Step("add_rules", add=(*rules, *facts))

    def _go(self) -> Step:
        rules = self._some(self.rules, self.random.choice((1, 1, 2, 3)))
        facts = self._some(self.facts, self.random.choice((0, 0, 1, 2, 3)))
        self.late += rules
        self.rules = [rule for rule in self.rules if rule not in rules]
        self._keep([], [], facts)
        return Step("remove_rules", remove=(*rules, *facts))

    def _update(self) -> Step:
        add = [self._new_fact() for _ in range(self.random.choice((0, 1, 1, 2, 4)))]
        remove = self._some(self.facts, self.random.choice((0, 1, 1, 2, 3, 5)))
        remove += [self.programs.fact()] * (self.random.random() < 0.2)
        self._keep([], add, remove)
        return Step("update", tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove)))

    def _new_fact(self) -> str:
        return self.random.choice(self.facts) if self.facts and self.random.random() < 0.1 else self.programs.fact()

    def _some(self, lines: Sequence[T], most: int) -> list[T]:
        return self.random.sample(lines, min(most, len(lines)))

    def _keep(self, rules: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> None:
        self.rules += [rule for rule in rules if rule not in self.rules]
        self.facts = list(dict.fromkeys([fact for fact in self.facts if fact not in remove] + list(add)))
