"""GYO reduction (Graham; Yu and Özsoyoğlu): which part of a body is cyclic.

An ear is an edge whose shared variables are all inside of one other edge. Ears are removed until none is left; the
remaining edges are the cyclic part, which is empty if the body is acyclic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltalog.core.rules import Variable

Edge = frozenset[Variable]


def cyclic_part(edges: Sequence[Edge]) -> list[Edge]:
    """The edges that remain after the reduction."""
    left = dict(enumerate(edges))
    while (ear := next((i for i in left if _is_ear(i, left)), None)) is not None:
        del left[ear]
    return list(left.values())


def is_acyclic(edges: Sequence[Edge]) -> bool:
    return not cyclic_part(edges)


def _is_ear(i: int, left: Mapping[int, Edge]) -> bool:
    others = [edge for j, edge in left.items() if j != i]
    shared = left[i] & Edge().union(*others)
    return any(shared <= other for other in others) or not others
