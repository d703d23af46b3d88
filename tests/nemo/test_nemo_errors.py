"""Wrong programs of Nemo's language and their messages; `python tests/nemo/test_nemo_errors.py` rewrites these."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import DeltalogError, ProgramError
from deltalog.languages.load_program import read_documents
from deltalog.languages.nemo.file_use import FileUse
from deltalog.languages.nemo.files import read_import
from deltalog.program.program import analyse

FILES = sorted((Path(__file__).parent / "errors").glob("*.rls"))


def imported(program: Path) -> FileUse:
    """The file that a program imports."""
    (use,) = (file for file in read_documents([program]).files if isinstance(file, FileUse) and file.kind == "input")
    return use


def message(path: Path) -> str:
    try:
        analyse(read_documents([path]).rules)
    except ProgramError as error:
        return str(error).replace(f"{path.parent}/", "") + "\n"
    return "no error\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_error_message(path: Path) -> None:
    assert message(path) == path.with_suffix(".stderr").read_text()


@pytest.mark.parametrize(
    ("directive", "wanted"),
    [
        ('sparql{endpoint = "http://example.org"}', "asks a server"),
        ('csv{resource = "http://example.org/p.csv"}', "not on this machine"),
        ('csv{resource = "missing.csv"}', "cannot read missing.csv"),
        ('csv{resource = "p.csv", colour = 3}', "has no parameter 'colour'"),
        ('csv{resource = "p.csv", format = (number)}', "a column is"),
        ('csv{resource = "p.csv", format = (any, skip)}', "the format has 1 columns; p has 2 arguments"),
        ('xlsx{resource = "p.xlsx"}', "there is no file format"),
        ('csv{resource = "p.csv", limit = "2"}', "a limit is a number of rows, not '2'"),
        ('csv{resource = "p.csv", quoting = "no"}', "quoting is true or false, not 'no'"),
        ('dsv{resource = "p.csv"}', "dsv needs a delimiter"),
        ('ntriples{resource = "p.csv"}', "ntriples has 3 columns; p has 2 arguments"),
        ('json{resource = "p.csv"}', "json has 3 columns; p has 2 arguments"),
        ('dsv{resource = "p.csv", delimiter = ";;"}', "a delimiter is one character"),
    ],
)
def test_wrong_imports(directive: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("1,2\n")
    program = tmp_path / "p.rls"
    program.write_text(f"@import p :- {directive} . q(?x) :- p(?x, ?y) .")
    use = imported(program)
    with pytest.raises(DeltalogError, match=wanted):
        read_import(use)


def test_exports_stay_inside_of_their_folder(tmp_path: Path) -> None:
    kb = KnowledgeBase('p(1) . @export p :- csv{resource = "../p.csv"} .', language="nemo")
    with pytest.raises(DeltalogError, match="outside of the folder"):
        kb.write_exports(tmp_path / "out")


def test_rules_that_are_added_name_no_files(tmp_path: Path) -> None:
    (tmp_path / "more.rls").write_text('@import p :- csv{resource = "p.csv"} . q(?x) :- p(?x) .')
    with pytest.raises(ProgramError, match=r"more.rls:1:1: error: rules that are added .* name no files"):
        KnowledgeBase().add_rules(tmp_path / "more.rls")


def test_rows_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("1,2\n3\n4,5,6\n")
    program = tmp_path / "p.rls"
    program.write_text('@import p :- csv{resource = "p.csv"} . q(?x) :- p(?x, ?y) .')
    with pytest.warns(UserWarning, match="2 rows do not fit p"):
        assert read_import(imported(program)) == [(1, 2)]


if __name__ == "__main__":
    for file in FILES:
        file.with_suffix(".stderr").write_text(message(file))
