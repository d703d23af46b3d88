"""Wrong RIF documents and their messages; `python tests/rif/test_rif_errors.py` rewrites these."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog.core.errors import DeltalogError, SyntaxProblem
from deltalog.languages.load_program import read_documents
from deltalog.program.program import analyse

FILES = sorted((Path(__file__).parent / "errors").glob("*.rif"))


def message(path: Path) -> str:
    try:
        analyse(read_documents([path]).rules)
    except DeltalogError as error:
        return str(error).replace(f"{path.parent}/", "") + "\n"
    return "no error\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_error_message(path: Path) -> None:
    assert message(path) == path.with_suffix(".stderr").read_text()


def test_depth_is_limited() -> None:
    deep = '<Document xmlns="http://www.w3.org/2007/rif#">' + "<Group>" * 10_000 + "</Group>" * 10_000 + "</Document>"
    with pytest.raises(SyntaxProblem, match="more than 200 elements in each other"):
        read_documents([deep], "rif")


if __name__ == "__main__":
    for file in FILES:
        file.with_suffix(".stderr").write_text(message(file))
