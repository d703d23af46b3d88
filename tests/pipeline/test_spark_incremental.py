"""Pipelines with state: every run gives what a run from scratch gives, and sinks of changes add up to it."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from deltalog import DataError, KnowledgeBase, UsageError
from deltalog.apps.pipelines.run import ConstraintViolated
from deltalog.apps.pipelines.spec import PipelineError
from deltalog.apps.pipelines.state import PipelineState
from deltalog.apps.pipelines.state_lock import Holder, StateLock
from deltalog.core.terms import IRI
from deltalog.formats.csv_cells import parse_cell
from deltalog.spark import Pipeline

RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
loop(X) :- path(X, X).
"""
PIPELINE = """
rules = ["rules.dl"]
state = "state"

[sources.edge]
format = "csv"
path = "in"
options = {{ header = "true" }}
schema = "a long, b long{schema}"
{source}

[sinks.paths]
predicate = "path"
format = "parquet"
path = "out/path"
mode = "overwrite"

[sinks.log]
predicate = "path"
format = "parquet"
path = "out/log"
changes = true
{more}
"""
Rows = list[tuple[Any, ...]]


class Project:
    """A folder with a pipeline file, its rules and its input."""

    def __init__(self, folder: Path, spark: Any, source: str = "", schema: str = "", more: str = "") -> None:
        self.folder, self.spark = folder, spark
        (folder / "in").mkdir()
        (folder / "rules.dl").write_text(RULES)
        (folder / "pipeline.toml").write_text(PIPELINE.format(source=source, schema=schema, more=more))

    def put(self, name: str, rows: Rows, header: str = "a,b") -> None:
        with open(self.folder / "in" / name, "w", newline="") as file:
            file.write(header + "\n")
            csv.writer(file).writerows(rows)

    def run(self) -> Any:
        return Pipeline.from_file(self.folder / "pipeline.toml").run(self.spark)

    def read(self, folder: str) -> Rows:
        return [tuple(row) for row in self.spark.read.parquet(str(self.folder / folder)).collect()]

    def check(self, edges: Rows, rules: str = RULES) -> None:
        """The sink has the paths of a run from scratch, and so has the log of changes."""
        kb = KnowledgeBase(rules, engine="naive")
        kb.add("edge", edges or [(0, 0)])
        right = set(kb.facts("path")) if edges else set()
        assert set(self.read("out/path")) == right
        assert self.replayed() == right

    def replayed(self) -> set[tuple[Any, ...]]:
        """The changes in the order of versions; none adds what is there, or removes what is not."""
        log = self.spark.read.parquet(str(self.folder / "out/log")).select("X", "Y", "_op", "_version").collect()
        found: set[tuple[Any, ...]] = set()
        for x, y, operation, _ in sorted(log, key=lambda row: (row[3], row[2])):
            assert ((x, y) in found) == (operation == "D")
            (found.discard if operation == "D" else found.add)((x, y))
        return found

    def state(self) -> PipelineState:
        return PipelineState.open(self.spark, str(self.folder / "state"))


@pytest.fixture
def project(tmp_path: Path, spark: Any) -> Project:
    return Project(tmp_path, spark)


def test_full_differences_follow_the_input(project: Project) -> None:
    project.put("a.csv", [(1, 2), (2, 3)])
    assert project.run().version == 1
    project.check([(1, 2), (2, 3)])
    project.put("a.csv", [(1, 2), (3, 4)])
    project.put("b.csv", [(2, 3), (3, 1)])
    report = project.run()
    assert (report.version, report.changes["edge"]) == (2, {"added": 2, "removed": 0})
    project.check([(1, 2), (3, 4), (2, 3), (3, 1)])
    (project.folder / "in" / "a.csv").unlink()
    assert project.run().version == 3
    project.check([(2, 3), (3, 1)])
    assert project.run().version == 3, "nothing has changed"
    assert sorted(path.name for path in (project.folder / "out/log").glob("_version=*")) == [
        f"_version={version}" for version in (1, 2, 3)
    ]


def test_changed_rules_are_changes(project: Project) -> None:
    project.put("a.csv", [(1, 2), (2, 3)])
    project.run()
    rules = RULES.replace("path(X, Y) :- edge(X, Y).", "path(X, Y) :- edge(Y, X).\nedge(9, 8).")
    (project.folder / "rules.dl").write_text(rules)
    project.run()
    edges = [(1, 2), (2, 3), (9, 8)]
    project.check(edges, rules)
    manifest = project.state().manifest
    assert manifest is not None and len(manifest.rules.texts) == 4 and manifest.rules.present == (2, 3, 4)
    project.put("b.csv", [(3, 4)])
    project.run()  # which compacts, and still knows the fact of the rules
    edges = [(1, 2), (2, 3), (3, 4), (9, 8)]
    project.check(edges, rules)
    (project.folder / "rules.dl").write_text(RULES)
    project.run()
    project.check(edges[:3])


