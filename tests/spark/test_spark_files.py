"""Files in and out of the Spark engine: how many there are is of no importance, and errors name the place."""

from __future__ import annotations

import gzip
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import as_sets

from deltalog import KnowledgeBase
from deltalog.core.errors import DataError, DataWarning
from deltalog.core.terms import IRI, XSD, BlankNode, Literal, Value

pytestmark = pytest.mark.usefixtures("spark")

VALUES: list[Value] = [
    *(1, -5, 2**62, 2**70, 1.5, Decimal("2.5"), float("nan"), True, "a", "", "a,b", "x\ny", date(2020, 1, 1)),
    *(
        IRI("http://x"),
        BlankNode("b"),
        Literal("1", XSD + "int"),
        Literal("x", language="en"),
        Literal("q", "http://d"),
    ),
]
FACTS: dict[str, list[tuple[Value, ...]]] = {
    "p": [(value,) for value in VALUES],
    "q": [(IRI("http://s"), value) for value in VALUES],
    "r": [(value, value, number) for number, value in enumerate(VALUES)],
    "http://e.org/z": [(IRI("http://e.org/one"),)],
    "i": [(number, number + 1) for number in range(50)],
    "holds": [()],
}

SKEWED = """
two(X, Z) :- e(X, Y), e(Y, Z).
path(X, Y) :- e(X, Y).  path(X, Z) :- path(X, Y), e(Y, Z).
n(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
no(X) :- e(X, _), NOT two(X, _).
"""


def facts_of(kb: KnowledgeBase) -> Any:
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def filled(engine: str = "spark") -> KnowledgeBase:
    kb = KnowledgeBase("", engine=engine)
    for predicate, rows in FACTS.items():
        kb.add(predicate, rows)
    return kb


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl"])
def test_what_executors_write_comes_back(format: str, tmp_path: Path, everything_far: None) -> None:
    filled().write(tmp_path / "out", format)
    for engine in ("local", "spark"):
        kb = KnowledgeBase("", engine=engine)
        kb.load(tmp_path / "out")
        assert facts_of(kb) == as_sets(FACTS)
    assert not list(tmp_path.glob(".*"))


def test_triples_come_back(tmp_path: Path, everything_far: None) -> None:
    kb = KnowledgeBase("", engine="spark")
    facts = {"http://e.org/p": [(IRI("http://s"), value) for value in VALUES], "http://e.org/C": [(BlankNode("b"),)]}
    for predicate, rows in facts.items():
        kb.add(predicate, rows)
    kb.write(tmp_path / "out", "nt")
    again = KnowledgeBase("", engine="spark")
    again.load(tmp_path / "out" / "facts.nt")
    assert facts_of(again) == as_sets(facts)


def test_what_is_not_a_triple_is_left_out(tmp_path: Path, everything_far: None) -> None:
    rules = "<http://e.org/q>(?y, ?x) :- <http://e.org/p>(?x, ?y). three(?x, ?x, ?y) :- <http://e.org/p>(?x, ?y)."
    kb = KnowledgeBase(rules, engine="spark")
    kb.add("http://e.org/p", [(IRI("http://e.org/s"), value) for value in ("text", 1, IRI("http://e.org/o"))])
    with pytest.warns(DataWarning, match=r"2 of http://e.org/q/2 \(the subject .* 3 of three/3 \(only one or two"):
        kb.write(tmp_path / "out", "nt")
    assert len((tmp_path / "out" / "facts.nt").read_text().splitlines()) == 4
    with pytest.raises(DataError, match="no fact can be written as a triple: 3 of three/3"):
        kb.write(tmp_path / "none", "nt", only=["three"])


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="exists and is not an empty folder"):
        filled().write(tmp_path, "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("files", [1, 2, 50])
def test_the_number_of_files_is_of_no_importance(files: int, tmp_path: Path, in_frames: None) -> None:
    """Half of all rows have one key; some files are empty, some are compressed, and rows occur twice."""
    rows = [(f"n{i}" if i % 2 else "hub", f"n{i * 7 % 40}") for i in range(200)]
    lines = [f"<http://e.org/{a}> <http://e.org/edge> <http://e.org/{b}> .\n" for a, b in [*rows, *rows[:30]]]
    for number in range(files):
        part = "".join(lines[number::files])
        if number % 5 == 3:
            (tmp_path / f"f{number}.nt.gz").write_bytes(gzip.compress(part.encode()))
        else:
            (tmp_path / f"f{number}.nt").write_text(part)
    (tmp_path / "empty.nt").write_text("")
    kb = KnowledgeBase(
        "<http://e.org/two>(X, Z) :- <http://e.org/edge>(X, Y), <http://e.org/edge>(Y, Z).", engine="spark"
    )
    kb.load(tmp_path)
    edges = set(rows)
    two = {(a, d) for a, b in edges for c, d in edges if b == c}
    assert kb.count("http://e.org/edge") == len(edges)
    found = {(a.rpartition("/")[2], b.rpartition("/")[2]) for a, b in kb.facts("http://e.org/two")}
    assert found == two


def test_large_files_are_cut_at_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_frames: None) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "SPLIT_BYTES", 1000)
    lines = [f"<http://e.org/{i}> <http://e.org/p> {i} .\n" for i in range(300)]
    (tmp_path / "f.nt").write_text("".join(lines))
    (tmp_path / "t.csv").write_text("".join(f"a{i},{i}\n" for i in range(300)))
    kb = KnowledgeBase("", engine="spark")
    kb.load(tmp_path)
    assert set(kb.facts("t")) == {(f"a{i}", i) for i in range(300)}
    assert kb.count("http://e.org/p") == 300
    lines[200] = "<http://e.org/200> oops\n"
    (tmp_path / "f.nt").write_text("".join(lines))
    with pytest.raises(DataError, match=r"f\.nt:201:"):
        KnowledgeBase("", engine="spark").load(tmp_path)


