"""Which rules are evaluated by a decomposition, and why. By `settings.CYCLIC_SETTINGS`:

    standard    none
    hypertree   all that have a decomposition of more than one node
    combined    complex rules, of hypertree-width above 1, unless the tree is estimated to cost far more rows than the
                joins of the whole body, or these are safe

The textbook estimate assumes a uniform distribution of values, so it is too low for skewed data, and increasingly so
with the number of joins. A tree has shorter joins than the whole body, so its cost gets a margin; a larger one where
its worst case (every look-up meets the most frequent value) has far fewer rows than that of the joins. Joins are safe
when neither their worst case (`worst_case_rows`) nor their estimate is much larger than the cost of the tree. Then a
tree saves nothing, and its relations would have to be stored and maintained.

The choice is made by the sizes of the tables when the evaluation of a hyper-node starts, and all earlier hyper-nodes
are complete. A rule that reads an empty relation derives nothing and costs nothing: it is not decomposed (nodes over
the other relations would be useless) but left as it is, `waiting` for that relation. The choice is revised when the
relation gets its first facts, or when the relations that a cyclic rule reads have grown much (`engine.hypertree`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltalog.core.rules import Atom, Rule, variables
from deltalog.evaluation.plan.hypertree.decompose import (
    Decomposition,
    SizeEstimator,
    decompose,
    joined_in,
    with_functional_leaves,
)
from deltalog.evaluation.plan.hypertree.gyo import is_acyclic
from deltalog.evaluation.plan.hypertree.rewrite import atoms_of, rewritten, why_not
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.join_order import joined_steps
from deltalog.evaluation.plan.multiway import worst_case_joined_rows, worst_case_rows
from deltalog.evaluation.plan.statistics import CachedStatistics, Statistics
from deltalog.evaluation.plan.variants import Variant, plan_variant

_FAR_FEWER_ROWS_FACTOR = 1000.0  # by which the worst case of a tree is better than that of joins that are not safe


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """A rule, the rules that are evaluated for it, and the reason."""

    rule: Rule
    rules: tuple[Rule, ...]
    why: str
    complex: bool = False
    decomposition: Decomposition | None = None
    standard_cost: float = 0.0
    recursive: bool = True
    waiting: bool = False  # for the first facts of a relation that it reads
    small: bool = False  # its relations are too small for a tree to pay off

    @property
    def is_open(self) -> bool:
        """Whether other data may lead to another choice."""
        return self.waiting or self.small or self.decomposition is not None

    @property
    def by_tree(self) -> bool:
        return self.rules != (self.rule,)


def choose_tree(rule: Rule, statistics: Statistics, setting: str, recursive: bool = True) -> TreeChoice:
    """How a rule is evaluated with a setting for cyclic rules. `recursive`: nodes are not reduced by their children,
    which would be read again in every round."""
    if setting == "standard":
        return TreeChoice(rule, (rule,), "by setting")
    reason = why_not(rule)
    atoms = atoms_of(rule)
    if reason or (len(atoms) < 3 and setting == "combined"):
        return TreeChoice(rule, (rule,), reason or "acyclic")
    acyclic = is_acyclic([frozenset(variables(atom)) for atom in atoms])
    if acyclic and setting == "combined":
        return TreeChoice(rule, (rule,), "acyclic")
    empty = next((atom.name for atom in atoms if not statistics.size(atom.pred, Part.ALL)), None)
    if empty is not None:
        return TreeChoice(rule, (rule,), f"{empty} has no facts", not acyclic, waiting=True)
    statistics, tuning = CachedStatistics.of(statistics), statistics.tuning
    joins = plan_variant(Variant(rule), statistics)
    standard, most = joins.cost, worst_case_rows(joined_steps(joins.notes), statistics)
    if setting == "combined" and standard < tuning.tree_min_rows and most < tuning.tree_min_worst_case_rows:
        why = f"estimated {standard:,.0f} by joins, {most:,.0f} at most: less than finding a tree takes"
        return TreeChoice(rule, (rule,), why, True, standard_cost=standard, small=True)
    decomposition = decompose(atoms, statistics)
    if not decomposition.root.children:
        return TreeChoice(rule, (rule,), "its tree is one node", not acyclic, decomposition, standard)
    costs = f"{decomposition.cost:,.0f} by the tree, {standard:,.0f} by joins, {most:,.0f} at most"
    if setting == "combined" and _prefers_joins(decomposition, atoms, standard, most, statistics):
        return TreeChoice(rule, (rule,), f"estimated {costs}", True, decomposition, standard)
    why = f"estimated {costs}" if setting == "combined" else "by setting"
    rules = (
        _by_tree(rule, decomposition, statistics, recursive)
        if setting == "combined"
        else rewritten(rule, decomposition.root)
    )
    return TreeChoice(rule, rules, why, not acyclic, decomposition, standard, recursive)


def _prefers_joins(
    tree: Decomposition, atoms: Sequence[Atom], standard: float, most: float, statistics: Statistics
) -> bool:
    """Whether the joins are safe, or the tree is estimated to cost far more than they do."""
    safe = max(2 * standard, most) <= statistics.tuning.tree_safe_join_factor * tree.cost
    return safe or tree.cost >= _margin(tree, atoms, most, statistics) * standard


def _margin(tree: Decomposition, atoms: Sequence[Atom], most: float, statistics: Statistics) -> float:
    by_tree = sum(worst_case_joined_rows(joined_in(node, atoms), statistics) for node in tree.root)
    tuning = statistics.tuning
    safer = _FAR_FEWER_ROWS_FACTOR * by_tree <= most
    return tuning.tree_cost_margin_when_safer if safer else tuning.tree_cost_margin


def _by_tree(rule: Rule, decomposition: Decomposition, statistics: Statistics, recursive: bool) -> tuple[Rule, ...]:
    atoms = atoms_of(rule)
    root = with_functional_leaves(decomposition.root, atoms, statistics)
    values = SizeEstimator.of(atoms, statistics).values
    return rewritten(rule, root if root.children else decomposition.root, values, reduced=not recursive)
