"""Hypertree decompositions of rule bodies (Zhang et al., section 2.4; Gottlob, Leone and Scarcello 2002).

The atoms of a body are the edges of a hypergraph over its variables. A decomposition is a rooted tree; a node p has
variables χ(p) and atoms λ(p), such that

    1. every atom has its variables in χ(p) of some p;
    2. the nodes that have a variable are connected;
    3. χ(p) ⊆ var(λ(p));
    4. var(λ(p)) ∩ χ(T_p) ⊆ χ(p), where T_p is the subtree of p.

Its width is the largest |λ(p)|. The hypertree-width of a body is the least width that there is: 1 where the hypergraph
is acyclic, which GYO reduction finds (`plan.hypertree.gyo`). A rule of greater width is complex.

The search is that of weighted decompositions (Scarcello, Greco and Leone 2007), top down: a component of atoms and the
variables that connect it with what is above are a problem, the choice of λ splits it into smaller ones, and problems
are solved once. Of the decompositions of at most a given width it finds one of least cost: for each node the estimated
size of the join of its atoms, and 2(|p| + |q|) for the semi-joins between neighbours. The sizes of a child and of its
parent appear in that sum apart from each other, so that the best subtree does not depend on the parent.

An atom whose variables are all in χ(p) is joined in p even if it is not in λ(p): it can only make p smaller. So a node
whose atoms of λ share no variable need not be a cross product: half of a cycle of six is the first and the third atom,
with the second between them. In longer cycles an atom of λ stands for one of its variables only, which goes all the way
round, and is counted so; or `decompose` takes a tree of width one more where that is estimated to be far cheaper, and
reports both widths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf, prod
from typing import NamedTuple

from deltalog.core.rules import Atom, Variable, variables
from deltalog.evaluation.plan.hypertree.gyo import is_acyclic
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import Matches, Statistics

_WIDER_ADVANTAGE_FACTOR = 2.0  # a wider tree is taken only if it costs this many times less
_SEARCH_BUDGET_ATOMS = 8000  # atoms in choices of λ that are compared before the first that works is taken


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node p of a decomposition: χ(p), λ(p) as positions in the body, and its estimated number of instantiations."""

    chi: frozenset[Variable]
    lam: tuple[int, ...]
    rows: float
    children: tuple[TreeNode, ...] = ()

    def __iter__(self) -> Iterator[TreeNode]:
        """The nodes of the subtree, parents first."""
        yield self
        for child in self.children:
            yield from child

    @property
    def width(self) -> int:
        return max(len(node.lam) for node in self)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A tree, its estimated cost, and the hypertree-width of the body, which may be less than the width of the tree."""

    root: TreeNode
    cost: float
    least_width: int

    @property
    def width(self) -> int:
        return self.root.width


# Estimates.


class Size(NamedTuple):
    """The estimated rows of joining the atoms of a node, with intermediate ones; and the distinct rows over χ."""

    joined: float
    rows: float


DistinctCounts = dict[int, float]  # the number of distinct values of some variables


@dataclass(frozen=True, slots=True)
class SizeEstimator:
    """The textbook estimate: the product of the sizes, and for each variable divided by all but the least of its
    numbers of distinct values. Variables are numbered."""

    variables: tuple[Variable, ...]
    atoms: tuple[tuple[float, DistinctCounts], ...]

    @classmethod
    def of(cls, atoms: Sequence[Atom], statistics: Statistics) -> SizeEstimator:
        variables = tuple(sorted({t for atom in atoms for t in atom.terms if isinstance(t, Variable)}, key=_name))
        numbers = {variable: i for i, variable in enumerate(variables)}
        return cls(variables, tuple(_estimate(atom, numbers, statistics) for atom in atoms))

    @property
    def values(self) -> dict[Variable, float]:
        """The maximum number of distinct values of each variable."""
        least = [min(d[i] for _, d in self.atoms if i in d) for i in range(len(self.variables))]
        return dict(zip(self.variables, least, strict=True))

    def size(self, atoms: Collection[int], chi: Collection[int]) -> Size:
        """By a greedy join order, always the atom with the fewest resulting rows."""
        left = {i: self._within(i, atoms, chi) for i in atoms}
        joined, rows, values = 0.0, 1.0, DistinctCounts()
        while left:
            rows, best = min([(rows * _growth(facts, values), i) for i, facts in left.items()])
            joined += rows
            for variable, count in left.pop(best)[1].items():
                if count < values.setdefault(variable, count):
                    values[variable] = count
        most = 1.0
        for variable in chi:
            most *= values[variable]
        return Size(joined, min(rows, most))

    def _within(self, i: int, atoms: Collection[int], chi: Collection[int]) -> tuple[float, DistinctCounts]:
        """An atom without the variables that the node does not have, unless it shares them with another atom: in λ it
        may stand only for some of its variables."""
        rows, distinct = self.atoms[i]
        outside = [v for v in distinct if v not in chi]
        alone = [v for v in outside if not any(v in self.atoms[j][1] for j in atoms if j != i)]
        if not alone:
            return self.atoms[i]
        kept = {v: count for v, count in distinct.items() if v not in alone}
        return min(rows, prod(kept.values())), kept


def _growth(facts: tuple[float, DistinctCounts], values: DistinctCounts) -> float:
    growth, distinct = facts
    for variable, count in distinct.items():
        present = values.get(variable)
        if present is not None:
            growth /= max(count, present)
    return growth


def _name(variable: Variable) -> str:
    return variable.name


def _estimate(atom: Atom, numbers: Mapping[Variable, int], statistics: Statistics) -> tuple[float, DistinctCounts]:
    """The number of facts that match an atom, and of distinct values of its variables."""
    found = Matches.of(atom, Part.ALL, statistics)
    return found.rows, {numbers[v]: max(1.0, min(count, found.rows)) for v, count in found.values}


# The search. Sets of atoms and of variables are the bits of a number.


class Problem(NamedTuple):
    """A component of atoms, and the variables that it shares with the nodes above."""

    component: int
    connector: int


@dataclass(slots=True)
class Solution:
    """A node for a problem, with the problems of its children; `cost` is that of its subtree and the edge above it."""

    lam: int
    chi: int
    rows: float
    cost: float
    children: list[Problem]


class Found(NamedTuple):
    root: TreeNode
    cost: float


@dataclass(slots=True)
class Search:
    """The search for the cheapest decomposition of at most a given width."""

    estimator: SizeEstimator
    width: int
    budget: float  # atoms in choices of λ that are compared; then the first choice that works is taken
    edges: list[int] = field(init=False)  # the variables of each atom
    incident: list[int] = field(init=False)  # the atoms of each variable
    solved: dict[Problem, Solution | None] = field(default_factory=dict)
    sizes: dict[tuple[int, int], Size] = field(default_factory=dict)
    parts: dict[tuple[int, int], list[Problem]] = field(default_factory=dict)
    unions: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edges = [sum(1 << v for v in distinct) for _, distinct in self.estimator.atoms]
        count = len(self.estimator.variables)
        self.incident = [sum(1 << i for i, e in enumerate(self.edges) if e >> v & 1) for v in range(count)]

    def run(self) -> Found | None:
        """The best tree and its cost; None when there is none of this width."""
        whole = Problem((1 << len(self.edges)) - 1, 0)
        solution = self.solve(whole)
        return Found(self._node(whole), solution.cost - 2 * solution.rows) if solution else None

    def solve(self, problem: Problem) -> Solution | None:
        if problem not in self.solved:
            self.solved[problem] = self._solve(problem)
        return self.solved[problem]

    def _solve(self, problem: Problem) -> Solution | None:
        best: Solution | None = None
        for lam in self._choices(problem):
            self.budget -= len(self.edges)
            solution = self._solution(problem, lam, best.cost if best else inf)
            best = solution or best
            if best and self.budget < 0:
                break
        return best

    def _choices(self, problem: Problem) -> Iterator[int]:
        """Every λ that covers the connector and has an atom of the component, by decreasing number of variables."""
        found: set[int] = set()
        for cover in self._covers(problem.connector, 0, self.width):
            found.update(self._extended(cover, problem.component, self.width - cover.bit_count()))
        return iter(sorted(found, key=lambda lam: (-self._union(lam).bit_count(), lam.bit_count(), lam)))

    def _covers(self, variables: int, chosen: int, left: int) -> Iterator[int]:
        """The sets of atoms that cover some variables, each of which covers a variable that those before it do not."""
        if not variables:
            yield chosen
        elif left:
            for i in _bits(self.incident[(variables & -variables).bit_length() - 1]):
                yield from self._covers(variables & ~self.edges[i], chosen | 1 << i, left - 1)

    def _extended(self, chosen: int, component: int, left: int, start: int = 0) -> Iterator[int]:
        """The set extended by atoms of the component, so that it has at least one of them."""
        if chosen & component:
            yield chosen
        if left:
            for i in _bits(component >> start << start & ~chosen):
                yield from self._extended(chosen | 1 << i, component, left - 1, i + 1)

    def _solution(self, problem: Problem, lam: int, bound: float) -> Solution | None:
        """The node with this λ and the best subtrees, unless its cost reaches the bound."""
        # χ(p) := var(λ(p)) ∩ (connector ∪ var(component))
        chi = self._union(lam) & (problem.connector | self._union(problem.component))
        size = self._size(lam, chi)
        if size.joined + 2 * size.rows >= bound:
            return None
        if (problem.component, chi) not in self.parts:
            self.parts[problem.component, chi] = list(self._split(problem.component, chi))
        children = self.parts[problem.component, chi]
        cost = size.joined + 2 * size.rows * (len(children) + 1)
        for child in children:
            if cost >= bound:
                return None
            solution = self.solve(child)
            if solution is None:
                return None
            cost += solution.cost
        return Solution(lam, chi, size.rows, cost, children) if cost < bound else None

    def _split(self, component: int, chi: int) -> Iterator[Problem]:
        """The components of the atoms after removing the variables of χ."""
        left = sum(1 << i for i in _bits(component) if self.edges[i] & ~chi)
        while left:
            part, frontier, seen = 0, left & -left, chi
            while frontier:
                part |= frontier
                variables = self._union(frontier) & ~seen
                seen |= variables
                frontier = 0
                for v in _bits(variables):
                    frontier |= self.incident[v]
                frontier &= left & ~part
            left &= ~part
            yield Problem(part, self._union(part) & chi)

    def _size(self, lam: int, chi: int) -> Size:
        key = (lam, chi)
        if key not in self.sizes:
            self.sizes[key] = self.estimator.size(self._joined(lam, chi), _bits(chi))
        return self.sizes[key]

    def _joined(self, lam: int, chi: int) -> list[int]:
        """The atoms of λ, and those whose variables are all in χ."""
        return [i for i, edge in enumerate(self.edges) if lam >> i & 1 or not edge & ~chi]

    def _union(self, atoms: int) -> int:
        """The variables of some atoms."""
        union = self.unions.get(atoms)
        if union is None:
            union = 0
            for i in _bits(atoms):
                union |= self.edges[i]
            self.unions[atoms] = union
        return union

    def _named(self, variables: int) -> frozenset[Variable]:
        return frozenset(self.estimator.variables[v] for v in _bits(variables))

    def _node(self, problem: Problem) -> TreeNode:
        solution = self.solved[problem]
        assert solution is not None
        children = tuple(self._node(child) for child in solution.children)
        return TreeNode(self._named(solution.chi), tuple(_bits(solution.lam)), solution.rows, children)


@lru_cache(1 << 14)
def _bits(number: int) -> tuple[int, ...]:
    return tuple(i for i in range(number.bit_length()) if number >> i & 1)


def decompose(atoms: Sequence[Atom], statistics: Statistics) -> Decomposition:
    """The cheapest decomposition of least width; or, if that has a cross product, one that is wider by one and far
    cheaper."""
    edges = [frozenset(t for t in atom.terms if isinstance(t, Variable)) for atom in atoms]
    estimator = SizeEstimator.of(atoms, statistics)
    least, best = _least_width(edges, estimator, _SEARCH_BUDGET_ATOMS)
    if least > 1 and any(has_cross_product(node, edges) for node in best.root):
        wider = Search(estimator, least + 1, _SEARCH_BUDGET_ATOMS / 2).run()
        if wider and wider.cost * _WIDER_ADVANTAGE_FACTOR <= best.cost:
            best = wider
    return Decomposition(best.root, best.cost, least)


def _least_width(edges: Sequence[frozenset[Variable]], estimator: SizeEstimator, budget: float) -> tuple[int, Found]:
    for width in range(1 if is_acyclic(edges) else 2, len(edges) + 1):
        found = Search(estimator, width, budget).run()
        if found:
            return width, found
    raise AssertionError("a node of all atoms is a decomposition")


def cost_of(root: TreeNode, atoms: Sequence[Atom], statistics: Statistics) -> float:
    """The cost by these statistics of a tree that was chosen by other ones."""
    estimator = SizeEstimator.of(atoms, statistics)
    numbers = {variable: i for i, variable in enumerate(estimator.variables)}
    sizes = {
        id(node): estimator.size(
            [i for i, atom in enumerate(atoms) if i in node.lam or node.chi.issuperset(variables(atom))],
            [numbers[v] for v in node.chi],
        )
        for node in root
    }
    edges = [(node, child) for node in root for child in node.children]
    between = sum(2 * (sizes[id(p)].rows + sizes[id(q)].rows) for p, q in edges)
    return sum(size.joined for size in sizes.values()) + between


def with_functional_leaves(root: TreeNode, atoms: Sequence[Atom], statistics: Statistics) -> TreeNode:
    """The tree with functional leaves merged into their parents, if these join several atoms. A functional leaf gives
    each instantiation of its parent at most one value: the parent does not grow, and needs no message. It may be wider
    than the tree was."""
    children = tuple(with_functional_leaves(child, atoms, statistics) for child in root.children)
    if len(joined_in(root, atoms)) < 2:
        return replace(root, children=children)
    taken = [child for child in children if _is_functional(child, root.chi, atoms, statistics)]
    return TreeNode(
        root.chi.union(*(leaf.chi for leaf in taken)),
        root.lam + tuple(i for leaf in taken for i in leaf.lam),
        root.rows,
        tuple(child for child in children if child not in taken),
    )


def _is_functional(leaf: TreeNode, known: frozenset[Variable], atoms: Sequence[Atom], statistics: Statistics) -> bool:
    """Whether a leaf is one atom with a key among the known variables."""
    found = joined_in(leaf, atoms)
    if leaf.children or len(found) > 1:
        return False
    keys = [column for column, term in enumerate(found[0].terms) if term in known]
    return any(statistics.heaviest(found[0].pred, Part.ALL, column) <= 1 for column in keys)


def joined_in(node: TreeNode, atoms: Sequence[Atom]) -> list[Atom]:
    """The atoms that a node joins: those of λ, and those whose variables are all in χ."""
    return [atom for i, atom in enumerate(atoms) if i in node.lam or node.chi.issuperset(variables(atom))]


def has_cross_product(node: TreeNode, edges: Sequence[frozenset[Variable]]) -> bool:
    """Whether the atoms that a node joins are not connected."""
    apart = [edge for i, edge in enumerate(edges) if edge and (i in node.lam or edge <= node.chi)]
    reached = apart[0] if apart else frozenset()
    while grown := [edge for edge in apart if edge & reached and not edge <= reached]:
        reached = reached.union(*grown)
    return any(not edge <= reached for edge in apart)
