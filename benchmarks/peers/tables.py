"""Rules and data as tables of integers: the common ground of the peers.

clingo, egglog, DuckDB, Soufflé and VLog have different ideas of strings and no idea of RDF, but all are at their best
on integers. So each value gets a number, each predicate a plain name (p0, p1, ...), each relation a file of integers
with tabs. Where all values are integers they stay what they are, and comparisons keep their meaning; where they are
not, only = and != can be translated.

A folder of tables:

    p0.tsv, p1.tsv, ...    the rows of each predicate that the rules mention and the data has (no file: no rows)
    tables.json            predicates, the values behind the numbers, the rules' heads
"""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from benchmarks.peers.base import CannotExpress, Facts
from deltalog.core.rules import (
    TRIPLE,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
)
from deltalog.core.terms import IRI, RDF_TYPE, BlankNode, Value

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_TYPE = f"<{RDF_TYPE}>"
Row = tuple[str, ...]


def spelled(value: Value) -> str:
    """The text by which a value is compared: 12, <iri>, _:blank, "text"."""
    match value:
        case IRI():
            return f"<{value}>"
        case BlankNode():
            return f"_:{value}"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return repr(value)


@dataclass(frozen=True)
class Comparison:
    left: Term
    operator: str
    right: Term


@dataclass(frozen=True)
class Clause:
    """A rule as every peer can say it: one head, atoms, negated atoms, comparisons."""

    head: Atom
    atoms: tuple[Atom, ...]
    negated: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...]


def clauses(rules: Iterable[Rule]) -> list[Clause]:
    return [_clause(head, rule.body) for rule in rules for head in rule.heads]


def _clause(head: Atom, body: tuple[BodyLiteral, ...]) -> Clause:
    atoms = tuple(part for part in body if isinstance(part, Atom))
    negated = tuple(part.atom for part in body if isinstance(part, Negation))
    comparisons = tuple(c for part in body if isinstance(part, Filter) for c in _comparisons(part.condition))
    for part in body:
        if not isinstance(part, Atom | Negation | Filter):
            raise CannotExpress("BIND" if isinstance(part, Bind) else type(part).__name__.lower())
    for atom in (head, *atoms, *negated):
        if atom.name == TRIPLE or atom.pred == Pred(str(RDF_TYPE), 2):
            raise CannotExpress("a variable in the place of a predicate or class")
    return Clause(head, atoms, negated, comparisons)


def _comparisons(condition: Expression) -> Iterator[Comparison]:
    match condition:
        case Call("&&", (left, right)):
            yield from _comparisons(left)
            yield from _comparisons(right)
        case Call(
            operator,
            (Variable() | Constant() as left, Variable() | Constant() as right),
        ) if operator in COMPARISONS:
            yield Comparison(left, operator, right)
        case _:
            raise CannotExpress("a condition other than a comparison of two terms")


@dataclass(frozen=True)
class Tables:
    """The program over integers, and where its rows are. `names` gives each predicate its plain name."""

    folder: Path
    names: dict[Pred, str]
    heads: tuple[Pred, ...]
    values: list[str] | None  # number -> text; None: the integers stand for themselves
    clauses: tuple[Clause, ...]

    def number(self, constant: Constant) -> int:
        text = spelled(constant.value)
        return int(text) if self.values is None else self._numbers[text]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.values or ())}

    def file(self, pred: Pred) -> Path | None:
        path = self.folder / f"{self.names[pred]}.tsv"
        return path if path.exists() else None


@dataclass(frozen=True)
class Stored:
    """What `run` needs of a folder of tables, without the rules."""

    folder: Path
    names: dict[Pred, str]
    heads: tuple[Pred, ...]
    values: list[str] | None

    def counts(self, count: Callable[[str, int], int]) -> dict[str, int]:
        """The sizes of the derived predicates, from a function of plain name and arity."""
        return {pred.name: count(self.names[pred], pred.arity) for pred in self.heads}

    def facts(self, rows: Callable[[str, int], Iterable[Sequence[object]]]) -> Facts:
        return {pred.name: {self._decode(row) for row in rows(self.names[pred], pred.arity)} for pred in self.heads}

    def _decode(self, row: Sequence[object]) -> Row:
        values = self.values
        return tuple(str(cell) if values is None else values[int(str(cell))] for cell in row)

    def stored(self) -> Iterator[tuple[Pred, str, Path]]:
        for pred, name in self.names.items():
            path = self.folder / f"{name}.tsv"
            if path.exists():
                yield pred, name, path


