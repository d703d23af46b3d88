"""Programs in stages (choice-domain, subsumption, counters and the like) follow changes as all others do.

After each change there are the facts of a new knowledge base with the same rules and explicit facts."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog import KnowledgeBase, LimitReached, ProgramError, UsageError
from deltalog.evaluation.change import Change

Facts = Mapping[str, frozenset[tuple[int, ...]]]
DECLARED = """
.decl edge(x : number, y : number, w : number)
.decl blocked(x : number)
.decl reach(x : number, y : number)
.decl dist(x : number, d : number)
.decl tree(x : number, y : number)
.decl far(x : number)
.decl free(x : number)
.decl id(x : number, n : number)
.decl other(x : number, n : number)
.decl grown(x : number)
.decl round(x : number, n : unsigned)
"""
CHOICE = DECLARED.replace("tree(x : number, y : number)", "tree(x : number, y : number) choice-domain y")
PROGRAMS = {
    "rules before and after subsumption": DECLARED
    + """
        reach(x, y) :- edge(x, y, _).
        reach(x, z) :- reach(x, y), edge(y, z, _).
        dist(x, w) :- edge(x, y, w), reach(y, x).
        dist(y, d + w) :- dist(x, d), edge(x, y, w), d < 20, !blocked(y).
        dist(x, a) <= dist(x, b) :- b < a.
        far(x) :- dist(x, d), d > 4.
        free(x) :- reach(x, _), !far(x).
    """,
    "given facts are dominated": DECLARED
    + """
        edge(x, y, a) <= edge(x, y, b) :- b < a, !blocked(x).
        reach(x, y) :- edge(x, y, w), w > 1.
        reach(x, z) :- reach(x, y), reach(y, z).
        free(x) :- blocked(x), !reach(x, _).
    """,
    "choice, and rules between two stages": CHOICE
    + """
        tree(x, y) :- edge(x, y, _), !blocked(x).
        tree(x, y) :- tree(_, x), edge(x, y, _).
        reach(x, y) :- tree(x, y).
        reach(x, z) :- reach(x, y), reach(y, z).
        dist(x, n) :- reach(x, _), n = count : { reach(x, _) }.
        dist(x, a) <= dist(y, b) :- x < y, a < b.
        far(x) :- dist(x, n), n > 1.
    """,
    "two relations with numbers": DECLARED
    + """
        id(x, autoinc()) :- blocked(x).
        other(x, autoinc()) :- edge(x, _, _).
        far(x) :- id(x, n), other(_, m), n < m.
        free(n) :- other(_, n), !id(n, _).
    """,
    "a size limit and rounds": DECLARED
    + """
        .limitsize grown(n=7)
        .decl deltas = debug_delta(grown)
        grown(x) :- blocked(x).
        grown(y) :- grown(x), edge(x, y, _).
        grown(x + 1) :- grown(x), x < 30.
        round(x, recursive_iteration_cnt()) :- blocked(x).
        round(y, recursive_iteration_cnt()) :- round(x, n), edge(x, y, _), n < 3.
        far(x) :- grown(x), deltas(x, n), n > 1.
    """,
    "the rest ends because of a stage": DECLARED
    + """
        dist(1, w) :- edge(_, _, w).
        dist(1, a) <= dist(1, b) :- b < a.
        grown(x) :- blocked(x).
        grown(x + 1) :- grown(x), !dist(1, x), x < 12.
        far(y) :- grown(x), y = x / 0.
    """,
}
RULES = (
    "more(?x) :- far(?x), NOT blocked(?x) .",
    "free(?x) :- edge(?x, ?x, ?w) .",
    "edge(?y, ?x, 1) :- near(?x, ?y) .",
    "blocked(?x) :- near(?x, ?x) .",
)
numbers = st.integers(0, 4)
some_facts = st.fixed_dictionaries(
    {},
    optional={
        "edge": st.lists(st.tuples(numbers, numbers, numbers), max_size=5),
        "blocked": st.lists(st.tuples(numbers), max_size=3),
        "dist": st.lists(st.tuples(numbers, numbers), max_size=3),
        "near": st.lists(st.tuples(numbers, numbers), max_size=2),
    },
)
steps = st.tuples(
    some_facts, some_facts, st.sampled_from(["update", "what_if", "load", "rule"]), st.sampled_from(RULES)
)


def fresh(program: str, rules: list[str], given: Facts, **how: Any) -> Facts:
    """The facts of a new knowledge base."""
    kb = KnowledgeBase([program, *rules], **how)
    for name, rows in given.items():
        kb.add(name, sorted(rows))
    return visible(kb)


def visible(kb: KnowledgeBase) -> Facts:
    return {name: frozenset(kb.facts(name)) for name in kb.predicates if kb.count(name)}


def after(given: Facts, add: Mapping[str, Any], remove: Mapping[str, Any]) -> Facts:
    names = {*given, *add}
    left = {
        name: given.get(name, frozenset()).difference(remove.get(name, ())).union(add.get(name, ())) for name in names
    }
    return {name: rows for name, rows in left.items() if rows}


def less(one: Facts, other: Facts) -> Facts:
    found = {name: rows - other.get(name, frozenset()) for name, rows in one.items()}
    return {name: rows for name, rows in found.items() if rows}


def listed(difference: Any) -> Facts:
    return {name: frozenset(facts) for name, facts in difference.items() if len(facts)}


class Story:
    """A knowledge base, and what it should have."""

    def __init__(self, program: str, start: Mapping[str, Any], **how: Any) -> None:
        self.program, self.rules, self.given = program, list[str](), after({}, start, {})
        self.kb = KnowledgeBase(program, **how)
        self.load(start, {})
        self.facts = visible(self.kb)
        assert self.facts == self.expected()

    def expected(self) -> Facts:
        return fresh(self.program, self.rules, self.given, engine="naive")

    def load(self, add: Mapping[str, Any], remove: Mapping[str, Any]) -> None:
        for predicate, rows in remove.items():
            self.kb.remove(predicate, rows)
        for predicate, rows in add.items():
            self.kb.add(predicate, rows)

    def step(self, add: Mapping[str, Any], remove: Mapping[str, Any], how: str, rule: str) -> None:
        before, given, rules = self.facts, self.given, self.rules
        try:
            change = self.change(add, remove, how, rule)
            self.given = after(given, add, remove)
            self.facts = self.expected()
        except ProgramError:  # the rule is refused, and nothing has happened
            assert how == "rule"
            self.given, self.rules = given, rules
        else:
            found = change and (listed(change.added), listed(change.removed))
            assert found in (None, (less(self.facts, before), less(before, self.facts)))
            if how == "what_if":
                self.facts, self.given = before, given
        assert visible(self.kb) == self.facts
        assert self.kb.explicit_facts == sum(map(len, self.given.values()))

    def change(self, add: Mapping[str, Any], remove: Mapping[str, Any], how: str, rule: str) -> Change | None:
        if how == "load":
            return self.load(add, remove)
        if how != "rule":
            return getattr(self.kb, how)(add, remove)
        if rule in self.rules:
            self.rules = [each for each in self.rules if each != rule]
            return self.kb.change(add, remove, remove_rules=rule)
        self.rules = [*self.rules, rule]
        return self.kb.change(add, remove, add_rules=rule)


@pytest.mark.filterwarnings("ignore::deltalog.DeltalogWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("maintenance", ["auto", "counting"])
@settings(max_examples=15, deadline=None)
@given(start=some_facts, history=st.lists(steps, max_size=5))
def test_histories(name: str, maintenance: str, start: Any, history: list[Any]) -> None:
    story = Story(PROGRAMS[name], start, maintenance=maintenance)
    for step in history:
        story.step(*step)


def test_spark_follows_changes(spark: Any) -> None:
    start = {"edge": [(0, 1, 3), (0, 1, 1), (1, 2, 1), (2, 0, 2)], "blocked": [(5,)]}
    story = Story(PROGRAMS["rules before and after subsumption"], start, engine="spark", spark=spark)
    story.step({"edge": [(1, 0, 1)]}, {"edge": [(0, 1, 1)]}, "update", "")
    story.step({"blocked": [(2,)]}, {}, "what_if", "")


SHORTEST = """
.decl edge(x : symbol, y : symbol, w : number)
.decl dist(x : symbol, d : number)
.decl far(x : symbol)
dist("a", 0).
dist(y, d + w) :- dist(x, d), edge(x, y, w).
dist(x, a) <= dist(x, b) :- b < a.
far(x) :- dist(x, d), d > 3.
"""


def shortest(**how: Any) -> KnowledgeBase:
    kb = KnowledgeBase(SHORTEST, **how)
    kb.add("edge", [("a", "b", 4), ("a", "c", 1), ("c", "b", 1), ("b", "d", 1)])
    return kb


def test_changes_say_why_a_stage_was_derived_anew() -> None:
    change = shortest().update(remove={"edge": [("c", "b", 1)]})
    assert "dist: derived anew, because of changes of edge" in change.report.notes
    kb = KnowledgeBase(SHORTEST + ".decl other(x : symbol)\n.decl copy(x : symbol)\ncopy(x) :- other(x).")
    assert not kb.update(add={"other": [("x",)]}).report.notes


def test_counters_start_anew() -> None:
    kb = KnowledgeBase(".decl p(x : number)\n.decl q(x : number, n : number)\nq(x, autoinc()) :- p(x).")
    kb.add("p", [(1,), (2,)])
    assert set(kb.facts("q")) == {(1, 0), (2, 1)}
    change = kb.update(remove={"p": [(1,)]})
    assert set(kb.facts("q")) == {(2, 0)}
    assert change.report.notes == ["q: derived anew, because of changes of p, with numbers of autoinc() from the start"]


def test_facts_of_the_text_are_given() -> None:
    kb = shortest()
    assert kb.explicit_facts == 5
    assert set(kb.derived("dist")) == {("b", 2), ("c", 1), ("d", 3)}
    assert set(kb.update(remove={"dist": [("a", 0)]}).removed["dist"]) == {("a", 0), ("b", 2), ("c", 1), ("d", 3)}
    assert kb.update(add={"dist": [("c", 7)]}).added.keys() == {"dist", "far"}


def test_given_facts_that_are_dominated_come_back() -> None:
    kb = KnowledgeBase(".decl p(x : number, n : number)\np(x, a) <= p(x, b) :- b < a.")
    kb.add("p", [(1, 5), (1, 3), (2, 2)])
    assert set(kb.facts("p")) == {(1, 3), (2, 2)}
    assert (kb.report.facts_in, kb.report.facts_total, kb.report.facts_derived) == (3, 2, 0)
    assert kb.explain("p(1, 5)").reason == "it is explicit, and another fact dominates it (subsumption)"
    change = kb.update(remove={"p": [(1, 3)]})
    assert (set(change.added["p"]), set(change.removed["p"])) == ({(1, 5)}, {(1, 3)})
    assert set(pickle.loads(pickle.dumps(change)).added["p"]) == {(1, 5)}


def test_a_change_that_fails_changes_nothing() -> None:
    kb = KnowledgeBase(
        ".decl n(x : number) choice-domain x\n.decl top(x : number)\nn(0). n(x + 1) :- n(x), top(y), x < y."
    )
    kb.update(add={"top": [(3,)]})
    kb.limits.max_facts = 50
    with pytest.raises(LimitReached):
        kb.update(add={"top": [(1000,)]})
    assert (kb.count("n"), set(kb.facts("top"))) == (4, {(3,)})
    kb.update(remove={"top": [(3,)]})
    assert set(kb.facts("n")) == {(0,)}


@pytest.mark.parametrize("method", ["auto", "magic", "qsqr", "materialised"])
def test_goals_after_a_change(method: str) -> None:
    kb = shortest()
    assert set(kb.query("far(?x)", method)) == set()
    kb.update(remove={"edge": [("c", "b", 1)]})
    assert set(kb.query("far(?x)", method)) == {("b",), ("d",)}


def test_frozen_states_stay_and_are_asked() -> None:
    kb = shortest()
    frozen = kb.frozen()
    kb.update(remove={"edge": [("c", "b", 1)]})
    assert set(frozen.facts("dist")) == {("a", 0), ("b", 2), ("c", 1), ("d", 3)}
    assert set(frozen.what_if(remove={"edge": [("a", "c", 1)]}).removed["dist"]) == {("b", 2), ("c", 1), ("d", 3)}
    with pytest.raises(UsageError, match="frozen state"):
        frozen.update(remove={"edge": [("c", "b", 1)]})


def test_explanations_end_at_a_stage() -> None:
    kb = shortest()
    kb.update(add={"edge": [("d", "e", 2)]})
    text = str(kb.explain("far(e)"))
    assert "dist(e, 5)   derived, in an order (choice-domain, subsumption or the like)" in text
    assert "derived in an order" in kb.explain("dist(e, 4)").reason
    assert str(kb.explain("dist(a, 0)")).startswith("dist(a, 0) holds: explicit")
    with pytest.raises(UsageError, match="not an explicit fact"):
        kb.consequences("dist(e, 5)")


def test_rules_of_other_programs_for_a_stage_are_refused() -> None:
    kb = shortest()
    before = visible(kb)
    with pytest.raises(ProgramError, match="have only the rules of one program: dist"):
        kb.add_rules("dist(?x, 0) :- far(?x) .")
    with pytest.raises(ProgramError, match=r"\(dist\), and other rules make them depend on each other"):
        kb.add_rules("edge(?x, ?x, 1) :- far(?x) .")
    with pytest.raises(ProgramError, match="have only the rules of one program"):
        KnowledgeBase([SHORTEST, "dist(?x, 0) :- far(?x) ."])
    with pytest.raises(UsageError, match="cannot be removed"):
        kb.remove_rules(SHORTEST)
    assert visible(kb) == before


def test_rules_may_change_the_order_of_stages() -> None:
    text = """
        .decl p(x : number, n : number)
        .decl q(x : number, n : number)
        .decl r(x : number, n : number)
        .decl s(x : number, n : number)
        p(x, a) :- r(x, a).
        p(x, a) <= p(x, b) :- b < a.
        q(x, a) :- s(x, a).
        q(x, a) <= q(x, b) :- b > a.
    """
    kb = KnowledgeBase(text)
    kb.add("r", [(1, 1), (1, 2)])
    kb.add("s", [(1, 7), (1, 9), (2, 4)])
    assert set(kb.facts("p")) == {(1, 1)}
    given = {"r": frozenset({(1, 1), (1, 2)}), "s": frozenset({(1, 7), (1, 9), (2, 4)})}
    for rule in ("r(?x, ?n) :- q(?x, ?n) .", "s(?x, ?n) :- p(?x, ?n) ."):
        kb.add_rules(rule)
        assert visible(kb) == fresh(text, [rule], given, engine="naive")
        kb.remove_rules(rule)
        assert visible(kb) == fresh(text, [], given, engine="naive")


def test_two_programs_with_stages() -> None:
    declared = "".join(f".decl {name}(x : number, n : number)\n" for name in "pqr")
    first = declared + "p(x, n) :- q(x, n).\np(x, a) <= p(x, b) :- b < a."
    second = declared + "q(x, n) :- r(x, n).\nq(x, a) <= q(y, a) :- x < y."
    kb = KnowledgeBase([first, second])
    kb.add("r", [(1, 1), (2, 1), (2, 3)])
    assert set(kb.facts("p")) == {(2, 1)}
    kb.update(remove={"r": [(2, 1)]})
    assert set(kb.facts("p")) == {(1, 1), (2, 3)}
    with pytest.raises(ProgramError, match="have only the rules of one program: q"):
        KnowledgeBase([second, second + "q(x, 0) :- r(x, _)."])