def test_new_files_are_additions(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark, 'changes = "files"')
    project.put("a.csv", [(1, 2), (2, 3)])
    project.run()
    project.put("b.csv", [(3, 4), (1, 2)])
    assert project.run().sources[0].rows == 2
    project.check([(1, 2), (2, 3), (3, 4)])
    project.put("a.csv", [(1, 2), (2, 3), (7, 8)])
    with pytest.raises(DataError, match=r"sources.edge: .*a.csv was rewritten.*restore it, or set changes = \"full\""):
        project.run()
    (tmp_path / "in" / "a.csv").unlink()
    with pytest.raises(DataError, match=r"a.csv has vanished"):
        project.run()


def test_new_files_in_folders_with_columns(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark, 'changes = "files"\ncolumns = ["a", "day"]', ", day long")
    for day in (1, 2):
        (tmp_path / "in" / f"day={day}").mkdir()
        project.put(f"day={day}/a.csv", [(day, 0)])
        project.run()
    assert set(project.read("out/path")) == {(1, 1), (2, 2)}


def test_greater_versions_are_additions(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark, 'changes = { version = "at" }', ", at timestamp")
    project.put("a.csv", [(1, 2, "2024-01-01 10:00:00"), (2, 3, "2024-01-02 10:00:00")], "a,b,at")
    project.run()
    project.put("b.csv", [(3, 4, "2024-01-02 10:00:00.000001"), (8, 9, "2023-01-01 00:00:00")], "a,b,at")
    assert project.run().changes["edge"] == {"added": 1, "removed": 0}
    project.check([(1, 2), (2, 3), (3, 4)])
    project.put("c.csv", [(1, 2, "")], "a,b,at")
    with pytest.raises(DataError, match="the column at has 1 nulls"):
        project.run()


@pytest.mark.parametrize("order", ["", ', order = "n"'])
def test_a_feed_inserts_and_deletes(order: str, tmp_path: Path, spark: Any) -> None:
    changes = f'changes = {{ operation = "op", insert = ["+"], delete = ["-"]{order} }}\ncolumns = ["a", "b"]'
    project = Project(tmp_path, spark, changes, ", op string, n long")
    project.put("a.csv", [(1, 2, "+", 1), (2, 3, "+", 2), (3, 1, "+", 3)], "a,b,op,n")
    project.run()
    project.check([(1, 2), (2, 3), (3, 1)])
    project.put("b.csv", [(3, 1, "-", 4), (4, 5, "-", 5), (3, 4, "+", 6)], "a,b,op,n")
    project.run()
    project.check([(1, 2), (2, 3), (3, 4)])
    if order:
        project.put("c.csv", [(1, 2, "+", 9), (1, 2, "-", 8), (2, 3, "+", 7), (2, 3, "-", 10)], "a,b,op,n")
        project.run()
        project.check([(1, 2), (3, 4)])
    project.put("d.csv", [(1, 2, "?", 11)], "a,b,op,n")
    with pytest.raises(DataError, match=r"column op has the operation '\?'; those that changes knows are '\+', '-'"):
        project.run()


def test_a_constraint_that_fails_keeps_the_version(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark, more='[constraints.loops]\npredicate = "loop"\naction = "fail"')
    project.put("a.csv", [(1, 2)])
    project.run()
    project.put("b.csv", [(2, 1)])
    with pytest.raises(ConstraintViolated):
        project.run()
    assert project.state().version == 1
    project.put("b.csv", [(2, 3)])
    assert project.run().version == 2
    project.check([(1, 2), (2, 3)])


def test_a_new_constraint_is_checked_though_nothing_has_changed(project: Project) -> None:
    project.put("a.csv", [(1, 1)])
    project.run()
    file = project.folder / "pipeline.toml"
    text = file.read_text()
    file.write_text(text + '[constraints.loops]\npredicate = "loop"\naction = "warn"\n')
    report = project.run()
    assert (report.version, [one.count for one in report.violations]) == (1, [1])
    file.write_text(text + '[constraints.loops]\npredicate = "loop"\n')
    with pytest.raises(ConstraintViolated, match="1 violation of loop"):
        project.run()


