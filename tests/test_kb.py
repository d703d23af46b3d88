"""KnowledgeBase: facts in, materialisation, facts out; and that nothing half-done stays behind."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from deltalog import (
    IRI,
    BlankNode,
    DataError,
    KnowledgeBase,
    LimitReached,
    Literal,
    NotStratified,
    SyntaxProblem,
    UnsafeRule,
    UsageError,
)
from deltalog.core.naming import Names
from deltalog.core.terms import RDF_TYPE

PATHS = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z)."
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]
NUMBERS = "n(0).  n(Y) :- n(X), BIND(X + 1 AS Y)."
ALL_PATHS = {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}


@pytest.fixture
def paths(engine: str) -> KnowledgeBase:
    kb = KnowledgeBase(PATHS, engine=engine)
    kb.add("edge", EDGES)
    return kb


# Facts in.

COLUMNS: dict[str, list[str]] = {"from": ["a", "b", "c"], "to": ["b", "c", "d"]}


@pytest.mark.parametrize(
    "data",
    [
        EDGES,
        [list(row) for row in EDGES],
        iter(EDGES),
        pyarrow.table(COLUMNS),
        pyarrow.RecordBatch.from_pydict(COLUMNS),
        pandas.DataFrame(COLUMNS),
        polars.DataFrame(COLUMNS),
    ],
    ids=["tuples", "lists", "iterator", "arrow", "batch", "pandas", "polars"],
)
def test_add(data: Any) -> None:
    kb = KnowledgeBase(PATHS)
    kb.add("edge", data)
    assert set(kb.facts("edge")) == set(EDGES)
    assert set(kb.facts("path")) == ALL_PATHS


def test_facts_are_a_set(paths: KnowledgeBase) -> None:
    paths.add("edge", [("a", "b"), ("a", "b")])
    assert paths.count("edge") == 3
    assert paths.explicit_facts == 3


def test_values_come_back_as_they_were(engine: str) -> None:
    row = (
        1,
        1.0,
        True,
        "1",
        IRI("1"),
        BlankNode("1"),
        Literal("1", language="en"),
        Decimal("1.5"),
        datetime.date(2024, 5, 1),
        datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC),
        2**80,
        float("inf"),
        "",
    )
    kb = KnowledgeBase(
        f"q({', '.join(f'X{i}' for i in range(13))}) :- p({', '.join(f'X{i}' for i in range(13))}).", engine=engine
    )
    kb.add("p", [row])
    (found,) = kb.facts("q")
    assert found == row
    assert list(map(type, found)) == list(map(type, row))
    assert row in kb.facts("q")
    assert (1.0, *row[1:]) not in kb.facts("q")


def test_load(engine: str, tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("a,b\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "edge.tsv").write_text("b\tc\n")
    (tmp_path / "rules.dl").write_text(PATHS)
    kb = KnowledgeBase(tmp_path / "rules.dl", engine=engine)
    kb.load(tmp_path / "edge.csv", str(tmp_path / "more"))
    assert set(kb.facts("path")) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert kb.report.seconds["load"] > 0


def test_several_programs(tmp_path: Path) -> None:
    (tmp_path / "rules.dl").write_text(PATHS)
    kb = KnowledgeBase([tmp_path / "rules.dl", "edge(a, b). edge(b, a).", "loop(X) :- path(X, X)."])
    assert set(kb.facts("loop")) == {("a",), ("b",)}
    assert [str(rule) for rule in kb.rules][-1] == "loop(?X) :- path(?X, ?X) ."


def test_adding_after_materialising(paths: KnowledgeBase) -> None:
    assert paths.count("path") == 6
    paths.add("edge", [("d", "e")])
    assert paths.count("path") == 10
    paths.add("other", [("x",)])
    assert "other" in paths.predicates


def test_no_facts_and_no_rules(engine: str) -> None:
    kb = KnowledgeBase(engine=engine)
    assert kb.materialise().facts_total == 0
    assert kb.predicates == []
    kb.add("p", [])
    assert kb.predicates == []
    kb.add("rain", [()])
    assert list(kb.facts("rain")) == [()]
    assert () in kb.facts("rain")


# What goes wrong changes nothing.


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda kb: kb.add("edge", [("x", "y"), ("z",)]), UsageError, "row 2: expected 2 values"),
        (lambda kb: kb.add("edge", [("x", object())]), UsageError, "is not a value of deltalog"),
        (lambda kb: kb.add("edge", [("x", None)]), UsageError, "there is no value"),
        (lambda kb: kb.add("edge", ["xy"]), UsageError, "a row of one value is written"),
        (lambda kb: kb.add("edge", 5), UsageError, "expected rows"),
        (lambda kb: kb.add("edge", pandas.Series([1])), UsageError, "a Series is a single column"),
        (lambda kb: kb.add("<http://e/p>", [(1,)]), UsageError, "write the IRI without <>, 'http://e/p'"),
        (lambda kb: kb.update(add={"<http://e/p>": [(1,)]}), UsageError, "write the IRI without <>, 'http://e/p'"),
        (lambda kb: kb.add(5, [(1,)]), UsageError, "expected the name of a predicate"),
        (lambda kb: kb.remove_rules("r99"), UsageError, "there is no rule r99; there are r1, r2; kb.rule_ids and"),
        (lambda kb: setattr(kb.limits, "timeout", "5"), UsageError, "'5' is not a number of seconds"),
        (lambda kb: kb.load("good.csv", "no_such_file.csv"), DataError, "no_such_file.csv: there is no such file"),
        (lambda kb: kb.load("good.csv", "bad.nt"), DataError, "bad.nt:1"),
        (lambda kb: kb.add_rules("p(X) :- q(Y)."), UnsafeRule, "the head needs a value for X"),
        (lambda kb: kb.add_rules("edge(X, Y) :- path(Y, X), not path(X, Y)."), NotStratified, "depends on itself"),
        (lambda kb: kb.add_rules("p(X :- q(X)."), SyntaxProblem, "did not expect"),
        (lambda kb: kb.query("path(?x, ?y), ?z > 1"), UnsafeRule, "a value for ?z"),
    ],
)  # fmt: skip
def test_a_failing_call_changes_nothing(
    paths: KnowledgeBase,
    change: Callable[[KnowledgeBase], object],
    error: type[Exception],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text("x,y\n")
    Path("bad.nt").write_text("<http://a> <http://b>\n")
    for _ in range(2):  # before the materialisation, and after
        with pytest.raises(error) as raised:
            change(paths)
        assert says in str(raised.value)
        assert set(paths.facts("path")) == ALL_PATHS
        assert paths.predicates == ["edge", "path"]
        assert len(paths.rules) == 2


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: KnowledgeBase("p(X) :- q(Y)."), UnsafeRule),
        (lambda: KnowledgeBase("p(X) :- q(X), not p(X)."), NotStratified),
        (lambda: KnowledgeBase("p(X :- q(X)."), SyntaxProblem),
        (lambda: KnowledgeBase(Path("no_such_file.dl")), UsageError),
        (lambda: KnowledgeBase(engine="quantum"), UsageError),
        (lambda: KnowledgeBase(memory="much"), UsageError),
        *[
            (lambda options=options: KnowledgeBase(**options), UsageError)
            for options in (
                *[{"timeout": value} for value in ("5", -1, math.nan, True)],
                *[{"max_facts": value} for value in ("5", -1, 1.5, True)],
                *[{"memory": value} for value in (-1, 1.5, "-1")],
                *[{"threads": value} for value in ("2", -1, 0)],
            )
        ],
    ],
)
def test_wrong_from_the_start(make: Callable[[], KnowledgeBase], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_every_error_of_every_source_is_reported() -> None:
    with pytest.raises(SyntaxProblem) as raised:
        KnowledgeBase(["p(X) :- q(X) r(X).\nunsafe(X) :- q(Y).", "a(X) :- b(X), not a(X)."])
    said = [diagnostic.message for diagnostic in raised.value.diagnostics]
    assert len(said) == 3
    assert "did not expect `r`" in said[0]
    assert "a value for X" in said[1]
    assert "depends on itself" in said[2]


# Facts out.


def test_facts(paths: KnowledgeBase) -> None:
    facts = paths.facts("path")
    assert (len(facts), bool(facts), facts.columns) == (6, True, ("X", "Y"))
    assert ("a", "d") in facts
    assert ["a", "d"] in facts
    for absent in [("d", "a"), ("a",), ("a", "never seen"), "ad", 5]:
        assert absent not in facts
    assert repr(facts) == "<6 rows of (X, Y)>"
    assert set(paths.derived("path")) == ALL_PATHS
    assert len(paths.derived("edge")) == 0


def test_frames(paths: KnowledgeBase) -> None:
    facts = paths.facts("path")
    arrow = facts.to_arrow()
    assert set(zip(*arrow.to_pydict().values(), strict=True)) == ALL_PATHS
    assert set(facts.to_pandas().itertuples(index=False, name=None)) == ALL_PATHS
    assert set(facts.to_polars().iter_rows()) == ALL_PATHS
    again = KnowledgeBase()
    again.add("path", arrow)
    assert set(again.facts("path")) == ALL_PATHS


def test_frames_have_types() -> None:
    kb = KnowledgeBase("p(1, 2.5, true, <http://a>, x).")
    arrow = kb.facts("p").to_arrow()
    assert [str(type) for type in arrow.schema.types] == ["int64", "double", "bool", "string", "string"]
    again = KnowledgeBase()
    again.add("p", arrow)
    assert list(again.facts("p")) == [(1, 2.5, True, IRI("http://a"), "x")]


def test_predicates_rules_and_report(paths: KnowledgeBase, engine: str) -> None:
    report = paths.materialise()
    assert paths.predicates == ["edge", "path"]
    assert [str(rule) for rule in paths.rules] == [
        "path(?X, ?Y) :- edge(?X, ?Y) .",
        "path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .",
    ]
    assert (report.facts_in, report.facts_total, report.facts_derived) == (3, 9, 6)
    assert report.per_predicate == {"edge": 3, "path": 6}
    assert (report.engine, report.complete) == (engine, True)
    assert paths.report is paths.materialise()


def test_names_with_several_arities(engine: str) -> None:
    kb = KnowledgeBase("p(a). p(a, b). q(X) :- p(X), p(X, _).", engine=engine)
    assert kb.predicates == ["p/1", "p/2", "q"]
    assert list(kb.facts("p/2")) == [("a", "b")]
    assert kb.arity("q") == 1
    with pytest.raises(UsageError, match="'p' has several arities; say which: p/1, p/2"):
        kb.facts("p")


def test_unknown_predicates(paths: KnowledgeBase) -> None:
    for ask in (paths.facts, paths.count, paths.derived, paths.arity):
        with pytest.raises(UsageError, match=r"there is no predicate 'paht'; did you mean 'path'\?"):
            ask("paht")
    with pytest.raises(UsageError, match=r"kb\.predicates lists them"):
        paths.facts("quux")
    with pytest.raises(UsageError, match=r"there is no predicate 'paht/2'; did you mean 'path/2'\?"):
        paths.query("edge(?x, ?y), paht(?x, ?y)")


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
def test_write(paths: KnowledgeBase, tmp_path: Path, format: str) -> None:
    paths.write(tmp_path / "out", format)
    again = KnowledgeBase()
    again.load(tmp_path / "out")
    assert set(again.facts("path")) == ALL_PATHS
    assert again.predicates == ["edge", "path"]


def test_writing_many_predicates_looks_names_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which predicates there are is found out once, and not for each predicate that is written."""
    kb = KnowledgeBase("".join(f"p{i}(a). q{i}(X) :- p{i}(X).\n" for i in range(100)))
    kb.materialise()
    made, make = [], Names.__init__
    monkeypatch.setattr(Names, "__init__", lambda self, *given: (made.append(self), make(self, *given))[1])
    for number, options in enumerate([{}, {"derived": True}, {"only": [f"q{i}" for i in range(100)]}]):
        kb.write(tmp_path / str(number), **options)
    assert len(made) <= 3
    assert [len(list((tmp_path / str(number)).iterdir())) for number in range(3)] == [200, 100, 100]


