"""Evaluation by hypertree decompositions (papers 000 and 002, chapter 4).

A rule that is evaluated by a tree is replaced by the rules of the tree (`plan.hypertree_rules`) before its hyper-node
is evaluated, and these are rules like any others from then on, in every engine. What is here: which trees there are
(`Trees`), kept with the materialisation; the programs of them; and other trees for them when the data has become
another.

Trees are reconsidered after a change of facts, for rules that read relations that have grown or shrunk much since their
trees were chosen. If another tree is far better by now, its relations are made from the materialisation as it is, which
is one pass without any recursion, from the leaves to the root; the old ones are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from deltalog.engine.passes import in_passes
from deltalog.engine.report import CyclicRule
from deltalog.plan.hypertree import cost_of
from deltalog.plan.hypertree_choice import Choice, choose
from deltalog.plan.hypertree_rules import atoms_of
from deltalog.plan.ir import Part
from deltalog.plan.statistics import Partial, Statistics
from deltalog.program import HyperNode, Program
from deltalog.program.dependency import graph, hyper_nodes
from deltalog.syntax.ast import Pred, Rule

MUCH = 8.0  # trees are reconsidered when there is so many times more or less to read
FAR_BETTER = 4.0  # and a tree exchanged for another one that costs at most one in so many


@dataclass
class Trees:
    """How each rule is evaluated. Choices are made once, when a rule is first met."""

    way: str = "standard"
    choices: dict[Rule, Choice] = field(default_factory=dict)
    made: set[Pred] = field(default_factory=set)  # relations of trees that have been evaluated
    chosen_for: dict[Rule, float] = field(default_factory=dict)  # how many facts there were to read then

    def parts(self, hyper_node: HyperNode, statistics: Statistics, batches: bool) -> Iterator[HyperNode]:
        """The hyper-nodes that a hyper-node falls into when its rules are replaced by those of their trees."""
        rules = tuple(rule for rule in self._rules(hyper_node, statistics) if rule.heads[0].pred not in self.made)
        if rules == hyper_node.rules:
            yield hyper_node
            return
        self.made |= {rule.heads[0].pred for rule in rules if rule.heads[0].pred.hidden}
        for _, part in in_passes(hyper_nodes(graph(rules)), batches):
            yield part

    def program(self, program: Program, statistics: Statistics) -> Program:
        """A program with the rules of the trees."""
        self.leave_structures(program)
        rules = [rule for node in program.hyper_nodes for rule in self._rules(node, statistics)]
        if not any(choice.by_tree for choice in self.choices.values()):
            return program
        return replace(program, hyper_nodes=hyper_nodes(graph(tuple(dict.fromkeys(rules)))))

    def leave_structures(self, program: Program) -> None:
        """The rules that only say what a structure is made of are not evaluated as rules."""
        for structure in program.structures.values():
            self.choices[structure.rule] = Choice(structure.rule, (structure.rule,), "a structure")

    def reported(self) -> list[CyclicRule]:
        """The choices for rules that are cyclic, or evaluated by a tree."""
        return [
            CyclicRule(str(rule), "hypertree" if choice.by_tree else "standard", choice.decomposition.width, choice.why)
            for rule, choice in self.choices.items()
            if choice.decomposition is not None
        ]

    def settle(self, program: Program, statistics: Statistics) -> None:
        """Rules that have not been met have been evaluated without a tree, if at all; it stays so. Notes how much there
        is to read for those that have."""
        for rule in (rule for node in program.hyper_nodes for rule in node.rules):
            if rule not in self.choices:
                self.choices[rule] = Choice(rule, (rule,), "not met")
        for rule, choice in self.choices.items():
            if choice.decomposition is not None:
                self.chosen_for.setdefault(rule, _facts(rule, statistics))

    def kept(self, program: Program) -> Trees:
        """The trees of those rules that a program has, apart from these, so that a change may fail."""
        rules = {rule for node in program.hyper_nodes for rule in node.rules}
        choices = {rule: choice for rule, choice in self.choices.items() if rule in rules}
        return Trees(self.way, choices, chosen_for={r: n for r, n in self.chosen_for.items() if r in rules})

    def without(self, rules: Iterable[Rule]) -> Trees | None:
        """The same without some rules; None if one of them is evaluated by a tree, which other rules may share."""
        choices, chosen_for = dict(self.choices), dict(self.chosen_for)
        for rule in rules:
            choice = choices.pop(rule, None)
            if choice is not None and choice.by_tree:
                return None
            chosen_for.pop(rule, None)
        return Trees(self.way, choices, chosen_for=chosen_for)

    def copied(self) -> Trees:
        return Trees(self.way, dict(self.choices), chosen_for=dict(self.chosen_for))

    @property
    def hidden(self) -> dict[Pred, Rule]:
        """The relations of all trees, with their rules."""
        rules = (rule for choice in self.choices.values() for rule in choice.rules)
        return {rule.heads[0].pred: rule for rule in rules if rule.heads[0].pred.hidden and len(rule.heads) == 1}

    def reconsider(self, statistics: Statistics) -> list[Rule]:
        """Takes another choice for each rule for which that is far better by now; these rules."""
        found = []
        for rule, before in self.chosen_for.items():
            now = _facts(rule, statistics)
            if before / MUCH < now < before * MUCH:
                continue
            self.chosen_for[rule] = now
            choice = choose(rule, Partial(statistics), self.way, self.choices[rule].recursive)
            if choice.rules != self.choices[rule].rules and self._is_far_better(choice, statistics):
                self.choices[rule] = choice
                found.append(rule)
        return found

    def _is_far_better(self, choice: Choice, statistics: Statistics) -> bool:
        """Between a tree and joins the choice itself has a margin; between two trees, a far lower cost decides."""
        old = self.choices[choice.rule]
        if not (choice.by_tree and old.by_tree and choice.decomposition and old.decomposition):
            return True
        now = cost_of(old.decomposition.root, atoms_of(choice.rule), Partial(statistics))
        return choice.decomposition.cost * FAR_BETTER <= now

    def _rules(self, hyper_node: HyperNode, statistics: Statistics) -> tuple[Rule, ...]:
        if self.way == "standard":
            return hyper_node.rules
        chosen = (self._choice(rule, statistics, hyper_node.recursive) for rule in hyper_node.rules)
        return tuple(dict.fromkeys(rule for choice in chosen for rule in choice.rules))

    def _choice(self, rule: Rule, statistics: Statistics, recursive: bool) -> Choice:
        if rule not in self.choices:
            self.choices[rule] = choose(rule, Partial(statistics), self.way, recursive)
        return self.choices[rule]


def _facts(rule: Rule, statistics: Statistics) -> float:
    """How many facts a rule has to read, at least one."""
    return max(1.0, sum(statistics.size(atom.pred, Part.ALL) for atom in atoms_of(rule)))
