"""Plots as SVG text, by hand: bars and lines on logarithmic axes. No library: a page of code does what we need.

They follow the reader's choice of light or dark, in a page and as a picture of their own.
Everything that is text goes through `escape`, so that the result is XML whatever the names are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from xml.sax.saxutils import escape

COLOURS = (
    "#1f6fb4",
    "#9ecae1",
    "#e6842a",
    "#4d9e4a",
    "#c44e52",
    "#8a63b0",
    "#8c6d5a",
    "#d67bb5",
    "#777777",
    "#b5a72c",
    "#17a2a2",
    "#5b4b8a",
    "#a0522d",
    "#7fbf7b",
)
WIDTH, LEFT, RIGHT = 900, 210, 90
BAR, GAP, TOP, BOTTOM = 13, 10, 40, 26
ROW, LETTER = 18, 6.6  # of the legend: the height of a row, the width of a letter


@dataclass(frozen=True)
class Bar:
    series: str
    value: float | None  # None: nothing to draw, and `label` says why
    label: str


def bars(title: str, unit: str, groups: Sequence[tuple[str, Sequence[Bar]]], order: Sequence[str]) -> str:
    """Groups of horizontal bars on one logarithmic axis; `order` gives the series their colours."""
    values = [bar.value for _, group in groups for bar in group if bar.value]
    low, high = _decades(values)
    places = list(_legend_places(order))
    top = _below(places)
    height = top + sum(len(group) * BAR + GAP for _, group in groups) + BOTTOM
    parts = [*_legend(places), *_grid(low, high, top, height, unit)]
    y = float(top)
    for name, group in groups:
        middle = y + len(group) * BAR / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle:.1f}" text-anchor="end">{escape(name)}</text>')
        for bar in group:
            parts += _bar(bar, y, low, high, order)
            y += BAR
        y += GAP
    return _svg(title, height, parts)


def _bar(bar: Bar, y: float, low: int, high: int, order: Sequence[str]) -> Iterable[str]:
    width = _place(bar.value, low, high) - LEFT if bar.value else 0.0
    hint = f"<title>{escape(bar.series)}: {escape(bar.label)}</title>"
    colour = COLOURS[order.index(bar.series) % len(COLOURS)]
    size = f'x="{LEFT}" y="{y + 1:.1f}" width="{max(width, 1):.1f}" height="{BAR - 2}"'
    yield f'<rect {size} fill="{colour}">{hint}</rect>'
    shown = bar.label if bar.value else f"{bar.series}: {bar.label}"
    yield f'<text x="{LEFT + max(width, 1) + 4:.1f}" y="{y + BAR - 3:.1f}" class="small">{escape(shown)}</text>'


@dataclass(frozen=True)
class Panel:
    title: str
    bars: Sequence[Bar]


BOLD, MARGIN = 7.2, 20  # the width of a bold letter on average; what is free between panels
HEAD, COLUMN, NAMES, VALUES = 20, WIDTH // 2, 86, 130  # of a panel: its title, the width, the bars' names and values


def panels(title: str, note: str, drawn: Sequence[Panel], order: Sequence[str]) -> str:
    """Panels in two columns, each with named bars, all on one logarithmic axis; bars have their values beside them."""
    low, high = _decades([bar.value for panel in drawn for bar in panel.bars if bar.value])
    rows = [drawn[i : i + 2] for i in range(0, len(drawn), 2)]
    parts, y = [f'<text x="12" y="38" class="small">{escape(note)}</text>'], float(TOP + 12)
    for row in rows:
        for place, panel in enumerate(row):
            parts += _panel(panel, 12 + place * COLUMN, y, (low, high), order)
        y += HEAD + max(len(panel.bars) for panel in row) * (BAR + 2) + GAP + 8
    return _svg(title, round(y), parts)


def _panel(panel: Panel, x: float, y: float, axis: tuple[int, int], order: Sequence[str]) -> Iterable[str]:
    yield f'<text x="{x:.0f}" y="{y + 12:.1f}" class="head"{_squeezed(panel.title)}>{escape(panel.title)}</text>'
    start, room = x + NAMES, COLUMN - NAMES - VALUES
    for number, bar in enumerate(panel.bars):
        top = y + HEAD + number * (BAR + 2)
        share = (log10(bar.value) - axis[0]) / (axis[1] - axis[0]) if bar.value else 0.0
        width = max(share * room, 2.0) if bar.value else 0.0
        colour = COLOURS[order.index(bar.series) % len(COLOURS)]
        base = f'y="{top + BAR - 2:.1f}" class="small"'
        yield f'<text x="{start - 6:.0f}" text-anchor="end" {base}>{escape(bar.series)}</text>'
        yield f'<rect x="{start:.0f}" y="{top:.1f}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
        yield f'<text x="{start + width + 5:.1f}" {base}>{escape(bar.label)}</text>'


def _squeezed(title: str) -> str:
    """Letters as narrow as it takes for a title to end before the next panel begins."""
    width = COLUMN - MARGIN
    return f' textLength="{width}" lengthAdjust="spacingAndGlyphs"' if len(title) * BOLD > width else ""


def lines(title: str, x_unit: str, y_unit: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A line for each series, both axes logarithmic; points are (x, y)."""
    order, height = list(series), 420
    places = list(_legend_places(order))
    top = _below(places)
    x_low, x_high = _decades([x for points in series.values() for x, _ in points])
    y_low, y_high = _decades([y for points in series.values() for _, y in points])

    def at(x: float, y: float) -> tuple[float, float]:
        up = (log10(y) - y_low) / (y_high - y_low)
        return _place(x, x_low, x_high), height - BOTTOM - 20 - up * (height - top - BOTTOM - 20)

    parts = [*_legend(places), *_grid(x_low, x_high, top, height, x_unit)]
    for decade in range(y_low, y_high + 1):
        y = at(10.0**x_low, 10.0**decade)[1]
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        label = f"{_power(decade)} {y_unit}"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" class="small">{escape(label)}</text>')
    for name, points in series.items():
        parts += _line(name, [at(*point) for point in sorted(points)], COLOURS[order.index(name) % len(COLOURS)])
    return _svg(title, height, parts)


