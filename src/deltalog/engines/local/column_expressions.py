"""Expressions over whole columns.

Numbers and conditions are computed by numpy where every value of the columns concerned is an integer, or every one a
number that a float holds; everything else goes through `deltalog.functions.scalar`, the reference, once per distinct
combination of inputs. So there is one meaning, and a fast path for the columns that are worth one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deltalog.core.arrays import Array
from deltalog.core.concurrency.locks import CallLock
from deltalog.core.dictionary import Dictionary, distinct_ids
from deltalog.core.limits import Limits
from deltalog.core.rules import Call, Constant, Expression, Variable, variables
from deltalog.core.terms import Kind, Value
from deltalog.core.tuning import Tuning
from deltalog.engines.local.index_join import Rows
from deltalog.engines.local.record_fields import RecordFields
from deltalog.engines.local.relation import Mask
from deltalog.engines.local.skolem_cache import NamedTerms, SkolemCache
from deltalog.engines.local.sorted_runs import Ids, pack
from deltalog.functions import scalar
from deltalog.functions.failures import EXAMPLES, FailureLog, tally
from deltalog.functions.function import Function
from deltalog.functions.registry import FUNCTIONS
from deltalog.functions.skolem import SkolemForm, is_plain_skolem, skolem_form, skolem_part
from deltalog.kernels.blake2b import NAME, skolem_names

UNCHECKED_ROWS = 256  # whose values are computed one by one between two checks of limits, some 10 ms
EXACT = 2**53  # integers below are exact as floats
INT64 = 2.0**63 - 2.0**13  # results below surely fit: factors and product are rounded, by one part in 2**53 each

A = TypeVar("A")


class NoFastPath(Exception):
    """These columns have values that numpy's arithmetic does not cover."""


