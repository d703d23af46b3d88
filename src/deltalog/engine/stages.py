"""The evaluation of a stage (`deltalog.program.stages`): tuple by tuple, in the order that Soufflé documents.

Rules are taken in the order of the text, atoms of a body as nested loops in the order of writing, and the facts of a
relation in their order: numbers by value, everything else by when it was first seen. A fact whose key is taken is not
derived (choice-domain). After each round, facts go that others dominate (subsumption). Recursion is semi-naive: in each
round, one atom of a body has the new facts of the round before. For data of moderate size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from deltalog.expressions.scalar import ExpressionFails, aggregate, evaluate, holds
from deltalog.model.limits import FactCount, Limits
from deltalog.model.terms import Value
from deltalog.program.stages import OrderedStage
from deltalog.souffle.procedures import COUNTER, ITERATION
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
    Term,
    Variable,
    atoms,
    variables,
)

StageRow = tuple[Value, ...]
ValueBinding = dict[Variable, Value]
Read = Callable[[Pred], "OrderedRows"]


@dataclass
class ValueOrder:
    """The order of values: numbers by value, others by when they were first seen."""

    seen: dict[Value, int] = field(default_factory=dict)

    def key(self, row: StageRow) -> tuple[float, ...]:
        return tuple(v if isinstance(v, int | float) else self.seen.setdefault(v, len(self.seen)) for v in row)


@dataclass
class OrderedRows:
    """The facts of a relation; sorted and indexed when they are read."""

    order: ValueOrder
    rows: dict[StageRow, None] = field(default_factory=dict)
    _sorted: list[StageRow] | None = None
    _indexes: dict[tuple[int, ...], dict[StageRow, list[StageRow]]] = field(default_factory=dict)

    def add(self, row: StageRow) -> None:
        self.rows[row] = None
        self._forget()

    def remove(self, row: StageRow) -> None:
        self.rows.pop(row, None)
        self._forget()

    def _forget(self) -> None:
        self._sorted = None
        if self._indexes:
            self._indexes = {}

    def having(self, places: tuple[int, ...], values: StageRow) -> Sequence[StageRow]:
        """The facts with some values in some places, in order."""
        if self._sorted is None:
            self._sorted = sorted(self.rows, key=self.order.key)
        if not places:
            return self._sorted
        if places not in self._indexes:
            index: dict[StageRow, list[StageRow]] = {}
            for row in self._sorted:
                index.setdefault(tuple(row[place] for place in places), []).append(row)
            self._indexes[places] = index
        return self._indexes[places].get(values, ())


@dataclass
class StageEvaluation:
    """One stage over what it reads; `numbers` counts for all stages of a program."""

    stage: OrderedStage
    read: Mapping[Pred, OrderedRows]
    order: ValueOrder
    limits: Limits
    numbers: Iterator[int] = field(default_factory=count)
    full: dict[Pred, OrderedRows] = field(default_factory=dict)
    keys: dict[tuple[Pred, tuple[int, ...]], set[StageRow]] = field(default_factory=dict)
    iteration: int = 0  # the number of the round: 0 before the first one of a recursion

    def run(self, explicit: Mapping[Pred, Sequence[StageRow]]) -> dict[Pred, list[StageRow]]:
        """The facts of the relations of the stage, from given ones and rules."""
        self.full = {pred: OrderedRows(self.order) for pred in self.stage.preds}
        for pred, rows in explicit.items():
            for row in rows:
                self._include(pred, row, self.full)
        recursive = [rule for rule in self.stage.rules if not rule.reads.isdisjoint(self.stage.preds)]
        for rule in self.stage.rules:
            if rule not in recursive:
                self._derive(rule, {}, self.full)
        self._drop_dominated(self.full, self.full)
        delta = {pred: list(rows.rows) for pred, rows in self.full.items()}
        counted = FactCount(self.limits)
        if recursive:
            self._keep(delta)
        while any(delta.values()) and recursive and not self._is_full():
            self.iteration += 1
            delta = self._round(recursive, delta)
            self._keep(delta)
            counted.reach(sum(len(rows.rows) for pred, rows in self.full.items() if not pred.hidden))
        return {pred: list(rows.rows) for pred, rows in self.full.items()}

    def _keep(self, delta: Mapping[Pred, Sequence[StageRow]]) -> None:
        """Adds the deltas of a round to the relations that keep them."""
        for pred, rows in delta.items():
            if (name := self.stage.procedures.deltas.get(pred.name)) is not None:
                kept = self.full[Pred(name, pred.arity + 1)]
                for row in rows:
                    kept.add((*row, self.iteration))

    def _is_full(self) -> bool:
        sizes = ((pred, self.stage.procedures.limits.get(pred.name)) for pred in self.stage.preds)
        return any(size is not None and len(self.full[pred].rows) >= size for pred, size in sizes)

    def _round(self, rules: Sequence[Rule], delta: Mapping[Pred, list[StageRow]]) -> dict[Pred, list[StageRow]]:
        last = {pred: OrderedRows(self.order, dict.fromkeys(rows)) for pred, rows in delta.items()}
        new = {pred: OrderedRows(self.order) for pred in self.stage.preds}
        asked = self.stage.procedures.aggregates
        for rule in rules:
            for at, literal in enumerate(rule.body):
                if isinstance(literal, Atom) and literal.pred in last and literal.pred not in asked:
                    self._derive(rule, {at: last[literal.pred]}, new)
        self._drop_dominated(new, new, self.full)
        for pred, rows in new.items():
            for row in rows.rows:
                self.full[pred].add(row)
        self._drop_dominated(self.full, new)
        return {pred: list(rows.rows) for pred, rows in new.items()}

    def _derive(self, rule: Rule, places: Mapping[int, OrderedRows], into: Mapping[Pred, OrderedRows]) -> None:
        head = rule.heads[0]
        found = [tuple(_value(term, binding) for term in head.terms) for binding in self._bindings(rule.body, places)]
        for row in found:
            self._insert(head.pred, row, into)

    def _insert(self, pred: Pred, row: StageRow, into: Mapping[Pred, OrderedRows]) -> None:
        if row in self.full[pred].rows or row in into[pred].rows:
            return
        if not any(key in self.keys.get(where, ()) for where, key in self._keys_of(pred, row)):
            self._include(pred, row, into)

    def _include(self, pred: Pred, row: StageRow, into: Mapping[Pred, OrderedRows]) -> None:
        for where, key in self._keys_of(pred, row):
            self.keys.setdefault(where, set()).add(key)
        into[pred].add(row)

    def _keys_of(self, pred: Pred, row: StageRow) -> list[tuple[tuple[Pred, tuple[int, ...]], StageRow]]:
        """What choice-domain says can be there once."""
        choices = self.stage.procedures.choice.get(pred.name, ())
        return [((pred, places), tuple(row[place] for place in places)) for places in choices]

    # Subsumption

    def _drop_dominated(self, facts: Mapping[Pred, OrderedRows], *others: Mapping[Pred, OrderedRows]) -> None:
        """Drops facts that others dominate, all at once: two that dominate each other both go."""
        gone: dict[Pred, set[StageRow]] = {}
        for rule in self.stage.procedures.dominance:
            pred = rule.heads[0].pred
            grows = any(atom.pred in self.stage.preds for atom in atoms(rule.body[2:]))
            for dominating in (self.full, *others) if grows else others:
                places = {0: facts[pred], 1: dominating[pred]}
                for binding in self._bindings(rule.body, places):
                    less, greater = (_row(rule.body[at], binding) for at in (0, 1))
                    if less != greater:
                        gone.setdefault(pred, set()).add(less)
        for pred, rows in gone.items():
            for row in rows:
                facts[pred].remove(row)

    # Bodies

    def _rows(self, at: int, atom: Atom, places: Mapping[int, OrderedRows]) -> OrderedRows:
        return places.get(at) or self.full.get(atom.pred) or self.read[atom.pred]

    def _bindings(
        self, body: Sequence[BodyLiteral], places: Mapping[int, OrderedRows], given: ValueBinding | None = None
    ) -> Iterator[ValueBinding]:
        check = self.limits.checker()

        def extended(rest: Sequence[int], binding: ValueBinding) -> Iterator[ValueBinding]:
            check()
            if not rest:
                yield binding
                return
            at, later = rest[0], rest[1:]
            for each in self._extensions(at, body[at], binding, places):
                yield from extended(later, each)

        return extended(tuple(arranged(body, given or {})), given or {})

    def _extensions(
        self, at: int, literal: BodyLiteral, binding: ValueBinding, places: Mapping[int, OrderedRows]
    ) -> Iterator[ValueBinding]:
        match literal:
            case Atom() if literal.pred in self.stage.procedures.aggregates:
                yield from self._aggregated(literal, binding)
            case Atom():
                yield from _matching(literal, self._rows(at, literal, places), binding)
            case Negation(atom=atom):
                if next(_matching(atom, self._rows(-1, atom, {}), binding), None) is None:
                    yield binding
            case Filter(condition=condition):
                try:
                    if holds(condition, binding):
                        yield binding
                except ExpressionFails:
                    return
            case Bind(expression=expression, variable=variable):
                try:
                    value = self._evaluate(expression, binding)
                except ExpressionFails:
                    return
                if variable not in binding:
                    yield {**binding, variable: value}
                elif Constant(binding[variable]) == Constant(value):
                    yield binding

    def _aggregated(self, atom: Atom, binding: ValueBinding) -> Iterator[ValueBinding]:
        """The result of an aggregate for given values."""
        rule = self.stage.procedures.aggregates[atom.pred].rule
        [literal] = rule.body
        assert isinstance(literal, Aggregate)
        given = {v: _value(t, binding) for v, t in zip(literal.on, atom.terms, strict=False)}
        [call] = literal.calls
        names = [v for each in literal.body for v in variables(each)]
        distinct = {tuple(each[v] for v in names): each for each in self._bindings(literal.body, {}, given)}
        try:
            values = [evaluate(call.argument or Constant(True), each) for each in distinct.values()]
            result = aggregate(call.function, values)
        except ExpressionFails:
            return
        target = atom.terms[-1]
        if isinstance(target, Variable) and target not in binding:
            yield {**binding, target: result}
        elif Constant(_value(target, binding)) == Constant(result):
            yield binding

    def _evaluate(self, expression: Expression, binding: ValueBinding) -> Value:
        if isinstance(expression, Call) and expression.function == COUNTER:
            return next(self.numbers)
        if isinstance(expression, Call) and expression.function == ITERATION:
            return self.iteration
        return evaluate(expression, binding)


def arranged(body: Sequence[BodyLiteral], given: Iterable[Variable] = ()) -> Iterator[int]:
    """The literals in the order of evaluation: atoms as they are written, the others as soon as they can be checked."""
    waiting = list(range(len(body)))
    bound = set(given)
    positive = {v for literal in body if isinstance(literal, Atom | Bind) for v in variables(literal)}
    while waiting:
        ready = [
            at for at in waiting if not isinstance(body[at], Atom) and bound.issuperset(_needs(body[at], positive))
        ]
        at = ready[0] if ready else next((at for at in waiting if isinstance(body[at], Atom)), waiting[0])
        waiting.remove(at)
        bound.update(variables(body[at]))
        yield at


def _needs(literal: BodyLiteral, positive: set[Variable]) -> set[Variable]:
    if isinstance(literal, Bind):
        counts = isinstance(literal.expression, Call) and literal.expression.function == COUNTER
        return positive - {literal.variable} if counts else set(variables(literal.expression))
    return positive.intersection(variables(literal))


def _value(term: Term, binding: ValueBinding) -> Value:
    return term.value if isinstance(term, Constant) else binding[term]


def _row(atom: BodyLiteral, binding: ValueBinding) -> StageRow:
    assert isinstance(atom, Atom)
    return tuple(_value(term, binding) for term in atom.terms)


def _matching(atom: Atom, rows: OrderedRows, binding: ValueBinding) -> Iterator[ValueBinding]:
    known = [i for i, term in enumerate(atom.terms) if isinstance(term, Constant) or term in binding]
    values = tuple(_value(atom.terms[i], binding) for i in known)
    for row in rows.having(tuple(known), values):
        extended = dict(binding)
        if all(
            isinstance(term, Constant) or extended.setdefault(term, value) == value
            for term, value in zip(atom.terms, row, strict=True)
        ):
            yield extended
