"""What is outside of the profile: `outside/<name>.ttl` has an ontology, `outside/<name>.stderr` the messages of
`deltalog ontology`. `python -m tests.ontology.test_outside` writes them anew."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from deltalog.apps.cli.main import main

FOLDER = Path(__file__).parent / "outside"
ONTOLOGIES = sorted(FOLDER.glob("*.ttl"))


def messages(ontology: Path) -> str:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(FOLDER):
        assert main(["ontology", ontology.name]) == 0
    return said.getvalue()


@pytest.mark.parametrize("ontology", ONTOLOGIES, ids=lambda path: path.stem)
def test_messages(ontology: Path) -> None:
    assert messages(ontology) == ontology.with_suffix(".stderr").read_text()


def test_there_are_ontologies() -> None:
    assert len(ONTOLOGIES) >= 4


if __name__ == "__main__":
    for each in ONTOLOGIES:
        each.with_suffix(".stderr").write_text(messages(each))
