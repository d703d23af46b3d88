"""Structures on Spark.

Of a graph that fits the driver's budget, components and reachable sets are made there by the local kernels, and
executors list the pairs (`expansion`). Beyond it the closure is evaluated round by round, and components are found by
executors in few rounds (`components`). Inverses and unions are plans.

A change makes the relation anew, and its difference is that of two tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltalog.backends.spark.table import Piece, SparkTable
from deltalog.model.dictionary import Dictionary
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan, fact_columns
from deltalog.plan.variants import new_facts, project
from deltalog.program.recognise import Form, Structure, X, Y, Z, atom
from deltalog.syntax.ast import Atom, Call, HiddenName, Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend


def made(structure: Structure, inputs: Sequence[SparkTable], home: SparkBackend) -> SparkTable:
    """The relation that a structure makes of its inputs."""
    if structure.form in (Form.CLOSURE, Form.COMPONENTS):
        return _closed(structure, inputs[0], home)
    names = [Pred(HiddenName(f"#input{i}"), 2) for i in range(len(inputs))]
    flags = structure.swapped or (False,) * len(inputs)
    plan = ir.Distinct(ir.Union(tuple(_read(name, swap) for name, swap in zip(names, flags, strict=True))))
    return home.pin(home.run(plan, {(name, Part.ALL): table for name, table in zip(names, inputs, strict=True)}))


def _read(pred: Pred, swap: bool) -> Plan:
    first, second = fact_columns(2)
    scan = ir.Scan(Atom(pred.name, (second, first) if swap else (first, second)))
    return ir.Project(scan, ((first, first), (second, second)))


def _closed(structure: Structure, edges: SparkTable, home: SparkBackend) -> SparkTable:
    if home.size(edges) <= home.driver_budget:
        return _closed_in_driver(structure, edges, home)
    if structure.form is Form.CLOSURE:
        return _closed_by_rounds(structure, edges, home)
    from deltalog.backends.spark.operators.components import same_component

    pairs = same_component(edges.frame(), structure.guarded, home.cut, home.limits.check)
    return SparkTable(2, (Piece(pairs),), None)


def _closed_in_driver(structure: Structure, edges: SparkTable, home: SparkBackend) -> SparkTable:
    """Components and reachable sets are made in the driver; executors list the pairs, unless they are few."""
    from deltalog.backends.local import LocalBackend
    from deltalog.backends.local.reachability import Reachability
    from deltalog.backends.spark.driver_engine import grid
    from deltalog.backends.spark.operators.broadcast_closure import expanded

    local = LocalBackend(home.limits, Dictionary(), tuning=home.tuning)
    table = local.load([local.dictionary.intern_integers(ids) for ids in home.rows(edges)], 2)
    home.limits.check()
    closure = Reachability.closing(table, structure.form is Form.COMPONENTS, structure.guarded)
    home.limits.check()
    if closure.size > home.tuning.spark_driver_table_max_rows:
        return expanded(closure, local.dictionary.integers[: len(local.dictionary)], home)
    return home.loaded(grid(closure.columns(), closure.size, local.dictionary.integers, home.limits.checker()))


def _closed_by_rounds(structure: Structure, edges: SparkTable, home: SparkBackend) -> SparkTable:
    """For graphs beyond the driver's budget: semi-naive evaluation of r(x, z) <- r(x, y), e(y, z)."""
    pred, delta, edge = (Pred(HiddenName(f"#{name}"), 2) for name in ("closed", "delta", "edge"))
    body: Plan = ir.Join(ir.Scan(atom(delta, X, Y)), ir.Scan(atom(edge, Y, Z)))
    if structure.guarded:
        body = ir.Where(body, Call("!=", (X, Z)))
    plan = new_facts(pred, (project(atom(pred, X, Z), body),))
    found = new = edges
    while home.size(new):
        tables = {(pred, Part.ALL): found, (delta, Part.ALL): new, (edge, Part.ALL): edges}
        new = home.run(plan, tables)
        found = home.merge(found, new)
    return found
