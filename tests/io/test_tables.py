"""CSV, TSV and .facts files, and the files around them: names, folders, compression."""

from __future__ import annotations

import bz2
import errno
import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.core.terms import IRI, XSD, BlankNode, key, literal
from deltalog.formats import files, tables
from deltalog.formats.csv_cells import parse_plain, parse_quoted
from deltalog.formats.read import read

Rows = list[tuple[Any, ...]]


def rows_of(path: Path) -> Rows:
    dictionary = Dictionary()
    facts = read(path, dictionary)
    ((pred, columns),) = facts.items()
    assert pred.name == "p" and pred.arity == len(columns)
    return list(zip(*map(dictionary.decode, columns), strict=True))


def parsed(tmp_path: Path, text: str | bytes, name: str = "p.csv") -> Rows:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return rows_of(path)


def error(tmp_path: Path, text: str | bytes, name: str = "p.csv") -> str:
    with pytest.raises(DataError) as caught:
        parsed(tmp_path, text, name)
    return str(caught.value).removeprefix(str(tmp_path) + "/")


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


CELLS: list[tuple[str, Any]] = [
    ("12", 12),
    ("-3", -3),
    ("0", 0),
    ("-0", "-0"),
    ("007", "007"),
    ("+5", "+5"),
    ("999999999999999999", 999999999999999999),
    ("9223372036854775807", 9223372036854775807),
    ("-123456789012345678901234567890", -123456789012345678901234567890),
    ("1.5", 1.5),
    ("-0.25", -0.25),
    ("0.0", 0.0),
    ("-0.0", -0.0),
    ("1.50", 1.5),
    ("0.1234567890123456789", 0.1234567890123456789),
    ("123456789.123456", 123456789.123456),
    ("007.5", "007.5"),
    (".5", ".5"),
    ("5.", "5."),
    ("1e5", "1e5"),
    ("1.2.3", "1.2.3"),
    ("12a", "12a"),
    ("-", "-"),
    (" 12", " 12"),
    ("true", "true"),
    ("ada", "ada"),
    ("Ünï 😀", "Ünï 😀"),
    ("<http://e.org/a>", IRI("http://e.org/a")),
    ("<>", IRI("")),
    ("<a\\u002Cb>", IRI("a,b")),
    ("<a\\b>", "<a\\b>"),
    ("<b>bold</b>", "<b>bold</b>"),
    ("<a b>", "<a b>"),
    ("<", "<"),
    ("_:b1", BlankNode("b1")),
    ("_:b.1", BlankNode("b.1")),
    ("_:b.", "_:b."),
    ("_:", "_:"),
    ("_:\\u002D", BlankNode("-")),
    ("_x", "_x"),
    ('"12"', "12"),
    ('""', ""),
    ('"<a>"', "<a>"),
    ('"a,b"', "a,b"),
    ('"line\nbreak\r\n"', "line\nbreak\r\n"),
    ('"say ""hi"""', 'say "hi"'),
    ('"""hi"" she said"', '"hi" she said'),
    ('"""hi"""', '"hi"'),
    ('"""chat""@FR"', literal("chat", language="fr")),
    ('"""5""^^<http://www.w3.org/2001/XMLSchema#integer>"', 5),
    ('"""a\\""b""^^<t>"', literal('a"b', "t")),
    ('"""x""^^<http://www.w3.org/2001/XMLSchema#string>"', "x"),
    ('he said "no"', 'he said "no"'),
]


def test_cells(tmp_path: Path) -> None:
    text = "".join(f"{cell},x\n" for cell, _ in CELLS)
    found = parsed(tmp_path, text)
    assert [key(row[0]) for row in found] == [key(value) for _, value in CELLS]
    assert [key(row[0]) for row in parsed(tmp_path, text.replace(",x\n", ",x\r\n"))] == [key(v) for _, v in CELLS]


def test_empty_cells_and_lines(tmp_path: Path) -> None:
    assert parsed(tmp_path, "a,\n,b\n,\n") == [("a", ""), ("", "b"), ("", "")]
    assert parsed(tmp_path, "\na,b\n\r\n\nc,d") == [("a", "b"), ("c", "d")]
    assert parsed(tmp_path, '""\na\n') == [("",), ("a",)]
    assert parsed(tmp_path, b"\xef\xbb\xbfa,b\n") == [("a", "b")]
    assert parsed(tmp_path, "a\tb,c\n", "p.tsv") == [("a", "b,c")]
    assert parsed(tmp_path, "1\tx\n2\ty\n", "p.facts") == [(1, "x"), (2, "y")]


def test_no_arguments_and_no_rows(tmp_path: Path) -> None:
    (tmp_path / "holds.csv").write_text("\n")
    (tmp_path / "nothing.csv").write_text("")
    assert read(tmp_path, Dictionary()) == {Pred("holds", 0): []}


def test_errors(tmp_path: Path) -> None:
    assert error(tmp_path, "a,b\nc\n").startswith(
        "p.csv:2:1: expected 2 cells, as in the first row, but this row has 1"
    )
    assert error(tmp_path, 'a,b\n"x\ny",c\nd,e,f\n').startswith("p.csv:4:1: expected 2 cells")
    assert error(tmp_path, 'a,b\nc,"d\n\n').startswith('p.csv:2:3: the " that opens here is never closed')
    assert error(tmp_path, 'a,b\n"c"d,e\n').startswith("p.csv:2:4: expected a comma or the end of the line")
    assert error(tmp_path, '"c"d\te\n', "p.tsv").startswith("p.tsv:1:4: expected a tab or the end of the line")
    assert error(tmp_path, b"a,b\nc,\xff\n").startswith("p.csv:2:3: expected UTF-8")
    assert "  c,\ufffd\n" in error(tmp_path, b"a,b\nc,\xff\n")


