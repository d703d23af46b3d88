"""Parallel work inside of parallel work, and exceptions in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from algebra import LEAVES, OPERATORS, C, E, X, Y, distinct_rows, nested
from watchdog import watched

from deltalog import KnowledgeBase, LimitReached
from deltalog.core.limits import Limits
from deltalog.core.terms import Value, key
from deltalog.core.tuning import Tuning
from deltalog.engines.local import LocalBackend
from deltalog.engines.local.table import Table
from deltalog.engines.local.workers import Workers, _Batch
from deltalog.evaluation.backend import run
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.plan.ir import Part, Plan, columns
from deltalog.program.schemes import Scheme, SchemeKind

PATIENCE = 500  # seconds that a thread waits for another on a busy machine

# Batches inside of batches.


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_nested_batches_end(threads: int) -> None:
    watched(nest, threads)


def nest(threads: int) -> None:
    workers = Workers(threads, 2)

    def leaves(depth: int) -> int:
        return sum(workers.map(leaves, [depth - 1] * 5)) if depth else 1

    for _ in range(20):
        assert leaves(4) == 5**4


def test_results_are_in_order() -> None:
    assert Workers(4, 2).map(lambda n: -n, range(1000)) == [-n for n in range(1000)]


@pytest.mark.parametrize("error", [ValueError, LimitReached, KeyboardInterrupt])
@pytest.mark.parametrize("first", [True, False], ids=["in the caller", "in a thread of the pool"])
def test_an_exception_reaches_the_caller_and_ends_the_batch(
    error: type[BaseException], first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers, begun = Workers(2, 2), list[int]()
    here, barrier, ended = threading.current_thread(), threading.Barrier(2), threading.Event()
    end = _Batch._end

    def end_and_tell(batch: _Batch[int, int], failed: BaseException | None) -> None:
        end(batch, failed)
        ended.set()

    def task(number: int) -> int:
        begun.append(number)
        barrier.wait(PATIENCE)  # one task in each thread
        if (threading.current_thread() is here) is first:
            raise error("here")
        assert ended.wait(PATIENCE)  # the other thread has ended the batch
        return number

    monkeypatch.setattr(_Batch, "_end", end_and_tell)
    with pytest.raises(error, match="here"):
        workers.map(lambda n: workers.map(task, range(10_000)) if n == 0 else [], range(1))
    assert sorted(begun) == [0, 1]
    assert workers.map(abs, [-1, -2, -3]) == [1, 2, 3]


def test_without_threads_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert Workers(4, 2).map(abs, range(-9, 0)) == list(range(9, 0, -1))


# Every operator of the algebra inside of every other, at sizes that are dealt out to threads.


FACTS: list[tuple[Value, ...]] = [(n, (n * 5 + k) % 9) for n in range(9) for k in range(0, n % 3 + 1)]
CLOSED: list[tuple[Value, ...]] = [(0, 1), (1, 2), (2, 3), (5, 6), (6, 5), (7, 8)]


LOW = Tuning(
    parallel_min_rows=2,
    nested_loop_max_leaf_rows=0,
    small_table_rows=0,
    lookup_cost_rows=10**9,
    product_min_candidates_per_row=0,
    morsel_rows=3,
)
DENSE = replace(LOW, bit_matrix_min_bits_per_word=0)


class Plans:
    """Runs plans with the lowest thresholds, and checks what they give."""

    def __init__(self, threads: int, dense: bool = False) -> None:
        self.backend = LocalBackend(Limits(), threads=threads, tuning=DENSE if dense else LOW)
        backbone, pairs = (encode_rows(self.backend.codec, facts) for facts in (CLOSED, FACTS))
        scheme = Scheme(C, SchemeKind.CLOSURE, (C,))
        closure = required(self.backend.capabilities.virtual_relations).build(scheme, [backbone])
        self.tables: dict[tuple[object, Part], Table] = {(E, Part.ALL): pairs, (C, Part.ALL): closure}
        self.relations = {E: FACTS, C: list(self.rows(closure, 2))}

    def rows(self, table: Table, arity: int) -> Iterator[tuple[Value, ...]]:
        return zip(*(self.backend.codec.values(column) for column in table.columns()[:arity]), strict=True)

    def check(self, name: str, plan: Plan) -> None:
        found = run(self.backend, plan, self.tables)  # type: ignore[arg-type]
        rows = {tuple(map(key, row)) for row in self.rows(found, len(columns(plan)))}
        assert rows == distinct_rows(plan, self.relations), name


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_every_operator_inside_of_every_other(dense: bool) -> None:
    watched(all_pairs, dense)


def all_pairs(dense: bool) -> None:
    plans = Plans(threads=3, dense=dense)
    for name, plan in nested(2):
        if not dense or "join" in name:
            plans.check(name, plan)


def test_random_nestings() -> None:
    watched(random_nestings, 300)


def random_nestings(many: int) -> None:
    random, plans = Random(14), Plans(threads=2)
    for _ in range(many):
        name, plan = random.choice(list(LEAVES.items()))
        for _ in range(random.randint(3, 5)):
            operator = random.choice(list(OPERATORS))
            name, plan = f"{operator}({name})", OPERATORS[operator](plan)
        plans.check(name, plan)


def test_there_are_as_many_columns_as_operators_expect() -> None:
    for name, plan in nested(1):
        assert columns(plan) == (X, Y), name


# The same with default options, at sizes above the default threshold.


def test_a_large_update_checks_an_aggregate() -> None:
    watched(large_update)


def large_update() -> None:
    many = 200_000
    kb = KnowledgeBase("h(X, N) :- AGGREGATE(e(X, Y) ON X BIND COUNT(Y) AS N).", threads=2)
    kb.add("e", pa.table({"x": np.arange(many) // 2, "y": np.arange(many) % 2}))
    kb.add("e", pa.table({"x": np.arange(10 * many) + many, "y": np.zeros(10 * many, int)}))
    kb.materialise()
    change = kb.update(remove={"e": pa.table({"x": np.arange(40_000), "y": np.zeros(40_000, int)})})
    assert len(change.removed["h"]) == len(change.added["h"]) == 40_000
    assert (5, 1) in change.added["h"]
    assert (5, 2) in change.removed["h"]


@pytest.mark.parametrize("method", ["magic", "materialised", "auto"])
def test_a_large_goal_has_two_aggregates(method: str) -> None:
    watched(large_goal, method)


def large_goal(method: str) -> None:
    many = 100_000
    kb = KnowledgeBase("", threads=2)
    kb.add("e", pa.table({"x": np.arange(many) // 2, "y": np.arange(many) % 1000}))
    goal = "e(?x, ?y), AGGREGATE(e(?x, ?z) ON ?x BIND COUNT(?z) AS ?n), AGGREGATE(e(?x, ?w) ON ?x BIND MAX(?w) AS ?k)"
    answers = kb.query(goal, method=method)
    assert len(answers) == many
    assert (7, 14, 2, 15) in answers
