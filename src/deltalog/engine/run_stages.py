"""The stages of a program, one after the other, over what ordinary rules derive in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from deltalog.engine.stages import OrderedRows, StageEvaluation, StageRow, ValueOrder
from deltalog.model.limits import Limits
from deltalog.program.stages import OrderedStage
from deltalog.syntax.ast import Atom, Constant, Pred, Rule


def run_stages(stages: Sequence[OrderedStage], contents: Callable[[], Any], limits: Limits) -> Iterator[list[Rule]]:
    """The facts of each stage, which must be known before the next one is asked for."""
    order, numbers = ValueOrder(), count()
    for stage in stages:
        now = contents()
        read = {pred: _rows(now, pred, order) for pred in sorted(stage.reads)}
        facts = {pred: list(_rows(now, pred, order).rows) for pred in stage.preds}
        for rule in stage.rules:
            if rule.is_fact:
                facts[rule.heads[0].pred].append(_values(rule.heads[0]))
        rules = tuple(rule for rule in stage.rules if not rule.is_fact)
        evaluation = StageEvaluation(OrderedStage(stage.preds, rules, stage.procedures), read, order, limits, numbers)
        found = evaluation.run(facts)
        yield [Rule((Atom(pred.name, tuple(map(Constant, row))),)) for pred, rows in found.items() for row in rows]


def _rows(contents: Any, pred: Pred, order: ValueOrder) -> OrderedRows:
    """The facts of a relation, which may be a hidden one."""
    table = contents.state.relations.get(pred) if pred.hidden else contents.table(pred)
    return OrderedRows(order, dict.fromkeys(contents.view(pred, table)))


def _values(atom: Atom) -> StageRow:
    return tuple(term.value for term in atom.terms if isinstance(term, Constant))
