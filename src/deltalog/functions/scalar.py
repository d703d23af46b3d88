"""The semantics of expressions, one value at a time.

This is the reference implementation: the vectorised engines compute the same, and fall back to it for values without a
fast path. An expression has a value or fails (`ExpressionFails`); a row for which an expression of its rule fails is
dropped. An unbound variable fails.

Numbers. A number is an `int`, a `float`, a `Decimal`, or a Literal of another numeric datatype, which counts as the
number that `terms.number` says. Booleans are no numbers. Results are plain `int`, `float` or `Decimal`.
  - `+ - *` of two integers is an integer; beyond 64 bits it fails, it never wraps. An integer and a float give a float.
  - A decimal and an integer give a decimal, exactly; beyond 4,000 digits it fails. A decimal and a float give a float.
  - `/` is a float: both sides become floats, then they are divided. With a decimal and no float it is a decimal of 28
    significant digits, as in SPARQL. A zero divisor fails.
  - `%` has the sign of the divisor, as in Python; a zero divisor fails.
  - A float result that is NaN or infinite fails, unless an operand was so already. A zero that is computed is
    never negative; -0.0 that was given stays as it is, and equals 0.0.
  - `abs ceil floor round` keep the type of their argument. `round` takes halves away from zero.
  - `min max` of numbers give one of them (1 rather than 1.0; NaN is above every number).
  - `pow` of an integer and a non-negative integer is an integer, of a decimal and a whole number that is not negative a
    decimal; otherwise a float. `sqrt` is a float, and fails for negative numbers.
  - `div` and `rem` take two integers: the quotient is cut off at the point, and the remainder has the sign of the first
    one (so `a = div(a, b) * b + rem(a, b)`, as in C); a zero divisor fails.
  - `band bor bxor bnot` work on the bits of integers of 64 bits, in two's complement. `bshl(a, n)` is a * 2^n and fails
    beyond 64 bits; `bshr` keeps the sign, `bshru` fills with zeros; n is from 0 to 63, anything else fails.

Comparisons. `=` and `!=` never fail: numbers by value across types (exactly: 2**53 + 1 is not 2.0**53; but a decimal
and a float as floats, so that 0.1 is 0.1), other values by being one value (`terms.key`). NaN is one value, so it
equals itself. `< <= > >=` compare two numbers (false with a NaN), two strings by code points, two booleans, two dates,
or two datetimes of which both or none have a time zone; anything else fails.

Conditions. `&&` is false when a side is false, even if the other fails; `||` is true when a side is true, even if the
other fails; else a failing side fails them. What is not a boolean fails as a condition. `if` evaluates only the branch
it takes; `coalesce` gives the first argument that does not fail.

Strings. `str` is the text of any value, and `concat` joins those texts. The other functions take strings, and Literals
by their text; they fail on anything else, and give plain strings. `strlen` counts code points. `substr(s, start,
length)` is XPath's: the characters at the positions start <= p < start + length, the first being 1; both are integers.
`replace(s, old, new)` replaces every occurrence of a plain text; an empty `old` changes nothing. With flags as a fourth
argument, it is SPARQL's REPLACE, of a regular expression.

Kinds of terms. `isiri`, `isblank` and `isliteral` are true or false of every value. `datatype` is the datatype of a
literal as an IRI, and fails for an IRI or a blank node. `hasdatatype(v, d)` is whether the value of a literal is in the
value space of a datatype (`deltalog.functions.datatypes`): 1 has xsd:integer and xsd:byte, and not xsd:double.

Tuples. `tuple(a, b, ...)`, or `[a, b, ...]`, is the tuple of any values; `item(t, i)` is its element number i (the
first is 1), and `arity(t)` how many it has; both fail on what is no tuple, and `item` on what it has not. Tuples are
equal if they have the same elements ([1] is not [1.0]); `<` does not compare them, MIN and MAX do, element by element.

Dates and times are those of XML Schema (`deltalog.core.datetimes`). `date_add(d, n)` is the date or the time n days
later, of the same type; `date_diff(a, b)` is the number of days from the date of b to that of a, each in its own time
zone; `time_diff(a, b)` is the seconds from b to a, a decimal, and fails if only one of them has a time zone.

`skolem` is a blank node that depends on nothing but its arguments: "sk" and a 128-bit BLAKE2b digest of their kinds and
texts. Equal arguments give the same blank node in every engine, process and machine.

Aggregates (`aggregate`). COUNT counts. SUM of integers is exact, and fails beyond 64 bits; with a decimal among them it
is an exact decimal; with a float it is the float nearest to the exact sum, whatever the order. AVG is the sum divided
by the count: a decimal of 28 significant digits if there is a decimal and no float, else a float. MIN and MAX work on
any values, in `order`. MED is the middle number, or the mean of the two in the middle: exactly, if one of them is a
decimal and none a float, else as a float. SUM, AVG and MED fail on what is not a number; AVG, MED, MIN and MAX fail on
nothing at all. `COUNT(e)` means `BIND(e AS ?v)` at the end of the aggregate's body and `COUNT(?v)`: a binding for which
an argument fails takes no part in any call.

Regular expressions, languages, parts of dates and times, digests and casts (`FROM_SPARQL`) are those of SPARQL, in
`deltalog.functions.sparql_operators`. So are the functions `sparql:...`, which only SPARQL's expressions use. Those
of other languages, `nemo_...` and `souffle:...`, are in `deltalog.functions.nemo_functions` and
`deltalog.functions.souffle_functors`.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeGuard, TypeVar

from deltalog.core.datetimes import Moment
from deltalog.core.limits import CheckedRows, checked, checked_sort
from deltalog.core.rules import Call, Constant, Expression, Variable, variables
from deltalog.core.terms import (
    IRI,
    XSD,
    BlankNode,
    Kind,
    Literal,
    Value,
    datatype,
    key,
    kind,
    lexical,
    literal,
    number,
)
from deltalog.functions import nemo_functions, souffle_functors, sparql_operators
from deltalog.functions.datatypes import in_value_space
from deltalog.functions.signatures import FROM_SPARQL
from deltalog.functions.sparql_operators import (
    EXACT,
    TOO_LONG,
    check_length,
    checked_decimal,
    concatenated,
    divided,
)
from deltalog.functions.sparql_operators import (
    ExpressionFails as ExpressionFails,  # a row for which an expression fails is dropped
)

UNCHECKED_EXPRESSIONS = 32  # that are evaluated between two checks of limits
MOST_DAYS = 10**12  # that are added to a date
T = TypeVar("T")
R = TypeVar("R")
PlainNumber = int | float | Decimal


def evaluate(expression: Expression, binding: Mapping[Variable, Value]) -> Value:
    """The value of an expression under a binding of its variables, or ExpressionFails."""
    match expression:
        case Constant(value):
            return value
        case Variable():
            if expression not in binding:
                raise ExpressionFails(f"?{expression.name} has no value")
            return binding[expression]
        case Call(function, arguments):
            if function in _LAZY:
                return _LAZY[function](arguments, binding)
            values = [evaluate(argument, binding) for argument in arguments]
            try:
                return _FUNCTIONS[function](*values)
            except (ArithmeticError, ValueError) as error:  # of Python's own functions
                raise ExpressionFails(_reason(error)) from None


def compiled(expression: Expression, places: Mapping[Variable, int]) -> Callable[[Sequence[Value]], Value]:
    """`evaluate` for many bindings: a function of values, in which variables have places."""
    match expression:
        case Constant(value):
            return lambda values: value
        case Variable() if expression in places:
            return operator.itemgetter(places[expression])
        case Call(function, arguments) if function in _FUNCTIONS:
            return _applied(_FUNCTIONS[function], [compiled(argument, places) for argument in arguments])
    known = [(v, places[v]) for v in dict.fromkeys(variables(expression)) if v in places]
    return lambda values: evaluate(expression, {v: values[place] for v, place in known})


def _applied(
    function: Callable[..., Value], arguments: Sequence[Callable[[Sequence[Value]], Value]]
) -> Callable[[Sequence[Value]], Value]:
    def apply(values: Sequence[Value]) -> Value:
        given = [argument(values) for argument in arguments]
        try:
            return function(*given)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(_reason(error)) from None

    def apply_to_two(values: Sequence[Value]) -> Value:
        left, right = one(values), other(values)
        try:
            return function(left, right)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(_reason(error)) from None

    if len(arguments) != 2:
        return apply
    one, other = arguments
    return apply_to_two


def _reason(error: Exception) -> str:
    return "a division by zero" if isinstance(error, ZeroDivisionError) else str(error)


def holds(condition: Expression, binding: Mapping[Variable, Value]) -> bool:
    """Whether a condition is true; ExpressionFails if it fails or is no boolean."""
    return truth(evaluate(condition, binding))


# Conditions


def apply_each(function: Callable[[T], R], arguments: Iterable[T]) -> tuple[list[R | bool], list[int]]:
    """What a function of this module gives for several arguments, one after the other, and the positions of those for
    which it fails: there, False stands for the value that is not there. Limits are checked now and then."""
    values: list[R | bool] = []
    failed: list[int] = []
    for position, argument in enumerate(checked(arguments, UNCHECKED_EXPRESSIONS)):
        try:
            values.append(function(argument))
        except ExpressionFails:
            values.append(False)
            failed.append(position)
    return values, failed


def why_it_fails(function: Callable[[T], object], argument: T) -> str:
    """The reason for which a function of this module fails."""
    try:
        function(argument)
    except ExpressionFails as fails:
        return str(fails)
    raise AssertionError(f"it does not fail for {argument!r}")


def truth(value: Value) -> bool:
    """The truth of a condition's value."""
    if not isinstance(value, bool):
        raise ExpressionFails(f"{value!r} is neither true nor false")
    return value


