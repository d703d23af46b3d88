"""What a notebook or a prompt shows of values, completion of names, and pickling."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import deltalog
from deltalog import IRI, BlankNode, KnowledgeBase, Literal, UsageError
from deltalog.core.render.html import ROWS, html_preview

PATHS = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."


@pytest.fixture
def kb(engine: str) -> KnowledgeBase:
    kb = KnowledgeBase(PATHS, engine=engine)
    kb.add("edge", [("a", "b"), ("b", "c")])
    return kb


def test_short_texts(kb: KnowledgeBase) -> None:
    assert repr(kb["path"]) == "<3 rows of (X, Y)>"
    assert repr(kb.rules[0]) == "<Rule: path(?X, ?Y) :- edge(?X, ?Y) .>"
    assert repr(kb.report).startswith("<Report: 5 facts (3 derived) in ")
    change = kb.update(add={"edge": [("c", "d")]})
    assert repr(change) == "<Change: added {'edge': 1, 'path': 3}, removed {}>"
    assert "rules +0 -1" in repr(kb.remove_rules("r2"))


def test_a_knowledge_base_shows_what_it_has_and_derives_nothing(kb: KnowledgeBase, engine: str) -> None:
    assert repr(kb) == f"<KnowledgeBase: 2 rules, 2 explicit facts, not materialised, {engine} engine>"
    assert "not materialised" in kb._repr_html_() and "<td" not in kb._repr_html_()
    kb.materialise()
    assert repr(kb) == f"<KnowledgeBase: 2 rules, 2 explicit facts, 5 facts, {engine} engine>"
    assert ">path<" in kb._repr_html_()


def test_everything_has_a_short_text_and_html(kb: KnowledgeBase) -> None:
    change = kb.update(add={"edge": [("c", "d")]})
    assert repr(kb.explain("path(a, d)")) == "<Explanation of path(a, d): derived, height 3>"
    assert repr(kb.explain("path(d, a)")).startswith("<Explanation of path(d, a): does not hold")
    assert repr(kb.program).startswith("<Program: 2 rules in ") and repr(kb.draw()).startswith("<SVG: ")
    assert repr(kb.plan()) == kb.plan() and "<pre" in kb.plan()._repr_html_()
    assert kb.draw()._repr_svg_().startswith("<svg") and "<code>path" in kb.rules[0]._repr_html_()
    solutions = kb.sparql("SELECT ?x { ?x <edge> ?y }")
    assert not isinstance(solutions, bool) and "4 solutions" not in solutions._repr_html_()
    assert "3 solutions of (x)" in solutions._repr_html_()
    assert change.added._ipython_key_completions_() == ["edge", "path"] and ">path<" in change.added._repr_html_()


def test_removed_facts(kb: KnowledgeBase) -> None:
    kb.remove("edge", [("a", "b"), ("never", "given")])
    assert set(kb["path"]) == {("b", "c")} and kb.explicit_facts == 1
    kb.remove("edge", [("b", "c")])
    assert kb.count("path") == 0


def test_tables_of_notebooks(kb: KnowledgeBase) -> None:
    assert "3 rows" in kb["path"]._repr_html_()
    assert "<td" in kb.report._repr_html_() and ">path<" in kb.report._repr_html_()
    html = kb.update(add={"edge": [("c", "d")]})._repr_html_()
    assert "4 facts added, 0 removed" in html and "+3" in html


def test_a_table_is_short_and_escaped() -> None:
    html = html_preview(["<x>"], [[n] for n in range(1000)], 1000, "a & b")
    assert "&lt;x&gt;" in html and "a &amp; b" in html
    assert html.count("<tr>") == ROWS + 1 and f"{1000 - ROWS:,} more" in html
    long = html_preview(["x"], [["<" * 500]], 1)
    assert "<" * 10 not in long and "…" in long


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (IRI("http://e/x"), "&lt;http://e/x&gt;"),
        (BlankNode("b"), "_:b"),
        (Literal("x", language="en"), "&quot;x&quot;@en"),
        (True, "true"),
        (1.5, "1.5"),
        (None, "><"),
    ],
)
def test_values_in_tables(value: object, text: str) -> None:
    assert text in html_preview(["x"], [[value]], 1)


def test_a_knowledge_base_is_a_mapping_of_predicates(kb: KnowledgeBase) -> None:
    assert list(kb) == ["edge", "path"] == kb._ipython_key_completions_()
    assert "path" in kb and "paths" not in kb and 0 not in kb
    assert set(kb["path"]) == {("a", "b"), ("b", "c"), ("a", "c")}
    with pytest.raises(UsageError, match="path"):
        kb["paths"]


def test_names_are_completed() -> None:
    assert {"KnowledgeBase", "Files", "IRI"} <= set(dir(deltalog))
    assert "annotations" not in dir(deltalog)


VALUES: list[tuple[Any, ...]] = [
    ("a", 1),
    (IRI("a"), 1.5),
    (BlankNode("b"), True),
    (Literal("x", language="en"), 2**70),
]


def test_facts_are_pickled(engine: str) -> None:
    kb = KnowledgeBase("", engine=engine)
    kb.add("v", VALUES)
    facts = pickle.loads(pickle.dumps(kb.facts("v")))
    assert sorted(map(repr, facts)) == sorted(map(repr, VALUES)) and len(facts) == 4
    assert ("a", 1) in facts and (IRI("a"), 1) not in facts and ("a", 1.0) not in facts
    assert facts.columns == ("_0", "_1") and facts.to_arrow().num_rows == 4
    assert pickle.loads(pickle.dumps(facts)).columns == facts.columns


def test_answers_are_pickled(kb: KnowledgeBase) -> None:
    assert set(pickle.loads(pickle.dumps(kb.query("path(a, ?x)")))) == {("b",), ("c",)}


def test_changes_are_pickled(kb: KnowledgeBase) -> None:
    change = kb.update(add={"edge": [("c", "d")]}, remove={"edge": [("a", "b")]})
    copy = pickle.loads(pickle.dumps(change))
    assert copy.added.counts() == change.added.counts() and copy.removed.counts() == change.removed.counts()
    assert set(copy.added["path"]) == {("c", "d"), ("b", "d")}
    assert copy.report.seconds == change.report.seconds
