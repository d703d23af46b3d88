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
from deltalog.backends.spark.table import NEAR, Grid, SparkTable
from deltalog.io.documents import Reading
from deltalog.model.dictionary import Dictionary
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan
from deltalog.syntax.ast import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
)

if TYPE_CHECKING:
    from deltalog.backends.spark.backend import SparkBackend

COMPARE_IDS = ("=", "!=", "sameterm", "&&", "||", "!")


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
        sizes = [NEAR + 1 if table.near is None else len(table.near) for table in read.values()]
        if sum(sizes) > min(NEAR, self.home.driver_budget):
            return None
        moved = {key: self.moved(table) for key, table in read.items()}
        return {pred: self.back(self.local.run(plan, moved)) for pred, plan in plans.items()}

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, SparkTable]:
        """The facts of small files, read in the driver."""
        return {pred: self.back(table) for pred, table in self.local.read(paths, reading).items()}

    def moved(self, table: SparkTable) -> Any:
        """A table of the local engine with the same rows."""
        if table.arity == 0:
            return self.local.load([], 0)
        return self.local.load([self.local_ids(ids) for ids in self.home.rows(table)], table.arity)

    def local_ids(self, ids: Ids64) -> Any:
        out = np.empty(len(ids), np.uint32)
        inline = ids < 0
        out[inline] = self.local.dictionary.intern_integers(ids[inline] + INLINE)
        out[~inline] = self.home.dictionary.fetch(ids[~inline])
        return out

    def back(self, table: Any) -> SparkTable:
        """A local table as one of ours."""
        ids = self.home.dictionary.ids()
        columns = [ids[column] for column in self.local.rows(table)]
        return self.home.loaded(columns, table.arity, self.local.size(table), self.home.driver_budget > 0)


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
    moved = {
        (pred, Part.ALL): local.load([dictionary.intern_integers(ids) for ids in columns], pred.arity)
        for pred, columns in rows.items()
    }

    def back(table: Any) -> SparkTable:
        columns = [dictionary.integers[ids] for ids in local.rows(table)]
        return home.loaded(columns, table.arity, local.size(table), home.driver_budget > 0)

    return Twin(local, moved, tuple(_with_ids(rule, home.dictionary.id) for rule in rules), back)


def _compares_ids(literal: BodyLiteral, home: SparkBackend) -> bool:
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


def grid(columns: Sequence[Any], size: int) -> Grid:
    """Columns as lines."""
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.empty((size, 0), np.int64)