@dataclass(slots=True)
class ColumnExpressions:
    """Evaluates expressions over rows, for one dictionary; the log has the rows on which an expression failed."""

    dictionary: Dictionary
    tuning: Tuning
    limits: Limits
    lock: CallLock = field(default_factory=CallLock)
    failures: FailureLog = field(default_factory=FailureLog)
    parts: dict[int, bytes] = field(default_factory=dict)  # arguments of SKOLEM as they are hashed, by id
    skolems: SkolemCache = field(init=False)
    records: RecordFields = field(init=False)

    def __post_init__(self) -> None:
        self.skolems = SkolemCache(self.tuning)
        self.records = RecordFields(self.dictionary)

    def holds(self, condition: Expression, rows: Rows) -> Mask:
        """The rows for which a condition is true."""
        with self.lock.held:
            try:
                result = self._fast(condition, rows)
                if result.dtype != np.bool_:
                    raise NoFastPath
                return np.broadcast_to(result, rows.size)
            except NoFastPath:
                truth, ok = self._slowly(condition, rows, scalar.truth)
                return np.array([bool(t) for t in truth[0]], np.bool_)[truth[1]] & ok

    def values(self, expression: Expression, rows: Rows) -> tuple[Ids, Mask | None]:
        """The ids of an expression's values, and the rows on which it has one (None: on all)."""
        if isinstance(expression, Variable):
            return rows.columns[expression], None
        if is_plain_skolem(expression):
            return self._skolems(expression, rows), None
        with self.lock.held:
            try:
                return _for_each(self._ids(expression, rows), rows.size), None
            except NoFastPath:
                (found, inverse), ok = self._slowly(expression, rows)
                return self.dictionary.encode(found)[inverse], ok

    def _ids(self, expression: Expression, rows: Rows) -> Ids:
        """The ids of values, one for each row or one for all."""
        column = self._column(expression, rows)
        return self._interned(self._fast(expression, rows)) if column is None else column

    def _interned(self, values: Array) -> Ids:
        if values.dtype == np.bool_:
            return self.dictionary.encode([False, True])[values.astype(np.intp)]
        if values.dtype == np.int64:
            return self.dictionary.intern_integers(np.ascontiguousarray(values))
        return self.dictionary.intern_doubles(values + 0.0)  # a computed zero is positive

    # The fast path: int64, float64 or bool arrays; NoFastPath when in doubt.

    def _fast(self, expression: Expression, rows: Rows) -> Array:
        match expression:
            case Constant(bool(value)):
                return np.array([value])
            case Constant(int(value)) if -EXACT < value < EXACT:
                return np.array([value], np.int64)
            case Constant(float(value)) if np.isfinite(value):
                return np.array([value], np.float64)
            case Variable():
                return self._numbers(rows.columns[expression])
            case Call("sameterm", (Variable() as left, right)) if is_plain_skolem(right):
                return np.equal(rows.columns[left], self._skolems(right, rows, only_known=True))
            case Call("sameterm", (left, right)):
                sides = [self._column(side, rows) for side in (left, right)]
                if sides[0] is None or sides[1] is None:
                    raise NoFastPath
                return np.equal(sides[0], sides[1])
            case Call("=" | "!=", (left, right)):
                return self._same(expression.function, left, right, rows)
            case Call(function, arguments):
                return self._called(FUNCTIONS[function], arguments, rows)
            case _:
                raise NoFastPath

    def _called(self, function: Function, arguments: Sequence[Expression], rows: Rows) -> Array:
        """A call by the form of its function: a scheme, and what it applies."""
        match function.column, arguments:
            case ("kinds", among, *unsure), (Variable() as inner,):
                return _kinds(self.dictionary.kinds[rows.columns[inner]], among, *unsure)
            case ("begins",), (Variable() as inner, Constant(value)):
                return _found(self.records.begin_with(rows.columns[inner], self.dictionary.intern(value)))
            case ("is record",), (Variable() as inner,):
                return np.not_equal(rows.columns[inner], self.records.nil)
            case (str(scheme), *applied), _ if scheme in _SCHEMES and len(arguments) == function.least:
                return _SCHEMES[scheme](*applied, *[self._fast(each, rows) for each in arguments])
        raise NoFastPath

    def _numbers(self, column: Ids) -> Array:
        kinds = self.dictionary.kinds[column]
        if (kinds == Kind.INTEGER).all():
            return self.dictionary.integers[column]
        if (kinds == Kind.DOUBLE).all():
            doubles = self.dictionary.doubles[column]
            if np.isfinite(doubles).all():
                return doubles
        raise NoFastPath

    def _same(self, function: str, left: Expression, right: Expression, rows: Rows) -> Array:
        """= and !=: by id, unless numbers of different types could be equal."""
        sides = [self._column(side, rows) for side in (left, right)]
        if sides[0] is not None and sides[1] is not None:
            kinds = [self.dictionary.kinds[side] for side in sides]
            if all(_one_value_one_id(kind) for kind in kinds):
                return np.equal(sides[0], sides[1]) if function == "=" else np.not_equal(sides[0], sides[1])
        return self._called(FUNCTIONS[function], (left, right), rows)

    def _column(self, side: Expression, rows: Rows) -> Ids | None:
        match side:
            case Variable():
                return rows.columns[side]
            case Constant(value):
                return np.array([self.dictionary.intern(value)], np.uint32)
            case Call(function, (_, *_) as fields) if FUNCTIONS[function].column == ("record",):
                return self._records([self._ids(each, rows) for each in fields], rows.size)
            case Call(function, (inner, Constant(int(position)))) if FUNCTIONS[function].column == ("field",):
                return _found(self.records.at(self._ids(inner, rows), position)) if position >= 0 else None
            case _:
                return None

    def _records(self, fields: Sequence[Ids], size: int) -> Ids:
        """Each distinct one is built once."""
        columns = [_for_each(column, size) for column in fields]
        first, inverse = _distinct(columns, size)
        return _found(self.records.build([column[first] for column in columns]))[inverse]

    # SKOLEM: the part of the hashed text that belongs to an argument is computed once per value.

    def _skolems(self, call: Call, rows: Rows, only_known: bool = False) -> Ids:
        """The ids of the names; if only known ones are wanted, 0, which is no id, for one that has none. The names
        themselves are computed by several threads at a time."""
        names = tuple(dict.fromkeys(variables(call)))
        first, inverse = _distinct([rows.columns[v] for v in names], rows.size)
        chosen = Rows({v: rows.columns[v][first] for v in names}, len(first))
        with self.lock.held:
            parts, numbers = self._skolem_parts(call, chosen)
        found = np.empty((len(first), NAME), np.uint8)
        skolem_names(*_joined(parts), numbers, found)
        ends = NAME * np.arange(1, len(first) + 1)
        with self.lock.held:
            look_up = self.dictionary.find_texts if only_known else self.dictionary.intern_texts
            ids = look_up(found.reshape(-1), ends - NAME, ends, Kind.BLANK)
            if not only_known:
                self.skolems.remember(NamedTerms(skolem_form(call), tuple(chosen.columns[v] for v in names), ids))
        return ids[inverse]

    def skolem_inverse(self, call: Call, names: Ids) -> list[Ids] | None:
        """The arguments for which a SKOLEM gives some names, and the names; None if they are not cached. Terms that are
        no blank nodes are no such names."""
        blank = names[self.dictionary.kinds[names] == Kind.BLANK]
        with self.lock.held:
            return self.skolems.inverse(skolem_form(call), blank, len(self.dictionary))

    def _skolem_parts(self, call: Call, rows: Rows) -> tuple[list[bytes], NDArray[np.int64]]:
        """The distinct arguments as SKOLEM hashes them, and for each row their positions."""
        parts: list[bytes] = []
        numbers = np.empty((rows.size, len(call.arguments)), np.int64)
        for place, argument in enumerate(call.arguments):
            if isinstance(argument, Constant):
                found, places = [skolem_part(argument.value)], np.zeros(rows.size, np.intp)
            else:
                assert isinstance(argument, Variable)
                distinct, places = distinct_ids(rows.columns[argument], len(self.dictionary))
                found = self._parts_of(distinct)
            numbers[:, place] = places.reshape(-1) + len(parts)
            parts += found
        return parts, numbers

    def _parts_of(self, ids: Ids) -> list[bytes]:
        """Arguments as SKOLEM hashes them; cached, because the next round needs many of them again."""
        if len(self.parts) > self.tuning.skolem_cache_parts:
            self.parts.clear()
        wanted = ids.tolist()
        missing = [id for id in wanted if id not in self.parts]
        if missing:
            self.parts.update(zip(missing, map(skolem_part, self.dictionary.decode(missing)), strict=True))
        return [self.parts[id] for id in wanted]

    # One binding at a time.

    def value(self, expression: Expression, ids: Mapping[Variable, int], form: SkolemForm | None) -> int | None:
        """The id of an expression's value; None if it fails. `form`: of a SKOLEM of variables and constants."""
        try:
            found = self.dictionary.encode([scalar.evaluate(expression, self._binding(ids))])
        except scalar.ExpressionFails:
            return None
        if form is not None:
            arguments = tuple(np.array([id], np.uint32) for id in ids.values())
            self.skolems.remember(NamedTerms(form, arguments, found))
        return int(found[0])

    def truth(self, condition: Expression, ids: Mapping[Variable, int]) -> bool | None:
        """Whether a condition holds; None if it fails."""
        try:
            return scalar.holds(condition, self._binding(ids))
        except scalar.ExpressionFails:
            return None

    def _binding(self, ids: Mapping[Variable, int]) -> dict[Variable, Value]:
        return {variable: self.dictionary.value(id) for variable, id in ids.items()}

    # The reference, once per distinct combination of the inputs.

    def _slowly(
        self, expression: Expression, rows: Rows, checked: Callable[[Value], Any] | None = None
    ) -> tuple[tuple[list[Any], NDArray[np.intp]], Mask]:
        names = tuple(dict.fromkeys(variables(expression)))
        compute = scalar.compiled(expression, {v: place for place, v in enumerate(names)})
        function = compute if checked is None else lambda values: checked(compute(values))
        first, inverse = _distinct([rows.columns[v] for v in names], rows.size)
        results, failed = scalar.apply_each(function, self._inputs(names, rows, first))
        ok = np.ones(len(first), np.bool_)
        ok[failed] = False
        mask = ok[inverse]
        if failed:
            some = self._inputs(names, rows, first[failed[:EXAMPLES]])
            labels = [v.name for v in names]
            examples = [(dict(zip(labels, each, strict=True)), scalar.why_it_fails(function, each)) for each in some]
            self.failures.add(expression, tally(int(rows.size - np.count_nonzero(mask)), examples))
        return (results, inverse), mask

    def _inputs(self, names: Sequence[Variable], rows: Rows, numbers: NDArray[np.intp]) -> Iterator[tuple[Value, ...]]:
        """The values of variables in some rows; limits are checked now and then."""
        for start in range(0, len(numbers), UNCHECKED_ROWS):
            self.limits.check()
            some = numbers[start : start + UNCHECKED_ROWS]
            inputs = [self.dictionary.decode(rows.columns[v][some]) for v in names]
            yield from zip(*inputs, strict=True) if names else [()]


