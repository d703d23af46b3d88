"""The gallery: every example gives what its folder expects, and its page shows what happens.

The pipelines of examples are in tests/pipeline/test_spark_docs.py, the live subscription in
tests/server/test_server_docs.py.
"""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from documentation import ROOT, blocks, check_console, page, run_script, with_examples
from notebook import code_cells, run_notebook

from deltalog.apps.cli.main import main

EXAMPLES = ROOT / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())
ON_SPARK = {"ownership", "wind_farm"}
RUNS = {
    "access": ("rules.dl", "--data", "data", "--derived"),
    "graph": ("rules.dl", "--data", "data", "--derived"),
    "museum": ("rules.dlog", "--data", "museum.ttl", "--derived"),
    "points_to": ("points_to.dl", "-F", "facts"),
    "supply_chain": ("rules.dl", "--derived"),
    "university": ("rules.dlog", "--data", "data.ttl", "--derived"),
}


def facts(folder: Path) -> dict[str, list[str]]:
    return {path.name: sorted(path.read_text(encoding="utf-8").splitlines()) for path in folder.iterdir()}


@pytest.mark.parametrize("name", RUNS)
def test_expected_facts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / name)
    assert main(["run", *RUNS[name], "--quiet", "--out", str(tmp_path / "out")]) == 0
    assert facts(tmp_path / "out") == facts(EXAMPLES / name / "expected")


def test_the_replayed_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_script([str(EXAMPLES / "wind_farm" / "replay.py"), str(tmp_path / "out")])
    assert facts(tmp_path / "out") == facts(EXAMPLES / "wind_farm" / "expected")
    (shown,) = [block for block in blocks("console", page("examples/wind_farm/README.md")) if "replay.py" in block]
    assert capsys.readouterr().out == shown.partition("\n")[2]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ON_SPARK])
def test_the_commands_of_a_page(name: str, tmp_path: Path) -> None:
    check_console(page(f"examples/{name}/README.md"), with_examples(tmp_path))
    for drawing in tmp_path.glob("*.svg"):
        assert drawing.read_text("utf-8") == (EXAMPLES / name / drawing.name).read_text("utf-8"), "draw it again"


@pytest.mark.parametrize("name", NAMES)
def test_the_python_of_a_page(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = "\n".join(blocks("python", page(f"examples/{name}/README.md")))
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_notebook() -> None:
    """Its cells print and return what is stored in it."""
    path = EXAMPLES / "packages" / "packages.ipynb"
    stored = [[texts(output) for output in cell["outputs"]] for cell in code_cells(path)]
    assert [[texts(output) for output in cell] for cell in run_notebook(path)] == stored


def texts(output: dict[str, object]) -> str:
    data = output.get("data")
    return "".join(data["text/plain"] if isinstance(data, dict) else output["text"])  # type: ignore[arg-type]


def test_the_index_has_every_example() -> None:
    index = page("examples/README.md")
    assert [name for name in NAMES if f"{name}/" not in index] == []
    assert [name for name in NAMES if not (EXAMPLES / name / "README.md").exists()] == []