def test_a_feed_of_files_cannot_lose_its_order(tmp_path: Path, spark: Any) -> None:
    changes = 'changes = { operation = "op", order = "n" }\ncolumns = ["a", "b"]'
    project = Project(tmp_path, spark, changes, ", op string, n long")
    project.put("a.csv", [(1, 2, "I", 1), (2, 3, "I", 2), (2, 3, "D", 3)], "a,b,op,n")
    project.run()
    file = tmp_path / "pipeline.toml"
    file.write_text(file.read_text().replace(', order = "n"', ""))
    with pytest.raises(DataError, match=r"sources.edge: .*which files were read is not known; set order again"):
        project.run()


def test_a_table_of_changes_has_partitions_within_versions(project: Project) -> None:
    file = project.folder / "pipeline.toml"
    sink = '[sinks.table]\npredicate = "path"\ntable = "path_changes"\nchanges = true\npartition_by = ["X"]\n'
    file.write_text(file.read_text() + sink)
    try:
        for version in (1, 2, 3):
            project.put(f"{version}.csv", [(version, 9)])
            assert project.run().version == version
        rows = project.spark.table("path_changes").select("X", "Y", "_op", "_version").collect()
        assert sorted(map(tuple, rows)) == [(version, 9, "I", version) for version in (1, 2, 3)]
    finally:
        project.spark.sql("DROP TABLE IF EXISTS path_changes")


def edited(project: Project, old: str, new: str) -> str:
    """Changes the pipeline file; its text before."""
    file = project.folder / "pipeline.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return text


def test_a_sink_of_changes_is_what_was_written_there(project: Project) -> None:
    """Options, its name and the folder of the pipeline do not matter."""
    project.put("a.csv", [(1, 2), (2, 3)])
    project.run()
    project.put("a.csv", [(1, 2)])
    edited(project, "[sinks.log]", '[sinks.journal]\noptions = { compression = "zstd" }')
    assert project.run().version == 2
    project.check([(1, 2)])
    moved = project.folder / "moved"
    moved.mkdir()
    for path in [path for path in project.folder.iterdir() if path != moved]:
        path.rename(moved / path.name)
    project.folder = moved
    project.put("a.csv", [(5, 6)])
    assert project.run().version == 3
    project.check([(5, 6)])
    shutil.rmtree(moved / "out")
    again = project.folder = moved.parent / "again"
    moved.rename(again)  # without its sinks, which are new
    project.put("a.csv", [(5, 6), (6, 7)])
    project.run()
    project.check([(5, 6), (6, 7)])


def test_changes_that_a_sink_lacks_are_an_error(project: Project) -> None:
    project.put("a.csv", [(1, 2), (2, 3)])
    project.run()
    whole = edited(project, "changes = true", 'changes = true\ncolumns = ["V", "W"]')
    with pytest.raises(DataError, match=r"sinks.log: columns was X, Y in the changes that the sink has, and is V, W"):
        project.run()
    file = project.folder / "pipeline.toml"
    file.write_text(whole[: whole.index("[sinks.log]")])
    project.put("a.csv", [(1, 2)])
    assert project.run().version == 2
    file.write_text(whole)
    with pytest.raises(DataError, match=r"sinks.log: the sink has changes up to version 1, and those since are"):
        project.run()
    assert project.state().version == 2
    shutil.rmtree(project.folder / "out/log")
    project.run()
    project.check([(1, 2)])


def test_renamed_columns_reach_a_sink(project: Project) -> None:
    project.put("a.csv", [(1, 2)])
    edited(project, "[sinks.paths]", '[sinks.edge]\npath = "out/edge"\nmode = "overwrite"\n[sinks.paths]')
    project.run()
    columns = 'columns = [{ column = "a", as = "src" }, "b"]\n'
    edited(project, "[sinks.edge]", columns + "[sinks.edge]")
    assert project.run().version == 2
    assert project.spark.read.parquet(str(project.folder / "out/edge")).columns == ["src", "b"]
    assert project.run().version == 2


MIXED = """
program = "v(X) :- number(X). v(X) :- text(X). v(X) :- iri(X)."
{engine}
state = "state"
[sources.number]
path = "number"
format = "csv"
schema = "x long"
[sources.text]
path = "text"
format = "csv"
schema = "x string"
[sources.iri]
path = "iri"
format = "csv"
schema = "x string"
columns = [{{ column = "x", type = "iri" }}]
[sinks.v]
path = "out"
changes = true
"""


