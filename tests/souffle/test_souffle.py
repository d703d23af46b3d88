"""Soufflé programs in the library and on the command line."""

from __future__ import annotations

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deltalog import KnowledgeBase, LimitReached, UsageError
from deltalog.apps.cli.main import main
from deltalog.core.errors import DataError, ProgramError, SyntaxProblem
from deltalog.core.rules import Call, Constant
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.functions.scalar import evaluate
from deltalog.functions.souffle_functors import fields_of, record
from deltalog.knowledge_base.calls import session_of

ROOT = Path(__file__).parent.parent.parent
PATHS = """
.decl edge(x : symbol, y : symbol)
.input edge
.decl path(x : symbol, y : symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def paths(tmp_path: Path) -> Path:
    program = tmp_path / "paths.dl"
    program.write_text(PATHS)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.facts").write_text("a\tb\nb\t1\n")
    return program


def test_command_line(paths: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["run", "-q", str(paths), "-F", str(tmp_path / "facts"), "-D", str(out)]) == 0
    assert sorted((out / "path.csv").read_text().splitlines()) == ["a\t1", "a\tb", "b\t1"]
    assert [path.name for path in out.iterdir()] == ["path.csv"]


def test_data_is_a_folder_of_facts(paths: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", str(paths), "--data", str(tmp_path / "facts"), "-D", "-"]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == ["---------------", "path", "x\ty", "==============="]


def test_without_output_nothing_is_written(paths: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths.write_text(PATHS.replace(".output path", ""))
    out = tmp_path / "out"
    assert main(["run", str(paths), "-F", str(tmp_path / "facts"), "-D", str(out)]) == 0
    assert "no .output, so nothing is written" in capsys.readouterr().err
    assert list(out.iterdir()) == []
    assert main(["run", "-q", str(paths), "-F", str(tmp_path / "facts"), "-D", str(out), "--format", "csv"]) == 0
    assert "path.csv" in [path.name for path in out.iterdir()]


def test_include_folders_and_macros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("one/a.dl", "p(1).\n"), ("two/b.dl", '#include "c.dl"\n'), ("two/c.dl", "p(N).\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    program = tmp_path / "main.dl"
    program.write_text('.decl p(x : number)\n.include "a.dl"\n#include "b.dl"\n#ifdef MORE\np(3).\n#endif\n.output p\n')
    folders = [tmp_path / "one", tmp_path / "two"]
    kb = KnowledgeBase(program, include_dirs=folders, macros={"N": "7"})
    assert set(kb.facts("p")) == {(1,), (7,)}
    given = ["-I", str(folders[0]), "-I", str(folders[1]), "-M", "N=8", "-M", "MORE"]
    assert main(["run", "-q", str(program), *given, "-D", str(tmp_path / "out")]) == 0
    assert sorted((tmp_path / "out" / "p.csv").read_text().split()) == ["1", "3", "8"]
    assert main(["check", str(program), *given]) == 0
    with pytest.raises(SyntaxProblem, match="cannot read the included file"):
        KnowledgeBase(program)


def test_quoted_names_are_beside_the_file(tmp_path: Path) -> None:
    """`#include "x"` begins beside the file that includes it, `#include <x>` in the given folders."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "x.dl").write_text("p(1).\n")
    (tmp_path / "inner" / "x.dl").write_text("p(2).\n")
    program = tmp_path / "inner" / "main.dl"
    found = {}
    for name in ('"x.dl"', "<x.dl>"):
        program.write_text(f"#include {name}\n.decl p(x : number)\n")
        found[name] = set(KnowledgeBase(program, include_dirs=[tmp_path]).facts("p"))
    assert found == {'"x.dl"': {(2,)}, "<x.dl>": {(1,)}}


