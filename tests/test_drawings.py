"""Drawings of graphs: boxes do not overlap, and arrows cross none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random
from xml.etree import ElementTree

import pytest

from deltalog.core.render.boxes import Box
from deltalog.core.render.layers import draw_layers
from deltalog.core.render.svg import document
from deltalog.core.render.text_tree import text_tree

SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[float, float]


def random_graph(seed: int, beside: bool) -> tuple[list[list[Box]], list[tuple[Box, Box, str]]]:
    random = Random(seed)
    rows = [("x" * random.randrange(1, 40), "") for _ in range(6)]
    layers = [
        [Box(random.sample(rows, random.randrange(1, 5))) for _ in range(random.randrange(1, 6))]
        for _ in range(random.randrange(2, 7))
    ]
    pairs = [(a, b) for one, other in combinations(layers, 2) for a in one for b in other]
    edges = [(a, b, random.choice(("", "warning"))) for a, b in random.sample(pairs, min(len(pairs), 12))]
    return layers, edges + [(a, b, "") for layer in layers if beside for a, b in pairwise(layer)]


def curve(path: str) -> Iterator[Point]:
    """Points of a path of lines and curves."""
    here = (0.0, 0.0)
    for command, numbers in re.findall(r"([MLC])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        points = [here, *zip(values[::2], values[1::2], strict=True)]
        here = points[-1]
        for i in range(21 if command != "M" else 0):
            found = points
            while len(found) > 1:  # de Casteljau
                found = [(a + (c - a) * i / 20, b + (d - b) * i / 20) for (a, b), (c, d) in pairwise(found)]
            yield found[0]


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_arrows_pass_boxes(seed: int, down: bool) -> None:
    layers, edges = random_graph(seed, beside=not down)
    shapes, right, bottom = draw_layers(layers, edges, 10, 10, down=down, widest=700)
    root = ElementTree.fromstring(document(shapes, right, bottom))
    boxes = [box for layer in layers for box in layer]
    for a, b in combinations(boxes, 2):
        assert a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y
    paths = [path.attrib["d"] for path in root.findall(f"{SVG}path")]
    assert len(paths) == len(edges)
    for x, y in (point for path in paths for point in curve(path)):
        assert 0 <= x <= float(root.attrib["width"]) and 0 <= y <= float(root.attrib["height"])
        for box in boxes:
            assert not (box.x + 0.2 < x < box.right - 0.2 and box.y + 0.2 < y < box.bottom - 0.2)


def test_arrows_into_one_box_have_heads_of_their_own() -> None:
    """Those of the same style that come from afar share a line, and so a head."""
    a, b, c, d = (Box([(name * 20, "")]) for name in "abcd")
    shapes, _, _ = draw_layers([[a, b], [c], [d]], [(a, d, ""), (b, d, "warning"), (c, d, "")], 0, 0)
    ends = [re.findall(r"([\d.]+ [\d.]+)\"", shape)[0] for shape in shapes if "marker-end" in shape]
    assert len(set(ends)) == 3
    shapes, _, _ = draw_layers([[a, b], [c], [d]], [(a, d, ""), (b, d, ""), (c, d, "")], 0, 0)
    assert sum("marker-end" in shape for shape in shapes) == 2


def test_a_tree_of_text() -> None:
    below = {"a": ["b", "c"], "b": ["d"]}
    lines = text_tree("a", lambda node: below.get(node, []), lambda node, _: [node, node.upper()])
    assert list(lines) == ["a", "│  A", "├─ b", "│  │  B", "│  └─ d", "│        D", "└─ c", "      C"]
