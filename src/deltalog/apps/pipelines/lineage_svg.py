"""The lineage of a pipeline as SVG: sources to the left, predicates in the middle, sinks to the right.

A predicate stands to the right of those that its rules read; predicates that depend on each other share a column.
Predicates of sources that no rule and no sink reads are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deltalog.core.render.boxes import Box
from deltalog.core.render.layers import draw_layers
from deltalog.core.render.svg import MARGIN, document
from deltalog.program.components import components

MAX_CHARACTERS = 40
COLOURS = {"source": "green", "predicate": "blue", "sink": "yellow"}

Node = tuple[str, str]  # what it is, and its name


def draw_lineage(lineage: Mapping[str, Any]) -> str:
    """The SVG text."""
    edges = _edges(lineage)
    levels = _levels(edges, lineage)
    boxes = {node: Box([(_label(node), "")], COLOURS[node[0]], " ".join(node)) for node in levels}
    columns = [[boxes[node] for node in levels if levels[node] == level] for level in sorted(set(levels.values()))]
    arrows = [(boxes[a], boxes[b], "") for a, b in edges if a != b]
    return document(*draw_layers(columns, arrows, MARGIN, MARGIN, down=False))


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


def _label(node: Node) -> str:
    name = node[1]
    return name if len(name) <= MAX_CHARACTERS else f"…{name[-MAX_CHARACTERS:]}"