def write(rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> Tables:
    """Make the folder of tables."""
    folder.mkdir(parents=True, exist_ok=True)
    program = clauses(rules)
    preds = dict.fromkeys(atom.pred for c in program for atom in (c.head, *c.atoms, *c.negated))
    names = {pred: f"p{i}" for i, pred in enumerate(preds)}
    relations = read(files, set(names))
    given = [_constants(c.head) for c in program if not (c.atoms or c.negated or c.comparisons)]
    constants = {spelled(t.value) for c in program for t in _terms(c) if isinstance(t, Constant)}
    values = _numbering(relations, constants | {cell for row in given for cell in row})
    if values is not None and any(c.operator not in ("=", "!=") for clause in program for c in clause.comparisons):
        raise CannotExpress("an order of values that are not all integers")
    _write_rows(relations, names, values, folder)
    heads = tuple(dict.fromkeys(c.head.pred for c in program))
    _save(folder, names, heads, values)
    return Tables(folder, names, heads, values, tuple(program))


def _terms(clause: Clause) -> Iterator[Term]:
    for atom in (clause.head, *clause.atoms, *clause.negated):
        yield from atom.terms
    for comparison in clause.comparisons:
        yield from (comparison.left, comparison.right)


def _constants(head: Atom) -> Row:
    return tuple(spelled(term.value) for term in head.terms if isinstance(term, Constant))


def _numbering(relations: dict[Pred, list[Row]], constants: set[str]) -> list[str] | None:
    values = dict.fromkeys(sorted(constants))
    for rows in relations.values():
        for row in rows:
            values.update(dict.fromkeys(row))
    return None if all(map(_INTEGER.match, values)) else list(values)


def _write_rows(
    relations: dict[Pred, list[Row]],
    names: dict[Pred, str],
    values: list[str] | None,
    folder: Path,
) -> None:
    numbers = None if values is None else {text: str(number) for number, text in enumerate(values)}
    for pred, rows in relations.items():
        lines = ("\t".join(row if numbers is None else [numbers[cell] for cell in row]) for row in dict.fromkeys(rows))
        (folder / f"{names[pred]}.tsv").write_text("".join(f"{line}\n" for line in lines))


def _save(
    folder: Path,
    names: dict[Pred, str],
    heads: tuple[Pred, ...],
    values: list[str] | None,
) -> None:
    saved = {
        "names": [[pred.name, pred.arity, name] for pred, name in names.items()],
        "heads": [list(pred) for pred in heads],
        "integers": values is None,
    }
    (folder / "tables.json").write_text(json.dumps(saved))
    if values is not None:
        (folder / "values.json").write_text(json.dumps(values))


def stored(folder: Path, with_values: bool = False) -> Stored:
    """What `write` left; the values only when facts are to be decoded, for they take memory."""
    saved = json.loads((folder / "tables.json").read_text())
    names = {Pred(name, arity): plain for name, arity, plain in saved["names"]}
    heads = tuple(Pred(name, arity) for name, arity in saved["heads"])
    values = None
    if with_values and not saved["integers"]:
        values = json.loads((folder / "values.json").read_text())
    return Stored(folder, names, heads, values)


def read(files: Sequence[Path], wanted: set[Pred]) -> dict[Pred, list[Row]]:
    """The rows of the wanted predicates, from N-Triples and from CSV or TSV files named after their predicate."""
    relations: dict[Pred, list[Row]] = {}
    for path in files:
        for pred, row in facts(path):
            if pred in wanted:
                relations.setdefault(pred, []).append(row)
    return relations


def facts(path: Path) -> Iterator[tuple[Pred, Row]]:
    """The facts of a file."""
    stem, kind = path.name.removesuffix(".gz").removesuffix(".bz2").rsplit(".", 1)
    return _triples(path) if kind == "nt" else _cells(path, stem, "," if kind == "csv" else "\t")


def opened(path: Path) -> IO[str]:
    match path.suffix:
        case ".gz":
            return gzip.open(path, "rt", encoding="utf-8")
        case ".bz2":
            return bz2.open(path, "rt", encoding="utf-8")
        case _:
            return path.open(encoding="utf-8")


def _triples(path: Path) -> Iterator[tuple[Pred, Row]]:
    with opened(path) as lines:
        for line in lines:
            if not line.strip() or line.startswith("#"):
                continue
            subject, predicate, rest = line.split(None, 2)
            object = rest.rstrip().removesuffix(".").rstrip()
            if predicate == _TYPE and object.startswith("<"):
                yield Pred(object[1:-1], 1), (subject,)
            else:
                yield Pred(predicate[1:-1], 2), (subject, object)


def _cells(path: Path, name: str, separator: str) -> Iterator[tuple[Pred, Row]]:
    with opened(path) as lines:
        for row in csv.reader(lines, delimiter=separator):
            yield Pred(name, len(row)), tuple(map(_cell, row))


def _cell(text: str) -> str:
    if _INTEGER.match(text) or (text.startswith("<") and text.endswith(">")):
        return text
    return json.dumps(text, ensure_ascii=False)
