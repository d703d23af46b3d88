"""An explanation as SVG: trees of boxes, whose lines never cross them."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from deltalog.core.render.boxes import Box
from deltalog.core.render.svg import LINE, MARGIN, document, text, text_width
from deltalog.core.render.text_width import cut_middle
from deltalog.core.render.trees import BOX_GAP, Tree, draw_tree
from deltalog.extensions.explain.model import Explanation
from deltalog.extensions.explain.render.labels import place, visible
from deltalog.extensions.explain.render.outline import OutlineNode, outline

STEPS, NESTING = 60, 60
WIDEST, TOOLTIP = 54, 4000  # columns of a line in a box, and of a tooltip
RULE_LINES, OTHER_LINES = 4, 2  # of a rule, and of other texts in a box
COLOURS = {
    "explicit": "green",
    "satisfied": "green",
    "derived": "blue",
    "group": "purple",
    "member": "purple",
    "absent": "yellow",
    "near": "yellow",
    "failed": "red",
    "more": "dashed",
}


def render(explanation: Explanation, *, steps: int = STEPS) -> str:
    """The SVG text; at most about `steps` facts are drawn."""
    made = outline(explanation, steps, NESTING)
    title = cut_middle(made.title, 2 * WIDEST)
    shapes, width, y = [text(MARGIN, MARGIN + LINE, title, "title")], text_width(title) * 1.2, MARGIN + 2.0 * LINE
    for section in made.sections:
        if section.heading:
            shapes.append(text(MARGIN, y + LINE, section.heading, "dim"))
            y += 1.5 * LINE
        for node in section.nodes:
            drawn, right, y = draw_tree(_tree(node), MARGIN, y + (2 * BOX_GAP if node.children else BOX_GAP))
            shapes, width = shapes + drawn, max(width, right)
        y += LINE
    for note in (cut_middle(note, 2 * WIDEST) for note in made.notes):
        shapes.append(text(MARGIN, y + LINE, note, "dim"))
        width, y = max(width, text_width(note) + MARGIN), y + LINE
    return document(shapes, width, y, made.title)


def _tree(node: OutlineNode) -> Tree:
    colour = "dashed" if node.see is not None else COLOURS.get(node.kind, "plain")
    tooltip = "\n".join(cut_middle(part, TOOLTIP) for part, _ in _parts(node))
    return Tree(Box(list(_rows(node)), colour, tooltip), [_tree(child) for child in node.children])


def _parts(node: OutlineNode) -> Iterator[tuple[str, str]]:
    """The texts of a box, and their classes."""
    number = f"[{node.number}] " if node.number else ""
    if node.headline:
        yield f"{number}{node.headline}", "head"
    if node.remark:
        yield node.remark, "dim"
    if node.rule is not None:
        yield place(node.rule), "rule"
        yield visible(node.rule.text), "rule"
    if node.bindings:
        yield node.bindings, "dim"


def _rows(node: OutlineNode) -> Iterator[tuple[str, str]]:
    """The lines of a box: texts broken into a few lines, of which the last one may be shortened."""
    for part, style in _parts(node):
        most = RULE_LINES if style == "rule" else OTHER_LINES
        lines = wrap(part.removesuffix(" ."), WIDEST - 2, break_long_words=False, break_on_hyphens=False) or [part]
        lines[-1] += " ." * part.endswith(" .")
        rest = " ".join(lines[most - 1 :])
        yield from ((cut_middle(line, WIDEST), style) for line in (*lines[: most - 1], rest) if line)
