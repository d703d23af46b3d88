"""Changes of facts and rules: all or nothing, streams, what the report says."""

from __future__ import annotations

from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from conftest import name_of
from counted import check_counts, count_all
from test_cases import CASES, expected, line

from deltalog import KnowledgeBase, NotStratified, UnsafeRule, UsageError
from deltalog.core.tuning import Tuning
from deltalog.engines.local import LocalBackend
from deltalog.engines.local.capabilities import LocalCounting, LocalTupleMaintenance
from deltalog.engines.local.codec import LocalCodec
from deltalog.evaluation.change import Change
from deltalog.evaluation.facts import of_predicate
from deltalog.knowledge_base.calls import session_of

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
count(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
end(Y) :- path(_, Y), NOT path(Y, _).
"""
STEPS = sorted(CASES.glob("*/*/steps"))
EDGES = [(i, i + 1) for i in range(8)] + [(7, 3), (2, 6)]


def everything(kb: KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    return {predicate: set(kb.facts(predicate)) for predicate in kb.predicates}


@pytest.fixture(params=["dred", "bf", "counting", "auto"])
def kb(request: pytest.FixtureRequest) -> KnowledgeBase:
    kb = KnowledgeBase(
        PROGRAM, maintenance=request.param, schemes="standard" if request.param == "counting" else "auto"
    )
    kb.add("edge", EDGES)
    kb.materialise()
    if request.param == "counting":
        count_all(kb)
    return kb


@pytest.mark.parametrize("change", ["facts", "rules"])
def test_an_interrupt_anywhere_leaves_everything_as_it_was(
    kb: KnowledgeBase, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rules = everything(kb), kb.rules
    names = [(LocalBackend, name) for name in ("run_all", "minus", "merge")]
    names += [(LocalCounting, "recount"), (LocalTupleMaintenance, "exchange"), (LocalTupleMaintenance, "maintain")]
    calls = {(owner, name): getattr(owner, name) for owner, name in names}
    for allowed in range(400):
        left = iter(range(allowed))

        def interrupted(*arguments: Any, left: Any = left, call: Any) -> Any:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return call(*arguments)

        with monkeypatch.context() as patched:
            for (owner, name), call in calls.items():
                patched.setattr(owner, name, partialmethod(interrupted, call=call))
            try:
                if change == "facts":
                    kb.update(add={"edge": [(8, 9)]}, remove={"edge": [(2, 3), (7, 3)]})
                else:
                    kb.remove_rules("path(X, Z) :- path(X, Y), edge(Y, Z).")
                break
            except KeyboardInterrupt:
                pass
        assert everything(kb) == before
        assert kb.rules == rules
        check_counts(kb)
    assert allowed > 5
    assert everything(kb) != before
    check_counts(kb)


def test_refused_rules_change_nothing(kb: KnowledgeBase) -> None:
    before, rules = everything(kb), kb.rules
    with pytest.raises(UnsafeRule):
        kb.add_rules("q(X, Y) :- edge(X, _).")
    with pytest.raises(NotStratified, match="path"):
        kb.add_rules("edge(X, X) :- path(X, _), NOT path(X, X).")
    with pytest.raises(UsageError, match="no such rule"):
        kb.remove_rules("q(X) :- edge(X, X).")
    assert (everything(kb), kb.rules) == (before, rules)
    kb.add_rules("q(X) :- edge(X, X).")
    assert list(kb.rule_ids) == [f"r{i}" for i in range(1, len(rules) + 2)]


def test_updates_before_the_first_materialisation() -> None:
    kb = KnowledgeBase(PROGRAM)
    change = kb.update(add={"edge": [(1, 2), (2, 3)]}, remove={"edge": [(5, 5)]})
    assert set(change.added["path"]) == {(1, 2), (2, 3), (1, 3)}
    assert not change.removed


def test_a_fact_that_is_explicit_and_derived_stays_while_either_holds(kb: KnowledgeBase) -> None:
    assert not kb.update(add={"path": [(0, 1)]}).added
    assert not kb.update(remove={"edge": [(0, 1)]}).removed["path"].__contains__((0, 1))
    assert (0, 1) in kb.facts("path")
    assert (0, 1) in kb.update(remove={"path": [(0, 1)]}).removed["path"]


def test_added_and_removed_in_one_update_is_added(kb: KnowledgeBase) -> None:
    change = kb.update(add={"edge": [(0, 1), (20, 21)]}, remove={"edge": [(0, 1), (20, 21)]})
    assert set(change.added) == {"edge", "path", "count", "end"}
    assert not change.removed


def test_strata_that_nothing_touches_are_not_visited(kb: KnowledgeBase) -> None:
    change = kb.add_rules("alone(X) :- end(X).")
    assert (change.report.visited, change.report.skipped) == (1, 3)
    gone = kb.remove_rules("alone(X) :- end(X).")
    assert (gone.report.visited, set(gone.removed)) == (0, {"alone"})  # a leaf goes without any reasoning


def test_rules_by_id(kb: KnowledgeBase) -> None:
    name = next(name for name, rule in kb.rule_ids.items() if rule.heads[0].name == "end")
    assert set(kb.remove_rules(name).removed) == {"end"}
    assert name not in kb.rule_ids


def test_a_stream_of_small_updates_does_not_grow(kb: KnowledgeBase) -> None:
    before = everything(kb)
    for i in range(300):
        kb.update(add={"edge": [(8, 100 + i)]})
        kb.update(remove={"edge": [(8, 100 + i)]})
    assert everything(kb) == before
    assert session_of(kb).state.materialised is not None
    assert all(
        len(table.runs) <= 7 and table.nbytes < 20_000
        for table in session_of(kb).state.materialised.relations.parts.values()
    )


def test_a_change_with_too_many_consequences_is_recomputed() -> None:
    """Of a tree with 400 leaves below 20 branches, all leaves are of one generation: 160,000 facts."""
    kb = KnowledgeBase("sg(X, Y) :- parent(X, P), parent(Y, P). sg(X, Y) :- parent(X, A), sg(A, B), parent(Y, B).")
    branches = [(f"b{i}", "root") for i in range(20)]
    leaves = [(f"l{j}", f"b{j % 20}") for j in range(400)]
    kb.add("parent", branches + leaves)
    kb.materialise()
    few = kb.update(remove={"parent": leaves[:1]})
    assert not few.report.recomputed and len(few.removed["sg"]) == 799
    many = kb.update(remove={"parent": leaves[1:40]})
    assert many.report.notes == ["sg: recomputed, the change has too many consequences"]
    assert kb.count("sg") == 360**2 + 20**2 and len(many.removed["sg"]) == 399**2 - 360**2


def test_what_was_too_much_for_the_kernel_is_part_of_the_state() -> None:
    """A change that the tuple-at-a-time kernel gave up on lowers the limit of its stratum, which the report shows and
    which grows again; an update of the same state is carried out in the same way."""
    tuning = Tuning(tuple_max_matches=60)
    kb = KnowledgeBase("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z).", schemes="standard", tuning=tuning)
    kb.add("e", [(i, i + 1) for i in range(40)])
    kb.materialise()
    before = session_of(kb).state.materialised
    limits = []
    for _ in range(3):
        limits.append(kb.update(remove={"e": [(0, 1), (19, 20)]}).report.tuple_limits)
        limits.append(kb.update(add={"e": [(0, 1), (19, 20)]}).report.tuple_limits)
    assert limits == [{"p": 1}, {"p": 2}, {"p": 1}, {"p": 2}, {"p": 1}, {"p": 2}]
    assert kb.update(add={"e": [(90, 91)]}).report.tuple_limits == {"p": 2}
    session = session_of(kb)
    session.state = replace(session.state, materialised=before)
    assert kb.update(remove={"e": [(0, 1), (19, 20)]}).report.tuple_limits == {"p": 1}


def shown(kb: KnowledgeBase, wanted: dict[str, list[str]]) -> dict[str, list[str]]:
    present = set(kb.predicates)
    return {name: sorted(map(line, kb.facts(name))) if name in present else [] for name in wanted}


def applied(kb: KnowledgeBase, step: Path) -> None:
    for file, change in (("add.dl", kb.add_rules), ("remove.dl", kb.remove_rules)):
        if (step / file).exists():
            change(step / file)


@pytest.mark.parametrize("way", ["naive", "dred", "bf", "counting", "auto"])
@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: steps.parent.name)
def test_steps_of_a_case(steps: Path, way: str) -> None:
    """`<name>/steps/<number>_<what>` has rules and facts to add and to remove, and what there is afterwards."""
    engine, maintenance = ("naive", "auto") if way == "naive" else ("local", way)
    kb = KnowledgeBase(steps.parent.with_suffix(".dl"), engine=engine, maintenance=maintenance)
    kb.materialise()
    for step in sorted(steps.iterdir()):
        applied(kb, step)
        wanted = expected(step)
        assert wanted and shown(kb, wanted) == wanted, step.name
        late = KnowledgeBase("\n".join(map(str, kb.rules)))
        for pred, table in session_of(kb).state.explicit.items():
            late.add(name_of(pred), list(of_predicate(pred, table, session_of(kb).backend)))
        assert shown(late, wanted) == wanted, f"{step.name}: late, or from the beginning, is the same"


def test_there_are_steps() -> None:
    assert len(STEPS) >= 4


def test_the_report_names_hyper_nodes() -> None:
    kb = KnowledgeBase(CASES / "papers" / "004_running_example.dl")
    kb.materialise()
    report = kb.remove_rules("p4(X,Y) :- p2(X,Y).").report
    heads = [{pred.name for pred in node.heads} for node in report.directly_affected]
    assert heads == [{"p3"}, {"p2"}, {"p5", "p6"}, {"p7"}]
    assert [{pred.name for pred in node.heads} for node in report.skipped_hyper_nodes] == [{"p1"}]
    gone = kb.remove_rules("p5(X,Y) :- p6(Y,Z), p0(X,_), NOT p2(X,Z). p6(X,Y) :- p5(X,Y). p7(X,Z) :- p3(X,Y), p5(Y,Z).")
    assert (gone.report.directly_affected, gone.report.visited_hyper_nodes, gone.report.overdeleted) == ((), [], 0)


def test_facts_that_are_not_there_are_not_removed_from_a_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fact by fact, and with what is not there as tombstones of the table of what is."""
    tombstones = Tuning(recompute_all_min_changed_share=10.0, small_table_rows=0, tombstone_max_divisor=0)
    kb = KnowledgeBase("p(X, Y) :- p(X, Y), p(X, Y).", tuning=tombstones)
    kb.add("p", [(2, 2.5), (2, 1)])
    kb.materialise()
    change = kb.update(remove={"p": [(2, 2.5), (2, 2)]})
    assert list(change.removed["p"]) == [(2, 2.5)]
    assert list(kb.facts("p")) == [(2, 1)]


LEAVES = """
low(X) :- end(X), X < 3.
high(X) :- end(X), NOT low(X).
both(X, Y) :- high(X), high(Y).
up(X, Y) :- edge(X, Y), NOT both(X, Y).
up(X, Z) :- up(X, Y), up(Y, Z), X < Z.
"""


@pytest.mark.parametrize(
    "gone", [["both", "up"], ["up"], ["both", "up", "high"], ["low", "high", "both", "up"], ["both"]]
)
def test_leaves_that_go_are_as_if_they_had_never_been(kb: KnowledgeBase, gone: list[str]) -> None:
    """One, several at once, a chain of them, a recursive one, and one that is none: others read it."""
    before, kept = everything(kb), kb.rules
    kb.add_rules(LEAVES)
    kb.update(add={"both": [(8, 8), (1, 1)], "high": [(70,)]})
    whole, rules = everything(kb), kb.rules
    ids = [name for name, rule in kb.rule_ids.items() if rule.heads[0].name in gone]
    change = kb.remove_rules(ids)
    fresh = KnowledgeBase("\n".join(str(rule) for rule in rules if rule.heads[0].name not in gone), engine="naive")
    for pred, table in session_of(kb).state.explicit.items():
        fresh.add(name_of(pred), list(of_predicate(pred, table, session_of(kb).backend)))
    left = everything(fresh)
    assert {name: rows for name, rows in everything(kb).items() if rows} == {
        n: rows for n, rows in left.items() if rows
    }
    assert {n: set(change.removed[n]) for n in whole} == {n: whole[n] - left.get(n, set()) for n in whole}
    assert (kb.report.facts_total, kb.rules) == (sum(map(len, left.values())), fresh.rules)
    kb.update(add={"edge": [(8, 9)]}, remove={"edge": [(0, 1)]})
    fresh.update(add={"edge": [(8, 9)]}, remove={"edge": [(0, 1)]})
    assert all(rows == everything(fresh).get(name, set()) for name, rows in everything(kb).items())
    kb.add_rules([str(rule) for rule in rules if rule.heads[0].name in gone])
    kb.update(add={"edge": [(0, 1)]}, remove={"edge": [(8, 9)]})
    assert everything(kb) == whole
    kb.update(remove={"both": [(8, 8), (1, 1)], "high": [(70,)]})
    kb.remove_rules(LEAVES)
    assert {name: rows for name, rows in everything(kb).items() if rows} == before
    assert kb.rules == kept
    check_counts(kb)


def test_a_leaf_goes_without_reading_or_making_a_table(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb.update(add={"end": [(50,)]})
    was = everything(kb)["end"]
    for owner, names in ((LocalBackend, ("run_all", "minus", "merge")), (LocalCodec, ("encode",))):
        for name in names:
            monkeypatch.setattr(owner, name, partialmethod(_must_not))
    change = kb.remove_rules("r4")
    monkeypatch.undo()
    assert (set(kb.facts("end")), set(change.removed["end"])) == ({(50,)}, was - {(50,)})
    assert (change.report.visited, change.report.skipped, change.report.directly_affected) == (0, 2, ())


def _must_not(*_: Any) -> None:
    raise AssertionError("a leaf goes without reasoning")


def noted(change: Change) -> set[str]:
    """What a change says of how it came to the facts of each predicate."""
    return set(change.report.notes)


def test_a_stratum_that_no_rule_can_derive_keeps_its_explicit_facts() -> None:
    """A recursion without a first fact, and a join with nothing, however many facts they had."""
    kb = KnowledgeBase("a(X) :- b(X). b(X) :- a(X). a(X) :- c(X). j(X, Y) :- a(X), d(Y). k(X) :- j(X, _), NOT e(X).")
    kb.add("c", [(i,) for i in range(40)])
    kb.add("d", [(i,) for i in range(50)])
    kb.add("k", [(-1,)])
    before = everything(kb)
    change = kb.remove_rules("a(X) :- c(X).")
    explicit = "no rule can derive anything, only explicit facts kept"
    assert noted(change) == {f"a, b: {explicit}", f"j: {explicit}", f"k: {explicit}"}
    assert change.report.overdeleted == 0
    assert {name: len(rows) for name, rows in change.removed.items()} == {"a": 40, "b": 40, "j": 2000, "k": 40}
    assert set(kb.facts("k")) == {(-1,)}
    kb.add_rules("a(X) :- c(X).")
    assert everything(kb) == before
    kb.update(add={"b": [(3,)]})
    change = kb.remove_rules("a(X) :- c(X).")
    assert f"a, b: {explicit}" not in noted(change)
    assert set(kb.facts("a")) == {(3,)}


def test_rules_that_give_less_than_half_are_all_that_is_left() -> None:
    kb = KnowledgeBase("s(X, Y) :- p(X, Z), p(Y, Z). s(X, Y) :- p(X, A), s(A, B), p(Y, B).")
    kb.add("p", [(i, (i - 1) // 8) for i in range(1, 300)])
    change = kb.remove_rules("r2")
    assert noted(change) == {"s: recomputed, the remaining rules derive less than half of it"}
    assert kb.count("s") == sum(n * n for n in [8] * 37 + [3])


def test_a_change_with_more_consequences_than_there_are_facts() -> None:
    kb = KnowledgeBase("j(X, Y) :- p(X, Z), q(Z, Y), X < 100.")
    kb.add("p", [(i, z) for i in range(40) for z in range(30)])
    kb.add("q", [(z, i) for z in range(30) for i in range(40)])
    change = kb.update(remove={"p": [(i, 7) for i in range(40)] + [(i, 8) for i in range(40)]})
    assert noted(change) == {"j: recomputed, the change has too many consequences"}
    assert not change.removed["j"]
    assert kb.count("j") == 1600


def test_rows_that_were_dead_come_back_while_others_go() -> None:
    kb = KnowledgeBase("q(Y, X) :- p(X, Y).")
    kb.add("p", [(i, i + 1) for i in range(4000)])
    kb.materialise()
    kb.update(remove={"p": [(i, i + 1) for i in range(300)]})  # they stay in their run, as dead rows
    change = kb.update(add={"p": [(7, 8)]}, remove={"p": [(i, i + 1) for i in range(300, 800)]})  # it is rewritten
    assert set(change.added["p"]) == {(7, 8)}
    assert set(kb.facts("p")) == {(7, 8)} | {(i, i + 1) for i in range(800, 4000)}
    assert set(kb.facts("q")) == {(y, x) for x, y in kb.facts("p")}


def test_what_a_removed_rule_derived_is_reported_where_everything_is_recomputed() -> None:
    kb = KnowledgeBase("q(X) :- e(X).")
    kb.add("e", [(i,) for i in range(100)])
    kb.materialise()
    change = kb.remove_rules(["q(X) :- e(X).", *(f"e({i})." for i in range(60))])
    assert {name: len(facts) for name, facts in change.removed.items()} == {"e": 60, "q": 100}
    assert not change.added and kb.count("q") == 0


def test_counts_of_rules_of_a_tree_go_with_it() -> None:
    kb = KnowledgeBase(
        "p1(X, Y) :- b(Y, X).  p0(Z, N) :- AGGREGATE(b(Y, Z) ON Z BIND AVG(Z) AS N).",
        maintenance="counting",
        schemes="standard",
        cyclic="hypertree",
    )
    kb.materialise()
    kb.add_rules("p0(X, W) :- p1(W, X), p1(X, Y), p0(Y, Z), b(Z, W).")
    change = kb.update(add={"b": [(2, 1), (1, 1)], "p0": [(1, 1)]})
    assert change.added["p0"]
    check_counts(kb)