# Queries.


@pytest.mark.parametrize(
    ("goal", "columns", "rows"),
    [
        ("path(a, ?x)", ("x",), {("b",), ("c",), ("d",)}),
        ("?- path(a, X).", ("X",), {("b",), ("c",), ("d",)}),
        ("path(?x, ?y), edge(?y, d)", ("x", "y"), {("a", "c"), ("b", "c")}),
        ("edge(?y, d), path(?x, ?y)", ("y", "x"), {("c", "a"), ("c", "b")}),
        ("path(?x, ?x)", ("x",), set()),
        ("path(_, ?y)", ("y",), {("b",), ("c",), ("d",)}),
        ("path(a, d)", (), {()}),
        ("path(d, a)", (), set()),
        ("path(?x, ?y), NOT edge(?x, ?y)", ("x", "y"), {("a", "c"), ("a", "d"), ("b", "d")}),
        ("path(a, ?x), ?x > b, BIND(ucase(?x) AS ?u)", ("x", "u"), {("c", "C"), ("d", "D")}),
        ("AGGREGATE(path(?x, ?y) ON ?x BIND COUNT(?y) AS ?n)", ("x", "n"), {("a", 3), ("b", 2), ("c", 1)}),
        ('path("a", <d>)', (), set()),
    ],
)
def test_query(paths: KnowledgeBase, goal: str, columns: tuple[str, ...], rows: set[tuple[Any, ...]]) -> None:
    answers = paths.query(goal)
    assert answers.columns == columns
    assert set(answers) == rows
    assert len(answers) == len(rows)
    assert bool(answers) == bool(rows)