def _decided_by(decisive: bool) -> Callable[[Sequence[Expression], Mapping[Variable, Value]], bool]:
    """`&&` (decided by a false side) or `||` (decided by a true one)."""

    def connective(sides: Sequence[Expression], binding: Mapping[Variable, Value]) -> bool:
        failure: ExpressionFails | None = None
        for side in sides:
            try:
                if holds(side, binding) is decisive:
                    return decisive
            except ExpressionFails as fails:
                failure = fails
        if failure is not None:
            raise failure
        return not decisive

    return connective


def _if(arguments: Sequence[Expression], binding: Mapping[Variable, Value]) -> Value:
    condition, then, otherwise = arguments
    return evaluate(then if holds(condition, binding) else otherwise, binding)


def _coalesce(arguments: Sequence[Expression], binding: Mapping[Variable, Value]) -> Value:
    for argument in arguments:
        try:
            return evaluate(argument, binding)
        except ExpressionFails:
            continue
    raise ExpressionFails("every argument of coalesce fails")


# Comparisons

_SIMPLE = (int, str)  # that compare as Python does


def _equal(left: Value, right: Value) -> bool:
    if type(left) is type(right) and type(left) in _SIMPLE:
        return left == right
    a, b = number(left), number(right)
    if a is None or b is None:
        return key(left) == key(right)
    a, b = _comparable_numbers(a, b)
    return a == b or (_nan(a) and _nan(b))


