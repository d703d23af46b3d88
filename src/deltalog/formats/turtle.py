"""Facts as Turtle and TriG: by subject, with the prefixes that are used.

    @prefix : <http://example.org/> .

    :a a :Person ;
        :knows :b, _:c .

    :g { :a :age 3 . }                  TriG: the triples of a named graph, after those of the unnamed one

p(x, y) is the triple x p y, and C(x) is x rdf:type C, as in N-Triples (`deltalog.formats.triples`); but readers resolve
relative IRIs, so facts of a name like `edge` are left out, and `<road1>` is refused.
If there are blank nodes, the file begins with the
comment `deltalog.formats.documents.MARK`, and is read back with the same labels.

Every distinct term is printed once, and rows are sorted as ids; all of them are in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import QUADS, TRIPLES, Pred
from deltalog.core.terms import IRI, RDF_TYPE, BlankNode, Kind, Literal, Value, datatype, is_absolute, lexical
from deltalog.formats.columns import Columns
from deltalog.formats.documents import MARK
from deltalog.formats.triples import check_graph, check_resources, is_label, only_triples, print_term

_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")

# Terms.


def any_term(value: Value) -> str:
    """A term of N-Triples; a blank node whose label cannot be written has another one."""
    if isinstance(value, BlankNode) and not is_label(value):
        return f"_:x{value.encode('utf-8', 'surrogatepass').hex()}"
    return print_term(value)


def turtle_term(value: Value) -> str:
    """A term of Turtle: numbers and booleans without quotes, where reading them gives the same term."""
    if isinstance(value, bool | int):
        return lexical(value)
    if isinstance(value, float) and _DOUBLE.fullmatch(lexical(value)):
        return lexical(value)
    if isinstance(value, Decimal):
        text = lexical(value)
        return text if "." in text else f"{text}.0"
    return any_term(value)


class TurtleNames:
    """IRIs by prefixes, and which prefixes were used."""

    _LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
    _PREFIX = re.compile(r"(?:[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?)?")

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        by_length = sorted(prefixes.items(), key=lambda item: (-len(item[1]), item[0]))
        self.prefixes = {name: iri for name, iri in by_length if iri and self._PREFIX.fullmatch(name)}
        self.used: set[str] = set()

    def header(self) -> str:
        """The declarations of the prefixes that were used."""
        return "".join(f"@prefix {name}: {print_term(IRI(self.prefixes[name]))} .\n" for name in sorted(self.used))

    def term(self, value: Value | None) -> str:
        assert value is not None
        if isinstance(value, IRI):
            return self._short(str(value)) or any_term(value)
        if isinstance(value, Literal) and value.language is None:
            short = self._short(value.datatype)
            return any_term(value) if short is None else f"{any_term(value.text)}^^{short}"
        return turtle_term(value)

    def _short(self, iri: str) -> str | None:
        for name, start in self.prefixes.items():
            if iri.startswith(start) and self._LOCAL.fullmatch(iri, len(start)):
                self.used.add(name)
                return f"{name}:{iri[len(start) :]}"
        return None


def turtle_order(subject: Value | None, predicate: Value | None) -> tuple[bool, str, bool, str]:
    """Blank nodes after IRIs, and the classes of a subject before its other properties."""
    return (isinstance(subject, BlankNode), str(subject), predicate != RDF_TYPE, str(predicate))


def turtle_block(subject: str, about: Sequence[tuple[Value | None, str]], names: TurtleNames) -> str:
    """The triples of a subject: pairs of a predicate and an object, those of a predicate together."""
    lines = []
    for predicate, pairs in groupby(about, key=lambda pair: pair[0]):
        verb = "a" if predicate == RDF_TYPE else names.term(predicate)
        lines.append(f"{verb} {', '.join(o for _, o in pairs)}")
    return f"{subject} " + " ;\n    ".join(lines) + " .\n"


# Facts.


class TripleIds(NamedTuple):
    """Columns of ids of `terms`, a dictionary; the graph is 0 in the unnamed one."""

    columns: NDArray[np.uint32]
    terms: Dictionary


def write_turtle(
    path: Path, facts: Mapping[Pred, Columns], dictionary: Dictionary, prefixes: Mapping[str, str]
) -> None:
    """Write facts of arity 1 and 2 as Turtle, or with their graphs as TriG, and warn of others."""
    facts = only_triples(facts, dictionary, absolute=True)
    names = TurtleNames({name: iri for name, iri in prefixes.items() if is_absolute(iri)})
    triples = _triples(facts, dictionary)
    values = triples.terms.decode(np.arange(1, len(triples.terms)))
    texts = ["", *(_text(value, names) for value in values)]
    blocks = list(_graphs(triples, [None, *values], texts, names))
    has_blanks = bool((triples.terms.kinds == Kind.BLANK).any())
    with open(path, "wb") as stream:
        stream.write(MARK if has_blanks else b"")
        stream.write(names.header().encode())
        for block in blocks:
            stream.write(f"\n{block}".encode())


def _text(value: Value, names: TurtleNames) -> str:
    name = value if isinstance(value, IRI) else value.datatype if isinstance(value, Literal) else None
    if name is not None:
        _check_iri(name)
    match value:
        case BlankNode() | str() if not isinstance(value, IRI) or value == RDF_TYPE:
            return print_term(value)
        case Decimal():
            return lexical(value) if "." in lexical(value) else f"{lexical(value)}.0"
        case float() if isfinite(value):
            return lexical(value) if "e" in lexical(value) else f"{lexical(value)}e0"
        case float() | date() | tuple():
            return names.term(Literal(lexical(value), datatype(value)))
    return names.term(value)


def _check_iri(name: str) -> None:
    """DataError for what readers of Turtle refuse, or take for a relative IRI and make another of."""
    from pyoxigraph import NamedNode

    try:
        NamedNode(name)
    except ValueError as problem:
        raise DataError(f"<{name}> cannot be written as Turtle: {problem}. Choose another format") from None


def _triples(facts: Mapping[Pred, Columns], dictionary: Dictionary) -> TripleIds:
    """All facts as triples, over a dictionary of their terms alone."""
    terms, parts = Dictionary(), [np.empty((4, 0), np.uint32)]
    for pred, columns in facts.items():
        size = len(columns[0])
        *rows, graph = _rows(pred, columns, dictionary)
        found = [_encoded(row, size, dictionary, terms) for row in rows]
        named = np.zeros(size, np.uint32) if graph is None else _encoded(graph, size, dictionary, terms)
        parts.append(np.array([*found, named], np.uint32))
    return TripleIds(np.concatenate(parts, axis=1), terms)


def _encoded(part: object, size: int, dictionary: Dictionary, terms: Dictionary) -> NDArray[np.uint32]:
    """A column, or one IRI for all rows, in ids of the dictionary of terms."""
    if isinstance(part, IRI):
        return np.full(size, terms.intern(part) if size else 0, np.uint32)
    return terms.encode(dictionary.decode(part))


def _rows(pred: Pred, columns: Columns, dictionary: Dictionary) -> tuple[object, ...]:
    """Subjects, predicates, objects and graphs of facts: columns, or one IRI for all; None for no graph."""
    if pred == QUADS:
        graph, subject, verb, object_ = columns
        check_graph(graph, subject, verb, dictionary)
        return subject, verb, object_, graph
    check_resources(pred, columns, dictionary)
    if pred == TRIPLES:
        return (*columns, None)
    if pred.arity == 1:
        return columns[0], RDF_TYPE, IRI(pred.name), None
    return columns[0], IRI(pred.name), columns[1], None


def _graphs(
    triples: TripleIds, values: Sequence[Value | None], texts: Sequence[str], names: TurtleNames
) -> Iterator[str]:
    """The blocks of subjects, graph by graph."""

    def place(row: tuple[int, ...]) -> tuple[Any, ...]:
        return (texts[row[3]], *turtle_order(values[row[0]], values[row[1]]), texts[row[2]])

    ordered = sorted(zip(*triples.columns.tolist(), strict=True), key=place)
    for graph, inside in groupby(ordered, key=lambda row: row[3]):
        subjects = groupby(inside, key=lambda row: row[0])
        blocks = (turtle_block(texts[s], [(values[p], texts[o]) for _, p, o, _ in rows], names) for s, rows in subjects)
        if graph:
            yield f"{texts[graph]} {{\n" + "\n".join(blocks) + "}\n"
        else:
            yield from blocks
