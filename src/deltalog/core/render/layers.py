"""Drawings of directed graphs in layers (Sugiyama, Tagawa and Toda 1981), with arrows that pass boxes at their sides.

An arrow that spans several layers has a *bend* in each layer between: a place for its line, beside the boxes. The long
arrows of one box share their bends, so that many arrows into (or out of) a box become one line. Places are ordered, and
moved, towards the mean of their neighbours, a layer after the other, down and up several times. Within a layer, the
places that are nearest to the wanted ones are found by pooling adjacent violators (Ayer et al. 1955). An arrow between
boxes of one layer goes around the boxes between, forwards behind the layer and backwards before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from deltalog.core.render import svg
from deltalog.core.render.boxes import Box

BOX_GAP, LINE_GAP, LAYER_GAP = 24, 12, 48  # pixels between boxes of a layer, beside lines, and between layers
SWEEPS = 6  # down and up
PORT_GAP = 18  # pixels between arrows at a box, at most
MOST_BENDS = 20_000  # of a graph; in a larger one, long arrows have none

LayerEdge = tuple[Box, Box, str]  # from, to, and the class of the arrow
Point = tuple[float, float]  # across layers, and along them


@dataclass(eq=False, slots=True)
class _Place:
    """A place in a layer, for a box or a bend."""

    layer: int
    size: float = 0.0
    box: Box | None = None
    centre: float = 0.0
    before: list[_Place] = field(default_factory=list)
    after: list[_Place] = field(default_factory=list)


def draw_layers(
    layers: Sequence[Sequence[Box]],
    edges: Iterable[LayerEdge],
    left: float,
    top: float,
    *,
    down: bool = True,
    widest: float = inf,
) -> tuple[list[str], float, float]:
    """The shapes of a graph whose layers follow each other down, or to the right, and its right and bottom ends. Edges
    lead to later layers, or stay in one. A layer that is wider than `widest` is broken into several."""
    graph = _Graph([part for layer in layers for part in _broken(layer, down, widest)], edges, down)
    graph.arrange()
    graph.place(*((left, top) if down else (top, left)))
    places = [place for layer in graph.layers for place in layer]
    shapes = [*graph.arrows(), *(place.box.drawn() for place in places if place.box is not None)]
    across = max((place.centre + place.size / 2 for place in places), default=0.0)
    along = graph.ends[-1] + graph.beyond(len(graph.layers) - 1) if graph.layers else 0.0
    return (shapes, across, along) if down else (shapes, along, across)


def _broken(layer: Sequence[Box], down: bool, widest: float) -> Iterator[list[Box]]:
    part: list[Box] = []
    size = 0.0
    for box in layer:
        if part and size + box.across(down) > widest:
            yield part
            part, size = [], 0.0
        part.append(box)
        size += box.across(down) + BOX_GAP
    yield part


class _Graph:
    """The places of boxes and bends, and the routes of arrows through them."""

    def __init__(self, layers: Sequence[Sequence[Box]], edges: Iterable[LayerEdge], down: bool) -> None:
        self.down = down
        self.layers = [[_Place(i, box.across(down), box) for box in layer] for i, layer in enumerate(layers)]
        places = {place.box: place for layer in self.layers for place in layer}
        found = [(places[source], places[target], style) for source, target, style in edges]
        self.beside = [edge for edge in found if edge[0].layer == edge[1].layer]
        self.bends: dict[tuple[_Place, str, int], _Place] = {}
        self.routes = list(self._routes([edge for edge in found if edge[0].layer < edge[1].layer]))
        self.starts: list[float] = []  # of the layers
        self.ends: list[float] = []
        self.ports: dict[tuple[_Place, _Place], float] = {}  # where the line from a place to another one meets it

    def _routes(self, edges: Sequence[tuple[_Place, _Place, str]]) -> Iterator[tuple[str, list[_Place]]]:
        long = [(a, b) for a, b, _ in edges if b.layer - a.layer > 1]
        count: dict[_Place, int] = {}
        for place in (place for edge in long for place in edge):
            count[place] = count.get(place, 0) + 1
        has_bends = sum(b.layer - a.layer - 1 for a, b in long) <= MOST_BENDS
        for a, b, style in edges:
            owner = b if count.get(b, 0) > count.get(a, 0) else a
            between = range(a.layer + 1, b.layer) if has_bends else ()
            route = [a, *(self._bend(owner, style, layer) for layer in between), b]
            for one, other in pairwise(route):
                if other not in one.after:
                    one.after.append(other)
                    other.before.append(one)
            yield style, route

    def _bend(self, owner: _Place, style: str, layer: int) -> _Place:
        bend = self.bends.get((owner, style, layer))
        if bend is None:
            bend = self.bends[owner, style, layer] = _Place(layer)
            self.layers[layer].append(bend)
        return bend

    # Across layers.

    def arrange(self) -> None:
        """Orders the places of each layer, and sets their centres."""
        for layer in self.layers:
            _spread(layer, [0.0] * len(layer))
        for _ in range(SWEEPS):
            for layer in self.layers:
                _order(layer, [_mean(place.before, place.centre) for place in layer])
            for layer in reversed(self.layers):
                _order(layer, [_mean(place.after, place.centre) for place in layer])
        for layer in self.layers:
            _spread(layer, [_mean([*place.before, *place.after], place.centre) for place in layer])

    # Along layers.

    def beyond(self, layer: int) -> float:
        """The room for arrows between boxes of a layer, outside of it."""
        return LAYER_GAP if any(a.layer == layer for a, _, _ in self.beside) else 0.0

    def place(self, across: float, along: float) -> None:
        """Gives all boxes their places, from a point on."""
        shift = across - min((p.centre - p.size / 2 for layer in self.layers for p in layer), default=0.0)
        along += self.beyond(0)
        for layer in self.layers:
            boxes = [place.box for place in layer if place.box is not None]
            size = max((box.along(self.down) for box in boxes), default=0.0)
            for place in layer:
                place.centre += shift
                if place.box is not None:
                    place.box.move(place.centre - place.size / 2, along, self.down)
            if not self.down:
                for box in boxes:
                    box.width = size
            self.starts.append(along)
            self.ends.append(along + size)
            along += size + LAYER_GAP
        for place in (place for layer in self.layers for place in layer):
            for neighbours in (place.before, place.after):
                step = min(PORT_GAP, place.size / (len(neighbours) + 1))
                first = place.centre - step * (len(neighbours) - 1) / 2
                for i, other in enumerate(sorted(neighbours, key=lambda other: other.centre)):
                    self.ports[place, other] = first + i * step

    # Arrows.

    def arrows(self) -> Iterator[str]:
        """The lines of all arrows. What two of them share is drawn once, and only the last part has a head."""
        drawn: set[tuple[_Place, _Place]] = set()
        for style, route in self.routes:
            new = [pair for pair in pairwise(route) if pair not in drawn]
            drawn.update(new)
            if new:
                yield svg.arrow(self._path(new), style, has_head=new[-1][1].box is not None)
        for a, b, style in self.beside:
            yield svg.arrow(self._around(a, b), style)

    def _path(self, pairs: Sequence[tuple[_Place, _Place]]) -> str:
        path = ""
        for one, other in pairs:
            start, end = self.ports[one, other], self.ports[other, one]
            leave, enter = self.ends[one.layer], self.starts[other.layer]
            begin = leave
            if one.box is not None:
                begin = one.box.bottom if self.down else one.box.right
            elif path:
                begin = self.starts[one.layer]
            path += self._points("L" if path else "M", (start, begin)) + self._points("L", (start, leave))
            middle = (leave + enter) / 2
            path += self._points("C", (start, middle), (end, middle), (end, enter))
        return path

    def _around(self, a: _Place, b: _Place) -> str:
        """An arrow to another box of the layer."""
        forwards = a.centre < b.centre
        side, sign = (self.ends[a.layer], 1) if forwards else (self.starts[a.layer], -1)
        out = side + sign * min(0.9 * LAYER_GAP, LINE_GAP + abs(a.centre - b.centre) / 4)
        start, end = a.centre + sign * a.size / 4, b.centre - sign * b.size / 4
        return self._points("M", (start, side)) + self._points("C", (start, out), (end, out), (end, side))

    def _points(self, command: str, *points: Point) -> str:
        ordered = points if self.down else [(along, across) for across, along in points]
        return command + " ".join(f"{x:.1f} {y:.1f}" for x, y in ordered)


def _mean(places: Sequence[_Place], otherwise: float) -> float:
    return sum(place.centre for place in places) / len(places) if places else otherwise


def _order(layer: list[_Place], wanted: Sequence[float]) -> None:
    """Sorts a layer by the centres that its places want, and spreads it."""
    order = sorted(range(len(layer)), key=wanted.__getitem__)
    layer[:] = [layer[i] for i in order]
    _spread(layer, [wanted[i] for i in order])


def _spread(layer: Sequence[_Place], wanted: Sequence[float]) -> None:
    """Sets the centres of a layer, in their order and apart, such that the squares of their distances from the wanted
    ones are least."""
    offsets, pools = (
        [0.0],
        list[tuple[float, int]](),
    )  # of neighbours that touch: the mean of wanted starts, and a number
    for one, other in pairwise(layer):
        gap = BOX_GAP if one.box is not None and other.box is not None else LINE_GAP
        offsets.append(offsets[-1] + (one.size + other.size) / 2 + gap)
    for want, offset in zip(wanted, offsets, strict=False):
        mean, number = want - offset, 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, number = (mean * number + before * count) / (number + count), number + count
        pools.append((mean, number))
    starts = (mean for mean, number in pools for _ in range(number))
    for place, start, offset in zip(layer, starts, offsets, strict=False):
        place.centre = start + offset
