"""Hypertree decompositions are chosen again while a hyper-node is evaluated.

A tree is chosen by the sizes of the relations that it reads, which are not known in advance in a recursion. So between
rounds (`Revision.reconsider`), when an empty relation has got facts or the facts have grown much, the choices for the
cyclic rules of the hyper-node are reconsidered by the present sizes; and, when a round was misestimated
(`engine.replan_joins`), by the most frequent values. Where the choice for a rule changes, `ChoiceChanged` ends the
evaluation of the hyper-node, and it is restarted with all facts that have been derived: they stay valid. Relations of
the old choice are dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.program import HyperNode

if TYPE_CHECKING:
    from deltalog.evaluation.seminaive import Relations

T = TypeVar("T")


class ChoiceChanged(Exception):
    """Another choice for a rule of the hyper-node that is being evaluated."""


@dataclass
class Revision(Generic[T]):
    """The choices for the cyclic rules of one hyper-node, while it is evaluated."""

    trees: Trees
    hyper_node: HyperNode
    relations: Relations[T]
    made: frozenset[Pred] = field(init=False)  # relations of trees from before this hyper-node
    hidden: frozenset[Pred] = frozenset()  # relations of trees by the present choices
    awaited: Collection[Pred] = ()  # empty relations that choices depend on
    facts: int = 0  # when the choices were last reconsidered
    misestimated: set[Rule] = field(default_factory=set)  # rules that were chosen for again after a misestimate

    def __post_init__(self) -> None:
        self.made = frozenset(self.trees.made)

    def start(self) -> Revision[T] | None:
        """Records the present choices; None where there are none to reconsider."""
        chosen = [rule for rule in self.hyper_node.rules if rule in self.trees.chosen_for]
        if not chosen:
            return None
        self.hidden = frozenset(self.trees.relations)
        self.awaited = self.trees.waiting_for(chosen, self.relations)
        return self

    def reconsider(self, facts: int) -> None:
        """Reconsiders the choices if the data has changed enough; raises ChoiceChanged if one changes."""
        growth = self.relations.backend.tuning.tree_growth_factor
        if facts < growth * self.facts and not any(map(self.relations.size, self.awaited)):
            return
        self.facts = facts
        if self.trees.reconsider(self.relations, self.hyper_node.rules):
            raise ChoiceChanged
        self.awaited = self.trees.waiting_for(self.hyper_node.rules, self.relations)

    def reconsider_misestimated(self, statistics: Statistics) -> None:
        """Reconsiders the choices after a misestimated round, once for each rule."""
        chosen = [rule for rule in self.hyper_node.rules if rule in self.trees.chosen_for]
        again = [rule for rule in chosen if rule not in self.misestimated]
        self.misestimated.update(again)
        if any([self.trees.choose_again(rule, statistics) for rule in again]):
            raise ChoiceChanged

    def restart(self, schemes: Collection[Pred]) -> None:
        """Drops relations of the old choices, and virtual relations, which may lack the DELTA of the last round."""
        parts = self.relations.parts
        dropped = self.hidden - self.trees.relations.keys()
        for pred in (*dropped, *(pred for pred in schemes if pred in self.hyper_node.heads)):
            parts.pop((pred, Part.ALL), None)
        self.trees.made = set(self.made - dropped)
        for pred, part in list(parts):
            if part is not Part.ALL:
                del parts[pred, part]
