"""Boxes with lines of text: the nodes of trees and graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from deltalog.core.render import svg

PAD = 8


@dataclass(eq=False)
class Box:
    """A box, at a place that a layout finds for it."""

    rows: Sequence[tuple[str, str]]  # lines, each with its class
    kind: str = "plain"  # the classes of the box (`svg`)
    title: str = ""  # shown where the pointer is
    x: float = 0.0
    y: float = 0.0
    width: float = field(init=False)
    height: float = field(init=False)

    def __post_init__(self) -> None:
        self.width = max((svg.text_width(text) for text, _ in self.rows), default=0.0) + 2 * PAD
        self.height = len(self.rows) * svg.LINE + PAD

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def across(self, down: bool) -> float:
        """The size across layers that follow each other down, or to the right."""
        return self.width if down else self.height

    def along(self, down: bool) -> float:
        return self.height if down else self.width

    def move(self, across: float, along: float, down: bool) -> None:
        self.x, self.y = (across, along) if down else (along, across)

    def drawn(self) -> str:
        rows = (
            svg.text(self.x + PAD, self.y + svg.LINE * (i + 0.95), text, style)
            for i, (text, style) in enumerate(self.rows)
        )
        box = svg.element("rect", class_="box", x=self.x, y=self.y, width=self.width, height=self.height, rx=5.0)
        title = f"<title>{escape(self.title)}</title>" if self.title else ""
        return svg.element("g", title + box + "".join(rows), class_=self.kind)
