"""The stages of a program, one after the other, over what ordinary rules derive in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from deltalog.backends.base import Backend, united
from deltalog.backends.codec import encode_rows
from deltalog.engine.encode_facts import encode_facts_of
from deltalog.engine.ordered_rows import OrderedRows, ValueOrder
from deltalog.engine.stages import StageEvaluation
from deltalog.engine.subsumption import subsumed
from deltalog.program.stages import OrderedStage
from deltalog.syntax.ast import Pred

T = TypeVar("T")


def run_stages(
    stages: Sequence[OrderedStage], contents: Callable[[], Any], backend: Backend[T], tuple_by_tuple: bool
) -> Iterator[dict[Pred, T]]:
    """All facts of the relations of each stage, in the place of those that are given; they must be known before the
    next ones are asked for."""
    order, numbers = ValueOrder(), count()
    for stage in stages:
        now = contents()
        if stage.by_sets and not tuple_by_tuple:
            yield _by_sets(stage, now, backend)
        else:
            read = {pred: _rows(now, pred, order) for pred in sorted(stage.reads)}
            given = {pred: list(_rows(now, pred, order).rows) for pred in stage.preds}
            found = StageEvaluation(stage, read, order, backend.limits, numbers).run(given)
            yield {
                pred: encode_rows(backend.codec, rows) if rows else backend.empty(pred.arity)
                for pred, rows in found.items()
            }


def _by_sets(stage: OrderedStage, contents: Any, backend: Backend[T]) -> dict[Pred, T]:
    given = {pred: _table(contents, pred) for pred in stage.reads | stage.preds}
    known = {pred: table for pred, table in given.items() if table is not None}
    rules = tuple(rule for rule in stage.rules if not rule.is_fact)
    return subsumed(replace(stage, rules=rules), united(known, encode_facts_of(stage.rules, backend), backend), backend)


def _table(contents: Any, pred: Pred) -> Any:
    """The facts of a relation, which may be a hidden one."""
    return contents.state.relations.get(pred) if pred.hidden else contents.table(pred)


def _rows(contents: Any, pred: Pred, order: ValueOrder) -> OrderedRows:
    return OrderedRows(order, dict.fromkeys(contents.view(pred, _table(contents, pred))))
