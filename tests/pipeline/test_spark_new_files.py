"""Sources with `changes = "files"`: they have the rows and columns that Spark reads of their paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltalog import DataError, UsageError
from deltalog.spark import Pipeline

PIPELINE = """
program = "path(X, Y) :- link(X, Y)."
state = "state"
[sources.link]
{source}
[sinks.path]
path = "out"
mode = "overwrite"
"""
CSV = 'format = "csv"\noptions = { header = true }\n'


class Project:
    """A folder with a pipeline file and a state."""

    def __init__(self, folder: Path, spark: Any, source: str) -> None:
        self.folder, self.spark = folder, spark
        folder.mkdir(exist_ok=True)
        self.write(source)

    def write(self, source: str) -> None:
        (self.folder / "pipeline.toml").write_text(PIPELINE.format(source=source))

    def put(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def parquet(self, name: str, schema: str, *rows: tuple[Any, ...]) -> None:
        frame = self.spark.createDataFrame(rows, schema).coalesce(1)
        frame.write.parquet(f"file://{self.folder}/{name}")

    def run(self) -> set[tuple[Any, ...]]:
        report = Pipeline.from_file(self.folder / "pipeline.toml").run(self.spark)
        assert report.facts["link"] == report.facts["path"]
        return {tuple(map(str, row)) for part in self.folder.glob("out/*.parquet") for row in _rows(part)}


def _rows(part: Path) -> list[tuple[Any, ...]]:
    import pyarrow.parquet as pq

    return list(zip(*pq.ParquetFile(part).read().to_pydict().values(), strict=True))


def test_a_pattern_of_partitions(tmp_path: Path, spark: Any) -> None:
    """As Spark reads it: a folder that a wildcard matches gives no column, one below it does."""
    project = Project(tmp_path, spark, 'path = "in/k=*"\nchanges = "files"')
    project.parquet("in/k=1", "from string, to string", ("a", "b"))
    assert project.run() == {("a", "b")}
    project.parquet("in/k=2", "from string, to string", ("b", "c"))
    assert project.run() == {("a", "b"), ("b", "c")}
    partitioned = Project(tmp_path / "other", spark, 'path = "tables/*/in"\ncolumns = ["to", "k"]\nchanges = "files"')
    for k, to in enumerate("xyz"):
        partitioned.parquet(f"tables/a/in/k={k}", "to string", (to,))
        assert len(partitioned.run()) == k + 1
    assert partitioned.run() == {("x", "0"), ("y", "1"), ("z", "2")}


def test_columns_of_new_files_are_taken_by_name(tmp_path: Path, spark: Any) -> None:
    project = Project(tmp_path, spark, 'path = "in/*"\nchanges = "files"')
    project.parquet("in/1", "from string, to string", ("a", "b"))
    project.run()
    project.parquet("in/2", "to string, from string", ("y", "x"))
    project.parquet("in/3", "from string, to string, more string", ("q", "r", "s"))
    assert project.run() == {("a", "b"), ("x", "y"), ("q", "r")}
    project.parquet("in/4", "from string", ("lonely",))
    with pytest.raises(UsageError, match=r"sources.link: column 'to': .*\(null\)"):
        project.run()


def test_other_columns_are_an_error(tmp_path: Path, spark: Any) -> None:
    """Names come from the first run, whatever Spark infers of the files that there are later."""
    project = Project(tmp_path, spark, 'path = "in/*"\nchanges = "files"\nnulls = "drop"')
    project.parquet("in/2", "from string, to string", ("a", "b"))
    project.run()
    project.parquet("in/1", "to string, from string", ("y", "x"))
    assert project.run() == {("a", "b"), ("x", "y")}
    other = Project(tmp_path / "other", spark, f'path = "in"\nchanges = "files"\nnulls = "drop"\n{CSV}')
    other.put("in/2.csv", "from,to\na,b\n")
    other.run()
    other.put("in/1.csv", "source,target\nc,d\n")
    message = (
        r"sources.link: the columns of the source were from, to when it was read first, and are source, target now"
    )
    with pytest.raises(DataError, match=message):
        other.run()


def test_a_schema_is_inferred_once(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalog.apps.pipelines import check, run, sources

    inferred = list[str]()

    def counted(source: Any, session: Any) -> Any:
        inferred.append(source.name)
        return sources.source_frame(source, session)

    for module in (check, run):
        monkeypatch.setattr(module, "source_frame", counted)
    project = Project(tmp_path, spark, f'path = "in"\nchanges = "files"\n{CSV}')
    for number, name in enumerate("ab", 1):
        project.put(f"in/{name}.csv", f"from,to\n{name},x\n")
        project.run()
        assert inferred == ["link"] * number


def test_folders_that_are_no_partitions(tmp_path: Path, spark: Any) -> None:
    text = {name: f"from,to\n{name},b\n" for name in ("new", "old")}
    for number, (changes, more) in enumerate((c, m) for c in ("full", "files") for m in (False, True)):
        options = "{ header = true, recursiveFileLookup = true }" if more else "{ header = true }"
        source = f'format = "csv"\npath = "in"\noptions = {options}\nchanges = "{changes}"'
        project = Project(tmp_path / str(number), spark, source)
        project.put("in/a.csv", text["new"])
        project.put("in/old/b.csv", text["old"])
        assert project.run() == ({("new", "b"), ("old", "b")} if more else {("new", "b")})


def test_names_with_wildcards(tmp_path: Path, spark: Any) -> None:
    """The names of files, and of the folder of the pipeline, stand for themselves."""
    project = Project(tmp_path / "p[1]{x}*", spark, f'{CSV}path = "in"\nchanges = "files"')
    project.put("in/g[2].csv", "from,to\na,b\n")
    assert project.run() == {("a", "b")}
    project.put("in/{h}?.csv", "from,to\nb,c\n")
    assert project.run() == {("a", "b"), ("b", "c")}


def test_the_column_of_an_order(tmp_path: Path, spark: Any) -> None:
    """A feed needs no columns, and its order stays that of one column."""
    source = (
        'format = "csv"\npath = "in"\noptions = { header = true }\nschema = "a string, b string, op string, t int"\n'
    )
    project = Project(tmp_path, spark, source + 'changes = { operation = "op", order = "t" }')
    project.put("in/1.csv", "a,b,op,t\na,b,I,9\nb,c,I,9\n")
    assert project.run() == {("a", "b"), ("b", "c")}
    project.put("in/2.csv", "a,b,op,t\na,b,D,10\n")
    assert project.run() == {("b", "c")}
    project.write(
        source.replace("op string, t int", "op string, u int") + 'changes = { operation = "op", order = "u" }'
    )
    with pytest.raises(DataError, match="the order of the rows was that of the column t, and is that of u now"):
        project.run()
