"""Components: every `.init` becomes declarations and rules under its own name.

`.init c = C<T>` copies the statements of C, and of the components that it inherits from, with its parameters replaced;
a relation, type or branch R that is declared there is called `c.R`. Other names mean what they mean around the
component. `.override R` drops the rules for R of inherited components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

from deltalog.core.errors import Diagnostic
from deltalog.languages.souffle import tree

KINDS = ("relation", "type", "branch", "instance")
MAX_DEPTH = 50  # of components in each other
_OVERRIDABLE = "Declare it as `overridable`, or remove `.override` from the component that inherits it."


@dataclass(frozen=True)
class ComponentScope:
    """The names that are declared in one place, and the places around it."""

    prefix: str
    names: Mapping[str, frozenset[str]]  # of relations, types, branches and instances
    components: Mapping[str, tuple[tree.Component, ComponentScope | None]]
    outer: ComponentScope | None = None

    def resolved(self, kind: str, name: str) -> str:
        """The full name of a relation, type or branch."""
        first, dot, _ = name.partition(".")
        if first in self.names["instance" if dot else kind]:
            return self.prefix + name
        return self.outer.resolved(kind, name) if self.outer else name

    def component(self, name: str) -> tree.Component | None:
        if name in self.components:
            return self.components[name][0]
        return self.outer.component(name) if self.outer else None

    @property
    def depth(self) -> int:
        return 1 + (self.outer.depth if self.outer else 0)


def flattened(statements: Sequence[tree.Statement], diagnostics: list[Diagnostic]) -> list[tree.Statement]:
    """Statements without components."""
    return list(_placed(statements, "", None, diagnostics))


def _clashes(statements: Sequence[tree.Statement]) -> Iterator[Diagnostic]:
    """Components and instances that are declared twice in one place."""
    seen: set[tuple[str, str]] = set()
    for each in statements:
        if isinstance(each, tree.Component | tree.Init):
            what, name = ("component", each.type.name) if isinstance(each, tree.Component) else ("instance", each.name)
            if (what, name) in seen:
                yield Diagnostic(f"the {what} {name} is declared twice", each.span, "Rename one of them.")
            seen.add((what, name))


def _placed(
    statements: Sequence[tree.Statement], prefix: str, outer: ComponentScope | None, diagnostics: list[Diagnostic]
) -> Iterator[tree.Statement]:
    """The statements of one place under their full names, those of its instances included."""
    diagnostics += _clashes(statements)
    declared = list(_declared(statements))
    names = {kind: frozenset(name for what, name in declared if what == kind) for kind in KINDS}
    components = {s.type.name: (s, None) for s in statements if isinstance(s, tree.Component)}
    scope = ComponentScope(prefix, names, components, outer)
    for statement in statements:
        if isinstance(statement, tree.Init):
            yield from _instance(statement, scope, diagnostics)
        elif isinstance(statement, tree.Override):
            if not prefix:
                diagnostics.append(Diagnostic(".override outside of a component", statement.span, "Remove it."))
        elif not isinstance(statement, tree.Component):
            yield _renamed(statement, scope)


def _declared(statements: Sequence[tree.Statement]) -> Iterator[tuple[str, str]]:
    """The names that statements declare, with what they are."""
    for statement in statements:
        if isinstance(statement, tree.RelationDeclaration):
            yield "relation", statement.name
        elif isinstance(statement, tree.Init):
            yield "instance", statement.name
        elif isinstance(statement, tree.TypeDeclaration):
            yield "type", statement.name
            yield from (("branch", branch.name) for branch in statement.branches)


def _instance(init: tree.Init, scope: ComponentScope, diagnostics: list[Diagnostic]) -> Iterator[tree.Statement]:
    if scope.depth > MAX_DEPTH:
        diagnostics.append(Diagnostic("components contain each other without end", init.span))
        return
    found = list(_members(init.type, scope, diagnostics))
    yield from _placed(found, f"{scope.prefix}{init.name}.", scope, diagnostics)


def _members(
    type_: tree.ComponentType,
    scope: ComponentScope,
    diagnostics: list[Diagnostic],
    overridden: frozenset[str] = frozenset(),
    depth: int = 0,
    checked: bool = True,
) -> Iterator[tree.Statement]:
    """The statements of a component with its parameters replaced, after those that it inherits. checked: whether
    relations must be overridable; those of a base that is a parameter need not, as in Soufflé."""
    if depth > MAX_DEPTH:
        diagnostics.append(Diagnostic("components inherit from each other without end", type_.span))
        return
    component = scope.component(type_.name)
    if component is None:
        diagnostics.append(Diagnostic(f"there is no component {type_.name}", type_.span))
        return
    formal = component.type.parameters
    if len(formal) != len(type_.parameters):
        counted = f"{len(formal)} parameter{'' if len(formal) == 1 else 's'}"
        message = f"the component {type_.name} has {counted}, not {len(type_.parameters)}"
        diagnostics.append(Diagnostic(message, type_.span))
        return
    bound = dict(zip(formal, type_.parameters, strict=True))
    own = [_substituted(statement, bound) for statement in component.statements]
    dropped = overridden | {s.name for s in own if isinstance(s, tree.Override)}
    for base in component.bases:
        yield from _members(_substituted(base, bound), scope, diagnostics, dropped, depth + 1, base.name not in bound)
    for statement in own:
        if checked and _is_fixed(statement) and statement.name in overridden:
            diagnostics.append(Diagnostic(f"{statement.name} is overridden", statement.span, _OVERRIDABLE))
        clause = isinstance(statement, tree.Clause)
        if not (clause and any(head.name in overridden for head in statement.heads)):
            yield statement


def _is_fixed(statement: tree.Statement) -> TypeGuard[tree.RelationDeclaration]:
    return isinstance(statement, tree.RelationDeclaration) and "overridable" not in statement.qualifiers


def _substituted(node: Any, bound: Mapping[str, str]) -> Any:
    """A node with the parameters of a component replaced, in types, components and names of relations."""

    def name(text: str) -> str:
        first, dot, rest = text.partition(".")
        return bound.get(first, first) + dot + rest

    def change(kind: str, text: str) -> str:
        return name(text) if kind != "branch" or "." in text else text

    return _with_names(node, change) if bound else node


def _renamed(statement: tree.Statement, scope: ComponentScope) -> Any:
    return _with_names(statement, lambda kind, name: name if kind == "component" else scope.resolved(kind, name))


def _with_names(node: Any, changed: Callable[[str, str], str]) -> Any:
    """A node with names of relations, types, branches and components changed."""
    relation, type_, branch, component = (
        partial(changed, kind) for kind in ("relation", "type", "branch", "component")
    )

    def change(each: Any) -> Any:
        match each:
            case tree.AtomNode():
                return replace(each, name=relation(each.name))
            case tree.Branch() | tree.BranchDeclaration():
                return replace(each, name=branch(each.name))
            case tree.DirectiveNode():
                return replace(each, relation=relation(each.relation))
            case tree.RelationDeclaration():
                source = None if each.delta_of is None else relation(each.delta_of)
                return replace(each, name=relation(each.name), delta_of=source)
            case tree.Attribute() | tree.Cast():
                return replace(each, type=type_(each.type))
            case tree.TypeDeclaration():
                return replace(each, name=type_(each.name), types=tuple(map(type_, each.types)))
            case tree.ComponentType():
                return replace(each, name=component(each.name), parameters=tuple(map(component, each.parameters)))
            case _:
                return each

    return tree.rewrite(node, change)
