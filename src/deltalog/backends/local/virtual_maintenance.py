"""Structures on the local engine: what each form is made of, and how it follows its inputs.

Relations are kept by their structure (`implicit`, `reachability`). Where that is allowed and the relation is small or
not much larger than its input, it is a `Listed` table instead: one that has all rows, for the fastest reading, and the
structure beside them, for its maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from deltalog.backends.local.reachability import Reachability
from deltalog.backends.local.table import Table
from deltalog.backends.local.virtual_relation import Implicit, Plain, UnionRelation, plain, turned, unknown
from deltalog.kernels import sorted_keys as kernel
from deltalog.program.schemes import Scheme, SchemeKind

SMALL = 1 << 16  # a closure of so few facts is listed
SPARSE = 2  # and so is one of not more than so many facts for each of its backbone
DeferredDifference = Callable[[], tuple[Table, Table]]


class Listed(Table):
    """The rows of a closure, and the closure."""

    def __init__(self, rows: Table, closure: Reachability) -> None:
        super().__init__(2, rows.runs, rows.dead)
        self.__dict__["closure"] = closure


def made(structure: Scheme, inputs: Sequence[Table]) -> Table:
    """The relation that a structure makes of its inputs."""
    if structure.kind in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
        closure = Reachability.closing(plain(inputs[0]), structure.kind is SchemeKind.COMPONENTS, structure.guarded)
        return Listed(closure.listed(), closure) if _is_small(structure, closure) else closure
    parts = _parts(structure, inputs)
    if structure.listed and not any(isinstance(table, Implicit) for table in inputs):
        return Table.of(reduce(kernel.union, [part.keys() for part in parts]), 2)
    return parts[0] if structure.kind is SchemeKind.INVERSE else UnionRelation([_implicit(part) for part in parts])


def remade(
    structure: Scheme, old: Table, inputs: Sequence[Table], removed: Sequence[Table], added: Sequence[Table]
) -> tuple[Table, DeferredDifference]:
    """The same after a change of the inputs, and what finds all that it lost and won: that can be far more than what
    has changed, and often nobody asks."""
    if structure.kind in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
        return _remade_closure(structure, old, plain(inputs[0]), plain(removed[0]), plain(added[0]))
    is_listed = not isinstance(old, Implicit)
    now = (
        UnionRelation([_implicit(part) for part in _parts(structure, inputs)]) if is_listed else made(structure, inputs)
    )

    def difference() -> tuple[Table, Table]:
        return unknown(_parts(structure, removed), now), unknown(_parts(structure, added), old)

    return _listed(old, difference()) if is_listed else (now, difference)


def _listed(old: Table, change: tuple[Table, Table]) -> tuple[Table, DeferredDifference]:
    """A table with all rows, after a change of them."""
    lost, won = change
    return old.minus(lost).merge(won), lambda: change


def _remade_closure(
    structure: Scheme, old: Table, edges: Table, removed: Table, added: Table
) -> tuple[Table, DeferredDifference]:
    before = old if isinstance(old, Reachability) else old.__dict__.get("closure")
    if before is None:  # there was nothing yet, or it was kept in another way
        new = made(structure, [edges])
        return new, lambda: (old.minus(new), new.minus(old))
    closure = before.updated(edges, removed, added)

    def difference() -> tuple[Table, Table]:
        lost = before.minus(closure) if removed.size else Table(2)
        return lost, closure.minus(before) if added.size else Table(2)

    if isinstance(old, Reachability) or not _is_small(structure, closure):
        return closure, difference
    rows, known = _listed(old, difference())
    return Listed(rows, closure), known


def _is_small(structure: Scheme, closure: Reachability) -> bool:
    return structure.listed and closure.size <= max(SMALL, SPARSE * closure.graph.edges.size)


def _parts(structure: Scheme, tables: Sequence[Table]) -> list[Table]:
    """The inputs, with columns exchanged where the structure says so."""
    flags = structure.swapped or (False,) * len(tables)
    return [turned(table) if swap else table for table, swap in zip(tables, flags, strict=True)]


def _implicit(table: Table) -> Implicit:
    return table if isinstance(table, Implicit) else Plain(table)
