"""Pipeline files: what they mean, and what is said about mistakes in them. No Spark is started here.

`mistakes/NAME.toml` is a wrong pipeline, `mistakes/NAME.stderr` all that is said about it.
`python tests/pipeline/test_spec.py` writes the .stderr files anew; read the difference before you commit it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deltalog.apps.cli.main import main
from deltalog.apps.pipelines.spec import Changes, PipelineError, SourceColumn, Spec, read_spec, resolved
from deltalog.core.errors import UsageError
from deltalog.core.rules import Pred
from deltalog.languages.deltalog.parser import parse
from deltalog.program.column_names import ColumnNames

FOLDER = Path(__file__).parent / "mistakes"
PIPELINES = sorted(FOLDER.glob("*.toml"))


def message(path: Path) -> str:
    try:
        read_spec(path)
    except UsageError as error:
        return f"{error}\n".replace(f"{path.parent}/", "")
    return ""


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_mistake(path: Path) -> None:
    assert message(path) == path.with_suffix(".stderr").read_text(encoding="utf-8") != ""


def spec(tmp_path: Path, text: str, *overrides: str) -> Spec:
    file = tmp_path / "pipeline.toml"
    file.write_text(text)
    return read_spec(file, overrides)


SMALL = """
program = "path(X, Y) :- edge(X, Y)."
[sources.edge]
path = "in/edges"
[sinks.path]
path = "out"
"""


def test_defaults(tmp_path: Path) -> None:
    read = spec(tmp_path, SMALL)
    assert (read.name, read.engine, read.state, read.report, read.trigger) == (
        "pipeline",
        "auto",
        None,
        None,
        "availableNow",
    )
    source, sink = read.sources[0], read.sinks[0]
    assert (source.predicate, source.format, source.columns, source.nulls) == ("edge", "parquet", None, "error")
    assert source.paths == (f"file://{tmp_path}/in/edges",)
    assert source.changes == Changes()
    assert (sink.predicate, sink.format, sink.mode, sink.changes, sink.only) == (
        "path",
        "parquet",
        "error",
        False,
        "all",
    )


def test_everything(tmp_path: Path) -> None:
    text = """
    name = "all"
    rules = "rules.dl"
    ontologies = ["o.ttl"]
    engine = "spark"
    state = "s3a://bucket/state"
    report = "/reports"
    [spark]
    "spark.a.b" = 8
    spark.c = true
    [sources.edge]
    predicate = "e"
    format = "csv"
    paths = ["a/*.csv", "hdfs://host/b"]
    options = { header = true, sep = ";" }
    schema = "src string, dst long"
    columns = ["src", { column = "dst", as = "to", type = "long" }]
    nulls = "?"
    changes = { operation = "op", insert = "I", delete = ["D", "X"], order = "ts" }
    [stream]
    trigger = "10 seconds"
    [sinks.p]
    predicate = "path"
    table = "cat.schema.t"
    partition_by = "x"
    columns = ["x", "y"]
    changes = true
    [constraints.orphan]
    limit = 3
    action = "quarantine"
    sample = 1
    sink = { path = "q", mode = "append" }
    """
    read = spec(tmp_path, text)
    assert (read.name, read.engine, read.state, read.report) == ("all", "spark", "s3a://bucket/state", "/reports")
    assert (read.rules, read.trigger) == ((tmp_path / "rules.dl",), "10 seconds")
    assert read.spark == {"spark.a.b": "8", "spark.c": "true"}
    source, sink, constraint = read.sources[0], read.sinks[0], read.constraints[0]
    assert source.paths == (f"file://{tmp_path}/a/*.csv", "hdfs://host/b")
    assert (source.options, source.nulls) == ({"header": "true", "sep": ";"}, "?")
    assert source.columns == (SourceColumn("src", "src"), SourceColumn("dst", "to", "long"))
    assert source.changes == Changes("operation", "", "op", ("I",), ("D", "X"), "ts")
    assert (sink.table, sink.format, sink.mode, sink.partition_by) == ("cat.schema.t", None, "append", ("x",))
    assert constraint.sink is not None
    assert (constraint.limit, constraint.sink.predicate, constraint.sink.place) == (
        3,
        "orphan",
        "constraints.orphan.sink",
    )


def test_overrides(tmp_path: Path) -> None:
    given = ["sources.edge.path=/other", 'sinks.path.mode = "overwrite"', "constraints.path.limit=2", "spark.'a.b'=1"]
    read = spec(tmp_path, SMALL, *given)
    assert (read.sources[0].paths, read.sinks[0].mode) == (("/other",), "overwrite")
    assert (read.constraints[0].limit, read.spark) == (2, {"a.b": "1"})


@pytest.mark.parametrize("override", ["sources.edge.path", "=x", "a b=1", "program.x=1"])
def test_wrong_overrides(tmp_path: Path, override: str) -> None:
    with pytest.raises(PipelineError, match="--set: "):
        spec(tmp_path, SMALL, override)


def test_a_wrong_override_is_a_mistake_of_its_key(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"sinks.path.mode: expected one of error, .*; did you mean 'append'\?"):
        spec(tmp_path, SMALL, "sinks.path.mode=appendd")


def test_a_missing_file() -> None:
    with pytest.raises(UsageError, match=r"cannot read the pipeline nowhere.toml: No such file"):
        read_spec("nowhere.toml")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b", "file:///f/a/b"),
        ("./a", "file:///f/a"),
        ("../a*", "file:///f/../a*"),
        ("/a", "/a"),
        ("s3a://b/c", "s3a://b/c"),
        ("file:///c", "file:///c"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert resolved(path, Path("/f")) == expected


def test_the_command_line_reports_all_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    file = FOLDER / "empty.toml"
    for action in ("run", "check"):
        assert main(["pipeline", action, str(file)]) == 2
        assert capsys.readouterr().err == "".join(
            f"{file.parent}/{line}\n" for line in file.with_suffix(".stderr").read_text().splitlines()
        )
    assert main(["pipeline", "check", str(file), "--json"]) == 2
    assert '"place": "", "message": "no rules' in capsys.readouterr().out


def test_wrong_rules_start_no_spark(tmp_path: Path) -> None:
    (tmp_path / "rules.dl").write_text("path(X, Z) :- edge(X, Y).\npath(X) :- ")
    text = SMALL.replace('program = "path(X, Y) :- edge(X, Y)."', 'rules = ["rules.dl", "more.dl"]')
    (tmp_path / "pipeline.toml").write_text(text)
    code = f"""
