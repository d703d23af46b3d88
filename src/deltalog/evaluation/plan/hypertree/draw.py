"""Drawings of hypertree decompositions: a box for each node with χ, λ and its estimate, children below parents."""

from __future__ import annotations

from collections.abc import Mapping

from deltalog.core.render.boxes import Box
from deltalog.core.render.svg import LINE, text, text_width
from deltalog.core.render.text_width import cut_end
from deltalog.core.render.trees import Tree, draw_tree
from deltalog.core.rules import Rule
from deltalog.evaluation.plan.explain import described
from deltalog.evaluation.plan.hypertree.choose import TreeChoice
from deltalog.evaluation.plan.hypertree.decompose import TreeNode
from deltalog.evaluation.plan.iri_display import shortened

LONGEST = 160  # columns of a rule


def draw_decomposition(
    choice: TreeChoice, prefixes: Mapping[str, str], left: float, top: float
) -> tuple[list[str], float, float]:
    """The shapes of the decomposition of a rule, below the rule, and their right and bottom ends."""
    assert choice.decomposition is not None
    rule = cut_end(shortened(str(choice.rule).replace("\n", " "), prefixes), LONGEST)
    tree = _tree(choice.decomposition.root, choice.rule, prefixes)
    shapes, right, bottom = draw_tree(tree, left, top + 1.5 * LINE)
    return [text(left, top + LINE, rule, "rule"), *shapes], max(right, left + text_width(rule)), bottom


def _tree(node: TreeNode, rule: Rule, prefixes: Mapping[str, str]) -> Tree:
    lines = shortened(described(node, rule), prefixes).split("  ")
    return Tree(Box([(line, "") for line in lines], "green"), [_tree(child, rule, prefixes) for child in node.children])