def test_rows_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BLOCK", 64)
    rows: Rows = [(i, "line\n" * (i % 40), IRI(f"n{i}")) for i in range(200)]
    text = "".join(f'{a},"{b}",<{c}>\n' for a, b, c in rows)
    assert parsed(tmp_path, text) == rows
    assert error(tmp_path, text + "1,2\n").startswith(f"p.csv:{text.count(chr(10)) + 1}:1: expected 3 cells")
    assert error(tmp_path, text + '1,"2').startswith(f"p.csv:{text.count(chr(10)) + 1}:3: the")


@pytest.mark.parametrize("name", ["p.csv.gz", "p.csv.bz2", "p.csv.zst", "p.CSV.GZ"])
def test_compression(tmp_path: Path, name: str) -> None:
    compress = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstd}[name.lower().rsplit(".", 1)[1]]
    text = "".join(f"{i},{i * i}\n" for i in range(10_000)).encode()
    data = compress(text)
    assert parsed(tmp_path, data, name) == [(i, i * i) for i in range(10_000)]
    assert parsed(tmp_path, data + data, name)[10_000] == (0, 0)
    for bad in (b"not compressed", data[: len(data) // 2], data[:-1]):
        assert error(tmp_path, bad, name).startswith(f"{name}: the compressed file is damaged or cut short")


@pytest.mark.parametrize(
    "problem", [OSError(errno.ENOMEM, "Cannot allocate memory"), zlib.error("Error -4 while decompressing data")]
)
def test_no_memory_is_not_damage(tmp_path: Path, problem: Exception) -> None:
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"1,2\n"))
    with pytest.raises(MemoryError), files.opened(tmp_path / "p.csv.gz"):
        raise problem


def test_decompression_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ALLOWANCE", 1000)
    data = bz2.compress(b"a,b\n" * 2_000_000)
    assert len(data) * 1000 < 8_000_000
    assert "grows more than 1000 times" in error(tmp_path, data, "p.csv.bz2")


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "edge.csv").write_text("a,b\n")
    (tmp_path / "sub" / "edge.tsv").write_text("b\tc\n")
    (tmp_path / "sub" / "x.nt").write_text("<a> <p> <b> .\n")
    (tmp_path / ".hidden.csv").write_text("1\n")
    (tmp_path / ".git" / "x.csv").write_text("1\n")
    (tmp_path / "README.md").write_text("no data")
    dictionary = Dictionary()
    facts = read([tmp_path], dictionary)
    assert set(facts) == {Pred("edge", 2), Pred("p", 2)}
    assert [dictionary.decode(column) for column in facts[Pred("edge", 2)]] == [["a", "b"], ["b", "c"]]
    with pytest.raises(DataError, match=r"README\.md: the ending .* \.nt \.nq \.ttl"):
        read(tmp_path / "README.md", dictionary)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "missing.csv", dictionary)


def test_a_bad_file_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\nc\n")
    dictionary = Dictionary()
    with pytest.raises(DataError):
        read(tmp_path, dictionary)
    assert len(dictionary) == 1


cells = st.text(st.sampled_from(list('a0.-<>_:\\u4,"\n\t\r@^é ')), max_size=8)


@settings(max_examples=300, deadline=None)
@given(cells)
def test_the_kernel_means_what_python_means(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Two ways to read a cell, the kernel's and that of `deltalog.formats.csv_cells`."""
    folder = tmp_path_factory.mktemp("csv")
    quoted = '"' + text.replace('"', '""') + '"'
    assert key(parsed(folder, f"{quoted},x\n")[0][0]) == key(parse_quoted(text))
    if not set(text) & set(',\n\r"'):
        assert key(parsed(folder, f"{text},x\n")[0][0]) == key(parse_plain(text))


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.binary(max_size=60), st.text(st.sampled_from(list('a1,"\n\r\t<>_:\\.-')), max_size=60)), st.booleans()
)
def test_random_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes | str, tabs: bool
) -> None:
    path = tmp_path_factory.mktemp("csv") / ("p.tsv" if tabs else "p.csv")
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    dictionary = Dictionary()
    try:
        for columns in read(path, dictionary).values():
            for column in columns:
                dictionary.decode(column)
    except DataError as problem:
        assert str(problem).startswith(str(path))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.decimals(-(10**9), 10**9, places=6, allow_nan=False), min_size=1, max_size=30))
def test_decimals_are_the_nearest_floats(tmp_path_factory: pytest.TempPathFactory, numbers: list) -> None:
    found = parsed(tmp_path_factory.mktemp("csv"), "".join(f"{n:f}\n" for n in numbers))
    assert np.array_equal([row[0] for row in found], [float(n) for n in numbers])


def test_typed_cells_of_every_type(tmp_path: Path) -> None:
    assert key(parsed(tmp_path, f'"""1.50""^^<{XSD}decimal>"\n')[0][0]) == key(literal("1.50", XSD + "decimal"))
