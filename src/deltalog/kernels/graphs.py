"""Components of graphs.

A graph has the vertices 0 to n - 1, and the edges of vertex v are targets[offsets[v]:offsets[v + 1]].
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import form, kernel

small = form(most=1 << 14)  # items, at a microsecond each


@kernel
@small
def offsets_of(sources, n):
    """Where the edges of each vertex begin, for edges in order of their sources."""
    offsets = np.zeros(n + 1, np.int64)
    for source in sources:
        offsets[source + 1] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    return offsets


@kernel
@small
def strong_components(offsets, targets):
    """The strongly connected component of each vertex, and their number (Tarjan's algorithm, without recursion).

    Components are numbered when they are finished, in post-order: an edge between components leads to a smaller number,
    and what the search found below a component has the numbers just before its own.
    """
    n = len(offsets) - 1
    label = np.full(n, -1, np.int64)
    found = np.full(n, -1, np.int64)  # when the search came to a vertex
    low = np.empty(n, np.int64)
    edge = offsets[:-1].copy()  # the next edge to look at
    path, open_ = np.empty(n, np.int64), np.empty(n, np.int64)
    count, time, depth, size = 0, 0, 0, 0
    for root in range(n):
        if found[root] >= 0:
            continue
        path[0], open_[size] = root, root
        depth, size = 1, size + 1
        found[root] = low[root] = time
        time += 1
        while depth:
            v = path[depth - 1]
            if edge[v] < offsets[v + 1]:
                w = targets[edge[v]]
                edge[v] += 1
                if found[w] < 0:
                    found[w] = low[w] = time
                    time += 1
                    path[depth], open_[size] = w, w
                    depth, size = depth + 1, size + 1
                elif label[w] < 0 and found[w] < low[v]:
                    low[v] = found[w]
                continue
            depth -= 1
            if depth and low[v] < low[path[depth - 1]]:
                low[path[depth - 1]] = low[v]
            if low[v] == found[v]:
                while True:
                    size -= 1
                    label[open_[size]] = count
                    if open_[size] == v:
                        break
                count += 1
    return label, count


@kernel
@small
def connected_components(sources, targets, n):
    """The connected component of each vertex of an undirected graph, and their number (union-find)."""
    parent = np.arange(n)
    for i in range(len(sources)):
        a, b = sources[i], targets[i]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    label = np.empty(n, np.int64)
    count = 0
    for v in range(n):  # a parent is never larger than its children
        if parent[v] == v:
            label[v] = count
            count += 1
        else:
            label[v] = label[parent[v]]
    return label, count


@kernel
@small
def grouped(label, values, count):
    """The values by label: where those of each label begin, and the values in this order."""
    offsets = np.zeros(count + 1, np.int64)
    for name in label:
        offsets[name + 1] += 1
    for name in range(count):
        offsets[name + 1] += offsets[name]
    place = offsets[:-1].copy()
    out = np.empty(len(values), values.dtype)
    for i in range(len(values)):
        out[place[label[i]]] = values[i]
        place[label[i]] += 1
    return offsets, out
