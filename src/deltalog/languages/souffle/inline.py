"""Relations that are `inline`: their rules are put where they are used.

Such rules need not give values to all variables of their heads, as in `less(x, y) :- x < y.` An atom becomes the
disjunction of the bodies, each with the head's arguments equal to the atom's. Under a negation that is right only if
bodies have no variables of their own, and in an aggregate only if they make one conjunction without a `_`, too; else
the relation stays one, and its rules are used as rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltalog.core.errors import Diagnostic
from deltalog.languages.souffle import tree
from deltalog.languages.souffle.normalise import Normaliser, replaced, size

MAX_DEPTH = 50  # of relations in each other


def inlined(
    statements: Sequence[tree.Statement],
    relations: Mapping[str, tree.RelationDeclaration],
    normaliser: Normaliser,
    diagnostics: list[Diagnostic],
) -> list[tree.Statement]:
    """The statements without atoms of inline relations, as far as that is possible, and without their unused rules."""
    rules = _inline_rules(statements, relations)
    names = set(rules)
    if not names:
        return list(statements)
    inliner = _Inliner(rules, normaliser, diagnostics)
    others = [_without(statement, names) for statement in statements]
    changed = [inliner.statement(statement) for statement in others if statement is not None]
    kept: set[str] = set()
    while more := {name for statement in changed for name in _used(statement)} & names - kept:
        changed += [inliner.statement(rule) for name in sorted(more) for rule in rules[name]]
        kept |= more
    return changed


def _used(statement: tree.Statement) -> Iterator[str]:
    yield from (atom.name for atom in tree.walk(statement) if isinstance(atom, tree.AtomNode))
    if isinstance(statement, tree.DirectiveNode):
        yield statement.relation


def _inline_rules(
    statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration]
) -> dict[str, list[tree.Clause]]:
    """The rules of inline relations. One without rules, or with an `.input`, is an ordinary relation."""
    read = {each.relation for each in statements if isinstance(each, tree.DirectiveNode) and each.kind == "input"}
    rules: dict[str, list[tree.Clause]] = {}
    for statement in statements:
        if isinstance(statement, tree.Clause):
            for head in statement.heads:
                if "inline" in relations[head.name].qualifiers and head.name not in read:
                    rules.setdefault(head.name, []).append(replace(statement, heads=(head,)))
    return rules


def _without(statement: Any, names: set[str]) -> Any:
    if not isinstance(statement, tree.Clause):
        return statement
    heads = tuple(head for head in statement.heads if head.name not in names)
    return replace(statement, heads=heads) if heads else None


class _Inliner:
    def __init__(
        self, rules: Mapping[str, list[tree.Clause]], normaliser: Normaliser, diagnostics: list[Diagnostic]
    ) -> None:
        self.rules, self.normaliser, self.diagnostics = rules, normaliser, diagnostics

    def statement(self, statement: Any) -> Any:
        if isinstance(statement, tree.Subsumption):
            return replace(statement, body=self.body(statement.body, True, 0))
        if not isinstance(statement, tree.Clause):
            return statement
        heads = tuple(self._with_aggregates(head, 0) for head in statement.heads)
        body = None if statement.body is None else self.body(statement.body, True, 0)
        return replace(statement, heads=heads, body=body)

    def body(self, body: tree.BodyNode, positive: bool, depth: int) -> tree.BodyNode:
        match body:
            case tree.AndNode(parts=parts) | tree.OrNode(parts=parts):
                return replace(body, parts=tuple(self.body(part, positive, depth) for part in parts))
            case tree.NotNode(operand=operand):
                return replace(body, operand=self.body(operand, not positive, depth))
            case tree.AtomNode(name=name) if name in self.rules:
                return self._atom(body, positive, depth)
        changed: tree.BodyNode = self._with_aggregates(body, depth)
        return changed

    def _with_aggregates(self, node: Any, depth: int) -> Any:
        """A node with relations replaced in the bodies of its aggregates."""

        def change(each: Any) -> Any:
            inside = isinstance(each, tree.AggregateNode)
            return replace(each, body=self._inside(each.body, True, depth)) if inside else None

        return replaced(node, change)

    def _inside(self, body: Any, positive: bool, depth: int) -> Any:
        """The body of an aggregate."""
        match body:
            case tree.AndNode(parts=parts) | tree.OrNode(parts=parts):
                return replace(body, parts=tuple(self._inside(part, positive, depth) for part in parts))
            case tree.NotNode(operand=operand):
                return replace(body, operand=self._inside(operand, not positive, depth))
            case tree.AtomNode(name=name) if name in self.rules:
                return self._atom_inside(body, positive, depth)
        return self._with_aggregates(body, depth)

    def _atom_inside(self, atom: tree.AtomNode, positive: bool, depth: int) -> tree.BodyNode:
        """An atom in an aggregate: the body of its rule, if that is one conjunction without variables of its own."""
        rules = self.rules[atom.name]
        if self._is_too_deep(atom, depth) or len(rules) != 1 or not _is_closed(rules[0]) or _has_unnamed(atom):
            return atom
        if rules[0].body is not None and _has_unnamed(rules[0].body):
            return atom
        body = self._instance(rules[0], atom, lambda each: self._inside(each, positive, depth + 1))
        remains = any(isinstance(node, tree.AtomNode) and node.name in self.rules for node in tree.walk(body))
        return atom if remains or size(body, positive) != 1 else body

    def _atom(self, atom: tree.AtomNode, positive: bool, depth: int) -> tree.BodyNode:
        if self._is_too_deep(atom, depth):
            return atom
        rules = self.rules[atom.name]
        if not positive and (_has_unnamed(atom) or not all(map(_is_closed, rules))):
            return atom
        bodies = tuple(self._instance(rule, atom, lambda each: self.body(each, positive, depth + 1)) for rule in rules)
        return tree.OrNode(atom.span, bodies)

    def _is_too_deep(self, atom: tree.AtomNode, depth: int) -> bool:
        if depth > MAX_DEPTH:
            message = f"the inline relation {atom.name} is defined by itself"
            self.diagnostics.append(Diagnostic(message, atom.span, "Remove `inline` from its declaration."))
        return depth > MAX_DEPTH

    def _named(self, node: Any) -> tree.VariableNode | None:
        return self.normaliser.fresh(node) if isinstance(node, tree.Unnamed) else None

    def _instance(
        self, rule: tree.Clause, atom: tree.AtomNode, inlined_body: Callable[[tree.BodyNode], tree.BodyNode]
    ) -> tree.BodyNode:
        """The body of a rule for the arguments of an atom."""
        values: dict[str, tree.Argument] = {}
        equal: list[tuple[tree.Argument, tree.Argument]] = []
        for formal, actual in zip(rule.heads[0].arguments, atom.arguments, strict=False):
            given = replaced(actual, self._named)
            if isinstance(formal, tree.VariableNode) and formal.name not in values:
                values[formal.name] = given
            else:
                equal.append((formal, given))
        for name in tree.variables(rule):
            if name not in values:
                values[name] = self.normaliser.fresh(atom, name)

        def change(node: Any) -> Any:
            return values[node.name] if isinstance(node, tree.VariableNode) else None

        parts: list[tree.BodyNode] = [
            tree.Comparison(atom.span, "=", replaced(formal, change), actual) for formal, actual in equal
        ]
        if rule.body is not None:
            parts.append(inlined_body(replaced(rule.body, change)))
        return tree.AndNode(atom.span, tuple(parts)) if parts else tree.Truth(atom.span, True)


def _has_unnamed(node: tree.SouffleNode) -> bool:
    return any(isinstance(each, tree.Unnamed) for each in tree.walk(node))


def _is_closed(rule: tree.Clause) -> bool:
    """Whether all variables of a rule are arguments of its head."""
    names = {each.name for each in rule.heads[0].arguments if isinstance(each, tree.VariableNode)}
    return not _has_unnamed(rule.heads[0]) and names.issuperset(tree.variables(rule))
