"""Graphs and trees as rows of integers, with fixed seeds.

dag(2_000, 10_000)     414 k facts of transitive closure        (issue: transitive closure)
dag(10_000, 100_000)   about as large as DAG-R of Hu et al.     (some 22 M facts)
tree(4_700)            2.2 M facts of same generation
"""

from __future__ import annotations

import numpy as np

from benchmarks.generators.draws import Ints, between


def dag(nodes: int, edges: int, seed: int = 0) -> Ints:
    """`edges` distinct pairs u < v, drawn uniformly among all such pairs; rows in the order of drawing."""
    possible = nodes * (nodes - 1) // 2
    if edges > possible:
        raise ValueError(f"{nodes} nodes have only {possible} pairs, not {edges}")
    indexes = np.arange(edges + edges // 2 + 64 if edges * 4 < possible else possible * 40)
    return _pairs(between(seed, "dag", indexes, 0, possible - 1), nodes, edges)


def _pairs(codes: Ints, nodes: int, edges: int) -> Ints:
    """The first `edges` distinct codes as pairs: code c is the c-th pair (u, v) with u < v, counted by v."""
    _, first = np.unique(codes, return_index=True)
    codes = codes[np.sort(first)[:edges]]
    v = ((1 + np.sqrt(1 + 8.0 * codes)) / 2).astype(np.int64)
    v = np.where(v * (v - 1) // 2 > codes, v - 1, v)
    v = np.where((v + 1) * v // 2 <= codes, v + 1, v)
    return np.column_stack([codes - v * (v - 1) // 2, v])


def tree(nodes: int, seed: int = 0) -> Ints:
    """A random recursive tree as rows (child, parent): the parent of each node is uniform among those before it."""
    children = np.arange(1, nodes)
    return np.column_stack([children, between(seed, "tree", children, 0, children - 1)])


def depths(rows: Ints) -> Ints:
    """The depth of each node of a tree whose parents have smaller numbers than their children."""
    depth = np.zeros(len(rows) + 1, np.int64)
    for child, parent in rows:
        depth[child] = depth[parent] + 1
    return depth


def same_generation_size(rows: Ints) -> int:
    """How many pairs of the tree, without its root, are of one generation, each node with itself included."""
    counts = np.bincount(depths(rows))
    return int((counts[1:] ** 2).sum())


def chain(nodes: int) -> Ints:
    """0 -> 1 -> 2 -> ...: as many rounds as nodes, and tiny ones."""
    return np.column_stack([np.arange(nodes - 1), np.arange(1, nodes)])
