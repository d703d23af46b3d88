"""QSQ-R: top-down evaluation of a goal, a set of subqueries at a time, without rewriting (Joshi et al., section 2;
Abiteboul, Hull, Vianu, 13.2).

Each adorned predicate p^a has a table with its subqueries (values of the bound arguments) and their answers. The table
and the adorned rules of p are created with the first subquery, so predicates that the data do not lead to cost nothing.
New subqueries go through the rules of their predicate from left to right. An atom of stored facts is looked up; a
derived atom becomes subqueries in the table of its adorned predicate. The rows that asked wait there: they continue
with the answers that are known, and again with each answer that is found later. So each row is joined with each answer
once. The fixpoint is reached when there are no new subqueries and no new answers.

Work is scheduled by level (see `deltalog.evaluation.goals.rulebase`), lowest level first. A row that needs a negated
atom or a complete group waits until all work below that level is done, when the answers to its subquery are complete.
So subqueries of negated predicates are asked only if the goal depends on them.

Tables are Python dictionaries and rows are tuples: a few facts cost microseconds, whereas a plan costs a tenth of a
millisecond. A million facts cost a second, and magic sets is faster then. `work` counts the rows that go through steps;
when it exceeds the `patience` of the caller, GivenUp is raised, and another method answers the goal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from math import inf
from typing import Any, Generic, TypeVar

from deltalog.core.limits import FactCount
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.capabilities.point_lookup import IdRow, Lookup, PointLookup, RowOperator
from deltalog.evaluation.goals.adorned_rules import (
    AdornedRule,
    AskStep,
    ColumnCopies,
    DenyStep,
    ExtendStep,
    GroupStep,
    WhereStep,
    adorned_rule,
)
from deltalog.evaluation.goals.adornment import Adornment
from deltalog.evaluation.goals.rulebase import Rulebase
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.statistics import PartialStatistics, Statistics
from deltalog.evaluation.plan.work_counter import GivenUp

_BATCH_GROWTH_FACTOR = 16  # of a step, from one batch to the next, at most
_RULE_COST_ROWS = 100  # rows that take as long as preparing a rule, 0.2 ms

T = TypeVar("T")
Question = tuple[Pred, Adornment]
Work = Callable[[], None]


class Stored(Generic[T]):
    """Stored facts and their look-ups by bound columns; reused for other goals while the facts are the same."""

    def __init__(self, tables: Mapping[Pred, T], known: Statistics, lookups: PointLookup[T]) -> None:
        self.tables, self.known, self.statistics, self.lookups = tables, known, PartialStatistics(known), lookups
        self._lookups: dict[Question, Lookup | None] = {}

    def lookup(self, question: Question) -> Lookup | None:
        """The look-up for a predicate and adornment; None if the predicate has no facts."""
        if question not in self._lookups:
            pred, adornment = question
            table = self.tables.get(pred)
            bound = [i for i, is_bound in enumerate(adornment) if is_bound]
            empty = table is None or not self.known.size(pred, Part.ALL)
            self._lookups[question] = None if table is None or empty else self.lookups.lookup(table, bound)
        return self._lookups[question]


class Qsqr:
    """The evaluation of one goal. `extra` are the rules of the goal itself."""

    def __init__(
        self,
        rulebase: Rulebase,
        stored: Stored[Any],
        backend: Backend[Any],
        extra: Mapping[Pred, tuple[Rule, ...]],
        patience: float = inf,
    ) -> None:
        self.rulebase, self.stored, self.extra = rulebase, stored, extra
        self.work, self.planned, self.patience = 0, 0, patience
        self.tables: dict[Question, Subqueries] = {}
        self.answers = 0
        self.subqueries = 0
        self.check, self._check_at = backend.limits.checker(), 0
        self._facts = FactCount(backend.limits)
        self.tuning = backend.tuning
        self.chunk_rows, self._rule_cost_rows = self.tuning.qsqr_chunk_rows, _RULE_COST_ROWS
        self._due: dict[int, deque[Work]] = {}
        self._levels: list[int] = []

    def ask(self, pred: Pred, adornment: Adornment, key: IdRow) -> list[IdRow]:
        """The answers of a subquery: values of the free arguments, for given values of the bound ones."""
        table = self.table((pred, adornment))
        table.ask([key])
        while self._levels:
            due = self._due[self._levels[0]]
            while due:
                level = self._levels[0]
                due.popleft()()
                self.check()
                if self._levels[0] != level:
                    break
            else:
                del self._due[heappop(self._levels)]
        return table.answers[key]

    def spend(self, rows: int, planned: int = 0) -> None:
        """Adds rows and compiled rules to the work; raises GivenUp if it exceeds `patience`."""
        self.work, self.planned = self.work + rows, self.planned + planned
        if self.work + self._rule_cost_rows * self.planned > self.patience:
            raise GivenUp
        if self.work > self._check_at:
            self.check()
            self._check_at = self.work + self.chunk_rows

    def derived(self, facts: int) -> None:
        """Adds subqueries and answers to the facts that `max_facts` limits: there may be infinitely many of both."""
        self._facts.add(facts)

    def later(self, level: int, work: Work) -> None:
        """Schedules work for the time when nothing is left to do below a level."""
        if level not in self._due:
            self._due[level] = deque()
            heappush(self._levels, level)
        self._due[level].append(work)

    def derives(self, pred: Pred) -> bool:
        return pred in self.rulebase.deriving or pred in self.extra

    def level(self, pred: Pred) -> int:
        """Twice the level of the predicate: rows that wait until it is complete are scheduled in between."""
        return 2 * self.rulebase.levels.get(pred, 0 if pred not in self.extra else self._extra_level(pred))

    def _extra_level(self, pred: Pred) -> int:
        return self.rulebase.top + {"#bindings": -3, "#aggregate": -2}.get(pred.name.partition(" ")[0], 0)

    def table(self, question: Question) -> Subqueries:
        table = self.tables.get(question)
        if table is None:
            table = self.tables[question] = Subqueries(self, question)
        return table

    def rules(self, question: Question) -> tuple[AdornedRule, ...]:
        """The adorned rules of a predicate and adornment; those of the program are compiled once and cached."""
        pred, adornment = question
        rules = self.extra.get(pred) or self.rulebase.deriving.get(pred, ())
        name = (*question, rules if pred in self.extra else None)
        kept = self.rulebase.adorned
        if name not in kept:
            self.spend(0, planned=len(rules))
            kept[name] = tuple(self._adorned(rule, adornment) for rule in rules)
        found: tuple[AdornedRule, ...] = kept[name]
        return found

    def _adorned(self, rule: Rule, adornment: Adornment) -> AdornedRule:
        return adorned_rule(rule, adornment, self.stored.statistics, self.stored.lookups.intern)


class Subqueries:
    """The subqueries of an adorned predicate, and their answers.

    `answers` has the key of every subquery, with the answers that `waiting` rows have received. `_found` are answers
    that they have not received yet, and `_asked` the keys that rules have not processed yet.
    """

    __slots__ = (
        "_asked",
        "_decided",
        "_found",
        "_known",
        "_pending",
        "_rules",
        "answers",
        "level",
        "qsqr",
        "question",
        "waiting",
    )

    def __init__(self, qsqr: Qsqr, question: Question) -> None:
        self.qsqr, self.question = qsqr, question
        self.level = qsqr.level(question[0])
        self.answers: dict[IdRow, list[IdRow]] = {}
        self.waiting: list[Waiting] = []
        self._known: dict[IdRow, set[IdRow]] = {}
        self._asked: list[IdRow] = []
        self._found: list[tuple[IdRow, IdRow]] = []
        self._pending = False
        self._decided = all(question[1])  # all arguments are bound: one answer is enough
        self._rules: list[Working] | None = None

    def ask(self, keys: Iterable[IdRow]) -> None:
        """Adds subqueries, except those that are known."""
        for key in keys:
            if key not in self.answers:
                self.answers[key] = []
                self._known[key] = set()
                self._asked.append(key)
        if self._asked:
            self._wake()

    def answer(self, pairs: Iterable[tuple[IdRow, IdRow]]) -> None:
        """Adds answers; waiting rows receive them later."""
        for pair in pairs:
            known = self._known[pair[0]]
            if pair[1] not in known:
                known.add(pair[1])
                self._found.append(pair)
        if self._found:
            self._wake()

    def _wake(self) -> None:
        if not self._pending:
            self._pending = True
            self.qsqr.later(self.level, self._work)

    def _work(self) -> None:
        self._pending = False  # new subqueries and answers from here on are scheduled again
        if self._asked:
            asked, self._asked = self._asked, []
            self._start(asked)
        found, self._found = self._found, []
        self.qsqr.answers += len(found)
        self.qsqr.derived(len(found))
        self.qsqr.spend(len(found))
        for key, answer in found:
            self.answers[key].append(answer)
        for waiting in self.waiting if found else ():
            waiting.resume(found)

    def _start(self, asked: list[IdRow]) -> None:
        """Evaluates new subqueries over stored facts and by rules."""
        self.qsqr.subqueries += len(asked)
        self.qsqr.derived(len(asked))
        lookup = self.qsqr.stored.lookup(self.question)
        if lookup is not None:
            self.qsqr.spend(lookup.read(len(asked)))
            for start in range(0, len(asked), self.qsqr.chunk_rows):
                self.qsqr.check()
                part = asked[start : start + self.qsqr.chunk_rows]
                self.answer((part[i], free) for i, free in lookup(part))
        if self._rules is None:
            self._rules = [Working(rule, self) for rule in self.qsqr.rules(self.question)]
        for rule in self._rules:
            if self._decided:
                asked = [key for key in asked if not self._known[key]]
            rule.start(asked)


class Working:
    """The evaluation of an adorned rule for the table of its head.

    Rows go through a step in batches, so that limits can be checked in between. `_batch_rows` has the batch size of
    each step, which is adapted to the fan-out of earlier batches so that each produces about a chunk of rows."""

    __slots__ = ("_batch_rows", "_head", "_processes", "_rule", "qsqr")

    def __init__(self, rule: AdornedRule, head: Subqueries) -> None:
        self.qsqr, self._rule, self._head = head.qsqr, rule, head
        self._processes = [self._process(step, i) for i, step in enumerate(rule.steps)]
        self._batch_rows = [self._first_batch_rows(step) for step in rule.steps]

    def start(self, keys: Sequence[IdRow]) -> None:
        if not keys:
            return
        constants = self._rule.constants
        self.push(0, _agreeing([constants + key for key in keys] if constants else list(keys), self._rule.equal))

    def push(self, at: int, rows: list[IdRow]) -> None:
        """Pushes rows through the steps from `at` on; the resulting rows are answers."""
        for i in range(at, len(self._processes)):
            if len(rows) > self._batch_rows[i]:
                self._push_in_batches(i, rows)
                return
            if not rows:
                return
            self.qsqr.spend(len(rows))
            came = len(rows)
            rows = self._processes[i](rows)
            self._batch_rows[i] = self._next_batch_rows(i, came, len(rows))
        key, answer = self._rule.key, self._rule.answer
        if rows:
            self.qsqr.spend(len(rows))
            self._head.answer([(key(row), answer(row)) for row in rows])

    def _push_in_batches(self, at: int, rows: list[IdRow]) -> None:
        start = 0
        while start < len(rows):
            self.qsqr.check()
            end = start + self._batch_rows[at]
            self.push(at, rows[start:end])
            start = end

    def push_all(self, at: int, rows: Iterator[IdRow], through: RowOperator) -> None:
        """Pushes rows that are produced one by one, a chunk at a time, each chunk through an operator first."""
        while chunk := list(islice(rows, self.qsqr.chunk_rows)):
            self.qsqr.check()
            self.push(at, through(chunk))

    def _first_batch_rows(self, step: object) -> int:
        """The initial batch size; smaller where each row matches many facts, as without bound arguments."""
        if not isinstance(step, AskStep | DenyStep) or self.qsqr.derives(step.pred):
            return self.qsqr.tuning.qsqr_first_batch_rows
        lookup = self.qsqr.stored.lookup((step.pred, step.adornment))
        fan_out = 1 if lookup is None else max(1, lookup.read(1))
        return max(1, min(self.qsqr.tuning.qsqr_first_batch_rows, self.qsqr.chunk_rows // fan_out))

    def _next_batch_rows(self, i: int, came: int, went: int) -> int:
        most = self.qsqr.chunk_rows if went <= came else max(1, self.qsqr.chunk_rows * came // went)
        return min(most, _BATCH_GROWTH_FACTOR * self._batch_rows[i])

    def _process(self, step: object, i: int) -> RowOperator:
        match step:
            case AskStep() if self.qsqr.derives(step.pred):
                return Waiting(step, self, i + 1)
            case AskStep():
                return self._look_up(step)
            case DenyStep() if self.qsqr.derives(step.pred):
                return self._deny_later(step, i + 1)
            case DenyStep():
                return self._deny(step)
            case GroupStep():
                return self._group(step, i + 1)
            case WhereStep(condition, places):
                return self.qsqr.stored.lookups.where(condition, places)
            case ExtendStep(expression, places):
                return self.qsqr.stored.lookups.extend(expression, places)
        raise AssertionError(step)

    def _look_up(self, step: AskStep) -> RowOperator:
        lookup = self.qsqr.stored.lookup((step.pred, step.adornment))
        if lookup is None:
            return lambda rows: []
        key = step.key

        def process(rows: list[IdRow]) -> list[IdRow]:
            self.qsqr.spend(lookup.read(len(rows)))
            matches = lookup(list(map(key, rows)))
            return extended([rows[i] + free for i, free in matches], step)

        return process

    def _deny(self, step: DenyStep) -> RowOperator:
        lookup = self.qsqr.stored.lookup((step.pred, step.adornment))
        if lookup is None:
            return lambda rows: rows
        key = step.key

        def process(rows: list[IdRow]) -> list[IdRow]:
            matches = lookup(list(map(key, rows)))
            denied = {i for i, free in matches if not step.equal or _agree(rows[i] + free, step.equal)}
            return [row for i, row in enumerate(rows) if i not in denied]

        return process

    def _deny_later(self, step: DenyStep, after: int) -> RowOperator:
        table = self.qsqr.table((step.pred, step.adornment))

        def process(rows: list[IdRow]) -> list[IdRow]:
            table.ask(map(step.key, rows))
            self.qsqr.later(table.level + 1, lambda: self.push(after, [row for row in rows if not denied(row)]))
            return []

        def denied(row: IdRow) -> bool:
            return any(_agree(row + free, step.equal) for free in table.answers[step.key(row)])

        return process

    def _group(self, step: GroupStep, after: int) -> RowOperator:
        table = self.qsqr.table((step.pred, step.adornment))
        group = self.qsqr.stored.lookups.group(len(step.on), step.names, step.calls)

        def process(rows: list[IdRow]) -> list[IdRow]:
            table.ask(map(step.key, rows))
            self.qsqr.later(table.level + 1, lambda: self.push_all(after, grouped(rows), agreeing))
            return []

        def grouped(rows: list[IdRow]) -> Iterator[IdRow]:
            groups = _groups(step, {step.key(row): table.answers[step.key(row)] for row in rows}, group)
            return (row + group for row in rows for group in groups.get(step.key(row), ()))

        def agreeing(rows: list[IdRow]) -> list[IdRow]:
            return _agreeing(rows, step.equal)

        return process


class Waiting:
    """Rows of a rule that wait for answers of a derived atom, and continue with each answer when it is found."""

    __slots__ = ("_after", "_key", "_rows", "_rule", "_seen", "_step", "_table")

    def __init__(self, step: AskStep, rule: Working, after: int) -> None:
        self._step, self._rule, self._after, self._key = step, rule, after, step.key
        self._table = rule.qsqr.table((step.pred, step.adornment))
        self._rows: dict[IdRow, list[IdRow]] = {}
        self._seen: set[IdRow] = set()
        self._table.waiting.append(self)

    def __call__(self, rows: list[IdRow]) -> list[IdRow]:
        """Adds rows: they ask their subqueries, wait, and continue with the answers that are known."""
        matched: list[IdRow] = []
        answers, waiting, key_of, seen = self._table.answers, self._rows, self._key, self._seen
        asked = []
        for row in rows:
            if row in seen:
                continue
            seen.add(row)
            key = key_of(row)
            waiting.setdefault(key, []).append(row)
            known = answers.get(key)
            if known is None:
                asked.append(key)
            else:
                matched += [row + answer for answer in known]
        self._table.ask(asked)
        return extended(matched, self._step)

    def resume(self, found: Collection[tuple[IdRow, IdRow]]) -> None:
        """Continues waiting rows with new answers."""
        waiting = self._rows
        matched = (row + answer for key, answer in found for row in waiting.get(key, ()))
        self._rule.push_all(self._after, matched, lambda rows: extended(rows, self._step))


def extended(rows: list[IdRow], step: AskStep) -> list[IdRow]:
    """The rows, with an answer appended, that satisfy `equal`; only positions that later steps read."""
    rows = _agreeing(rows, step.equal)
    return rows if step.keep is None else list(dict.fromkeys(map(step.keep, rows)))


def _agreeing(rows: list[IdRow], equal: ColumnCopies) -> list[IdRow]:
    return [row for row in rows if _agree(row, equal)] if equal else rows


def _agree(row: IdRow, equal: ColumnCopies) -> bool:
    return all(row[a] == row[b] for a, b in equal)


def _groups(step: GroupStep, answers: Mapping[IdRow, Sequence[IdRow]], group: RowOperator) -> dict[IdRow, list[IdRow]]:
    """The groups of each key: the values of the ON variables, then the results."""
    found = sorted({_merged(step.adornment, key, free) for key, frees in answers.items() for free in frees})
    groups: dict[IdRow, list[IdRow]] = {}
    bound = [i for i, is_bound in enumerate(step.adornment) if is_bound]  # ON variables are the first names
    for row in group(found):
        groups.setdefault(tuple(row[i] for i in bound), []).append(row)
    return groups


def _merged(adornment: Adornment, key: IdRow, free: IdRow) -> IdRow:
    bound, rest = iter(key), iter(free)
    return tuple(next(bound if is_bound else rest) for is_bound in adornment)