def _comparable_numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """Two numbers as Python compares them: exactly, but a decimal and a float as floats."""
    if isinstance(a, float) and isinstance(b, Decimal):
        return a, float(b)
    return (float(a), b) if isinstance(a, Decimal) and isinstance(b, float) else (a, b)


def _comparable(value: Value) -> tuple[str, Any]:
    """What order comparisons look at: a class of values that compare with each other, and the thing to compare."""
    n = number(value)
    if n is not None:
        return ("number", n)
    match kind(value):
        case Kind.DATETIME:
            assert isinstance(value, datetime)
            return ("datetime" if value.utcoffset() is None else "instant", value)
        case Kind.STRING | Kind.BOOLEAN | Kind.DATE as same:
            return (same.name, value)
    raise ExpressionFails(f"{value!r} has no order")


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    def comparison(left: Value, right: Value) -> bool:
        if type(left) is type(right) and type(left) in _SIMPLE:
            return compare(left, right)
        (left_class, a), (right_class, b) = _comparable(left), _comparable(right)
        if left_class != right_class:
            raise ExpressionFails(f"{left!r} and {right!r} do not compare")
        return compare(*_comparable_numbers(a, b))

    return comparison


# Numbers


def _number(value: Value) -> PlainNumber:
    n = number(value)
    if n is None:
        raise ExpressionFails(f"{value!r} is no number")
    return n


def _nan(n: PlainNumber) -> bool:
    return isinstance(n, float) and math.isnan(n)


def _finite(n: PlainNumber) -> bool:
    return not isinstance(n, float) or math.isfinite(n)


