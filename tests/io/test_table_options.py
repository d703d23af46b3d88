"""Tables with options: what is read, and what is said about what cannot be."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog import IRI, DataError, KnowledgeBase, UsageError
from deltalog.core.dictionary import Dictionary
from deltalog.core.table_options import DEFAULT_OPTIONS, TableOptions, TableSettings
from deltalog.formats.documents import Files
from deltalog.formats.read import read
from deltalog.formats.table_head import is_header, looks_like_header
from deltalog.knowledge_base.calls import session_of

PEOPLE = "id,name,km\n1,Ada,3.5\n2,Bob,\n"


def rows(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """The rows of the one table of a file or folder."""
    dictionary = Dictionary()
    files = Files.of(path, **options)
    ((_, columns),) = read(files.paths, dictionary, files.reading).items()
    return list(zip(*map(dictionary.decode, columns), strict=True))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path / "people.csv"


def written(folder: Path, data: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_headers_columns_types_and_nulls(people: Path) -> None:
    assert rows(people, header=True) == [(1, "Ada", 3.5), (2, "Bob", "")]
    assert rows(people, header=True, nulls="drop") == [(1, "Ada", 3.5)]
    assert rows(people, header=True, nulls=0, types={"id": "string"}) == [("1", "Ada", 3.5), ("2", "Bob", 0)]
    assert rows(people, header=True, nulls="drop", columns=["name", "id"]) == [("Ada", 1), ("Bob", 2)]
    assert rows(people, header=True, columns={"name": "who", 1: "nr"}, types={"who": "iri"}) == [
        (IRI("Ada"), 1),
        (IRI("Bob"), 2),
    ]
    chosen = [{"column": "km", "as": "way", "type": "float"}, {"column": "id"}]
    assert rows(people, header=True, columns=chosen, nulls="drop") == [(3.5, 1)]
    assert rows(people, header=True, columns=[2], null_values=["Ada"], nulls="x") == [("x",), ("Bob",)]


def test_dialects(tmp_path: Path) -> None:
    german = written(tmp_path, "id;wer;m\n1;Müller;3,5\n".encode("latin-1"))
    options = {"header": True, "encoding": "latin-1", "delimiter": ";", "decimal": ","}
    assert rows(german, **options, types=["int", "string", "float"]) == [(1, "Müller", 3.5)]
    assert rows(german, **options) == [(1, "Müller", "3,5")]
    wide = written(tmp_path, "a\tb\n1\tx\n".encode("utf-16"), "w.tsv")
    assert rows(wide, header=True, encoding="utf-16") == [(1, "x")]
    quoted = written(tmp_path, "# made by hand\n\nx,'it\\'s, so'\n", "q.csv")
    assert rows(quoted, skip=1, quote="'", escape="\\") == [("x", "it's, so")]
    assert rows(written(tmp_path, 'a|"b\n', "n.csv"), delimiter="|", quote="") == [("a", '"b')]
    lines = written(tmp_path, '\ufeff"the\nname",n\r\n"two\nlines","7"\r\n', "l.csv")
    assert rows(lines, header=True) == [("two\nlines", "7")]  # a quoted cell is a string
    assert rows(lines, header=True, types={"n": "int"}) == [("two\nlines", 7)]


def test_types(tmp_path: Path) -> None:
    table = written(tmp_path, "007,2024-05-01,2024-05-01 10:00:00,yes,<http://x/a>,1e3,+5\n")
    types = ["string", "date", "datetime", "bool", "iri", "float", "int"]
    moment = datetime(2024, 5, 1, 10)
    assert rows(table, types=types) == [("007", date(2024, 5, 1), moment, True, IRI("http://x/a"), 1000.0, 5)]
    assert rows(written(tmp_path, f"{10**30}\n", "b.csv"), types=["int"]) == [(10**30,)]


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"], "c": ["1", "2", "3"]})
    pq.write_table(table, tmp_path / "p.parquet")
    path = tmp_path / "p.parquet"
    assert rows(path, columns=["b", "a"], nulls="drop") == [("x", 1), ("y", 2)]
    assert rows(path, columns={"c": "n", "b": "i"}, types={"n": "int", "i": "iri"})[0] == (1, IRI("x"))
    assert rows(path, types=["string", "auto", "auto"], nulls="-", header=True)[1:] == [
        ("2", "y", "2"),
        ("-", "z", "3"),
    ]
    with pytest.raises(DataError, match=r"p.parquet: row 3: column 'a': there is no value; nulls = \"drop\""):
        rows(path, columns=["a"])


def test_folders_that_spark_wrote(tmp_path: Path) -> None:
    for year, name in (("2023", "a"), ("2024", "b")):
        folder = tmp_path / "trip" / f"year={year}"
        folder.mkdir(parents=True)
        (folder / "part-00000.csv").write_text(f"who,km\n{name},1\n")
    (tmp_path / "trip" / "_SUCCESS").touch()
    assert sorted(rows(tmp_path / "trip", header=True)) == [("a", 1, 2023), ("b", 1, 2024)]
    assert sorted(rows(tmp_path / "trip", header=True, columns=["year", "who"])) == [(2023, "a"), (2024, "b")]
    kb = KnowledgeBase()
    kb.load(tmp_path / "trip", header=True)
    assert kb.facts("trip").columns == ("who", "km", "year")


ERRORS = [
    (
        {"header": True, "types": {"km": "float"}},
        "people.csv:3: column 'km': '' is not of the type float, such as 1.5; ",
    ),
    ({"types": ["int", "auto", "auto"]}, "people.csv:1: column 1: 'id' is not of the type int, such as 12"),
    (
        {"header": True, "columns": ["nme"]},
        "people.csv: there is no column 'nme'; did you mean 'name'? The columns are ",
    ),
    ({"columns": ["a", "b"]}, "people.csv: columns names 2 columns, and the table has 3; without a header, name all "),
    ({"columns": {"id": "x"}}, "people.csv: there is no header to find the column 'id' in; say header = true if "),
    ({"columns": [4]}, "people.csv: there is no column 4; the table has 3"),
    ({"header": True, "types": ["int"]}, "people.csv: types has 1 types, and there are 3 columns"),
    ({"header": True, "types": {"nam": "int"}}, "people.csv: types: there is no column 'nam'; did you mean 'name'?"),
    (
        {"header": True, "nulls": "error"},
        "people.csv:3: column 'km': there is no value; nulls = \"drop\" drops the row",
    ),
]


@pytest.mark.parametrize(("options", "message"), ERRORS)
def test_what_does_not_fit_the_table(people: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        rows(people, **options)
    assert f"{people.parent}/{message}" in str(error.value)


def test_no_table_is_empty_because_its_first_row_cannot_be_read(tmp_path: Path) -> None:
    old_mac = written(tmp_path, "id,name\r1,Ada\r")
    with pytest.raises(DataError, match="carriage return"):
        rows(old_mac, header=True)
    with pytest.warns(UserWarning, match="carriage return"):
        KnowledgeBase("").load(old_mac)
    assert rows(written(tmp_path, f'"{"x" * 200_000}",1\nb,2\n'), types=["string", "int"])[1] == ("b", 2)
    assert rows(written(tmp_path, "#\n" * 100_000 + "id\n1\n"), header=True, skip=100_000) == [(1,)]
    wide = [f"column{i}" for i in range(20_000)]
    assert len(rows(written(tmp_path, ",".join(wide) + "\n" + "1," * 19_999 + "1\n"), header=True)[0]) == 20_000


def test_places_beyond_strange_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv: row 4: column 1: 'x' is not of the type int"):
        rows(written(tmp_path, "1\n2\r3\nx\n"), types=["int"])
    with pytest.raises(DataError, match=r"t\.csv:2: column 1: '0x10' is not of the type int"):
        rows(written(tmp_path, f'1,"{"y" * 200_000}"\n0x10,2\n'), types=["int", "string"])


def test_rows_of_other_widths_and_other_bytes(tmp_path: Path) -> None:
    narrow = written(tmp_path, "a,b\n1,2\n\n3\n")
    for types in (None, ["int", "int"]):
        with pytest.raises(DataError, match=r"t.csv:4.*expected 2 cells, as in the .*, but this row has 1 cell"):
            rows(narrow, header=True, types=types)
    latin = written(tmp_path, b"a,b\nx,\xff\n", "l.csv")
    for types in (None, ["string", "string"]):
        with pytest.raises(DataError, match=r"l.csv:2.*UTF-8"):
            rows(latin, header=True, types=types)


WRONG = [
    ({"headr": True}, "there is no option of a table 'headr'; did you mean 'header'?"),
    ({"null": "drop"}, "there is no option of a table 'null'; did you mean 'nulls'?"),
    ({"header": 1}, 'header is true, false or "auto", and not 1'),
    ({"delimiter": "||"}, "delimiter is one character of ASCII, such as ';', and not '||'"),
    ({"encoding": "latin1x"}, "there is no encoding 'latin1x'; common ones are utf-8, latin-1, cp1252, utf-16"),
    ({"encoding": "base64"}, "there is no encoding 'base64'; common ones are utf-8, latin-1, cp1252, utf-16"),
    ({"types": ["integer"]}, "there is no type 'integer' of a column; did you mean 'int'?"),
    ({"types": "int"}, "types is a list of types, or types by column, and not 'int'"),
    ({"columns": ["a", "A"]}, "columns has two columns 'A'; names differ by more than upper and lower case"),
    ({"columns": [0]}, "a column is a name, or a number from 1 on, and not 0"),
    ({"columns": ["a"], "types": ["int", "int"]}, "types has 2 types, and columns 1 columns"),
    ({"null_values": ["NA"]}, "null_values says which texts are no value, but not what becomes of them"),
    ({"quote": ","}, "the delimiter and the quote are both ','"),
    ({"skip": -1}, "skip is a number of lines, and not -1"),
    ({"nulls": object}, 'nulls is "error", "drop", or a value, and not '),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        TableOptions.of(options)
    assert message in str(error.value)


@pytest.mark.parametrize("predicate", ["", 3])
def test_a_predicate_is_a_name(people: Path, predicate: Any) -> None:
    with pytest.raises(UsageError, match="predicate is the name of a predicate"):
        KnowledgeBase("").load(people, predicate=predicate)


def test_options_lie_over_each_other() -> None:
    every, own = TableOptions.of({"header": True, "delimiter": ";"}), TableOptions.of({"delimiter": "|"})
    settings = TableSettings(every, (("p", own.over(every)),))
    call = TableSettings(TableOptions.of({"header": False}))
    together = settings.beneath(call)
    assert (together.of("p").delimiter, together.of("q").delimiter, together.of("p").header) == ("|", ";", False)


# Headers.


@pytest.mark.parametrize(
    ("table", "looks", "auto"),
    [
        ([["id", "name"], ["1", "Ada"], ["2", "Bob"]], True, True),
        ([["from", "to"], ["a", "b"]], True, True),  # common names of columns
        ([["a", "b"], ["b", "c"]], False, True),  # as DuckDB, which assumes a header of texts
        ([["1", "a"], ["2", "b"]], False, False),
        ([["ada", "born"], ["<http://x/a>", "b"]], True, True),
        ([["from", "to"]], False, False),
        ([["a", "a"], ["1", "2"]], False, False),
        ([["day", "n"], ["2024-05-01", "x"]], True, True),
    ],
)
def test_headers_are_recognised(table: list[list[str]], looks: bool, auto: bool) -> None:
    assert looks_like_header(table[0], table[1:], DEFAULT_OPTIONS) is looks
    assert is_header(table[0], table[1:]) is auto


def test_a_header_that_becomes_a_fact_is_a_warning(people: Path) -> None:
    with pytest.warns(
        UserWarning, match=r"people.csv: the first row looks like a header, and is read as a fact"
    ) as said:
        kb = KnowledgeBase()
        kb.load(people)
    assert said[0].filename == __file__
    assert kb.count("people") == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for header in (True, False, "auto"):
            KnowledgeBase().load(people, header=header)


def test_a_skipped_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\n")
    for i in range(7):
        (tmp_path / f"n{i}.md").touch()
    with pytest.warns(UserWarning, match="these files are skipped.*: n0.md, n1.md, n2.md, n3.md, n4.md and 2 more"):
        KnowledgeBase().load(tmp_path)


# Whatever is written with names and types is read back.

CELLS = {
    "int": st.integers(-(2**70), 2**70),
    "float": st.floats(allow_nan=False),
    "string": st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"), max_size=8),
    "date": st.dates(),
    "bool": st.booleans(),
    "auto": st.one_of(st.integers(), st.text("ab,\n\"'<", max_size=4)),
}


@given(st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    facts = data.draw(st.lists(st.tuples(*(CELLS[type] for type in types)), min_size=1, max_size=5))
    format = data.draw(st.sampled_from(["csv", "tsv", "parquet"]))
    names = [f"column {i}" for i in range(len(types))]
    kb = KnowledgeBase()
    kb.add("p", facts)
    session = session_of(kb)
    session.state = replace(session.state, columns={session.predicate("p"): tuple(names)})
    folder = tmp_path_factory.mktemp("round") / "out"
    kb.write(folder, format, header=True)
    read_types = types if format == "parquet" else ["auto"] * len(types)
    again = KnowledgeBase()
    again.load(folder, header=True, columns=names, types=read_types)
    assert set(map(repr, again.facts("p"))) == set(map(repr, kb.facts("p")))
    assert again.facts("p").columns == tuple(names)


@given(st.lists(st.tuples(CELLS["int"], CELLS["string"], CELLS["float"]), min_size=1, max_size=5))
def test_plain_csv_with_types(tmp_path_factory: pytest.TempPathFactory, facts: list[tuple[Any, ...]]) -> None:
    import csv

    path = tmp_path_factory.mktemp("plain") / "p.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("i", "s", "f"), *facts])
    read_back = rows(path, header=True, types={"i": "int", "s": "string", "f": "float"})
    assert list(map(repr, read_back)) == [repr((i, s, f)) for i, s, f in facts]
