"""Stratification: a program must not have a cycle of dependencies through a negation or an aggregate."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import TRIPLE, Atom, BodyLiteral, Negation, Pred, Rule
from deltalog.core.terms import RDF_TYPE
from deltalog.program.analysis import Analysis
from deltalog.program.body_atoms import negative
from deltalog.program.dependency import DependencyGraph


def check_stratification(analysis: Analysis) -> Analysis:
    """A pass: every cycle through a negation or an aggregate."""
    graph = DependencyGraph.of([*analysis.core, *analysis.bridges])
    return analysis.having(graph=graph, cycles=tuple(not_stratified(graph)))


def not_stratified(graph: DependencyGraph) -> Iterator[Diagnostic]:
    """A diagnostic for each cycle through a negation or an aggregate (one cycle for each of those)."""
    reported: set[frozenset[int]] = set()
    for i, rule in enumerate(graph.rules):
        for atom, literal in negative(rule.body):
            if graph.component[graph.preds[atom.pred]] != graph.component[i]:
                continue
            cycle = _rules_to(graph, i, graph.preds[atom.pred])
            if frozenset(cycle) not in reported:
                reported.add(frozenset(cycle))
                yield _cycle([graph.rules[k] for k in cycle], atom, literal)


def _rules_to(graph: DependencyGraph, start: int, end: int) -> list[int]:
    """The rules on a shortest way from a rule to a predicate, inside of their component."""
    came_from = {start: start}
    queue = deque([start])
    while end not in came_from:
        node = queue.popleft()
        for successor in graph.successors[node]:
            if successor not in came_from and graph.component[successor] == graph.component[start]:
                came_from[successor] = node
                queue.append(successor)
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return [node for node in reversed(path) if node < len(graph.rules)]


def _cycle(rules: Sequence[Rule], atom: Atom, literal: BodyLiteral) -> Diagnostic:
    negated = isinstance(literal, Negation)
    name = shown(atom.pred)
    needs = [f"{'NOT' if negated else 'AGGREGATE over'} {name}"]
    needs += [shown(_link(one, other)) for one, other in pairwise(rules)]
    lines = [f"    {_quoted(rule)}   (needs {need})" for rule, need in zip(rules, needs, strict=True)]
    before = f"All facts of {name} must be known before it is {'negated' if negated else 'aggregated'}"
    advice = f"  {before}; here they never are. Break the circle: let one of the rules derive a new predicate."
    hint = "\n".join(["These rules need each other in a circle:", *lines, advice])
    message = f"{name} depends on itself through {'a negation' if negated else 'an aggregate'}"
    return Diagnostic(message, literal.span, hint)


def _quoted(rule: Rule) -> str:
    """A rule as it was written, if it was on one line."""
    if rule.span is None:
        return f"(added to know every class and property) {rule}"
    text = rule.span.source.text[rule.span.start : rule.span.end]
    return f"{rule.span}: {rule if chr(10) in text else text}"


def _link(one: Rule, other: Rule) -> Pred:
    """A predicate that one rule derives and the other reads."""
    return next(head.pred for head in one.heads if head.pred in other.reads)


def shown(pred: Pred) -> str:
    """A predicate's name in a message."""
    return {TRIPLE: "`[?s, ?p, ?o]`", str(RDF_TYPE): "`rdf:type`"}.get(pred.name, f"`{pred.name}`")