def _checked(result: PlainNumber, operands: Iterable[PlainNumber]) -> PlainNumber:
    """The result, if it is one: an integer of 64 bits, a decimal that is not too long, or a float that is finite if the
    operands are."""
    if isinstance(result, int):
        if not -(2**63) <= result < 2**63:
            raise ExpressionFails("the result does not fit 64 bits")
        return result
    if isinstance(result, Decimal):
        return checked_decimal(result)
    if not math.isfinite(result) and all(map(_finite, operands)):
        raise ExpressionFails("the result is no finite number")
    return result + 0.0


def _arithmetic(compute: Callable[..., PlainNumber]) -> Callable[..., PlainNumber]:
    """A function of numbers of one type as a function of values."""

    def function(*values: Value) -> PlainNumber:
        operands = [_number(value) for value in values]
        try:
            if any(isinstance(n, Decimal) for n in operands):
                with localcontext(EXACT):
                    return _checked(compute(*_of_one_type(operands)), operands)
            return _checked(compute(*operands), operands)
        except (ArithmeticError, ValueError) as error:
            raise ExpressionFails(_reason(error)) from None

    return function


def _of_one_type(numbers: Sequence[PlainNumber]) -> Iterable[PlainNumber]:
    """Numbers with a decimal among them: as floats if there is a float, else as decimals."""
    return map(float if any(isinstance(n, float) for n in numbers) else Decimal, numbers)


def _chosen(choose: Callable[..., PlainNumber]) -> Callable[..., PlainNumber]:
    """A function that gives one of its numbers, as it is."""
    return lambda *values: _checked(n := choose(*map(_number, values)), (n,))


def _minus(a: Any, *b: Any) -> PlainNumber:
    result: PlainNumber = a - b[0] if b else -a
    return result


def _divide(a: PlainNumber, b: PlainNumber) -> PlainNumber:
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return divided(a, b)
    return float(a) / float(b)


def _modulo(a: Any, b: Any) -> PlainNumber:
    """The remainder with the sign of the divisor, which Python's has for integers and floats."""
    rest = a % b
    result: PlainNumber = rest + b if isinstance(b, Decimal) and rest and (rest < 0) != (b < 0) else rest
    return result


def _whole(to_whole: Callable[[Any], int]) -> Callable[[PlainNumber], PlainNumber]:
    def function(a: PlainNumber) -> PlainNumber:
        return a if isinstance(a, int) or not math.isfinite(a) else type(a)(to_whole(a))

    return function


def _half_away_from_zero(a: Any) -> int:
    whole: int = math.trunc(a)
    return whole if abs(a - whole) < 0.5 else whole + (1 if a > 0 else -1)


def _power(a: PlainNumber, b: PlainNumber) -> PlainNumber:
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if abs(a) > 1 and (a.bit_length() - 1) * b > 63:
            raise OverflowError("the result does not fit 64 bits")
        return int(a**b)
    if isinstance(a, Decimal) and isinstance(b, Decimal) and b >= 0 and b == int(b):
        return _decimal_power(a, int(b))
    return math.pow(a, b)


def _decimal_power(a: Decimal, b: int) -> Decimal:
    if a not in (-1, 0, 1) and b * len(a.as_tuple().digits) > EXACT.prec:
        raise OverflowError(TOO_LONG)
    return Decimal(a**b)


_RANKS = {int: 0, Decimal: 1, float: 2}


def _rank(n: PlainNumber) -> tuple[bool, PlainNumber, int]:
    """The order of numbers: by value, NaN above all, an integer before the decimal and the float that equal it."""
    return (_nan(n), 0 if _nan(n) else n, _RANKS[type(n)])


def _least(*numbers: PlainNumber) -> PlainNumber:
    return min(numbers, key=_rank)


def _greatest(*numbers: PlainNumber) -> PlainNumber:
    top = max(_rank(n)[:2] for n in numbers)
    return min((n for n in numbers if _rank(n)[:2] == top), key=_rank)


def _of_integers(compute: Callable[..., int]) -> Callable[..., int]:
    """A function of integers of 64 bits, with a result of 64 bits."""

    def function(*values: Value) -> int:
        operands = [_integer(value) for value in values]
        for n in (*operands, result := compute(*operands)):
            if not -(2**63) <= n < 2**63:
                raise ExpressionFails("the number does not fit 64 bits")
        return result

    return function


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(compute: Callable[[int, int], int]) -> Callable[..., int]:
    def function(a: int, n: int) -> int:
        if not 0 <= n < 64:
            raise ExpressionFails(f"{n} bits are no shift")
        return compute(a, n)

    return _of_integers(function)


def _shift_unsigned(a: int, n: int) -> int:
    return (a % 2**64) >> n if n else a


