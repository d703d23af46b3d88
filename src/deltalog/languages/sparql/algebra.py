"""SPARQL's algebra as frozen values.

Variables and constants are those of rules. A blank node of a pattern is a variable whose name no query can write
(`#_:b`). Patterns are the operators of section 18.2. A group keeps its filters apart from its pattern, because
the filters in the group of an OPTIONAL or an EXISTS see the variables around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from deltalog.core.rules import Constant, Term, Variable
from deltalog.core.terms import IRI

# Property paths


@dataclass(frozen=True, slots=True)
class InversePath:
    path: Path


@dataclass(frozen=True, slots=True)
class SequencePath:
    parts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class AlternativePath:
    parts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RepeatedPath:
    path: Path
    modifier: str  # `*`, `+` or `?`


@dataclass(frozen=True, slots=True)
class NegatedPath:
    """Any predicate but these; and backwards, any but those."""

    forwards: tuple[IRI, ...]
    backwards: tuple[IRI, ...]


Path = IRI | InversePath | SequencePath | AlternativePath | RepeatedPath | NegatedPath

# Expressions


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator, or a function by its name in lower case or its IRI."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    group: GroupPattern
    negated: bool


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate; COUNT(*) has no argument."""

    function: str
    argument: Expr | None
    distinct: bool = False
    separator: str = " "  # of GROUP_CONCAT


Expr = Variable | Constant | Operation | Exists | Aggregation

# Graph patterns

TripleTerms = tuple[Term, Term, Term]


@dataclass(frozen=True, slots=True)
class BGP:
    triples: tuple[tuple[Term, Term | Path, Term], ...] = ()


@dataclass(frozen=True, slots=True)
class JoinPattern:
    left: GraphPattern
    right: GraphPattern


@dataclass(frozen=True, slots=True)
class LeftJoinPattern:
    left: GraphPattern
    right: GroupPattern


@dataclass(frozen=True, slots=True)
class UnionPattern:
    sides: tuple[GraphPattern, ...]


@dataclass(frozen=True, slots=True)
class MinusPattern:
    left: GraphPattern
    right: GraphPattern


@dataclass(frozen=True, slots=True)
class NamedGraphPattern:
    """GRAPH: a group in a named graph, or in each of them."""

    graph: Term
    group: GroupPattern


@dataclass(frozen=True, slots=True)
class GroupPattern:
    """A pattern and the filters over it."""

    pattern: GraphPattern
    filters: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class BindPattern:
    pattern: GraphPattern
    variable: Variable
    expression: Expr


@dataclass(frozen=True, slots=True)
class ValuesPattern:
    """Rows; None for UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Constant | None, ...], ...]


@dataclass(frozen=True, slots=True)
class ServicePattern:
    """A group for another endpoint; refused when it is translated."""

    endpoint: Term
    group: GroupPattern


@dataclass(frozen=True, slots=True)
class Grouping:
    """GROUP BY: one row for each group, with its keys and the results of aggregates."""

    pattern: GraphPattern
    keys: tuple[tuple[Expr, Variable], ...]
    calls: tuple[tuple[Aggregation, Variable], ...]


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT, in a query or as one. `*` is no projection at all."""

    pattern: GraphPattern
    projection: tuple[Variable, ...] | None
    order: tuple[tuple[Expr, bool], ...] = ()  # the sort keys, and whether each is descending
    distinct: bool = False
    offset: int = 0
    limit: int | None = None


GraphPattern = (
    BGP
    | JoinPattern
    | LeftJoinPattern
    | UnionPattern
    | MinusPattern
    | NamedGraphPattern
    | GroupPattern
    | BindPattern
    | ValuesPattern
    | ServicePattern
    | Grouping
    | Select
)


def join(left: GraphPattern, right: GraphPattern) -> GraphPattern:
    """Two patterns joined; the empty one adds nothing, and triples join triples."""
    if left == BGP():
        return right
    return left if right == BGP() else JoinPattern(left, right)


def in_scope(pattern: GraphPattern) -> frozenset[Variable]:
    """The variables that have a value in a solution of a pattern, or can have one (section 18.2.1)."""
    match pattern:
        case BGP(triples):
            return frozenset(t for terms in triples for t in terms if isinstance(t, Variable) and not hidden(t))
        case JoinPattern(left, right):
            return in_scope(left) | in_scope(right)
        case UnionPattern(sides):
            return frozenset[Variable]().union(*map(in_scope, sides))
        case LeftJoinPattern(left, group):
            return in_scope(left) | in_scope(group)
        case MinusPattern(left, _):
            return in_scope(left)
        case NamedGraphPattern(graph, group):
            return in_scope(group) | ({graph} if isinstance(graph, Variable) else frozenset())
        case GroupPattern(inner) | ServicePattern(group=inner):
            return in_scope(inner)
        case BindPattern(inner, variable):
            return in_scope(inner) | {variable}
        case ValuesPattern(variables):
            return frozenset(variables)
        case Grouping(_, keys, calls):
            return frozenset(v for _, v in (*keys, *calls) if not hidden(v))
        case Select(inner, projection):
            return in_scope(inner) if projection is None else frozenset(projection)


def hidden(variable: Variable) -> bool:
    """Whether a variable is one that no query can write."""
    return variable.name.startswith("#")


def parts(tree: Any) -> Iterator[Any]:
    """Every part of an expression or a pattern, itself first."""
    yield tree
    if isinstance(tree, tuple):
        for inner in tree:
            yield from parts(inner)
    elif is_dataclass(tree) and not isinstance(tree, Variable | Constant):
        for field in fields(tree):
            yield from parts(getattr(tree, field.name))


def variables_of(trees: Iterable[Any]) -> set[Variable]:
    """The variables that expressions or patterns mention."""
    return {part for tree in trees for part in parts(tree) if isinstance(part, Variable)}


def aggregations(expression: Any) -> Iterator[Aggregation]:
    """The aggregates of an expression, but not those of a query in an EXISTS."""
    if isinstance(expression, Aggregation):
        yield expression
        yield from aggregations(expression.argument)
    elif isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from aggregations(argument)


def replaced(expression: Expr, by: Callable[[Expr], Expr | None]) -> Expr:
    """An expression with some of its parts replaced: those for which `by` has something else."""
    other = by(expression)
    if other is not None:
        return other
    if isinstance(expression, Operation):
        return replace(expression, arguments=tuple(replaced(argument, by) for argument in expression.arguments))
    return expression
