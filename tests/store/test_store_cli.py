"""The commands for stores: what they print, what they change, and what they say when they cannot.

Most tests call `main` in this process; those about several processes and signals start some.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deltalog import DataError, KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.extensions.store.store import Store

PATHS = "path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).\n"

Outcome = tuple[int, str, str]
Run = Callable[..., Outcome]


@pytest.fixture
def deltalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exit:  # argparse
            code = int(exit.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def graph(deltalog: Run, tmp_path: Path) -> Path:
    """A store `g` with three edges and their paths; and files to change it with."""
    (tmp_path / "paths.dl").write_text(PATHS)
    (tmp_path / "edge.csv").write_text("a,b\nb,c\nc,d\n")
    for name, edges in (("new", "d,e\n"), ("old", "a,b\n"), ("both", "d,e\na,b\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "edge.csv").write_text(edges)
    (tmp_path / "ends.dl").write_text("end(X) :- edge(_, X), NOT edge(X, _).\nedge(d, f).\n")
    assert deltalog("run", "paths.dl", "--data", "edge.csv", "--store", "g", "-q")[0] == 0
    return tmp_path / "g"


def updated(deltalog: Run, *arguments: str) -> dict[str, Any]:
    """The result of an update with --json, without its time."""
    code, out, err = deltalog("update", "g", *arguments, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert 0 < found.pop("seconds") < 60
    return dict(found)


def answers(deltalog: Run, goal: str, *arguments: str) -> list[str]:
    code, out, err = deltalog("query", "g", goal, *arguments)
    assert (code, err) == (0, "")
    return sorted(out.splitlines())


def lines(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").splitlines())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a store but the lock, and those that SQLite makes for readers."""
    kept = ("catalog.db", "manifest.json", "dictionary.bin", "relations.bin")
    found = (path for path in folder.rglob("*") if path.name in kept)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


# Creating.