# Tuples


def _make_tuple(*values: Value) -> tuple[Value, ...]:
    kind(values)  # ValueError if it is too deep
    return values


def _elements(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise ExpressionFails(f"{value!r} is no tuple")
    return value


def _item(value: Value, number: Value) -> Value:
    elements, i = _elements(value), _integer(number)
    if not 1 <= i <= len(elements):
        raise ExpressionFails(f"a tuple of {len(elements)} has no element {i}")
    return elements[i - 1]


# Strings


def text(value: Value) -> str:
    """The text of a value."""
    return lexical(value)


def _string(value: Value) -> str:
    if isinstance(value, Literal):
        return value.text
    if kind(value) is not Kind.STRING:
        raise ExpressionFails(f"{value!r} is no string")
    return str(value)


def _integer(value: Value) -> int:
    n = _number(value)
    if not isinstance(n, int):
        raise ExpressionFails(f"{value!r} is no integer")
    return n


def _concat(*values: Value) -> str:
    return concatenated([text(value) for value in values])


def _substr(value: Value, start: Value, *length: Value) -> str:
    string, begin = _string(value), _integer(start)
    end = begin + _integer(length[0]) if length else len(string) + 1
    return string[max(begin, 1) - 1 : max(end, 1) - 1]


def _replace(value: Value, old: Value, new: Value, *flags: Value) -> Value:
    if flags:
        return sparql_operators.FUNCTIONS["replace"](value, old, new, *flags)
    string, pattern, replacement = _string(value), _string(old), _string(new)
    if not pattern:
        return string
    check_length(len(string) + string.count(pattern) * len(replacement))
    return string.replace(pattern, replacement)


def _of_strings(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*map(_string, values))


# Kinds of terms


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


# Dates and times


def _moment(value: Value) -> Moment:
    at = sparql_operators.moment_of(value)
    if at is None:
        raise ExpressionFails(f"{value!r} is no date or time")
    return at


def _date_add(value: Value, days: Value) -> Value:
    at = _moment(value)
    if abs(n := _integer(days)) > MOST_DAYS:
        raise ExpressionFails(f"{n} days are too many")
    return literal(str(replace(at, day=at.day + n)), XSD + ("date" if at.is_date else "dateTime"))


def _time_diff(end: Value, start: Value) -> Decimal:
    to, since = _moment(end), _moment(start)
    if (to.zone is None) != (since.zone is None):
        raise ExpressionFails("one has a time zone, the other none")
    seconds = to.timeline - since.timeline
    with localcontext(EXACT):
        return checked_decimal(Decimal(seconds.numerator) / Decimal(seconds.denominator))


def skolem(*values: Value) -> BlankNode:
    """The blank node that stands for these values, and for no others."""
    return skolem_of(b"".join(map(skolem_part, values)))


def skolem_part(value: Value) -> bytes:
    """What a value adds to the name of a skolem: its sort, its language and its text, each with its length."""
    language = value.language if isinstance(value, Literal) else None
    sort = datatype(value) or kind(value).name
    fields = [field.encode("utf-8", "surrogatepass") for field in (sort, language or "", text(value))]
    return b"".join(b"%d:%b," % (len(field), field) for field in fields)


def skolem_of(parts: bytes) -> BlankNode:
    return BlankNode("sk" + hashlib.blake2b(parts, digest_size=16).hexdigest())


SkolemForm = tuple[Constant | int, ...]  # a SKOLEM whose variables are numbers: equal for equal SKOLEM expressions


def is_plain_skolem(expression: Expression) -> TypeGuard[Call]:
    """Whether an expression is a SKOLEM of variables (at least one) and constants."""
    return (
        isinstance(expression, Call)
        and expression.function == "skolem"
        and all(isinstance(argument, Variable | Constant) for argument in expression.arguments)
        and any(isinstance(argument, Variable) for argument in expression.arguments)
    )


def skolem_form(call: Call) -> SkolemForm:
    numbers = {v: i for i, v in enumerate(dict.fromkeys(variables(call)))}
    return tuple(a if isinstance(a, Constant) else numbers[a] for a in call.arguments)  # type: ignore[index]


_LAZY: dict[str, Callable[[Sequence[Expression], Mapping[Variable, Value]], Value]] = {
    "&&": _decided_by(False),
    "||": _decided_by(True),
    "if": _if,
    "coalesce": _coalesce,
}

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "!": lambda value: not truth(value),
    "=": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "sameterm": lambda left, right: key(left) == key(right),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "+": _arithmetic(operator.add),
    "-": _arithmetic(_minus),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(_divide),
    "%": _arithmetic(_modulo),
    "abs": _arithmetic(abs),
    "ceil": _arithmetic(_whole(math.ceil)),
    "floor": _arithmetic(_whole(math.floor)),
    "round": _arithmetic(_whole(_half_away_from_zero)),
    "min": _chosen(_least),
    "max": _chosen(_greatest),
    "pow": _arithmetic(_power),
    "sqrt": _arithmetic(math.sqrt),
    "div": _of_integers(_quotient),
    "rem": _of_integers(lambda a, b: a - _quotient(a, b) * b),
    "band": _of_integers(lambda *numbers: reduce(operator.and_, numbers)),
    "bor": _of_integers(lambda *numbers: reduce(operator.or_, numbers)),
    "bxor": _of_integers(lambda *numbers: reduce(operator.xor, numbers)),
    "bnot": _of_integers(operator.invert),
    "bshl": _shift(operator.lshift),
    "bshr": _shift(operator.rshift),
    "bshru": _shift(_shift_unsigned),
    "tuple": _make_tuple,
    "item": _item,
    "arity": lambda value: len(_elements(value)),
    "str": text,
    "concat": _concat,
    "strlen": _of_strings(len),
    "substr": _substr,
    "ucase": _of_strings(str.upper),
    "lcase": _of_strings(str.lower),
    "contains": _of_strings(str.__contains__),
    "strstarts": _of_strings(str.startswith),
    "strends": _of_strings(str.endswith),
    "replace": _replace,
    "skolem": skolem,
    "date_add": _date_add,
    "date_diff": lambda end, start: _moment(end).day - _moment(start).day,
    "time_diff": _time_diff,
    "isiri": lambda value: isinstance(value, IRI),
    "isblank": lambda value: isinstance(value, BlankNode),
    "isliteral": lambda value: not isinstance(value, IRI | BlankNode),
    "datatype": _datatype,
    "hasdatatype": _has_datatype,
    **{name: sparql_operators.FUNCTIONS[name] for name in FROM_SPARQL},
    **nemo_functions.FUNCTIONS,
    **{sparql_operators.PREFIX + name: function for name, function in sparql_operators.FUNCTIONS.items()},
    **{souffle_functors.PREFIX + name: function for name, function in souffle_functors.FUNCTIONS.items()},
}


