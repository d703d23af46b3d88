"""Schemes on the local engine: how virtual relations are created from their inputs, and how they follow them.

A relation with a scheme is virtual (`virtual_relation`, `reachability`). Where that is allowed and the relation is
small or not much larger than its input, it is a `ListedClosure` instead: a table with all rows, which is read fastest,
and the closure beside them, for maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from deltalog.core.tuning import Tuning
from deltalog.engines.local.reachability import Reachability
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.table import Table, empty
from deltalog.engines.local.virtual_relation import VirtualUnion, missing_pairs
from deltalog.kernels import sorted_keys as kernel
from deltalog.program.schemes import Scheme, SchemeKind

Deltas = Callable[[], tuple[Relation, Relation]]  # finds the removed and the added rows, on demand


class ListedClosure(Table):
    """The rows of a closure, and the closure. Tables derived from it are plain ones."""

    __slots__ = ("_closure",)

    def __init__(self, rows: Table, closure: Reachability) -> None:
        super().__init__(2, rows.runs, rows.tombstones, rows.tuning)
        self._closure = closure

    @property
    def closure(self) -> Reachability:
        return self._closure


def create_relation(scheme: Scheme, inputs: Sequence[Relation], tuning: Tuning) -> Relation:
    """The relation that a scheme gives for its inputs."""
    if scheme.kind in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
        closure = Reachability.closing(inputs[0].stored(), scheme.kind is SchemeKind.COMPONENTS, scheme.guarded)
        return ListedClosure(closure.stored(), closure) if _is_small(scheme, closure, tuning) else closure
    parts = _parts(scheme, inputs)
    if scheme.listed and all(relation.is_stored for relation in inputs):
        return Table.of(reduce(kernel.union, [part.keys() for part in parts]), 2, tuning)
    return parts[0] if scheme.kind is SchemeKind.INVERSE else VirtualUnion(parts)


def update_relation(
    scheme: Scheme,
    old: Relation,
    inputs: Sequence[Relation],
    removed: Sequence[Relation],
    added: Sequence[Relation],
    tuning: Tuning,
) -> tuple[Relation, Deltas]:
    """The same after a change of the inputs, and its deltas on demand: they can be far larger than the change, and
    often nothing reads them."""
    if scheme.kind in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
        edges, without, with_ = (relations[0].stored() for relations in (inputs, removed, added))
        return _update_closure(scheme, old, edges, without, with_, tuning)
    now = VirtualUnion(_parts(scheme, inputs)) if old.is_stored else create_relation(scheme, inputs, tuning)

    def deltas() -> tuple[Relation, Relation]:
        return missing_pairs(_parts(scheme, removed), now), missing_pairs(_parts(scheme, added), old)

    return _listed(old, deltas()) if old.is_stored else (now, deltas)


def _listed(old: Relation, change: tuple[Relation, Relation]) -> tuple[Relation, Deltas]:
    """A stored relation after a change of its rows."""
    removed, added = change
    return old.minus(removed).merge(added), lambda: change


def _update_closure(
    scheme: Scheme, old: Relation, edges: Table, removed: Table, added: Table, tuning: Tuning
) -> tuple[Relation, Deltas]:
    before = old.closure
    if before is None:  # it was empty, or had another representation
        new = create_relation(scheme, [edges], tuning)
        return new, lambda: (old.minus(new), new.minus(old))
    closure = before.updated(edges, removed, added)

    def deltas() -> tuple[Relation, Relation]:
        removed_rows = before.minus(closure) if removed.size else empty(2)
        return removed_rows, closure.minus(before) if added.size else empty(2)

    if not old.is_stored or not _is_small(scheme, closure, tuning):
        return closure, deltas
    rows, known = _listed(old, deltas())
    return ListedClosure(rows.stored(), closure), known


def _is_small(scheme: Scheme, closure: Reachability, tuning: Tuning) -> bool:
    sparse = tuning.closure_listed_max_facts_per_edge * closure.graph.edges.size
    return scheme.listed and closure.size <= max(tuning.closure_listed_max_facts, sparse)


def _parts(scheme: Scheme, relations: Sequence[Relation]) -> list[Relation]:
    """The inputs, with columns exchanged where the scheme says so."""
    flags = scheme.swapped or (False,) * len(relations)
    return [relation.inverse() if swap else relation for relation, swap in zip(relations, flags, strict=True)]
