"""An independent check of hypertree decompositions: the four conditions of Zhang et al., section 2.4, and widths found
by
brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, permutations

from deltalog.core.rules import Atom, Variable, variables
from deltalog.evaluation.plan.hypertree.decompose import TreeNode

Edge = frozenset[Variable]


def broken(root: TreeNode, atoms: Sequence[Atom]) -> list[str]:
    """What is wrong with a decomposition, in words."""
    edges = [frozenset(variables(atom)) for atom in atoms]
    nodes = list(root)
    wrong = [f"atom {i} is in no node" for i, e in enumerate(edges) if not any(e <= node.chi for node in nodes)]
    wrong += [f"{v.name} is not connected" for v in frozenset().union(*edges) if parts_with(root, v) > 1]
    for node in nodes:
        covered = frozenset().union(*(edges[i] for i in node.lam))
        below = frozenset().union(*(inner.chi for inner in node))
        if not node.chi <= covered:
            wrong.append(f"χ {node.chi} is not covered by λ")
        if not covered & below <= node.chi:
            wrong.append(f"a variable of λ comes back below {node.chi}")
    return wrong


def parts_with(root: TreeNode, variable: Variable) -> int:
    """How many pieces of the tree have a variable: one for each node that has it and whose parent has not."""
    tops = variable in root.chi
    return tops + sum(variable in child.chi and variable not in node.chi for node in root for child in node.children)


def least_width(edges: Sequence[Edge]) -> int:
    """By brute force, and another way: every order of eliminating the variables gives a tree of bags, and the least
    number of edges that cover its worst bag is a width. (The least over all orders is the generalised hypertree-width;
    bodies as small as ours have no smaller one than their hypertree-width.)"""
    return min(
        max(map(partial(_cover, edges), _bags(edges, order))) for order in permutations(frozenset().union(*edges))
    )


def _bags(edges: Sequence[Edge], order: Sequence[Variable]) -> Iterator[Edge]:
    left = list(edges)
    for variable in order:
        bag = frozenset().union(*(edge for edge in left if variable in edge))
        if bag:
            yield bag
        left = [edge for edge in left if variable not in edge] + [bag - {variable}]


def _cover(edges: Sequence[Edge], bag: Edge) -> int:
    sizes = range(1, len(edges) + 1)
    return next(n for n in sizes if any(bag <= frozenset().union(*chosen) for chosen in combinations(edges, n)))
