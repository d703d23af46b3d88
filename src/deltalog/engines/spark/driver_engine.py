"""Driver: small evaluations by the local engine.

`DriverEngine` evaluates plans over driver tables. Its local engine uses the driver's own dictionary, so constants and
expressions mean what they mean everywhere.

`offload_to_driver` is for a recursive hyper-node whose relations may be far larger, up to the driver's budget. If its
rules only compare ids, no term is fetched: 64-bit ids become integers of a separate local dictionary, and so do the
constants of the rules. Otherwise the terms of all ids are fetched first.

Limits hold here as on the local engine. Results can be far larger than what they are computed from, so limits are also
checked while rows are copied between the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import (
    Atom,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
)
from deltalog.engines.spark.io.hashed_ids import INLINE, Ids64
from deltalog.engines.spark.literals import IdMatrix
from deltalog.engines.spark.table import SparkTable
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.capabilities.offload import OffloadTarget
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan
from deltalog.formats.documents import Reading

if TYPE_CHECKING:
    from deltalog.engines.spark.backend import SparkBackend

TRANSFER_ROWS = 1 << 20  # rows copied from the local engine between two checks of the limits


@dataclass(slots=True)
class DriverEngine:
    """A local engine over the driver's dictionary."""

    backend: SparkBackend
    local: Any = None

    def __post_init__(self) -> None:
        from deltalog.engines.local import LocalBackend

        self.local = LocalBackend(self.backend.limits, self.backend.dictionary.local, tuning=self.backend.tuning)

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable] | None:
        """The rows of plans if they read only driver tables, of few rows in all; else None."""
        keys = {(scan.atom.pred, scan.part) for plan in plans.values() for scan in scans(plan)}
        read = {key: table for key in keys if (table := tables.get(key)) is not None and not table.empty}
        max_rows = self.backend.tuning.spark_driver_table_max_rows if self.backend.driver_budget else 0
        if any(table.driver_rows is None for table in read.values()):
            return None
        if sum(table.size or 0 for table in read.values()) > max_rows:
            return None
        local_tables = {key: self.to_local(table) for key, table in read.items()}
        return {pred: self.from_local(table) for pred, table in self.local.run_all(plans, local_tables).items()}

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, SparkTable]:
        """The facts of small files, read in the driver."""
        return {pred: self.from_local(table) for pred, table in self.local.codec.read(paths, reading).items()}

    def to_local(self, table: SparkTable) -> Any:
        """The same rows as a table of the local engine."""
        columns = [self.local_ids(ids) for ids in self.backend.rows(table)]
        self.backend.limits.check()
        return self.local.load(columns, table.arity)

    def local_ids(self, ids: Ids64) -> Any:
        """The local ids of 64-bit ids; terms that the driver does not have are fetched."""
        self.backend.limits.check()
        out = np.empty(len(ids), np.uint32)
        inline = ids < 0
        out[inline] = self.local.dictionary.intern_integers(ids[inline] + INLINE)
        out[~inline] = self.backend.dictionary.fetch(ids[~inline])
        return out

    def from_local(self, table: Any) -> SparkTable:
        """A table of the local engine as a table of the Spark engine."""
        return from_local_table(table, self.local, self.backend.dictionary.ids(), self.backend)


def scans(plan: Plan) -> Iterable[ir.Scan]:
    """Every scan of a plan."""
    match plan:
        case ir.Unit():
            return
        case ir.Scan():
            yield plan
        case ir.Join(left, right) | ir.SemiJoin(left, right) | ir.AntiJoin(left, right):
            yield from scans(left)
            yield from scans(right)
        case ir.MultiJoin():
            yield from plan.scans
        case ir.Union(inputs) | ir.Counted(inputs):
            for input in inputs:
                yield from scans(input)
        case _:
            yield from scans(plan.input)


def offload_to_driver(
    rules: Sequence[Rule], tables: Mapping[Pred, SparkTable], backend: SparkBackend
) -> OffloadTarget[SparkTable]:
    """A local engine with the same relations."""
    if all(_compares_ids(literal, backend) for rule in rules for literal in rule.body):
        return _offload_ids(rules, tables, backend)
    driver = backend.driver
    local_tables = {(pred, Part.ALL): driver.to_local(table) for pred, table in tables.items() if not table.empty}
    return OffloadTarget(driver.local, local_tables, tuple(rules), driver.from_local)


def _offload_ids(
    rules: Sequence[Rule], tables: Mapping[Pred, SparkTable], backend: SparkBackend
) -> OffloadTarget[SparkTable]:
    """The same, over ids alone."""
    from deltalog.engines.local import LocalBackend

    dictionary = Dictionary()
    local = LocalBackend(backend.limits, dictionary, tuning=backend.tuning)
    rows = backend.rows_of({pred: table for pred, table in tables.items() if not table.empty})
    local_tables = {}
    for pred, columns in rows.items():
        backend.limits.check()
        interned = [dictionary.intern_integers(ids) for ids in columns]
        backend.limits.check()
        local_tables[pred, Part.ALL] = local.load(interned, pred.arity)

    def back(table: Any) -> SparkTable:
        return from_local_table(table, local, dictionary.integers, backend)

    return OffloadTarget(local, local_tables, tuple(_with_ids(rule, backend.dictionary.id) for rule in rules), back)


def _compares_ids(literal: BodyLiteral, backend: SparkBackend) -> bool:
    """Whether a literal means the same over ids as over values."""
    match literal:
        case Atom() | Negation():
            return True
        case Filter(condition):
            return backend.only_integers and _only_compares(condition)
    return False


def _only_compares(condition: Expression) -> bool:
    """Whether a condition only compares variables and constants. A variable in place of a condition is no comparison:
    its value must be a boolean, and an id is none."""
    match condition:
        case Call("&&" | "||" | "!", arguments):
            return all(map(_only_compares, arguments))
        case Call("=" | "!=" | "sameterm", arguments):
            return not any(isinstance(argument, Call) for argument in arguments)
    return False


def _with_ids(rule: Rule, id_of: Callable[[Any], int]) -> Rule:
    """A rule whose constants are ids."""

    def term(t: Any) -> Any:
        match t:
            case Constant(value):
                return Constant(id_of(value))
            case Call(arguments=arguments):
                return replace(t, arguments=tuple(map(term, arguments)))
            case Atom(terms=terms):
                return replace(t, terms=tuple(map(term, terms)))
            case Negation(atom):
                return replace(t, atom=term(atom))
            case Filter(condition):
                return replace(t, condition=term(condition))
        return t

    return replace(rule, heads=tuple(map(term, rule.heads)), body=tuple(map(term, rule.body)))


def from_local_table(table: Any, local: Any, ids: Ids64, backend: SparkBackend) -> SparkTable:
    """A local table as a driver table; `ids` has the 64-bit id of each local id."""
    rows = id_matrix(local.rows(table), local.size(table), ids, backend.limits.checker())
    return backend.loaded(rows, backend.driver_budget > 0)


def id_matrix(columns: Sequence[Any], size: int, ids: Ids64, check: Callable[[], None]) -> IdMatrix:
    """Columns of local ids as rows of 64-bit ids."""
    rows = np.empty((size, len(columns)), np.int64)
    for start in range(0, size, TRANSFER_ROWS):
        check()
        for i, column in enumerate(columns):
            rows[start : start + TRANSFER_ROWS, i] = ids[column[start : start + TRANSFER_ROWS]]
    return rows