@pytest.mark.parametrize("engine", ["", 'engine = "spark"'])
def test_a_value_is_written_in_the_same_way_in_all_versions(engine: str, tmp_path: Path, spark: Any) -> None:
    """Text and number 12, and an IRI and its text, in changes that have one kind of value or several."""
    (tmp_path / "pipeline.toml").write_text(MIXED.format(engine=engine))
    iri, found = "http://e.x/12", set[Any]()
    steps: list[tuple[list[Any], ...]] = [
        ([], ["foo"], []),
        ([], ["foo", "12"], [iri]),
        ([12, 13], ["foo", "12", iri], [iri]),
        ([13], ["foo", "12", iri], []),
        ([13], ["foo"], []),
        ([], [], [iri]),
    ]
    for version, step in enumerate(steps, 1):
        for name, values in zip(("number", "text", "iri"), step, strict=True):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / "a.csv").write_text("".join(f"{value}\n" for value in values))
        Pipeline.from_file(tmp_path / "pipeline.toml").run(spark)
        log = spark.read.parquet(str(tmp_path / f"out/_version={version}")).collect()
        for value, operation in ((parse_cell(cell), operation) for cell, operation in log):
            assert (value in found) == (operation == "D"), value
            (found.discard if operation == "D" else found.add)(value)
        assert found == {*step[0], *step[1], *map(IRI, step[2])}


def test_what_a_crash_left_is_discarded(project: Project) -> None:
    """Sinks and state of a version that was written but not committed."""
    project.put("a.csv", [(1, 2)])
    project.run()
    project.put("b.csv", [(2, 3)])
    project.run()
    state = project.folder / "state"
    (state / "CURRENT").write_text("1")  # as if the driver had been killed before it wrote CURRENT
    (state / ".CURRENT.crc").unlink()
    project.put("b.csv", [(5, 6)])
    assert project.run().version == 2
    project.check([(1, 2), (5, 6)])
    (state / "CURRENT").write_text("1")
    (state / ".CURRENT.crc").unlink()
    (project.folder / "in" / "b.csv").unlink()  # nothing has changed since version 1, and yet the sinks have version 2
    project.run()
    project.check([(1, 2)])


def test_old_versions_are_deleted_and_deltas_compacted(project: Project) -> None:
    edges: Rows = [(n, n + 1) for n in range(5)]
    for version in range(8):
        edges = [*edges[1:], (version + 5, version + 6)] if version else edges
        project.put("a.csv", edges)
        project.run()
    project.check(edges)
    manifest = project.state().manifest
    assert manifest is not None and manifest.version == 8
    folders = {int(path.name) for path in (project.folder / "state/data").iterdir() if path.is_dir()}
    assert {folder.version for folder in manifest.data} <= folders and len(folders) < 8
    assert len(list((project.folder / "state/versions").glob("*.json"))) == 3


def test_mistakes_of_states(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark)
    file = tmp_path / "pipeline.toml"
    text = file.read_text()
    file.write_text(text.replace('mode = "overwrite"', 'mode = "append"'))
    with pytest.raises(PipelineError, match=r"sinks.paths.mode: .*set mode = \"overwrite\", or changes = true"):
        project.run()
    more = '[sources.more]\npredicate = "edge"\nformat = "csv"\npath = "in"\nchanges = "files"\nschema = "a int, b int"'
    file.write_text(text + more)
    with pytest.raises(PipelineError, match=r"sources.edge.changes: a full difference would remove .* sources.more"):
        project.run()
    file.write_text(text)
    project.put("a.csv", [(1, 2)])
    project.run()
    shutil.rmtree(tmp_path / "state")
    for _ in range(2):
        project.put("a.csv", [(1, 3)])
        (tmp_path / "out/log/_version=7").mkdir(exist_ok=True)
        with pytest.raises(DataError, match="changes of version 7, and the state is at version 0"):
            project.run()
    (tmp_path / "state/CURRENT").parent.mkdir(exist_ok=True)
    (tmp_path / "state/CURRENT").write_text("x")
    with pytest.raises(DataError, match=r"state: .*CURRENT has no number of a version"):
        project.run()


def test_two_runs_do_not_write_one_state(tmp_path: Path, spark: Any) -> None:
    kb = KnowledgeBase(RULES, engine="local")
    kb.add("edge", [(1, 2)])
    first, second = (PipelineState.open(spark, str(tmp_path)) for _ in range(2))
    first.commit(kb, None)
    with pytest.raises(DataError, match="another run has written version 1"):
        second.commit(kb, None)
    assert json.loads((tmp_path / "versions/1.json").read_text())["parent"] is None


