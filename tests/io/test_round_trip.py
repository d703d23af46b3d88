"""What was written comes back, in every format."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from random_values import are_terms, blanks, iris, odd_blanks, texts, values

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, DataWarning, UsageError
from deltalog.core.rules import QUADS, TRIPLE, Pred
from deltalog.core.terms import IRI, RDF, RDF_TYPE, BlankNode, Literal, key, literal
from deltalog.formats.csv_cells import parse_cell, print_cell
from deltalog.formats.formats import OutputForm
from deltalog.formats.read import read
from deltalog.formats.write import safe_names, whole, write

Rows = list[tuple[Any, ...]]


def encoded(facts: Mapping[Pred, Rows], dictionary: Dictionary) -> dict[Pred, list[np.ndarray]]:
    return {pred: [dictionary.encode(column) for column in zip(*rows, strict=True)] for pred, rows in facts.items()}


def decoded(facts: Mapping[Pred, Any], dictionary: Dictionary) -> dict[Pred, list[tuple[object, ...]]]:
    rows = {pred: list(zip(*map(dictionary.decode, columns), strict=True)) for pred, columns in facts.items()}
    return {pred: sorted((tuple(map(key, row)) for row in found), key=repr) for pred, found in rows.items()}


def there_and_back(facts: Mapping[Pred, Rows], format: str, prefixes: Mapping[str, str] | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        here, there = Dictionary(), Dictionary()
        before = encoded(facts, here)
        write(Path(folder) / "out", before, here, OutputForm(format, prefixes=prefixes or {}))
        after = read(Path(folder) / "out", there)
        assert decoded(after, there) == decoded(before, here)


def relations(cells: st.SearchStrategy[Any], arities: tuple[int, ...] = (1, 2, 3)) -> st.SearchStrategy[Any]:
    names = st.one_of(st.sampled_from(["p", "P", "q.csv", "predicates", "http://e.org/p", "http://f.org/p"]), texts)
    preds = st.builds(Pred, names.filter(lambda name: name != TRIPLE), st.sampled_from(arities))
    facts = preds.flatmap(
        lambda p: st.tuples(st.just(p), st.lists(st.tuples(*[cells] * p.arity), min_size=1, max_size=8))
    )
    return st.lists(facts, max_size=4).map(dict)


@settings(max_examples=80, deadline=None)
@given(relations(st.one_of(values, odd_blanks)), st.sampled_from(["csv", "tsv", "parquet", "jsonl"]))
@example(
    {Pred("p", 1): [("",), ('"x"@en',), ('"a\\"^^<b>',), ("\r",), ('"',), ('""',), ("\ufeff",), (IRI(""),)]}, "csv"
)
@example({Pred("holds", 0): []}, "csv")
@example({Pred("holds", 0): []}, "parquet")
@example({Pred("holds", 0): []}, "jsonl")
def test_tables(facts: dict[Pred, Rows], format: str) -> None:
    there_and_back(facts, format)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_triples(data: st.DataObject) -> None:
    subjects = st.one_of(iris, blanks).filter(lambda subject: are_terms([subject]))
    facts: dict[Pred, Rows] = {}
    for pred, rows in data.draw(relations(values.filter(lambda value: are_terms([value])), (1, 2))).items():
        if pred.name != RDF_TYPE and are_terms([IRI(pred.name)]):
            facts[pred] = [(data.draw(subjects), *row[1:]) for row in rows]
    there_and_back(facts, "nt")


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(["ttl", "trig"]))
def test_turtle(data: st.DataObject, format: str) -> None:
    """With prefixes, some of which are of no use; names that Turtle cannot have are refused."""
    names = st.sampled_from(["http://e.org/p", "http://e.org/a-b", "http://f.org/#", "urn:x", "http://e.org/é"])
    subjects = st.one_of(names.map(IRI), blanks).filter(lambda subject: are_terms([subject]))
    cells = st.one_of(values, subjects).filter(lambda value: are_terms([value]) and is_turtle(value))
    graphs = st.lists(st.tuples(subjects, subjects, names.map(IRI), cells), max_size=4)
    pairs = st.lists(st.tuples(subjects, cells), min_size=1, max_size=5)
    facts: dict[Pred, Rows] = {Pred(name, 2): data.draw(pairs) for name in data.draw(st.sets(names))}
    facts |= {Pred(name, 1): [(data.draw(subjects),)] for name in data.draw(st.sets(names))}
    if format == "trig" and (quads := data.draw(graphs)):
        facts[QUADS] = quads
    prefixes = {"": "http://e.org/", "f": "http://f.org/#", "rel": "x/", "x y": "http://e.org/", "rdf": RDF}
    there_and_back(facts, format, prefixes)


def is_turtle(value: Any) -> bool:
    """Whether the IRIs of a value are absolute and valid."""
    names = [value] if isinstance(value, IRI) else [value.datatype] if isinstance(value, Literal) else []
    try:
        return all(NamedNode(str(name)) for name in names)
    except ValueError:
        return False


@settings(max_examples=300, deadline=None)
@given(st.one_of(values, odd_blanks))
def test_cells(value: Any) -> None:
    cell = print_cell(value)
    assert key(parse_cell(cell)) == key(value)
    assert "\n" not in cell or cell.startswith('"')


def test_the_forms_of_cells() -> None:
    assert [print_cell(v) for v in (12, -3, 1.5, "ada", "007", "12", "a,b", IRI("http://a"), BlankNode("b"), "")] == [
        "12", "-3", "1.5", "ada", "007", '"12"', '"a,b"', "<http://a>", "_:b", '""',
    ]  # fmt: skip
    assert print_cell(literal("chat", language="fr")) == '"""chat""@fr"'
    assert print_cell("true") == "true"
    assert print_cell(True) == '"""true""^^<http://www.w3.org/2001/XMLSchema#boolean>"'


