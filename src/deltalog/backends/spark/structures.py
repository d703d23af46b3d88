"""Structures on Spark: closures and components are found by the local kernels in the driver, where the graph is, and
their pairs are handed back; inverses and unions are plans.

A change makes the relation anew, and its difference is that of two tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltalog.backends.spark.table import SparkTable
from deltalog.dictionary import Dictionary
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan, fact_columns
from deltalog.program.patterns import Form, Structure
from deltalog.syntax.ast import Atom, Pred

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend


def made(structure: Structure, inputs: Sequence[SparkTable], home: SparkBackend) -> SparkTable:
    """The relation that a structure makes of its inputs."""
    if structure.form in (Form.CLOSURE, Form.COMPONENTS):
        return _closed(structure, inputs[0], home)
    names = [Pred(f"#input{i}", 2) for i in range(len(inputs))]
    flags = structure.swapped or (False,) * len(inputs)
    plan = ir.Distinct(ir.Union(tuple(_read(name, swap) for name, swap in zip(names, flags, strict=True))))
    return home.pin(home.run(plan, {(name, Part.ALL): table for name, table in zip(names, inputs, strict=True)}))


def _read(pred: Pred, swap: bool) -> Plan:
    first, second = fact_columns(2)
    scan = ir.Scan(Atom(pred.name, (second, first) if swap else (first, second)))
    return ir.Project(scan, ((first, first), (second, second)))


def _closed(structure: Structure, edges: SparkTable, home: SparkBackend) -> SparkTable:
    from deltalog.backends.local import LocalBackend

    local = LocalBackend(Dictionary())
    table = local.load([local.dictionary.intern_integers(ids) for ids in home.rows(edges)], 2)
    columns = [local.dictionary.integers[ids] for ids in local.structure(structure, [table]).columns()]
    return home.loaded(columns, 2, len(columns[0]), home.driver_budget > 0)