def _joined(parts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Parts one after the other, and their boundaries."""
    bounds = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), bounds


def _distinct(columns: list[Ids], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The number of the first row of each distinct combination, and for every row which combination it is."""
    if not columns:
        return np.zeros(1, np.intp), np.zeros(size, np.intp)
    _, first, inverse = np.unique(pack(columns[:2], size), return_index=True, return_inverse=True)
    for column in columns[2:]:
        keys = pack([inverse.astype(np.uint32), column], size)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def _for_each(column: Ids, size: int) -> Ids:
    """A column with a value for each row, of one that may have a value for all."""
    return column if len(column) == size else np.full(size, column[0], np.uint32)


def _found(values: A | None) -> A:
    if values is None:
        raise NoFastPath
    return values


def _one_value_one_id(kinds: NDArray[np.uint8]) -> bool:
    return not ((kinds >= Kind.BIG_INTEGER) & (kinds <= Kind.NUMBER)).any()


def _kinds(kinds: Array, among: tuple[Kind, ...], unsure: tuple[Kind, ...] = ()) -> Array:
    """Whether values are of some kinds; of the unsure ones, only the reference knows."""
    if unsure and _among(unsure)[kinds].any():
        raise NoFastPath
    return _among(among)[kinds]


@lru_cache
def _among(kinds: tuple[Kind, ...]) -> Array:
    """For each kind, whether it is one of these."""
    found = np.zeros(max(Kind) + 1, np.bool_)
    found[list(kinds)] = True
    return found


def _truth(values: Array) -> Array:
    if values.dtype != np.bool_:
        raise NoFastPath
    return values


def _number(values: Array) -> Array:
    if values.dtype == np.bool_:
        raise NoFastPath
    return values


def _within(values: Array, bound: float) -> Array:
    if len(values) and np.abs(values.astype(np.float64)).max() >= bound:  # 2**53 + 1 becomes 2**53
        raise NoFastPath
    return values


def _compare(name: str, left: Array, right: Array) -> Array:
    left, right = _number(left), _number(right)
    if left.dtype != right.dtype:
        left, right = _within(left, EXACT), _within(right, EXACT)
    return _ufunc(name)(left, right)


def _connect(name: str, *sides: Array) -> Array:
    return _ufunc(name)(*map(_truth, sides))


def _absolute(values: Array) -> Array:
    return np.abs(_within(_number(values), INT64))


def _calculate(name: str, left: Array, right: Array) -> Array:
    left, right = _number(left), _number(right)
    with np.errstate(over="ignore"):
        if left.dtype == right.dtype == np.int64:
            _within(_ufunc(name)(left.astype(np.float64), right.astype(np.float64)), INT64)
        else:
            left, right = _within(left, EXACT), _within(right, EXACT)
        return _finite(_ufunc(name)(left, right))


def _divide(left: Array, right: Array) -> Array:
    left, right = _number(left), _nonzero(_number(right))
    return _finite(_within(left, EXACT) / _within(right, EXACT))


def _modulo(left: Array, right: Array) -> Array:
    left, right = _whole(left, right)
    return left % _nonzero(right)


def _quotient(left: Array, right: Array) -> Array:
    """The quotient of integers, cut off at the point."""
    return (left - _remainder(left, right)) // right


def _remainder(left: Array, right: Array) -> Array:
    left, right = _whole(left, right)
    return np.fmod(_within(left, INT64), _nonzero(_within(right, INT64)))


def _quotient_by_kind(left: Array, right: Array) -> Array:
    """The quotient of integers, cut off at the point, and the ordinary one of doubles."""
    return _quotient(left, right) if left.dtype == right.dtype == np.int64 else _divide(left, right)


def _wrapped(name: str, left: Array, right: Array) -> Array:
    """Arithmetic of integers that fit 32 bits, over 64: the last 32 bits are right even if a product overflows."""
    left, right = _whole(left, right)
    right = _nonzero(right) if name == "fmod" else right
    return _ufunc(name)(_within(left, 2.0**32), _within(right, 2.0**32))


def _unsigned(name: str, left: Array, right: Array) -> Array:
    return _wrapped(name, left, right) & np.int64(0xFFFFFFFF)


def _signed(name: str, left: Array, right: Array) -> Array:
    half = np.int64(1 << 31)
    return ((_wrapped(name, left, right) + half) & np.int64(0xFFFFFFFF)) - half


def _ufunc(name: str) -> Callable[..., Array]:
    found: Callable[..., Array] = getattr(np, name)
    return found


def _whole(left: Array, right: Array) -> tuple[Array, Array]:
    if left.dtype != np.int64 or right.dtype != np.int64:
        raise NoFastPath
    return left, right


def _nonzero(divisor: Array) -> Array:
    if (divisor == 0).any():
        raise NoFastPath
    return divisor


def _finite(values: Array) -> Array:
    if values.dtype == np.float64 and not np.isfinite(values).all():
        raise NoFastPath
    return values


_SCHEMES: dict[str, Callable[..., Array]] = {
    **{"compare": _compare, "connect": _connect, "calculate": _calculate, "absolute": _absolute, "divide": _divide},
    **{"modulo": _modulo, "quotient": _quotient, "remainder": _remainder, "quotient by kind": _quotient_by_kind},
    **{"signed": _signed, "unsigned": _unsigned},
}
