"""Programs of Nemo's language and what they give: the files beside them were written by Nemo 0.10.1.

Blank nodes have other names in each engine; a row with some is compared by its number.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import pytest

from deltalog.chase import chase, restricted
from deltalog.cli.main import main
from deltalog.program.load_program import read_documents

CASES = sorted((Path(__file__).parent / "cases").glob("*.rls"))
_NULL = re.compile(r"_:[A-Za-z0-9_]+")


def lines(path: Path) -> Counter[str]:
    return Counter(_NULL.sub("_:", line) for line in path.read_text().splitlines())


def written(folder: Path) -> dict[str, Counter[str]]:
    """The files of a folder that are not empty; Nemo writes no others."""
    return {path.name: lines(path) for path in folder.iterdir() if path.stat().st_size}


@pytest.mark.parametrize("engine", ["local", "naive"])
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path, engine: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are left out
        kb = restricted(read_documents([case]), engine=engine)
    chase(kb)
    kb.write_exports(tmp_path)
    assert written(tmp_path) == written(case.with_suffix(""))


def test_on_the_command_line(tmp_path: Path) -> None:
    case = next(path for path in CASES if path.stem == "chase")
    assert main(["run", str(case), "--out", str(tmp_path / "out"), "-q"]) == 0
    assert written(tmp_path / "out") == written(case.with_suffix(""))


def test_a_format_is_of_all_facts(tmp_path: Path) -> None:
    case = next(path for path in CASES if path.stem == "recursion")
    assert main(["run", str(case), "--out", str(tmp_path / "out"), "--format", "tsv", "-q"]) == 0
    assert (tmp_path / "out" / "edge.tsv").exists()
