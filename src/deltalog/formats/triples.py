"""Facts as N-Triples: p(x, y) is `x <p> y .`, and C(x) is `x rdf:type <C> .`; rows of QUADS as N-Quads.

Every value has a term: Python's own are literals of the XML Schema datatype that `deltalog.core.terms` names. Only an
IRI or a blank node can be a subject. A name that no N-Triples reader would take (an IRI with a space, say) is an error.

If there are blank nodes, the file begins with the comment `deltalog.formats.documents.MARK`, and is read back with the same
labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import QUADS, TRIPLES, Pred
from deltalog.core.terms import IRI, RDF_TYPE, BlankNode, Kind, Literal, Value, datatype, is_absolute, lexical
from deltalog.core.user_warnings import warn
from deltalog.formats.columns import Column, Columns
from deltalog.formats.csv_cells import language_of, print_integer
from deltalog.formats.documents import MARK
from deltalog.formats.subjects import RESOURCES
from deltalog.formats.tables import write_rows
from deltalog.formats.value_text import IRI_ESCAPED, Forms, Wrapping

_NOT_IN_IRI = re.compile(r"[\x00-\x20\x7f-\x9f<>\"{}|^`\\]")
_NOT_IN_STRING = re.compile(r"[\"\\\x00-\x1f\x7f]")
_FIRST = (
    r"A-Za-z0-9_\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    r"\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LATER = _FIRST + r"\xb7\u0300-\u036f\u203f\u2040-"
_LABEL = re.compile(rf"[{_FIRST}](?:[.{_LATER}]*[{_LATER}])?")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def write_triples(path: Path, facts: Mapping[Pred, Columns], dictionary: Dictionary) -> None:
    """Write facts of arity 1 and 2 as N-Triples, and warn of others."""
    write_all_triples(path, only_triples(facts, dictionary, absolute=False), dictionary)


def write_part(path: Path, pred: Pred, columns: Columns, dictionary: Dictionary) -> LeftOut | None:
    """Write some facts of a predicate as N-Triples; what is left out."""
    kept, left_out = _separated({pred: columns}, dictionary, absolute=False)
    write_all_triples(path, kept, dictionary)
    return left_out[0] if left_out else None


def write_all_triples(path: Path, facts: Mapping[Pred, Columns], dictionary: Dictionary) -> None:
    """Write facts that are triples."""
    with open(path, "wb") as stream:
        if any(_has_blank(column, dictionary) for columns in facts.values() for column in columns):
            stream.write(MARK)
        for pred, columns in facts.items():
            _write_predicate(stream, pred, columns, dictionary)


def check_resources(pred: Pred, columns: Columns, dictionary: Dictionary) -> None:
    """DataError if a subject, or the predicate of a triple, cannot be one."""
    _check(pred, columns[0], dictionary, RESOURCES, "subject")
    if len(columns) > 2:
        _check(pred, columns[1], dictionary, (Kind.IRI,), "predicate")


def check_graph(graph: Column, subject: Column, predicate: Column, dictionary: Dictionary) -> None:
    """The same for the triples of graphs."""
    _check(QUADS, graph, dictionary, RESOURCES, "graph")
    check_resources(_IN_GRAPH, [subject, predicate, subject], dictionary)


_IN_GRAPH = Pred("a triple of a graph", 3)


class LeftOut(NamedTuple):
    """Facts of a predicate that are not triples."""

    pred: Pred
    facts: int
    reason: str

    def __str__(self) -> str:
        return f"{self.facts:,} of {self.pred} ({self.reason})"


def only_triples(facts: Mapping[Pred, Columns], dictionary: Dictionary, absolute: bool) -> dict[Pred, Columns]:
    """The facts that are triples; `absolute`: of predicates that are absolute IRIs. Warns of what is left out, and
    raises DataError if that is all there is."""
    kept, left_out = _separated(facts, dictionary, absolute)
    report_left_out(left_out, bool(kept))
    return kept


def report_left_out(left_out: Sequence[LeftOut], others_are_written: bool) -> None:
    """Warns of facts that are not triples, or raises DataError if there are no others."""
    listed = ", ".join(map(str, left_out))
    if left_out and not others_are_written:
        raise DataError(f"no fact can be written as a triple: {listed}. Choose another format")
    if left_out:
        warn(f"facts left out, because they are not triples: {listed}")


def _separated(
    facts: Mapping[Pred, Columns], dictionary: Dictionary, absolute: bool
) -> tuple[dict[Pred, Columns], list[LeftOut]]:
    """The facts that are triples, and what is left out."""
    kept: dict[Pred, Columns] = {}
    left_out: list[LeftOut] = []
    for pred, columns in facts.items():
        reason, fine = _triples_among(pred, columns, dictionary, absolute)
        size = len(columns[0]) if columns else 1
        if reason:
            left_out.append(LeftOut(pred, size - int(fine.sum()), reason))
        if not reason or fine.any():
            kept[pred] = [column[fine] for column in columns] if reason else columns
    return kept, left_out


_NONE = np.zeros(1, np.bool_)


def _triples_among(
    pred: Pred, columns: Columns, dictionary: Dictionary, absolute: bool
) -> tuple[str, NDArray[np.bool_]]:
    """Why some facts of a predicate are not triples, if that is so, and which are."""
    if pred in (TRIPLES, QUADS):
        return "", _NONE
    none = np.zeros(len(columns[0]) if columns else 1, np.bool_)
    if pred.arity not in (1, 2):
        return "only one or two arguments make a triple", none
    if absolute and not is_absolute(pred.name):
        return "the name is not an absolute IRI", none
    fine = np.isin(dictionary.kinds[columns[0]], RESOURCES)
    if fine.all():
        return "", fine
    example = dictionary.decode(columns[0][~fine][:1])[0]
    return f"the subject {example!r} is not an IRI or a blank node", fine


def _has_blank(column: Column, dictionary: Dictionary) -> bool:
    return bool((dictionary.kinds[column] == Kind.BLANK).any())


def _write_predicate(stream: BinaryIO, pred: Pred, columns: Columns, dictionary: Dictionary) -> None:
    if pred == QUADS:
        graph, *triples = columns
        check_graph(graph, triples[0], triples[1], dictionary)
        pred, columns = _IN_GRAPH, [*triples, graph]
    check_resources(pred, columns, dictionary)
    try:
        if pred.arity == 1:
            after = f" {print_term(RDF_TYPE)} {print_term(IRI(pred.name))} .\n"
            write_rows(stream, columns, dictionary, TERMS, " ", after)
        elif pred.arity == 2:
            write_rows(stream, columns, dictionary, TERMS, f" {print_term(IRI(pred.name))} ", " .\n")
        else:
            write_rows(stream, columns, dictionary, TERMS, " ", " .\n")
    except DataError as problem:
        raise DataError(f"{pred}: {problem}") from None


def _check(pred: Pred, column: Column, dictionary: Dictionary, kinds: tuple[Kind, ...], role: str) -> None:
    wrong = np.flatnonzero(~np.isin(dictionary.kinds[column], kinds))
    if len(wrong):
        value = dictionary.decode(column[wrong[:1]])[0]
        allowed = " or ".join({Kind.IRI: "an IRI", Kind.BLANK: "a blank node"}[kind] for kind in kinds)
        raise DataError(
            f"{pred} cannot be written as triples: its {role} {value!r} is not {allowed}. "
            "Choose another format, or leave it out"
        )


def is_label(label: str) -> bool:
    """Whether N-Triples has a way to write the label of a blank node."""
    return _LABEL.fullmatch(label) is not None


def print_term(value: Value) -> str:
    """The N-Triples term of a value."""
    match value:
        case IRI():
            return f"<{_iri(str.__str__(value))}>"
        case BlankNode():
            if not is_label(value):
                raise DataError(f"{value!r} cannot be written as N-Triples: the label has other signs than _ - .")
            return f"_:{value}"
        case Literal(language=str()):
            return f'"{_string(value.text)}"@{_language(value)}'
        case str():
            return f'"{_string(value)}"'
        case int() if not isinstance(value, bool):
            return f'"{print_integer(value)}"^^<{datatype(value)}>'
        case _:
            return f'"{_string(lexical(value))}"^^<{_iri(datatype(value) or "")}>'


_ASCII_CONTROLS = "".join(map(chr, (*range(0x20), 0x7F)))
TERMS = Forms(
    print_term,
    {
        Kind.STRING: Wrapping('"', '"', _ASCII_CONTROLS + '"\\'),
        Kind.IRI: Wrapping("<", ">", IRI_ESCAPED + "\x7f\x80"),
    },
)


def _iri(text: str) -> str:
    if found := _NOT_IN_IRI.search(text):
        raise DataError(f"the IRI {text!r} cannot be written as N-Triples: {found[0]!r} cannot stand in one")
    return text


def _language(value: Literal) -> str:
    if not _LANGUAGE.fullmatch(language_of(value)):
        raise DataError(f"{value!r} cannot be written as N-Triples: its language is not of the form en or en-us")
    return language_of(value)


def _string(text: str) -> str:
    return _NOT_IN_STRING.sub(_code_or_letter, text)


def _code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


def _code_or_letter(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or _code(found)
