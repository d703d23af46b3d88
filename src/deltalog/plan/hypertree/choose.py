"""Which rules are evaluated by a decomposition, and why.

    standard    none
    hypertree   all that have a decomposition of more than one node
    combined    complex rules, of hypertree-width above 1, unless the tree is estimated to cost far more rows than the
                joins of the whole body, or these are safe

The textbook estimate takes every value for equally frequent, so it is too low for skewed data, and the more so the more
joins there are. A tree's joins are the shorter ones, so it is given a margin; and a greater one where, if each look-up
meets the most frequent value, the tree has far fewer rows than the joins. Joins are safe when they have not many
more rows than the tree costs even where each look-up meets the most frequent value (`most_rows`), nor are estimated to.
Then there is nothing to win by a tree, and its relations would be one more thing to keep and to change.

The choice is made from the sizes of the tables, when a hyper-node's turn comes: all that is before it is known then. A
rule that reads an empty relation derives nothing, and costs nothing: it is not decomposed (a node over the relations
that have facts would be computed in vain) but left as it is, `waiting` for that relation. When the relation gets its
first facts, or what a cyclic rule reads has grown much, the choice is made again (`engine.hypertree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltalog.plan.hypertree.decompose import Decomposition, SizeEstimator, decompose, joined_in, with_functional_leaves
from deltalog.plan.hypertree.gyo import is_acyclic
from deltalog.plan.hypertree.rewrite import atoms_of, rewritten, why_not
from deltalog.plan.ir import Part
from deltalog.plan.join_order import joined_steps
from deltalog.plan.multiway import most_joined, most_rows
from deltalog.plan.statistics import Remembered, Statistics
from deltalog.plan.variants import Variant, plan_variant
from deltalog.syntax.ast import Atom, Rule, variables

WAYS = ("combined", "standard", "hypertree")


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """A rule, the rules that are evaluated for it, and why these."""

    rule: Rule
    rules: tuple[Rule, ...]
    why: str
    complex: bool = False
    decomposition: Decomposition | None = None
    standard_cost: float = 0.0
    recursive: bool = True
    waiting: bool = False  # for facts of a relation that it reads
    small: bool = False  # there is too little to read for a tree

    @property
    def is_open(self) -> bool:
        """Whether it may be another when the data is."""
        return self.waiting or self.small or self.decomposition is not None

    @property
    def by_tree(self) -> bool:
        return self.rules != (self.rule,)


def choose_tree(rule: Rule, statistics: Statistics, way: str, recursive: bool = True) -> TreeChoice:
    """`recursive`: nodes are not reduced, since what is below would be looked at again in every round."""
    if way == "standard":
        return TreeChoice(rule, (rule,), "as asked")
    reason = why_not(rule)
    atoms = atoms_of(rule)
    if reason or (len(atoms) < 3 and way == "combined"):
        return TreeChoice(rule, (rule,), reason or "acyclic")
    acyclic = is_acyclic([frozenset(variables(atom)) for atom in atoms])
    if acyclic and way == "combined":
        return TreeChoice(rule, (rule,), "acyclic")
    empty = next((atom.name for atom in atoms if not statistics.size(atom.pred, Part.ALL)), None)
    if empty is not None:
        return TreeChoice(rule, (rule,), f"{empty} has no facts", not acyclic, waiting=True)
    statistics, tuning = Remembered.of(statistics), statistics.tuning
    joins = plan_variant(Variant(rule), statistics)
    standard, most = joins.cost, most_rows(joined_steps(joins.notes), statistics)
    if way == "combined" and standard < tuning.tree_min_rows and most < tuning.tree_min_worst_case_rows:
        why = f"estimated {standard:,.0f} by joins, {most:,.0f} at most: less than finding a tree takes"
        return TreeChoice(rule, (rule,), why, True, standard_cost=standard, small=True)
    decomposition = decompose(atoms, statistics)
    if not decomposition.root.children:
        return TreeChoice(rule, (rule,), "its tree is one node", not acyclic, decomposition, standard)
    costs = f"{decomposition.cost:,.0f} by the tree, {standard:,.0f} by joins, {most:,.0f} at most"
    safe = max(2 * standard, most) <= tuning.tree_safe_join_factor * decomposition.cost
    if way == "combined" and (safe or decomposition.cost >= _margin(decomposition, atoms, most, statistics) * standard):
        return TreeChoice(rule, (rule,), f"estimated {costs}", True, decomposition, standard)
    why = f"estimated {costs}" if way == "combined" else "as asked"
    rules = (
        _by_tree(rule, decomposition, statistics, recursive)
        if way == "combined"
        else rewritten(rule, decomposition.root)
    )
    return TreeChoice(rule, rules, why, not acyclic, decomposition, standard, recursive)


def _margin(tree: Decomposition, atoms: Sequence[Atom], most: float, statistics: Statistics) -> float:
    by_tree = sum(most_joined(joined_in(node, atoms), statistics) for node in tree.root)
    tuning = statistics.tuning
    safer = tuning.tree_far_fewer_rows_factor * by_tree <= most
    return tuning.tree_cost_margin_when_safer if safer else tuning.tree_cost_margin


def _by_tree(rule: Rule, decomposition: Decomposition, statistics: Statistics, recursive: bool) -> tuple[Rule, ...]:
    atoms = atoms_of(rule)
    root = with_functional_leaves(decomposition.root, atoms, statistics)
    values = SizeEstimator.of(atoms, statistics).values
    return rewritten(rule, root if root.children else decomposition.root, values, reduced=not recursive)
