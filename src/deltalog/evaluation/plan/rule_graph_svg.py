"""The dependency graph as SVG: a box for each hyper-node, a layer for each depth, arrows from deriving to reading
hyper-nodes (red and dashed for negation and aggregation). Below it are the hypertree decompositions by which rules are
evaluated (`plan.hypertree.draw`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from deltalog.core.render.boxes import Box
from deltalog.core.render.layers import LayerEdge, draw_layers
from deltalog.core.render.svg import LINE, MARGIN, document
from deltalog.core.render.text_width import cut_end
from deltalog.evaluation.plan.explain import bridges_noted
from deltalog.evaluation.plan.hypertree.choose import TreeChoice, choose_tree
from deltalog.evaluation.plan.hypertree.draw import draw_decomposition
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.evaluation.plan.statistics import Statistics, UnknownStatistics
from deltalog.program import HyperNode, Program

WIDEST = 1500  # pixels of the boxes of a layer
MAX_COLUMNS, MAX_RULES = 80, 12  # columns of a rule, and rules of a hyper-node, that are shown


def draw(
    program: Program,
    prefixes: Mapping[str, str] | None = None,
    statistics: Statistics | None = None,
    cyclic: str = "standard",
) -> str:
    """The SVG text."""
    nodes, prefixes = program.hyper_nodes, prefixes or {}
    boxes = [_box(program, node, prefixes) for node in nodes]
    depths = range(max((node.depth for node in nodes), default=-1) + 1)
    layers = [[box for box, node in zip(boxes, nodes, strict=True) if node.depth == depth] for depth in depths]
    shapes, width, bottom = draw_layers(layers, _edges(nodes, boxes), MARGIN, MARGIN, widest=WIDEST)
    for choice in _choices(program, statistics or UnknownStatistics(), cyclic):
        tree, right, bottom = draw_decomposition(choice, prefixes, MARGIN, bottom + 2 * LINE)
        shapes, width = shapes + tree, max(width, right)
    return document(shapes, width, bottom)


def _choices(program: Program, statistics: Statistics, cyclic: str) -> list[TreeChoice]:
    rules = [rule for node in program.hyper_nodes for rule in node.rules if not program.is_bridge(rule)]
    return [choice for choice in (choose_tree(rule, statistics, cyclic) for rule in rules) if choice.by_tree]


def _edges(nodes: Sequence[HyperNode], boxes: Sequence[Box]) -> Iterator[LayerEdge]:
    """From each hyper-node to those that read a head of it; a warning where they do so negatively."""
    for b, reader in enumerate(nodes):
        for a, source in enumerate(nodes[:b]):
            if source.heads & reader.reads:
                yield boxes[a], boxes[b], "warning" if source.heads & reader.negated else ""


def _box(program: Program, node: HyperNode, prefixes: Mapping[str, str]) -> Box:
    rules = [rule for rule in node.rules if not program.is_bridge(rule)]
    texts = [shortened(str(rule).replace("\n", " "), prefixes) for rule in rules]
    lines = [cut_end(text, MAX_COLUMNS) for text in texts[:MAX_RULES]]
    lines += [f"... and {len(rules) - MAX_RULES} more"] if len(rules) > MAX_RULES else []
    bridges = len(node.rules) - len(rules)
    lines += [bridges_noted(bridges)] if bridges else []
    return Box([(line, "") for line in lines], "yellow" if node.recursive else "blue", "\n".join(texts))