def test_program_of_included_files(tmp_path: Path) -> None:
    """A file without directives of its own is Soufflé's by what it includes."""
    (tmp_path / "decls.dl").write_text("#pragma once\n.decl p(x : number)\n.decl q(x : number)\n.output q\n")
    program = tmp_path / "main.dl"
    program.write_text('#include "decls.dl"\n#define SOME \\\n    p(1). p(2)\nSOME.\nq(x) :- p(x), x > 1.\n')
    assert list(KnowledgeBase(program).facts("q")) == [(2,)]
    assert main(["run", "-q", str(program), "-D", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "q.csv").read_text() == "2\n"
    text = KnowledgeBase("# include the edges\n#ifdef is a word\np(1).\nq(X) :- p(X).")
    assert list(text.facts("q")) == [(1,)]


def test_missing_files_come_first(tmp_path: Path) -> None:
    """Without all of its files, a program is not looked at: it would seem to declare nothing."""
    program = tmp_path / "main.dl"
    program.write_text('#include "gone.dl"\n#include "also_gone.dl"\np(x) :- undeclared(x).\n.output p(SETTINGS)\n')
    with pytest.raises(SyntaxProblem) as raised:
        KnowledgeBase(program)
    assert [each.message.split(":")[0] for each in raised.value.diagnostics] == [
        f"cannot read the included file {tmp_path / 'gone.dl'}",
        f"cannot read the included file {tmp_path / 'also_gone.dl'}",
    ]


def test_errors_file_by_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.dl").write_text("p(x).\n\np(y).\n")
    program = tmp_path / "main.dl"
    program.write_text('.decl p(x : number)\n#include "one.dl"\n#include "two.dl"\n')
    with pytest.raises(SyntaxProblem) as raised:
        KnowledgeBase(program)
    places = [str(each.span).removeprefix(f"{tmp_path}/") for each in raised.value.diagnostics]
    assert places == ["one.dl:1:3", "one.dl:3:3", "two.dl:1:3", "two.dl:3:3"]


def test_numbers_of_symbols_are_no_given_facts() -> None:
    kb = KnowledgeBase('.decl p(x : symbol)\n.decl q(n : number)\np("a"). p("b").\nq(ord(x)) :- p(x).')
    kb.materialise()
    assert (kb.explicit_facts, kb.report.facts_in, kb.report.facts_derived) == (2, 2, 2)


def test_missing_facts(paths: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*edge.facts for edge; --facts DIR"):
        KnowledgeBase(paths).load_inputs()


def test_wrong_cells(paths: Path, tmp_path: Path) -> None:
    paths.write_text(".decl edge(x : symbol, y : number)\n.input edge\n")
    with pytest.raises(DataError, match=r"edge.facts:1: 'b' is no number \(relation edge\)"):
        KnowledgeBase(paths).load_inputs(tmp_path / "facts")


def test_updates_and_queries() -> None:
    kb = KnowledgeBase(PATHS)
    change = kb.update(add={"edge": [("a", "b"), ("b", "c")]})
    assert set(change.added["path"]) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert set(kb.query("path(a, ?x)")) == {("b",), ("c",)}


def test_language() -> None:
    text = "p(X) :- q(X)."
    assert KnowledgeBase(text, language="auto").predicates == ["p", "q"]
    with pytest.raises(SyntaxProblem, match="the relation p is not declared"):
        KnowledgeBase(text, language="souffle")
    with pytest.raises(SyntaxProblem):
        KnowledgeBase(PATHS, language="deltalog")
    with pytest.raises(UsageError, match="there is no language 'prolog'"):
        KnowledgeBase(text, language="prolog")


@pytest.mark.parametrize("method", ["auto", "magic", "qsqr", "materialised"])
def test_goals_see_facts_of_stages(method: str) -> None:
    kb = KnowledgeBase("""
        .decl p(x : number, y : number) choice-domain x
        .decl q(x : number)
        p(1, 2). p(1, 3). q(x) :- p(_, x).
    """)
    assert list(kb.query("q(?x)", method)) == [(2,)]
    assert list(kb.query("p(1, ?y) ; q(?y)", method)) == [(2,)]


def test_stages_count_facts() -> None:
    kb = KnowledgeBase(".decl n(x : number) choice-domain x\nn(0). n(x + 1) :- n(x).", max_facts=50)
    with pytest.raises(LimitReached, match="50 facts"):
        kb.materialise()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".decl p(x : number, y : number) choice-domain x\np(1, 2).", "choice-domain"),
        (".decl p(x : number)\np(autoinc()).", r"autoinc\(\)"),
        (".decl p(x : symbol)\n.input p", "name no files: .input p"),
        (".decl p(x : symbol)\n.output p", "name no files: .output p"),
    ],
)
def test_rules_that_cannot_be_added(text: str, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        KnowledgeBase("p(a).").add_rules(text)


@pytest.mark.parametrize("include", ['#include "{}"', '.include "{}"'])
def test_added_text_includes_no_files(include: str, tmp_path: Path) -> None:
    included, program = tmp_path / "other.dl", tmp_path / "program.dl"
    included.write_text(".decl q(x : number)\nq(7).\n")
    program.write_text(text := f".decl p(x : number)\n{include.format(included)}\np(x) :- q(x).\n")
    kb = KnowledgeBase("r(a).")
    with pytest.raises(SyntaxProblem, match="include no files"):
        kb.add_rules(text)
    kb.add_rules(program)
    assert list(kb.facts("p")) == [(7,)]


def test_stores(tmp_path: Path) -> None:
    kb = KnowledgeBase(PATHS)
    kb.add("edge", [("a", "b")])
    kb.save(tmp_path / "store")
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert set(opened.facts("path")) == {("a", "b")}


def test_inputs_that_no_output_needs(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        f".decl unused(x : number)\n.input unused\n{PATHS}.decl more(x : number)\nmore(x) :- unused(x).\n"
    )
    (tmp_path / "edge.facts").write_text("a\tb\n")
    KnowledgeBase(program).load_inputs()
    (tmp_path / "unused.facts").write_text("no number\n")
    out = tmp_path / "out"
    assert main(["run", str(program), "-D", str(out), "-q"]) == 0
    assert (out / "path.csv").read_text() == "a\tb\n"
    assert main(["run", str(program), "--out", str(out), "--format", "csv", "-q"]) != 0
    (tmp_path / "edge.facts").unlink()
    assert main(["run", str(program), "-D", str(out), "-q"]) != 0


def test_sqlite(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "in.db")
    with connection:
        connection.execute("CREATE TABLE p (a TEXT, b INTEGER)")
        connection.execute("INSERT INTO p VALUES ('7', 8)")
    connection.close()
    text = '.decl p(a : symbol, b : number)\n.input p(IO=sqlite, dbname="in.db")\n.output p(IO=sqlite, dbname="out.db")'
    kb = KnowledgeBase(text)
    kb.load_inputs(tmp_path)
    assert list(kb.facts("p")) == [("7", 8)]
    kb.write_outputs(tmp_path)
    connection = sqlite3.connect(tmp_path / "out.db")
    assert connection.execute("SELECT * FROM p").fetchall() == [("7", 8)]
    connection.close()


def test_sqlite_with_the_name_of_a_table(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x",), ("",), (None,)])
    text = ".decl p(a : symbol)\n.input p(IO=sqlite, name=t)\n.output p(IO=sqlite, name=u, filename=o, dbname=other)"
    kb = KnowledgeBase(text)
    kb.load_inputs(tmp_path)
    kb.write_outputs(tmp_path / "out")
    with closing(sqlite3.connect(tmp_path / "out" / "o")) as connection:
        assert sorted(connection.execute("SELECT * FROM u")) == [("",), ("x",)]


def test_check_counts_rules_of_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.dl"
    program.write_text(".decl p(x : number)\np(1). p(2).\np(x + 1) :- p(x), x < 5.\np(x) <= p(y) :- x < y.\n")
    assert main(["check", str(program)]) == 0
    assert capsys.readouterr().out == "2 rules and 2 facts in 1 hyper-node: no errors, 0 warnings\n"


def test_plan_shows_stages() -> None:
    kb = KnowledgeBase(".decl p(x : number)\np(1).\np(x + 1) :- p(x), x < 5.\np(x) <= p(y) :- x < y.\n")
    assert str(kb.plan()).startswith("stage 1 of 1: p; subsumption, a set at a time\n  p(")
    assert "p(?x) goes if p(?y), ?x < ?y" in str(kb.plan())


def test_notes() -> None:
    kb = KnowledgeBase('.decl p(x : number) brie\n.pragma "provenance" "explain"\np(1).')
    assert [note.message for note in session_of(kb).document.notes] == [
        "brie changes nothing here",
        ".pragma provenance explain changes nothing here",
    ]
    rules = "p(x) :- q(x).\n.plan 1:(1)\n" * 3
    kb = KnowledgeBase(f".decl p(x : number)\n.decl q(x : number)\nq(1).\n{rules}")
    assert [note.message for note in session_of(kb).document.notes] == [
        ".plan changes nothing here (and in 2 more places)"
    ]


def test_columns_compute_what_values_do() -> None:
    """Whole columns wrap around at 32 bits as single values do."""
    numbers = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 65536, 123456789]
    operators = {"+": "+", "-": "-", "*": "*", "%": "%", "band": "&", "bor": "|", "bxor": "^"}
    rules = [f'r("{name}", x, y, x {name} y) :- n(x), n(y), y != 0.' for name in operators]
    text = ".decl n(x : number)\n.decl r(o : symbol, x : number, y : number, z : number)\n" + "\n".join(rules)
    kb = KnowledgeBase(text)
    kb.add("n", [(n,) for n in numbers])
    found = set(kb.facts("r"))
    for name, operator in operators.items():
        for x in numbers:
            for y in filter(None, numbers):
                value = evaluate(Call(f"{PREFIX}i{operator}", (Constant(x), Constant(y))), {})
                assert (name, x, y, value) in found
    assert len(found) == len(operators) * len(numbers) * (len(numbers) - 1)


def test_records_are_values() -> None:
    value = record(1, 'a"]', 1.0, record("x", record()))
    assert fields_of(value)[:3] == (1, 'a"]', 1.0)
    assert fields_of(fields_of(value)[3]) == ("x", record())
    assert record(1) != record(1.0)


def test_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    """The first example of docs/souffle.md prints what its comments say (others are sessions, see test_readme)."""
    text = (ROOT / "docs" / "souffle.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(from.*?)^```", text, re.DOTALL | re.MULTILINE)
    exec(block, {})
    wanted = re.findall(r"\)  # (.*)$", block, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == wanted


def test_damaged_files_are_named(tmp_path: Path) -> None:
    declared = ".decl s(x : symbol, n : number)\n"
    packed = gzip.compress(b"a\t1\n")
    database = tmp_path / "s.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE s (x, n, more)")
        connection.execute("INSERT INTO s VALUES ('a', 1, 2)")
    wrong = {
        ".input s": (packed[:-3], "cannot be decompressed"),
        '.input s(columns="a:b")': (b"1\ta\n", "'a' is no number of a column"),
        '.input s(columns="5:0")': (b"1\ta\n", "there is no column 5"),
        '.input s(IO=sqlite, dbname="s.db")': (b"", "2 columns expected, 3 found"),
        '.input s(IO=jsonfile, filename="s.facts")': (b'[["\\ud800", 1]]', "surrogates not allowed"),
    }
    for directive, (data, message) in wrong.items():
        (tmp_path / "s.facts").write_bytes(data)
        with pytest.raises(DataError, match=message):
            KnowledgeBase(declared + directive, language="souffle").load_inputs(tmp_path)


@pytest.mark.parametrize(("type_", "cell"), [("float", "1_0"), ("number", "\N{ARABIC-INDIC DIGIT THREE}")])
def test_digits_are_those_of_ascii(type_: str, cell: str, tmp_path: Path) -> None:
    (tmp_path / "s.facts").write_text(f"{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"is no {type_}"):
        KnowledgeBase(f".decl s(x : {type_})\n.input s", language="souffle").load_inputs(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_mark(end: str, tmp_path: Path) -> None:
    (tmp_path / "s.facts").write_bytes(f"\ufeffa\t1{end}".encode())
    kb = KnowledgeBase(".decl s(x : symbol, n : number)\n.input s", language="souffle")
    kb.load_inputs(tmp_path)
    assert list(kb.facts("s")) == [("a", 1)]


def test_infinite_floats_are_read_back(tmp_path: Path) -> None:
    text = ".decl f(x : float)\n.decl g(x : float)\nf(1.0 / 0.0). f(-1.0 / 0.0).\n.output f(IO=jsonfile)\n"
    KnowledgeBase(text, language="souffle").write_outputs(tmp_path)
    kb = KnowledgeBase('.decl g(x : float)\n.input g(IO=jsonfile, filename="f.json")', language="souffle")
    kb.load_inputs(tmp_path)
    assert set(kb.facts("g")) == {(float("inf"),), (float("-inf"),)}


def test_an_inline_relation_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.facts").write_text("1\n")
    text = ".decl a(x : number) inline\n.input a\n.decl b(x : number)\nb(x) :- a(x)."
    kb = KnowledgeBase(text, language="souffle")
    kb.load_inputs(tmp_path)
    assert list(kb.facts("b")) == [(1,)]
