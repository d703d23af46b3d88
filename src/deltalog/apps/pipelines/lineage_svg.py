"""The lineage of a pipeline as SVG: sources to the left, predicates in the middle, sinks to the right.

A predicate stands to the right of those that its rules read; predicates that depend on each other share a column.
Predicates of sources that no rule and no sink reads are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from deltalog.program.components import components

LINE, CHARACTER, MARGIN, GAP = 26, 7.0, 10, 60
MAX_CHARACTERS = 40
ARROW_HEAD = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,0 8,4 0,8" fill="#889"/></marker></defs>\n'
)
FILL = {"source": "#e6f2e6", "predicate": "#eef3fb", "sink": "#fff3d6"}

Node = tuple[str, str]  # what it is, and its name


def draw_lineage(lineage: Mapping[str, Any]) -> str:
    """The SVG text."""
    edges = _edges(lineage)
    levels = _levels(edges, lineage)
    places = _places(levels)
    width = max((x + w for x, _, w in places.values()), default=0) + MARGIN
    height = max((y for _, y, _ in places.values()), default=0) + 2 * LINE
    shapes = [_arrow(places[a], places[b]) for a, b in edges if a != b]
    shapes += [_box(node, place) for node, place in places.items()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'font-family="monospace" font-size="12">\n{ARROW_HEAD}{"".join(shapes)}\n</svg>'
    )


def _edges(lineage: Mapping[str, Any]) -> list[tuple[Node, Node]]:
    read = {name for rule in lineage["rules"] for name in rule["reads"]}
    read |= {sink["predicate"] for sink in lineage["sinks"]}
    found = [
        (("source", source["source"]), ("predicate", name))
        for source in lineage["sources"]
        for name in source["predicates"]
        if name in read
    ]
    for rule in lineage["rules"]:
        found += [(("predicate", a), ("predicate", b)) for a in rule["reads"] for b in rule["derives"]]
    found += [(("predicate", sink["predicate"]), ("sink", sink["sink"])) for sink in lineage["sinks"]]
    return list(dict.fromkeys(found))


def _levels(edges: Iterable[tuple[Node, Node]], lineage: Mapping[str, Any]) -> dict[Node, int]:
    """The column of each node: one more than the columns of what its component depends on."""
    before: dict[Node, list[Node]] = {("source", source["source"]): [] for source in lineage["sources"]}
    for a, b in edges:
        before.setdefault(a, [])
        before.setdefault(b, []).append(a)
    levels: dict[Node, int] = {}
    nodes = list(before)
    number = {node: i for i, node in enumerate(nodes)}
    _, members = components([[number[one] for one in before[node]] for node in nodes])
    for component in ({nodes[i] for i in some} for some in members):  # after those that it depends on
        outside = [levels[one] for node in component for one in before[node] if one not in component]
        levels |= dict.fromkeys(component, 1 + max(outside, default=-1))
    last = 1 + max((found for (what, _), found in levels.items() if what == "predicate"), default=0)
    return {node: last if node[0] == "sink" else found for node, found in levels.items()}


def _places(levels: Mapping[Node, int]) -> dict[Node, tuple[float, float, float]]:
    """x, y and width of each node."""
    places: dict[Node, tuple[float, float, float]] = {}
    x = float(MARGIN)
    for column in sorted(set(levels.values())):
        nodes = [node for node in levels if levels[node] == column]
        width = max(len(_label(node)) for node in nodes) * CHARACTER + 2 * MARGIN
        for row, node in enumerate(nodes):
            places[node] = (x, MARGIN + row * (LINE + MARGIN), width)
        x += width + GAP
    return places


def _label(node: Node) -> str:
    name = node[1]
    return name if len(name) <= MAX_CHARACTERS else f"…{name[-MAX_CHARACTERS:]}"


def _box(node: Node, place: tuple[float, float, float]) -> str:
    x, y, width = place
    return (
        f'<g><title>{escape(" ".join(node))}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{LINE}" rx="4" fill="{FILL[node[0]]}" stroke="#667"/>'
        f'<text x="{x + MARGIN:.1f}" y="{y + 17:.1f}">{escape(_label(node))}</text></g>'
    )


def _arrow(source: tuple[float, float, float], target: tuple[float, float, float]) -> str:
    x1, y1 = source[0] + source[2], source[1] + LINE / 2
    x2, y2 = target[0], target[1] + LINE / 2
    bend = (x1 + x2) / 2
    path = f"M{x1:.1f} {y1:.1f} C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="#889" marker-end="url(#arrow)"/>'