# Aggregates


def order(value: Value) -> tuple[tuple[int, Any], tuple[Any, ...]]:
    """The order of MIN and MAX: all kinds as `Kind` has them, numbers together and by value.

    The second part decides between different values at the same place (1 and 1.0); its least wins, also in MAX.
    """
    this = kind(value)
    n = number(value)
    if n is not None:
        sort = "" if isinstance(value, int | float) else datatype(value)
        return ((Kind.INTEGER, _rank(n)[:2]), (this, sort, text(value)))
    if isinstance(value, datetime):
        zoned = value.utcoffset() is not None
        return ((this, (zoned, value)), (value.isoformat(),))
    if isinstance(value, Literal):
        return ((this, value.text), (value.datatype, value.language or ""))
    if isinstance(value, tuple):
        places, ties = zip(*map(order, value), strict=True) if value else ((), ())
        return ((this, places), ties)
    if isinstance(value, bool | date):
        return ((this, value), ())
    return ((this, text(value)), ())


SortKey = Callable[[Value], tuple[tuple[int, Any], tuple[Any, ...]]]


def sparql_order(value: Value) -> tuple[tuple[int, Any], tuple[Any, ...]]:
    """The order of MIN, MAX and ORDER BY in SPARQL: all dates together, and all times, as `<` has them."""
    at = sparql_operators.moment_of(value)
    if at is None:
        return order(value)
    return ((Kind.DATE if at.is_date else Kind.DATETIME, at.timeline), (at.zone is not None, lexical(value)))


def sort_key(value: Value) -> tuple[bool, Any]:
    """The place of a value in ORDER BY: what has no value comes first, then blank nodes, IRIs and literals."""
    return (False, ()) if sparql_operators.is_unbound(value) else (True, sparql_order(value))


