"""A labelled graph with skewed degrees, for the 23 cyclic rules that Zhang et al. has for YAGO.

YAGO itself is not ours to ship. The labels are those that the rules speak of; some are far more frequent than others,
as in YAGO, and so are some nodes, in both directions: node number floor(n u^2) for u uniform in [0, 1), so that a tenth
of the nodes has a third of the ends of edges. Exactly as many distinct facts as asked for.
"""

from __future__ import annotations

import numpy as np

from benchmarks.generators.draws import Ints, uniform

LABELS = (
    17,
    5,
    2,
    46,
    0,
    21,
    25,
    48,
    8,
    31,
    11,
    36,
    22,
    58,
    57,
    55,
    39,
    35,
    54,
    50,
    47,
    29,
)  # by frequency in the rules
SKEW = 2.0


def labelled(nodes: int, edges: int, seed: int = 0) -> dict[str, Ints]:
    """Rows (subject, object) for each label `http://edge17`, ...; `edges` of them together."""
    indexes = np.arange(2 * edges + 64)
    weights = 1 / np.sqrt(np.arange(1, len(LABELS) + 1))
    label = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], uniform(seed, "label", indexes))
    subject, object = (skewed(seed, stream, indexes, nodes) for stream in ("subject", "object"))
    codes = (label * nodes + subject) * nodes + object
    _, first = np.unique(codes, return_index=True)
    if len(first) < edges:
        raise ValueError(f"{nodes} nodes are too few for {edges} distinct edges")
    chosen = np.sort(first)[:edges]
    label, subject, object = label[chosen], subject[chosen], object[chosen]
    pairs = np.column_stack([subject, object])
    return {f"http://edge{number}": pairs[label == place] for place, number in enumerate(LABELS)}


def skewed(seed: int, stream: str, indexes: Ints, nodes: int) -> Ints:
    """Small numbers often, large ones seldom."""
    return np.minimum(np.floor(nodes * uniform(seed, stream, indexes) ** SKEW).astype(np.int64), nodes - 1)
