"""Statements of Nemo's language, as they are written."""

from __future__ import annotations

from dataclasses import dataclass

from deltalog.core.rules import Constant, Span, Variable


@dataclass(frozen=True, slots=True)
class Existential:
    """`!x`: a new value."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$x`: the value that @parameter gives it."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator or a function, by its upper-case name."""

    function: str
    arguments: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Aggregated:
    """`#sum(term, ?y)`: over the distinct values of the term and the variables."""

    function: str
    argument: Term
    distinct: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(a, b)`, in directives."""

    elements: tuple[Term, ...]
    span: Span


Term = Variable | Constant | Existential | Parameter | Applied | Aggregated | Tuple


@dataclass(frozen=True, slots=True)
class Atom:
    name: str
    terms: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    """`~p(?x)`"""

    atom: Atom
    span: Span


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two terms; or a term that is true or false, with None for the other."""

    operator: str
    left: Term
    right: Term | None
    span: Span


Literal = Atom | Not | Condition


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule, or a fact without a body."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class FileDirective:
    """`@import p :- csv{resource = "p.csv"}, ?x = 3` or `@export ...`."""

    kind: str  # import or export
    predicate: str
    format: str
    attributes: tuple[tuple[str, Term], ...]
    equations: tuple[Literal, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    """`@output p, q`"""

    predicates: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ParameterDirective:
    """`@parameter $x = 5`, or without a value."""

    name: str
    value: Term | None
    span: Span
