"""Which hyper-nodes a change of rules affects directly (paper 004, Algorithms 2 and 3).

    a rule is added     the hyper-node that it is in now, which may have come about by merging old ones
    a rule is removed   what is left of its hyper-node. If that is split, or if nothing is left, also the successors:
                        the hyper-nodes that read what it derived

The paper's examples say the second part: r4 gone splits hn2, and its successors hn3 and hn4 are affected directly;
r7 gone leaves hn2 (of Figure 5) whole, and only hn2 is. What is further downstream is ordinary maintenance.
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
