"""The syntax tree of a Soufflé program: frozen values with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from operator import is_not
from typing import Any

from deltalog.core.rules import Span


@dataclass(frozen=True, slots=True)
class SouffleNode:
    """Something at a place."""

    span: Span = field(compare=False, repr=False)


# Arguments


@dataclass(frozen=True, slots=True)
class VariableNode(SouffleNode):
    name: str


@dataclass(frozen=True, slots=True)
class Unnamed(SouffleNode):
    """`_`"""


@dataclass(frozen=True, slots=True)
class Text(SouffleNode):
    value: str


@dataclass(frozen=True, slots=True)
class NumberNode(SouffleNode):
    """A number as it was written. Without `fixed`, its context says whether it is a number, unsigned or a float."""

    text: str
    fixed: str | None = None


@dataclass(frozen=True, slots=True)
class Functor(SouffleNode):
    """An operator or a function: `+`, `cat`, ..."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class RecordNode(SouffleNode):
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Nil(SouffleNode):
    pass


@dataclass(frozen=True, slots=True)
class Branch(SouffleNode):
    """`$Name(arguments)`, a value of an algebraic data type."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Cast(SouffleNode):
    argument: Argument
    type: str
    of_number: bool = False  # as(2, float), where the number itself is a float


@dataclass(frozen=True, slots=True)
class AggregateNode(SouffleNode):
    function: str  # count, sum, min, max, mean
    argument: Argument | None
    body: BodyNode


@dataclass(frozen=True, slots=True)
class Counter(SouffleNode):
    """`autoinc()`"""


@dataclass(frozen=True, slots=True)
class Iteration(SouffleNode):
    """`recursive_iteration_cnt()`: the number of the round."""


Argument = (
    VariableNode
    | Unnamed
    | Text
    | NumberNode
    | Functor
    | RecordNode
    | Nil
    | Branch
    | Cast
    | AggregateNode
    | Counter
    | Iteration
)

# Bodies


@dataclass(frozen=True, slots=True)
class AtomNode(SouffleNode):
    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Comparison(SouffleNode):
    operator: str  # = != < <= > >= match contains, and not-match not-contains
    left: Argument
    right: Argument


@dataclass(frozen=True, slots=True)
class Truth(SouffleNode):
    value: bool


@dataclass(frozen=True, slots=True)
class NotNode(SouffleNode):
    operand: BodyNode


@dataclass(frozen=True, slots=True)
class AndNode(SouffleNode):
    parts: tuple[BodyNode, ...]


@dataclass(frozen=True, slots=True)
class OrNode(SouffleNode):
    parts: tuple[BodyNode, ...]


BodyNode = AtomNode | Comparison | Truth | NotNode | AndNode | OrNode

# Statements


@dataclass(frozen=True, slots=True)
class Attribute(SouffleNode):
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RelationDeclaration(SouffleNode):
    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    choice: tuple[tuple[str, ...], ...] = ()  # the keys of choice-domain
    delta_of: str | None = None  # the relation whose deltas it has


@dataclass(frozen=True, slots=True)
class BranchDeclaration(SouffleNode):
    name: str
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class TypeDeclaration(SouffleNode):
    """A subtype (`<:`), a union of types or another name of one, a record, or an algebraic data type."""

    name: str
    kind: str  # subtype, union, record, adt
    types: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    branches: tuple[BranchDeclaration, ...] = ()


@dataclass(frozen=True, slots=True)
class DirectiveNode(SouffleNode):
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation."""

    kind: str
    relation: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Clause(SouffleNode):
    """A rule, or a fact if it has no body."""

    heads: tuple[AtomNode, ...]
    body: BodyNode | None = None


@dataclass(frozen=True, slots=True)
class Subsumption(SouffleNode):
    """`less <= greater :- body`: a fact that matches `less` goes if there is one that matches `greater`."""

    less: AtomNode
    greater: AtomNode
    body: BodyNode


@dataclass(frozen=True, slots=True)
class ComponentType(SouffleNode):
    name: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Component(SouffleNode):
    type: ComponentType
    bases: tuple[ComponentType, ...]
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Override(SouffleNode):
    name: str


@dataclass(frozen=True, slots=True)
class Init(SouffleNode):
    name: str
    type: ComponentType


@dataclass(frozen=True, slots=True)
class Ignored(SouffleNode):
    """A statement that does not change what follows: .plan."""

    what: str


@dataclass(frozen=True, slots=True)
class Pragma(SouffleNode):
    key: str
    value: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """The value as a list of relations."""
        return tuple(name.strip() for name in (self.value or "").split(",") if name.strip())


Statement = (
    RelationDeclaration
    | TypeDeclaration
    | DirectiveNode
    | Clause
    | Subsumption
    | Component
    | Override
    | Init
    | Ignored
    | Pragma
)


# The types of fields that have no nodes in them.
_PLAIN = ("Span", "str", "str | None", "bool", "tuple[str, ...]", "tuple[tuple[str, ...], ...]", "Mapping[str, str]")


@cache
def parts(kind: type[SouffleNode]) -> tuple[str, ...]:
    """The fields of a kind of node that have nodes in them."""
    return tuple(each.name for each in fields(kind) if each.type not in _PLAIN)


def children(node: Any) -> list[Any]:
    """The nodes directly below a node, in the order of writing."""
    found: list[Any] = []
    for name in parts(node.__class__):
        value = getattr(node, name)
        if isinstance(value, tuple):
            found += value
        elif value is not None:
            found.append(value)
    return found


def walk(node: Any) -> Iterator[Any]:
    """A node and everything below it, in the order of writing."""
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        pending += reversed(children(each))


def walk_outside_aggregates(node: Any) -> Iterator[Any]:
    """A node and everything below it, except what is inside of aggregates."""
    yield node
    for child in children(node):
        if not isinstance(child, AggregateNode):
            yield from walk_outside_aggregates(child)


def variables(node: Any) -> Iterator[str]:
    """The names of the variables of a node, each occurrence."""
    return (each.name for each in walk(node) if isinstance(each, VariableNode))


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with `change` applied to every node below it and then to itself."""
    return change(with_children(node, lambda each: rewrite(each, change)))


def with_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with `change` applied to those directly below it."""
    changed: dict[str, Any] = {}
    for name in parts(node.__class__):
        value = getattr(node, name)
        if isinstance(value, tuple):
            new: Any = tuple(map(change, value))
            if any(map(is_not, new, value)):
                changed[name] = new
        elif value is not None and (new := change(value)) is not value:
            changed[name] = new
    return replace(node, **changed) if changed else node
