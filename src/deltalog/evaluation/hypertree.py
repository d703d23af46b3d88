"""Evaluation by hypertree decompositions (Zhang et al.; Zhang's thesis, chapter 4).

A rule that is evaluated by a tree is replaced by the rules of the tree (`plan.hypertree.rewrite`) before its hyper-node
is evaluated; these are ordinary rules in every engine. `Trees` has the choices for all rules and is part of the
materialisation; it makes programs with the rules of trees, and chooses again when the data has changed much.

Choices are reconsidered for rules whose relations have grown or shrunk much since, or were empty: between the rounds of
a recursion, where the hyper-node is then restarted with the facts that it has (`engine.replan_trees`), and after a
change of facts. If another tree is far better, its relations are computed from the materialisation in one pass without
recursion, from the leaves to the root, and the old ones are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from deltalog.core.rules import Pred, Rule
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan.hypertree.choose import TreeChoice, choose_tree
from deltalog.evaluation.plan.hypertree.decompose import cost_of
from deltalog.evaluation.plan.hypertree.rewrite import TreeRelation, atoms_of
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.evaluation.report import CyclicRule
from deltalog.evaluation.schedule import evaluation_order
from deltalog.program import HyperNode, Program
from deltalog.program.dependency import DependencyGraph


@dataclass
class Trees:
    """How each rule is evaluated. A choice is made when a rule is first met."""

    way: str = "standard"
    choices: dict[Rule, TreeChoice] = field(default_factory=dict)
    made: set[Pred] = field(default_factory=set)  # relations of trees that have been evaluated
    chosen_for: dict[Rule, float] = field(default_factory=dict)  # how many facts there were to read then
    tuning: Tuning = field(default_factory=Tuning)

    def parts(self, hyper_node: HyperNode, statistics: Statistics, batches: bool) -> Iterator[HyperNode]:
        """The hyper-nodes that a hyper-node falls into when its rules are replaced by those of their trees."""
        rules = tuple(rule for rule in self._rules(hyper_node, statistics) if rule.heads[0].pred not in self.made)
        if rules == hyper_node.rules:
            yield hyper_node
            return
        self.made |= {rule.heads[0].pred for rule in rules if _is_of_tree(rule)}
        for _, part in evaluation_order(DependencyGraph.of(rules).hyper_nodes, batches):
            yield part

    def program(self, program: Program, statistics: Statistics) -> Program:
        """A program with the rules of the trees."""
        self.leave_schemes(program)
        rules = [rule for node in program.hyper_nodes for rule in self._rules(node, statistics)]
        if not any(choice.by_tree for choice in self.choices.values()):
            return program
        return replace(program, hyper_nodes=DependencyGraph.of(tuple(dict.fromkeys(rules))).hyper_nodes)

    def leave_schemes(self, program: Program) -> None:
        """Rules that define virtual relations are not evaluated as rules."""
        for scheme in program.scheme_of.values():
            self.choices[scheme.rule] = TreeChoice(scheme.rule, (scheme.rule,), "a virtual relation")

    def reported(self) -> list[CyclicRule]:
        """The choices for rules that are cyclic, or evaluated by a tree."""
        return [
            CyclicRule(str(rule), "hypertree" if choice.by_tree else "standard", choice.decomposition.width, choice.why)
            for rule, choice in self.choices.items()
            if choice.decomposition is not None
        ]

    def settle(self, program: Program, statistics: Statistics) -> None:
        """Rules that have not been met are evaluated without a tree from now on, too. Records the sizes of what the
        others read."""
        for rule in (rule for node in program.hyper_nodes for rule in node.rules):
            if rule not in self.choices:
                self.choices[rule] = TreeChoice(rule, (rule,), "not met")
        for rule, choice in self.choices.items():
            if choice.is_open:
                self.chosen_for.setdefault(rule, _facts(rule, statistics))

    def kept(self, program: Program) -> Trees:
        """A copy with the trees of a program's rules; this one stays as it is, in case the change fails."""
        rules = {rule for node in program.hyper_nodes for rule in node.rules}
        choices = {rule: choice for rule, choice in self.choices.items() if rule in rules}
        chosen_for = {rule: facts for rule, facts in self.chosen_for.items() if rule in rules}
        return Trees(self.way, choices, chosen_for=chosen_for, tuning=self.tuning)

    def without(self, rules: Iterable[Rule]) -> Trees | None:
        """The same without some rules; None if one of them is evaluated by a tree, which other rules may share."""
        choices, chosen_for = dict(self.choices), dict(self.chosen_for)
        for rule in rules:
            choice = choices.pop(rule, None)
            if choice is not None and choice.by_tree:
                return None
            chosen_for.pop(rule, None)
        return Trees(self.way, choices, chosen_for=chosen_for, tuning=self.tuning)

    def copied(self) -> Trees:
        return Trees(self.way, dict(self.choices), chosen_for=dict(self.chosen_for), tuning=self.tuning)

    @property
    def relations(self) -> dict[Pred, Rule]:
        """The relations of all trees, with their rules."""
        rules = (rule for choice in self.choices.values() for rule in choice.rules)
        return {rule.heads[0].pred: rule for rule in rules if _is_of_tree(rule)}

    def reconsider(self, statistics: Statistics, rules: Iterable[Rule] | None = None) -> list[Rule]:
        """Chooses again for each of the rules (by default all) whose data has changed much; the rules for which the
        choice changes."""
        return [
            rule
            for rule in (list(self.chosen_for) if rules is None else rules)
            if rule in self.chosen_for and self._is_due(rule, statistics) and self.choose_again(rule, statistics)
        ]

    def _is_due(self, rule: Rule, statistics: Statistics) -> bool:
        if self.choices[rule].waiting:
            return all(statistics.size(atom.pred, Part.ALL) for atom in atoms_of(rule))
        now, before, factor = _facts(rule, statistics), self.chosen_for[rule], self.tuning.replan_growth_factor
        return not (before < now * factor and now < before * factor)

    def choose_again(self, rule: Rule, statistics: Statistics) -> bool:
        """Chooses for a rule again; whether the choice changes."""
        old, self.chosen_for[rule] = self.choices[rule], _facts(rule, statistics)
        choice = choose_tree(rule, statistics, self.way, old.recursive)
        if choice.rules == old.rules:
            self.choices[rule] = choice
            return False
        if self._is_far_better(choice, statistics):
            self.choices[rule] = choice
            return True
        return False

    def waiting_for(self, rules: Iterable[Rule], statistics: Statistics) -> set[Pred]:
        """The empty relations that keep rules from being chosen for."""
        waiting = (rule for rule in rules if rule in self.choices and self.choices[rule].waiting)
        preds = {atom.pred for rule in waiting for atom in atoms_of(rule)}
        return {pred for pred in preds if not statistics.size(pred, Part.ALL)}

    def _is_far_better(self, choice: TreeChoice, statistics: Statistics) -> bool:
        """Between a tree and joins the choice itself has a margin; between two trees, a far lower cost decides."""
        old = self.choices[choice.rule]
        if not (choice.by_tree and old.by_tree and choice.decomposition and old.decomposition):
            return True
        now = cost_of(old.decomposition.root, atoms_of(choice.rule), statistics)
        return choice.decomposition.cost * self.tuning.tree_exchange_factor <= now

    def _rules(self, hyper_node: HyperNode, statistics: Statistics) -> tuple[Rule, ...]:
        if self.way == "standard":
            return hyper_node.rules
        chosen = (self._choice(rule, statistics, hyper_node.recursive) for rule in hyper_node.rules)
        return tuple(dict.fromkeys(rule for choice in chosen for rule in choice.rules))

    def _choice(self, rule: Rule, statistics: Statistics, recursive: bool) -> TreeChoice:
        if rule not in self.choices:
            choice = self.choices[rule] = choose_tree(rule, statistics, self.way, recursive)
            if choice.is_open:
                self.chosen_for[rule] = _facts(rule, statistics)
        return self.choices[rule]


def _is_of_tree(rule: Rule) -> bool:
    """Whether a rule derives a node or a message of a tree, and not its result."""
    return isinstance(rule.heads[0].name, TreeRelation)


def _facts(rule: Rule, statistics: Statistics) -> float:
    """How many facts a rule reads, at least one."""
    return max(1.0, sum(statistics.size(atom.pred, Part.ALL) for atom in atoms_of(rule)))
