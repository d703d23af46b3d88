"""Choices that are made again while a hyper-node is evaluated.

A tree is chosen by the sizes of the relations that it reads, and in a recursion these are not known before. So between
rounds (`Revision.due`), when a relation that had no facts has some, or there are far more facts than there were, the
choices for the cyclic rules of the hyper-node are made again by the sizes that there are now; and, when a round has far
more rows than estimated (`engine.replan_joins`), by those of the most frequent values. Where a rule is evaluated
another way from then on, `ChoiceChanged` ends the evaluation of the hyper-node, and it begins again with all facts that
have been derived: these stay right, whichever way they were found. Relations that only the old choice had are dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from deltalog.engine.hypertree import Trees
from deltalog.plan.ir import Part
from deltalog.plan.statistics import Statistics
from deltalog.program import HyperNode
from deltalog.syntax.ast import Pred, Rule

if TYPE_CHECKING:
    from deltalog.engine.seminaive import Relations

T = TypeVar("T")


class ChoiceChanged(Exception):
    """A rule of the hyper-node that is evaluated is to be evaluated another way."""


@dataclass
class Revision(Generic[T]):
    """The choices for the cyclic rules of one hyper-node, while it is evaluated."""

    trees: Trees
    hyper_node: HyperNode
    relations: Relations[T]
    made: frozenset[Pred] = field(init=False)  # relations of trees that were there before
    hidden: frozenset[Pred] = frozenset()  # relations of trees by the present choices
    awaited: Collection[Pred] = ()
    facts: int = 0  # when choices were last looked at
    watched: set[Rule] = field(default_factory=set)  # rules whose choice has been made again for having gone wrong

    def __post_init__(self) -> None:
        self.made = frozenset(self.trees.made)

    def begun(self) -> Revision[T] | None:
        """Notes what has been chosen; None where there is nothing to choose again."""
        chosen = [rule for rule in self.hyper_node.rules if rule in self.trees.chosen_for]
        if not chosen:
            return None
        self.hidden = frozenset(self.trees.relations)
        self.awaited = self.trees.waiting_for(chosen, self.relations)
        return self

    def due(self, facts: int) -> None:
        """Makes choices again where that may change something; raises ChoiceChanged where it does."""
        growth = self.relations.backend.tuning.tree_growth_factor
        if facts < growth * self.facts and not any(map(self.relations.size, self.awaited)):
            return
        self.facts = facts
        if self.trees.reconsider(self.relations, self.hyper_node.rules):
            raise ChoiceChanged
        self.awaited = self.trees.waiting_for(self.hyper_node.rules, self.relations)

    def given_up(self, statistics: Statistics) -> None:
        """Makes the choices again after a round that had far more rows than estimated, once for each rule."""
        again = [rule for rule in self.hyper_node.rules if rule in self.trees.chosen_for and rule not in self.watched]
        self.watched.update(again)
        if any([self.trees.choose_again(rule, statistics) for rule in again]):
            raise ChoiceChanged

    def begin_again(self, structures: Collection[Pred]) -> None:
        """Drops what only the old choices had, and structures that may lack what was new in the last round."""
        parts = self.relations.parts
        gone = self.hidden - self.trees.relations.keys()
        for pred in (*gone, *(pred for pred in structures if pred in self.hyper_node.heads)):
            parts.pop((pred, Part.ALL), None)
        self.trees.made = set(self.made - gone)
        for pred, part in list(parts):
            if part is not Part.ALL:
                del parts[pred, part]
