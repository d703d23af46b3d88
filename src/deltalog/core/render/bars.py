"""Bar charts."""

from __future__ import annotations

from collections.abc import Mapping

from deltalog.core.render import svg

LEFT, BAR, GAP, WIDTH, ROW = 200, 14, 10, 420, 18
COLOURS = ("#4878a8", "#d8903c", "#5a9e6f", "#a05a9e", "#888888")


def bars(title: str, groups: Mapping[str, Mapping[str, float]], unit: str = "") -> str:
    """A chart with a bar for each figure; groups one below the other, the same names in the same colours."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    most = max((value for group in groups.values() for value in group.values()), default=1.0) or 1.0
    shapes, y = [svg.text(8, 18, title, "title")], 34.0
    for group, figures in groups.items():
        shapes.append(svg.text(LEFT - 8, y + BAR - 3, group, text_anchor="end"))
        for name, value in figures.items():
            shapes += _bar(y, max(value / most * WIDTH, 1), colours[name], f"{value:.3g}{unit}")
            y += BAR + 2
        y += GAP
    for name, colour in colours.items():
        shapes += _bar(y, 12, colour, name)
        y += ROW
    return svg.document(shapes, LEFT + WIDTH + 110, y)


def _bar(y: float, width: float, colour: str, label: str) -> list[str]:
    bar = svg.element("rect", x=LEFT, y=y, width=width, height=float(BAR), fill=colour)
    return [bar, svg.text(LEFT + width + 6, y + BAR - 3, label)]