def test_query_triples(engine: str) -> None:
    kb = KnowledgeBase("PREFIX : <http://e/>  :p[:a, :b]. :C[:a]. :D[?x] :- :C[?x].", engine=engine)
    a, b, p = IRI("http://e/a"), IRI("http://e/b"), IRI("http://e/p")
    classes = {(a, IRI("http://e/C")), (a, IRI("http://e/D"))}
    assert set(kb.query(":p[?x, ?y]")) == {(a, b)}  # the program's prefixes
    assert set(kb.query("[?x, rdf:type, ?c]")) == classes
    rdf_type = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert set(kb.query("[?x, ?p, ?y]")) == {(a, p, b), *((x, rdf_type, c) for x, c in classes)}
    assert set(kb.query("[:b, ?p, ?y]")) == set()
    assert kb.predicates == ["http://e/C", "http://e/D", "http://e/p"]


def test_classes_that_only_rules_with_variables_derive(engine: str) -> None:
    kb = KnowledgeBase(
        "PREFIX : <http://e/>  :C[:a]. rdfs:subClassOf[:C, :D]. "
        "[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], rdfs:subClassOf[?c, ?d].",
        engine=engine,
    )
    assert list(kb.facts("http://e/D")) == [(IRI("http://e/a"),)]
    assert kb.report.per_predicate == {
        "http://e/C": 1,
        "http://e/D": 1,
        "http://www.w3.org/2000/01/rdf-schema#subClassOf": 1,
    }
    assert kb.report.facts_total == 3  # each fact once, whichever way one may write it


