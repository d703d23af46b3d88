"""The syntax tree of a Soufflé program: frozen values with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from deltalog.syntax.ast import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Something at a place."""

    span: Span = field(compare=False, repr=False)


# Arguments


@dataclass(frozen=True, slots=True)
class Variable(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Unnamed(Node):
    """`_`"""


@dataclass(frozen=True, slots=True)
class Text(Node):
    value: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number as it was written. Without `fixed`, its context says whether it is a number, unsigned or a float."""

    text: str
    fixed: str | None = None


@dataclass(frozen=True, slots=True)
class Functor(Node):
    """An operator or a function: `+`, `cat`, ..."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Record(Node):
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Nil(Node):
    pass


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """`$Name(arguments)`, a value of an algebraic data type."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    argument: Argument
    type: str


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    function: str  # count, sum, min, max, mean
    argument: Argument | None
    body: Body


@dataclass(frozen=True, slots=True)
class Counter(Node):
    """`autoinc()`"""


Argument = Variable | Unnamed | Text | Number | Functor | Record | Nil | Branch | Cast | Aggregate | Counter

# Bodies


@dataclass(frozen=True, slots=True)
class Atom(Node):
    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    operator: str  # = != < <= > >= match contains, and not-match not-contains
    left: Argument
    right: Argument


@dataclass(frozen=True, slots=True)
class Truth(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Body


@dataclass(frozen=True, slots=True)
class And(Node):
    parts: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    parts: tuple[Body, ...]


Body = Atom | Comparison | Truth | Not | And | Or

# Statements


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RelationDeclaration(Node):
    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    choice: tuple[tuple[str, ...], ...] = ()  # the keys of choice-domain


@dataclass(frozen=True, slots=True)
class BranchDeclaration(Node):
    name: str
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class TypeDeclaration(Node):
    """A subtype (`<:`), a union of types or another name of one, a record, or an algebraic data type."""

    name: str
    kind: str  # subtype, union, record, adt
    types: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    branches: tuple[BranchDeclaration, ...] = ()


@dataclass(frozen=True, slots=True)
class Directive(Node):
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation."""

    kind: str
    relation: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """A rule, or a fact if it has no body."""

    heads: tuple[Atom, ...]
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class Subsumption(Node):
    """`less <= greater :- body`: a fact that matches `less` goes if there is one that matches `greater`."""

    less: Atom
    greater: Atom
    body: Body


@dataclass(frozen=True, slots=True)
class ComponentType(Node):
    name: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Component(Node):
    type: ComponentType
    bases: tuple[ComponentType, ...]
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Override(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Init(Node):
    name: str
    type: ComponentType


@dataclass(frozen=True, slots=True)
class Ignored(Node):
    """A statement that does not change what follows: .plan, .pragma."""

    what: str


Statement = (
    RelationDeclaration | TypeDeclaration | Directive | Clause | Subsumption | Component | Override | Init | Ignored
)


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below a node, in the order of writing."""
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Node))


def walk(node: Any) -> Iterator[Any]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def variables(node: Any) -> Iterator[str]:
    """The names of the variables of a node, each occurrence."""
    return (each.name for each in walk(node) if isinstance(each, Variable))


def rewrite(node: Any, change: Any) -> Any:
    """The node with `change` applied to every node below it and then to itself."""
    changed: dict[str, Any] = {}
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            new: Any = rewrite(value, change)
        elif isinstance(value, tuple) and any(isinstance(item, Node) for item in value):
            new = tuple(rewrite(item, change) for item in value)
        else:
            continue
        if new is not value:
            changed[each.name] = new
    from dataclasses import replace

    return change(replace(node, **changed) if changed else node)
