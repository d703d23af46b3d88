"""TC+, U and TCU of Zhang's thesis (section 5.7.4 and appendix D): synthetic relations for its closure and union
schemes.

The data were not published, only their sizes, which say what they must have been like:

    TC+    22 k facts => 12 M: r, r2 and x have 4 M each, all pairs of 2,000 nodes: one strongly connected component
    U       7 M facts => 14 M: u is the union of fourteen disjoint relations
    TCU    13 k facts => 19 M: a and a2 have 3.6 M each (all pairs of 1,900 nodes), u, b and c 4 M

So these are random directed graphs over few nodes. Each relation has exactly its share of the facts asked for.
"""

from __future__ import annotations

import numpy as np

from benchmarks.generators.draws import Ints, between

TC_PLUS = {"a": 8, "b": 4, "c": 4, "d": 2, "e": 1, "f": 3}  # shares, in twenty-seconds
TCU = {"a": 6, "b": 2, "d": 3, "e": 2}  # in thirteenths
UNION = "abcdefghijklmn"


def digraph(nodes: int, edges: int, seed: int, stream: str) -> Ints:
    """`edges` distinct pairs of different nodes."""
    possible = nodes * (nodes - 1)
    if edges * 3 > possible:
        raise ValueError(f"{nodes} nodes are too few for {edges} distinct edges drawn at random")
    codes = between(seed, stream, np.arange(2 * edges + 64), 0, possible - 1)
    _, first = np.unique(codes, return_index=True)
    source, target = np.divmod(codes[np.sort(first)[:edges]], nodes - 1)
    return np.column_stack([source, target + (target >= source)])


def tc_plus(nodes: int, facts: int, seed: int = 0) -> dict[str, Ints]:
    """Half of the rows of c are rows of b, so that r(x, y) <- b(x, y), c(x, y) has something to do."""
    rows = _shared(nodes, facts, TC_PLUS, seed)
    return rows | {"c": _overlapping(rows["b"], rows["c"])}


def tcu(nodes: int, facts: int, seed: int = 0) -> dict[str, Ints]:
    """Half of the rows of e are rows of d: u(x, y) <- d(x, y), e(x, y)."""
    rows = _shared(nodes, facts, TCU, seed)
    return rows | {"e": _overlapping(rows["d"], rows["e"])}


def union(facts: int, seed: int = 0) -> dict[str, Ints]:
    """Fourteen disjoint relations of a fourteenth each; d has its rows the other way round. u gets all `facts`."""
    rows = digraph(max(int(np.sqrt(4 * facts)), 8), facts, seed, "union")
    parts = dict(zip(UNION, np.array_split(rows, len(UNION)), strict=True))
    return parts | {"d": parts["d"][:, ::-1]}


def _shared(nodes: int, facts: int, shares: dict[str, int], seed: int) -> dict[str, Ints]:
    whole = sum(shares.values())
    if facts % whole:
        raise ValueError(f"{facts} facts cannot be divided by {whole}")
    return {name: digraph(nodes, facts // whole * share, seed, name) for name, share in shares.items()}


def _overlapping(first: Ints, second: Ints) -> Ints:
    """As many rows as `second`, the first half of them from `first`."""
    size, half = len(second), min(len(first), len(second) // 2)
    rows = np.concatenate([first[:half], second])
    _, kept = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(kept)[:size]]