def test_run_creates_a_store_beside_other_output(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    code, out, err = deltalog("run", "paths.dl", "--data", "edge.csv", "--store", "h", "--out", "out", "--json")
    assert code == 0
    assert json.loads(out)["facts_total"] == 9
    assert "created the store h in" in err
    assert lines(tmp_path / "out" / "path.csv") == ["a,b", "a,c", "a,d", "b,c", "b,d", "c,d"]
    with KnowledgeBase.open(tmp_path / "h", readonly=True) as kb:
        assert (kb.version, kb.count("path"), kb.explicit_facts) == (1, 6, 3)


def test_run_refuses_a_folder_with_something_in_it(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    before = contents(graph)
    for folder in ("g", "new", "edge.csv"):
        code, out, err = deltalog("run", "no-such-program.dl", "--store", folder)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {folder}: exists and is not an empty folder; nothing was written")
    assert contents(graph) == before


def test_run_takes_an_empty_folder(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    assert deltalog("run", "paths.dl", "--store", "h", "-q")[0] == 0
    assert deltalog("log", "h")[0] == 0


def test_a_limit_creates_no_store(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "numbers.dl").write_text("n(0).  n(Y) :- n(X), BIND(X + 1 AS Y).")
    code, _, err = deltalog("run", "numbers.dl", "--max-facts", "1000", "--store", "g", "--out", "out", "-q")
    assert code == 3
    assert err == (
        "INCOMPLETE: the limit of 1,000 facts was reached; facts are missing from the result; "
        "out has the facts derived so far; g was not created\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numbers.dl", "out"]


# Updates.


def test_update_prints_json(deltalog: Run, graph: Path) -> None:
    assert updated(deltalog, "--add", "new", "--remove", "old") == {
        "version": 2,
        "added": {"edge": 1, "path": 3},
        "removed": {"edge": 1, "path": 3},
        "rules_added": 0,
        "rules_removed": 0,
        "facts_total": 9,
        "durable": True,
    }
    assert answers(deltalog, "path(?x, e)") == ["b", "c", "d"]


def test_everything_is_one_version(deltalog: Run, graph: Path) -> None:
    arguments = ("--add", "new", "--remove", "old", "--add-rules", "ends.dl", "--remove-rules", "r2")
    assert updated(deltalog, *arguments) == {
        "version": 2,
        "added": {"edge": 2, "end": 2, "path": 2},
        "removed": {"edge": 1, "path": 4},
        "rules_added": 1,
        "rules_removed": 1,
        "facts_total": 10,
        "durable": True,
    }
    code, out, _ = deltalog("log", "g", "--json")
    assert code == 0
    times = [version.pop("time") for version in json.loads(out) for _ in [0]]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", time) for time in times)
    assert [{name: n for name, n in version.items() if name != "time"} for version in json.loads(out)] == [
        {"version": 1, "added_facts": 3, "removed_facts": 0, "added_rules": 2, "removed_rules": 0},
        {"version": 2, "added_facts": 2, "removed_facts": 1, "added_rules": 1, "removed_rules": 1},
    ]
    assert deltalog("store", "rules", "g")[1].splitlines() == [
        "r1\tpath(?X, ?Y) :- edge(?X, ?Y) .",
        "r3\tend(?X) :- edge(_, ?X), NOT edge(?X, _) .",
    ]
    assert len(deltalog("store", "rules", "g", "--at", "1")[1].splitlines()) == 2


def test_a_dry_run_says_what_would_change(deltalog: Run, graph: Path) -> None:
    before = contents(graph)
    arguments = ("--add", "new", "--remove", "old", "--add-rules", "ends.dl", "--remove-rules", "r2")
    would = updated(deltalog, *arguments, "--dry-run", "--changes", "would")
    assert contents(graph) == before
    assert (would.pop("version"), would.pop("durable")) == (1, False)
    done = updated(deltalog, *arguments, "--changes", "done")
    assert (done.pop("version"), done.pop("durable")) == (2, True)
    assert would == done
    written = [{path.name: lines(path) for path in Path(name).rglob("*.csv")} for name in ("would", "done")]
    assert written[0] == written[1]


def test_update_for_people(deltalog: Run, graph: Path) -> None:
    code, out, err = deltalog("update", "g", "--add", "new", "--add-rules", "ends.dl")
    assert (code, err) == (0, "")
    assert re.sub(r"\(.* s\)", "(0.01 s)", out) == (
        "predicate        added      removed\n"
        "path                 8            0\n"
        "edge                 2            0\n"
        "end                  2            0\n"
        "version 2: 12 facts added, 0 removed; 1 rule added, 0 removed; 21 facts in total (0.01 s)\n"
    )
    assert "version 2 as before: 0 facts added, 0 removed; 21 facts" in deltalog("update", "g", "--add", "new")[1]
    code, out, _ = deltalog("update", "g", "--remove", "new", "--dry-run")
    assert out.splitlines()[-1].startswith("dry run, version 2 stays: 0 facts added, 6 removed; 15 facts in total")


def test_changes_are_exact(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    updated(deltalog, "--add", "new", "--remove", "old", "--changes", "diff")
    found = {str(path.relative_to(tmp_path / "diff")): lines(path) for path in (tmp_path / "diff").rglob("*.csv")}
    assert found == {
        "added/edge.csv": ["d,e"],
        "added/path.csv": ["b,e", "c,e", "d,e"],
        "removed/edge.csv": ["a,b"],
        "removed/path.csv": ["a,b", "a,c", "a,d"],
    }
    before = contents(graph)
    code, _, err = deltalog("update", "g", "--add", "old", "--changes", "diff")
    assert code == 1
    assert err.startswith("error: diff: exists and is not an empty folder")
    assert contents(graph) == before
    updated(deltalog, "--add", "old", "--changes", "parquet", "--format", "parquet")
    again = KnowledgeBase()
    again.load(tmp_path / "parquet" / "added")
    assert sorted(again.facts("path")) == [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")]
    assert list((tmp_path / "parquet" / "removed").iterdir()) == []


def test_changes_that_cannot_be_written_are_made(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "three.csv").write_text("1,2,3\n")
    code, _, err = deltalog("update", "g", "--add", "three.csv", "--changes", "diff", "--format", "nt")
    assert code == 1
    assert err.startswith("error: no fact can be written as a triple: 1 of three/3")
    assert err.endswith("; the change itself is made, as version 2\n")
    assert answers(deltalog, "three(?x, ?y, ?z)") == ["1,2,3"]
    assert not (tmp_path / "diff").exists()


def test_a_fact_that_is_added_and_removed_is_there(deltalog: Run, graph: Path) -> None:
    assert updated(deltalog, "--add", "both", "--remove", "both")["added"] == {"edge": 1, "path": 4}
    assert answers(deltalog, "edge(?x, ?y)") == ["a,b", "b,c", "c,d", "d,e"]
    assert updated(deltalog, "--add", "old", "--remove", "old")["version"] == 2  # nothing changes


def test_explicit_stays_explicit_and_derived_stays_derived(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "path.csv").write_text("a,c\n")
    assert updated(deltalog, "--remove", "path.csv")["removed"] == {}  # it is derived
    assert updated(deltalog, "--add", "path.csv")["added"] == {}  # it is explicit, too, from now on
    assert updated(deltalog, "--remove", "old")["removed"] == {"edge": 1, "path": 1}
    assert answers(deltalog, "path(a, ?x)") == ["c", "d"]
    assert updated(deltalog, "--remove", "path.csv")["removed"] == {"path": 2}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--add", "no.csv"), "error: no.csv: there is no such file or folder"),
        (("--add", "new", "--add", "ragged.csv"), "ragged.csv:2"),
        (("--remove", "ragged.csv"), "ragged.csv:2"),
        (("--add", "new", "--add-rules", "wrong.dl"), "wrong.dl:1:3: error"),
        (("--add", "new", "--add-rules", "cycle.dl"), "cycle.dl:1"),
        (("--add-rules", "no.dl"), "error: cannot read the program no.dl: No such file or directory"),
        (
            ("--add", "new", "--remove-rules", "r9"),
            "error: there is no rule r9; there are r1, r2; kb.rule_ids and",
        ),
        (("--add", "new", "--remove-rules", "ends.dl"), "error: there is no such rule to remove: end(?X)"),
        (("--add", "-"), "error: -: there is no such file or folder"),
        (("--add", "g"), "error: g is a store, not a folder of facts; `deltalog query`"),
    ],
)
def test_a_change_that_fails_changes_nothing(
    deltalog: Run, graph: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "ragged.csv").write_text("a,b\nc\n")
    (tmp_path / "wrong.dl").write_text("p(X) :- q(Y).")
    (tmp_path / "cycle.dl").write_text("q(X) :- edge(X, _), NOT q(X).")
    before = contents(graph)
    code, out, err = deltalog("update", "g", *arguments, "--changes", "diff")
    assert (code, out) == (1, "")
    assert says in err
    assert contents(graph) == before
    assert not (tmp_path / "diff").exists()


def test_a_limit_changes_nothing(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "numbers.dl").write_text("n(0).  n(Y) :- n(X), BIND(X + 1 AS Y).")
    before = contents(graph)
    code, out, err = deltalog("update", "g", "--add-rules", "numbers.dl", "--max-facts", "100")
    assert (code, out) == (3, "")
    assert err.startswith("error: change stopped: the limit of 100 facts was reached; the knowledge base is as it was")
    assert contents(graph) == before


def test_rdf_files_are_read_as_by_run(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "r.dl").write_text("PREFIX : <http://e/>\n:Person[?x] :- :knows[?x, _] .")
    (tmp_path / "a.ttl").write_text("<a> <http://e/knows> _:x .")
    assert deltalog("run", "r.dl", "--store", "g", "-q")[0] == 0
    reading = ("--base", "http://e/", "--shared-blank-nodes")
    assert updated(deltalog, "--add", "a.ttl", *reading)["added"] == {"http://e/Person": 1, "http://e/knows": 1}
    assert answers(deltalog, "SELECT ?x { ?x a <http://e/Person> }") == ["<http://e/a>"]
    assert updated(deltalog, "--remove", "a.ttl")["removed"] == {}  # another base, other blank nodes
    assert updated(deltalog, "--remove", "a.ttl", *reading)["removed"] == {"http://e/Person": 1, "http://e/knows": 1}


def test_known_rules_and_prefixes_make_no_version(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "r.dl").write_text("PREFIX : <http://e/>\n:Person[?x] :- :knows[?x, _] .")
    assert deltalog("run", "r.dl", "--store", "g", "-q")[0] == 0
    assert updated(deltalog, "--add-rules", "r.dl")["version"] == 1


def test_a_snapshot_that_fails_is_a_warning(deltalog: Run, graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise DataError("g cannot be written (No space left on device); no snapshot was taken")

    monkeypatch.setattr(Store, "is_due", lambda *_: "many changes")
    monkeypatch.setattr(Store, "take_snapshot", full)
    code, out, err = deltalog("update", "g", "--add", "new", "--json")
    assert (code, json.loads(out)["version"]) == (0, 2)
    assert set(err.splitlines()) == {
        "warning: no snapshot was taken, and the next opening takes longer: g cannot be written (No space left on "
        "device); no snapshot was taken"
    }


# Versions.


def test_queries_of_versions(deltalog: Run, graph: Path) -> None:
    updated(deltalog, "--add", "new")
    updated(deltalog, "--remove", "old")
    assert answers(deltalog, "path(a, ?x)") == []
    assert answers(deltalog, "path(a, ?x)", "--at", "2") == ["b", "c", "d", "e"]
    assert answers(deltalog, "path(a, ?x)", "--at", "1") == ["b", "c", "d"]
    assert answers(deltalog, "ASK { 'b' <path> 'e' }", "--at", "1") == ["false"]
    assert answers(deltalog, "path(a, b)", "--at", "1", "--method", "magic") == ["true"]
    code, out, err = deltalog("query", "g", "path(a, ?x)", "--at", "4")
    assert (code, out, err) == (1, "", "error: g has no version 4: versions 1 to 3 can be opened\n")


def test_queries_write_nothing(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    before = contents(graph)
    code, _, err = deltalog("query", "g", "path(a, ?x)", "--why", "--learn", "examples.json")
    assert code == 0
    assert err.startswith("materialised")
    assert contents(graph) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["query", "g", "path(a, ?x)", "--data", "edge.csv"], "--data goes with a program; `deltalog update STORE"),
        (["query", "paths.dl", "path(a, ?x)", "--at", "1"], "--at needs a store, and paths.dl is not one"),
        (["query", "g", "path(a, ?x)", "--at", "0"], "0 is not a number of a version; write a whole number from 1 on"),
        (["update", "g"], "nothing to do; use --add, --remove, --add-rules, --remove-rules or --sparql"),
        (["store", "compact", "g", "--out", "o"], "--out goes with export, not with compact"),
        (["store", "compact", "g", "--keep", "0"], "--keep 0 would drop the store"),
        (["store", "compact", "g", "--format", "csv"], "--format goes with export, not with compact"),
        (["store", "export", "g", "--out", "e", "--repair"], "--repair goes with verify, not with export"),
        (["store", "export", "g", "--out", "g/e"], "g/e is inside of the store; choose another folder, or"),
        (["update", "g", "--add", "new", "--changes", "g/c"], "--changes g/c is inside of the store"),
        (["store", "burn", "g"], "invalid choice: 'burn'"),
        (["log"], "the following arguments are required: STORE"),
    ],
)
def test_wrong_usage_of_stores(deltalog: Run, graph: Path, arguments: list[str], says: str) -> None:
    code, out, err = deltalog(*arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_log_for_people(deltalog: Run, graph: Path) -> None:
    updated(deltalog, "--add", "new")
    updated(deltalog, "--remove", "old", "--add-rules", "ends.dl")
    code, out, err = deltalog("log", "g")
    assert (code, err) == (0, "")
    assert re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+ k?B", "TIME  SIZE", out).splitlines() == [
        "version  time                          size  change",
        "      1  TIME  SIZE  +3 -0 facts, +2 -0 rules; snapshot",
        "      2  TIME  SIZE  +1 -0 facts, +0 -0 rules",
        "      3  TIME  SIZE  +1 -1 facts, +1 -0 rules",
        "versions 1 to 3 can be opened; times are UTC",
    ]


def test_compact(deltalog: Run, graph: Path) -> None:
    updated(deltalog, "--add", "new")
    updated(deltalog, "--remove", "old")
    code, out, err = deltalog("store", "compact", "g", "--keep", "2")
    assert (code, err) == (0, "")
    assert re.sub(r"\d+ kB", "SIZE", out).splitlines() == [
        "snapshot of version 3: 9 facts (3 explicit), SIZE",
        "dropped no version; from 1 on they can be opened",
        "SIZE before, SIZE now",
    ]
    assert (
        deltalog("store", "compact", "g")[1].splitlines()[1] == "dropped versions 1 to 2; from 3 on they can be opened"
    )
    assert deltalog("log", "g")[1].splitlines()[-1] == "version 3 can be opened; times are UTC"
    assert deltalog("log", "g")[1].splitlines()[1].endswith("+3 -0 facts, +2 -0 rules; dropped")
    code, _, err = deltalog("query", "g", "path(a, ?x)", "--at", "2")
    assert (code, err) == (
        1,
        "error: g has no version 2: versions 3 to 3 can be opened, and g has dropped those before\n",
    )
    assert answers(deltalog, "path(b, ?x)") == ["c", "d", "e"]


# Export.


@pytest.mark.parametrize("format", ["parquet", "csv", "tsv"])
def test_export_gives_plain_tables(deltalog: Run, tmp_path: Path, format: str) -> None:
    iri, odd = "http://example.org/päth#to", "x.csv"
    with KnowledgeBase(f"<{iri}>(X, Y) :- edge(X, Y).") as kb:
        kb.add("edge", [("a", 1), ("ü", 2.5)])
        kb.add(odd, [("table",)])
        kb.add("Edge", [("case",)])
        kb.save(tmp_path / "g")
    code, out, err = deltalog("store", "export", "g", "--out", "t", "--format", format)
    assert (code, out, err) == (0, "wrote version 1 to t\n", "")
    parts = sorted(str(path.relative_to(tmp_path / "t")) for path in (tmp_path / "t").rglob("*") if path.is_file())
    assert parts == ["Edge/part-0." + format, "edge-2/part-0." + format, "predicates.tsv"] + [
        f"{name}/part-0.{format}" for name in ("to", "x_csv")
    ]
    again = KnowledgeBase()
    again.load("t")
    assert {name: sorted(again.facts(name), key=str) for name in again.predicates} == {
        "Edge": [("case",)],
        "edge": [("a", 1), ("ü", 2.5)],
        iri: [("a", 1), ("ü", 2.5)],
        odd: [("table",)],
    }


def test_export_into_the_store(deltalog: Run, graph: Path) -> None:
    assert deltalog("store", "export", "g") == (0, "wrote version 1 to g/tables\n", "")
    updated(deltalog, "--add", "new")
    assert deltalog("store", "export", "g", "--format", "csv", "--only", "path")[0] == 0
    assert sorted(str(path.relative_to(graph)) for path in (graph / "tables").rglob("*")) == [
        "tables/path",
        "tables/path/part-0.csv",
    ]
    assert len(lines(graph / "tables" / "path" / "part-0.csv")) == 10
    assert deltalog("store", "export", "g", "--only", "pth")[0] == 1
    assert (graph / "tables" / "path").is_dir()
    assert not [path.name for path in graph.iterdir() if path.name.startswith(".")]
    assert deltalog("store", "verify", "g")[0] == 0
    assert updated(deltalog, "--remove", "new")["version"] == 3


def test_export_of_some_facts(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    updated(deltalog, "--add", "new")
    arguments = ("--only", "path", "--at", "1", "--derived", "--format", "tsv")
    assert deltalog("store", "export", "g", "--out", "t", *arguments)[0] == 0
    assert lines(tmp_path / "t" / "path" / "part-0.tsv") == ["a\tb", "a\tc", "a\td", "b\tc", "b\td", "c\td"]
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["path"]
    code, _, err = deltalog("store", "export", "g", "--out", "u", "--only", "pth")
    assert code == 1
    assert "did you mean" in err
    assert not (tmp_path / "u").exists()
    _, _, err = deltalog("store", "export", "g", "--out", "n", "--format", "nt")
    assert err.startswith("error: no fact can be written as a triple: 4 of edge/2")


def test_other_systems_read_an_export(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.dataset")
    assert deltalog("store", "export", "g", "--out", "t")[0] == 0
    assert len(pandas.read_parquet(tmp_path / "t" / "path")) == 6
    assert arrow.dataset(tmp_path / "t" / "path").count_rows() == 6
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/t/path/*.parquet'").fetchall() == [(6,)]


# Stores that are not as they should be.


@pytest.mark.parametrize(
    "command",
    [
        ("update", "g", "--add", "edge.csv"),
        ("update", "g", "--add", "edge.csv", "--dry-run"),
        ("query", "g", "path(a, ?x)"),
        ("log", "g"),
        ("log", "g", "--json"),
        ("store", "compact", "g"),
        ("store", "export", "g", "--out", "t"),
        ("store", "rules", "g"),
    ],
)
def test_what_is_no_store(deltalog: Run, graph: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    def said() -> str:
        code, out, err = deltalog(*command)
        assert (code, out) == (1, "")
        assert len(err.splitlines()) == 1
        assert not (tmp_path / "t").exists()
        return err

    (graph / "catalog.db").rename(tmp_path / "catalog.db")
    assert said() == "error: g is not a store: it has no catalog.db; `deltalog run --store` and kb.save create one\n"
    (graph / "catalog.db").write_bytes(b"no database" * 1000)
    assert said() == (
        "error: g/catalog.db is damaged (file is not a database); "
        "`deltalog store verify --repair` recovers what is left\n"
    )
    (graph / "catalog.db").write_bytes(b"")
    assert "g/catalog.db" in said()
    (graph / "catalog.db").unlink()
    (graph / "catalog.db").symlink_to(tmp_path / "catalog.db")
    assert said() == "error: g/catalog.db is a symbolic link; a store has plain files of its own\n"
    graph.rename(tmp_path / "h")
    if command[0] != "query":  # a program, by its name
        assert said() == "error: g: no such store; `deltalog run --store` and kb.save create one\n"


def test_a_damaged_snapshot_is_named(deltalog: Run, graph: Path) -> None:
    manifest = graph / "snapshots" / "1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("edge", "egde", 1))
    for command in (("query", "g", "path(a, ?x)"), ("update", "g", "--add", "new")):
        code, _, err = deltalog(*command)
        assert code == 1
        assert err.startswith(f"error: {manifest.absolute()} is damaged: its checksum is wrong; ")
        assert "`deltalog store verify --repair`" in err
    assert deltalog("log", "g")[0] == 0


def test_a_store_of_a_later_release(deltalog: Run, graph: Path) -> None:
    import sqlite3

    with sqlite3.connect(graph / "catalog.db") as database:
        database.execute("UPDATE meta SET value = '2' WHERE key = 'format'")
    for command in (("log", "g"), ("query", "g", "path(a, ?x)"), ("update", "g", "--add", "new")):
        code, _, err = deltalog(*command)
        assert (code, err) == (
            1,
            "error: g: a later release of deltalog wrote this store (format 2, this release reads up to 1); "
            "upgrade deltalog\n",
        )


def test_verify_and_repair(deltalog: Run, graph: Path) -> None:
    updated(deltalog, "--add", "new")
    code, out, err = deltalog("store", "verify", "g")
    assert (code, out, err) == (
        0,
        "g: no damage; version 2, 1 snapshots, 1 changes in the log; versions 1 to 2 can be opened\n",
        "",
    )
    deltalog("store", "compact", "g", "--keep", "2")
    relations = graph / "snapshots" / "2" / "relations.bin"
    data = bytearray(relations.read_bytes())
    data[4096] ^= 1
    relations.write_bytes(data)
    code, out, err = deltalog("store", "verify", "g", "--json")
    assert (code, err) == (1, "")
    (problem,) = json.loads(out)["problems"]
    assert problem["file"] == "snapshots/2/relations.bin"
    code, out, err = deltalog("store", "verify", "g", "--repair")
    assert (code, err) == (0, "")
    assert "problem: snapshots/2/relations.bin" in out
    assert out.endswith("  lost: nothing\n")
    assert deltalog("store", "verify", "g")[0] == 0
    assert answers(deltalog, "path(a, ?x)") == ["b", "c", "d", "e"]


def test_what_a_repair_has_lost(deltalog: Run, graph: Path) -> None:
    import sqlite3

    updated(deltalog, "--add", "new")
    with sqlite3.connect(graph / "catalog.db") as database:
        database.execute("UPDATE changes SET crc = 0")
    assert deltalog("store", "verify", "g")[0] == 1
    code, out, err = deltalog("store", "verify", "g", "--repair")
    assert (code, err) == (1, "")
    assert "lost: " in out
    assert deltalog("store", "verify", "g")[0] == 0
    assert answers(deltalog, "path(a, ?x)") == ["b", "c", "d"]


# Paths.


def test_names_with_spaces_and_letters_of_all_kinds(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    name = "a b %41?#ü 店"
    assert deltalog("run", "paths.dl", "--data", "edge.csv", "--store", name, "-q")[0] == 0
    assert deltalog("update", name, "--add", "new")[0] == 0
    assert sorted(deltalog("query", name, "path(?x, e)")[1].splitlines()) == ["a", "b", "c", "d"]
    assert json.loads(deltalog("log", name, "--json")[1])[-1]["version"] == 2
    assert deltalog("store", "compact", name)[0] == 0
    assert deltalog("store", "export", name, "--out", f"{name} 2")[0] == 0
    assert (tmp_path / f"{name} 2" / "path" / "part-0.parquet").exists()
    assert deltalog("log", (tmp_path / "g").as_uri())[0] == 0


def test_a_link_to_a_store(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(graph)
    assert deltalog("update", "link", "--add", "new")[0] == 0
    assert answers(deltalog, "path(d, ?x)") == ["e"]
    (tmp_path / "empty").mkdir()
    (tmp_path / "to").symlink_to(tmp_path / "empty")
    assert deltalog("run", "paths.dl", "--store", "to", "-q")[0] == 0
    assert (tmp_path / "empty" / "catalog.db").exists()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    code, _, err = deltalog("run", "paths.dl", "--store", "dangling", "-q")
    assert (code, err[:33]) == (1, "error: dangling: cannot be writte")
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def frozen(graph: Path) -> Iterator[Path]:
    """The store without the right to write; as root there is none to take away."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    modes = {path: path.stat().st_mode for path in [graph, *graph.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    yield graph
    for path, mode in modes.items():
        path.chmod(mode)


def test_a_store_that_cannot_be_written(deltalog: Run, frozen: Path) -> None:
    assert answers(deltalog, "path(a, ?x)") == ["b", "c", "d"]
    assert deltalog("log", "g")[0] == 0
    assert deltalog("update", "g", "--add", "new", "--dry-run")[0] == 0
    code, _, err = deltalog("update", "g", "--add", "new")
    assert code == 1
    assert err.startswith(
        "error: g/writer.lock cannot be opened for writing (Permission denied); get the right to write"
    )


def test_many_predicates(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "many.dl").write_text("".join(f"p{i}(a, {i}).\n" for i in range(3000)))
    (tmp_path / "few.dl").write_text("q(X) :- p1(X, _).")
    assert deltalog("run", "few.dl", "--store", "g", "-q")[0] == 0
    assert len(updated(deltalog, "--add-rules", "many.dl", "--changes", "c")["added"]) == 3001
    assert len(list((tmp_path / "c" / "added").iterdir())) == 3001
    out = deltalog("update", "g", "--remove-rules", "many.dl", "--dry-run")[1].splitlines()
    assert (len(out), out[-2]) == (23, "... and 2,981 more predicates")
    assert deltalog("store", "compact", "g")[0] == 0
    assert answers(deltalog, "p2999(a, ?x)") == ["2999"]


# Several processes, and signals.


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "deltalog", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_second_writer_is_told_who_writes(deltalog: Run, graph: Path, tmp_path: Path) -> None:
    with KnowledgeBase.open(graph) as kb:
        code, out, err = deltalog("update", "g", "--add", "new")
        assert (code, out) == (1, "")
        assert re.fullmatch(
            rf"error: g is being written to by process {os.getpid()} on \S+ \(.*\), since 20\S+; a store has one "
            r"writer at a time: wait until it closes the store, or open it with readonly=True\n",
            err,
        )
        assert deltalog("update", "g", "--add", "new", "--dry-run")[0] == 0
        kb.update(add={"edge": [("x", "y")]})
        assert answers(deltalog, "path(x, ?x)") == ["y"]
    assert updated(deltalog, "--add", "new")["version"] == 3


def test_updates_at_the_same_time(graph: Path, tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / f"d{i}").mkdir()
        (tmp_path / f"d{i}" / "edge.csv").write_text(f"n{i},m{i}\n")
    runs = [started(tmp_path, "update", "g", "--add", f"d{i}", "--json") for i in range(4)]
    ends = [(*run.communicate(timeout=500), run.returncode) for run in runs]
    made = {i for i, (_, _, code) in enumerate(ends) if code == 0}
    assert made
    for out, err, code in ends:
        assert json.loads(out)["durable"] if code == 0 else "is being written to by" in err, (out, err)
    with KnowledgeBase.open(graph, readonly=True) as kb:
        assert kb.version == 1 + len(made)
        assert {row for row in kb.facts("edge") if row[0].startswith("n")} == {(f"n{i}", f"m{i}") for i in made}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_the_old_version_or_the_new_one(
    graph: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    (tmp_path / "numbers.dl").write_text("n(0).  n(Y) :- n(X), BIND(X + 1 AS Y).")
    run = started(tmp_path, "update", "g", "--add-rules", "numbers.dl")
    wait_for_writer(graph)
    time.sleep(1.0)
    run.send_signal(number)
    out, err = run.communicate(timeout=500)
    assert (run.returncode, out) == (code, "")
    assert err in ("interrupted; g is at version 1 as before\n", "interrupted; nothing was written\n")  # while it opens
    with KnowledgeBase.open(graph) as kb:
        assert (kb.version, len(kb.rules)) == (1, 2)


@pytest.mark.parametrize("made", [False, True])
def test_an_interrupt_says_which_version_there_is(
    deltalog: Run, graph: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    change = KnowledgeBase.change

    def interrupted(kb: KnowledgeBase, *arguments: Any, **options: Any) -> None:
        if made:
            change(kb, *arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(KnowledgeBase, "change", interrupted)
    said = "g is at version 2: the change was made" if made else "g is at version 1 as before"
    assert deltalog("update", "g", "--add", "new") == (130, "", f"interrupted; {said}\n")
    monkeypatch.undo()
    assert json.loads(deltalog("log", str(graph), "--json")[1])[-1]["version"] == (2 if made else 1)


def wait_for_writer(store: Path) -> None:
    """Waits until a process writes to a store."""
    deadline = time.monotonic() + 500
    while not (store / "writer.lock").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.3])
def test_interrupts_at_any_time(graph: Path, tmp_path: Path, delay: float) -> None:
    run = started(tmp_path, "update", "g", "--add", "new", "--json")
    wait_for_writer(graph)
    time.sleep(delay)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=500)
    with KnowledgeBase.open(graph) as kb:
        assert (kb.version, kb.count("path")) in ((1, 6), (2, 10))
        if run.returncode == 0:
            assert json.loads(out)["version"] == kb.version == 2
        else:
            assert run.returncode == 130
            made = "g is at version 2: the change was made" if kb.version == 2 else "g is at version 1 as before"
            assert err in (f"interrupted; {made}\n", "interrupted; nothing was written\n"), err
            assert kb.version == 1 or "nothing was written" not in err