def _line(name: str, places: Sequence[tuple[float, float]], colour: str) -> Iterable[str]:
    for (x1, y1), (x2, y2) in pairwise(places):
        yield f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="2"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(name)}</title></circle>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around all values; at least one decade."""
    positive = [value for value in values if value > 0] or [1.0]
    low = floor(log10(min(positive)))
    return low, max(ceil(log10(max(positive))), low + 1)


def _place(value: float, low: int, high: int) -> float:
    share = (log10(value) - low) / (high - low)
    return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)


def _grid(low: int, high: int, top: int, height: int, unit: str) -> Iterable[str]:
    for decade in range(low, high + 1):
        x = _place(10.0**decade, low, high)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{height - BOTTOM}" class="grid"/>'
        label = f"{_power(decade)} {unit}"
        yield f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle" class="small">{escape(label)}</text>'


def _power(decade: int) -> str:
    return f"{10**decade:,}" if decade >= 0 else f"{10.0**decade:.{-decade}f}"


def _legend_places(order: Sequence[str]) -> Iterable[tuple[str, float, int]]:
    """Name, x and row of each series, in as many rows as they need."""
    x, row = 12.0, 0
    for name in order:
        width = 34 + LETTER * len(name)
        if x > 12 and x + width > WIDTH:
            x, row = 12.0, row + 1
        yield name, x, row
        x += width


def _below(places: Sequence[tuple[str, float, int]]) -> int:
    return TOP + ROW * (1 + max((row for _, _, row in places), default=0))


def _legend(places: Sequence[tuple[str, float, int]]) -> Iterable[str]:
    for number, (name, x, row) in enumerate(places):
        y = TOP - 10 + ROW * row
        yield f'<rect x="{x:.0f}" y="{y}" width="11" height="11" fill="{COLOURS[number % len(COLOURS)]}"/>'
        yield f'<text x="{x + 15:.0f}" y="{y + 10}" class="small">{escape(name)}</text>'


STYLE = (
    "text{font:12px sans-serif;fill:#222}.small{font-size:11px;fill:#444}.title{font-weight:bold;font-size:14px}"
    ".head{font-weight:bold}.grid{stroke:#ddd}.paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.small{fill:#b8bcc2}.grid{stroke:#3a3f47}.paper{fill:#0d1117}}"
)


def _svg(title: str, height: int, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">\n'
        f'<style>{STYLE}</style>\n<rect width="{WIDTH}" height="{height}" class="paper"/>\n'
        f'<text x="12" y="20" class="title">{escape(title)}</text>\n{body}\n</svg>\n'
    )
