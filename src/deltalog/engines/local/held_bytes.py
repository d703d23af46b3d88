"""The memory that relations hold: runs with their indexes, and what virtual relations store instead of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Run
from deltalog.engines.local.table import Table


def held_bytes(relations: Iterable[Relation]) -> int:
    """The bytes of relations; a run that several of them share counts once."""
    held: dict[int, int] = {}
    for relation in relations:
        for part in _parts(relation):
            held[id(part)] = part.nbytes
    return sum(held.values())


def _parts(relation: Relation) -> Sequence[Run | Relation]:
    if not isinstance(relation, Table):
        return (relation,)
    tables = {id(table): table for table in (relation, relation.best)}.values()
    return [run for table in tables for run in (*table.runs, *(table.tombstones.runs if table.tombstones else ()))]
