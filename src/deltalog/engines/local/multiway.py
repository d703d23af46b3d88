"""Joins of several relations at once: see `kernels.multiway`.

The values of the first variable are cut into intervals, and all cores take intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deltalog.core.arrays import Words
from deltalog.core.rules import Term, Variable
from deltalog.engines.local.addresses import TableAddresses
from deltalog.engines.local.encoded_terms import EncodedTerms
from deltalog.engines.local.index_join import Rows
from deltalog.engines.local.pipeline import Evaluation, Key, even_bounds
from deltalog.engines.local.sorted_runs import Order
from deltalog.engines.local.table import Table
from deltalog.evaluation.plan import ir
from deltalog.kernels import multiway as kernel

PIECES = 8  # intervals per thread: some take longer than others


@dataclass(frozen=True, slots=True)
class MultiwayJoin:
    """A join as the kernel takes it: `scans` are the relations of its lines, and how they are sorted."""

    lines: Words
    levels: Words
    scans: tuple[tuple[Key, Order], ...]
    constants: Words
    wanted: Words
    needed: int
    names: tuple[Variable, ...]
    by_rows: Callable[[Evaluation], Rows]  # the same by two-way joins, where a relation is virtual

    def rows(self, evaluation: Evaluation) -> Rows:
        relations = [evaluation.table(key) for key, _ in self.scans]
        if not all(relation.is_stored for relation in relations):
            return self.by_rows(evaluation)
        tables, addresses = [relation.stored() for relation in relations], TableAddresses()
        lines, ids = self.lines.copy(), evaluation.ids
        for i, (table, (_, order)) in enumerate(zip(tables, self.scans, strict=True)):
            lines[i, kernel.PLACE] = addresses.add(table, table.addresses(order))
        where = addresses.words()

        def part(bounds: tuple[int, int]) -> NDArray[np.uint32]:
            evaluation.check()
            found: NDArray[np.uint32] = kernel.multiway_join(
                lines, self.levels, where, self.constants, self.wanted, self.needed, *bounds, ids
            )
            return found

        parts = evaluation.workers.map(part, self._intervals(tables, evaluation))
        found = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return Rows({v: np.ascontiguousarray(found[:, i]) for i, v in enumerate(self.names)}, len(found))

    def _intervals(self, tables: Sequence[Table], evaluation: Evaluation) -> list[tuple[int, int]]:
        """Intervals of ids that hold about as many rows of the largest relation of the first variable each."""
        first = tables[: int(self.levels[1])]
        places = [i for i in range(len(first)) if self.lines[i, kernel.KIND] != kernel.SECOND]
        largest = max(places, key=lambda i: first[i].size, default=None)
        rows = sum(table.size for table in tables)
        if largest is None or rows < evaluation.workers.parallel_min_rows:
            return [(0, evaluation.ids)]
        keys = first[largest].runs[0].order(self.scans[largest][1])
        pieces = even_bounds(len(keys), PIECES * evaluation.workers.threads)
        cuts = sorted({int(keys[begin] >> np.uint64(32)) for begin, _ in pieces[1:]} - {0})
        return list(zip([0, *cuts], [*cuts, evaluation.ids], strict=True))


def multiway_join(
    plan: ir.MultiJoin,
    needed: frozenset[Variable],
    ids: Callable[[Sequence[Term]], EncodedTerms],
    by_rows: Callable[[Evaluation], Rows],
) -> MultiwayJoin:
    """A join of which the columns `needed` are wanted."""
    constants: dict[int, int] = {}
    atoms = [ids(scan.atom.terms) for scan in plan.scans]
    for term in (t for terms in atoms for t in terms if isinstance(t, int)):
        constants.setdefault(term, len(constants))
    level = {variable: i for i, variable in enumerate(plan.order)}
    lines, scans, levels = [], [], [0]
    for variable in plan.order:
        for scan, terms in zip(plan.scans, atoms, strict=True):
            if variable in terms:
                line, order = _line(terms, variable, level, constants)
                lines.append(line)
                scans.append(((scan.atom.pred, scan.part), order))
        levels.append(len(lines))
    names = tuple(v for v in plan.order if v in needed)
    wanted = [len(constants) + level[v] for v in names]
    last = max((level[v] + 1 for v in names), default=0)
    return MultiwayJoin(
        np.array(lines, np.int64),
        np.array(levels, np.int64),
        tuple(scans),
        np.array(list(constants), np.int64),
        np.array(wanted, np.int64),
        last,
        names,
        by_rows,
    )


def _line(
    terms: EncodedTerms, variable: Variable, level: dict[Variable, int], constants: dict[int, int]
) -> tuple[list[int], Order]:
    """What a relation says of a variable, and how it must be sorted: by the column that is bound first."""
    column = terms.index(variable)
    if len(terms) == 1:
        return [kernel.ALONE, -1, 0], (0,)
    other = terms[1 - column]
    if isinstance(other, Variable) and level[other] > level[variable]:
        return [kernel.FIRST, -1, 0], (column, 1 - column)
    register = constants[other] if isinstance(other, int) else len(constants) + level[other]
    return [kernel.SECOND, register, 0], (1 - column, column)
