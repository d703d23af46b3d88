"""The record of a function: everything that deltalog knows about it.

The records are in lists by topic (`conditions`, `numbers`, `casts`, `strings`, `terms`, `dates`), and
`deltalog.functions.registry` finds them. Parsers, lint, engines and the readers and writers of other languages have no
tables of functions: they ask the registry.

`name` is what `Call.function` has. A function that another language defines differently is a record with the prefix of
that language: `sparql:strlen`, `nemo_strlen` and `souffle:strlen` have other meanings than `strlen`.

Names and forms are given by language:

    names      what programs in a language call the function: they are read as this record
    written    how the function is written in a language that does not define it, or not as a call: a name, or templates
               by the number of arguments, such as `({0} + {1})`. Without one, the name is used
    core       for a function of another language: the closest function of rules, for translation

The fast forms are optional, and compute the same as `call` or give up:

    column     over numpy arrays: a scheme of `deltalog.engines.local.column_expressions`, and what it applies
    kernel     in the kernel of small rounds: operations of `deltalog.kernels.arithmetic` in postfix order. `x` and `y`
               are the arguments
    sql        in Spark SQL: a function of `pyspark.sql.functions` and of one column for each argument
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

ANY_NUMBER = 10**6  # of arguments
RULES, SPARQL, NEMO, SOUFFLE, RIF, SWRL, RDFOX = "rules", "sparql", "nemo", "souffle", "rif", "swrl", "rdfox"
ELSEWHERE = "elsewhere"  # names in languages that are not read, for "Did you mean ...?"
SPARQL_PREFIX, NEMO_PREFIX, SOUFFLE_PREFIX = "sparql:", "nemo_", "souffle:"
Names = Mapping[str, str | tuple[str, ...]]


class ExpressionFails(Exception):
    """An expression has no value for a row. Never reaches a user."""


class Sort(Enum):
    """What an argument or a result is."""

    ANYTHING = "any value"
    NUMBER = "a number"
    INTEGER = "an integer"
    TEXT = "a string"
    TRUTH = "true or false"
    LITERAL = "a literal, such as a date; as an argument, all IRIs and blank nodes are treated alike"
    TERM = "a value that is no number"
    SAME = "a number; an integer if all arguments are integers, a float if they are floats"
    CHOSEN = "one of the arguments"

    @property
    def is_number(self) -> bool:
        return self in (Sort.NUMBER, Sort.INTEGER, Sort.SAME)

    @property
    def is_literal(self) -> bool:
        return self.is_number or self in (Sort.TEXT, Sort.TRUTH, Sort.LITERAL)


ANYTHING, NUMBER, INTEGER, TEXT, TRUTH, LITERAL, TERM, SAME, CHOSEN = Sort


def _no_meaning(*_: Any) -> Any:
    raise ExpressionFails("not a function of expressions")


@dataclass(frozen=True, slots=True)
class Function:
    """A function. It fails by raising ExpressionFails, ArithmeticError or ValueError.

    `takes` has the sort of each argument; the last one is that of all further arguments. The arguments of a lazy
    function are functions without arguments, which evaluate them. `instead` says what rules do instead of a function
    with another value each time. An `ordinary` word is often a predicate's name, too.
    """

    name: str
    arity: int | tuple[int, int]
    call: Callable[..., Any] = _no_meaning
    takes: Sort | tuple[Sort, ...] = ANYTHING
    gives: Sort = ANYTHING
    names: Names = field(default_factory=dict)
    written: Names = field(default_factory=dict)
    core: str = ""
    lazy: bool = False
    instead: str = ""
    ordinary: bool = False
    column: tuple[Any, ...] = ()
    kernel: str = ""
    sql: Callable[..., Any] | None = None

    @property
    def least(self) -> int:
        return self.arity if isinstance(self.arity, int) else self.arity[0]

    @property
    def most(self) -> int:
        return self.arity if isinstance(self.arity, int) else self.arity[1]

    def sort_of(self, position: int) -> Sort:
        """The sort of an argument."""
        takes = self.takes if isinstance(self.takes, tuple) else (self.takes,)
        return takes[min(position, len(takes) - 1)]

    def names_in(self, language: str) -> tuple[str, ...]:
        return _several(self.names.get(language, ()))

    def forms_in(self, language: str) -> tuple[str, ...]:
        """How the function is written in a language."""
        return _several(self.written.get(language, ())) or self.names_in(language)[:1]


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function: of the values of a group, in any order."""

    name: str
    call: Callable[..., Any]
    gives: Sort = ANYTHING
    names: Mapping[str, str] = field(default_factory=dict)
    of_nothing: bool = True  # whether it has a value for an empty group


def with_sparql(function: Function) -> tuple[Function, Function]:
    """A function that SPARQL has, too, with the same name and meaning."""
    names = {SPARQL: function.name.upper()} if function.name.isidentifier() else {}
    return function, replace(function, name=SPARQL_PREFIX + function.name, names=names, written={})


def of_sparql(name: str, arity: int | tuple[int, int], call: Callable[..., Any], **others: Any) -> Function:
    """A function as SPARQL defines it."""
    return Function(SPARQL_PREFIX + name, arity, call, names={SPARQL: name.upper()}, **others)


def of_nemo(name: str, arity: int | tuple[int, int], call: Callable[..., Any], **others: Any) -> Function:
    """A function as Nemo defines it."""
    return Function(NEMO_PREFIX + name, arity, call, **{"names": {NEMO: name.upper()}, **others})


def of_souffle(name: str, arity: int | tuple[int, int], call: Callable[..., Any], **others: Any) -> Function:
    """A function as Soufflé defines it."""
    return Function(SOUFFLE_PREFIX + name, arity, call, **others)