import sys
from deltalog.spark import Pipeline
for rules in ("['rules.dl']", "['more.dl']"):
    try:
        Pipeline.from_file({str(tmp_path / "pipeline.toml")!r}, [f"rules={{rules}}"]).run()
    except Exception as error:
        print(error)
print("pyspark" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pipeline.toml: rules: " in said
    assert "rules.dl:1:9: error: the head needs a value for Z" in said
    assert "rules.dl:2:" in said
    assert "more.dl: no such file" in said
    assert said.endswith("False\n")


def test_importing_it_loads_no_pyspark() -> None:
    code = (
        "import sys; from deltalog.spark import Pipeline, PipelineReport, materialise; print('pyspark' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_names_of_columns() -> None:
    rules = parse(
        "p(X, Y) :- e(X, Y).  p(A, B) :- e(B, A).  q(X, x) :- e(X, x).  r(X, 1) :- e(X, _).  e(X, Y) :- p(X, Y)."
    )
    names = ColumnNames.of_sources(rules, {"e": ["src", "dst"], "f/1": ["only"]})
    expected = {"p": ("X", "Y"), "q": ("c0", "c1"), "r": ("c0", "c1"), "e": ("src", "dst"), "other": ("c0", "c1")}
    assert {name: names.of(Pred(name, 2)) for name in expected} == expected
    assert names.of(Pred("f", 1)) == ("only",)


if __name__ == "__main__":
    for pipeline in PIPELINES:
        pipeline.with_suffix(".stderr").write_text(message(pipeline), encoding="utf-8")