def test_safe_names_are_different_and_mapped_back(tmp_path: Path) -> None:
    preds = [
        Pred("http://a.org/x#name", 2),
        Pred("http://b.org/name", 2),
        Pred("name", 2),
        Pred("Name", 2),
        Pred("name", 3),
    ]
    names = safe_names(preds)
    assert len({name.lower() for name in names.values()}) == len(preds)
    assert names[Pred("name", 2)].lower().startswith("name")
    assert safe_names([Pred("edge", 2)]) == {Pred("edge", 2): "edge"}
    for odd in ("", "/", "..", ".hidden", "a/b", "con", "x" * 300, "é", "predicates"):
        assert safe_names([Pred(odd, 1)])[Pred(odd, 1)] not in ("", "/", "..", "con", "predicates")
    started = time.process_time()
    many = safe_names(Pred(f"http://example.org/{i}#name", 1 + i % 2) for i in range(20_000))
    assert len(set(many.values())) == 20_000
    assert time.process_time() - started < 10  # each finds its number at once, and does not try those of all others
    dictionary = Dictionary()
    write(
        tmp_path / "out",
        encoded({pred: [("a",) * pred.arity] for pred in preds}, dictionary),
        dictionary,
        OutputForm("tsv"),
    )
    assert set(read(tmp_path / "out", dictionary)) == set(preds)
    one = next(tmp_path.glob("out/name*.tsv"))
    assert next(iter(read(one, dictionary))).name in {pred.name for pred in preds}


def test_a_table_called_predicates(tmp_path: Path) -> None:
    (tmp_path / "predicates.tsv").write_text("a\tb\n")
    (tmp_path / "edge.tsv").write_text("a\tb\n")
    assert set(read(tmp_path, Dictionary())) == {Pred("predicates", 2), Pred("edge", 2)}


