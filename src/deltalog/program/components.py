"""Strongly connected components of a graph (Tarjan 1972), without recursion."""

from __future__ import annotations

from collections.abc import Sequence


def components(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The component of each node, and the members of each component.

    Components are numbered so that an edge leads from a component to itself or to one with a smaller number.
    """
    size = len(successors)
    order, low, component = [-1] * size, [0] * size, [-1] * size
    members: list[list[int]] = []
    stack: list[int] = []
    visited = 0
    for root in range(size):
        work = [(root, 0)] if order[root] < 0 else []
        while work:
            node, position = work.pop()
            if order[node] < 0:
                order[node] = low[node] = visited
                visited += 1
                stack.append(node)
            for k in range(position, len(successors[node])):
                successor = successors[node][k]
                if order[successor] < 0:
                    work += [(node, k), (successor, 0)]
                    break
                if component[successor] < 0:
                    low[node] = min(low[node], low[successor])
            else:
                if low[node] == order[node]:
                    members.append(_popped_until(node, stack))
                    for member in members[-1]:
                        component[member] = len(members) - 1
    return component, members


def _popped_until(node: int, stack: list[int]) -> list[int]:
    popped = [stack.pop()]
    while popped[-1] != node:
        popped.append(stack.pop())
    return sorted(popped)
