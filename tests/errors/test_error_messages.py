"""What users see when a program is wrong: `<name>.dl` is a wrong program, `<name>.stderr` all that is said about it.

`python tests/errors/test_error_messages.py` writes the .stderr files anew; read the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog.core.errors import ProgramError
from deltalog.languages.deltalog.parser import parse
from deltalog.program import analyse

FOLDER = Path(__file__).parent
PROGRAMS = sorted(FOLDER.glob("*.dl"))


def message(path: Path) -> str:
    try:
        program = analyse(parse(path.read_text(encoding="utf-8"), path.name))
    except ProgramError as error:
        return f"{error}\n"
    return "\n\n".join(map(str, program.warnings)) + "\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_error_message(path: Path) -> None:
    assert message(path) == path.with_suffix(".stderr").read_text(encoding="utf-8")


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 25


if __name__ == "__main__":
    for program in PROGRAMS:
        program.with_suffix(".stderr").write_text(message(program), encoding="utf-8")
