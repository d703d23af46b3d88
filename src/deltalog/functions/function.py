"""The record of a function: everything that deltalog knows about it.

The records are in lists by topic (`conditions`, `numbers`, `casts`, `strings`, `terms`, `dates`), and
`deltalog.functions.registry` finds them. Parsers, lint, engines and the readers and writers of other languages have no
tables of functions: they ask the registry.

    function("strlen", "text -> integer", _of_strings(len))
    .named(rif="func:string-length", swrl="stringLength", elsewhere="length")
    .written_as(nemo="STRLEN", rdfox="STRLEN", souffle="strlen")

The signature has the sort of each argument and, unless it may be anything, of the result. `text, integer?` is one
argument or two, `number...` at least one, `anything*` any number; 2 stands for `anything, anything`.

`Call.function` is the name of the record. A function that another language defines differently is a record with the
prefix of that language: `sparql:strlen`, `nemo_strlen` and `souffle:strlen` have other meanings than `strlen`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

ANY_NUMBER = 10**6  # of arguments
# Languages. ELSEWHERE has the names in languages that are not read, for "Did you mean ...?".
RULES, SPARQL, NEMO, SOUFFLE, RIF, SWRL, RDFOX = "rules", "sparql", "nemo", "souffle", "rif", "swrl", "rdfox"
ELSEWHERE = "elsewhere"
SPARQL_PREFIX, NEMO_PREFIX, SOUFFLE_PREFIX = "sparql:", "nemo_", "souffle:"
NamesByLanguage = Mapping[str, tuple[str, ...]]  # by language


class ExpressionFails(Exception):
    """An expression has no value for a row. Never reaches a user."""


class Sort(Enum):
    """What an argument or a result is. The values are the words of signatures."""

    ANYTHING = "anything"
    NUMBER = "number"
    INTEGER = "integer"
    TEXT = "text"
    TRUTH = "truth"
    LITERAL = "literal"  # such as a date. As an argument: all IRIs and blank nodes are treated alike
    TERM = "term"  # which is no number
    SAME = "same"  # a number: an integer if all arguments are integers, a float if they are floats
    CHOSEN = "chosen"  # one of the arguments

    @property
    def is_number(self) -> bool:
        return self in (Sort.NUMBER, Sort.INTEGER, Sort.SAME)

    @property
    def is_literal(self) -> bool:
        return self.is_number or self in (Sort.TEXT, Sort.TRUTH, Sort.LITERAL)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of `least` to `most` arguments; the last sort in `takes` is that of all further ones.

    `call` computes it for values. It fails by raising ExpressionFails, ArithmeticError or ValueError. The arguments of
    a lazy function are functions without arguments, which evaluate them. `instead` says what rules do instead of a
    function with another value each time. An `ordinary` word is often a predicate's name, too. `core` is the closest
    function of rules, for translation.

    `names` are what programs in a language call the function. `forms` are how it is written in a language that does not
    read it as this record: a name, or templates by the number of arguments, such as `({0} + {1})`.

    The fast forms are optional, and compute the same as `call` or give up. `column`, over numpy arrays: a scheme of
    `deltalog.engines.local.column_expressions`, and what it applies. `kernel`, for small rounds: operations of
    `deltalog.kernels.arithmetic` in postfix order, where `x` and `y` are the arguments. `sql`, for Spark: a function of
    `pyspark.sql.functions` and of one column for each argument.
    """

    name: str
    least: int
    most: int
    takes: tuple[Sort, ...]
    gives: Sort
    call: Callable[..., Any]
    lazy: bool = False
    instead: str = ""
    ordinary: bool = False
    core: str = ""
    names: NamesByLanguage = field(default_factory=dict)
    forms: NamesByLanguage = field(default_factory=dict)
    column: tuple[Any, ...] = ()
    kernel: str = ""
    sql: Callable[..., Any] | None = None

    def named(self, **names: str | tuple[str, ...]) -> Function:
        return replace(self, names={**self.names, **_several(names)})

    def written_as(self, **forms: str | tuple[str, ...]) -> Function:
        return replace(self, forms={**self.forms, **_several(forms)})

    def fast(self, **forms: Any) -> Function:
        return replace(self, **forms)

    def sort_of(self, position: int) -> Sort:
        """The sort of an argument."""
        return self.takes[min(position, len(self.takes) - 1)]

    def forms_in(self, language: str) -> tuple[str, ...]:
        """How the function is written in a language."""
        return self.forms.get(language) or self.names.get(language, ())[:1]


def _several(names: Mapping[str, str | tuple[str, ...]]) -> NamesByLanguage:
    return {language: (each,) if isinstance(each, str) else each for language, each in names.items()}


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function: of the values of a group, in any order."""

    name: str
    call: Callable[..., Any]
    gives: Sort = Sort.ANYTHING
    names: Mapping[str, str] = field(default_factory=dict)
    of_nothing: bool = True  # whether it has a value for an empty group


def function(name: str, signature: str | int, call: Callable[..., Any], **others: Any) -> Function:
    """A function of rules."""
    if isinstance(signature, int):
        return Function(name, signature, signature, (Sort.ANYTHING,), Sort.ANYTHING, call, **others)
    arguments, _, result = signature.partition(" -> ")
    words = arguments.split(", ")
    least = sum(word[-1] not in "?*" for word in words)
    most = ANY_NUMBER if words[-1][-1] in "*." else len(words)
    takes = tuple(Sort(word.strip("?*.")) for word in words)
    return Function(name, least, most, takes, Sort(result or "anything"), call, **others)


def not_evaluated(*_: Any) -> Any:
    """The meaning of what has a value only where it is translated, or in a stage."""
    raise ExpressionFails("it has no value by itself")


def with_sparql(function: Function) -> tuple[Function, Function]:
    """A function that SPARQL has, too, with the same name and meaning."""
    names = {SPARQL: (function.name.upper(),)} if function.name.isidentifier() else {}
    return function, replace(function, name=SPARQL_PREFIX + function.name, names=names, forms={})


def of_sparql(name: str, signature: str | int, call: Callable[..., Any], **others: Any) -> Function:
    """A function as SPARQL defines it."""
    return function(SPARQL_PREFIX + name, signature, call, **others).named(sparql=name.upper())


def of_nemo(name: str, signature: str | int, call: Callable[..., Any], **others: Any) -> Function:
    """A function as Nemo defines it."""
    return function(NEMO_PREFIX + name, signature, call, **others).named(nemo=name.upper())


def of_souffle(name: str, signature: str | int, call: Callable[..., Any], **others: Any) -> Function:
    """A function as Soufflé defines it."""
    return function(SOUFFLE_PREFIX + name, signature, call, **others)
