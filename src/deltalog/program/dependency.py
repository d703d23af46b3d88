"""The dependency graph of rules, with two views: hyper-nodes for evaluation, strata for maintenance.

Rule s depends on rule r when a predicate in a head of r occurs in the body of s: negatively, if it occurs in a negated
atom or inside of an AGGREGATE, else positively (Xu and Curé, section 4.2). The graph has an edge for each pair of a
deriving and a reading rule, which can be many; so we keep the predicates as nodes of their own, between the rules that
derive them and the rules that read them. Components and paths are the same.

The strongly connected components of this graph form an acyclic graph, so they can be taken one after the other. The
views differ in what a component stands for:

    hyper_nodes   the rules of a component. Evaluation takes hyper-nodes in order of depth, the number of hyper-nodes
                  on the longest path to one (those of equal depth do not depend on each other), then in the order of
                  their first rules
    strata        the predicates of a component, with all rules that derive them. Maintenance takes strata in
                  topological order

A program is stratified when no component has a negative dependency inside (`deltalog.program.stratification`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import Pred, Rule
from deltalog.program.components import components
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.strata import Stratum, single_heads


@dataclass(frozen=True)
class DependencyGraph:
    """Nodes are numbers: first the rules, in their order, then the predicates."""

    rules: tuple[Rule, ...]
    preds: dict[Pred, int]
    successors: list[list[int]]
    component: list[int]  # of each node; components are numbered against the direction of the edges
    members: list[list[int]]

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> DependencyGraph:
        preds: dict[Pred, int] = {}
        successors: list[list[int]] = [[] for _ in rules]

        def node(pred: Pred) -> int:
            if pred not in preds:
                preds[pred] = len(successors)
                successors.append([])
            return preds[pred]

        for i, rule in enumerate(rules):
            successors[i] = [node(pred) for pred in dict.fromkeys(head.pred for head in rule.heads)]
            for pred in rule.reads:
                successors[node(pred)].append(i)
        return cls(tuple(rules), preds, successors, *components(successors))

    @cached_property
    def hyper_nodes(self) -> tuple[HyperNode, ...]:
        """The components with rules, in topological order."""
        depths = self._depths()
        with_rules = [c for c in range(len(self.members)) if self._has_rules(c)]
        with_rules.sort(key=lambda c: (depths[c], self.members[c][0]))
        return tuple(self._hyper_node(self.members[c], depths[c]) for c in with_rules)

    @cached_property
    def strata(self) -> tuple[Stratum, ...]:
        """The components with predicates that rules derive, in topological order."""
        deriving: dict[Pred, dict[Rule, None]] = {}
        for rule in self.rules:
            for single in single_heads(rule):
                deriving.setdefault(single.heads[0].pred, {})[single] = None
        names = {node: pred for pred, node in self.preds.items()}
        found = []
        for members in reversed(self.members):
            preds = frozenset(names[node] for node in members if node in names)
            rules = [rule for pred in sorted(preds) for rule in deriving.get(pred, ())]
            if rules:
                found.append(Stratum.of(preds, rules))
        return tuple(found)

    def _has_rules(self, component: int) -> bool:
        return self.members[component][0] < len(self.rules)

    def _hyper_node(self, members: Sequence[int], depth: int) -> HyperNode:
        rules = tuple(self.rules[node] for node in members if node < len(self.rules))
        return HyperNode.of(rules, len(members) > 1, depth)  # a rule that needs itself does so through a predicate

    def _depths(self) -> list[int]:
        """For each component, the number of components with rules on the longest path to it."""
        depth = [0] * len(self.members)
        for c in range(len(self.members) - 1, -1, -1):
            has_rules = self._has_rules(c)
            for node in self.members[c]:
                for successor in self.successors[node]:
                    d = self.component[successor]
                    if d != c:
                        depth[d] = max(depth[d], depth[c] + has_rules)
        return depth
