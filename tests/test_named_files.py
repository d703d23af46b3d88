"""Files that programs name, and `.deltalog.toml` beside them."""

from __future__ import annotations

import gzip
import logging
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deltalog import DataError, KnowledgeBase, ProgramError, UsageError
from deltalog.apps.cli.main import main
from deltalog.knowledge_base import programs
from deltalog.knowledge_base.calls import session_of

RULES = "path(X, Y) :- edge(X, Y, _) .\npath(X, Z) :- path(X, Y), edge(Y, Z, _) .\n"
INPUT = '@input edge from "data/edges.csv" (header = true, types = [km = float]) .\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edges.csv").write_text("from,to,km\na,b,3\nb,c,4.5\n")
    (tmp_path / "p.dl").write_text(INPUT + RULES)
    return tmp_path


def test_inputs_are_loaded_from_the_folder_of_the_program(folder: Path, engine: str) -> None:
    kb = KnowledgeBase(folder / "p.dl", engine=engine)
    assert set(kb.facts("edge")) == {("a", "b", 3.0), ("b", "c", 4.5)}
    assert kb.facts("edge").columns == ("from", "to", "km")
    assert kb.count("path") == 3


def test_a_text_reads_from_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert KnowledgeBase(INPUT + RULES).count("path") == 3
    both = KnowledgeBase([INPUT, folder / "p.dl"])
    assert both.count("edge") == 2


def test_rdf_is_an_input_without_a_predicate(tmp_path: Path) -> None:
    (tmp_path / "g.nt").write_text("<http://x/a> <http://x/p> <http://x/b> .\n")
    (tmp_path / "p.dl").write_text('@input "g.nt"\nq(?x) :- <http://x/p>(?x, ?y) .')
    assert KnowledgeBase(tmp_path / "p.dl").count("q") == 1


def test_a_missing_file_is_an_error_with_its_place_when_it_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data" / "edges.csv").unlink()
    with pytest.raises(ProgramError, match=r"p.dl:1:18: error: there is no file .*data/edges.csv\n  @input edge from"):
        KnowledgeBase(folder / "p.dl")
    assert main(["check", str(folder / "p.dl")]) == 0
    assert main(["run", str(folder / "p.dl")]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_outputs(folder: Path, engine: str) -> None:
    (folder / "p.dl").write_text(
        INPUT + RULES + '@output path to "out/path.parquet"\n'
        '@output path to "out/path.csv.gz" (header = true, columns = [From, "to town"])\n'
        '@output none to "out/none.csv" (header = true)\nnone(X) :- edge(X, X, _) .\n'
        '@output none to "out/none.parquet"\n'
    )
    kb = KnowledgeBase(folder / "p.dl", engine=engine)
    programs.check_outputs(session_of(kb))
    for _ in range(2):  # the second time, files are replaced
        assert [path.name for path in kb.write_outputs()] == ["path.parquet", "path.csv.gz", "none.csv", "none.parquet"]
    assert pq.read_table(folder / "out" / "path.parquet").column_names == ["X", "Y"]
    lines = gzip.decompress((folder / "out" / "path.csv.gz").read_bytes()).decode().splitlines()
    assert (lines[0], sorted(lines[1:])) == ("From,to town", ["a,b", "a,c", "b,c"])
    assert (folder / "out" / "none.csv").read_text() == "X\n"
    assert pq.read_table(folder / "out" / "none.parquet").num_rows == 0
    assert {path.name for path in (folder / "out").iterdir()} == {
        *("path.parquet", "path.csv.gz", "none.csv", "none.parquet")
    }


def test_two_outputs_are_not_one_file(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="another @output writes this file already, the one of p"):
        KnowledgeBase('@output p to "x.csv" . @output q to "x.csv" . p(1). q(2).')
    KnowledgeBase(['@output p to "x.csv" . p(1).', '@output p to "x.csv" .'])


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "ttl", "trig", "nq"])
def test_every_format_is_an_output_and_an_input(tmp_path: Path, ending: str) -> None:
    prefix = "PREFIX : <http://example.org/>"
    out, back = tmp_path / "out.dl", tmp_path / "back.dl"
    out.write_text(f'{prefix} @output :p to "p.{ending}" . :p[:a, "x"] . :p[:b, "1.5"^^xsd:decimal] .')
    back.write_text(
        f'{prefix} @input {":p from " if "jsonl" in ending else ""}"p.{ending}" . :q[?x, ?y] :- :p[?x, ?y] .'
    )
    written = KnowledgeBase(out)
    written.write_outputs()
    assert set(KnowledgeBase(back).facts("http://example.org/q")) == set(written.facts("http://example.org/p"))


def test_outputs_that_cannot_be_are_errors_before_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(INPUT + RULES + '@output paht to "x.csv" .\n')
    assert main(["run", str(folder / "p.dl"), "--quiet"]) == 1
    assert "p.dl:4:17: error: there is no predicate 'paht'" in capsys.readouterr().err
    (folder / "p.dl").write_text(INPUT + RULES + '@output path to "x.csv" (columns = [a]) .\n')
    with pytest.raises(ProgramError, match="path has 2 columns, and 1 names are given"):
        programs.check_outputs(session_of(KnowledgeBase(folder / "p.dl")))


def test_run_writes_outputs_and_query_does_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(INPUT + RULES + '@output path to "path.csv" .\n')
    assert main(["query", str(folder / "p.dl"), "path(a, ?x)"]) == 0
    assert sorted(capsys.readouterr().out.split()) == ["b", "c"]
    assert not (folder / "path.csv").exists()
    assert main(["run", str(folder / "p.dl")]) == 0
    assert (folder / "path.csv").exists()
    assert "path.csv" in capsys.readouterr().err


