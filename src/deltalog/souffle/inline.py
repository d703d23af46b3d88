"""Relations that are `inline`: their rules are put where they are used.

Such rules need not give values to all variables of their heads, as in `less(x, y) :- x < y.` An atom becomes the
disjunction of the bodies, each with the head's arguments equal to the atom's. Under a negation that is right only if
bodies have no variables of their own, and in an aggregate only if there is one body, too; else the relation stays one,
and its rules are used as rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltalog.model.errors import Diagnostic
from deltalog.souffle import tree
from deltalog.souffle.normalise import Normaliser, replaced

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
    used = {atom.name for statement in changed for atom in tree.walk(statement) if isinstance(atom, tree.AtomNode)}
    used |= {statement.relation for statement in changed if isinstance(statement, tree.DirectiveNode)}
    kept = [inliner.statement(rule) for name in sorted(used & names) for rule in rules[name]]
    return [*changed, *kept]


def _inline_rules(
    statements: Sequence[tree.Statement], relations: Mapping[str, tree.RelationDeclaration]
) -> dict[str, list[tree.Clause]]:
    """The rules of inline relations. One without rules is an ordinary relation without facts."""
    rules: dict[str, list[tree.Clause]] = {}
    for statement in statements:
        if isinstance(statement, tree.Clause):
            for head in statement.heads:
                if "inline" in relations[head.name].qualifiers:
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
        if not isinstance(statement, tree.Clause):
            return statement
        heads = tuple(self._with_aggregates(head) for head in statement.heads)
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
        changed: tree.BodyNode = self._with_aggregates(body)
        return changed

    def _with_aggregates(self, node: Any) -> Any:
        """A node with relations replaced in the bodies of its aggregates."""

        def change(each: Any) -> Any:
            return replace(each, body=self._inside(each.body)) if isinstance(each, tree.AggregateNode) else None

        return replaced(node, change)

    def _inside(self, body: Any) -> Any:
        match body:
            case tree.AndNode(parts=parts) | tree.OrNode(parts=parts):
                return replace(body, parts=tuple(map(self._inside, parts)))
            case tree.NotNode(operand=operand):
                return replace(body, operand=self._inside(operand))
            case tree.AtomNode(name=name) if name in self.rules:
                rules = self.rules[name]
                unnamed = any(isinstance(node, tree.Unnamed) for node in tree.walk(body))
                is_said = len(rules) == 1 and _is_closed(rules[0]) and not unnamed
                return self._instance(rules[0], body, True, 0) if is_said else body
        return self._with_aggregates(body)

    def _atom(self, atom: tree.AtomNode, positive: bool, depth: int) -> tree.BodyNode:
        if depth > MAX_DEPTH:
            message = f"the inline relation {atom.name} is defined by itself"
            self.diagnostics.append(Diagnostic(message, atom.span, "Remove `inline` from its declaration."))
            return atom
        rules = self.rules[atom.name]
        if not positive and not all(_is_closed(rule) for rule in rules):
            return atom
        if not positive and any(isinstance(node, tree.Unnamed) for node in tree.walk(atom)):
            return atom
        bodies = tuple(self._instance(rule, atom, positive, depth) for rule in rules)
        return tree.OrNode(atom.span, bodies)

    def _named(self, node: Any) -> tree.VariableNode | None:
        return self.normaliser.fresh(node) if isinstance(node, tree.Unnamed) else None

    def _instance(self, rule: tree.Clause, atom: tree.AtomNode, positive: bool, depth: int) -> tree.BodyNode:
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
            parts.append(self.body(replaced(rule.body, change), positive, depth + 1))
        return tree.AndNode(atom.span, tuple(parts)) if parts else tree.Truth(atom.span, True)


def _is_closed(rule: tree.Clause) -> bool:
    """Whether a rule has no variables but those of its head."""
    names = set(tree.variables(rule.heads[0]))
    unnamed = any(isinstance(node, tree.Unnamed) for node in tree.walk(rule.heads[0]))
    return not unnamed and (rule.body is None or names.issuperset(tree.variables(rule.body)))
