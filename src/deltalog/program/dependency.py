"""The rule dependency graph and its hyper-nodes (paper 004, section 4.2).

Rule s depends on rule r when a predicate in a head of r occurs in the body of s: negatively, if it occurs in a negated
atom or inside of an AGGREGATE, else positively. The hyper-nodes are the strongly connected components of this graph.
They form an acyclic graph, so they can be evaluated one after the other; a program is stratified when no hyper-node has
a negative dependency inside.

The graph has an edge for each pair of a deriving and a reading rule, which can be many; so we keep the predicates as
nodes of their own, between the rules that derive them and the rules that read them. Components and paths are the same.

`depth` is the number of hyper-nodes on the longest way to a hyper-node: those of equal depth do not depend on each
other. The order of hyper-nodes is by depth, then by the place of their first rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deltalog.model.errors import Diagnostic
from deltalog.model.terms import RDF_TYPE
from deltalog.syntax.ast import TRIPLE, Aggregate, Atom, Literal, Negation, Pred, Rule


@dataclass(frozen=True)
class HyperNode:
    """Rules that depend on each other (or one rule), evaluated together."""

    rules: tuple[Rule, ...]
    recursive: bool
    depth: int
    heads: frozenset[Pred]
    reads: frozenset[Pred]  # what the bodies mention, negated or not
    negated: frozenset[Pred]  # of these, what occurs negated or in an AGGREGATE


def positive(body: Sequence[Literal]) -> Iterator[Atom]:
    """The atoms of a body that can be read while they grow."""
    return (literal for literal in body if isinstance(literal, Atom))


def negative(body: Sequence[Literal]) -> Iterator[tuple[Atom, Literal]]:
    """The atoms that must be complete before a body is evaluated, and the negation or aggregate that says so."""
    for literal in body:
        if isinstance(literal, Negation):
            yield literal.atom, literal
        elif isinstance(literal, Aggregate):
            yield from ((atom, literal) for atom in positive(literal.body))
            yield from ((atom, literal) for atom, _ in negative(literal.body))


@dataclass(frozen=True)
class Graph:
    """Nodes are numbers: first the rules, in their order, then the predicates."""

    rules: tuple[Rule, ...]
    preds: dict[Pred, int]
    successors: list[list[int]]
    component: list[int]  # of each node; components are numbered against the direction of the edges
    members: list[list[int]]


def graph(rules: Sequence[Rule]) -> Graph:
    preds: dict[Pred, int] = {}
    successors: list[list[int]] = [[] for _ in rules]

    def node(pred: Pred) -> int:
        if pred not in preds:
            preds[pred] = len(successors)
            successors.append([])
        return preds[pred]

    for i, rule in enumerate(rules):
        successors[i] = [node(pred) for pred in dict.fromkeys(head.pred for head in rule.heads)]
        for pred in _read(rule):
            successors[node(pred)].append(i)
    component, members = components(successors)
    return Graph(tuple(rules), preds, successors, component, members)


def _read(rule: Rule) -> set[Pred]:
    return {atom.pred for atom in positive(rule.body)} | {atom.pred for atom, _ in negative(rule.body)}


def components(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Strongly connected components (Tarjan 1972, without recursion): the component of each node, and their members.

    Components are numbered so that an edge leads from a component to itself or to one with a smaller number.
    """
    size = len(successors)
    order, low, component = [-1] * size, [0] * size, [-1] * size
    members: list[list[int]] = []
    stack: list[int] = []
    visited = 0
    for root in range(size):
        work = [(root, 0)] if order[root] < 0 else []
        while work:
            node, position = work.pop()
            if order[node] < 0:
                order[node] = low[node] = visited
                visited += 1
                stack.append(node)
            for k in range(position, len(successors[node])):
                successor = successors[node][k]
                if order[successor] < 0:
                    work += [(node, k), (successor, 0)]
                    break
                if component[successor] < 0:
                    low[node] = min(low[node], low[successor])
            else:
                if low[node] == order[node]:
                    members.append(_popped_until(node, stack))
                    for member in members[-1]:
                        component[member] = len(members) - 1
    return component, members


def _popped_until(node: int, stack: list[int]) -> list[int]:
    popped = [stack.pop()]
    while popped[-1] != node:
        popped.append(stack.pop())
    return sorted(popped)


# Hyper-nodes


def hyper_nodes(graph: Graph) -> tuple[HyperNode, ...]:
    depths = _depths(graph)
    with_rules = [c for c, members in enumerate(graph.members) if members[0] < len(graph.rules)]
    with_rules.sort(key=lambda c: (depths[c], graph.members[c][0]))
    return tuple(_hyper_node(graph, graph.members[c], depths[c]) for c in with_rules)


def _hyper_node(graph: Graph, members: Sequence[int], depth: int) -> HyperNode:
    rules = tuple(graph.rules[node] for node in members if node < len(graph.rules))
    return hyper_node_of(rules, len(members) > 1, depth)  # a rule that needs itself does so through a predicate


def hyper_node_of(rules: tuple[Rule, ...], recursive: bool, depth: int) -> HyperNode:
    return HyperNode(
        rules,
        recursive,
        depth,
        frozenset(head.pred for rule in rules for head in rule.heads),
        frozenset(pred for rule in rules for pred in _read(rule)),
        frozenset(atom.pred for rule in rules for atom, _ in negative(rule.body)),
    )


def _depths(graph: Graph) -> list[int]:
    """For each component, the number of components with rules on the longest way to it."""
    depth = [0] * len(graph.members)
    for c in range(len(graph.members) - 1, -1, -1):
        has_rules = graph.members[c][0] < len(graph.rules)
        for node in graph.members[c]:
            for successor in graph.successors[node]:
                d = graph.component[successor]
                if d != c:
                    depth[d] = max(depth[d], depth[c] + has_rules)
    return depth


# Stratification


def not_stratified(graph: Graph) -> Iterator[Diagnostic]:
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


def _rules_to(graph: Graph, start: int, end: int) -> list[int]:
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


def _cycle(rules: Sequence[Rule], atom: Atom, literal: Literal) -> Diagnostic:
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
    return next(head.pred for head in one.heads if head.pred in _read(other))


def shown(pred: Pred) -> str:
    """A predicate's name in a message."""
    return {TRIPLE: "`[?s, ?p, ?o]`", str(RDF_TYPE): "`rdf:type`"}.get(pred.name, f"`{pred.name}`")