def test_rules_that_are_added_name_no_files(folder: Path) -> None:
    kb = KnowledgeBase(RULES)
    with pytest.raises(ProgramError, match=r"rules that are added to a knowledge base name no files"):
        kb.add_rules(folder / "p.dl")
    assert len(kb.rules) == 2 and kb.count("edge") == 0


def test_a_store_keeps_facts_and_names_of_columns(folder: Path) -> None:
    with KnowledgeBase(folder / "p.dl") as kb:
        kb.save(folder / "store")
    (folder / "data" / "edges.csv").unlink()
    with KnowledgeBase.open(folder / "store") as kb:
        assert (kb.count("path"), kb.facts("edge").columns, kb.facts("path").columns) == (
            3,
            ("from", "to", "km"),
            ("X", "Y"),
        )
        kb.update(add={"edge": [("c", "d", 1.0)]})
        assert kb.frozen().facts("edge").columns == ("from", "to", "km")
    with KnowledgeBase.open(folder / "store", readonly=True) as kb:
        assert kb.facts("edge").columns == ("from", "to", "km")


# .deltalog.toml


def test_settings_beside_the_program(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "p.dl").write_text(RULES)
    (folder / ".deltalog.toml").write_text('[tables]\nheader = true\n[tables.edge]\ntypes = { km = "string" }\n')
    (folder / "data" / "edge.csv").write_text((folder / "data" / "edges.csv").read_text())
    with caplog.at_level(logging.INFO, "deltalog"):
        kb = KnowledgeBase(folder / "p.dl")
    assert "reading tables as" in caplog.text
    kb.load(folder / "data")
    assert set(kb.facts("edge")) == {("a", "b", "3"), ("b", "c", "4.5")}
    assert ("a", "b", 3) in kb.facts("edges")
    kb.load(folder / "data" / "edge.csv", types={"km": "float"})  # what a call says comes first
    assert ("a", "b", 3.0) in kb.facts("edge")
    KnowledgeBase(RULES).load(folder / "data" / "edge.csv", header=False)  # no program file, no settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[table]\n", "there is no section 'table'; did you mean 'tables'?"),
        ("[tables]\nheadr = true", r"\[tables\]: there is no option of a table 'headr'; did you mean 'header'?"),
        ("[tables.edge]\ntypes = ['integer']", r"\[tables.edge\]: there is no type 'integer'"),
        ("[tables\n", r"deltalog.toml: "),
    ],
)
def test_wrong_settings(folder: Path, text: str, message: str) -> None:
    (folder / ".deltalog.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        KnowledgeBase(folder / "p.dl")
    assert main(["check", str(folder / "p.dl")]) == 1


# Names of columns.


def test_names_of_columns() -> None:
    import pandas
    import polars

    kb = KnowledgeBase(
        "@columns sum(left, total)\nsum(X, Y + 1) :- p(X, Y) .\nnext(X, X + 1) :- p(X, _) .\nq(X, X) :- p(X, _) ."
    )
    kb.add("p", pandas.DataFrame({"number": [1], "other": [2]}))
    assert kb.facts("p").columns == ("number", "other")
    assert kb.facts("sum").to_pandas().columns.tolist() == ["left", "total"]
    assert kb.facts("next").columns == kb.facts("q").columns == ("_0", "_1")
    assert "<th" in kb.facts("p")._repr_html_() and ">number<" in kb.facts("p")._repr_html_()
    with pytest.warns(UserWarning, match=r"p: the columns \(a, b\) keep the names \(number, other\) that they have"):
        change = kb.update(add={"p": polars.DataFrame({"a": [3], "b": [4]})})
    assert change.added["p"].columns == ("number", "other") and change.added["p"].to_arrow().num_rows == 1
    with pytest.warns(UserWarning, match="two columns are called 'x'"):
        kb.add("r", pandas.DataFrame([[1, 2]], columns=["x", "X"]))
    with pytest.raises(DataError), warnings.catch_warnings():
        kb.load(Path(__file__).parent / "none" / "p.csv")


def test_columns_of_souffle_relations() -> None:
    kb = KnowledgeBase('.decl e(from: symbol, to: symbol)\n.output e\ne("a", "b").\n')
    assert kb.facts("e").columns == ("from", "to")


def test_header_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules.dl").write_text(RULES.replace("edge", "edges"))
    data = ["--data", str(folder / "data")]
    goal = ["query", str(folder / "rules.dl"), "edges(?a, ?b, ?c)", *data]
    assert main([*goal, "--header", "--types", "km=string", "--columns", "to,from=a,km"]) == 0
    assert sorted(capsys.readouterr().out.split()) == ['b,a,"3"', 'c,b,"4.5"']
    assert main(["run", "--header", str(folder / "rules.dl"), *data, "--out", str(folder / "out"), "--out-header"]) == 0
    assert (folder / "out" / "edges.csv").read_text().splitlines()[0] == "from,to,km"
    capsys.readouterr()
    (folder / "data" / "notes.txt").touch()
    assert main(goal) == 0
    said = capsys.readouterr().err
    assert "warning: " in said and "looks like a header" in said and "notes.txt" in said
    assert main([*goal, "--types", "int"]) == 1
    assert "types has 1 types, and there are 3 columns" in capsys.readouterr().err
