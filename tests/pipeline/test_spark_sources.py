"""Sources and sinks: whatever Spark reads and writes gives the same result; errors name the source or sink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, KnowledgeBase, UsageError
from deltalog.apps.pipelines.sinks import write_changes
from deltalog.apps.pipelines.spec import SinkSpec
from deltalog.core.errors import DataError, EngineError
from deltalog.spark import Pipeline, materialise

RULES = "path(X, Y) :- edge(X, Y, _).  path(X, Z) :- path(X, Y), edge(Y, Z, _).  on(D, X) :- edge(X, _, D)."
EDGES = [(1, "b", 10), (2, "b", 10), (7, "x", 20)]
EDGE_SCHEMA = "src long, dst string, day int"
DERBY = {"url": "jdbc:derby:memory:pipelines;create=true", "driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}


def pipeline(folder: Path, text: str, *overrides: str) -> Pipeline:
    (folder / "pipeline.toml").write_text(text)
    return Pipeline.from_file(folder / "pipeline.toml", overrides)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.fixture(scope="module")
def edges(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same table as CSV, as partitioned Parquet, in the catalog, and in a database."""
    folder = tmp_path_factory.mktemp("edges")
    frame = spark.createDataFrame(EDGES, EDGE_SCHEMA)
    frame.write.option("header", "true").csv(f"{folder}/csv")
    frame.write.partitionBy("day").parquet(f"{folder}/parquet")
    frame.write.option("path", f"{folder}/table").saveAsTable("pipeline_edges")
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.file", f"{folder}/derby.log")
    frame.write.format("jdbc").options(**DERBY, dbtable="edges").save()
    yield folder
    spark.sql("DROP TABLE pipeline_edges")


SOURCES = {
    "csv": 'format = "csv"\npath = "csv"\noptions = { header = true }\nschema = "src long, dst string, day int"',
    "partitioned Parquet": 'path = "parquet"',
    "catalog": 'table = "pipeline_edges"',
    "database": 'format = "jdbc"\noptions = { dbtable = "edges", url = "URL", driver = "DRIVER" }',
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_from_everywhere(source: str, edges: Path, tmp_path: Path, spark: Any) -> None:
    lines = SOURCES[source].replace("URL", DERBY["url"]).replace("DRIVER", DERBY["driver"])
    text = f"""
    program = "{RULES}"
    [sources.edge]
    {lines}
    columns = ["src", "dst", "day"]
    [sinks.on]
    path = "{tmp_path}/on"
    """
    report = pipeline(edges, text).run(spark)
    written = spark.read.parquet(f"{tmp_path}/on")
    assert (written.columns, rows(written)) == (["D", "X"], [(10, 1), (10, 2), (20, 7)])
    assert report.facts == {"edge": 3, "on": 3, "path": 3}


def test_a_place_of_a_table_is_that_of_the_catalog(edges: Path, tmp_path: Path, spark: Any) -> None:
    """A sink must not overwrite the files of a table that is a source, nor a table the files of a source."""

    def said(source: str, sink: str) -> list[str]:
        text = f'program = "{RULES}"\n[sources.edge]\n{source}\n[sinks.on]\n{sink}\nmode = "overwrite"'
        return [str(problem) for problem in pipeline(tmp_path, text).check(spark)]

    table, files = 'table = "pipeline_edges"', f'path = "{edges}/table"'
    assert [line for line in said(table, files) if "sinks.on.path" in line and "sources.edge.table reads" in line]
    assert [line for line in said(files, table) if "sinks.on.table" in line and "sources.edge.path reads" in line]
    inside = f'path = "{spark.conf.get("spark.sql.warehouse.dir")}/pipeline_new/part"'
    assert [line for line in said(table, f'{inside}\n[sinks.path]\ntable = "pipeline_new"') if "is inside" in line]
    assert not [line for line in said(table, f'path = "{edges}/out"') if "sinks.on" in line]


def test_every_kind_of_sink(edges: Path, tmp_path: Path, spark: Any) -> None:
    text = f"""
    program = "{RULES}"
    [sources.edge]
    table = "pipeline_edges"
    [sinks.appended]
    predicate = "on"
    format = "csv"
    path = "{tmp_path}/on"
    options = {{ header = true }}
    mode = "append"
    [sinks.table]
    predicate = "on"
    table = "pipeline_on"
    options = {{ path = "{tmp_path}/table" }}
    mode = "append"
    [sinks.database]
    predicate = "on"
    format = "jdbc"
    mode = "overwrite"
    options = {{ dbtable = "onday", url = "{DERBY["url"]}", driver = "{DERBY["driver"]}" }}
    """
    made = pipeline(edges, text)
    try:
        for _ in range(2):
            made.run(spark)
        assert rows(spark.table("pipeline_on")) == sorted([(10, 1), (10, 2), (20, 7)] * 2)
        assert spark.read.option("header", "true").csv(f"{tmp_path}/on").count() == 6
        stored = spark.read.format("jdbc").options(**DERBY, dbtable="onday").load()
        assert rows(stored) == [(10, 1), (10, 2), (20, 7)]
        with pytest.raises(
            UsageError, match=r"sinks.table: the columns are day, node, and those of the table pipeline_on"
        ):
            pipeline(edges, text, 'sinks.table.columns=["day", "node"]', "sinks.appended.mode=ignore").run(spark)
        assert spark.read.option("header", "true").csv(f"{tmp_path}/on").count() == 6
        problems = pipeline(edges, text, "sinks.table.mode=error").check(spark)
        assert [problem.place for problem in problems] == ["sinks.table.table"]
    finally:
        spark.sql("DROP TABLE IF EXISTS pipeline_on")


def test_changes_are_written_once_a_version(tmp_path: Path, spark: Any) -> None:
    """A version that is written again replaces itself, in a folder and in a table."""
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y).", engine="auto", spark=spark)
    kb.add("edge", [(1, 2), (2, 3)])
    kb.materialise()
    change = kb.update(add={"edge": [(5, 6)]}, remove={"edge": [(1, 2)]})
    added, removed = (side["path"].named(["a", "b"]).to_spark() for side in (change.added, change.removed))
    folder = SinkSpec("c", "path", "parquet", path=f"{tmp_path}/changes", changes=True)
    table = SinkSpec("t", "path", table="pipeline_changes", options={"path": f"{tmp_path}/table"}, changes=True)
    try:
        for version in (1, 2, 2):
            for sink in (folder, table):
                write_changes(sink, added, removed, version)
        expected = [(a, b, op, version) for a, b, op in ((1, 2, "D"), (5, 6, "I")) for version in (1, 2)]
        assert rows(spark.read.parquet(f"{tmp_path}/changes").select("a", "b", "_op", "_version")) == expected
        assert rows(spark.table("pipeline_changes").select("a", "b", "_op", "_version")) == expected
    finally:
        spark.sql("DROP TABLE IF EXISTS pipeline_changes")


