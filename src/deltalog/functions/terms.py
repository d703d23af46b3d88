"""Terms of all kinds, tuples, and records of Soufflé.

`isiri`, `isblank` and `isliteral` are true or false of every value. `datatype` is the datatype of a literal as an IRI,
and fails for an IRI or a blank node. `hasdatatype(v, d)` is whether the value of a literal is in the value space of a
datatype (`deltalog.functions.datatypes`): 1 has xsd:integer and xsd:byte, and not xsd:double.

`tuple(a, b, ...)`, or `[a, b, ...]`, is the tuple of any values; `item(t, i)` is its element number i (the first is 1),
and `arity(t)` how many it has; both fail on what is no tuple, and `item` on what it has not. Tuples are equal if they
have the same elements ([1] is not [1.0]); `<` does not compare them, MIN and MAX do, element by element.
"""

from __future__ import annotations

import re

from deltalog.core.iri_references import resolved
from deltalog.core.terms import IRI, BlankNode, Kind, Value, datatype, kind, literal
from deltalog.functions import fresh_values
from deltalog.functions import nemo_functions as nemo
from deltalog.functions import souffle_functors as souffle
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.datatypes import in_value_space
from deltalog.functions.function import (
    ExpressionFails,
    function,
    not_evaluated,
    of_nemo,
    of_souffle,
    of_sparql,
    with_sparql,
)
from deltalog.functions.numbers import integer
from deltalog.functions.ordered import COUNTER, ITERATION
from deltalog.functions.skolem import skolem

_INSTEAD = "SKOLEM(?x, ...) is a blank node that depends on nothing but its arguments."
_LITERALS = tuple(each for each in Kind if each not in (Kind.IRI, Kind.BLANK))


def _make_tuple(*values: Value) -> tuple[Value, ...]:
    kind(values)  # ValueError if it is too deep
    return values


def _elements(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise ExpressionFails(f"{value!r} is no tuple")
    return value


def _item(value: Value, number: Value) -> Value:
    elements, i = _elements(value), integer(number)
    if not 1 <= i <= len(elements):
        raise ExpressionFails(f"a tuple of {len(elements)} has no element {i}")
    return elements[i - 1]


def _datatype(value: Value) -> IRI:
    found = datatype(value)
    if found is None:
        raise ExpressionFails(f"{value!r} is no literal")
    return IRI(found)


def _has_datatype(value: Value, type_: Value) -> bool:
    found = in_value_space(value, str(type_)) if isinstance(type_, IRI) else None
    if found is None:
        raise ExpressionFails(f"{type_!r} is no datatype that is known")
    return found


def _labelled_bnode(seed: Value, label: Value, *solution: Value) -> BlankNode:
    """The blank node of a label, in one solution."""
    return fresh_values.bnode(seed, sparql.simple(label), *solution)


_NOT_IN_IRI = re.compile(r"[<>\"{}|^`\\\x00-\x20]")


def _iri(value: Value, *base: str) -> IRI:
    if isinstance(value, IRI):
        return value
    text = resolved(base[0], sparql.simple(value)) if base else sparql.simple(value)
    if _NOT_IN_IRI.search(text):
        raise ExpressionFails(f"{text!r} is no IRI")
    return IRI(text)


def _is_numeric(value: Value) -> bool:
    return sparql.ranked(value) is not None


def _is_iri(value: Value) -> bool:
    return isinstance(value, IRI)


def _is_blank(value: Value) -> bool:
    return isinstance(value, BlankNode)


KINDS = (
    *with_sparql(
        function("isiri", "anything -> truth", _is_iri)
        .named(nemo="ISIRI")
        .written_as(rdfox="ISIRI")
        .fast(column=("kinds", (Kind.IRI,)))
    ),
    *with_sparql(function("isuri", "anything -> truth", _is_iri)),
    *with_sparql(
        function("isblank", "anything -> truth", _is_blank)
        .named(nemo="ISNULL")
        .written_as(rdfox="ISBLANK")
        .fast(column=("kinds", (Kind.BLANK,)))
    ),
    function("isliteral", "literal -> truth", lambda value: not isinstance(value, IRI | BlankNode))
    .named(elsewhere="isstring")
    .written_as(rdfox="ISLITERAL")
    .fast(column=("kinds", _LITERALS)),
    of_sparql("isliteral", "anything -> truth", lambda value: datatype(value) is not None),
    *with_sparql(function("isnumeric", "literal -> truth", _is_numeric)),
    of_nemo("isstring", 1, nemo.is_plain_string).fast(column=("kinds", (Kind.STRING,))),
    of_nemo("isinteger", 1, nemo.is_integer).fast(column=("kinds", (Kind.INTEGER,))),
    of_nemo("isfloat", 1, nemo.is_float),
    of_nemo("isdouble", 1, lambda value: isinstance(value, float)).fast(column=("kinds", (Kind.DOUBLE,))),
    of_nemo("isnumeric", 1, nemo.is_numeric).fast(column=("kinds", (Kind.INTEGER, Kind.DOUBLE), (Kind.NUMBER,))),
    *with_sparql(function("datatype", "literal -> term", _datatype).written_as(rdfox="DATATYPE")),
    of_nemo("datatype", 1, lambda value: IRI(nemo.datatype_of(value))),
    function("hasdatatype", "literal, anything -> truth", _has_datatype),
    *with_sparql(function("strdt", 2, lambda value, type_: literal(sparql.simple(value), str(_iri(type_))))),
)
NODES = (
    *with_sparql(function("iri", "anything -> term", _iri, ordinary=True)),
    *with_sparql(function("uri", "anything -> term", _iri, ordinary=True)),
    of_nemo("iri", 1, nemo.to_iri),
    function("skolem", "anything... -> term", skolem),
    of_sparql("uuid", 0, fresh_values.fresh_iri, instead=_INSTEAD),
    of_sparql("bnode", "anything?", fresh_values.bnode, instead=_INSTEAD),
    function("sparql:bnode of", "anything, anything...", _labelled_bnode, instead=_INSTEAD),
)
TUPLES = (
    function("tuple", "anything* -> term", _make_tuple).named(rif="func:make-list", elsewhere="record"),
    function("item", 2, _item).named(elsewhere="nth"),
    function("arity", "anything -> integer", lambda value: len(_elements(value))).named(rif="func:count"),
    of_souffle("record", "anything*", souffle.record, core="tuple").fast(column=("record",)),
    of_souffle("field", 2, souffle.field_of).fast(column=("field",)),
    of_souffle("is", 2, souffle.is_branch).fast(column=("begins",)),
    of_souffle("isrecord", 1, lambda value: value != souffle.NIL).fast(column=("is record",)),
    of_souffle("index", "anything...", lambda value, *names: names.index(souffle.field_of(value, 0))),
    of_souffle("branch", "anything...", souffle.branch),
    function(COUNTER, 0, not_evaluated),
    function(ITERATION, 0, not_evaluated),
)
FUNCTIONS = (*KINDS, *NODES, *TUPLES)
