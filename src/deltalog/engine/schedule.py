"""Hyper-nodes in the order of evaluation; those that a backend wants together, together.

Hyper-nodes of one depth do not depend on each other. Where a round has a fixed price, as on Spark, all of a depth that
are not recursive are one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltalog.program import HyperNode
from deltalog.syntax.ast import Pred


def evaluation_order(hyper_nodes: Sequence[HyperNode], batches: bool) -> Iterator[tuple[int, HyperNode]]:
    """The hyper-nodes with the number of each; of several together, that of the last."""
    passes: dict[tuple[int, int], list[tuple[int, HyperNode]]] = {}
    for number, hyper_node in enumerate(hyper_nodes):
        alone = hyper_node.recursive or not batches
        passes.setdefault((hyper_node.depth, number if alone else -1), []).append((number, hyper_node))
    for members in passes.values():
        yield members[-1][0], _together([hyper_node for _, hyper_node in members])


def _together(hyper_nodes: Sequence[HyperNode]) -> HyperNode:
    if len(hyper_nodes) == 1:
        return hyper_nodes[0]
    none: frozenset[Pred] = frozenset()
    return HyperNode(
        tuple(rule for hyper_node in hyper_nodes for rule in hyper_node.rules),
        False,
        hyper_nodes[0].depth,
        none.union(*(hyper_node.heads for hyper_node in hyper_nodes)),
        none.union(*(hyper_node.reads for hyper_node in hyper_nodes)),
        none.union(*(hyper_node.negated for hyper_node in hyper_nodes)),
    )
