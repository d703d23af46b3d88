"""Pipelines as case folders: `cases/NAME/pipeline.toml` with its input, and the tables that its sinks have afterwards.

`expected/SINK.csv` has the columns and the sorted rows of a sink. `python tests/pipeline/test_spark_pipelines.py`
writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from deltalog.apps.cli.main import main
from deltalog.apps.pipelines.spec import SinkSpec
from deltalog.spark import Pipeline

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/pipeline.toml"))


def written(sink: SinkSpec, spark: Any) -> str:
    """What a sink has: the names of its columns, and its rows, sorted."""
    options = {**sink.options, **({"inferSchema": "true"} if sink.format == "csv" else {})}
    reader = spark.read.options(**options)
    frame = reader.table(sink.table) if sink.table else reader.format(sink.format).load(sink.path)
    rows = sorted(",".join(map(str, row)) for row in frame.collect())
    return "\n".join([",".join(f"{name} {type_}" for name, type_ in frame.dtypes), *rows]) + "\n"


def results(case: Path, folder: Path, spark: Any) -> dict[str, str]:
    """Runs a case in another folder; the contents of its sinks."""
    shutil.copytree(case, folder, dirs_exist_ok=True)
    Pipeline.from_file(folder / "pipeline.toml").run(spark)
    return contents(folder, spark)


def contents(folder: Path, spark: Any) -> dict[str, str]:
    pipeline = Pipeline.from_file(folder / "pipeline.toml")
    return {sink.place.replace(".sink", ""): written(sink, spark) for sink in pipeline.spec.all_sinks}


def expected(case: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in (case / "expected").glob("*.csv")}


@pytest.mark.parametrize("case", [case for case in CASES if case.name != "reachability"], ids=lambda case: case.name)
def test_case(case: Path, tmp_path: Path, spark: Any) -> None:
    assert results(case, tmp_path / "run", spark) == expected(case)


def test_the_command_and_its_report(
    tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CASES[0].parent / "reachability", "case")
    assert main(["pipeline", "check", "case/pipeline.toml"]) == 0
    said = capsys.readouterr()
    assert said.out == "case/pipeline.toml: 2 sources, 3 sinks, 0 constraints: no errors, 0 warnings\n"
    assert main(["pipeline", "run", "case/pipeline.toml", "--json"]) == 0
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert contents(Path("case"), spark) == expected(CASES[0].parent / "reachability")
    assert "read sources.edge: 3 facts in" in said.err and "wrote sinks.path: 13 rows in" in said.err
    assert report == json.loads(Path("case/report/report.json").read_text())
    assert report["pipeline"] == "reachability"
    assert {one["name"]: one["rows"] for one in report["sources"]} == {"edge": 3, "bridges": 1}
    assert {one["name"]: one["rows"] for one in report["sinks"]} == {"path": 13, "derived": 4, "degree": 5}
    assert all(one["bytes"] > 0 and one["seconds"] > 0 for one in [*report["sources"], *report["sinks"]])
    assert report["facts"] == {"degree": 5, "edge": 8, "path": 13}
    assert (report["facts_in"], report["violations"]) == (4, [])
    assert report["rounds"] >= 2
    assert report["spark"].keys() == report["seconds"].keys() == {"read", "evaluate", "constraints", "write"}
    assert report["spark"]["read"]["jobs"] > 0 and report["spark"]["write"]["jobs"] > 0
    lineage = report["lineage"]
    assert lineage["sources"] == [{"source": name, "predicates": ["edge"]} for name in ("edge", "bridges")]
    assert lineage["rules"][1] == {"rule": "path(?X, ?Y) :- edge(?X, ?Y) .", "reads": ["edge"], "derives": ["path"]}
    assert [one["sources"] for one in lineage["sinks"]] == [["edge", "bridges"]] * 3
    assert main(["pipeline", "run", "case/pipeline.toml", "--quiet"]) == 2
    assert "sinks.path.path: " in capsys.readouterr().err


# Constraints.


def test_a_violated_constraint_writes_nothing(tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "people"
    shutil.copytree(CASES[0].parent / "people", folder)
    file = folder / "pipeline.toml"
    options = ["--set", "constraints.stranger.action=fail", "--set", "constraints.stranger.limit=0"]
    assert main(["pipeline", "run", str(file), "--json", "--set", "report=report", *options]) == 1
    said = capsys.readouterr()
    assert said.err.endswith(
        f"error: {file}: constraints.stranger: 1 violation of stranger, such as (eve)\nnothing was written\n"
    )
    assert not (folder / "out").exists()
    violations = {
        one["constraint"]: one for one in json.loads((folder / "report" / "report.json").read_text())["violations"]
    }
    assert (violations["stranger"]["count"], violations["stranger"]["sample"]) == (1, [["eve"]])
    assert (violations["stranger"]["columns"], violations["stranger"]["exceeded"]) == (["X"], True)
    assert (violations["boss"]["count"], violations["boss"]["action"]) == (1, "quarantine")


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    from deltalog.engines.spark.startup.session import session

    for case in CASES:
        if case.name not in sys.argv[1:] and len(sys.argv) > 1:
            continue
        with TemporaryDirectory() as temporary:
            (case / "expected").mkdir(exist_ok=True)
            for name, text in results(case, Path(temporary), session("local[2]")).items():
                (case / "expected" / f"{name}.csv").write_text(text, "utf-8")
