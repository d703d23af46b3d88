"""The dependency graph as SVG: a box for each hyper-node, a row for each depth, arrows from deriving to reading
hyper-nodes (red and dashed for negation and aggregation). Below it are the hypertree decompositions by which rules are
evaluated (`plan.hypertree.draw`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from deltalog.evaluation.plan.explain import bridges_noted
from deltalog.evaluation.plan.hypertree.choose import TreeChoice, choose_tree
from deltalog.evaluation.plan.hypertree.draw import draw_trees
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.evaluation.plan.statistics import Statistics, UnknownStatistics
from deltalog.program import HyperNode, Program

LINE, CHARACTER, MARGIN, GAP, WIDEST = 16, 6.7, 10, 40, 1800
MAX_CHARACTERS, MAX_RULES = 88, 12  # characters of a rule, and rules of a hyper-node, that are shown

Box = tuple[float, float, float, float]  # x, y, width, height


def draw(
    program: Program,
    prefixes: Mapping[str, str] | None = None,
    statistics: Statistics | None = None,
    cyclic: str = "standard",
) -> str:
    """The SVG text."""
    texts = [_text(program, node, prefixes or {}) for node in program.hyper_nodes]
    boxes = _layout(program.hyper_nodes, texts)
    width = max((x + w for x, _, w, _ in boxes), default=0) + MARGIN
    height = max((y + h for _, y, _, h in boxes), default=0) + MARGIN
    arrows = [_arrow(boxes[a], boxes[b], negative) for a, b, negative in _edges(program.hyper_nodes)]
    trees = draw_trees(_choices(program, statistics or UnknownStatistics(), cyclic), prefixes or {}, height + GAP)
    width, height = max(width, trees.width), trees.bottom
    body = "\n".join(
        [*trees.shapes, *arrows, *(_box(b, t, n) for b, t, n in zip(boxes, texts, program.hyper_nodes, strict=True))]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'font-family="monospace" font-size="11">\n{_MARKERS}\n{body}\n</svg>\n'
    )


def _choices(program: Program, statistics: Statistics, cyclic: str) -> list[TreeChoice]:
    rules = [rule for node in program.hyper_nodes for rule in node.rules if not program.is_bridge(rule)]
    return [choice for choice in (choose_tree(rule, statistics, cyclic) for rule in rules) if choice.by_tree]


def _edges(nodes: tuple[HyperNode, ...]) -> Iterator[tuple[int, int, bool]]:
    """Pairs of hyper-nodes of which the second reads a head of the first, and whether it does so negatively."""
    for b, reader in enumerate(nodes):
        for a, source in enumerate(nodes[:b]):
            if source.heads & reader.reads:
                yield a, b, bool(source.heads & reader.negated)


def _text(program: Program, node: HyperNode, prefixes: Mapping[str, str]) -> list[str]:
    rules = [rule for rule in node.rules if not program.is_bridge(rule)]
    shown = [shortened(str(rule).replace("\n", " "), prefixes) for rule in rules[:MAX_RULES]]
    lines = [line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 1] + "…" for line in shown]
    more = [f"... and {len(rules) - MAX_RULES} more"] if len(rules) > MAX_RULES else []
    bridges = len(node.rules) - len(rules)
    return lines + more + ([bridges_noted(bridges)] if bridges else [])


def _layout(nodes: tuple[HyperNode, ...], texts: list[list[str]]) -> list[Box]:
    """Rows by depth, boxes beside each other; a depth that is too wide is broken into several rows."""
    boxes: list[Box] = [(0, 0, 0, 0)] * len(nodes)
    y = float(MARGIN)
    for depth in range(max((node.depth for node in nodes), default=-1) + 1):
        x, tallest = float(MARGIN), 0.0
        for i in (i for i, node in enumerate(nodes) if node.depth == depth):
            width = max(map(len, texts[i])) * CHARACTER + 2 * MARGIN
            height = len(texts[i]) * LINE + MARGIN
            if x > MARGIN and x + width > WIDEST:
                x, y, tallest = float(MARGIN), y + tallest + MARGIN, 0.0
            boxes[i] = (x, y, width, height)
            x, tallest = x + width + GAP, max(tallest, height)
        y += tallest + GAP
    return boxes


def _box(box: Box, lines: list[str], node: HyperNode) -> str:
    x, y, width, height = box
    fill = "#fff3d6" if node.recursive else "#eef3fb"
    rows = "".join(
        f'<text x="{x + MARGIN:.1f}" y="{y + LINE * (i + 1):.1f}">{escape(line)}</text>' for i, line in enumerate(lines)
    )
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{fill}" '
        f'stroke="#667"/>{rows}'
    )


def _arrow(source: Box, target: Box, negative: bool) -> str:
    x1, y1 = source[0] + source[2] / 2, source[1] + source[3]
    x2, y2 = target[0] + target[2] / 2, target[1]
    bend = (y1 + y2) / 2
    style = (
        'stroke="#c22" stroke-dasharray="5 3" marker-end="url(#negative)"'
        if negative
        else 'stroke="#889" marker-end="url(#positive)"'
    )
    path = f"M{x1:.1f} {y1:.1f} C{x1:.1f} {bend:.1f} {x2:.1f} {bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" {style}/>'


_MARKERS = (
    "<defs>"
    + "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
        for name, colour in (("positive", "#889"), ("negative", "#c22"))
    )
    + "</defs>"
)
