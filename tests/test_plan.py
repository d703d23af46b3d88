"""Plans: the order of joins, what becomes a semi-join, when conditions are applied, and how it is shown."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from random import Random

import pytest

from deltalog import KnowledgeBase
from deltalog.core.rules import Atom, Constant, Pred, Variable, variables
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.join_order import StepNote, _from_delta, _Planner, _scan, plan_body
from deltalog.evaluation.plan.rule_graph_svg import draw
from deltalog.evaluation.plan.statistics import CachedStatistics
from deltalog.evaluation.seminaive import Relations
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.deltalog.parser import parse
from deltalog.program import analyse


class Sizes:
    """Statistics of relations that do not exist: rows, and distinct values per column."""

    tuning = Tuning()

    def __init__(self, **sizes: tuple[float, ...]) -> None:
        self.sizes = sizes

    def size(self, pred: Pred, part: Part = Part.ALL) -> float:
        rows = self.sizes.get(pred.name, (1000.0,))[0]
        return rows / 100 if part is Part.DELTA else rows

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        given = self.sizes.get(pred.name, (1000.0,))[1:]
        return min(self.size(pred, part), given[column] if column < len(given) else self.size(pred, part))


def steps(rule: str, parts: dict[int, Part] | None = None, **sizes: tuple[float, ...]) -> list[StepNote]:
    """The steps of a rule's body over relations of these sizes."""
    (node,) = analyse(parse(rule)).hyper_nodes
    (planned,) = node.rules
    live = [v for head in planned.heads for v in variables(head)]
    return list(plan_body(planned.body, live, Sizes(**sizes), parts).notes)


def shown(notes: list[StepNote]) -> list[str]:
    return [f"{note.action} {getattr(note.literal, 'name', '')}".strip() for note in notes]


def test_the_smallest_relation_comes_first() -> None:
    rule = "h(X, W) :- big(X, Y), middle(Y, Z), small(Z, W)."
    notes = steps(rule, big=(1e6, 1e5, 1e5), middle=(1e4, 1e3, 1e3), small=(10, 10, 10))
    assert shown(notes) == ["scan small", "join middle", "join big"]


def test_constants_select() -> None:
    notes = steps("h(X, Z) :- p(X, Y), q(Y, Z), p(a, Y).", p=(1e6, 1e5, 1e5), q=(1e6, 1e5, 1e5))
    assert notes[0].literal is not None
    assert "a" in str(notes[0].literal)


@pytest.mark.parametrize(
    "body",
    [
        "a(X, Y), b(Z, W), c(Y, Z)",
        "a(X, Y), b(Z, W), c(Y, U), d(U, V), e(V, Z)",
        "big(X, Y), tiny(Z), link(Y, Z), tiny(X)",
        "a(X, Y), b(Y, Z), c(Z, X), tiny(W), link(W, X)",
    ],
)
def test_no_cross_product_where_a_connected_order_exists(body: str) -> None:
    sizes = {"tiny": (1.0, 1.0), "big": (1e6, 1e6, 1e6)}
    bound: set[str] = set()
    for number, note in enumerate(steps(f"h(X, Z) :- {body}.", None, **sizes)):
        names = {v.name for v in variables(note.literal)}
        assert number == 0 or names & bound, shown([note])
        bound |= names


def test_a_cross_product_where_there_is_no_other_way() -> None:
    assert shown(steps("h(X, Y) :- p(X), q(Y).", p=(10, 10), q=(5, 5))) == ["scan q", "join p"]


def test_existential_variables_are_semi_joins() -> None:
    notes = steps("h(X) :- p(X, Y), q(Y, Z).", p=(10, 10, 10), q=(1e6, 1e3, 1e6))
    assert shown(notes) == ["scan p", "semi-join q"]
    notes = steps("h(X, Z) :- p(X, Y), q(Y, Z), r(X, _), s(_, Z).", p=(10, 10, 10))
    assert {"semi-join r", "semi-join s"} <= set(shown(notes))


