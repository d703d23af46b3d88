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
    ANY_NUMBER,
    ANYTHING,
    ELSEWHERE,
    INTEGER,
    LITERAL,
    NEMO,
    RDFOX,
    RIF,
    TERM,
    TRUTH,
    ExpressionFails,
    Function,
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
        Function(
            *("isiri", 1, _is_iri, ANYTHING, TRUTH, {NEMO: "ISIRI"}, {RDFOX: "ISIRI"}), column=("kinds", (Kind.IRI,))
        )
    ),
    *with_sparql(Function("isuri", 1, _is_iri, ANYTHING, TRUTH)),
    *with_sparql(
        Function(
            *("isblank", 1, _is_blank, ANYTHING, TRUTH, {NEMO: "ISNULL"}, {RDFOX: "ISBLANK"}),
            column=("kinds", (Kind.BLANK,)),
        )
    ),
    Function(
        "isliteral",
        1,
        lambda value: not isinstance(value, IRI | BlankNode),
        LITERAL,
        TRUTH,
        {ELSEWHERE: "isstring"},
        {RDFOX: "ISLITERAL"},
        column=("kinds", _LITERALS),
    ),
    of_sparql("isliteral", 1, lambda value: datatype(value) is not None, gives=TRUTH),
    *with_sparql(Function("isnumeric", 1, _is_numeric, LITERAL, TRUTH)),
    of_nemo("isstring", 1, nemo.is_plain_string, column=("kinds", (Kind.STRING,))),
    of_nemo("isinteger", 1, nemo.is_integer, column=("kinds", (Kind.INTEGER,))),
    of_nemo("isfloat", 1, nemo.is_float),
    of_nemo("isdouble", 1, lambda value: isinstance(value, float), column=("kinds", (Kind.DOUBLE,))),
    of_nemo("isnumeric", 1, nemo.is_numeric, column=("kinds", (Kind.INTEGER, Kind.DOUBLE), (Kind.NUMBER,))),
    *with_sparql(Function("datatype", 1, _datatype, LITERAL, TERM, written={RDFOX: "DATATYPE"})),
    of_nemo("datatype", 1, lambda value: IRI(nemo.datatype_of(value))),
    Function("hasdatatype", 2, _has_datatype, (LITERAL, ANYTHING), TRUTH),
    *with_sparql(Function("strdt", 2, lambda value, type_: literal(sparql.simple(value), str(_iri(type_))))),
)
NODES = (
    *with_sparql(Function("iri", 1, _iri, ANYTHING, TERM, ordinary=True)),
    *with_sparql(Function("uri", 1, _iri, ANYTHING, TERM, ordinary=True)),
    of_nemo("iri", 1, nemo.to_iri),
    Function("skolem", (1, ANY_NUMBER), skolem, ANYTHING, TERM),
    of_sparql("uuid", 0, fresh_values.fresh_iri, instead=_INSTEAD),
    of_sparql("bnode", (0, 1), fresh_values.bnode, instead=_INSTEAD),
    Function("sparql:bnode of", (2, ANY_NUMBER), _labelled_bnode, instead=_INSTEAD),
)
TUPLES = (
    Function("tuple", (0, ANY_NUMBER), _make_tuple, ANYTHING, TERM, {RIF: "func:make-list", ELSEWHERE: "record"}),
    Function("item", 2, _item, names={ELSEWHERE: "nth"}),
    Function("arity", 1, lambda value: len(_elements(value)), ANYTHING, INTEGER, {RIF: "func:count"}),
    of_souffle("record", (0, ANY_NUMBER), souffle.record, core="tuple", column=("record",)),
    of_souffle("field", 2, souffle.field_of, column=("field",)),
    of_souffle("is", 2, souffle.is_branch, column=("begins",)),
    of_souffle("isrecord", 1, lambda value: value != souffle.NIL, column=("is record",)),
    of_souffle("index", (1, ANY_NUMBER), lambda value, *names: names.index(souffle.field_of(value, 0))),
    of_souffle("branch", (1, ANY_NUMBER), souffle.branch),
    Function(COUNTER, 0),
    Function(ITERATION, 0),
)
FUNCTIONS = (*KINDS, *NODES, *TUPLES)