def test_a_second_run_ends_before_it_touches_the_state(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts when the first one has written the data of a version, and not yet CURRENT."""
    project.put("a.csv", [(1, 2)])
    project.run()
    project.put("b.csv", [(2, 3)])
    publish, met = PipelineState._publish, list[str]()

    def meanwhile(*arguments: Any) -> None:
        with pytest.raises(DataError) as problem:
            project.run()
        met.append(str(problem.value))
        publish(*arguments)

    monkeypatch.setattr(PipelineState, "_publish", meanwhile)
    assert project.run().version == 2
    assert re.search(rf"state: another run writes this state: process {os.getpid()} on .*; wait .* delete .*LOCK", *met)
    monkeypatch.undo()
    project.check([(1, 2), (2, 3)])
    project.put("c.csv", [(3, 4)])
    assert project.run().version == 3
    project.check([(1, 2), (2, 3), (3, 4)])
    assert not (project.folder / "state/LOCK").exists()


def test_locks_of_runs_that_have_ended(project: Project, spark: Any) -> None:
    lock, now = project.folder / "state/LOCK", Holder()
    lock.parent.mkdir()
    project.put("a.csv", [(1, 2)])
    lock.write_text(json.dumps(asdict(replace(now, birth="1"))))  # an earlier process with the same number
    assert project.run().version == 1
    lock.write_text(json.dumps(asdict(replace(now, host="elsewhere"))))
    with pytest.raises(DataError, match=r"process .* on elsewhere since"):
        project.run()
    lock.unlink()
    project.put("a.csv", [(1, "x")])
    project.put("b.csv", [(2, 3)])
    with pytest.raises((DataError, UsageError)):
        project.run()
    assert not lock.exists(), "a run that fails has no lock any more"
    with StateLock(spark, str(lock.parent)) as held:
        lock.unlink()
        with pytest.raises(DataError, match="LOCK was deleted or taken over"):
            held.check()


def test_executors_keep_a_state(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark)
    file = tmp_path / "pipeline.toml"
    file.write_text('engine = "spark"\n' + file.read_text())
    project.put("a.csv", [(1, 2), (2, 3)])
    project.run()
    project.put("a.csv", [(2, 3), (3, 4)])
    project.run()
    project.check([(2, 3), (3, 4)])


def test_a_state_that_outgrows_the_driver_goes_on_in_executors(project: Project, spark: Any) -> None:
    project.put("a.csv", [(1, 2), (2, 3)])
    assert project.run().engine_reason
    project.put("b.csv", [(3, 4)])
    spark.conf.set("spark.deltalog.driverBudget", "100")
    try:
        report = project.run()
        assert "more than the driver's budget of 100 bytes" in report.engine_reason
        project.check([(1, 2), (2, 3), (3, 4)])
    finally:
        spark.conf.unset("spark.deltalog.driverBudget")
    (project.folder / "in" / "a.csv").unlink()
    project.run()
    project.check([(3, 4)])


RDF = """
program = '''
PREFIX : <http://e.x/>
PREFIX s: <http://www.w3.org/2000/01/rdf-schema#>
[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], s:subClassOf[?c, ?d].
'''
ontologies = ["classes.nt"]
state = "state"
[sources.people]
format = "ntriples"
path = "people"
changes = "files"
[sinks.agents]
predicate = "http://e.x/Agent"
path = "out/agents"
mode = "overwrite"
"""


def test_files_of_rdf_and_an_ontology(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "pipeline.toml").write_text(RDF)
    (tmp_path / "people").mkdir()
    kind, sub = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    steps = [
        ("people/0.nt", f"<http://e.x/ann> {kind} <http://e.x/Person> .\n", {"http://e.x/ann"}),
        (
            "people/1.nt",
            f"<http://e.x/bob> {kind} <http://e.x/Bot> .\n<http://e.x/bob> {kind} <http://e.x/Toy> .\n",
            {"http://e.x/ann"},
        ),
        ("people/2.nt", f"<http://e.x/cat> {kind} <http://e.x/Cat> .\n", {"http://e.x/ann"}),
        ("classes.nt", f"<http://e.x/Bot> {sub} <http://e.x/Agent> .\n", {"http://e.x/bob"}),
    ]
    (tmp_path / "classes.nt").write_text(f"<http://e.x/Person> {sub} <http://e.x/Agent> .\n")
    for name, text, agents in steps:
        if name == "classes.nt":
            manifest = PipelineState.open(spark, str(tmp_path / "state")).manifest
            assert manifest is not None and len(manifest.data) == 1, "the facts of the ontology outlive a compaction"
        (tmp_path / name).write_text(text)
        Pipeline.from_file(tmp_path / "pipeline.toml").run(spark)
        assert {row[0] for row in spark.read.parquet(str(tmp_path / "out/agents")).collect()} == agents
