"""Closures, components, inverses and unions: whatever way they are kept in, they are what the naive engine makes of the
same rules and facts, after every change; the change says exactly what is different; and their insides are in order.

Programs are some of the rules below, in any mix, over random graphs; some rules come and go later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

import numpy as np
import pytest
from test_updates import everything, from_nothing, shown, without

from deltalog import KnowledgeBase, Literal, ProgramError
from deltalog.core.terms import Value
from deltalog.core.tuning import Tuning
from deltalog.engines.local.reachability import Graph, Reachability
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import pack
from deltalog.engines.local.table import Table
from deltalog.engines.local.virtual_relation import VirtualInverse, VirtualRelation, VirtualUnion
from deltalog.knowledge_base.calls import session_of

RULES = """
r(X, Z) :- r(X, Y), r(Y, Z).
r(A, B) :- r(C, B), r(A, C), A != B.
r(X, Y) :- e(X, Y).
r(X, Y) :- r(Y, X).
r(X, Y) :- f(X), e(Y, X).
r(X, Z) :- r(X, Y), e(Y, Z).
s(X, Z) :- s(X, Y), s(Y, Z), X != Z.
s(X, Y) :- e(Y, X).
s(X, Y) :- s(Y, X).
s(X, Y) :- g(X, Y).
s(X, Y), f(X) :- g(X, Y), f(Y).
t(X, Y) :- g(X, Y).
t(X, Z) :- t(X, Y), g(Y, Z).
t(X, Z) :- g(X, Y), t(Y, Z).
g(X, Y) :- r(Y, X), f(X).
g(X, Y) :- t(X, Z), e(Z, Y), X != Y.
e(X, Y) :- s(Y, X), f(Y).
i(X, Y) :- r(Y, X).
r(X, Y) :- i(Y, X).
i(X, Y) :- h(X, Y).
i(X, Z) :- i(X, Y), i(Y, Z).
u(X, Y) :- r(X, Y).
u(X, Y) :- s(X, Y).
u(X, Y) :- i(Y, X).
u(X, Y) :- h(X, Y).
u(X, Y) :- f(X), f(Y), e(X, Y).
w(X, Y) :- u(X, Y).
w(X, Y) :- g(X, Y).
h(X, Y) :- w(X, Y), f(X), f(Y).
a(X) :- u(X, Y).
b(Y) :- w(X, Y), f(X).
c(X, Y) :- f(X), f(Y), not r(X, Y).
d(X, N) :- AGGREGATE(s(X, Y) ON X BIND COUNT(Y) AS N).
k(X, Z) :- r(X, Y), s(Y, Z).
l(X) :- r(X, X).
m(X) :- t(1, X), u(X, 2).
""".strip().splitlines()
GUARDED = [
    *(rule for rule in RULES if not rule.startswith(("r(X, Z) :- r(X, Y), r(Y, Z)", "t(X, Z)"))),
    "t(X, Z) :- t(X, Y), g(Y, Z), X != Z.",
    "t(X, Z) :- g(X, Y), t(Y, Z), Z != X.",
    "s(X, Y) :- s(Y, X), X != Y.",
    "i(X, Z) :- i(X, Y), i(Y, Z), X != Z.",
    "g(X, N) :- f(X), AGGREGATE(e(X, Y) ON X BIND MAX(Y) AS N).",
    "g(X, N) :- h(X, Y), N = min(Y, 2).",
]
STEPS = 5
XSD = "http://www.w3.org/2001/XMLSchema#"
MIXED: list[Value] = [1, 1.0, 2.5, Literal("1", XSD + "int"), 2, 2.0, "1", Literal("2.50", XSD + "decimal"), 3, 4.0]


def graph(random: Random, vertices: int) -> set[tuple[int, int]]:
    """Edges of a tree, a path, a cycle, a clique, a random graph, or a few self-loops."""
    kind = random.choice(["tree", "path", "cycle", "clique", "random", "loops"])
    n = vertices
    match kind:
        case "tree":
            return {(random.randrange(i), i) for i in range(1, n)}
        case "path":
            return {(i, i + 1) for i in range(n - 1)}
        case "cycle":
            return {(i, (i + 1) % n) for i in range(n)}
        case "clique":
            return {(i, j) for i in range(min(n, 5)) for j in range(min(n, 5)) if i != j}
        case "loops":
            return {(i, i) for i in range(0, n, 2)} | {(0, 1)}
        case _:
            return {(random.randrange(n), random.randrange(n)) for _ in range(random.randint(0, 2 * n))}


def facts(random: Random, vertices: int) -> dict[str, list[tuple[int, ...]]]:
    found: dict[str, list[tuple[int, ...]]] = {"e": sorted(graph(random, vertices))}
    found["f"] = [(i,) for i in range(vertices) if random.random() < 0.3]
    for predicate in random.sample("grhstui", random.randint(0, 3)):
        found[predicate] = sorted(graph(random, random.randint(2, 4)))
    return {predicate: rows for predicate, rows in found.items() if rows}


def valued(rows: Iterable[tuple[int, ...]], values: Sequence[Value]) -> list[tuple[Value, ...]]:
    return [tuple(values[i] for i in row) for row in rows]


def change(random: Random, kb: KnowledgeBase, rules: list[str], late: list[str], values: Sequence[Value]) -> object:
    choice = random.random()
    if choice < 0.12 and rules:
        rule = rules.pop(random.randrange(len(rules)))
        late.append(rule)
        return kb.remove_rules(rule)
    if choice < 0.3 and late:
        rule = late.pop()
        done = kb.add_rules(rule)
        rules.append(rule)
        return done
    sides: list[dict[str, list[tuple[Value, ...]]]] = [{}, {}]
    vertices = len(values)
    for side in sides:
        for predicate in random.sample("eeeghrstui", random.randint(0, 2)):
            rows = [(random.randrange(vertices), random.randrange(vertices)) for _ in range(random.choice([1, 1, 3]))]
            known = random.random() < 0.7 and predicate == "e" and "e" in kb.predicates
            present = list(kb.facts("e")) if known else []
            side[predicate] = random.sample(present, 1) if present else valued(rows, values)
        if random.random() < 0.2:
            side["f"] = [(random.choice(values),)]
    return kb.update(add=sides[0], remove=sides[1])


def in_order(relation: object) -> None:
    """What has to be true of the insides of a closure."""
    if isinstance(relation, VirtualRelation):
        pairs = {tuple(map(int, pair)) for pair in zip(*relation.columns(), strict=True)}
        assert len(pairs) == relation.size
        assert set(relation.leads(0).tolist()) == {x for x, _ in pairs}
        assert set(relation.leads(1).tolist()) == {y for _, y in pairs}
        for forward in (True, False):
            ids = relation.leads(0 if forward else 1)
            left, values = relation.partners(ids, forward)
            seen = {
                (int(ids[i]), int(v)) if forward else (int(v), int(ids[i])) for i, v in zip(left, values, strict=True)
            }
            assert seen == pairs
    closure = getattr(relation, "closure", None)
    if isinstance(closure, Reachability):
        anew = Graph.of(closure.graph.edges, closure.graph.symmetric)
        now = closure.graph.components
        members = {frozenset(now.ids(np.array([c])).tolist()) for c in range(now.count) if now.sizes(np.array([c]))[0]}
        real = {frozenset(anew.components.ids(np.array([c])).tolist()) for c in range(anew.components.count)}
        isolated = {group for group in members if len(group) == 1}
        assert real <= members <= real | isolated


def agrees(seed: int, way: str, mixed: bool = False) -> None:
    random = Random(seed)
    vertices = random.choice([3, 5, 9])
    values = MIXED[: vertices + 1] if mixed else range(vertices + 1)
    chosen = GUARDED if mixed else RULES
    rules = random.sample(chosen, random.randint(3, 14))
    late = [rule for rule in rules if random.random() < 0.2]
    rules = [rule for rule in rules if rule not in late]
    try:
        kb = KnowledgeBase(
            "\n".join(rules),
            schemes=way,
            tuning=Tuning(closure_listed_max_facts=12, recompute_all_min_changed_share=10.0),
        )
    except ProgramError:
        return
    for predicate, rows in facts(random, vertices).items():
        kb.add(predicate, valued(rows, values))
    before = everything(kb)
    assert before == from_nothing(kb, rules), rules
    for _ in range(STEPS):
        try:
            done = change(random, kb, rules, late, values)
        except ProgramError:
            assert everything(kb) == before, rules
            return
        after = everything(kb)
        assert after == from_nothing(kb, rules), rules
        assert shown(done.added) == without(after, before), rules  # type: ignore[attr-defined]
        assert shown(done.removed) == without(before, after), rules  # type: ignore[attr-defined]
        for table in session_of(kb).state.materialised.relations.parts.values():  # type: ignore[union-attr]
            in_order(table)
        before = after


@pytest.mark.parametrize("way", ["auto", "scheme", "module"])
@pytest.mark.parametrize("batch", range(5))
def test_schemes_agree_with_naive(way: str, batch: int) -> None:
    for seed in range(batch * 40, batch * 40 + 40):
        agrees(seed, way)


@pytest.mark.parametrize("way", ["auto", "scheme", "module"])
def test_guards_over_numbers_of_several_types(way: str) -> None:
    for seed in range(40):
        agrees(seed, way, mixed=True)


def table(pairs: set[tuple[int, int]]) -> Table:
    columns = np.array(sorted(pairs), np.uint32).reshape(-1, 2).T
    return Table.of(np.sort(pack([column.copy() for column in columns], len(pairs))), 2)


def pairs(found: Relation) -> set[tuple[int, int]]:
    first, second = found.columns()
    return set(zip(first.tolist(), second.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_differences_of_unions(seed: int) -> None:
    """Before and after a change of some of their parts, in both directions."""
    random = Random(seed)
    edges, other, third = (graph(random, 8) for _ in range(3))
    gone = {edge for edge in edges if random.random() < 0.3}
    new = graph(random, 9) - edges if random.random() < 0.5 else set()
    closure = Reachability.closing(table(edges), random.random() < 0.3, random.random() < 0.3)
    later = closure.updated(table(edges - gone | new), table(gone), table(new))
    same = table(third)
    before = VirtualUnion([closure, VirtualUnion([table(other), VirtualInverse(closure)]), same])
    after = VirtualUnion([later, VirtualUnion([table(graph(random, 8)), VirtualInverse(later)]), same])
    assert pairs(before.minus(after)) == pairs(before) - pairs(after)
    assert pairs(after.minus(before)) == pairs(after) - pairs(before)
