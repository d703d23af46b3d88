"""Facts with names that SKOLEM made, under changes: what a name was made of is remembered, and the answers are right
whether it is or not."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from conftest import as_sets
from hypothesis import given
from random_values import values

from deltalog import BlankNode, KnowledgeBase
from deltalog.core.terms import Value, key
from deltalog.core.tuning import Tuning
from deltalog.engines.local import column_expressions
from deltalog.engines.local.skolem_cache import NamedTerms, SkolemCache
from deltalog.functions.skolem import skolem, skolem_part
from deltalog.knowledge_base.calls import session_of

PROGRAM = """
    pair(?e), of(?e, ?x), of(?e, ?y) :- edge(?x, ?y), BIND(SKOLEM("pair", ?x, ?y) AS ?e).
    pair(?e) :- kind(?k), edge(?x, ?y), BIND(SKOLEM(?k, ?x, ?y) AS ?e).   # the same names, by another form
    pair(?e) :- given(?e).
    loop(?e) :- edge(?x, ?x), BIND(SKOLEM("pair", ?x, ?x) AS ?e).
    sum(?e, ?v) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x), BIND(?x + ?z AS ?v), BIND(SKOLEM("sum", ?v, ?y) AS ?e).
    node(?x, ?e) :- start(?x), BIND(SKOLEM("node", ?x) AS ?e).
    node(?y, ?f) :- node(?x, ?e), edge(?x, ?y), BIND(SKOLEM("node", ?y) AS ?f).
    node(?y, ?f) :- node(?x, ?e), edge(?x, ?y), edge(?y, ?z), edge(?z, ?x), BIND(SKOLEM("tri", ?x, ?y) AS ?f).
    named(?f) :- node(?x, ?e), NOT loop(?e), BIND(SKOLEM("n", ?e) AS ?f).
"""


def everything(kb: KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def filled(engine: str, facts: dict[str, set[tuple[Any, ...]]], **options: Any) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM, engine=engine, **options)
    for predicate, rows in facts.items():
        kb.add(predicate, sorted(rows, key=str))
    return kb


def some(random: Random) -> dict[str, set[tuple[Any, ...]]]:
    number, name = lambda: random.randint(0, 3), lambda: skolem("pair", number(), number())
    return {
        "edge": {(number(), number()) for _ in range(random.randint(1, 8))},
        "kind": {("pair",)} if random.random() < 0.5 else {("other",)},
        "given": {(name(),) for _ in range(random.randint(0, 3))} | {(number(),)},
        "start": {(number(),)},
    }


@pytest.mark.parametrize("remembered", [0, 1 << 18])
@pytest.mark.parametrize("maintenance", ["dred", "bf", "auto"])
@pytest.mark.parametrize("cyclic", ["standard", "hypertree"])
def test_random_changes(remembered: int, maintenance: str, cyclic: str) -> None:
    tuning = Tuning(skolem_cache_names=remembered)
    for seed in range(4):
        random = Random(seed)
        facts = some(random)
        kb = filled("local", facts, maintenance=maintenance, cyclic=cyclic, tuning=tuning)
        kb.materialise()
        if seed % 2:  # by then it may be forgotten how names came about
            session_of(kb).backend.vectors.skolems = SkolemCache(tuning)
        for _ in range(4):
            add, remove = some(random), some(random)
            kb.update(add, remove)
            facts = {predicate: (rows - remove[predicate]) | add[predicate] for predicate, rows in facts.items()}
            assert everything(kb) == everything(filled("naive", facts))


def test_a_small_deletion_makes_few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether made(?e) still holds is asked of what ?e was made of, not of everything that could be made."""
    kb = KnowledgeBase('made(?e) :- edge(?x, ?y), BIND(SKOLEM("e", ?x) AS ?e).')
    kb.add("edge", [(i, j) for i in range(500) for j in range(2)])
    kb.materialise()
    made = []
    compute = column_expressions.skolem_names
    monkeypatch.setattr(
        column_expressions, "skolem_names", lambda *given: made.append(len(given[-1])) or compute(*given)
    )
    change = kb.update(remove={"edge": [(7, 0), (8, 0), (8, 1)]})
    assert list(change.removed["made"]) == [(skolem("e", 8),)]
    assert sum(made) == 2


def test_a_name_from_elsewhere_is_looked_for_everywhere() -> None:
    kb = KnowledgeBase('made(?e) :- edge(?x, ?y), BIND(SKOLEM("e", ?x) AS ?e).  made(?e) :- given(?e).')
    kb.add("edge", [(1, 2)])
    kb.add("given", [(skolem("e", 1),), (skolem("e", 2),), (BlankNode("b"),), (5,)])
    kb.materialise()
    change = kb.update(remove={"given": [(skolem("e", 1),), (skolem("e", 2),), (BlankNode("b"),), (5,)]})
    assert set(change.removed["made"]) == {(skolem("e", 2),), (BlankNode("b"),), (5,)}


def test_the_last_names_are_remembered() -> None:
    memory = SkolemCache(Tuning(skolem_cache_names=200))

    def ids(*numbers: int) -> Any:
        return np.array(numbers, np.uint32)

    for i in range(10):
        memory.remember(NamedTerms((0,), (ids(i, 10 + i),), ids(100 + i, 110 + i)))
    found = memory.inverse((0,), ids(109, 118), 200)
    assert found is not None
    assert sorted(zip(*(column.tolist() for column in found), strict=True)) == [(9, 109), (18, 118)]
    assert memory.inverse((0,), ids(100), 200) is None  # forgotten
    assert memory.inverse((1,), ids(109), 200) is None  # another form
    assert [len(column) for column in memory.inverse((0,), ids(), 200) or ()] == [0, 0]


@given(values, values)
def test_distinct_values_have_distinct_names(one: Value, other: Value) -> None:
    assert (key(one) == key(other)) == (skolem_part(one) == skolem_part(other))
