"""Programs as files: `cases/<group>/<name>.dl`, on every engine.

Beside the program, the folder `<name>` has `data/` (input files, if any) and the expected facts: `<predicate>.csv` for
each predicate that is checked, one fact a line, sorted. A file that is empty says that there are none. Cells are
written as constants in a rule, a string without quotes where it is a plain word; the fact without arguments is `()`.
Where a predicate's name is no file name, `predicates.tsv` has lines of file name and predicate. A bug report becomes a
case: put the program and what it should give here, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import materialise

from deltalog.core.terms import IRI, XSD, BlankNode, Literal, Value, datatype, lexical

CASES = Path(__file__).parent / "cases"
PROGRAMS = sorted(CASES.glob("*/*.dl"))
PLAIN_WORD = re.compile(r"(?!(?:true|false)$)[^\W\d][\w.-]*")


def cell(value: Value) -> str:
    """A value as the expected files write it."""
    match value:
        case IRI():
            return f"<{value}>"
        case BlankNode():
            return f"_:{value}"
        case bool() | int() | float():
            return lexical(value)
        case str():
            return str(value) if PLAIN_WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)
        case Literal(language=str()):
            return f"{json.dumps(value.text, ensure_ascii=False)}@{value.language}"
        case tuple():
            return f"[{', '.join(map(cell, value))}]"
        case _:
            return f"{json.dumps(lexical(value))}^^{(datatype(value) or '').replace(XSD, 'xsd:')}"


def line(row: Sequence[Value]) -> str:
    return ",".join(map(cell, row)) if row else "()"


def expected(folder: Path) -> dict[str, list[str]]:
    """The lines of each predicate that the case checks."""
    table = folder / "predicates.tsv"
    names = dict(entry.split("\t") for entry in table.read_text().splitlines()) if table.exists() else {}
    return {names.get(path.stem, path.stem): path.read_text().splitlines() for path in sorted(folder.glob("*.csv"))}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(program: Path, engine: str) -> None:
    folder = program.with_suffix("")
    data = folder / "data"
    wanted = expected(folder)
    assert wanted, f"{folder} says nothing about what to expect"
    facts = materialise(engine, program, {}, [data] if data.exists() else [])
    found = {predicate: sorted(line(row) for row in facts.get(predicate, [])) for predicate in wanted}
    assert found == {predicate: sorted(lines) for predicate, lines in wanted.items()}


def test_there_are_cases() -> None:
    """A glob that finds nothing would pass."""
    assert len(PROGRAMS) >= 90


def test_every_folder_belongs_to_a_program() -> None:
    folders = [folder for folder in CASES.glob("*/*/") if folder.is_dir()]
    assert [folder for folder in folders if not folder.with_suffix(".dl").exists()] == []
