"""Limits: rules without end, by every call that can begin them; and that a call that was stopped leaves no trace."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from itertools import count, product
from math import inf
from pathlib import Path
from typing import Any

import pytest
from conftest import as_sets

from deltalog import IRI, KnowledgeBase, LimitReached
from deltalog.core.limits import MEMORY_INTERVAL_SECONDS, FactCount, Limits
from deltalog.core.tuning import Tuning
from deltalog.engines.local.column_expressions import UNCHECKED_ROWS
from deltalog.knowledge_base.calls import session_of

# Rules that go on for ever as soon as there is a fact s(0), and a goal that needs them. END(X) ends them at a number.
ENDLESS = {
    "numbers": ("n(Y) :- s(X), BIND(X + 1 AS Y) . n(Y) :- n(X), BIND(X + 1 AS Y) END(Y) .", "n(?x)"),
    "names": (
        "n(X, 0) :- s(X) . n(Z, D) :- n(X, C), BIND(SKOLEM('f', X) AS Z), BIND(C + 1 AS D) END(D) .",
        "n(?x, ?y)",
    ),
    "two predicates": (
        "a(X) :- s(X) . a(Y) :- b(X), BIND(X + 1 AS Y) END(Y) . b(Y) :- a(X), BIND(X + 1 AS Y) END(Y) .",
        "b(?x)",
    ),
    "several heads": ("a(X), b(X) :- s(X) . a(Y), b(Y) :- a(X), b(X), BIND(X + 1 AS Y) END(Y) .", "a(?x), b(?x)"),
    "before an aggregate": (
        "n(X) :- s(X) . n(Y) :- n(X), BIND(X + 1 AS Y) END(Y) . h(N) :- AGGREGATE(n(X) BIND COUNT(X) AS N) .",
        "h(?n)",
    ),
    "after an aggregate": (
        "h(N) :- AGGREGATE(s(X) ON X BIND COUNT(X) AS N) . n(N) :- h(N) . n(Y) :- n(X), BIND(X + 1 AS Y) END(Y) .",
        "n(?x)",
    ),
    "in a closure": (
        "t(X, X) :- s(X) . t(X, Z) :- t(X, Y), t(Y, Z) . t(Y, Z) :- t(_, Y), BIND(Y + 1 AS Z) END(Z) .",
        "t(0, ?y)",
    ),
    "below a closure": (
        "e(X, 1) :- s(X) . e(Y, Z) :- e(_, Y), BIND(Y + 1 AS Z) END(Z) . t(X, Y) :- e(X, Y) ."
        "t(X, Z) :- t(X, Y), t(Y, Z) .",
        "t(?x, ?y)",
    ),
    "below a negation": ("n(X) :- s(X) . n(Y) :- n(X), BIND(X + 1 AS Y) END(Y) . m(X) :- q(X), NOT n(X) .", "m(?x)"),
    "below a cyclic rule": (
        "e(X, X) :- s(X) . e(Y, Z) :- e(_, Y), BIND(Y + 1 AS Z) END(Z) . e(X, Z) :- e(X, Y), BIND(Y + 2 AS Z) END(Z) ."
        "w(X, Y, Z) :- e(X, Y), e(Y, Z), e(X, Z) .",
        "w(?x, ?y, ?z)",
    ),
    "triples": (
        "[?x, ?p, ?x] :- s(?x), BIND(<http://e/p> AS ?p) ."
        "[?y, ?p, ?z] :- [?x, ?p, ?y], BIND(?y + 1 AS ?z) END(?z) . m(?x) :- [?x, <http://e/p>, ?y] .",
        "m(?x)",
    ),
}
SETTINGS = [
    {},
    {"maintenance": "dred", "schemes": "standard"},
    {"maintenance": "bf", "cyclic": "hypertree"},
    {"maintenance": "counting", "schemes": "module"},
    {"engine": "naive"},
]
SOON = 40  # facts, readings of the clock or of the memory
CHANGES = ("update", "add_rules", "remove_rules")
EACH = [(name, call, SETTINGS[i % len(SETTINGS)]) for i, (name, call) in enumerate(product(ENDLESS, CHANGES))]


def rules(name: str, last: int | None = None) -> str:
    """Rules without end, or with one."""
    return re.sub(r"END\((.*?)\)", "" if last is None else rf", FILTER(\1 < {last})", ENDLESS[name][0])


def ticking() -> Callable[[], float]:
    """A clock on which every reading takes a second."""
    numbers = count()
    return lambda: float(next(numbers))


def limit(limits: Limits, kind: str) -> None:
    """A limit that is reached soon."""
    limits.max_facts = SOON if kind == "max_facts" else None
    limits.timeout = SOON if kind == "timeout" else None
    limits.memory = SOON if kind == "memory" else None
    numbers = count()
    limits.clock, limits.resident = ticking(), lambda: next(numbers)


def everything(kb: KnowledgeBase) -> Any:
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def prepared(program: str, call: str, options: dict[str, Any]) -> tuple[KnowledgeBase, Callable[[], Any]]:
    """A knowledge base, and a change after which the program has its first fact."""
    kb = KnowledgeBase("@prefix e: <http://e/> . q(5) . r(X) :- q(X) .", **options)
    if call == "update":
        kb.add_rules(program)
        return kb, lambda: kb.update(add={"s": [(0,)]})
    if call == "add_rules":
        kb.update(add={"s": [(0,)]})
        return kb, lambda: kb.add_rules(f"@prefix f: <http://f/> . {program}")
    kb.add_rules(f"{program} s(0) :- q(5), NOT off(5) . off(X) :- q(X) .")
    return kb, lambda: kb.remove_rules("off(X) :- q(X) .")


@pytest.mark.parametrize(("name", "call", "options"), EACH)
def test_a_change_without_end(name: str, call: str, options: dict[str, Any]) -> None:
    kb, change = prepared(rules(name), call, options)
    before, ids, prefixes, state, explicit = (
        everything(kb),
        kb.rule_ids,
        kb.prefixes,
        session_of(kb).state.materialised,
        session_of(kb).state.explicit,
    )
    for kind in ("max_facts", "timeout", "memory"):
        limit(kb.limits, kind)
        with pytest.raises(LimitReached, match=f"^{call} stopped: .*; the knowledge base is as it was.*`{kind}`"):
            change()
        limit(kb.limits, "none")
        assert (
            session_of(kb).state.materialised is state
            and session_of(kb).state.explicit is explicit
            and kb.rule_ids == ids
            and kb.prefixes == prefixes
        )
        assert everything(kb) == before
    done = kb.update(add={"q": [(1,)]})
    assert set(kb.facts("r")) == {(1,), (5,)} and set(done.added["r"]) == {(1,)}


@pytest.mark.parametrize(("name", "call", "options"), EACH)
def test_the_same_change_with_a_larger_limit(name: str, call: str, options: dict[str, Any]) -> None:
    kb, change = prepared(rules(name, 12), call, options)
    before = everything(kb)
    kb.limits.max_facts = 12
    with pytest.raises(LimitReached, match="the limit of 12 facts was reached"):
        change()
    assert everything(kb) == before
    kb.limits.max_facts = 10_000
    done = change()
    right, again = prepared(rules(name, 12), call, {"engine": "naive"})
    again()
    after = everything(right)
    assert everything(kb) == after
    added = as_sets({predicate: list(rows) for predicate, rows in done.added.items()})
    assert added == {name: left for name, rows in after.items() if (left := rows - before.get(name, set()))}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_goal_without_end(name: str) -> None:
    kb = KnowledgeBase(f"{rules(name)} s(0) . q(5) .")
    for kind, method in product(("max_facts", "timeout", "memory"), ("magic", "qsqr", "auto", "materialised")):
        limit(kb.limits, kind)
        with pytest.raises(LimitReached, match=f"^query stopped: .*`{kind}`"):
            kb.query(ENDLESS[name][1], method)
        limit(kb.limits, "none")
        assert set(kb.query("q(?x)", "magic")) == {(5,)}
        assert session_of(kb).state.materialised is None


def test_subqueries_without_answers() -> None:
    program = "p(X, Z) :- z(X, Z) . p(X, Z) :- d(X), BIND(X + 1 AS Y), p(Y, Z) . d(X) :- d(Y), BIND(Y + 1 AS X) ."
    kb = KnowledgeBase(f"{program} d(0) . z(-1, 0) .")
    kb.limits.max_facts = 50
    for method in ("magic", "qsqr"):
        with pytest.raises(LimitReached, match="the limit of 50 facts was reached"):
            kb.query("p(0, ?z)", method)


def test_sparql_without_end(engine: str) -> None:
    program = "@prefix : <http://e/> . :p[?x, ?x] :- s(?x) . :p[?y, ?z] :- :p[?x, ?y], BIND(?y + 1 AS ?z) . s(0) ."
    kb = KnowledgeBase(program, engine=engine, max_facts=SOON)
    for method in ("auto", "magic", "materialised") if engine == "local" else ("auto", "materialised"):
        for query in ("SELECT * {?x :p ?y}", "SELECT * {0 :p+ ?y}", "SELECT (COUNT(*) AS ?n) {?x ?p ?y}"):
            with pytest.raises(LimitReached, match=r"^solve stopped: the limit of 40 facts was reached"):
                kb.sparql(query, method)


def test_a_product_counts_as_the_answers_that_it_has() -> None:
    kb = KnowledgeBase()
    kb.add("p", [(i,) for i in range(40)])
    kb.limits.max_facts = 1_000
    assert kb.materialise().complete and len(kb.query("p(?x), p(3)")) == 40
    for method in ("materialised", "magic", "qsqr"):
        with pytest.raises(LimitReached):
            kb.query("p(?x), p(?y)", method)


def test_a_materialisation_without_end(engine: str) -> None:
    for name, kind in [*product(ENDLESS, ["max_facts"]), ("numbers", "timeout"), ("names", "memory")]:
        kb = KnowledgeBase(f"{rules(name)} s(0) . q(5) .", engine=engine)
        limit(kb.limits, kind)
        for call in (kb.materialise, lambda kb=kb: kb.facts("s"), lambda kb=kb: kb.count("s")):  # type: ignore[misc]
            with pytest.raises(LimitReached, match=f"^materialise stopped: .*`{kind}`"):
                call()
        assert session_of(kb).state.materialised is None


# What counts.


def test_a_triple_counts_once(engine: str) -> None:
    program = """@prefix : <http://e/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    [?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
    [?x, rdf:type, ?d] :- [?x, rdf:type, ?c], [?c, rdfs:subClassOf, ?d] .
    :p[:a, :b] . :p[:b, :c] . [:p, rdfs:subPropertyOf, :q] . :C[:a] . [:C, rdfs:subClassOf, :D] ."""
    total = KnowledgeBase(program, engine="naive").materialise().facts_total
    kb = KnowledgeBase(program, engine=engine, max_facts=total)
    assert kb.materialise().facts_total == total
    with pytest.raises(LimitReached):
        kb.update(add={"http://e/p": [(IRI("http://e/c"), "d")]})
    kb.limits.max_facts = total + 2
    kb.update(add={"http://e/p": [(IRI("http://e/c"), "d")]})
    assert kb.report.facts_total == total + 2


def test_a_change_may_go_through_more_facts_than_are_left(engine: str) -> None:
    kb = KnowledgeBase("a(X) :- s(X) . b(X) :- t(X) .", engine=engine, max_facts=40)
    kb.update(add={"t": [(i,) for i in range(20)]})
    kb.update(add={"s": [(i,) for i in range(20)]}, remove={"t": [(i,) for i in range(20)]})
    assert kb.report.facts_total == 40


def test_fewer_facts_are_never_too_many(engine: str) -> None:
    kb = KnowledgeBase("a(X) :- s(X) .", engine=engine)
    kb.update(add={"s": [(i,) for i in range(100)]})
    kb.limits.max_facts = 10
    kb.update(remove={"s": [(i,) for i in range(90)]})
    kb.update(add={"s": [(1000,)]}, remove={"s": [(99,)]})
    with pytest.raises(LimitReached):
        kb.update(add={"s": [(1001,)]})
    assert kb.report.facts_total == 20


# A materialisation that a limit has stopped.


def test_a_materialisation_that_was_stopped_has_whole_relations() -> None:
    program = "@prefix : <http://e/> . :p[0, 1] . :p[?y, ?z] :- :p[?x, ?y], BIND(?y + 1 AS ?z) ."
    kb = KnowledgeBase(program, max_facts=50)
    assert not kb.materialise(partial=True).complete
    assert kb.count("http://e/p") == 50
    solutions = kb.sparql("SELECT * {?x :p ?y}", "materialised")
    assert not isinstance(solutions, bool) and len(solutions) == 50


def test_no_change_of_a_materialisation_that_was_stopped(engine: str) -> None:
    """Over half of the facts a negation may hold that does not."""
    program = "n(0) . n(Y) :- n(X), BIND(X + 1 AS Y), FILTER(Y < 200) . m(X) :- q(X), NOT n(X) ."
    kb = KnowledgeBase(program, engine=engine, max_facts=50)
    assert not kb.materialise(partial=True).complete
    before = everything(kb)
    with pytest.raises(LimitReached, match=r"^update stopped"):
        kb.update(add={"q": [(150,)]})
    assert everything(kb) == before and not kb.report.complete
    kb.limits.max_facts = 1_000
    kb.update(add={"q": [(150,), (250,)]})
    assert set(kb.facts("m")) == {(250,)} and kb.report.complete
    assert kb.count("n") == 200


# A deadline is that of one call.


def test_a_deadline_ends_with_its_call() -> None:
    kb = KnowledgeBase("t(X, Y) :- e(X, Y) . t(X, Z) :- t(X, Y), t(Y, Z) .", timeout=1_000.0)
    kb.add("e", [(i, i + 1) for i in range(50)])
    kb.limits.clock = ticking()
    changes = [kb.update(add={"e": [(100 + i, 101 + i)]}) for i in range(50)]
    assert kb.limits.running_now is None
    kb.limits.clock = lambda: float("inf")
    assert sum(len(change.added["t"]) for change in changes) == 50 * 51 // 2
    assert [len(change.removed["t"]) for change in changes] == [0] * 50
    assert len(list(kb.facts("t"))) == kb.count("t")


def test_a_deadline_is_of_its_thread() -> None:
    limits = Limits(timeout=1.0, clock=ticking())
    with limits.running("query") as running:
        others: list[object] = []
        thread = threading.Thread(target=lambda: others.append(limits.running_now))
        thread.start()
        thread.join()
        assert others == [None] and limits.running_now is running
        with pytest.raises(LimitReached):
            for _ in range(5):
                limits.check()
    for _ in range(5):
        limits.check()


def test_a_call_inside_of_another_one_ends_with_it() -> None:
    limits = Limits(timeout=10.0, clock=lambda: 0.0)
    with limits.running("learn") as outer:
        with limits.running("query", 3.0) as inner:
            assert (inner.call, inner.deadline) == ("learn", 3.0)
        with limits.running("query", 30.0) as inner:
            assert inner.deadline == outer.deadline == 10.0
        assert limits.running_now is outer


def test_memory_is_read_seldom() -> None:
    read, now = [], iter([0.0] * 50 + [MEMORY_INTERVAL_SECONDS] * 50)
    limits = Limits(memory=10, clock=lambda: next(now), resident=lambda: read.append(1) or 0)  # type: ignore[func-returns-value]
    with limits.running("update"):
        for _ in range(100):
            limits.check()
    assert len(read) == 3  # when the call begins, and then once per interval


def test_a_change_may_leave_as_many_facts_as_there_were() -> None:
    facts = FactCount(Limits(max_facts=10), before=lambda: 20)
    facts.add(20)
    with pytest.raises(LimitReached):
        facts.add(1)


def test_failed_expressions_of_a_stopped_call_do_not_count(engine: str) -> None:
    kb = KnowledgeBase("n(Y) :- s(X), BIND(X + 1 AS Y) . n(Y) :- n(X), BIND(X + 1 AS Y) .", engine=engine)
    kb.update(add={"s": [("a",)]})
    failed = kb.report.failed_expressions
    kb.limits.max_facts = 50
    with pytest.raises(LimitReached):
        kb.update(add={"s": [("b",), (0,)]})
    assert kb.report.failed_expressions == failed


def test_an_interrupt_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase("t(X, Y) :- e(X, Y) . t(X, Z) :- t(X, Y), t(Y, Z) .")
    kb.update(add={"e": [(0, 1)]})
    session = session_of(kb)
    before, state = everything(kb), session.state

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "_difference", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kb.add_rules("@prefix x: <http://x/> . u(X) :- t(X, _) . e(1, 2) .")
    monkeypatch.undo()
    assert session.state is state
    assert everything(kb) == before


class Readings:
    """A clock that stands still, counts how often it is read, and after `most` readings has passed every deadline."""

    def __init__(self, kb: KnowledgeBase, most: float = inf) -> None:
        self.count, self.most = 0, most
        kb.limits.timeout, kb.limits.clock = 1.0, self

    def __call__(self) -> float:
        self.count += 1
        return inf if self.count > self.most else 0.0


def test_a_small_round_checks_limits_between_two_values() -> None:
    """Each round doubles the text: a few values more would fill any memory."""
    kb = KnowledgeBase("p(X) :- p(Y), BIND(concat(Y, Y) AS X).  p(a).")
    Readings(kb, most=20)
    with pytest.raises(LimitReached):
        kb.materialise()


@pytest.mark.parametrize("threads", [1, 3])
def test_values_that_are_computed_one_by_one_check_limits(threads: int) -> None:
    rule = "p(X) :- e(X), e(Y), strlen(concat(str(X), str(Y))) < 2."
    kb = KnowledgeBase(rule, threads=threads, tuning=Tuning(parallel_min_rows=1_000))
    kb.add("e", [(i,) for i in range(200)])
    readings = Readings(kb)
    assert kb.count("p") == 0 and readings.count > 200 * 200 / UNCHECKED_ROWS


@pytest.mark.parametrize(
    "body",
    ["e(X, Y), e(Z, W), X + Y + Z + W < 0", "e(X, Y), NOT e(X, X), AGGREGATE(e(A, B), e(C, D) BIND COUNT(A) AS N)"],
)
def test_a_step_of_qsqr_checks_limits(body: str) -> None:
    tuning = Tuning(qsqr_chunk_rows=256)
    kb = KnowledgeBase(f"p(X) :- {body}.", tuning=tuning)
    kb.add("e", [(i, i + 1) for i in range(300)])
    readings = Readings(kb)
    kb.query("p(?x)", "qsqr")
    assert readings.count > 300 * 300 / tuning.qsqr_chunk_rows / 2


def test_loading_obeys_the_limit_of_memory_alone(tmp_path: Path) -> None:
    """What is read counts as what is derived does; a file may take as long as it takes."""
    (tmp_path / "edge.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(2_000)))
    kb = KnowledgeBase(timeout=1e-9, memory="1GB")
    kb.load(tmp_path)
    assert kb.explicit_facts == 2_000
    held = iter([0])
    kb.limits.resident = lambda: next(held, 2 * 10**9)
    with pytest.raises(LimitReached, match=r"loading stopped: the memory limit .* was reached.*load less"):
        kb.load(tmp_path)
    kb.limits.memory = kb.limits.timeout = None
    assert kb.explicit_facts == 2_000