def test_errors_while_reading(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "e.csv").write_text("1,a\n,b\n")
    (tmp_path / "e.nt").write_text("<http://a> <http://p> .\n")
    (tmp_path / "e.txt").write_text("<http://a> <http://p> .\n")
    text = """
    program = "p(X) :- e(X, _)."
    [sources.e]
    format = "csv"
    path = "e.csv"
    schema = "a long, b string"
    [sinks.p]
    path = "out"
    """
    hint = 'set nulls = "drop", or to a value that replaces them'
    with pytest.raises(UsageError, match=f"sources.e: column 'a': row .*: there is no value \\(null\\); .*; {hint}"):
        pipeline(tmp_path, text).run(spark)
    triples = text.replace('format = "csv"', 'format = "ntriples"').replace('schema = "a long, b string"', "")
    for name in ("e.nt:1:23", "e.txt"):
        with pytest.raises(DataError, match=rf"sources.e: .*{name}: expected an object"):
            pipeline(tmp_path, triples.replace("e.csv", name.partition(":")[0])).run(spark)


def test_nulls_are_dropped_or_replaced(tmp_path: Path, spark: Any) -> None:
    """NaN is a value, and a value that replaces nulls has the type of its column."""
    frame = spark.createDataFrame(
        [(1, float("nan"), "x"), (2, 1.0, None), (None, None, "z")], "a int, b double, c string"
    )
    frame.write.parquet(f"{tmp_path}/in")
    text = """
    program = "copy(A, B) :- e(A, B, _)."
    [sources.e]
    path = "in"
    nulls = "drop"
    [sinks.copy]
    path = "out"
    mode = "overwrite"
    """
    pipeline(tmp_path, text).run(spark)
    assert [str(row) for row in rows(spark.read.parquet(f"{tmp_path}/out"))] == ["(1, nan)"]
    kept = 'sources.e.columns=["a", "b", {column = "a", as = "again"}]'
    pipeline(tmp_path, text, "sources.e.nulls=7", kept).run(spark)
    written = spark.read.parquet(f"{tmp_path}/out")
    assert [field.dataType.simpleString() for field in written.schema.fields] == ["bigint", "double"]
    assert [str(row) for row in rows(written)] == ["(1, nan)", "(2, 1.0)", "(7, 7.0)"]
    (problem,) = pipeline(
        tmp_path, text, "sources.e.nulls=0.5", kept.replace(', {column = "a", as = "again"}', ', "c"')
    ).check(spark)
    assert "the column 'a' has the type int, which has no value 0.5" in problem.message


