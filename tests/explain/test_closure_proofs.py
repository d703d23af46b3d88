"""Proofs in transitive relations on random graphs, against the independent checker: least height whatever the form of
the rules, the heights of edges and the way in which the relation is stored."""

from __future__ import annotations

from random import Random

import pytest

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning
from deltalog.extensions.explain.closures import arranged, splits, tree_height
from tests.explain.proof_checker import World, key_of

TRANSITIVE = "r(?x, ?z) :- r(?x, ?y), r(?y, ?z)."
EDGES = "r(?x, ?y) :- e(?x, ?y)."
FORMS = {
    "nonlinear": [EDGES, TRANSITIVE],
    "turned": [EDGES, "r(?x, ?z) :- r(?y, ?z), r(?x, ?y)."],
    "guarded": [EDGES, "r(?x, ?z) :- r(?x, ?y), r(?y, ?z), ?x != ?z."],
    "explicit edges": [TRANSITIVE],
    "edges of two heights": [EDGES, "r(?x, ?y) :- f(?x, ?y).", "f(?x, ?y) :- g(?y, ?x).", TRANSITIVE],
    "symmetric": [EDGES, TRANSITIVE, "r(?x, ?y) :- r(?y, ?x)."],
    "symmetric, guarded": [EDGES, "r(?x, ?z) :- r(?x, ?y), r(?y, ?z), ?x != ?z.", "r(?x, ?y) :- r(?y, ?x)."],
    "inverse": [EDGES, TRANSITIVE, "s(?x, ?y) :- r(?y, ?x).", "r(?x, ?y) :- s(?y, ?x).", "s(?x, ?y) :- g(?x, ?y)."],
    "both transitive": [
        *(EDGES, TRANSITIVE, "s(?x, ?y) :- r(?y, ?x).", "r(?x, ?y) :- s(?y, ?x)."),
        "s(?x, ?z) :- s(?x, ?y), s(?y, ?z).",
    ],
    "linear, too": [EDGES, TRANSITIVE, "r(?x, ?z) :- r(?x, ?y), e(?y, ?z).", "r(?x, ?z) :- r(?x, ?y), g(?y, ?z)."],
    "right linear": [EDGES, "r(?x, ?z) :- e(?x, ?y), r(?y, ?z)."],
    "left linear": [EDGES, "r(?x, ?z) :- r(?x, ?y), e(?y, ?z)."],
    "mutual": [
        EDGES,
        TRANSITIVE,
        "r(?x, ?y) :- u(?x), t(?x, ?y).",
        "t(?x, ?y) :- r(?y, ?x), g(?x, ?y).",
        "u(?x) :- e(?x, ?y).",
    ],
    "two rules": [EDGES, TRANSITIVE, "r(?a, ?c) :- r(?a, ?b), r(?b, ?c), ?a != ?c."],
    "two heads": ["r(?x, ?y), q(?x) :- e(?x, ?y).", TRANSITIVE],
    "union": [EDGES, TRANSITIVE, "v(?x, ?y) :- r(?x, ?y).", "v(?x, ?y) :- g(?x, ?y)."],
    "triples": [
        "<http://e.x/r>(?x, ?y) :- e(?x, ?y).",
        "<http://e.x/r>(?x, ?z) :- <http://e.x/r>(?x, ?y), <http://e.x/r>(?y, ?z).",
        "r(?x, ?p) :- [?x, ?p, ?y].",
    ],
}
VIRTUAL = Tuning(closure_listed_max_facts=0, closure_listed_max_facts_per_edge=0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("schemes", ["standard", "scheme", "module"])
def test_proofs_are_of_least_height(form: str, schemes: str) -> None:
    for seed in range(3):
        random = Random(seed)
        facts = graph(random, explicit=form == "explicit edges" or random.random() < 0.3)
        kb = KnowledgeBase("\n".join(FORMS[form]), schemes=schemes, tuning=VIRTUAL)
        for name, rows in facts.items():
            kb.add(name, rows)
        kb.materialise()
        every = {key_of(name, row) for name in kb.predicates for row in kb.facts(name)}
        given = {key_of(name, row) for name, rows in facts.items() for row in rows}
        world = World(kb.rule_ids, given, every)
        for name, row in random.sample(sorted(every - given, key=repr), min(12, len(every - given))):
            world.check(kb.explain(name, tuple(constant.value for constant in row)))


def graph(random: Random, explicit: bool) -> dict[str, list[tuple[int, int]]]:
    """A path of nine vertices with some other edges; some of them are explicit facts of r, or in g and not in e."""
    path = [(i, i + 1) for i in range(8)]
    others = [(random.randrange(9), random.randrange(9)) for _ in range(random.choice((0, 2, 5)))]
    edges = sorted({*path, *others})
    kinds = {edge: random.choice("eeegr" if explicit else "eeeeg") for edge in edges}
    facts = {kind: [edge for edge in edges if kinds[edge] == kind] for kind in "egr"}
    return {name: rows for name, rows in facts.items() if rows}


def test_a_long_path_is_a_balanced_tree() -> None:
    kb = KnowledgeBase(TRANSITIVE)
    kb.add("r", [(i, i + 1) for i in range(1000)])
    (proof,) = kb.explain("r(0, 1000)").proofs
    assert proof.height == 10
    assert proof.steps == 1999
    assert kb.explain("r(0, 512)").height == 9
    assert kb.explain("r(0, 513)").height == 10


def test_a_long_chain_of_linear_steps() -> None:
    kb = KnowledgeBase(f"{EDGES} r(?x, ?z) :- e(?x, ?y), r(?y, ?z).")
    kb.add("e", [(i, i + 1) for i in range(1200)])
    (proof,) = kb.explain("r(0, 1200)").proofs
    assert proof.height == 1200
    assert proof.steps == 2400


def test_trees_are_of_least_height() -> None:
    """Against all ways to split a sequence of edges in two."""

    def least(heights: tuple[int, ...]) -> int:
        if len(heights) == 1:
            return heights[0]
        return min(1 + max(least(heights[:i]), least(heights[i:])) for i in range(1, len(heights)))

    random = Random(0)
    for _ in range(200):
        heights = tuple(random.choice((0, 0, 1, 2, 3)) for _ in range(random.randint(1, 8)))
        assert tree_height(heights) == least(heights)
        found = {(i, i + 1): height for i, height in enumerate(heights)}
        for first, middle, last in reversed(list(splits(heights))):
            found[first, last] = 1 + max(found[first, middle], found[middle, last])
        assert found[0, len(heights)] == least(heights)
        assert arranged(heights)[-1] <= 1 << least(heights)
