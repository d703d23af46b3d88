"""Tables with options on the Spark engine: the facts, names and errors of the local engine."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltalog import DataError, KnowledgeBase

pytestmark = pytest.mark.usefixtures("spark", "everything_far")

RULES = "far(X, Y) :- road(X, Y, K), K > 2.0 ."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for year, name, packed in (("2023", "a", False), ("2024", "b", True)):
        part = tmp_path / "trip" / f"year={year}"
        part.mkdir(parents=True)
        data = f"who;km\n{name};1,5\n{name};\n".encode("latin-1")
        (part / f"part-0.csv{'.gz' if packed else ''}").write_bytes(gzip.compress(data) if packed else data)
    (tmp_path / "road.csv").write_text('from,to,km\n"a",b,3\nb,c,1\n')
    table = pa.table({"x": ["1", "2", None], "y": [1.0, 2.0, 3.0]})
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=1)
    return tmp_path


LOADS: list[tuple[str, dict[str, Any]]] = [
    ("road.csv", {"header": True, "types": {"km": "float"}}),
    ("trip", {"header": "auto", "delimiter": ";", "decimal": ",", "types": {"km": "float"}, "nulls": "drop"}),
    ("p.parquet", {"columns": {"y": "value", "x": "key"}, "types": {"key": "int"}, "nulls": 0}),
]


def loaded(folder: Path, engine: str) -> KnowledgeBase:
    kb = KnowledgeBase(RULES, engine=engine)
    for name, options in LOADS:
        kb.load(folder / name, **options)
    return kb


def test_the_same_facts_names_and_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalog.engines.spark.io import read

    monkeypatch.setattr(read, "SPLIT_BYTES", 100)  # several tasks for one file
    kbs = [loaded(folder, engine) for engine in ("local", "spark")]
    local, spark = ({name: set(kb.facts(name)) for name in ("road", "trip", "p", "far")} for kb in kbs)
    assert local == spark
    assert local["trip"] == {("a", 1.5, 2023), ("b", 1.5, 2024)} and local["far"] == {("a", "b")}
    names = [{name: kb.facts(name).columns for name in ("road", "trip", "p", "far")} for kb in kbs]
    assert names[0] == names[1]
    assert names[0]["trip"] == ("who", "km", "year")
    assert kbs[1].facts("p").to_spark().columns == ["value", "key"]
    for format in ("csv", "parquet"):
        for kb, name in zip(kbs, ("one", "two"), strict=True):
            kb.write(tmp_path / f"{name}-{format}", format, header=True)
    one, two = (sorted((tmp_path / f"{name}-csv" / "road.csv").read_text().splitlines()) for name in ("one", "two"))
    assert one == two and "from,to,km" in one
    assert pq.read_schema(tmp_path / "two-parquet" / "far.parquet").names == ["X", "Y"]


def test_errors_name_the_line(folder: Path) -> None:
    messages = []
    for engine in ("local", "spark"):
        with pytest.raises(DataError) as error:
            KnowledgeBase("", engine=engine).load(folder / "road.csv", header=True, types={"to": "int"})
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "road.csv:2: column 'to': 'b' is not of the type int" in messages[0]


def test_inputs_and_outputs_of_a_program(folder: Path) -> None:
    program = (
        '@input road from "road.csv" (header = true, types = [km = float])\n@output far to "far.csv" (header = true)\n'
    )
    (folder / "p.dl").write_text(program + RULES)
    KnowledgeBase(folder / "p.dl", engine="spark").write_outputs()
    assert (folder / "far.csv").read_text() == "X,Y\na,b\n"
