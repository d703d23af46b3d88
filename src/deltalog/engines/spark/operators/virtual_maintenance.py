"""Driver: virtual relations (closures, components, inverses and unions) on Spark.

For a graph within the driver's budget, the local kernels compute components and reachable sets in the driver, and
executors list the pairs (`broadcast_closure`). For larger graphs a closure is evaluated round by round, and Spark SQL
finds components in few rounds (`components`). Inverses and unions are plans.

After a change the relation is recomputed, and its delta is the difference of two tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import Atom, Call, Filter, HiddenName, Pred, Rule
from deltalog.engines.spark.residence import decide, offload_bytes
from deltalog.engines.spark.table import Segment, SparkTable
from deltalog.evaluation.backend import run
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, fact_columns
from deltalog.program import Program
from deltalog.program.schemes import Scheme, SchemeKind, X, Y, Z, atom

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend


def made(scheme: Scheme, inputs: Sequence[SparkTable], backend: SparkBackend) -> SparkTable:
    """The virtual relation of a scheme over its inputs."""
    if scheme.kind in (SchemeKind.CLOSURE, SchemeKind.COMPONENTS):
        return _closed(scheme, inputs[0], backend)
    names = [Pred(HiddenName(f"#input{i}"), 2) for i in range(len(inputs))]
    flags = scheme.swapped or (False,) * len(inputs)
    plan = ir.Distinct(ir.Union(tuple(_read(name, swap) for name, swap in zip(names, flags, strict=True))))
    return run(backend, plan, {(name, Part.ALL): table for name, table in zip(names, inputs, strict=True)})


def _read(pred: Pred, swap: bool) -> Plan:
    first, second = fact_columns(2)
    scan = ir.Scan(Atom(pred.name, (second, first) if swap else (first, second)))
    return ir.Project(scan, ((first, first), (second, second)))


def _closed(scheme: Scheme, edges: SparkTable, backend: SparkBackend) -> SparkTable:
    if decide(offload_bytes(backend.size(edges), 2), backend.driver_budget).in_driver:
        return _closed_in_driver(scheme, edges, backend)
    if scheme.kind is SchemeKind.CLOSURE:
        return _closed_by_rounds(scheme, edges, backend)
    from deltalog.engines.spark.operators.components import same_component

    pairs = same_component(edges.frame(), scheme.guarded, backend.cut, backend.limits.check)
    return SparkTable(2, (Segment(pairs, sources=(edges,)),), None)


def _closed_in_driver(scheme: Scheme, edges: SparkTable, backend: SparkBackend) -> SparkTable:
    """By components and reachable sets in the driver; executors list the pairs, unless there are few."""
    from deltalog.engines.local import LocalBackend
    from deltalog.engines.local.reachability import Reachability
    from deltalog.engines.spark.driver_engine import id_matrix
    from deltalog.engines.spark.operators.broadcast_closure import closure_table

    local = LocalBackend(backend.limits, Dictionary(), tuning=backend.tuning)
    table = local.load([local.dictionary.intern_integers(ids) for ids in backend.rows(edges)], 2)
    backend.limits.check()
    closure = Reachability.closing(table, scheme.kind is SchemeKind.COMPONENTS, scheme.guarded)
    backend.limits.check()
    if closure.size > backend.tuning.spark_driver_table_max_rows:
        return closure_table(closure, local.dictionary.integers[: len(local.dictionary)], backend)
    return backend.loaded(
        id_matrix(closure.columns(), closure.size, local.dictionary.integers, backend.limits.checker())
    )


def _closed_by_rounds(scheme: Scheme, edges: SparkTable, backend: SparkBackend) -> SparkTable:
    """Beyond the driver's budget: semi-naive evaluation of r(x, z) <- r(x, y), e(y, z)."""
    from deltalog.evaluation.seminaive import Relations, SemiNaive, variants_by_delta

    closed, edge = (Pred(HiddenName(f"#{name}"), 2) for name in ("closed", "edge"))
    guard = (Filter(Call("!=", (X, Z))),) if scheme.guarded else ()
    rule = Rule((atom(closed, X, Z),), (atom(closed, X, Y), atom(edge, Y, Z), *guard))
    relations = Relations(backend, {(edge, Part.ALL): edges})
    evaluation = SemiNaive(Program((), (), (), ()), relations)
    with backend.meter.uncounted():
        evaluation.propagate((closed,), variants_by_delta([rule], (closed,)), {closed: edges})
    return relations.get(closed)
