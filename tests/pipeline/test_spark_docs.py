"""Everything that docs/pipelines.md shows: files, commands with their output, Python, and pieces of pipeline files (and
the one of the README); the Python of docs/spark.md; and the examples that are pipelines.

The table of CSV is `links.csv`. Commands run in this process, so that they use the session of the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from documentation import ROOT, blocks, check_console, page, with_examples, write_file

from deltalog.apps.pipelines.spec import read_spec

PAGE = page("docs/pipelines.md")
REST = 'program = "p(X) :- q(X)."\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.csv").write_text(blocks("csv", PAGE)[0], encoding="utf-8")
    for block in blocks(r"\w+", PAGE):
        write_file(block)
    return tmp_path


def test_commands(folder: Path, spark: Any) -> None:
    check_console(PAGE, folder)
    assert (folder / "out" / "path" / "_SUCCESS").exists()
    assert (folder / "report" / "report.html").exists()


def test_python(folder: Path, spark: Any) -> None:
    (block,) = blocks("python", PAGE)
    exec(block, {"spark": spark})


def test_python_of_the_engine(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = blocks("python", page("docs/spark.md"))
    monkeypatch.chdir(ROOT)
    exec(block, {"spark": spark})


@pytest.mark.parametrize(
    "block", [block for block in blocks("toml", PAGE + page("README.md")) if "# file:" not in block]
)
def test_pieces(block: str, tmp_path: Path) -> None:
    """They are right, whatever the rest of the file is."""
    file = tmp_path / "pipeline.toml"
    sinks = "" if "[sinks" in block else '[sinks.other]\npath = "other"\n'
    file.write_text(("" if "rules =" in block else REST) + sinks + block, encoding="utf-8")
    read = read_spec(file)
    assert read.sources or read.sinks or read.constraints


def test_the_pipeline_of_owners(tmp_path: Path, spark: Any) -> None:
    check_console(page("examples/ownership/README.md"), with_examples(tmp_path))
    out = tmp_path / "examples" / "ownership" / "out"
    found = {
        "owner": spark.read.parquet(str(out / "owner")).select("Person", "Company"),
        "flagged": spark.read.csv(str(out / "flagged"), header=True),
        "unknown_owner": spark.read.csv(str(out / "unknown_owner")),
    }
    for name, rows in found.items():
        expected = (ROOT / "examples" / "ownership" / "expected" / f"{name}.csv").read_text(encoding="utf-8")
        assert sorted(",".join(row) for row in rows.collect()) == expected.splitlines(), name


def test_the_stream_of_readings(tmp_path: Path, spark: Any) -> None:
    check_console(page("examples/wind_farm/README.md"), with_examples(tmp_path))
