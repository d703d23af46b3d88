"""Structures on the local engine: what each form is made of, and how it follows its inputs.

Relations are kept by their structure (`implicit`, `reachability`). Where that is allowed and the relation is small or
not much larger than its input, it is a `Listed` table instead: one that has all rows, for the fastest reading, and the
structure beside them, for its maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from deltalog.backends.local.reachability import Reachability
from deltalog.backends.local.relation import Relation
from deltalog.backends.local.table import Table, empty
from deltalog.backends.local.virtual_relation import VirtualUnion, missing_pairs
from deltalog.kernels import sorted_keys as kernel
from deltalog.model.tuning import Tuning
from deltalog.program.recognise import Form, Structure

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


def made(structure: Structure, inputs: Sequence[Relation], tuning: Tuning) -> Relation:
    """The relation that a structure makes of its inputs."""
    if structure.form in (Form.CLOSURE, Form.COMPONENTS):
        closure = Reachability.closing(inputs[0].stored(), structure.form is Form.COMPONENTS, structure.guarded)
        return ListedClosure(closure.stored(), closure) if _is_small(structure, closure, tuning) else closure
    parts = _parts(structure, inputs)
    if structure.listed and all(relation.is_stored for relation in inputs):
        return Table.of(reduce(kernel.union, [part.keys() for part in parts]), 2, tuning)
    return parts[0] if structure.form is Form.INVERSE else VirtualUnion(parts)


def remade(
    structure: Structure,
    old: Relation,
    inputs: Sequence[Relation],
    removed: Sequence[Relation],
    added: Sequence[Relation],
    tuning: Tuning,
) -> tuple[Relation, Deltas]:
    """The same after a change of the inputs, and what finds all that it lost and won: that can be far more than what
    has changed, and often nobody asks."""
    if structure.form in (Form.CLOSURE, Form.COMPONENTS):
        edges, lost, new = (relations[0].stored() for relations in (inputs, removed, added))
        return _remade_closure(structure, old, edges, lost, new, tuning)
    now = VirtualUnion(_parts(structure, inputs)) if old.is_stored else made(structure, inputs, tuning)

    def deltas() -> tuple[Relation, Relation]:
        return missing_pairs(_parts(structure, removed), now), missing_pairs(_parts(structure, added), old)

    return _listed(old, deltas()) if old.is_stored else (now, deltas)


def _listed(old: Relation, change: tuple[Relation, Relation]) -> tuple[Relation, Deltas]:
    """A stored relation after a change of its rows."""
    removed, added = change
    return old.minus(removed).merge(added), lambda: change


def _remade_closure(
    structure: Structure, old: Relation, edges: Table, removed: Table, added: Table, tuning: Tuning
) -> tuple[Relation, Deltas]:
    before = old.closure
    if before is None:  # there was nothing yet, or it was kept in another way
        new = made(structure, [edges], tuning)
        return new, lambda: (old.minus(new), new.minus(old))
    closure = before.updated(edges, removed, added)

    def deltas() -> tuple[Relation, Relation]:
        lost = before.minus(closure) if removed.size else empty(2)
        return lost, closure.minus(before) if added.size else empty(2)

    if not old.is_stored or not _is_small(structure, closure, tuning):
        return closure, deltas
    rows, known = _listed(old, deltas())
    return ListedClosure(rows.stored(), closure), known


def _is_small(structure: Structure, closure: Reachability, tuning: Tuning) -> bool:
    sparse = tuning.closure_listed_max_facts_per_edge * closure.graph.edges.size
    return structure.listed and closure.size <= max(tuning.closure_listed_max_facts, sparse)


def _parts(structure: Structure, relations: Sequence[Relation]) -> list[Relation]:
    """The inputs, with columns exchanged where the structure says so."""
    flags = structure.swapped or (False,) * len(relations)
    return [relation.inverse() if swap else relation for relation, swap in zip(relations, flags, strict=True)]
