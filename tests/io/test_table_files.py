"""Folders that Spark wrote are one table, named after the folder; partition folders are columns."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltalog import KnowledgeBase
from deltalog.core.errors import DataError


def written(folder: Path, rows: dict[str, list[tuple[Any, ...]]], success: bool = True) -> Path:
    """Parquet files by their names, as Spark writes them."""
    for name, values in rows.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({f"c{i}": column for i, column in enumerate(zip(*values, strict=True))}), path)
    if success:
        (folder / "_SUCCESS").touch()
    return folder


def facts(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    kb = KnowledgeBase()
    kb.load(path)
    return {name: sorted(kb.facts(name)) for name in kb.predicates}


PARTS = {"part-00000-aa.snappy.parquet": [(1, "a")], "part-00001-aa.snappy.parquet": [(2, "b")]}


@pytest.mark.parametrize("success", [True, False])
def test_a_folder_of_parts_is_one_predicate(tmp_path: Path, success: bool) -> None:
    folder = written(tmp_path / "reports", PARTS, success)
    assert facts(folder) == facts(tmp_path) == {"reports": [(1, "a"), (2, "b")]}


def test_the_ending_of_a_folder_is_no_part_of_its_name(tmp_path: Path) -> None:
    assert facts(written(tmp_path / "reports.parquet", PARTS)) == {"reports": [(1, "a"), (2, "b")]}


def test_other_files_beside_it_are_their_own_predicates(tmp_path: Path) -> None:
    written(tmp_path / "data" / "reports", PARTS)
    (tmp_path / "data" / "edge.csv").write_text("1,2\n")
    assert facts(tmp_path / "data") == {"edge": [(1, 2)], "reports": [(1, "a"), (2, "b")]}


def test_parts_of_csv(tmp_path: Path) -> None:
    folder = tmp_path / "edge"
    folder.mkdir()
    for number in range(3):
        (folder / f"part-0000{number}-x.csv").write_text(f"{number},{number + 1}\n" if number else "")
    (folder / ".part-00000-x.csv.crc").write_bytes(b"\0")
    assert facts(folder) == {"edge": [(1, 2), (2, 3)]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1", "2"), (1, 2)),
        (("1", "2.5"), (1.0, 2.5)),
        (("2024-05-01", "2024-05-02"), (date(2024, 5, 1), date(2024, 5, 2))),
        (("1", "b%2Fc"), ("1", "b/c")),
        (("007", "008"), (7, 8)),
    ],
)
def test_partitions_are_columns(tmp_path: Path, values: tuple[str, str], expected: tuple[Any, Any]) -> None:
    rows = {f"k={value}/n=1/part-00000-x.parquet": [("row",)] for value in values}
    folder = written(tmp_path / "t", rows)
    assert facts(folder)["t"] == [("row", value, 1) for value in expected]
    assert facts(folder / f"k={values[0]}")["t"] == [("row", expected[0], 1)]


def test_a_partition_of_null(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", {"k=__HIVE_DEFAULT_PARTITION__/part-00000-x.parquet": [(1,)]})
    with pytest.raises(DataError, match="the partition column 'k' is null"):
        facts(folder)


def test_files_of_sparks_own_are_skipped(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", PARTS)
    written(folder, {"_metadata.parquet": [(9,)], "_temporary/0/part-00000-x.parquet": [(9,)]})
    assert facts(folder) == {"t": [(1, "a"), (2, "b")]}


def test_parts_in_another_format(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "part-00000-x.snappy.orc").write_bytes(b"ORC")
    with pytest.raises(DataError, match=r"part-00000-x.snappy.orc: the ending of the name does not say"):
        facts(tmp_path)


def test_a_delta_table_needs_a_pipeline(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", PARTS)
    (folder / "_delta_log").mkdir()
    with pytest.raises(DataError, match="this is a Delta table"):
        facts(tmp_path)


def test_columns_of_parts_are_taken_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    pq.write_table(pa.table({"a": ["x"], "b": ["y"]}), folder / "part-0.parquet")
    pq.write_table(pa.table({"b": ["y2"], "a": ["x2"]}), folder / "part-1.parquet")
    assert facts(folder) == {"reports": [("x", "y"), ("x2", "y2")]}
    for more in ({"a": ["x3"]}, {"a": ["x3"], "b": ["y3"], "c": ["z3"]}):
        pq.write_table(pa.table(more), folder / "part-2.parquet")
        with pytest.raises(DataError, match=r"part-2.parquet: the columns are a.*first file of the folder are a, b"):
            facts(folder)
