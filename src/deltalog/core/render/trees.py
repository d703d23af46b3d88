"""Drawings of trees (Reingold and Tilford 1981): boxes as close as they fit, and lines that never cross them.

Trees that are deep and narrow grow downwards, wide ones to the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deltalog.core.render.boxes import Box
from deltalog.core.render.svg import element

LAYER_GAP, BOX_GAP, WIDE_ENOUGH = 34, 12, 1400


@dataclass(eq=False)
class Tree:
    """A box, and the trees below it."""

    box: Box
    children: Sequence[Tree] = ()
    across: float = 0.0  # the place in its layer: x if the tree grows downwards, else y

    def walk(self) -> Iterator[Tree]:
        yield self
        for child in self.children:
            yield from child.walk()


def draw_tree(root: Tree, left: float, top: float) -> tuple[list[str], float, float]:
    """The shapes of a tree, and its right and bottom ends."""
    layers = [[root]]
    while below := [child for tree in layers[-1] for child in tree.children]:
        layers.append(below)
    is_down = _extent(root) <= max(WIDE_ENOUGH, sum(max(tree.box.width for tree in layer) for layer in layers))
    _move(root, (left if is_down else top) - min(low for low, _ in _pack(root, is_down)))
    along = top if is_down else left
    for layer in layers:
        for tree in layer:
            tree.box.move(tree.across, along, is_down)
        along += max(tree.box.along(is_down) for tree in layer) + LAYER_GAP
    trees = list(root.walk())
    shapes = [_line(tree.box, child.box, is_down) for tree in trees for child in tree.children]
    shapes += (tree.box.drawn() for tree in trees)
    return shapes, max(tree.box.right for tree in trees), max(tree.box.bottom for tree in trees)


def _extent(root: Tree) -> float:
    """The width of a tree that grows downwards."""
    contour = _pack(root, True)
    return max(high for _, high in contour) - min(low for low, _ in contour)


def _pack(tree: Tree, is_down: bool) -> list[tuple[float, float]]:
    """Sets `across` of a tree, as close as its boxes fit; the ends of each of its layers."""
    size = tree.box.across(is_down)
    packed: list[tuple[float, float]] = []
    centres, depths = [], []
    for child in tree.children:
        contour = _pack(child, is_down)
        apart = [high + BOX_GAP - low for (_, high), (low, _) in zip(packed, contour, strict=False)]
        shift = max(apart, default=0.0)
        _move(child, shift)
        contour = [(low + shift, high + shift) for low, high in contour]
        both = [(low, high) for (low, _), (_, high) in zip(packed, contour, strict=False)]
        packed = both + packed[len(both) :] + contour[len(both) :]
        centres.append(child.across + child.box.across(is_down) / 2)
        depths.append(len(contour))
    tree.across = _centre(centres, depths) - size / 2
    return [(tree.across, tree.across + size), *packed]


def _move(root: Tree, distance: float) -> None:
    for tree in root.walk():
        tree.across += distance


def _centre(centres: list[float], depths: list[int]) -> float:
    """Where a box stands over its children: over the deep one of a chain, else over their middle."""
    *others, deepest = sorted(depths) or [0]
    if others and deepest > others[-1] + 1:
        return centres[depths.index(deepest)]
    return (centres[0] + centres[-1]) / 2 if centres else 0.0


def _line(box: Box, child: Box, is_down: bool) -> str:
    if is_down:
        x1, y1, x2, y2 = box.x + box.width / 2, box.bottom, child.x + child.width / 2, child.y
        return element("path", d=f"M{x1:.1f} {y1:.1f} V{y2 - LAYER_GAP / 2:.1f} H{x2:.1f} V{y2:.1f}")
    x1, y1, x2, y2 = box.right, box.y + box.height / 2, child.x, child.y + child.height / 2
    return element("path", d=f"M{x1:.1f} {y1:.1f} H{x2 - LAYER_GAP / 2:.1f} V{y2:.1f} H{x2:.1f}")
