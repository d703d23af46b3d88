"""Driver: multisets as plans over relations with a count in their last column (see `maintenance.derivation_counts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltalog.core.rules import AggregateCall, Atom, Call, Constant, HiddenName, Pred, Variable
from deltalog.engines.spark.table import SparkTable
from deltalog.evaluation.backend import run
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, fact_columns
from deltalog.evaluation.plan.variants import COUNT

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

SUM, PLACE, LESS = Variable("#sum"), Variable("#place"), Variable("#less")
ROWS, COUNTS = HiddenName("#rows"), HiddenName("#counts")


def uncounted(table: SparkTable, backend: SparkBackend) -> SparkTable:
    rows = fact_columns(table.arity - 1)
    return run(backend, _projected(_scan(COUNTS, rows), rows), {(Pred(COUNTS, table.arity), Part.ALL): table})


def with_counts(rows: SparkTable, counts: SparkTable, backend: SparkBackend) -> SparkTable:
    names = fact_columns(rows.arity)
    tables = {(Pred(ROWS, rows.arity), Part.ALL): rows, (Pred(COUNTS, counts.arity), Part.ALL): counts}
    plan = ir.Join(ir.Scan(Atom(ROWS, names)), _scan(COUNTS, names))
    return run(backend, _projected(plan, (*names, COUNT)), tables)


def recounted(
    old: SparkTable, added: Sequence[SparkTable], removed: Sequence[SparkTable], backend: SparkBackend
) -> SparkTable:
    """Counts after additions and subtractions; only rows that change are read and written."""
    if not added and not removed:
        return old
    rows = fact_columns(old.arity - 1)
    changes = {HiddenName(f"#change {i}"): table for i, table in enumerate((*added, *removed))}
    tables = {(Pred(name, old.arity), Part.ALL): table for name, table in changes.items()}
    scans = [_scan(name, rows) for name in changes]
    changed = run(backend, ir.Distinct(ir.Union(tuple(_projected(scan, rows) for scan in scans))), tables)
    present = with_counts(changed, old, backend)
    tables[Pred(COUNTS, old.arity), Part.ALL] = present
    after = run(backend, _sums(rows, [_scan(COUNTS, rows), *scans[: len(added)]], scans[len(added) :]), tables)
    return backend.merge(backend.remove(old, present), after)


def _sums(rows: tuple[Variable, ...], more: Sequence[Plan], less: Sequence[Plan]) -> Plan:
    """For each row the sum of its counts in some relations minus those in others, where that is not 0."""
    signed = [(scan, COUNT) for scan in more]
    signed += [(ir.Extend(scan, LESS, Call("-", (Constant(0), COUNT))), LESS) for scan in less]
    columns = tuple((name, name) for name in rows)
    inputs = tuple(
        ir.Project(plan, (*columns, (PLACE, Constant(i)), (COUNT, name))) for i, (plan, name) in enumerate(signed)
    )
    sums = ir.GroupBy(ir.Union(inputs), rows, (AggregateCall("sum", COUNT, SUM),))
    return ir.Project(ir.Where(sums, Call("!=", (SUM, Constant(0)))), (*columns, (COUNT, SUM)))


def _scan(name: str, rows: tuple[Variable, ...]) -> ir.Scan:
    return ir.Scan(Atom(name, (*rows, COUNT)))


def _projected(plan: Plan, names: tuple[Variable, ...]) -> ir.Project:
    return ir.Project(plan, tuple((name, name) for name in names))
