"""The evaluation of a stage (`deltalog.program.stages`): tuple by tuple, in the order of the statements.

Rules are taken in the order of the text, atoms of a body as nested loops in the order of writing
(`deltalog.evaluation.ordered_body`), and the facts of a relation in their order (`deltalog.evaluation.ordered_rows`):
numbers by value, everything else by when it was first seen. A fact whose key is taken is not derived (choice-domain).
After each round, facts go that others dominate (subsumption). Recursion is semi-naive: in each round, one atom of a
body has the new facts of the round before.

A body never reads the relation that its rule derives into: a round reads what was there before it, and rules that are
not recursive read other relations. So facts are inserted as they are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from operator import itemgetter
from typing import Any

from deltalog.core.limits import FactCount, Limits
from deltalog.core.rules import (
    Aggregate,
    Atom,
    BodyLiteral,
    Constant,
    Pred,
    Rule,
    Term,
    Variable,
    atoms,
)
from deltalog.core.terms import Value
from deltalog.evaluation.ordered_body import Ask, OrderedBody, aggregated_variables
from deltalog.evaluation.ordered_rows import OrderedRows, StageRow, ValueOrder
from deltalog.functions.ordered import COUNTER, ITERATION
from deltalog.functions.scalar import aggregate, compiled
from deltalog.program.stages import OrderedStage


@dataclass(frozen=True)
class TakenKeys:
    """What choice-domain says can be there once, and what is."""

    key: Callable[[StageRow], Any]
    values: set[Any] = field(default_factory=set)


@dataclass
class StageEvaluation:
    """One stage over what it reads; `numbers` counts for all stages of a program."""

    stage: OrderedStage
    read: Mapping[Pred, OrderedRows]
    order: ValueOrder
    limits: Limits
    numbers: Iterator[int] = field(default_factory=count)
    full: dict[Pred, OrderedRows] = field(default_factory=dict)
    taken: dict[Pred, list[TakenKeys]] = field(default_factory=dict)
    iteration: int = 0  # the number of the round: 0 before the first one of a recursion
    bodies: dict[tuple[Rule, tuple[Term, ...]], OrderedBody] = field(default_factory=dict)
    asked: dict[Pred, Ask] = field(default_factory=dict)  # the aggregates of the stage

    def run(self, explicit: Mapping[Pred, Sequence[StageRow]]) -> dict[Pred, list[StageRow]]:
        """The facts of the relations of the stage, from given ones and rules."""
        self.full = {pred: OrderedRows(self.order) for pred in self.stage.preds}
        choice = self.stage.procedures.choice
        self.taken = {
            pred: [TakenKeys(itemgetter(*places)) for places in choice.get(pred.name, ())] for pred in self.full
        }
        self.asked = {pred: self._aggregate(each.rule) for pred, each in self.stage.procedures.aggregates.items()}
        for pred, rows in explicit.items():
            for row in rows:
                self._include(pred, row, self.full)
        recursive = [rule for rule in self.stage.rules if not rule.reads.isdisjoint(self.stage.preds)]
        for rule in self.stage.rules:
            if rule not in recursive:
                self._derive(rule, {}, self.full)
        self._drop_dominated(self.full, self.full)
        delta = {pred: OrderedRows(self.order, dict.fromkeys(rows.rows)) for pred, rows in self.full.items()}
        counted = FactCount(self.limits)
        if recursive:
            self._keep(delta)
        while any(rows.rows for rows in delta.values()) and recursive and not self._is_full():
            self.iteration += 1
            delta = self._round(recursive, delta)
            self._keep(delta)
            counted.reach(sum(len(rows.rows) for pred, rows in self.full.items() if not pred.hidden))
        return {pred: list(rows.rows) for pred, rows in self.full.items()}

    def _keep(self, delta: Mapping[Pred, OrderedRows]) -> None:
        """Adds the deltas of a round to the relations that keep them."""
        for pred, rows in delta.items():
            if (name := self.stage.procedures.deltas.get(pred.name)) is not None:
                kept = self.full[Pred(name, pred.arity + 1)]
                for row in rows.rows:
                    kept.add((*row, self.iteration))

    def _is_full(self) -> bool:
        sizes = ((pred, self.stage.procedures.limits.get(pred.name)) for pred in self.stage.preds)
        return any(size is not None and len(self.full[pred].rows) >= size for pred, size in sizes)

    def _round(self, rules: Sequence[Rule], last: Mapping[Pred, OrderedRows]) -> dict[Pred, OrderedRows]:
        new = {pred: OrderedRows(self.order) for pred in self.stage.preds}
        asked = self.stage.procedures.aggregates
        deltas = {pred: rows for pred, rows in last.items() if rows.rows and pred not in asked}
        for rule in rules:
            for at, literal in enumerate(rule.body):
                if isinstance(literal, Atom) and literal.pred in deltas:
                    self._derive(rule, {at: deltas[literal.pred]}, new)
        self._drop_dominated(new, new, self.full)
        for pred, rows in new.items():
            for row in rows.rows:
                self.full[pred].add(row)
        self._drop_dominated(self.full, new)
        return new

    def _derive(self, rule: Rule, places: Mapping[int, OrderedRows], into: Mapping[Pred, OrderedRows]) -> None:
        head = rule.heads[0]
        self._run(rule, head.terms, places, partial(self._insert, head.pred, into=into))

    def _insert(self, pred: Pred, row: StageRow, into: Mapping[Pred, OrderedRows]) -> None:
        if row in self.full[pred].rows or row in into[pred].rows:
            return
        for taken in self.taken[pred]:
            if taken.key(row) in taken.values:
                return
        self._include(pred, row, into)

    def _include(self, pred: Pred, row: StageRow, into: Mapping[Pred, OrderedRows]) -> None:
        for taken in self.taken[pred]:
            taken.values.add(taken.key(row))
        into[pred].add(row)

    # Subsumption

    def _drop_dominated(self, facts: Mapping[Pred, OrderedRows], *others: Mapping[Pred, OrderedRows]) -> None:
        """Drops facts that others dominate, all at once: two that dominate each other both go."""
        gone: dict[Pred, set[StageRow]] = {}
        for rule in self.stage.procedures.dominance:
            pred = rule.heads[0].pred
            grows = any(atom.pred in self.stage.preds for atom in atoms(rule.body[2:]))
            for dominating in (self.full, *others) if grows else others:
                self._run(
                    rule,
                    (*_terms(rule.body[0]), *_terms(rule.body[1])),
                    {0: facts[pred], 1: dominating[pred]},
                    partial(_collect_less, gone.setdefault(pred, set())),
                )
        for pred, rows in gone.items():
            for row in rows:
                facts[pred].remove(row)

    # Bodies

    def _run(
        self,
        rule: Rule,
        wanted: tuple[Term, ...],
        places: Mapping[int, OrderedRows],
        found: Callable[[StageRow], object],
    ) -> None:
        """Calls `found` with the values of terms for each binding of the body; `places` has the relations that some of
        its atoms read."""
        if (rule, wanted) not in self.bodies:
            self.bodies[rule, wanted] = self._body(rule.body, wanted)
        self.bodies[rule, wanted].run(lambda at, pred: places.get(at) or self._known(at, pred), found)

    def _known(self, at: int, pred: Pred) -> OrderedRows:
        return self.full.get(pred) or self.read[pred]

    def _body(self, body: Sequence[BodyLiteral], wanted: Sequence[Term], given: Sequence[Variable] = ()) -> OrderedBody:
        special = {COUNTER: lambda: next(self.numbers), ITERATION: lambda: self.iteration}
        return OrderedBody(body, wanted, self.limits.checker(), special, self.asked, given)

    def _aggregate(self, rule: Rule) -> Ask:
        """An aggregate as a function of the values of its ON variables."""
        [literal] = rule.body
        assert isinstance(literal, Aggregate)
        [call] = literal.calls
        names = aggregated_variables(literal)
        argument = compiled(call.argument or Constant(True), {v: place for place, v in enumerate(names)})

        @cache
        def body() -> OrderedBody:  # when it is first asked for: it may have other aggregates in it
            return self._body(literal.body, names, literal.on)

        def ask(given: StageRow) -> Value:
            distinct: dict[StageRow, None] = {}
            body().run(self._known, distinct.setdefault, given)
            return aggregate(call.function, [argument(row) for row in distinct])

        return ask


def _terms(literal: object) -> tuple[Term, ...]:
    assert isinstance(literal, Atom)
    return literal.terms


def _collect_less(gone: set[StageRow], both: StageRow) -> None:
    """Adds the first half of two facts, unless they are one."""
    half = len(both) // 2
    if both[:half] != both[half:]:
        gone.add(both[:half])
