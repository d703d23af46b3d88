"""Semi-naive rounds over few facts, many in one call: see `kernels.small_rounds`.

The plans of rule variants become code once (`RoundsCode`); a run of rounds (`Rounds`) is that code over tables as they
are at its start, with what it has found so far. What it has found goes to the tables when it ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltalog.backends.base import RoundRecord, RoundsEnd, SmallRules, Tables
from deltalog.backends.local.arithmetic import DEPTH, compiled
from deltalog.backends.local.column_expressions import Vectors
from deltalog.backends.local.encoded_terms import EncodeTerms
from deltalog.backends.local.index_join import Probe
from deltalog.backends.local.table import ColumnOrder, Table, empty, pack, sort_distinct
from deltalog.concurrency.cached import cached_property
from deltalog.expressions.scalar import SkolemForm, is_plain_skolem, skolem_form
from deltalog.kernels import small_rounds as kernel
from deltalog.kernels.arithmetic import OP_FIELDS
from deltalog.model.arrays import Words
from deltalog.model.dictionary import Dictionary
from deltalog.plan import ir
from deltalog.plan.ir import Part, Plan, columns
from deltalog.syntax.ast import Constant, Expression, Pred, Variable, variables

FEW_FACTS = 1 << 9  # of a round: of more, sets are found as soon (measured: `python -m benchmarks.rounds thresholds`)
MATCHES_PER_FACT = 16  # of a round with that many facts
QUESTIONS_PER_ROUND = 8  # values that are computed one by one take about as long as a round by sets
MOST_FACTS = 1 << 16  # of a run of rounds: room for them
LEAST_MATCHES, MOST_MATCHES = 1 << 12, 1 << 17  # of a call, about 10 ms: limits are checked in between
MATCHES_PER_QUESTION = 1 << 8  # take as long
ANSWERS = 1 << 8  # that are kept

RunArrays = tuple[Words, Words, list[Table]]  # the tables themselves, too: they stay where they are while they are held
ENDS = {
    kernel.DONE: RoundsEnd.DONE,
    kernel.LARGE: RoundsEnd.LARGE,
    kernel.PAUSED: RoundsEnd.PAUSED,
    kernel.FULL: RoundsEnd.FULL,
    kernel.TOO_MUCH: RoundsEnd.TOO_MUCH,
    kernel.ESCAPED: RoundsEnd.TOO_MUCH,
}


@dataclass(frozen=True, slots=True)
class Question:
    """An expression that is evaluated by the reference, and the registers of its variables."""

    expression: Expression
    variables: tuple[Variable, ...]
    registers: tuple[int, ...]
    is_condition: bool
    form: SkolemForm | None  # if it is a SKOLEM of variables and constants


class RoundsCode:
    """Rule variants as code; recursive relations, tables that are read, and registers have numbers."""

    def __init__(self, rules: SmallRules, ids: EncodeTerms) -> None:
        self.preds = {pred: i for i, pred in enumerate(rules.preds)}
        self.sources: dict[tuple[Pred, ColumnOrder], int] = {}
        self._ids = ids
        self._indexes: dict[Pred, dict[ColumnOrder, int]] = {
            pred: {tuple(range(pred.arity)): 0} for pred in rules.preds
        }
        self._code: list[list[int]] = []
        self._args: list[tuple[int, int, int]] = []
        self._ops: list[tuple[int, int, int]] = []
        self._registers: list[int] = []
        self.questions: list[Question] = []
        self._plans: dict[Pred, list[list[int]]] = defaultdict(list)
        for pred in rules.preds:
            self._source(pred, tuple(range(pred.arity)))
        for delta, head, plan in rules.variants:
            self._plans[delta].append(_Variant(self, ids).plan(delta, head, plan))
        self._finish(rules)

    def _finish(self, rules: SmallRules) -> None:
        """Everything as arrays."""
        by_pred = [self._plans.get(pred, []) for pred in rules.preds]
        self.plans = _table([plan for plans in by_pred for plan in plans], kernel.PLAN)
        self.code, self.args = _table(self._code, kernel.STEP), _table(self._args, kernel.ARG)
        self.ops, self.registers = _table(self._ops, OP_FIELDS), np.array(self._registers, np.int64)
        self.indexes, self.columns, ends = self._listed_indexes(rules.preds)
        self.relations = np.full((len(rules.preds), kernel.RELATION), -1, np.int64)
        plans = np.cumsum([0, *map(len, by_pred)])
        for i, pred in enumerate(rules.preds):
            ranges = plans[i], plans[i + 1], ends[i], ends[i + 1]
            self.relations[i, : kernel.ROUND] = (pred.arity, i, *ranges, pred in rules.counted, rules.due.get(pred, 0))
        self.slots = max(map(len, self._indexes.values()))
        self.width = max([pred.arity for pred in rules.preds] + [pred.arity for pred, _ in self.sources])
        self.depth = int((self.plans[:, kernel.END] - self.plans[:, kernel.LINES]).max(initial=0))

    def _listed_indexes(self, preds: Sequence[Pred]) -> tuple[Words, Words, list[int]]:
        bounds: list[tuple[int, int]] = []
        listed: list[int] = []
        ends = [0]
        for pred in preds:
            for by in self._indexes[pred]:
                bounds.append((len(listed), len(listed) + len(by)))
                listed += by
            ends.append(len(bounds))
        return _table(bounds, kernel.INDEX), np.array(listed, np.int64), ends

    def _source(self, pred: Pred, order: ColumnOrder) -> int:
        return self.sources.setdefault((pred, order), len(self.sources))

    @cached_property
    def computes(self) -> bool:
        """Whether rounds may add values to the dictionary."""
        return bool(np.isin(self.code[:, kernel.KIND], (kernel.EXTEND, kernel.ASK)).any())

    def places(self, tables: Tables[Table]) -> RunArrays | None:
        """Where tables are, and for each source where it is there; None if one has to be made first."""
        words: list[int] = []
        offsets = []
        read = [tables.get((pred, Part.ALL), empty(pred.arity)) for pred, _ in self.sources]
        for table, (_, order) in zip(read, self.sources, strict=True):
            found = table.places_soon(order)
            if found is None:
                return None
            offsets.append(len(words))
            words += found
        return np.array(words, np.int64), np.array(offsets, np.int64), read


class _Variant:
    """The code of one variant, in a program: its registers are its own."""

    def __init__(self, program: RoundsCode, ids: EncodeTerms) -> None:
        self.program, self._ids = program, ids
        self._names: dict[Variable | int, int] = {}

    def plan(self, delta: Pred, head: Pred, plan: ir.Project | None) -> list[int]:
        program, first = self.program, len(self.program._code)
        steps = _steps(plan.input) if plan is not None else None
        if plan is None or steps is None:
            leaf = self._args([], [-1] * delta.arity, frozenset())
            self._line(kernel.ESCAPE)
            return [leaf, first, len(program._code), 0, 0]
        leaf = self._leaf(steps[0])
        for step in steps[1:]:
            self._step(step)
        terms = self._ids([term for _, term in plan.columns])
        return [leaf, first, len(program._code), program.preds[head], self._args(terms, range(len(terms)), None)]

    def _register(self, term: Variable | int) -> int:
        if term not in self._names:
            self._names[term] = len(self.program._registers)
            self.program._registers.append(term if isinstance(term, int) else 0)
        return self._names[term]

    def _term(self, term: Variable | Constant) -> int:
        return self._register(self._ids([term])[0])

    def _line(self, kind: int, *fields: int) -> None:
        self.program._code.append([kind, *fields] + [0] * (kernel.STEP - 1 - len(fields)))

    def _args(self, terms: Sequence[Variable | int], places: Sequence[int], new: frozenset[Variable] | None) -> int:
        """Lines for terms in their order, with their columns. `new`: the variables that get a value here; None if all
        have one."""
        args, first = self.program._args, len(self.program._args)
        seen: set[Variable | int] = set()
        for term, column in zip(terms, places, strict=False):
            mode = kernel.KEY if new is None else kernel.PUT if term in new and term not in seen else kernel.SAME
            args.append((self._register(term), column, mode))
            seen.add(term)
        args += [(0, column, kernel.SKIP) for column in list(places)[len(terms) :]]
        return first

    def _leaf(self, scan: Plan) -> int:
        assert isinstance(scan, ir.Scan)
        terms = self._ids(scan.atom.terms)
        return self._args(terms, range(len(terms)), frozenset(columns(scan)))

    def _step(self, step: Plan) -> None:
        match step:
            case ir.Where(_, condition):
                self._computed(kernel.WHERE, condition, 0)
            case ir.Extend(_, variable, expression):
                self._computed(kernel.EXTEND, expression, self._register(variable))
            case ir.Join(left, ir.Scan() as scan):
                self._look_up(kernel.JOIN, scan, frozenset(columns(left)))
            case ir.SemiJoin(left, ir.Scan() as scan):
                self._look_up(kernel.EXISTS, scan, frozenset(columns(left)))
            case ir.AntiJoin(left, ir.Scan() as scan):
                self._look_up(kernel.ABSENT, scan, frozenset(columns(left)))

    def _computed(self, kind: int, expression: Expression, target: int) -> None:
        ops, program = compiled(expression, self._term), self.program
        if ops is None:
            self._ask(kernel.ASK_WHETHER if kind == kernel.WHERE else kernel.ASK, expression, target)
            return
        first = len(program._ops)
        program._ops += ops
        self._line(kind, 0, -1, 0, 0, 0, 0, first, len(program._ops), target)

    def _ask(self, kind: int, expression: Expression, target: int) -> None:
        questions, names = self.program.questions, tuple(dict.fromkeys(variables(expression)))
        registers = tuple(map(self._register, names))
        first = self._args(names, range(len(names)), None)
        self._line(kind, 0, -1, len(questions), first, len(names), len(names), 0, 0, target)
        form = skolem_form(expression) if is_plain_skolem(expression) else None
        questions.append(Question(expression, names, registers, kind == kernel.ASK_WHETHER, form))

    def _look_up(self, kind: int, scan: ir.Scan, bound: frozenset[Variable]) -> None:
        pred, terms = scan.atom.pred, self._ids(scan.atom.terms)
        probe = Probe.of(terms, bound)
        known, order, program = len(probe.keys), probe.order, self.program
        own = program.preds.get(pred, -1)
        indexes = program._indexes.get(pred, {})
        slot = indexes.setdefault(order[:known], len(indexes)) if own >= 0 else 0
        first = self._args([terms[i] for i in order[:known]], order[:known], None)
        self._args([terms[i] for i in order[known:]], order[known:], frozenset(v for v, _ in probe.new))
        self._line(kind, program._source(pred, order), own, slot, first, len(order), known)


def _table(lines: Sequence[Sequence[int]], fields: int) -> Words:
    return np.array(lines, np.int64).reshape(-1, fields)


def _steps(plan: Plan) -> list[Plan] | None:
    """The nodes of a left-deep plan from its leaf, which reads the DELTA, on; None if there is anything else in it."""
    above: list[Plan] = []
    while not isinstance(plan, ir.Scan):
        match plan:
            case ir.Where(input) | ir.Extend(input):
                above.append(plan)
                plan = input
            case ir.Join(left, ir.Scan()) | ir.SemiJoin(left, ir.Scan()) | ir.AntiJoin(left, ir.Scan()):
                above.append(plan)
                plan = left
            case ir.Distinct(ir.Project(input, new)) if all(v == t for v, t in new):
                plan = input
            case _:
                return None
    return [plan, *above[::-1]] if plan.part is Part.DELTA else None


class LocalRounds:
    """A run of rounds. `new` are facts that the tables do not have."""

    def __init__(
        self, code: RoundsCode, places: RunArrays, new: Mapping[Pred, Table], few: int, room: int, vectors: Vectors
    ) -> None:
        self._code, self._vectors = code, vectors
        self._frame = np.zeros(kernel.FRAME, np.int64)
        self._held: dict[int, Any] = {-1: places}
        self._registers = self._put(kernel.REGISTERS, code.registers.copy())
        self._facts = self._put(kernel.FACTS, np.zeros((room, 1 + code.width), np.int64))
        self._log = self._put(kernel.LOG, np.empty((room + 2, kernel.RECORD), np.int64))
        self._matches, self._reported = LEAST_MATCHES, 0
        self._put_rules(places)
        self._put_room(room)
        most = min(MATCHES_PER_FACT * few, MOST_MATCHES)
        self._set(FEW=few, MATCHES=most, QUESTIONS=QUESTIONS_PER_ROUND)
        self._start(new)

    def _put(self, field: int, words: Words) -> Words:
        """Where an array is; it is held as long as the frame."""
        self._held[field], self._frame[field] = words, words.__array_interface__["data"][0]
        return words

    def _set(self, **numbers: int) -> None:
        for field, number in numbers.items():
            self._frame[getattr(kernel, field)] = number

    def _get(self, field: int) -> int:
        return int(self._frame[field])

    def _put_rules(self, places: RunArrays) -> None:
        code, (words, offsets, _) = self._code, places
        steps, relations = code.code.copy(), code.relations.copy()
        steps[:, kernel.PLACE] = offsets[steps[:, kernel.PLACE]]
        relations[:, kernel.TABLE] = offsets[relations[:, kernel.TABLE]]
        for field, table in ((kernel.CODE, steps), (kernel.RELATIONS, relations), (kernel.PLACES, words)):
            self._put(field, table)
        self._put(kernel.PLANS, code.plans)
        self._put(kernel.ARGS, code.args)
        self._put(kernel.OPS, code.ops)
        self._put(kernel.INDEXES, code.indexes)
        self._put(kernel.COLUMNS, code.columns)
        self._put(kernel.ROOM, self._vectors.dictionary.room)

    def _put_room(self, room: int) -> None:
        code, answers = self._code, ANSWERS if self._code.questions else 0
        asked = max((len(question.variables) for question in code.questions), default=0)
        buckets = 1 << (2 * room * code.slots - 1).bit_length()
        self._put(kernel.CHAINS, np.empty(room * code.slots, np.int64))
        self._put(kernel.BUCKETS, np.zeros(buckets, np.int64))
        self._put(kernel.KEYS, np.empty((code.depth + 2, max(1, code.width)), np.int64))
        self._put(kernel.LEVELS, np.empty((code.depth + 1, 2), np.int64))
        self._put(kernel.STACK, np.empty((DEPTH, 2), np.int64))
        self._put(kernel.ANSWERS, np.empty((answers, kernel.ARGUMENTS + asked), np.int64))
        self._put(kernel.ANSWER_BUCKETS, np.zeros(2 * answers, np.int64))
        self._set(FACT_WORDS=1 + code.width, KEY_WORDS=max(1, code.width), ANSWER_WORDS=kernel.ARGUMENTS + asked)
        self._set(SLOTS=code.slots, BUCKET_MASK=buckets - 1, ANSWER_MASK=2 * answers - 1, HEAD_KEY=code.depth)
        self._set(MOST_FACTS=room, MOST_ANSWERS=answers)

    def _start(self, new: Mapping[Pred, Table]) -> None:
        n = 0
        for pred, table in new.items():
            part = self._facts[n : n + table.size]
            part[:, 0] = self._code.preds[pred]
            for i, column in enumerate(table.columns()):
                part[:, 1 + i] = column
            n += table.size
        self._first = n
        self._set(COUNT=n, VISIBLE=n)
        kernel.link_all(self._frame)

    def advance(self) -> tuple[RoundsEnd, list[RoundRecord]]:
        """Some more rounds: why they end, and what each has found."""
        self._set(LEFT=self._matches)
        with self._vectors.lock if self._code.computes else nullcontext():
            self._run(self._vectors.dictionary)
        self._matches = min(2 * self._matches, MOST_MATCHES)
        done = self._get(kernel.ROUNDS)
        lines = self._log[self._reported : done, kernel.NEW :].tolist()
        self._reported = done
        return ENDS[self._get(kernel.STATUS)], [RoundRecord(*line) for line in lines]

    def _run(self, dictionary: Dictionary) -> None:
        """Calls the kernel until it has no more questions."""
        while True:
            with dictionary.lock:
                if self._code.computes:  # a match adds one value at most
                    dictionary.reserve(self._matches + self._get(kernel.MATCHES), 0)
                kernel.rounds(self._frame)
            if self._get(kernel.STATUS) != kernel.ASKING:
                return
            question = self._code.questions[int(self._held[kernel.CODE][self._get(kernel.QUESTION), kernel.SLOT])]
            kernel.take_answer(self._frame, self._answer(question))
            self._frame[kernel.LEFT] -= MATCHES_PER_QUESTION

    def _answer(self, question: Question) -> int:
        ids = {v: int(self._registers[r]) for v, r in zip(question.variables, question.registers, strict=True)}
        if not question.is_condition:
            return self._vectors.value(question.expression, ids, question.form) or kernel.FAILS
        truth = self._vectors.truth(question.expression, ids)
        return kernel.FAILS if truth is None else kernel.TRUE if truth else kernel.FALSE

    def found(self, rounds: int) -> tuple[dict[Pred, Table], dict[Pred, Table]]:
        """The facts before the last of so many rounds, those from the start included; and what that one found."""
        ends = [self._first, *self._log[max(0, rounds - 2) : rounds, kernel.AFTER].tolist()]
        last, end = (ends[-2], ends[-1]) if rounds else (0, self._first)
        return self._tables(0, last), self._tables(last, end)

    def _tables(self, start: int, end: int) -> dict[Pred, Table]:
        return dict(self._by_pred(self._facts[start:end])) if end > start else {}

    def _by_pred(self, facts: Words) -> Iterator[tuple[Pred, Table]]:
        numbers, preds = facts[:, 0], list(self._code.preds)
        order = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers, minlength=len(preds))
        end = 0
        for number in np.flatnonzero(counts).tolist():
            start, end = end, end + int(counts[number])
            rows, pred = facts[order[start:end]], preds[number]
            ids = [rows[:, 1 + i].astype(np.uint32) for i in range(pred.arity)]
            yield pred, Table.of(sort_distinct(pack(ids, len(rows))), pred.arity)
