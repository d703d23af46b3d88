"""Wrong arguments: every public call refuses them with a DeltalogError that says what to pass, and changes nothing."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltalog import IRI, BlankNode, DeltalogError, Files, KnowledgeBase, Literal, UsageError

RULES = "PREFIX : <http://e.org/> path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). big(X) :- :Dog(X)."
FACTS = {("a", "b"), ("b", "c")}


def made() -> KnowledgeBase:
    kb = KnowledgeBase(RULES)
    kb.add("edge", FACTS)
    kb.materialise()
    return kb


def contents(kb: KnowledgeBase) -> Any:
    return {name: set(kb.facts(name)) for name in kb.predicates}, kb.rule_ids, dict(kb.prefixes)


CALLS: dict[str, Callable[[KnowledgeBase, Any], Any]] = {
    "KnowledgeBase(x)": lambda kb, x: KnowledgeBase(x),
    "KnowledgeBase([x])": lambda kb, x: KnowledgeBase([x]),
    "language": lambda kb, x: KnowledgeBase("", language=x),
    "include_dirs": lambda kb, x: KnowledgeBase("", include_dirs=x),
    "macros": lambda kb, x: KnowledgeBase("", macros=x),
    "a macro": lambda kb, x: KnowledgeBase("", macros={"N": x}),
    "engine": lambda kb, x: KnowledgeBase("", engine=x),
    "timeout": lambda kb, x: KnowledgeBase("", timeout=x),
    "max_facts": lambda kb, x: KnowledgeBase("", max_facts=x),
    "memory": lambda kb, x: KnowledgeBase("", memory=x),
    "maintenance": lambda kb, x: KnowledgeBase("", maintenance=x),
    "ontology": lambda kb, x: KnowledgeBase("", ontology=x),
    "profile": lambda kb, x: KnowledgeBase("", profile=x),
    "tuning": lambda kb, x: KnowledgeBase("", tuning=x),
    "observe": lambda kb, x: KnowledgeBase("", observe=x),
    "open": lambda kb, x: KnowledgeBase.open(x),
    "open version": lambda kb, x: KnowledgeBase.open("nowhere", version=x),
    "add predicate": lambda kb, x: kb.add(x, [("a", "b")]),
    "add rows": lambda kb, x: kb.add("edge", x),
    "add row": lambda kb, x: kb.add("edge", [x]),
    "add value": lambda kb, x: kb.add("edge", [(x, "b")]),
    "add graph": lambda kb, x: kb.add("http://e.org/p", [(IRI("a"), "b")], graph=x),
    "remove predicate": lambda kb, x: kb.remove(x, [("a", "b")]),
    "remove rows": lambda kb, x: kb.remove("edge", x),
    "load": lambda kb, x: kb.load(x),
    "load base": lambda kb, x: kb.load("nowhere", base=x),
    "Files.of": lambda kb, x: Files.of(x),
    "update add": lambda kb, x: kb.update(add=x),
    "update remove": lambda kb, x: kb.update(remove=x),
    "update rows": lambda kb, x: kb.update(add={"edge": x}),
    "update row": lambda kb, x: kb.update(remove={"edge": [x]}),
    "what_if": lambda kb, x: kb.what_if(x, x, x, x),
    "add_rules": lambda kb, x: kb.add_rules(x),
    "remove_rules": lambda kb, x: kb.remove_rules(x),
    "remove_rules([x])": lambda kb, x: kb.remove_rules([x]),
    "change": lambda kb, x: kb.change(add_rules=x, remove_rules=x),
    "facts": lambda kb, x: kb.facts(x),
    "derived": lambda kb, x: kb.derived(x),
    "kb[x]": lambda kb, x: kb[x],
    "x in kb": lambda kb, x: x in kb,
    "count": lambda kb, x: kb.count(x),
    "arity": lambda kb, x: kb.arity(x),
    "x in facts": lambda kb, x: x in kb.facts("edge"),
    "row in facts": lambda kb, x: (x, "b") in kb.facts("edge"),
    "page": lambda kb, x: kb.facts("edge").page(x, x),
    "lines": lambda kb, x: list(kb.facts("edge").lines(x)),
    "named": lambda kb, x: kb.facts("edge").named(x),
    "write": lambda kb, x: kb.write(x),
    "write format": lambda kb, x: kb.write("nowhere", x),
    "write only": lambda kb, x: kb.write("nowhere", "nothing", only=x),
    "save": lambda kb, x: kb.save(x),
    "query": lambda kb, x: kb.query(x),
    "query method": lambda kb, x: kb.query("path(a, ?x)", x),
    "query timeout": lambda kb, x: kb.query("path(a, ?x)", timeout=x),
    "sparql": lambda kb, x: kb.sparql(x),
    "sparql dataset": lambda kb, x: kb.sparql("SELECT * { ?x ?y ?z }", dataset=x),
    "sparql_update": lambda kb, x: kb.sparql_update(x),
    "load_from": lambda kb, x: kb.sparql_update("LOAD <file:///nowhere.ttl>", load_from=x),
    "plan_goal": lambda kb, x: kb.plan_goal(x),
    "estimate": lambda kb, x: kb.training.estimate(x),
    "learn": lambda kb, x: kb.training.learn(x),
    "training_goals": lambda kb, x: kb.training.goals(x),
    "test_goals": lambda kb, x: kb.training.test_goals(x),
    "explain": lambda kb, x: kb.explain(x),
    "explain values": lambda kb, x: kb.explain("path", x),
    "explain value": lambda kb, x: kb.explain("path", (x, "b")),
    "explain all": lambda kb, x: kb.explain("path(a, b)", all=x),
    "explain depth": lambda kb, x: kb.explain("path(a, b)", depth=x),
    "explanation text": lambda kb, x: kb.explain("path(a, b)").text(steps=x),
    "consequences": lambda kb, x: kb.consequences(x),
    "load_ontology": lambda kb, x: kb.load_ontology(x),
    "remove_ontology": lambda kb, x: kb.remove_ontology(x),
    "load_inputs": lambda kb, x: kb.load_inputs(x),
    "write_outputs": lambda kb, x: kb.write_outputs(x),
    "graph": lambda kb, x: kb.graph(x),
    "compact": lambda kb, x: kb.compact(x),
    "selector": lambda kb, x: setattr(kb.training, "selector", x),
    "limits": lambda kb, x: setattr(kb.limits, "timeout", x),
    "change added": lambda kb, x: kb.what_if(add={"edge": [("z", "z")]}).added[x],
    "change write": lambda kb, x: kb.what_if(add={"edge": [("z", "z")]}).write(x, "nothing"),
    "IRI": lambda kb, x: IRI(x),
    "BlankNode": lambda kb, x: BlankNode(x),
    "Literal": lambda kb, x: Literal(x),
    "Literal datatype": lambda kb, x: Literal("1", x),
    "Literal language": lambda kb, x: Literal("1", language=x),
}
DEEP: Any = ()
for _ in range(2000):
    DEEP = (DEEP,)
JUNK: dict[str, Any] = {
    "None": None,
    "zero": 0,
    "negative": -1,
    "huge": 10**400,
    "float": 1.5,
    "nan": math.nan,
    "bool": True,
    "bytes": b"edge",
    "bytearray": bytearray(b"ab"),
    "empty text": "",
    "text": "ab",
    "surrogate": "p\ud800",
    "nul": "a\0b",
    "syntax": "p(",
    "goal": "path(a, ?x).",
    "file": "rules.dl",
    "path": Path("nowhere/rules.dl"),
    "paths": [Path("nowhere"), Path("else")],
    "object": object(),
    "class": int,
    "function": len,
    "list": [],
    "numbers": [1, 2],
    "nulls": [None],
    "pair": ("a", "b"),
    "rows": [("a", "b")],
    "ragged": [("a", "b"), ("a",)],
    "deep": [(DEEP, "b")],
    "deep tuple": DEEP,
    "generator": lambda: (row for row in [("x", "y")]),
    "set": {"a"},
    "dict": {"a": "b"},
    "dict of dicts": {"edge": {"a": {"b": "c"}}},
    "dict of rows": {"edge": [("a", "b")]},
    "dict of numbers": {1: [("a", "b")]},
    "series": pd.Series(["a", "b"]),
    "frame": pd.DataFrame({"x": ["a"], "y": ["b"]}),
    "frame of objects": pd.DataFrame({"x": [object()], "y": [{}]}),
    "empty frame": pd.DataFrame(),
    "array": np.array(["a", "b"]),
    "array of rows": np.array([["a", "b"]]),
    "cube": np.zeros((2, 2, 2)),
    "complex": np.array([[1j, 2j]]),
    "arrow array": pa.array(["a", "b"]),
    "arrow table": pa.table({"x": ["a"], "y": [["b"]]}),
    "date": datetime.date(2024, 1, 1),
    "delta": datetime.timedelta(1),
    "iri": IRI("http://e.org/p"),
    "blank": BlankNode("b"),
    "literal": Literal("a", "http://e.org/d"),
    "unhashable": [(["a"], {"b"})],
}


def value(name: str) -> Any:
    return JUNK[name]() if name == "generator" else JUNK[name]


@pytest.fixture(scope="module")
def shared() -> Iterator[list[KnowledgeBase]]:
    yield [made()]


@pytest.mark.parametrize("call", CALLS)
def test_junk_is_refused_or_taken(
    call: str, shared: list[KnowledgeBase], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong: list[str] = []
    for name in JUNK:
        if call == "engine" and name == "text":
            continue
        kb = shared[0]
        before = contents(kb)
        try:
            CALLS[call](kb, value(name))
        except DeltalogError as error:
            assert str(error)
            if contents(kb) != before:
                wrong.append(f"{name}: changed, although {error}")
        except BaseException as error:
            wrong.append(f"{name}: {type(error).__name__}: {error!s:.150}")
        if contents(kb) != before or kb.limits.timeout is not None or kb.version is not None:
            shared[0] = made()
    assert not wrong, "\n".join(wrong)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
_NESTED = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
_FUZZED = [call for call in CALLS if call not in ("engine", "write", "save", "change write")]  # no Spark, no files


@given(call=st.sampled_from(_FUZZED), junk=_NESTED)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_junk(call: str, junk: Any, shared: list[KnowledgeBase]) -> None:
    kb = shared[0]
    before = contents(kb)
    try:
        CALLS[call](kb, junk)
    except DeltalogError:
        assert contents(kb) == before
    if contents(kb) != before or kb.limits.timeout is not None:
        shared[0] = made()


@pytest.mark.parametrize(
    ("rows", "arity"),
    [
        ({("a", "b")}, 2),
        ((row for row in [("a", "b")]), 2),
        ([["a", "b"]], 2),
        ((("a", "b"),), 2),
        (np.array([["a", "b"]]), 2),
        (pd.Series(["a"]), 1),
        (pd.DataFrame({"x": ["a"], "y": ["b"]}), 2),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_are_taken(rows: Any, arity: int) -> None:
    kb = KnowledgeBase("")
    kb.add("p", rows)
    assert set(kb.facts("p")) == {("a", "b")[:arity]}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda kb: kb.add("edge", "ab"), "expected rows, such as [('a', 'b'), ('b', 'c')], or a table, and not 'ab'"),
        (lambda kb: kb.add("edge", ("a", "b")), "not a single row; write [('a', 'b')]"),
        (lambda kb: kb.add("edge", [("a", "b"), ("a",)]), "row 2: expected 2 values"),
        (lambda kb: kb.add("edge", np.array([1, 2])), "array.reshape(-1, 1)"),
        (lambda kb: kb.add("edge", {"x": ["a"]}), "pandas.DataFrame(...) makes a table"),
        (lambda kb: kb.update(add=[("a", "b")]), "expected facts by predicate"),
        (lambda kb: kb.load(["a.csv", "b.csv"]), "write *paths"),
        (lambda kb: kb.write("out", only="path"), "write only=['path']"),
        (lambda kb: kb.query(["path(a, ?x)"]), "expected a goal as text"),
        (lambda kb: kb.sparql(None), "expected SPARQL as text"),
        (lambda kb: kb.facts("paht"), "did you mean 'path'?"),
        (lambda kb: kb.add_rules("p(a, X)."), "the variable X in a fact has no value"),
        (lambda kb: KnowledgeBase(b"p(a)."), 'the path of a file as Path("rules.dl")'),
    ],
)
def test_messages(call: Callable[[KnowledgeBase], Any], said: str) -> None:
    with pytest.raises(DeltalogError) as error:
        call(made())
    assert said in str(error.value)


def test_a_goal_may_end_with_a_dot_and_mappings_behave() -> None:
    kb = made()
    assert len(kb.query("path(a, ?x).")) == 2
    change = kb.what_if(add={"edge": [("c", "d")]})
    assert "nothing" not in change.added and change.added.get("nothing") is None and "path" in change.added
    assert object() not in kb.facts("edge") and ([], "b") not in kb.facts("edge")
    with pytest.raises(UsageError):
        kb.facts("edge").named(["x"])
