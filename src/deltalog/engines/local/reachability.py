"""Closures: virtual relations in which R(u, v) means that v can be reached from u.

The graph is the backbone of the relation: the facts that are given or that other rules derive (X_R in Hu et al., the
underlying graph in Zhang's thesis, section 5.4). Its strongly connected components are numbered in post-order, and each
component has the set of those that it reaches (`kernels.reachable_sets`). For a symmetric relation components are
simply the connected ones, and each reaches itself.

A reachability is a value: an update gives a new one that shares the parts without a change. Where an update closes a
cycle or opens one, components merge or split: the components of the vertices in the region where that can happen are
recomputed, and components that have changed get new numbers. Then the sets of the components with changed edges are
rewritten, and those of their ancestors for as long as something changes.

`guarded` is the closure by a rule that does not derive R(u, u): such a pair belongs only if it is in the backbone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from deltalog.core.arrays import Integers
from deltalog.core.tuning import Tuning
from deltalog.engines.local.relation import Mask, Positions, Relation
from deltalog.engines.local.sorted_runs import Ids, Keys, pack, sort_distinct, unpack
from deltalog.engines.local.table import Table
from deltalog.engines.local.virtual_relation import VirtualDifference, VirtualRelation
from deltalog.kernels import graphs, reachable_sets

_MAX_WALK_STEPS = 4  # ancestors up to this many steps away are found by walking up,
_MAX_WALKED_VERTICES = 1 << 8  # from at most this many vertices
_MAX_WASTE_FACTOR = 3  # reachable sets are rewritten without gaps beyond this many times what they need

ROOM = 1 << 23  # maximum of words that are allocated for sets at first
NONE: Integers = np.empty(0, np.int64)


class Buffer:
    """Words that several versions of sets share; `used` is where the newest ends."""

    __slots__ = ("used", "words")

    def __init__(self, words: NDArray[np.uint64], used: int) -> None:
        self.words, self.used = words, used


@dataclass(frozen=True, slots=True)
class Sets:
    """What each component reaches, in one direction."""

    start: Integers
    length: Integers
    buffer: Buffer
    used: int
    tuning: Tuning

    @classmethod
    def none(cls, count: int, tuning: Tuning) -> Sets:
        """Empty sets, with room for twice the largest sets that there can be, up to a maximum: memory that is never
        written to is not used."""
        room = min(max(1024, 2 * count * ((count >> 6) + 2)), ROOM)
        buffer = Buffer(np.empty(room, np.uint64), 0)
        return cls(np.zeros(count, np.int64), np.zeros(count, np.int64), buffer, 0, tuning)

    @property
    def arrays(self) -> tuple[Integers, Integers, NDArray[np.uint64]]:
        return self.start, self.length, self.buffer.words

    def written(self, due: Due, count: int, obsolete: Integers = NONE) -> tuple[Sets, NDArray[np.bool_]]:
        """With the sets that are due, for `count` components; and which sets have changed, or are new."""
        start, length = (np.concatenate([a, np.zeros(count - len(a), np.int64)]) for a in (self.start, self.length))
        length[obsolete] = 0
        words, fresh = self.buffer.words, np.arange(count) >= len(self.start)
        if self.buffer.used != self.used:  # a later version has written behind this one
            words = words[: self.used].copy()
        bits = np.zeros((count >> 6) + 1, np.uint64)
        words, used = reachable_sets.close(
            due.order, due.must, due.offsets, due.successors, start, length, words, self.used, bits, fresh
        )
        if np.shares_memory(words, self.buffer.words):
            self.buffer.used = used
            return Sets(start, length, self.buffer, used, self.tuning)._compact(), fresh
        return Sets(start, length, Buffer(words, used), used, self.tuning)._compact(), fresh

    def _compact(self) -> Sets:
        needed = int(np.abs(self.length).sum())
        if self.used + 1024 < _MAX_WASTE_FACTOR * needed + 4096:
            return self
        start, words = reachable_sets.compacted(*self.arrays)
        return Sets(start, self.length, Buffer(words, len(words)), len(words), self.tuning)

    @property
    def nbytes(self) -> int:
        return self.start.nbytes + self.length.nbytes + self.buffer.words[: self.buffer.used].nbytes


@dataclass(frozen=True, slots=True)
class Due:
    """Components whose sets may have to be rewritten, successors first; and their successors."""

    order: Integers
    must: NDArray[np.bool_]
    offsets: Integers
    successors: Integers


@dataclass(frozen=True, slots=True)
class Components:
    """Which component an id belongs to (-1: none), and the ids of each component."""

    of: Integers  # by id
    offsets: Integers
    members: Ids

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def find(self, ids: Ids) -> Integers:
        """The components of ids."""
        if len(ids) and int(ids.max()) >= len(self.of):
            found, known = np.full(len(ids), -1, np.int64), ids < len(self.of)
            found[known] = self.of[ids[known]]
            return found
        return self.of[ids]

    def sizes(self, components: Integers) -> Integers:
        return self.offsets[components + 1] - self.offsets[components]

    def ids(self, components: Integers) -> Ids:
        """The members of some components, together."""
        sizes = self.sizes(components)
        places = np.repeat(self.offsets[components] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        found: Ids = self.members[places]
        return found

    @property
    def nbytes(self) -> int:
        return self.of.nbytes + self.offsets.nbytes + self.members.nbytes


@dataclass(frozen=True)
class Graph:
    """A backbone with its components and their reachable sets. Those of the other direction are computed on demand."""

    edges: Table
    components: Components
    forward: Sets
    symmetric: bool
    backward: Sets | None = None
    changed: Ids = field(default_factory=lambda: np.empty(0, np.uint32))  # sources whose sets the last update changed
    descending: bool = True  # whether edges lead to components of smaller numbers only, as post-order has it

    @classmethod
    def of(cls, edges: Table, symmetric: bool) -> Graph:
        sources, targets = unpack(edges.keys(), 2)
        ids = 1 + max((int(column.max()) for column in (sources, targets) if len(column)), default=-1)
        vertices = distinct((sources, targets), ids, edges.tuning)
        number = np.full(ids, -1, np.int64)
        number[vertices] = np.arange(len(vertices))
        label, count = find_components(number[sources], number[targets], len(vertices), symmetric)
        number[vertices] = label
        components = Components(number, *graphs.grouped(label, vertices, count))
        everything = np.ones(count, np.bool_)
        due = ordered(number[sources], number[targets], np.arange(count), everything, True)
        forward, _ = Sets.none(count, edges.tuning).written(due, count)
        return cls(edges, components, forward, symmetric)

    def sets(self, forward: bool) -> Sets:
        if forward or self.symmetric:
            return self.forward
        if self.backward is None:
            count, columns = self.components.count, self.edges.columns()
            sources, targets = (self.components.find(column) for column in columns)
            everything = np.ones(count, np.bool_)
            due = ordered(targets, sources, np.arange(count), everything, False, self.descending)
            sets, _ = Sets.none(count, self.edges.tuning).written(due, count)
            object.__setattr__(self, "backward", sets)
        assert self.backward is not None
        return self.backward

    # Changes.

    def without(self, removed: Table, edges: Table) -> Graph:
        """After the removal of edges; `edges` is what is left."""
        sources, targets = (self.components.find(column) for column in removed.columns())
        inside = sources[(sources == targets) & (self.components.sizes(sources) > 1)]
        return self._changed(edges, *(united(self.components.count, each) for each in (sources, targets, inside)))

    def with_(self, added: Table, edges: Table) -> Graph:
        """After the addition of edges; `edges` is all of them."""
        components = self._with_vertices(added)
        sources, targets = (components.find(column) for column in added.columns())
        descending = self.descending and bool((sources >= targets).all())
        grown = replace(self, components=components, descending=descending)
        sources, targets = (united(components.count, each) for each in (sources, targets))
        inside = NONE if descending else grown._between(targets, sources)  # no path leads up again
        if self.symmetric:
            inside = united(components.count, sources, targets)
        return grown._changed(edges, sources, targets, inside)

    def _with_vertices(self, added: Table) -> Components:
        """The components, with one for each vertex that is new."""
        columns = added.columns()
        size = max(len(self.components.of), *(int(column.max()) + 1 for column in columns))
        vertices = distinct(columns, size, self.edges.tuning)
        new = vertices[self.components.find(vertices) < 0]
        if not len(new):
            return self.components
        of = np.concatenate([self.components.of, np.full(size - len(self.components.of), -1, np.int64)])
        of[new] = self.components.count + np.arange(len(new))
        ends = self.components.offsets[-1] + 1 + np.arange(len(new))
        offsets = np.concatenate([self.components.offsets, ends])
        return Components(of, offsets, np.concatenate([self.components.members, new]))

    def _between(self, begins: Integers, ends: Integers) -> Integers:
        """The components on paths from some to others: only these can merge."""
        below = np.zeros((self.components.count >> 6) + 1, np.uint64)
        reachable_sets.gather(begins[begins < len(self.forward.start)], *self.forward.arrays, below)
        new = Sets.none(self.components.count, self.edges.tuning)
        reachable_sets.gather(begins[begins >= len(self.forward.start)], *new.arrays, below)
        above = self._ancestors(ends)
        inside = np.intersect1d(reachable_sets.numbers(below), above)
        return inside if len(inside) > 1 else NONE

    def _ancestors(self, components: Integers) -> Integers:
        """Some components and all that reach them."""
        old = components[components < len(self.forward.start)]
        if self.symmetric:
            return components
        if self.backward is not None:
            return self._with_sets(components, self.backward)
        found = self._walked_up(old)
        if found is None:
            found = reachable_sets.meeting(old, *self.forward.arrays, len(self.forward.start))
        return united(self.components.count, components, found)

    def _walked_up(self, components: Integers) -> Integers | None:
        """The same by walking up edges, if that ends after a few steps with few vertices; else None."""
        seen, front = components, components
        for _ in range(_MAX_WALK_STEPS):
            ids = self.components.ids(front)
            if len(ids) > _MAX_WALKED_VERTICES:
                return None
            _, above = self.edges.partners(ids, False)
            front = np.setdiff1d(self.components.find(above), seen)
            if not len(front):
                return seen
            seen = np.union1d(seen, front)
        return None

    def _above(self, seeds: Integers) -> Integers:
        """The same, or all components where finding them costs as much as visiting all."""
        is_many = self.edges.tuning.closure_point_lookup_factor * len(seeds) > self.components.count
        return np.arange(self.components.count) if is_many else self._ancestors(seeds)

    def _with_sets(self, components: Integers, sets: Sets) -> Integers:
        bits = np.zeros((self.components.count >> 6) + 1, np.uint64)
        reachable_sets.gather(components[components < len(sets.start)], *sets.arrays, bits)
        return united(self.components.count, components, reachable_sets.numbers(bits))

    def _changed(self, edges: Table, sources: Integers, targets: Integers, inside: Integers) -> Graph:
        """With other edges: `sources` and `targets` are the components of those that were added or removed, `inside`
        the components that may have to be recomputed."""
        components, new, obsolete = self._recomputed(edges, inside)
        count = components.count
        seeds = united(count, sources, inside)
        above = current(self._above(seeds), obsolete, new, count)
        seeds = current(seeds, obsolete, new, count)
        graph = replace(self, edges=edges, components=components, descending=self.descending and not len(new))
        forward, fresh = self.forward.written(graph._due(above, seeds, True), count, obsolete)
        backward = self.backward
        if backward is not None:
            ends = united(count, targets, inside)
            below = current(self._with_sets(ends, self.forward), obsolete, new, count)
            due = graph._due(below, current(ends, obsolete, new, count), False)
            backward, _ = backward.written(due, count, obsolete)
        changed = components.ids(np.flatnonzero(fresh))
        return replace(graph, forward=forward, backward=backward, changed=changed)

    def _recomputed(self, edges: Table, inside: Integers) -> tuple[Components, Integers, Integers]:
        """Components after those inside were recomputed; the new numbers, and the obsolete ones."""
        old = self.components
        if not len(inside):
            return old, NONE, NONE
        vertices = np.sort(old.ids(inside))
        left, right = edges.partners(vertices, True)
        place = np.full(len(old.of), -1, np.int64)
        place[vertices] = np.arange(len(vertices))
        target = place[right]
        within = target >= 0
        label, count = find_components(left[within], target[within], len(vertices), self.symmetric)
        before = old.of[vertices]
        # An unchanged component keeps its number: all of its vertices have one old component, of the same size.
        sizes = np.bincount(label, minlength=count)
        first = np.full(count, -1, np.int64)
        first[label] = before
        mixed = np.zeros(count, np.bool_)
        mixed[label[first[label] != before]] = True
        kept = ~mixed & (old.sizes(first) == sizes)
        number = np.where(kept, first, old.count + np.cumsum(~kept) - 1)
        of = old.of.copy()
        of[vertices] = number[label]
        total = old.count + int(np.count_nonzero(~kept))
        known = np.flatnonzero(of >= 0).astype(np.uint32)
        components = Components(of, *graphs.grouped(of[known], known, total))
        return components, np.arange(old.count, total), np.setdiff1d(inside, first[kept])

    def _due(self, components: Integers, must: Integers, forward: bool) -> Due:
        """Components in the order in which their sets can be written."""
        sources, targets = self._edges_of(components, forward)
        needed = np.zeros(self.components.count, np.bool_)
        needed[must] = True
        return ordered(sources, targets, components, needed, forward, self.descending)

    def _edges_of(self, components: Integers, forward: bool) -> tuple[Integers, Integers]:
        """The edges from some components (or to them), as components."""
        ids = self.components.ids(components)
        if self.edges.tuning.closure_point_lookup_factor * len(ids) < self.edges.size:
            left, right = self.edges.partners(ids, forward)
            return self.components.find(ids)[left], self.components.find(right)
        ends = [self.components.find(column) for column in self.edges.columns()]
        sources, targets = ends if forward else ends[::-1]
        chosen = np.zeros(self.components.count, np.bool_)
        chosen[components] = True
        among = chosen[sources]
        return sources[among], targets[among]

    @property
    def nbytes(self) -> int:
        other = self.backward.nbytes if self.backward is not None else 0
        return self.components.nbytes + self.forward.nbytes + other


def distinct(columns: Sequence[Ids], ids: int, tuning: Tuning) -> Ids:
    """The ids that occur in columns, ascending."""
    if tuning.closure_point_lookup_factor * sum(map(len, columns)) < ids:
        return np.unique(np.concatenate(columns))
    present = np.zeros(ids, np.bool_)
    for column in columns:
        present[column] = True
    return np.flatnonzero(present).astype(np.uint32)


def find_components(sources: Integers, targets: Integers, count: int, symmetric: bool) -> tuple[Integers, int]:
    """The component of each vertex from 0 on, and their number; edges in order of their sources."""
    if symmetric:
        label, found = graphs.connected_components(sources, targets, count)
    else:
        label, found = graphs.strong_components(graphs.offsets_of(sources, count), targets)
    return label, int(found)


def ordered(
    sources: Integers,
    targets: Integers,
    components: Integers,
    must: NDArray[np.bool_],
    forward: bool,
    descending: bool = True,
) -> Due:
    """The edges of some components by source, and the components so that targets come before sources."""
    count = len(must)
    if descending:  # smaller numbers first, or, against the direction of the edges, larger ones
        order = np.sort(components) if forward else np.sort(components)[::-1]
        turn = np.arange(count)[::-1] if forward else np.arange(count)
    else:
        order = components[np.argsort(_ranks(sources, targets, components, count))]
        turn = _turns(order, count, forward)
    place = np.full(count, -1, np.int64)
    place[order] = np.arange(len(order))
    # The successors of each, in the order of their sources; those that may reach most first.
    _, by_turn = graphs.grouped(turn[targets], np.arange(len(targets)), count)
    offsets, by_source = graphs.grouped(place[sources[by_turn]], by_turn, len(order))
    return Due(order, must[order], offsets, targets[by_source])


def _ranks(sources: Integers, targets: Integers, components: Integers, count: int) -> Integers:
    """The place of each of some components in an order in which targets come before sources."""
    place = np.full(count, -1, np.int64)
    place[components] = np.arange(len(components))
    inner = (place[targets] >= 0) & (sources != targets)
    rank: Integers
    rank, _ = graphs.strong_components(*graphs.grouped(place[sources[inner]], place[targets[inner]], len(components)))
    return rank


def _turns(order: Integers, count: int, forward: bool) -> Integers:
    """The order in which components are visited: those late in an order first, as they reach most, then the others."""
    others = np.ones(count, np.bool_)
    others[order] = False
    rest = np.flatnonzero(others)
    turn = np.empty(count, np.int64)
    turn[np.concatenate([order[::-1], rest[::-1] if forward else rest])] = np.arange(count)
    return turn


def united(count: int, *parts: Integers) -> Integers:
    """The numbers below `count` that are in one of several arrays, ascending."""
    present = np.zeros(count, np.bool_)
    for part in parts:
        present[part] = True
    return np.flatnonzero(present)


def current(components: Integers, obsolete: Integers, new: Integers, count: int) -> Integers:
    """Components without the obsolete ones, and with the new ones."""
    present = np.zeros(count, np.bool_)
    present[components] = True
    present[obsolete] = False
    present[new] = True
    return np.flatnonzero(present)


class Reachability(VirtualRelation):
    """The closure of a backbone, as a virtual relation."""

    def __init__(self, graph: Graph, guarded: bool, before: Reachability | None = None) -> None:
        super().__init__(graph.edges.tuning)
        self.graph, self.guarded = graph, guarded
        self.token = object()
        self.parent = before.token if before is not None else None
        self.one_sided = True  # whether its update only removed edges, or only added them

    @classmethod
    def closing(cls, edges: Table, symmetric: bool, guarded: bool) -> Reachability:
        return cls(Graph.of(edges, symmetric), guarded)

    def updated(self, edges: Table, removed: Table, added: Table) -> Reachability:
        """The closure after a change of the backbone, which is `edges` then."""
        graph, changed = self.graph, []
        if removed.size:
            graph = graph.without(removed, edges.minus(added) if added.size else edges)
            changed.append(graph.changed)
        if added.size:
            graph = graph.with_(added, edges)
            changed.append(graph.changed)
        if len(changed) == 2:
            both = np.unique(np.concatenate(changed))
            graph = replace(graph, changed=both)
        found = Reachability(graph, self.guarded, self)
        found.one_sided = not (removed.size and added.size)
        return found

    # The relation.

    def measured(self) -> int:
        everything = np.arange(self.graph.components.count)
        reached = reachable_sets.cardinalities(everything, *self.graph.forward.arrays, self.graph.components.offsets)
        total = int((reached * self.graph.components.sizes(everything)).sum())
        if self.guarded:
            ids = self.graph.components.members
            total -= int(np.count_nonzero(self._barred(ids)))
        return total

    def _barred(self, ids: Ids) -> NDArray[np.bool_]:
        """Ids that reach themselves, but whose pair with themselves is excluded by the guard."""
        if not self.guarded:
            return np.zeros(len(ids), np.bool_)
        loops = np.zeros(len(ids), np.bool_)
        reachable_sets.mark_related(ids, ids, self.graph.components.of, *self.graph.forward.arrays, loops)
        return loops & ~self.graph.edges.contains(pack([ids, ids], len(ids)))

    def contains(self, keys: Keys) -> Mask:
        sources, targets = unpack(keys, 2)
        found = np.zeros(len(keys), np.bool_)
        reachable_sets.mark_related(sources, targets, self.graph.components.of, *self.graph.forward.arrays, found)
        if self.guarded:
            same = np.flatnonzero(sources == targets)
            found[same] &= self.graph.edges.contains(keys[same])
        return found

    def counts(self, ids: Ids, forward: bool) -> Positions:
        components, sets = self.graph.components.find(ids), self.graph.sets(forward)
        known = components >= 0
        counts = np.zeros(len(ids), np.int64)
        counts[known] = reachable_sets.cardinalities(components[known], *sets.arrays, self.graph.components.offsets)
        return counts - self._barred(ids) if self.guarded else counts

    def partners(self, ids: Ids, forward: bool) -> tuple[Positions, Ids]:
        components, sets = self.graph.components.find(ids), self.graph.sets(forward)
        known = np.flatnonzero(components >= 0)
        counts = reachable_sets.cardinalities(components[known], *sets.arrays, self.graph.components.offsets)
        ends = np.cumsum(counts)
        values = np.empty(int(ends[-1]) if len(ends) else 0, np.uint32)
        inner = self.graph.components
        reachable_sets.expand(components[known], ends - counts, *sets.arrays, inner.offsets, inner.members, values)
        left = np.repeat(known, counts)
        if not self.guarded:
            return left, values
        kept = ~((values == ids[left]) & self._barred(ids)[left])
        return left[kept], values[kept]

    @property
    def mutual(self) -> int:
        everything = np.arange(self.graph.components.count)
        own = np.zeros(len(everything), np.bool_)
        firsts = self.graph.components.members[
            np.minimum(self.graph.components.offsets[:-1], len(self.graph.components.members) - 1)
        ]
        sizes = self.graph.components.sizes(everything)
        reachable_sets.mark_related(firsts, firsts, self.graph.components.of, *self.graph.forward.arrays, own)
        own &= sizes > 0
        barred = int(np.count_nonzero(self._barred(self.graph.components.members)))
        return int((sizes[own] ** 2).sum()) - barred

    def _block(self, firsts: Ids, count: int) -> Keys:
        if 64 * count < len(firsts) * len(self.graph.components.of):  # few pairs in a wide range of ids
            return super()._block(firsts, count)
        inner, out = self.graph.components, np.empty(count + len(firsts), np.uint64)
        bits = np.zeros((len(inner.of) >> 6) + 1, np.uint64)
        found = reachable_sets.sorted_pairs(
            firsts, inner.find(firsts), *self.graph.forward.arrays, inner.offsets, inner.members, bits, out
        )
        keys = out[:found]
        if self.guarded:
            first, second = unpack(keys, 2)
            keys = keys[~((first == second) & self._barred(first))]
        return keys

    def leads(self, column: int) -> Ids:
        members = self.graph.components.members
        return np.sort(members[self.counts(members, column == 0) > 0])

    def minus(self, removed: Relation) -> Relation:
        """From the closure before or after an update: by the sets that it changed."""
        if isinstance(removed, Reachability) and (self.parent is removed.token or removed.parent is self.token):
            return pairs_gained(self, removed)
        return super().minus(removed)

    @property
    def closure(self) -> Reachability:
        return self

    @property
    def nbytes(self) -> int:
        return self.graph.nbytes


def pairs_gained(new: Reachability, old: Reachability) -> Relation:
    """The pairs of one closure that another one does not have, by their sets; one is an update of the other."""
    changed = new.graph.changed if new.parent is old.token else old.graph.changed
    components, earlier = new.graph.components, old.graph.components
    pairs = pack([(c.find(changed) + 1).astype(np.uint32) for c in (earlier, components)], len(changed))
    distinct_pairs, group = np.unique(pairs, return_inverse=True)
    groups = [column.astype(np.int64) - 1 for column in unpack(distinct_pairs, 2)]
    bits = np.zeros((max(components.count, earlier.count) >> 6) + 1, np.uint64)
    begins, found, weights = reachable_sets.gained(
        groups[0], groups[1], *old.graph.forward.arrays, *new.graph.forward.arrays, components.offsets, bits
    )
    total = int(weights[group].sum())
    if total > new.tuning.max_listed_pairs:
        return VirtualDifference(new, old, changed, new.one_sided if new.parent is old.token else old.one_sided)
    keys = reachable_sets.pairs(changed, group, begins, found, components.offsets, components.members, total)
    keys = keys[~old.contains(keys)]  # numbers are new where components merged or split
    if new.guarded:
        keys = np.concatenate([keys[new.contains(keys)], _loops(new, old)])
    return Table.of(sort_distinct(keys), 2, new.tuning)


def _loops(new: Reachability, old: Reachability) -> Keys:
    """Pairs R(u, u) that were added as edges: the sets of u may be the same as before."""
    sources, targets = unpack(new.graph.edges.minus(old.graph.edges).keys(), 2)
    same = sources[sources == targets]
    keys = pack([same, same], len(same))
    return keys[~old.contains(keys)]
