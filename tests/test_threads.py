"""Threads that share a knowledge base, and threads that have one each."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import pytest
from conftest import in_parallel
from watchdog import watched

from deltalog import KnowledgeBase
from deltalog.core.dictionary import Dictionary

RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z), X != Z.
degree(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
name(X, S) :- edge(X, _), BIND(SKOLEM(X) AS S).
source(X) :- edge(X, _), NOT edge(_, X).
"""
SPARQL = "SELECT ?x ?y { ?x <path> ?y }"
GOAL = "path(?x, ?y)"
STEPS = 12
Rows = frozenset[tuple[object, ...]]


def edges(step: int) -> list[tuple[str, str]]:
    """The edges after a step: some go and others come, with values that nothing has had before."""
    nodes = [f"n{i}" if i % 3 else f"n{i} of step {step}" for i in range(step % 4, step % 4 + 7)]
    return list(pairwise(nodes))


def change(kb: KnowledgeBase, step: int) -> None:
    old, new = set(edges(step - 1)), set(edges(step))
    difference = kb.update(add={"edge": sorted(new - old)}, remove={"edge": sorted(old - new)})
    assert set(difference.added["edge"]) == new - old


def knowledge_base(step: int = 0) -> KnowledgeBase:
    kb = in_parallel(KnowledgeBase(RULES, threads=2))
    kb.add("edge", edges(step))
    kb.materialise()
    return kb


READERS: dict[str, Callable[[KnowledgeBase], object]] = {
    "path": lambda kb: frozenset(kb.facts("path")),
    "arrow": lambda kb: frozenset(zip(*kb.facts("path").to_arrow().to_pydict().values(), strict=True)),
    "count": lambda kb: kb.count("path"),
    "degree": lambda kb: frozenset(kb.facts("degree")),
    "name": lambda kb: frozenset(kb.derived("name")),
    "source": lambda kb: frozenset(kb.query("source(?x)")),
    "materialised": lambda kb: frozenset(kb.query(GOAL, method="materialised")),
    "magic": lambda kb: frozenset(kb.query(GOAL, method="magic")),
    "qsqr": lambda kb: frozenset(kb.query(GOAL, method="qsqr")),
    "sparql": lambda kb: frozenset(kb.sparql(SPARQL)),  # type: ignore[arg-type]
}


@contextmanager
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_readers_see_the_state_before_or_after_a_change() -> None:
    watched(read_while_it_changes)


def read_while_it_changes() -> None:
    states = [{name: read(knowledge_base(step)) for name, read in READERS.items()} for step in range(STEPS)]
    kb, ended = knowledge_base(), threading.Event()
    for read in READERS.values():
        read(kb)

    def reading(name: str) -> int:
        many, seen = 0, {state[name] for state in states}
        while not ended.is_set() or many < 3:
            assert READERS[name](kb) in seen, name
            many += 1
        return many

    with switching_often(), ThreadPoolExecutor(len(READERS)) as pool:
        readers = [pool.submit(reading, name) for name in READERS]
        try:
            for step in range(1, STEPS):
                change(kb, step)
        finally:
            ended.set()
        assert all(reader.result() >= 3 for reader in readers)
    assert {name: read(kb) for name, read in READERS.items()} == states[-1]


def test_several_threads_materialise_once() -> None:
    watched(first_use_by_several)


def first_use_by_several() -> None:
    expected = frozenset(knowledge_base().facts("path"))
    rounds: list[object] = []
    kb = in_parallel(KnowledgeBase(RULES, threads=2, observe=rounds.append))
    kb.add("edge", edges(0))
    with switching_often(), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: frozenset(kb.facts("path")), range(8)))
    assert set(found) == {expected}
    assert len(rounds) == len(kb.report.rounds)


def test_results_are_read_while_the_knowledge_base_changes() -> None:
    watched(read_results_later)


def read_results_later() -> None:
    kb = knowledge_base()
    facts, answers = kb.facts("path"), kb.query(GOAL)
    expected = frozenset(facts)
    differences = [kb.update(add={"edge": [("a", "b")]}), kb.update(remove={"edge": [("a", "b")]})]
    ended = threading.Event()

    def read(_: int) -> None:
        while not ended.is_set():
            assert frozenset(facts) == frozenset(answers) == expected
            assert ("n1", "n2") in facts
            assert ("a", "b") not in facts
            assert set(differences[0].added["path"]) == set(differences[1].removed["path"]) == {("a", "b")}

    with switching_often(), ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read, number) for number in range(3)]
        for step in range(1, STEPS):
            change(kb, step)
        ended.set()
        for reader in readers:
            reader.result()


def test_threads_have_knowledge_bases_of_their_own() -> None:
    watched(one_each)


def one_each() -> None:
    expected = [{name: read(knowledge_base(step)) for name, read in READERS.items()} for step in range(STEPS)]

    def live(_: int) -> list[object]:
        kb, seen = knowledge_base(), list[object]()
        for step in range(1, STEPS):
            change(kb, step)
            seen.append({name: read(kb) for name, read in READERS.items()})
        return seen

    with switching_often(), ThreadPoolExecutor(4) as pool:
        assert all(seen == expected[1:] for seen in pool.map(live, range(4)))


def test_a_dictionary_grows_while_it_is_read() -> None:
    watched(grow_and_read)


def grow_and_read() -> None:
    dictionary = Dictionary()
    values = [value for n in range(3_000) for value in (f"text {n}", n, n + 0.5, 2**70 + n)]

    def intern(start: int) -> dict[object, int]:
        found = {}
        for i in range(start, start + len(values), 100):
            part = [values[j % len(values)] for j in range(i, i + 100)]
            ids = dictionary.encode(part)
            assert dictionary.decode(ids) == part
            assert [dictionary.find(value) for value in part] == ids.tolist()
            big = dictionary.encode([2**70 + i])
            assert (dictionary.doubles[big] > 2.0**69).all()
            found.update(zip(part, ids.tolist(), strict=True))
        return found

    with switching_often(), ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(intern, [0, 1_000, 4_000, 9_000]))
    assert all(found == ids[0] for found in ids)
    assert len(set(ids[0].values())) == len(values)


@pytest.mark.parametrize("engine", ["local", "naive"])
def test_a_callback_may_ask(engine: str) -> None:
    """The lock is re-entrant: what is called in the middle of a call may use the knowledge base."""
    asked = list[int]()
    kb = KnowledgeBase(RULES, engine=engine, observe=lambda _: asked.append(kb.explicit_facts))
    kb.add("edge", ((f"n{kb.explicit_facts}", "m") for _ in range(3)))
    kb.materialise()
    assert set(asked) <= {1}
    assert kb.count("edge") == 1
