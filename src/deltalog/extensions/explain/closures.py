"""Proofs in transitive relations: a shortest path of edges, as a balanced tree of the user's transitive rule.

For R(x, z) <- R(x, y), R(y, z), every y between x and z gives an instance, and the search for a fact would have all
pairs between. Instead, a path is searched over the backbone of R (`program.recognise`): the edges that something other
than the transitive rule, its mirror or its inverse gives. A proof of height h has at most 2^(h - m) edges, where m, the
least height of an edge, is 0 if R has explicit facts and 1 if it has none. So a path with the fewest edges, n, gives
the lower bound m + ceil(log2 n) for proofs by the transitive rule, and where the balanced tree over it has this height,
it is one of the best. (Mirrors and inverses can be pushed down to the edges without making the tree higher.) Such a
path is found by a breadth-first search from both ends, over edges that are looked up set at a time.

Where the heights of edges differ so much that the bound is not met, the path of the lowest tree is searched. From left
to right, an edge of height h takes an aligned block of 2^h leaves, and the tree over a path that ends at leaf n has the
height ceil(log2 n). An edge that begins later never ends earlier, so Dijkstra's algorithm finds the path that ends
first. It starts with lower bounds for the heights of edges; those on the path it finds are proved, and it is repeated
with their heights until all heights on the path are known.

If there are rules R(x, z) <- R(x, y), E(y, z) beside R(x, y) <- E(x, y), which save the step from E to R, the instances
of the transitive rule are searched instead, like those of any other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Generic, NamedTuple, TypeVar

from deltalog.core.arrays import IdRow
from deltalog.core.rules import Atom, Pred, Rule, Variable
from deltalog.evaluation.maintenance.apply_change import number_kinds
from deltalog.evaluation.plan.ir import Part
from deltalog.extensions.explain.instances import BodyPlan, HeadPlan, InstanceFinder, getter
from deltalog.extensions.explain.terms import FactKey, ProofTerms
from deltalog.program import Program
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules
from deltalog.program.recognise import copied, linear, recognise, transitive
from deltalog.program.schemes import SchemeKind, backbone

T = TypeVar("T")
X, Y = Variable("#x"), Variable("#y")
Neighbours = dict[int, set[int]]


@dataclass(eq=False)
class Closure(Generic[T]):
    """A transitive relation: its rule, and how to look up its edges in both directions."""

    pred: Pred
    rule: HeadPlan[T]  # the transitive rule, without a guard x != z if there is such a one
    rules: Collection[HeadPlan[T]]  # all transitive rules
    guarded: bool
    least: int  # the least height of an edge
    extended: bool  # whether linear rules do a part of what the transitive rule does
    readers: tuple[Sequence[EdgeReader[T]], Sequence[EdgeReader[T]]]  # forward and backward
    known: tuple[Neighbours, Neighbours] = field(default_factory=lambda: ({}, {}))

    def may_have(self, pair: IdRow) -> bool:
        """Whether the transitive rule can derive a pair."""
        return not (self.guarded and pair[0] == pair[1])

    def forgotten(self) -> Closure[T]:
        """The same without the edges that were looked up."""
        return Closure(self.pred, self.rule, self.rules, self.guarded, self.least, self.extended, self.readers)

    def bound(self, edges: int) -> int:
        """The least height of a proof over so many edges."""
        return self.least + (edges - 1).bit_length()

    # Paths.

    def path(self, pair: IdRow, most: int, finder: InstanceFinder[T]) -> list[int] | None:
        """The vertices of a shortest path of at most so many edges, without the edge from one end to the other; None
        if there is none, and no vertices if there is no path of any length."""
        start, end = pair
        if most < 2:
            return None
        first = self._neighbours([start], 0, finder)[start] - {start, end}
        sides: tuple[dict[int, int], dict[int, int]] = (dict.fromkeys(first, start), {end: end})
        if start != end:
            sides[0][start] = start
        edges, frontiers = 1, [first, {end}]
        while all(frontiers):
            met = frontiers[0] & sides[1].keys() or frontiers[1] & sides[0].keys() - {start}
            if met:
                return _joined(min(met), pair, sides)
            if edges >= most:
                return None
            side = 0 if len(frontiers[0]) <= len(frontiers[1]) else 1
            frontiers[side] = self._step(frontiers[side], side, sides[side], pair, finder)
            edges += 1
        return []

    def lowest(
        self,
        pair: IdRow,
        most: int | None,
        finder: InstanceFinder[T],
        heights: Callable[[Sequence[IdRow]], list[float]],
    ) -> list[int] | None:
        """The vertices of a path of two edges or more with the lowest tree, given heights of edges, of at most so many
        leaves; None if there is none."""
        start, end = pair
        ends: dict[int, int] = {}
        before: dict[int, int] = {}
        queue: list[tuple[int, int]] = [(0, start)]
        done: set[int] = set()
        longest, furthest = (inf, inf) if most is None else (most.bit_length(), most)
        while queue:
            leaf, here = queue[0][0], list[int]()
            while queue and queue[0][0] == leaf:
                here.append(heappop(queue)[1])
            if leaf and end in here:
                return _traced(before, pair)
            here = [vertex for vertex in here if vertex not in done]
            done.update(vertex for vertex in here if leaf)
            found = self._neighbours(here, 0, finder)
            edges = [(u, v) for u in here for v in found[u] if v not in done and u != v and (u, v) != pair]
            for (u, v), height in zip(edges, heights(edges), strict=True):
                if height >= longest:
                    continue
                later = _placed(leaf, int(height))[1]
                if later <= furthest and later < ends.get(v, inf):
                    ends[v], before[v] = later, u
                    heappush(queue, (later, v))
        return None

    def _step(
        self, frontier: set[int], side: int, seen: dict[int, int], pair: IdRow, finder: InstanceFinder[T]
    ) -> set[int]:
        """One step of the search on one side; the new vertices."""
        found = self._neighbours(sorted(frontier), side, finder)
        new: set[int] = set()
        for vertex in frontier:
            for other in found[vertex]:
                is_direct = side == 1 and vertex == pair[1] and other == pair[0]
                if other not in seen and not is_direct:
                    seen[other] = vertex
                    new.add(other)
        return new

    def _neighbours(self, vertices: Sequence[int], side: int, finder: InstanceFinder[T]) -> Neighbours:
        known = self.known[side]
        missing = [vertex for vertex in vertices if vertex not in known]
        if missing:
            known.update((vertex, set()) for vertex in missing)
            for reader in self.readers[side]:
                for vertex, other in reader.read(missing, finder):
                    known[vertex].add(other)
        return known


def _traced(before: Mapping[int, int], pair: IdRow) -> list[int]:
    """The path to an end, from the vertex before each."""
    path = [pair[1]]
    while path[0] != pair[0] or len(path) == 1:
        path.insert(0, before[path[0]])
    return path


def _joined(middle: int, pair: IdRow, sides: tuple[dict[int, int], dict[int, int]]) -> list[int]:
    """The path through a vertex that both sides have met."""
    path = [middle]
    while True:
        path.insert(0, sides[0][path[0]])
        if path[0] == pair[0]:
            break
    while path[-1] != pair[1]:
        path.append(sides[1][path[-1]])
    return path


@dataclass(eq=False)
class EdgeReader(Generic[T]):
    """The edges of some vertices by one body; with tables of hidden relations that it reads."""

    body: BodyPlan[T]
    edge: Callable[[IdRow], IdRow]  # of an instance of the body
    side: int
    others: Mapping[tuple[Pred, Part], T]

    def read(self, vertices: Iterable[int], finder: InstanceFinder[T]) -> Iterable[IdRow]:
        """Pairs of a vertex and a neighbour."""
        rows = finder.instances(self.body, [(vertex,) for vertex in vertices], self.others)
        edges = map(self.edge, rows)
        return edges if self.side == 0 else ((end, start) for start, end in edges)


# Trees.


class TreeStep(NamedTuple):
    """A step of the transitive rule: the head and its two premises, the row of the instance, the height of the head and
    the number of its edges."""

    facts: tuple[FactKey, FactKey, FactKey]
    row: IdRow
    height: int
    edges: int


@dataclass(eq=False)
class PathSearch(Generic[T]):
    """The search of a proof by the transitive rule for one fact."""

    closure: Closure[T]
    pair: IdRow
    searched: int = 1  # there is no path of so many edges
    path: list[int] | None = None
    weighted: bool = False  # whether the heights of edges count, and not only their number

    @property
    def bound(self) -> int:
        """No proof by the transitive rule is lower than this."""
        return self.closure.bound(self.searched + 1 if self.path is None else len(self.path) - 1)

    @property
    def edges(self) -> list[FactKey]:
        assert self.path is not None
        return [self._fact(i, i + 1) for i in range(len(self.path) - 1)]

    def _fact(self, first: int, last: int) -> FactKey:
        assert self.path is not None
        return FactKey(self.closure.pred, (self.path[first], self.path[last]))

    def tree(self, heights: Sequence[int]) -> list[TreeStep]:
        """The steps of a tree of least height over the path, the last one first."""
        assert self.path is not None
        rule, steps = self.closure.rule, list[TreeStep]()
        start, end = rule.head.terms
        for first, middle, last in splits(heights):
            at = {start: self.path[first], end: self.path[last]}
            row = tuple(at.get(variable, self.path[middle]) for variable in rule.body.columns)
            facts = self._fact(first, last), self._fact(first, middle), self._fact(middle, last)
            steps.append(TreeStep(facts, row, tree_height(heights[first:last]), last - first))
        return steps


def arranged(heights: Sequence[int]) -> list[int]:
    """Where in the leaves of a binary tree edges of these heights go, from left to right: an edge of height h has an
    aligned block of 2^h leaves. The last entry is the end of the last block."""
    places, end = list[int](), 0
    for height in heights:
        start, end = _placed(end, height)
        places.append(start)
    return [*places, end]


def _placed(end: int, height: int) -> tuple[int, int]:
    """The first block of 2^h leaves after some others: where it begins and ends."""
    block = 1 << height
    start = -(-end // block) * block
    return start, start + block


def tree_height(heights: Sequence[int]) -> int:
    """The least height of a binary tree over edges of these heights, in this order."""
    return (arranged(heights)[-1] - 1).bit_length()


def splits(heights: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """The inner nodes (i, j, k) of the tree: edges i to k - 1 are those of i to j - 1 and those of j to k - 1."""
    places = arranged(heights)
    waiting = [(0, len(heights), 0, tree_height(heights))]
    while waiting:
        first, last, start, height = waiting.pop()
        if last - first < 2:
            continue
        half = start + (1 << (height - 1))
        middle = bisect_left(places, half, first, last)
        if first < middle < last:
            yield first, middle, last
        waiting += [(first, middle, start, height - 1), (middle, last, half, height - 1)]


# Recognition.


def closures_of(
    program: Program, heads: Mapping[Pred, Sequence[HeadPlan[T]]], finder: InstanceFinder[T]
) -> dict[Pred, Closure[T]]:
    """The transitive relations of a program."""
    transitive_rules = {pred: _transitive(plans) for pred, plans in heads.items() if pred not in program.homes}
    if not any(transitive_rules.values()):
        return {}
    rules = [directed_rule(core) for rule in program.rules for core in core_rules(rule)]
    numbers = number_kinds(finder.explicit, finder.relations.backend)
    found = recognise(rules, finder.explicit.keys(), "scheme", numbers)
    closed: dict[Pred, Closure[T]] = {}
    for pred, own in transitive_rules.items():
        scheme = found.scheme_of.get(pred)
        source, turned = pred, False
        if scheme is not None and scheme.kind is SchemeKind.INVERSE:
            source, turned = scheme.inputs[0], True
            scheme = found.scheme_of.get(source)
        if not own or scheme is None or scheme.kind not in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
            continue
        if scheme.inputs != (backbone(source),):
            continue
        readers = _readers(source, found.rules, found.stored, finder)
        both = scheme.kind is SchemeKind.COMPONENTS
        forward, backward = readers[::-1] if turned else readers
        sides = ([*forward, *backward], [*backward, *forward]) if both else (forward, backward)
        least = 0 if _has_rows(finder, pred) else 1
        rule, guarded = min(own.items(), key=lambda one: one[1])
        extended = _has_linear_steps([plan.rule for plan in heads[pred]])
        closed[pred] = Closure(pred, rule, own.keys(), guarded, least, extended, sides)
    return closed


def _has_rows(finder: InstanceFinder[T], pred: Pred) -> bool:
    return pred in finder.explicit and finder.relations.backend.size(finder.explicit[pred]) > 0


def _transitive(plans: Sequence[HeadPlan[T]]) -> dict[HeadPlan[T], bool]:
    """The transitive rules of a relation, and whether they are guarded."""
    return {plan: guarded for plan in plans if (guarded := transitive(plan.rule)) is not None}


def _has_linear_steps(rules: Sequence[Rule]) -> bool:
    """Whether there is a rule R(x, z) <- R(x, y), E(y, z), or with E first, beside R(x, y) <- E(x, y)."""
    copies = {copy[0] for rule in rules if (copy := copied(rule)) and not copy[1]}
    return any(step[0] in copies for rule in rules if (step := linear(rule)))


def _readers(
    pred: Pred, rules: Sequence[Rule], stored: Mapping[Pred, Pred], finder: InstanceFinder[T]
) -> tuple[list[EdgeReader[T]], list[EdgeReader[T]]]:
    """How to look up the edges of a relation: in its backbone where it is stored, else by the rules for it."""
    kept, terms = backbone(pred), finder.terms
    atom = Atom(kept.name, (X, Y))
    if (kept, Part.ALL) in finder.relations.parts:
        return _both(Rule((atom,), (atom,)), terms, {})
    given = {(hidden, Part.ALL): finder.explicit[shown] for shown, hidden in stored.items() if shown in finder.explicit}
    made = [_both(Rule((atom,), (atom,)), terms, given)] if (kept, Part.ALL) in given else []
    made += [
        _both(Rule((head,), rule.body), terms, given) for rule in rules for head in rule.heads if head.pred == kept
    ]
    return [reader for pair in made for reader in pair[0]], [reader for pair in made for reader in pair[1]]


def _both(
    rule: Rule, terms: ProofTerms[T], others: Mapping[tuple[Pred, Part], T]
) -> tuple[list[EdgeReader[T]], list[EdgeReader[T]]]:
    """Readers of a rule's edges forward and backward."""
    return [_reader(rule, 0, terms, others)], [_reader(rule, 1, terms, others)]


def _reader(rule: Rule, side: int, terms: ProofTerms[T], others: Mapping[tuple[Pred, Part], T]) -> EdgeReader[T]:
    head = rule.heads[0]
    body = BodyPlan(rule.body, (head.terms[side],), terms)
    return EdgeReader(body, getter(head.terms, body.columns, terms), side, others)
