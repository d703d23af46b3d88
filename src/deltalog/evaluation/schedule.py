"""The order in which hyper-nodes are evaluated.

Hyper-nodes of one depth do not depend on each other. Where a round has a fixed cost, as on Spark, or where there are
thousands of them, as with large ontologies, all nonrecursive ones of a depth are evaluated together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltalog.core.rules import Pred
from deltalog.program import HyperNode


def evaluation_order(hyper_nodes: Sequence[HyperNode], batches: bool) -> Iterator[tuple[int, HyperNode]]:
    """The hyper-nodes with their numbers; several that are evaluated together have the number of the last one."""
    groups: dict[tuple[int, int], list[tuple[int, HyperNode]]] = {}
    for number, hyper_node in enumerate(hyper_nodes):
        separate = hyper_node.recursive or not batches
        groups.setdefault((hyper_node.depth, number if separate else -1), []).append((number, hyper_node))
    for members in groups.values():
        yield members[-1][0], _merged([hyper_node for _, hyper_node in members])


def _merged(hyper_nodes: Sequence[HyperNode]) -> HyperNode:
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
