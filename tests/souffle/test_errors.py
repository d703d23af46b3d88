"""Wrong Soufflé programs: `errors/<name>.dl` and the message in `errors/<name>.stderr`."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import ProgramError

ERRORS = Path(__file__).parent / "errors"


@pytest.mark.parametrize("program", sorted(ERRORS.glob("*.dl")), ids=lambda path: path.stem)
def test_error(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ERRORS)
    with pytest.raises(ProgramError) as raised:
        KnowledgeBase(Path(program.name))
    assert str(raised.value) == program.with_suffix(".stderr").read_text().rstrip("\n")
