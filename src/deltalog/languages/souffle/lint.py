"""Lint warnings of Soufflé programs, from their clauses as they were written.

The rules that such a program becomes have other literals, other variables and constants that were computed, and there
may be many of one clause; they tell nothing of what its author meant. So each clause is looked at where it stands,
also in a component, once, whatever instances that has. As in Soufflé, a variable that occurs once may be in a record, a
branch or an aggregate. It occurs as often as the clause names it: once in each of two alternatives is twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from deltalog.core.errors import Diagnostic
from deltalog.languages.souffle import tree
from deltalog.program.lint_predicates import nothing_new, repeated
from deltalog.program.lint_variables import differ_in_case, occurs_once

SouffleRule = tree.Clause | tree.Subsumption


def lint_souffle(statements: Sequence[tree.Statement]) -> tuple[Diagnostic, ...]:
    """All lint warnings, in the order of the statements."""
    return tuple(dict.fromkeys(_found(statements)))


def _found(statements: Sequence[tree.Statement]) -> Iterator[Diagnostic]:
    seen: dict[SouffleRule, SouffleRule] = {}
    for statement in statements:
        if isinstance(statement, tree.Component):
            yield from _found(statement.statements)
        elif isinstance(statement, SouffleRule):
            first = seen.setdefault(statement, statement)
            if first.span != statement.span and not _has_own_values(statement):
                yield repeated(statement.span, first.span, _is_fact(statement))
            elif _is_in_its_body(statement):
                yield nothing_new(statement.span)
            yield from _doubtful_variables(statement)


def _is_fact(statement: SouffleRule) -> bool:
    return isinstance(statement, tree.Clause) and statement.body is None


def _is_in_its_body(statement: SouffleRule) -> bool:
    """Whether all heads of a clause are conditions of it, and are the same facts there."""
    if not isinstance(statement, tree.Clause) or statement.body is None:
        return False
    conditions = statement.body.parts if isinstance(statement.body, tree.AndNode) else (statement.body,)
    return all(head in conditions and not _has_own_values(head) for head in statement.heads)


def _has_own_values(node: Any) -> bool:
    """Whether what is written alike may have other values in another place: counters, and each value of a range."""
    return any(
        isinstance(each, tree.Counter | tree.Iteration) or (isinstance(each, tree.Functor) and each.name == "range")
        for each in tree.walk(node)
    )


def _doubtful_variables(statement: SouffleRule) -> Iterator[Diagnostic]:
    """Variables that occur once, and variables that differ only in case."""
    nodes = [node for node in tree.walk(statement) if isinstance(node, tree.VariableNode)]
    times = Counter(node.name for node in nodes)
    for node in nodes:
        if times[node.name] > 1 or node.name.startswith("_"):
            continue
        alike = [name for name in times if name.casefold() == node.name.casefold()]
        if len(alike) == 1:
            yield occurs_once(node.name, node.span, _instead(node, statement))
        elif node.name != alike[0]:
            yield differ_in_case(alike[0], node.name, node.span)
        elif times[alike[1]] > 1:
            yield differ_in_case(alike[1], node.name, node.span)


def _instead(variable: tree.VariableNode, statement: SouffleRule) -> str:
    """How to write a variable that is meant to occur once. `_` is no variable of an aggregate: it may count less."""
    named = f"_{variable.name.lstrip('?')}"
    aggregates = (node for node in tree.walk(statement) if isinstance(node, tree.AggregateNode))
    inside = any(node is variable for aggregate in aggregates for node in tree.walk(aggregate))
    return named if inside else f"_ or {named}"