def test_only_whole_results(tmp_path: Path) -> None:
    dictionary = Dictionary()
    fine, bad = Pred("fine", 2), Pred("bad", 3)
    facts = encoded({fine: [(IRI("a"), 1)], bad: [(IRI("a"), 1, 2)]}, dictionary)
    with pytest.warns(DataWarning, match=r"left out.* 1 of bad/3 \(only one or two arguments"):
        write(tmp_path / "partly", facts, dictionary, OutputForm("nt"))
    with pytest.raises(DataError, match=r"fine/2 .* subject 'x' is not an IRI"):
        write(tmp_path / "out", encoded({fine: [("x", 1)]}, dictionary), dictionary, OutputForm("nt"))
    for value in (IRI("a b"), IRI("\x80"), BlankNode("a:b"), BlankNode("←"), literal("x", language="1")):
        with pytest.raises(DataError, match="cannot be written as N-Triples"):
            write(tmp_path / "out", encoded({fine: [(IRI("a"), value)]}, dictionary), dictionary, OutputForm("nt"))
    with pytest.raises(DataError, match="'a b' cannot be written as N-Triples"):
        write(tmp_path / "out", encoded({Pred("a b", 1): [(IRI("a"),)]}, dictionary), dictionary, OutputForm("nt"))
    with pytest.raises(DataError, match="surrogate"):
        write(tmp_path / "out", encoded({fine: [("\ud800", 1)]}, dictionary), dictionary, OutputForm("csv"))
    assert list(tmp_path.iterdir()) == [tmp_path / "partly"]
    with pytest.raises(UsageError, match="csv, tsv, jsonl, parquet, nt, nq, ttl, trig"):
        write(tmp_path / "out", facts, dictionary, OutputForm("xlsx"))


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    dictionary = Dictionary()
    facts = encoded({Pred("p", 1): [(1,)]}, dictionary)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="not an empty folder"):
        write(tmp_path / "full", facts, dictionary, OutputForm("csv"))
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", facts, dictionary, OutputForm("csv"))
    assert (tmp_path / "empty" / "p.csv").read_text() == "1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "full"]


def test_an_interrupt_while_files_move_leaves_none_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []

    def replace(old: Path, new: Path, really: Callable[[Path, Path], None] = os.replace) -> None:
        if new.suffix == ".csv" and moved:
            raise KeyboardInterrupt
        really(old, new)
        moved.append(new.name)

    monkeypatch.setattr(os, "replace", replace)
    dictionary = Dictionary()
    with pytest.raises(KeyboardInterrupt):
        write(
            tmp_path, encoded({Pred("p", 1): [(1,)], Pred("q", 1): [(1,)]}, dictionary), dictionary, OutputForm("csv")
        )
    assert moved[0] == "p.csv"
    assert list(tmp_path.iterdir()) == []


def test_who_still_writes_after_an_interrupt_writes_nowhere(tmp_path: Path) -> None:
    """As executors do."""
    stop = Event()

    def go_on(folder: Path) -> None:
        with suppress(FileNotFoundError):
            for i in range(1_000_000):
                if stop.is_set():
                    return
                (folder / str(i)).write_text("x")

    def fill(folder: Path) -> None:
        writer.append(Thread(target=go_on, args=(folder,)))
        writer[0].start()
        while len(list(folder.iterdir())) < 50:
            pass
        raise KeyboardInterrupt

    writer: list[Thread] = []
    with pytest.raises(KeyboardInterrupt):
        whole(tmp_path / "out", fill)
    writer[0].join()
    stop.set()
    assert list(tmp_path.iterdir()) == []


def test_many_rows(tmp_path: Path) -> None:
    dictionary = Dictionary()
    pred = Pred("edge", 2)
    rng = np.random.default_rng(1)
    columns = [dictionary.intern_integers(rng.integers(0, 5000, 200_000)) for _ in range(2)]
    for format in ("csv", "nt", "parquet"):
        if format == "nt":
            columns[0] = dictionary.encode([IRI(f"n{i}") for i in range(200_000)])
        write(tmp_path / format, {pred: columns}, dictionary, OutputForm(format))
        back = read(tmp_path / format, dictionary)
        assert all(np.array_equal(a, b) for a, b in zip(back[pred], columns, strict=True))
