"""A limit may stop any call at any moment: the knowledge base is as it was, and the same call without the limit does
what the naive engine says.

A clock that jumps after so many readings, and not the time, decides when a limit is hit: each failure happens again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from random import Random
from time import monotonic
from typing import Any, TypeVar

import pytest
from conftest import Materialisation
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import INTEGERS, Example, Features, examples
from spelling import spell_rule
from visible_facts import everything, from_nothing, naive_copy, shown, without

from deltalog import KnowledgeBase, LimitReached, ProgramError
from deltalog.core.tuning import Tuning
from deltalog.knowledge_base.calls import session_of

R = TypeVar("R")
KINDS = {"joins": Features(INTEGERS, functions=False, aggregates=False), "integers": Features(INTEGERS)}
SETTINGS = [
    {"maintenance": "auto"},
    {"maintenance": "dred", "schemes": "standard", "cyclic": "hypertree"},
    {"maintenance": "bf", "schemes": "module"},
    {"maintenance": "counting", "cyclic": "standard"},
    {"maintenance": "auto", "schemes": "scheme", "cyclic": "hypertree"},
    {"engine": "naive"},
]
STEPS = 3


@dataclass
class Clock:
    """Stands still, and jumps past every deadline when it has been read so often; or somebody presses Ctrl-C then."""

    readings: int
    interrupts: bool = False

    def __call__(self) -> float:
        self.readings -= 1
        if self.readings >= 0:
            return 0.0
        if self.interrupts:
            raise KeyboardInterrupt
        return inf


def stopped(kb: KnowledgeBase, clock: Clock, call: Callable[[], R]) -> R | None:
    """The call, unless the clock stops it."""
    kb.limits.timeout, kb.limits.clock = 1.0, clock
    try:
        return call()
    except (LimitReached, KeyboardInterrupt):
        return None
    finally:
        kb.limits.timeout, kb.limits.clock = None, monotonic


def inside(kb: KnowledgeBase) -> tuple[object, ...]:
    """What must be the same after a call that was stopped."""
    state = session_of(kb).state.materialised
    tables = None if state is None else {key: id(table) for key, table in state.relations.parts.items()}
    counts = None if state is None else dict(state.counts)
    explicit = {pred: id(table) for pred, table in session_of(kb).state.explicit.items()}
    report = (kb.report.complete, len(kb.report.rounds), dict(kb.report.per_predicate), kb.report.failed_expressions)
    numbers = dict(session_of(kb).state.rule_set.numbers)
    return id(state), tables, counts, explicit, report, kb.rule_ids, numbers, dict(kb.prefixes), kb.predicates


class History:
    """Changes of a knowledge base. Each is first stopped at some moment, and then done."""

    def __init__(self, example: Example, random: Random, options: dict[str, Any]) -> None:
        self.random = random
        lines = [spell_rule(rule, example.spelling) for rule in example.rules if rule.body]
        self.late = [line for line in lines if random.random() < 0.3]
        self.rules = [line for line in lines if line not in self.late]
        self.facts = {pred.name: [tuple(row) for row in rows] for pred, rows in example.facts.items() if rows}
        self.kb = KnowledgeBase("\n".join(self.rules), **options)
        for predicate, rows in self.facts.items():
            self.kb.add(predicate, rows)
        self.log: list[object] = [options]

    def clock(self) -> Clock:
        readings = self.random.randint(0, 2 ** self.random.randint(0, 7))
        self.log.append(("stopped after", readings))
        return Clock(readings, self.random.random() < 0.3)

    def rows(self, most: int) -> dict[str, list[tuple[object, ...]]]:
        chosen: dict[str, list[tuple[object, ...]]] = {}
        for predicate, rows in self.facts.items():
            values = [value for row in rows for value in row]
            for _ in range(self.random.randint(0, most)):
                given = self.random.random() < 0.6 or not values
                row = self.random.choice(rows) if given else tuple(self.random.choice(values) for _ in rows[0])
                chosen.setdefault(predicate, []).append(row)
        return chosen

    def step(self) -> tuple[Callable[[], Any], list[str]]:
        """A change, and the rules after it."""
        choice = self.random.random()
        if choice < 0.2 and self.rules:
            rule = self.random.choice(self.rules)
            self.log.append(("remove", rule))
            return lambda: self.kb.remove_rules(rule), [other for other in self.rules if other != rule]
        if choice < 0.5 and self.late:
            rule = self.late.pop()
            self.log.append(("add", rule))
            return lambda: self.kb.add_rules(f"@prefix q{len(self.log)}: <http://q/> .\n{rule}"), [*self.rules, rule]
        add, remove = self.rows(2), self.rows(3)
        self.log.append((add, remove))
        return lambda: self.kb.update(add, remove), self.rules

    def change(self, before: Materialisation) -> Materialisation:
        """A change that is stopped, if it takes long enough, and then done."""
        kb, (call, rules) = self.kb, self.step()
        was, clock = inside(kb), self.clock()
        done = stopped(kb, clock, call)
        if done is None:
            assert inside(kb) == was, self.log
            assert everything(kb) == before, self.log
            done = call()
        self.rules = rules
        after = everything(kb)
        assert after == from_nothing(kb, self.rules), self.log
        assert shown(done.added) == without(after, before), self.log
        assert shown(done.removed) == without(before, after), self.log
        return after


@pytest.mark.parametrize("options", SETTINGS, ids=lambda options: "-".join(options.values()))
@pytest.mark.parametrize("kind", KINDS)
def test_changes_that_are_stopped(kind: str, options: dict[str, Any]) -> None:
    @settings(max_examples=settings().max_examples // 8)
    @given(examples(KINDS[kind]), st.randoms(use_true_random=False))
    def check(example: Example, random: Random) -> None:
        tuning = Tuning(
            recompute_all_min_changed_share=random.choice((0.05, 10.0)),
            tuple_max_changed_facts=random.choice((-1, 1 << 12)),
        )
        history = History(example, random, {**options, "tuning": tuning})
        facts = everything(history.kb)
        for _ in range(STEPS):
            try:
                facts = history.change(facts)
            except ProgramError:  # a late rule closed a cycle through negation
                assert everything(history.kb) == facts, history.log
                return

    check()


def goals(kb: KnowledgeBase, random: Random) -> list[str]:
    found = []
    for predicate in random.sample(kb.predicates, min(3, len(kb.predicates))):
        arity = kb.arity(predicate)
        terms = [random.choice(("?x", "?y", "?z", str(random.randint(0, 7)))) for _ in range(arity)]
        found.append(f"{predicate}({', '.join(terms)})")
    return [*found, ", ".join(found[:2])] if found else []


SPARQL = (
    "SELECT * {?x <b>+ ?y}",
    "SELECT ?x (COUNT(?y) AS ?n) {?x <p0>/<b>* ?y} GROUP BY ?x",
    "SELECT * {?x a <a> OPTIONAL {?x <p0> ?y} FILTER NOT EXISTS {?x <c> ?x}}",
    "SELECT ?x {{SELECT ?x {?x <p0> ?y} ORDER BY ?x LIMIT 3} ?x <b> ?z}",
)


@pytest.mark.parametrize("options", [SETTINGS[0], SETTINGS[4], SETTINGS[5]], ids=["local", "scheme", "naive"])
def test_goals_that_are_stopped(options: dict[str, Any]) -> None:
    @settings(max_examples=settings().max_examples // 8)
    @given(examples(KINDS["integers"]), st.randoms(use_true_random=False))
    def check(example: Example, random: Random) -> None:
        history = History(example, random, options)
        kb, naive = history.kb, KnowledgeBase("\n".join(history.rules), engine="naive")
        for predicate, rows in history.facts.items():
            naive.add(predicate, rows)
        for goal in goals(kb, random):
            method = random.choice(("auto", "magic", "qsqr", "materialised"))
            right = set(naive.query(goal, "materialised"))
            asked = stopped(kb, history.clock(), lambda goal=goal, method=method: kb.query(goal, method))  # type: ignore[misc]
            for answers in (asked, kb.query(goal, method), kb.query(goal)):
                assert answers is None or set(answers) == right, (goal, method, history.log)
        for query in random.sample(SPARQL, 2):
            method = random.choice(("auto", "magic", "materialised"))
            found = naive.sparql(query)
            asked = stopped(kb, history.clock(), lambda query=query, method=method: kb.sparql(query, method))  # type: ignore[misc]
            for solutions in (asked, kb.sparql(query, method)):
                assert solutions is None or sorted(map(str, solutions)) == sorted(map(str, found)), (query, method)  # type: ignore[arg-type]

    check()


@pytest.mark.parametrize("options", SETTINGS, ids=lambda options: "-".join(options.values()))
def test_what_counts_are_the_facts_that_a_user_sees(options: dict[str, Any]) -> None:
    """A call reaches the limit if and only if there would be more facts after it, and more than before."""

    @settings(max_examples=settings().max_examples // 10)
    @given(examples(KINDS["integers"]), st.randoms(use_true_random=False))
    def check(example: Example, random: Random) -> None:
        history = History(example, random, options)
        kb = history.kb
        total = sum(map(len, from_nothing(kb, history.rules).values()))
        for less in (1, 0) if total else (0,):
            kb.limits.max_facts = total - less
            assert (kb.materialise(partial=False).facts_total == total) if not less else reaches(kb.materialise)
        for _ in range(STEPS):
            call, rules = history.step()
            try:
                after = dry_run(kb, history, call)
            except ProgramError:
                return
            if after > total:
                kb.limits.max_facts = after - 1
                assert reaches(call), history.log
            kb.limits.max_facts = after
            call()
            history.rules, total = rules, after
            assert kb.report.facts_total == after, history.log

    check()


def dry_run(kb: KnowledgeBase, history: History, call: Callable[[], Any]) -> int:
    """How many facts there would be after a call."""
    history.kb = fresh = naive_copy(kb, history.rules)
    try:
        call()
    finally:
        history.kb = kb
    return fresh.report.facts_total


def reaches(call: Callable[[], Any]) -> bool:
    try:
        call()
    except LimitReached:
        return True
    return False
