"""Bar charts as SVG, for the selector's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

LEFT, BAR, GAP, WIDTH, ROW = 170, 14, 10, 420, 18
COLOURS = ("#4878a8", "#d8903c", "#5a9e6f", "#a05a9e", "#888888")


def bars(title: str, groups: Mapping[str, Mapping[str, float]], unit: str = "") -> str:
    """One bar for each figure; groups one below the other, the same names in the same colours."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    most = max((value for group in groups.values() for value in group.values()), default=1.0) or 1.0
    lines, y = [f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>'], 34
    for group, figures in groups.items():
        lines.append(f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escape(group)}</text>')
        for name, value in figures.items():
            lines += _bar(y, value / most * WIDTH, COLOURS[names.index(name) % len(COLOURS)], f"{value:.3g}{unit}")
            y += BAR + 2
        y += GAP
    lines += _legend(names, y)
    height = y + ROW * len(names) + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 110}" height="{height}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', *lines, "</svg>\n"])


def _bar(y: float, width: float, colour: str, label: str) -> list[str]:
    return [
        f'<rect x="{LEFT}" y="{y}" width="{max(width, 1):.1f}" height="{BAR}" fill="{colour}"/>',
        f'<text x="{LEFT + width + 6:.1f}" y="{y + BAR - 3}">{escape(label)}</text>',
    ]


def _legend(names: Sequence[str], y: float) -> list[str]:
    found = []
    for i, name in enumerate(names):
        at = y + ROW * i
        found.append(f'<rect x="{LEFT}" y="{at}" width="12" height="12" fill="{COLOURS[i % len(COLOURS)]}"/>')
        found.append(f'<text x="{LEFT + 18}" y="{at + 10}">{escape(name)}</text>')
    return found
