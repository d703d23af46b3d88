"""An explanation as SVG: a box for each fact with its rule, lines to its premises.

The drawing is a tree in layers. A part that is used several times is drawn once, and dashed boxes refer to it by its
number; so lines never cross boxes. Trees that are deep and narrow grow downwards, wide ones to the right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap

from deltalog.extensions.explain.model import Explanation
from deltalog.extensions.explain.render.labels import columns, cut, place, visible
from deltalog.extensions.explain.render.outline import OutlineNode, outline

STEPS, NESTING = 60, 60
LINE, CHARACTER, PAD, MARGIN = 17, 7.25, 8, 14  # pixels; of 12px monospace
LAYER_GAP, BOX_GAP, WIDE_ENOUGH = 34, 12, 1400
WIDEST, TOOLTIP = 54, 4000  # columns of a line in a box, and of a tooltip
RULE_LINES, OTHER_LINES = 4, 2  # of a rule, and of other texts in a box

STYLE = """
.dlx-page { fill: #ffffff } .dlx text { fill: #1c2333 } .dlx .dim { fill: #566076 } .dlx .rule { fill: #1f5a96 }
.dlx .head { font-weight: 600 } .dlx .title { font-size: 14px; font-weight: 600 }
.dlx path { fill: none; stroke: #8a93a6 } .dlx rect.box { stroke: #8a93a6; fill: #f4f6fa }
.dlx .explicit rect, .dlx .satisfied rect { fill: #e6f4e8; stroke: #5d9c68 }
.dlx .derived rect { fill: #e9f0fb; stroke: #6b8fc4 } .dlx .group rect, .dlx .member rect { fill: #f3ecfa }
.dlx .absent rect, .dlx .near rect { fill: #fff4d9; stroke: #b99235 }
.dlx .failed rect { fill: #fde8e8; stroke: #c25555 }
.dlx .see rect, .dlx .more rect { stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
.dlx-page { fill: #14181f } .dlx text { fill: #e4e8f0 } .dlx .dim { fill: #a4aec0 } .dlx .rule { fill: #8fc0f5 }
.dlx path { stroke: #69738a } .dlx rect.box { stroke: #69738a; fill: #1f2530 }
.dlx .explicit rect, .dlx .satisfied rect { fill: #1b3322; stroke: #57a067 }
.dlx .derived rect { fill: #1b2a42; stroke: #5f86c0 } .dlx .group rect, .dlx .member rect { fill: #2d2340 }
.dlx .absent rect, .dlx .near rect { fill: #3a2f14; stroke: #b99235 }
.dlx .failed rect { fill: #421f22; stroke: #cf6a6a }
}
"""


def render(explanation: Explanation, *, steps: int = STEPS) -> str:
    """The SVG text; at most about `steps` facts are drawn."""
    made = outline(explanation, steps, NESTING)
    shapes, width = (
        [_text(MARGIN, MARGIN + LINE, made.title, "title", 2 * WIDEST)],
        _width(made.title, 2 * WIDEST) * 1.2,
    )
    y = MARGIN + 2.0 * LINE
    for section in made.sections:
        if section.heading:
            shapes.append(_text(MARGIN, y + LINE, section.heading, "dim"))
            y += 1.5 * LINE
        for node in section.nodes:
            tree = _Box.of(node)
            right, bottom = tree.arrange(MARGIN, y + (2 * BOX_GAP if node.children else BOX_GAP))
            shapes += tree.lines()
            shapes += (box.drawn() for box in tree.walk())
            width, y = max(width, right), bottom
        y += LINE
    for note in made.notes:
        shapes.append(_text(MARGIN, y + LINE, note, "dim", 2 * WIDEST))
        width, y = max(width, _width(note, 2 * WIDEST)), y + LINE
    width, y = width + 2 * MARGIN, y + MARGIN
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dlx" width="{width:.0f}" height="{y:.0f}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
        f'role="img"><title>{escape(made.title)}</title>\n<style>{STYLE}</style>\n'
        f'<rect class="dlx-page" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


@dataclass(eq=False)
class _Box:
    """A node with its lines of text, its size, and its place."""

    node: OutlineNode
    rows: list[tuple[str, str]]  # text and class
    children: list[_Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    across: float = 0.0  # the place in its layer: x if premises are below, else y
    down: bool = True  # whether premises are below, not to the right

    @classmethod
    def of(cls, node: OutlineNode) -> _Box:
        return cls(node, list(_rows(node)), [cls.of(child) for child in node.children])

    @property
    def width(self) -> float:
        return max(_width(text) for text, _ in self.rows) + 2 * PAD

    @property
    def height(self) -> float:
        return len(self.rows) * LINE + PAD

    def walk(self) -> Iterator[_Box]:
        yield self
        for child in self.children:
            yield from child.walk()

    def layers(self) -> list[list[_Box]]:
        layers = [[self]]
        while below := [child for box in layers[-1] for child in box.children]:
            layers.append(below)
        return layers

    # Layout: boxes are packed across each layer, and the layers follow each other down, or to the right.

    def arrange(self, left: float, top: float) -> tuple[float, float]:
        """Places the tree; its right and bottom ends."""
        boxes, layers = list(self.walk()), self.layers()
        down = self.extent(True) <= max(WIDE_ENOUGH, sum(max(box.width for box in layer) for layer in layers))
        self.move((left if down else top) - min(low for low, _ in self.pack(down)))
        along = top if down else left
        for layer in layers:
            for box in layer:
                box.x, box.y, box.down = (box.across, along, True) if down else (along, box.across, False)
            along += max(box.height if down else box.width for box in layer) + LAYER_GAP
        return max(box.x + box.width for box in boxes), max(box.y + box.height for box in boxes)

    def extent(self, down: bool) -> float:
        """The room that the tree takes across its layers."""
        contour = self.pack(down)
        return max(high for _, high in contour) - min(low for low, _ in contour)

    def pack(self, down: bool) -> list[tuple[float, float]]:
        """Sets `across` of all boxes, as close as they fit (Reingold and Tilford 1981); the ends of each layer."""
        size = self.width if down else self.height
        packed: list[tuple[float, float]] = []
        centres, depths = [], []
        for child in self.children:
            contour = child.pack(down)
            apart = [high + BOX_GAP - low for (_, high), (low, _) in zip(packed, contour, strict=False)]
            shift = max(apart, default=0.0)
            child.move(shift)
            contour = [(low + shift, high + shift) for low, high in contour]
            both = [(low, high) for (low, _), (_, high) in zip(packed, contour, strict=False)]
            packed = both + packed[len(both) :] + contour[len(both) :]
            centres.append(child.across + (child.width if down else child.height) / 2)
            depths.append(len(contour))
        self.across = _centre(centres, depths) - size / 2
        return [(self.across, self.across + size), *packed]

    def move(self, distance: float) -> None:
        for box in self.walk():
            box.across += distance

    # Drawing

    def lines(self) -> Iterator[str]:
        for box in self.walk():
            for child in box.children:
                yield box.line(child)

    def line(self, child: _Box) -> str:
        if self.down:
            x1, y1, x2, y2 = self.x + self.width / 2, self.y + self.height, child.x + child.width / 2, child.y
            middle = y2 - LAYER_GAP / 2
            return f'<path d="M{x1:.1f} {y1:.1f} V{middle:.1f} H{x2:.1f} V{y2:.1f}"/>'
        x1, y1, x2, y2 = self.x + self.width, self.y + self.height / 2, child.x, child.y + child.height / 2
        middle = x2 - LAYER_GAP / 2
        return f'<path d="M{x1:.1f} {y1:.1f} H{middle:.1f} V{y2:.1f} H{x2:.1f}"/>'

    def drawn(self) -> str:
        kind = "see" if self.node.see is not None else self.node.kind
        rows = "".join(
            _text(self.x + PAD, self.y + LINE * (i + 0.95), text, style) for i, (text, style) in enumerate(self.rows)
        )
        return (
            f'<g class="{kind}"><title>{escape(_whole(self.node))}</title><rect class="box" x="{self.x:.1f}" '
            f'y="{self.y:.1f}" width="{self.width:.1f}" height="{self.height:.1f}" rx="5"/>{rows}</g>'
        )


def _centre(centres: list[float], depths: list[int]) -> float:
    """Where a box stands over its children: over the deep one of a chain, else over their middle."""
    *others, deepest = sorted(depths) or [0]
    if others and deepest > others[-1] + 1:
        return centres[depths.index(deepest)]
    return (centres[0] + centres[-1]) / 2 if centres else 0.0


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
    """The lines of a box: texts broken into a few lines, of which the last one may be too long."""
    for text, style in _parts(node):
        most = RULE_LINES if style == "rule" else OTHER_LINES
        lines = wrap(text.removesuffix(" ."), WIDEST - 2, break_long_words=False, break_on_hyphens=False) or [text]
        lines[-1] += " ." * text.endswith(" .")
        yield from ((line, style) for line in lines[: most - 1])
        if rest := " ".join(lines[most - 1 :]):
            yield rest, style


def _whole(node: OutlineNode) -> str:
    return "\n".join(cut(text, TOOLTIP) for text, _ in _parts(node))


def _width(text: str, most: int = WIDEST) -> float:
    return columns(cut(text, most)) * CHARACTER


def _text(x: float, y: float, text: str, style: str, most: int = WIDEST) -> str:
    """A line; where characters may be missing from the font, it is fitted to the room that was computed for it."""
    shown = cut(text, most)
    fitted = (
        "" if shown.isascii() else f' textLength="{columns(shown) * CHARACTER:.0f}" lengthAdjust="spacingAndGlyphs"'
    )
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}"{fitted} xml:space="preserve">{escape(shown)}</text>'