def test_quoted_line_ends_are_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_frames: None) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "SPLIT_BYTES", 100)
    (tmp_path / "t.csv").write_text("".join(f'"a\n{i}",{i}\n' for i in range(100)))
    kb = KnowledgeBase("", engine="spark")
    kb.load(tmp_path / "t.csv")
    assert set(kb.facts("t")) == {(f"a\n{i}", i) for i in range(100)}


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_the_number_of_partitions_is_of_no_importance(
    partitions: int, tmp_path: Path, spark: Any, everything_far: None
) -> None:
    """Joins, aggregates, negation and recursion; half of all rows have one key."""
    rows = [("hub" if i % 2 else f"n{i}", f"n{i * 7 % 60}") for i in range(120)]
    (tmp_path / "e.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        found = {}
        for engine in ("spark", "local"):
            kb = KnowledgeBase(SKEWED, engine=engine)
            kb.load(tmp_path / "e.csv")
            found[engine] = facts_of(kb)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert found["spark"] == found["local"]


def test_a_bad_line_in_one_of_a_thousand_files(tmp_path: Path, in_frames: None) -> None:
    for number in range(1000):
        (tmp_path / f"f{number}.nt").write_text("<http://a> <http://b> <http://c> .\n" * 3)
    (tmp_path / "f613.nt").write_text("<http://a> <http://b> <http://c> .\n<http://a> <http://b> .\n")
    with pytest.raises(DataError, match=r"f613\.nt:2:23: expected an object"):
        KnowledgeBase("", engine="spark").load(tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        KnowledgeBase("", engine="spark").load(tmp_path / "gone.nt")


def test_data_frames_in_and_out(spark: Any, everything_far: None) -> None:
    kb = KnowledgeBase("big(X, N) :- size(X, N), N > 2.", engine="spark")
    kb.add("size", spark.createDataFrame([("a", 1), ("b", 3), ("c", 4), ("b", 3)], "x string, n int"))
    frame = kb.facts("big").to_spark()
    assert {tuple(row) for row in frame.collect()} == {("b", 3), ("c", 4)}
    assert [field.dataType.simpleString() for field in frame.schema.fields] == ["string", "bigint"]
    for engine in ("spark", "local"):
        again = KnowledgeBase("", engine=engine)
        again.add("q", filled().facts("q").to_spark())
        assert facts_of(again) == as_sets({"q": FACTS["q"]})


def test_a_null_is_refused(spark: Any) -> None:
    from deltalog.core.errors import UsageError

    with pytest.raises(UsageError, match="null"):
        KnowledgeBase("", engine="spark").add("p", spark.createDataFrame([("a",), (None,)], "x string"))


def test_a_folder_that_spark_wrote_is_one_predicate(spark: Any, tmp_path: Path, in_frames: None) -> None:
    """Its name is that of the folder, and partitions are columns, as on the local engine."""
    rows = [(1, "a", "x"), (2, "b", "x"), (3, "c", "y/z")]
    spark.createDataFrame(rows, "n long, t string, k string").write.partitionBy("k").parquet(f"{tmp_path}/reports")
    spark.range(5).repartition(3).write.csv(f"{tmp_path}/numbers")
    for engine in ("local", "spark"):
        kb = KnowledgeBase("", engine=engine)
        kb.load(tmp_path)
        assert facts_of(kb) == as_sets({"reports": rows, "numbers": [(n,) for n in range(5)]})
