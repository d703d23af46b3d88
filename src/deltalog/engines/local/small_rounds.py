"""Small semi-naive rounds, many of them in one kernel call: see `kernels.small_rounds`.

The plans of rule variants are compiled to code once (`RoundsCode`). A run of rounds (`Rounds`) is that code over the
tables as they are at its start, with the facts found so far; these are merged into the tables when the run ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from deltalog.core.arrays import Words
from deltalog.core.concurrency.cached import cached_property
from deltalog.core.dictionary import Dictionary
from deltalog.core.rules import Constant, Expression, Pred, Variable, variables
from deltalog.engines.local.addresses import TableAddresses
from deltalog.engines.local.arithmetic import DEPTH, compiled
from deltalog.engines.local.body_code import KINDS, Registers, left_deep
from deltalog.engines.local.column_expressions import ColumnExpressions
from deltalog.engines.local.encoded_terms import EncodeTerms
from deltalog.engines.local.index_join import IndexJoin
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Order, pack, sort_distinct
from deltalog.engines.local.table import Table, empty
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.capabilities.small_rounds import RoundRecords, RoundsEnd, SmallRules
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, columns
from deltalog.functions.skolem import SkolemForm, is_plain_skolem, skolem_form
from deltalog.kernels import small_rounds as kernel
from deltalog.kernels.addresses import Addresses
from deltalog.kernels.arithmetic import OP_FIELDS

_MATCHES_PER_FACT = 16  # matches that a round may have for each new fact that it may have
_MATCHES_PER_EXPRESSION = 1 << 8  # matches that take as long as one expression
_CACHED_RESULTS = 1 << 8  # results of expressions that are kept

ENDS = {
    kernel.DONE: RoundsEnd.DONE,
    kernel.LARGE: RoundsEnd.LARGE,
    kernel.PAUSED: RoundsEnd.PAUSED,
    kernel.FULL: RoundsEnd.FULL,
    kernel.TOO_MUCH: RoundsEnd.TOO_MUCH,
    kernel.ESCAPED: RoundsEnd.TOO_MUCH,
}


@dataclass(frozen=True, slots=True)
class Deferred:
    """An expression that the kernel leaves to the reference, and the registers of its variables."""

    expression: Expression
    variables: tuple[Variable, ...]
    registers: tuple[int, ...]
    is_condition: bool
    form: SkolemForm | None  # if it is a SKOLEM of variables and constants


@dataclass(frozen=True, slots=True)
class RunArrays:
    """Where tables are, and for each source of the code where it is among them."""

    addresses: TableAddresses
    offsets: Words


class RoundsCode:
    """Rule variants as code; recursive relations, the tables that are read, and registers have numbers."""

    def __init__(self, rules: SmallRules, ids: EncodeTerms) -> None:
        self.preds = {pred: i for i, pred in enumerate(rules.preds)}
        self.sources: dict[tuple[Pred, Order], int] = {}
        self._ids = ids
        self._indexes: dict[Pred, dict[Order, int]] = {pred: {tuple(range(pred.arity)): 0} for pred in rules.preds}
        self._code: list[list[int]] = []
        self._args: list[tuple[int, int, int]] = []
        self._ops: list[tuple[int, int, int]] = []
        self._registers: list[int] = []
        self.deferred: list[Deferred] = []
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

    def _source(self, pred: Pred, order: Order) -> int:
        return self.sources.setdefault((pred, order), len(self.sources))

    @cached_property
    def computes(self) -> bool:
        """Whether rounds may add values to the dictionary."""
        return bool(np.isin(self.code[:, kernel.KIND], (kernel.EXTEND, kernel.DEFER_VALUE)).any())

    def places(self, tables: Tables[Relation]) -> RunArrays | None:
        """Where the tables are that are read; None if one would have to be sorted first."""
        addresses, offsets = TableAddresses(), []
        for pred, order in self.sources:
            relation = tables.get((pred, Part.ALL), empty(pred.arity))
            found = relation.cheap_addresses(order)
            if found is None:
                return None
            offsets.append(addresses.add(relation, found))
        return RunArrays(addresses, np.array(offsets, np.int64))


class _Variant:
    """The code of one variant; its registers are its own."""

    def __init__(self, program: RoundsCode, ids: EncodeTerms) -> None:
        self.program, self._ids = program, ids
        self._register = Registers(program._registers).of

    def plan(self, delta: Pred, head: Pred, plan: ir.Project | None) -> list[int]:
        program, first = self.program, len(self.program._code)
        steps = left_deep(plan.input) if plan is not None else None
        if plan is None or steps is None or not _reads_delta(steps[0]):
            leaf = self._args([], [-1] * delta.arity, frozenset())
            self._line(kernel.ESCAPE)
            return [leaf, first, len(program._code), 0, 0]
        leaf = self._leaf(steps[0])
        for step in steps[1:]:
            self._step(step)
        terms = self._ids([term for _, term in plan.columns])
        return [leaf, first, len(program._code), program.preds[head], self._args(terms, range(len(terms)), None)]

    def _term(self, term: Variable | Constant) -> int:
        return self._register(self._ids([term])[0])

    def _line(self, kind: int, *fields: int) -> None:
        self.program._code.append([kind, *fields] + [0] * (kernel.STEP - 1 - len(fields)))

    def _args(self, terms: Sequence[Variable | int], places: Sequence[int], new: frozenset[Variable] | None) -> int:
        """Lines for terms in their order, with their columns. `new`: the variables that are bound here; None if all
        are bound already."""
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
            case (
                ir.Join(left, ir.Scan() as scan)
                | ir.SemiJoin(left, ir.Scan() as scan)
                | ir.AntiJoin(left, ir.Scan() as scan)
            ):
                self._look_up(KINDS[type(step)], scan, frozenset(columns(left)))

    def _computed(self, kind: int, expression: Expression, target: int) -> None:
        ops, program = compiled(expression, self._term), self.program
        if ops is None:
            self._defer(kernel.DEFER_CONDITION if kind == kernel.WHERE else kernel.DEFER_VALUE, expression, target)
            return
        first = len(program._ops)
        program._ops += ops
        self._line(kind, 0, -1, 0, 0, 0, 0, first, len(program._ops), target)

    def _defer(self, kind: int, expression: Expression, target: int) -> None:
        deferred, names = self.program.deferred, tuple(dict.fromkeys(variables(expression)))
        registers = tuple(map(self._register, names))
        first = self._args(names, range(len(names)), None)
        self._line(kind, 0, -1, len(deferred), first, len(names), len(names), 0, 0, target)
        form = skolem_form(expression) if is_plain_skolem(expression) else None
        deferred.append(Deferred(expression, names, registers, kind == kernel.DEFER_CONDITION, form))

    def _look_up(self, kind: int, scan: ir.Scan, bound: frozenset[Variable]) -> None:
        pred, terms = scan.atom.pred, self._ids(scan.atom.terms)
        join = IndexJoin.of(terms, bound)
        known, order, program = len(join.keys), join.order, self.program
        own = program.preds.get(pred, -1)
        indexes = program._indexes.get(pred, {})
        slot = indexes.setdefault(order[:known], len(indexes)) if own >= 0 else 0
        first = self._args([terms[i] for i in order[:known]], order[:known], None)
        self._args([terms[i] for i in order[known:]], order[known:], frozenset(v for v, _ in join.new))
        self._line(kind, program._source(pred, order), own, slot, first, len(order), known)


def _table(lines: Sequence[Sequence[int]], fields: int) -> Words:
    return np.array(lines, np.int64).reshape(-1, fields)


def _reads_delta(leaf: Plan) -> bool:
    return isinstance(leaf, ir.Scan) and leaf.part is Part.DELTA


class LocalRounds:
    """A run of rounds. `new` are facts that the tables do not have.

    The frame has the addresses of all arrays, which are held in `_addresses`: they live as long as the run.
    """

    def __init__(
        self,
        code: RoundsCode,
        places: RunArrays,
        new: Mapping[Pred, Relation],
        max_new_facts: int,
        room: int,
        expressions: ColumnExpressions,
    ) -> None:
        self._code, self._expressions, self._tuning = code, expressions, expressions.tuning
        self._frame = np.zeros(kernel.FRAME, np.int64)
        self._addresses = Addresses()
        self._addresses.hold(places)
        self._registers = self._put(kernel.REGISTERS, code.registers.copy())
        self._facts = self._put(kernel.FACTS, np.zeros((room, 1 + code.width), np.int64))
        self._log = self._put(kernel.LOG, np.empty((room + 2, kernel.RECORD), np.int64))
        self._matches, self._reported = self._tuning.rounds_min_matches_per_call, 0
        self._put_rules(places)
        self._put_room(room)
        most = min(_MATCHES_PER_FACT * max_new_facts, self._tuning.rounds_max_matches)
        self._set(MAX_NEW_FACTS=max_new_facts, MAX_MATCHES=most, MAX_DEFERRED=self._tuning.rounds_expressions_per_round)
        self._start(new)

    def _put(self, field: int, words: Words) -> Words:
        """Writes the address of an array into the frame."""
        self._frame[field] = self._addresses.of(words)
        return words

    def _set(self, **numbers: int) -> None:
        for field, number in numbers.items():
            self._frame[getattr(kernel, field)] = number

    def _get(self, field: int) -> int:
        return int(self._frame[field])

    def _put_rules(self, places: RunArrays) -> None:
        code, offsets = self._code, places.offsets
        steps, relations = code.code.copy(), code.relations.copy()
        steps[:, kernel.PLACE] = offsets[steps[:, kernel.PLACE]]
        relations[:, kernel.TABLE] = offsets[relations[:, kernel.TABLE]]
        self._steps = self._put(kernel.CODE, steps)
        self._put(kernel.RELATIONS, relations)
        self._put(kernel.PLACES, places.addresses.words())
        self._put(kernel.PLANS, code.plans)
        self._put(kernel.ARGS, code.args)
        self._put(kernel.OPS, code.ops)
        self._put(kernel.INDEXES, code.indexes)
        self._put(kernel.COLUMNS, code.columns)
        self._put(kernel.ROOM, self._expressions.dictionary.room)

    def _put_room(self, room: int) -> None:
        code, results = self._code, _CACHED_RESULTS if self._code.deferred else 0
        arguments = max((len(one.variables) for one in code.deferred), default=0)
        buckets = 1 << (2 * room * code.slots - 1).bit_length()
        self._put(kernel.CHAINS, np.empty(room * code.slots, np.int64))
        self._put(kernel.BUCKETS, np.zeros(buckets, np.int64))
        self._put(kernel.KEYS, np.empty((code.depth + 2, max(1, code.width)), np.int64))
        self._put(kernel.LEVELS, np.empty((code.depth + 1, 2), np.int64))
        self._put(kernel.STACK, np.empty((DEPTH, 2), np.int64))
        self._put(kernel.RESULTS, np.empty((results, kernel.ARGUMENTS + arguments), np.int64))
        self._put(kernel.RESULT_BUCKETS, np.zeros(2 * results, np.int64))
        self._set(FACT_WORDS=1 + code.width, KEY_WORDS=max(1, code.width), RESULT_WORDS=kernel.ARGUMENTS + arguments)
        self._set(SLOTS=code.slots, BUCKET_MASK=buckets - 1, RESULT_MASK=2 * results - 1, HEAD_KEY=code.depth)
        self._set(MAX_FACTS=room, MAX_RESULTS=results)

    def _start(self, new: Mapping[Pred, Relation]) -> None:
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

    def advance(self) -> tuple[RoundsEnd, RoundRecords]:
        """Runs more rounds: why they end, and what each did."""
        self._set(MATCHES_LEFT=self._matches)
        with self._expressions.lock.held if self._code.computes else nullcontext():
            self._run(self._expressions.dictionary)
        self._matches = min(2 * self._matches, self._tuning.kernel_call_max_matches)
        done = self._get(kernel.ROUNDS)
        log = self._log[self._reported : done]
        self._reported = done
        records = RoundRecords(log[:, kernel.NEW].tolist(), log[:, kernel.DUE].tolist())
        return ENDS[self._get(kernel.STATUS)], records

    def _run(self, dictionary: Dictionary) -> None:
        """Calls the kernel until it needs no more expressions."""
        while True:
            with dictionary.lock:
                if self._code.computes:  # a match adds at most one value
                    dictionary.reserve(self._matches + self._get(kernel.MAX_MATCHES), 0)
                kernel.rounds(self._frame)
            if self._get(kernel.STATUS) != kernel.DEFERRING:
                return
            self._expressions.limits.check()  # a value may be text of any length
            deferred = self._code.deferred[int(self._steps[self._get(kernel.DEFERRED), kernel.SLOT])]
            kernel.take_result(self._frame, self._evaluate(deferred))
            self._frame[kernel.MATCHES_LEFT] -= _MATCHES_PER_EXPRESSION

    def _evaluate(self, deferred: Deferred) -> int:
        ids = {v: int(self._registers[r]) for v, r in zip(deferred.variables, deferred.registers, strict=True)}
        if not deferred.is_condition:
            return self._expressions.value(deferred.expression, ids, deferred.form) or kernel.FAILS
        truth = self._expressions.truth(deferred.expression, ids)
        return kernel.FAILS if truth is None else kernel.TRUE if truth else kernel.FALSE

    def found(self, rounds: int) -> tuple[dict[Pred, Relation], dict[Pred, Relation]]:
        """The facts before the last of a number of rounds, those from the start included, and the facts of that one."""
        ends = [self._first, *self._log[max(0, rounds - 2) : rounds, kernel.AFTER].tolist()]
        last, end = (ends[-2], ends[-1]) if rounds else (0, self._first)
        return self._tables(0, last), self._tables(last, end)

    def _tables(self, start: int, end: int) -> dict[Pred, Relation]:
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
            yield pred, Table.of(sort_distinct(pack(ids, len(rows))), pred.arity, self._tuning)
