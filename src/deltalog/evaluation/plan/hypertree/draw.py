"""Hypertree decompositions as SVG: a box for each node with χ, λ and its estimate, children below parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape

from deltalog.core.rules import Rule
from deltalog.evaluation.plan.explain import described
from deltalog.evaluation.plan.hypertree.choose import TreeChoice
from deltalog.evaluation.plan.hypertree.decompose import TreeNode
from deltalog.evaluation.plan.iri_display import shortened

LINE, CHARACTER, MARGIN, GAP, LONGEST = 16, 6.7, 10, 30, 160
HEIGHT = 3 * LINE + MARGIN


@dataclass(slots=True)
class Drawing:
    """The shapes so far, and their extent."""

    prefixes: Mapping[str, str]
    bottom: float
    width: float = 0.0
    shapes: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: str) -> None:
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>')
        self.width = max(self.width, x + len(text) * CHARACTER + MARGIN)

    def tree(self, choice: TreeChoice) -> None:
        assert choice.decomposition is not None
        text = shortened(str(choice.rule).replace("\n", " "), self.prefixes)
        self.text(MARGIN, self.bottom, text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
        top = self.bottom + LINE
        self._node(choice.decomposition.root, choice.rule, MARGIN, top)
        levels = _height(choice.decomposition.root)
        self.bottom = top + levels * (HEIGHT + GAP) + GAP

    def _node(self, node: TreeNode, rule: Rule, x: float, y: float) -> tuple[float, float]:
        """Draws a subtree; the middle of its box, and the left end of the next subtree."""
        lines = shortened(described(node, rule), self.prefixes).split("  ")
        own = max(map(len, lines)) * CHARACTER + 2 * MARGIN
        right, middles = x, []
        for child in node.children:
            middle, right = self._node(child, rule, right, y + HEIGHT + GAP)
            middles.append(middle)
        left = max(x, (x + right - own) / 2 if middles else x)
        for middle in middles:
            self.shapes.append(
                f'<path d="M{left + own / 2:.1f} {y + HEIGHT} L{middle:.1f} {y + HEIGHT + GAP}" stroke="#889"/>'
            )
        size = f'width="{own:.1f}" height="{HEIGHT}"'
        self.shapes.append(f'<rect x="{left:.1f}" y="{y:.1f}" {size} rx="4" fill="#e8f6ea" stroke="#667"/>')
        for i, line in enumerate(lines):
            self.text(left + MARGIN, y + LINE * (i + 1), line)
        return left + own / 2, max(right, left + own + GAP)


def _height(node: TreeNode) -> int:
    return 1 + max(map(_height, node.children), default=0)


def draw_trees(choices: Iterable[TreeChoice], prefixes: Mapping[str, str], top: float) -> Drawing:
    """The trees of some rules, one below the other."""
    drawing = Drawing(prefixes, top)
    for choice in choices:
        drawing.tree(choice)
    return drawing
