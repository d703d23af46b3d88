"""Components of graphs: arrays as lists, whose items are Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import by_numpy, form

MOST_ITEMS = 1 << 14
by_lists = form(most=MOST_ITEMS)


@by_numpy
def offsets_of(sources: Any, n: int) -> Any:
    return np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=n)))).astype(np.int64)


@by_lists
def strong_components(offsets: Any, targets: Any) -> tuple[Any, int]:
    n, ends, edge, heads = len(offsets) - 1, offsets[1:].tolist(), offsets[:-1].tolist(), targets.tolist()
    label, found, low = [-1] * n, [-1] * n, [0] * n
    path: list[int] = []
    unfinished: list[int] = []
    count = time = 0
    for root in range(n):
        if found[root] >= 0:
            continue
        path.append(root)
        unfinished.append(root)
        found[root] = low[root] = time
        time += 1
        while path:
            v = path[-1]
            if edge[v] < ends[v]:
                w = heads[edge[v]]
                edge[v] += 1
                if found[w] < 0:
                    found[w] = low[w] = time
                    time += 1
                    path.append(w)
                    unfinished.append(w)
                elif label[w] < 0 and found[w] < low[v]:
                    low[v] = found[w]
                continue
            path.pop()
            if path and low[v] < low[path[-1]]:
                low[path[-1]] = low[v]
            if low[v] == found[v]:
                w = -1
                while w != v:
                    w = unfinished.pop()
                    label[w] = count
                count += 1
    return np.array(label, np.int64), count


@by_lists
def connected_components(sources: Any, targets: Any, n: int) -> tuple[Any, int]:
    parent = list(range(n))
    for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    label, count = [0] * n, 0
    for v, above in enumerate(parent):
        label[v] = label[above]
        if above == v:
            label[v] = count
            count += 1
    return np.array(label, np.int64), count


@by_numpy
def grouped(label: Any, values: Any, count: int) -> tuple[Any, Any]:
    offsets = np.concatenate(([0], np.cumsum(np.bincount(label, minlength=count)))).astype(np.int64)
    return offsets, values[np.argsort(label, kind="stable")]