def _precedes(falling: Value, *values: Value) -> bool:
    """Whether a row comes before another in ORDER BY. The values are those of the one, then those of the other: first
    the sort keys, for each of which `falling` has a sign, then what else makes the rows different."""
    half, signs = len(values) // 2, str(falling)
    for place, (left, right) in enumerate(zip(values[:half], values[half:], strict=True)):
        ours, theirs = sort_key(left), sort_key(right)
        if ours != theirs:
            return (ours > theirs) if signs[place : place + 1] == "-" else (ours < theirs)
    return False


_FUNCTIONS[sparql_operators.PREFIX + "precedes"] = _precedes


def _minimum(values: Sequence[Value], by: SortKey = order) -> Value:
    return min(values, key=by)


def _maximum(values: Sequence[Value], by: SortKey = order) -> Value:
    top = max(by(value)[0] for value in values)
    return min((value for value in values if by(value)[0] == top), key=by)


def _float_sum(numbers: Sequence[PlainNumber]) -> float:
    """The float nearest to the exact sum: the same in any order."""
    floats = [float(n) for n in checked(numbers)]
    special = [n for n in checked(floats) if not math.isfinite(n)]
    if special:
        return sum(special)
    try:
        return math.fsum(checked(floats))
    except OverflowError:  # a partial sum is too large; the whole may not be
        return float(sum(map(Fraction, checked(floats))))


def _total(numbers: Sequence[Any]) -> PlainNumber:
    """The sum, exact where no number is a float."""
    if any(isinstance(n, float) for n in checked(numbers)):
        return _float_sum(numbers)
    with localcontext(EXACT):
        total: PlainNumber = sum(checked(numbers))
    return total


def _sum(values: Sequence[Value]) -> PlainNumber:
    numbers = [_number(value) for value in values]
    return _checked(_total(numbers), numbers)


def _average(values: Sequence[Value]) -> PlainNumber:
    numbers = [_number(value) for value in values]
    total = _total(numbers)
    if isinstance(total, Decimal):
        return _checked(divided(total, Decimal(len(numbers))), numbers)
    return _checked(_float_sum(numbers) / len(numbers), numbers)


def _median(values: Sequence[Value]) -> PlainNumber:
    numbers = checked_sort((_number(value) for value in values), _rank)
    below, above = numbers[(len(numbers) - 1) // 2], numbers[len(numbers) // 2]
    if len(numbers) % 2:
        return below + 0.0 if isinstance(below, float) else below
    if {type(below), type(above)} in ({Decimal}, {Decimal, int}):
        with localcontext(EXACT):
            return _checked((Decimal(below) + Decimal(above)) / 2, (below, above))
    return _checked((float(below) + float(above)) / 2, (below, above))


def _listed(values: Sequence[Value]) -> Value:
    """The texts of values, in order, so that the result is the same in every engine."""
    sparql_operators.check_texts(values)
    return sparql_operators.listed(checked_sort(values, sparql_order))


def _any(values: Sequence[Value]) -> Value:
    bound = [value for value in values if not sparql_operators.is_unbound(value)]
    return _minimum(CheckedRows(bound), sparql_order) if bound else sparql_operators.UNBOUND


_AGGREGATES: dict[str, Callable[[Sequence[Value]], Value]] = {
    "count": len,
    "sum": _sum,
    "min": _minimum,
    "max": _maximum,
    "avg": _average,
    "med": _median,
    **{sparql_operators.PREFIX + name: function for name, function in sparql_operators.AGGREGATES.items()},
    sparql_operators.PREFIX + "min": sparql_operators.or_unbound(partial(_minimum, by=sparql_order)),
    sparql_operators.PREFIX + "max": sparql_operators.or_unbound(partial(_maximum, by=sparql_order)),
    sparql_operators.PREFIX + "sample": _any,
    sparql_operators.PREFIX + "group_concat": sparql_operators.or_unbound(_listed),
}
_OF_SOMETHING = ("min", "max", "avg", "med")  # that have no value for nothing


def aggregate(function: str, values: Sequence[Value], distinct: bool = False) -> Value:
    """An aggregate function over the values of one group, or ExpressionFails."""
    values = CheckedRows(values)
    if distinct:
        values = CheckedRows(list({key(value): value for value in values}.values()))
    if not values and function in _OF_SOMETHING:
        raise ExpressionFails(f"{function} of nothing")
    try:
        return _AGGREGATES[function](values)
    except (ArithmeticError, ValueError) as error:
        raise ExpressionFails(_reason(error)) from None