def test_conditions_come_as_early_as_they_can() -> None:
    notes = steps("h(X, W) :- p(X, Y), q(Y, Z), r(Z, W), X > 3, Z != 5, not s(X).", p=(10, 10, 10), q=(1e5, 1e5, 1e5))
    actions = [note.action for note in notes]
    assert actions[0] == "scan"
    assert set(actions[1:3]) == {"filter", "anti-join"}  # X > 3 and not s(X), before the first join
    assert actions[3:] == ["join", "filter", "join"]


def test_the_delta_comes_first() -> None:
    parts = {0: Part.OLD, 1: Part.DELTA}
    notes = steps("h(X, Z) :- p(X, Y), q(Y, Z).", parts, p=(10, 10, 10), q=(1e6, 1e6, 1e6))
    assert shown(notes) == ["scan q", "join p"]
    assert [note.part for note in notes] == [Part.DELTA, Part.OLD]


def test_look_ups_know_their_index() -> None:
    notes = steps("h(X) :- p(X, Y), q(a, Z, Y).", p=(10, 10, 10), q=(1e6, 1e3, 1e3, 1e6))
    assert [note.bound for note in notes] == [(), (0, 2)]


# What people see.

PLAN = """\
3 rules in 3 hyper-nodes

hyper-node 1 of 3, depth 0: applied once
  path(?X, ?Y) :- edge(?X, ?Y) .
     1. scan      edge(?X, ?Y)  ~3 rows

hyper-node 2 of 3, depth 1: recursive, semi-naive to the fixpoint
  path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .
    when path is new:
     1. scan      path(?X, ?Y) [delta]  ~N rows
     2. join      edge(?Y, ?Z)  by index (1, 2), 1 bound  ~N rows

hyper-node 3 of 3, depth 2: applied once
  reach(?X, ?N) :- AGGREGATE(path(?X, ?Y), NOT edge(?Y, ?X) ON ?X BIND COUNT(?Y) AS ?N) .
         1. scan      path(?X, ?Y)  ~N rows
         2. anti-join NOT edge(?Y, ?X)  by index (1, 2), 2 bound  ~N rows
     1. aggregate AGGREGATE(path(?X, ?Y), NOT edge(?Y, ?X) ON ?X BIND COUNT(?Y) AS ?N)  ~N rows"""

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
reach(X, N) :- AGGREGATE(path(X, Y), not edge(Y, X) ON X BIND COUNT(Y) AS N).
"""


def test_explain() -> None:
    kb = KnowledgeBase(PROGRAM, schemes="standard")
    kb.add("edge", [("a", "b"), ("b", "c"), ("c", "d")])
    first, rest = kb.plan().split("\n\n", 1)
    text = "\n\n".join([first, *(re.sub(r"~[\d,]+ rows", "~N rows", part) for part in rest.split("\n\n"))])
    assert text == PLAN.replace("~3 rows", "~N rows")
    assert "edge(?X, ?Y)  ~3 rows" in rest


def test_explaining_derives_nothing() -> None:
    kb = KnowledgeBase(PROGRAM, observe=lambda _: pytest.fail("evaluated"))
    kb.add("edge", [("a", "b")])
    kb.plan()


def test_real_statistics_decide() -> None:
    kb = KnowledgeBase("h(X, Z) :- p(X, Y), q(Y, Z).")
    kb.add("p", [(i, i % 7) for i in range(500)])
    kb.add("q", [(1, 2)])
    assert re.search(r"1\. scan +q\(.*\n +2\. join +p\(.*by index \(2, 1\), 1 bound", kb.plan())


def test_statistics_of_real_tables() -> None:
    kb = KnowledgeBase()
    kb.add("p", [(i, i % 7) for i in range(500)])
    relations: Relations[object] = session_of(kb).materialised().relations
    pred = Pred("p", 2)
    assert relations.size(pred) == 500
    assert relations.distinct(pred, Part.ALL, 0) == 500
    assert relations.distinct(pred, Part.ALL, 1) == 7


def test_prefixes_make_plans_readable() -> None:
    kb = KnowledgeBase(
        'PREFIX : <http://e/>  :D[?x] :- :C[?x], <http://f/q>(?x, "<http://e/C>").  :C[:a].  '
        "[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], :sub[?c, ?d]."
    )
    text = kb.plan()
    assert ':D(?x) :- :C(?x), <http://f/q>(?x, "<http://e/C>") .' in text
    assert "rdf:type(?x, ?d) :- rdf:type(?x, ?c), :sub(?c, ?d) ." in text
    assert "+ 4 rules between triples and predicates" in text


def test_an_aggregate_among_other_literals() -> None:
    text = KnowledgeBase("h(X, N) :- p(X), AGGREGATE(q(X, Y), Y > 3 ON X BIND COUNT(Y) AS N).").plan()
    assert "h(?X, ?N) :- p(?X), {AGGREGATE(q(?X, ?Y), ?Y > 3 ON ?X BIND COUNT(?Y) AS ?N)}(?X, ?N) ." in text
    assert "\\u" not in text


# The picture.

SVG = "{http://www.w3.org/2000/svg}"


def picture(program: str) -> ElementTree.Element:
    return ElementTree.fromstring(draw(analyse(parse(program))))


def test_picture() -> None:
    root = picture(PROGRAM + 'odd(X) :- path(X, "<&>"), not reach(X, 1).')
    boxes, arrows = root.findall(f"{SVG}g/{SVG}rect"), root.findall(f"{SVG}path")
    assert len(boxes) == 4
    assert sum(arrow.get("class") == "warning" for arrow in arrows) == 3  # an aggregate's, twice, and a negation's
    assert any('"<&>"' in (text.text or "") for text in root.iter(f"{SVG}text"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in boxes:
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= width
        assert float(box.attrib["y"]) + float(box.attrib["height"]) <= height


def test_boxes_do_not_overlap() -> None:
    root = picture("".join(f"p{i}(X) :- q{i % 3}(X).\nr{i % 4}(X) :- p{i}(X), r{i % 4}(X).\n" for i in range(60)))
    boxes = [
        tuple(float(b.attrib[k]) for k in ("x", "y", "width", "height")) for b in root.iterfind(f"{SVG}g/{SVG}rect")
    ]
    assert max(x + w for x, _, w, _ in boxes) < 1900
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, s, t in boxes[:i]:
            assert x + w <= u or u + s <= x or y + h <= v or v + t <= y


def test_a_picture_of_nothing_and_of_very_much() -> None:
    assert picture("").tag == f"{SVG}svg"
    long = ", ".join(f"q{i}(X)" for i in range(60))
    many = "".join(f"p(X) :- p(X), q{i}(X).\n" for i in range(40))
    text = draw(analyse(parse(f"p(X) :- {long}.\n{many}")))
    assert "…" in text
    assert "more" in text
    ElementTree.fromstring(text)


def test_bodies_of_one_or_two_atoms_have_the_plans_of_the_planner() -> None:
    random, x = Random(1), [Variable(name) for name in "xyz"]
    sizes = Sizes(a=(20_000.0, 10.0, 500.0), b=(50.0, 7.0, 50.0), c=(0.0,))
    for _ in range(2_000):
        terms = [random.choices([*x, Constant(1)], k=random.choice((0, 1, 2, 2, 3))) for _ in range(2)]
        body = tuple(Atom(random.choice("abc"), tuple(each)) for each in terms)
        delta = random.randrange(2)
        parts = {delta: Part.DELTA, **({0: Part.OLD} if delta and random.random() < 0.5 else {})}
        live = frozenset(v for v in x if random.random() < 0.5 and any(v in atom.terms for atom in body))
        planner = _Planner(body, live, CachedStatistics.of(sizes), parts, multiway=False)
        assert _from_delta(body, live, sizes, parts) == planner.best()
        alone = _Planner(body[:1], live, CachedStatistics.of(sizes), {0: Part.DELTA}, multiway=False)
        assert _scan(body[0], Part.DELTA, sizes) == alone.best()


def test_the_plan_of_a_cyclic_rule_over_few_facts() -> None:
    """Its relations are too small for a decomposition to be looked for."""
    kb = KnowledgeBase("triangle(X, Y, Z) :- a(X, Y), b(Y, Z), c(Z, X).")
    for name in "abc":
        kb.add(name, [(1, 2), (2, 1)])
    assert "    by joins (estimated " in kb.plan()
