"""Evaluation in the driver, by the local engine, for what is small enough.

`Near` evaluates plans over tables that the driver holds: the local engine works on the driver's own dictionary, so
constants and expressions mean what they mean everywhere.

A `twin` is for a recursive hyper-node whose relations may be far larger, up to the driver's budget. Where its rules
only compare ids, no term is fetched: ids of 64 bits become integers of a local dictionary of their own, and so do the
constants of the rules. Otherwise the terms of all ids that occur come to the driver first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltalog.backends.base import Tables, Twin
from deltalog.backends.spark.io.hashed_ids import INLINE, Ids64
from deltalog.backends.spark.table import Grid, SparkTable
from deltalog.io.documents import Reading
from deltalog.model.dictionary import Dictionary
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan
from deltalog.syntax.ast import Aggregate, Atom, Bind, Call, Constant, Expression, Filter, Literal, Negation, Pred, Rule

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

COMPARE_IDS = ("=", "!=", "sameterm", "&&", "||", "!")
TRANSFER_ROWS = 1 << 20  # rows that are copied from the local engine between two checks of the limits


@dataclass(slots=True)
class Near:
    """The local engine over the driver's dictionary."""

    home: SparkBackend
    local: Any = None

    def __post_init__(self) -> None:
        from deltalog.backends.local import LocalBackend

        self.local = LocalBackend(self.home.limits, self.home.dictionary.near, tuning=self.home.tuning)

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[SparkTable]) -> dict[Pred, SparkTable] | None:
        """The rows of plans if all they read is in the driver, else None."""
        keys = {(scan.atom.pred, scan.part) for plan in plans.values() for scan in scans(plan)}
        read = {key: table for key in keys if (table := tables.get(key)) is not None and not table.empty}
        sizes = [None if table.near is None else len(table.near) for table in read.values()]
        most = min(self.home.tuning.spark_driver_table_max_rows, self.home.driver_budget)
        if None in sizes or sum(size for size in sizes if size is not None) > most:
            return None
        moved = {key: self.moved(table) for key, table in read.items()}
        return {pred: self.back(self.local.run(plan, moved)) for pred, plan in plans.items()}

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, SparkTable]:
        """The facts of small files, read in the driver."""
        return {pred: self.back(table) for pred, table in self.local.read(paths, reading).items()}

    def moved(self, table: SparkTable) -> Any:
        """A table of the local engine with the same rows."""
        columns = [self.local_ids(ids) for ids in self.home.rows(table)]
        self.home.limits.check()
        return self.local.load(columns, table.arity)

    def local_ids(self, ids: Ids64) -> Any:
        """The local ids of 64-bit ids; terms that the driver does not have are fetched."""
        self.home.limits.check()
        out = np.empty(len(ids), np.uint32)
        inline = ids < 0
        out[inline] = self.local.dictionary.intern_integers(ids[inline] + INLINE)
        out[~inline] = self.home.dictionary.fetch(ids[~inline])
        return out

    def back(self, table: Any) -> SparkTable:
        """A local table as one of ours."""
        return transferred(table, self.local, self.home.dictionary.ids(), self.home)


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


def twin(rules: Sequence[Rule], tables: Mapping[Pred, SparkTable], home: SparkBackend) -> Twin | None:
    """A local engine with the same relations, if they fit the driver's budget."""
    if sum(home.size(table) for table in tables.values()) > home.driver_budget:
        return None
    if all(_compares_ids(literal, home) for rule in rules for literal in rule.body):
        return _opaque(rules, tables, home)
    near = home.near
    moved = {(pred, Part.ALL): near.moved(table) for pred, table in tables.items() if not table.empty}
    return Twin(near.local, moved, tuple(rules), near.back)


def _opaque(rules: Sequence[Rule], tables: Mapping[Pred, SparkTable], home: SparkBackend) -> Twin:
    from deltalog.backends.local import LocalBackend

    dictionary = Dictionary()
    local = LocalBackend(home.limits, dictionary, tuning=home.tuning)
    rows = home.rows_of({pred: table for pred, table in tables.items() if not table.empty})
    moved = {}
    for pred, columns in rows.items():
        home.limits.check()
        interned = [dictionary.intern_integers(ids) for ids in columns]
        home.limits.check()
        moved[pred, Part.ALL] = local.load(interned, pred.arity)

    def back(table: Any) -> SparkTable:
        return transferred(table, local, dictionary.integers, home)

    return Twin(local, moved, tuple(_with_ids(rule, home.dictionary.id) for rule in rules), back)


def _compares_ids(literal: Literal, home: SparkBackend) -> bool:
    """Whether a literal means the same over ids as over values."""
    match literal:
        case Atom() | Negation():
            return True
        case Filter(condition):
            return home.only_integers and _only_compares(condition)
        case Bind() | Aggregate():
            return False


def _only_compares(expression: Expression) -> bool:
    if isinstance(expression, Call):
        return expression.function in COMPARE_IDS and all(map(_only_compares, expression.arguments))
    return not (isinstance(expression, Constant) and isinstance(expression.value, bool))


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


def transferred(table: Any, local: Any, ids: Ids64, home: SparkBackend) -> SparkTable:
    """A local table as one of the Spark engine, kept in the driver; `ids` has the 64-bit id of each local id."""
    rows = grid(local.rows(table), local.size(table), ids, home.limits.checker())
    return home.loaded(rows, home.driver_budget > 0)


def grid(columns: Sequence[Any], size: int, ids: Ids64, check: Callable[[], None]) -> Grid:
    """Columns of local ids as rows of 64-bit ids. Limits are checked on the way: results can be far larger than what
    they were computed from."""
    rows = np.empty((size, len(columns)), np.int64)
    for start in range(0, size, TRANSFER_ROWS):
        check()
        for i, column in enumerate(columns):
            rows[start : start + TRANSFER_ROWS, i] = ids[column[start : start + TRANSFER_ROWS]]
    return rows
