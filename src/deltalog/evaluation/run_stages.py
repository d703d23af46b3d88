"""One stage of a program, over what ordinary rules derive before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Generic, TypeVar

from deltalog.core.rules import Pred
from deltalog.evaluation.backend import Backend, united
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.encode_facts import encode_facts_of
from deltalog.evaluation.facts import rows
from deltalog.evaluation.ordered_rows import OrderedRows, ValueOrder
from deltalog.evaluation.stages import StageEvaluation
from deltalog.evaluation.subsumption import subsumed
from deltalog.program.stages import OrderedStage

T = TypeVar("T")


@dataclass(frozen=True)
class StageFacts(Generic[T]):
    """All facts of the relations of a stage, in the place of those that are given; no table is empty. `numbers` are
    those that autoinc() took."""

    tables: dict[Pred, T]
    numbers: range = field(default_factory=lambda: range(0))


def run_stage(
    stage: OrderedStage, given: Callable[[Pred], T], backend: Backend[T], first: int, tuple_by_tuple: bool
) -> StageFacts[T]:
    """The facts of a stage, from those of what it reads and of its own relations. autoinc() begins with `first`."""
    if stage.by_sets and not tuple_by_tuple:
        found = _by_sets(stage, given, backend)
        return StageFacts({pred: table for pred, table in found.items() if backend.size(table)}, range(first, first))
    order, numbers = ValueOrder(), count(first)

    def ordered(pred: Pred) -> OrderedRows:
        return OrderedRows(order, dict.fromkeys(rows(given(pred), pred.arity, backend)))

    read = {pred: ordered(pred) for pred in sorted(stage.reads)}
    own = {pred: list(ordered(pred).rows) for pred in sorted(stage.preds)}
    derived = StageEvaluation(stage, read, order, backend.limits, numbers).run(own)
    tables = {pred: encode_rows(backend.codec, facts) for pred, facts in derived.items() if facts}
    return StageFacts(tables, range(first, next(numbers)))


def _by_sets(stage: OrderedStage, given: Callable[[Pred], T], backend: Backend[T]) -> dict[Pred, T]:
    known = {pred: given(pred) for pred in stage.reads | stage.preds}
    rules = tuple(rule for rule in stage.rules if not rule.is_fact)
    return subsumed(replace(stage, rules=rules), united(known, encode_facts_of(stage.rules, backend), backend), backend)