# Limits, threads, messages.


def test_limit_reached(engine: str) -> None:
    kb = KnowledgeBase(NUMBERS, engine=engine, max_facts=50)
    with pytest.raises(LimitReached, match=r"^materialise stopped: the limit of 50 facts was reached; .* `max_facts`"):
        kb.materialise()
    with pytest.raises(LimitReached):
        kb.facts("n")
    report = kb.materialise(partial=True)
    assert not report.complete
    assert report.why_incomplete == "the limit of 50 facts was reached"
    assert (0,) in kb.facts("n")


def test_limits_of_time_and_memory() -> None:
    with pytest.raises(LimitReached, match=r"the time limit of 0.3 s was reached"):
        KnowledgeBase(NUMBERS, timeout=0.3).materialise()
    with pytest.raises(LimitReached, match=r"the memory limit of 0.01 GB was reached"):
        KnowledgeBase(NUMBERS, memory="10MB").materialise()


@pytest.mark.parametrize("threads", [1, 3])
def test_threads(threads: int) -> None:
    kb = KnowledgeBase(PATHS, threads=threads)
    kb.add("edge", [(i, i + 1) for i in range(60)])
    assert kb.count("path") == 60 * 61 // 2


def test_observe() -> None:
    rounds = []
    kb = KnowledgeBase(PATHS, observe=rounds.append)
    kb.add("edge", EDGES)
    report = kb.materialise()
    assert rounds == report.rounds
    assert sum(round_.new for round_ in rounds) == 6
    assert rounds[-1].total == 9


def test_the_library_prints_nothing(paths: KnowledgeBase, capfd: pytest.CaptureFixture[str]) -> None:
    paths.materialise()
    assert capfd.readouterr() == ("", "")


def test_types_that_are_given_as_pairs_are_facts_of_their_classes(engine: str) -> None:
    kb = KnowledgeBase("PREFIX : <http://e/> :E[?x] :- :D[?x] .", engine=engine)
    a, b, d = IRI("http://e/a"), IRI("http://e/b"), IRI("http://e/D")
    types = str(RDF_TYPE)
    kb.add(types, [(a, d), (a, BlankNode("x"))])
    assert list(kb.query("<http://e/E>(?x)")) == [(a,)]
    assert list(kb.facts("http://e/E")) == list(kb.facts("http://e/D")) == [(a,)]
    assert list(kb.facts(types)) == [(a, BlankNode("x"))]
    change = kb.update(add={types: [(b, d)]}, remove={types: [(a, d)]})
    assert (list(change.added["http://e/E"]), list(change.removed["http://e/E"])) == ([(b,)], [(a,)])
