"""Which hyper-nodes a change of rules affects directly (Xu and Curé, Algorithms 2 and 3).

    a rule is added     its new hyper-node, which may be a merger of old ones
    a rule is removed   the remaining rules of its hyper-node. If these are split, or if none remains, also the
                        successors: the hyper-nodes that read its heads

The second part follows the paper's examples: removing r4 splits hn2, so its successors hn3 and hn4 are directly
affected; removing r7 leaves hn2 (of Figure 5) whole, and only hn2 is affected. Maintenance handles everything further
downstream.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.program import Program


def directly_affected(old: Program, new: Program) -> tuple[HyperNode, ...]:
    """The hyper-nodes of the new program that are directly affected, in topological order."""
    before = {rule for node in old.hyper_nodes for rule in node.rules}
    found = {id(node) for node in new.hyper_nodes if not before.issuperset(node.rules)}
    found.update(id(node) for node in _by_removal(old, new))
    return tuple(node for node in new.hyper_nodes if id(node) in found)


def _by_removal(old: Program, new: Program) -> Iterator[HyperNode]:
    home = {rule: node for node in new.hyper_nodes for rule in node.rules}
    for node in old.hyper_nodes:
        left = [home[rule] for rule in node.rules if rule in home]
        if len(left) == len(node.rules):
            continue
        yield from left
        if len({id(part) for part in left}) != 1:
            yield from (successor for successor in new.hyper_nodes if successor.reads & node.heads)