def test_rdf_of_another_file_system(tmp_path: Path, spark: Any) -> None:
    """Turtle and N-Triples by a URI that only Hadoop knows; blank nodes are local to their file."""
    spark.sparkContext._jsc.hadoopConfiguration().set(
        "fs.viewfs.mounttable.default.link./data", f"file://{tmp_path}/in"
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ttl").write_text("<#a> <http://e/p> _:x . _:x <http://e/p> <b> .")
    (tmp_path / "in" / "b.nt").write_text("_:x <http://e/p> <http://e/c> .\n")
    text = f"""
    program = "q(X, Z) :- <http://e/p>(X, Y), <http://e/p>(Y, Z)."
    [sources.triples]
    format = "rdf"
    path = "viewfs:///data/*"
    [sinks.q]
    path = "{tmp_path}/out"
    """
    report = pipeline(tmp_path, text).run(spark)
    assert report.facts == {"http://e/p": 3, "q": 1}
    assert rows(spark.read.parquet(f"{tmp_path}/out")) == [("viewfs:/data/a.ttl#a", "viewfs:/data/b")]
    wrong = ["sinks.q.mode=overwrite", "sinks.r.predicate='http://e/pp'", f"sinks.r.path={tmp_path}/r"]
    with pytest.raises(UsageError, match=r"sinks.r.predicate: there is no predicate 'http://e/pp'; did you mean"):
        pipeline(tmp_path, text, *wrong).run(spark)


def test_materialise(spark: Any) -> None:
    frame = spark.createDataFrame(EDGES, EDGE_SCHEMA)
    frame.createOrReplaceTempView("edges_view")
    out = materialise(spark, RULES, {"edge": "edges_view"})
    assert out.keys() == {"on", "path"}
    assert (out["on"].columns, rows(out["on"])) == (["D", "X"], [(10, 1), (10, 2), (20, 7)])
    assert rows(materialise(spark, RULES, {"edge": frame}, engine="spark", only=["edge"])["edge"]) == EDGES
    with pytest.raises(UsageError, match="edge: the columns are src, dst, and the rules use edge/3; select"):
        materialise(spark, RULES, {"edge": frame.select("src", "dst")})
    with pytest.raises(DataError, match="edge: The table or view `nowhere` cannot be found"):
        materialise(spark, RULES, {"edge": "nowhere"})


def test_a_session_is_given(spark: Any) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.shuffle.partitions", "3")
    kb = KnowledgeBase("q(X) :- p(X).", engine="spark", spark=other)
    kb.add("p", [(IRI("http://a"),)])
    assert kb.facts("q").to_spark().sparkSession.conf.get("spark.sql.shuffle.partitions") == "3"
    with pytest.raises(EngineError, match="expected a SparkSession and not str"):
        KnowledgeBase("", engine="spark", spark="local")


def test_every_simple_type_is_a_value(tmp_path: Path, spark: Any) -> None:
    """What the check lets through can be read, and values come back."""
    from deltalog.apps.pipelines.check import SIMPLE

    values = {
        "decimal": "CAST(1.50 AS decimal(5,2))",
        "date": "DATE'2024-05-01'",
        "timestamp": "TIMESTAMP'2024-05-01 10:00:00 UTC'",
        "timestamp_ntz": "TIMESTAMP_NTZ'2024-05-01 10:00:00'",
        "boolean": "true",
        "string": "'a'",
        "char": "'b'",
        "varchar": "'c'",
    }
    columns = [values.get(type_, f"CAST(3 AS {type_})") + f" AS {type_}_column" for type_ in SIMPLE]
    spark.sql(f"SELECT {', '.join(columns)}").write.parquet(f"{tmp_path}/in")
    arguments = ", ".join(f"X{i}" for i in range(len(SIMPLE)))
    text = f"""
    program = "copy({arguments}) :- all({arguments})."
    [sources.all]
    path = "in"
    [sinks.copy]
    path = "out"
    """
    assert pipeline(tmp_path, text).run(spark).facts == {"all": 1, "copy": 1}
    (row,) = spark.read.parquet(f"{tmp_path}/out").collect()
    found = dict(zip(SIMPLE, row, strict=True))
    assert (found["bigint"], found["float"], found["boolean"], found["varchar"]) == (3, 3.0, True, "c")
    assert str(found["date"]) == "2024-05-01" and "1.5" in found["decimal"] and "T10:00:00" in found["timestamp"]


def test_errors_while_writing(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "e.csv").write_text("1,a\n")
    text = """
    program = "p(X) :- e(X, _)."
    [sources.e]
    format = "csv"
    path = "e.csv"
    [sinks.first]
    predicate = "p"
    path = "out"
    [sinks.second]
    predicate = "p"
    format = "jdbc"
    options = { url = "jdbc:nowhere:", dbtable = "t" }
    """
    with pytest.raises(DataError, match=r"pipeline.toml: sinks.second: .*No suitable driver"):
        pipeline(tmp_path, text).run(spark)
    assert (tmp_path / "out" / "_SUCCESS").exists()
