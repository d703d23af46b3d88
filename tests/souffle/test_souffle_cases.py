"""Soufflé programs as files: `cases/<name>/<name>.dl`, on the local and on the naive engine.

Beside the program are `facts/` (if it reads any) and `expected/`: the files that it writes, and `stdout`. Lines may
come in any order. What is expected follows Soufflé's documentation and its own tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase

CASES = sorted((Path(__file__).parent / "cases").iterdir())


def sorted_files(folder: Path) -> dict[str, list[str]]:
    return {path.name: sorted(path.read_text().splitlines()) for path in folder.iterdir()}


def run(case: Path, out: Path, engine: str) -> None:
    kb = KnowledgeBase(case / f"{case.name}.dl", engine=engine)
    kb.load_inputs(*([facts] if (facts := case / "facts").exists() else []))
    kb.write_outputs(out)


@pytest.mark.parametrize("engine", ["local", "naive"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(case, tmp_path, engine)
    printed = capsys.readouterr().out
    if printed:
        (tmp_path / "stdout").write_text(printed)
    assert sorted_files(tmp_path) == sorted_files(case / "expected")
