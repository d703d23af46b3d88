"""Maintenance tuple at a time, in one kernel call for several strata: see `kernels.tuple_dred`.

This covers rules of atoms and negated atoms over stored relations of up to two columns. It gives up on large changes:
maintenance set at a time is faster there, and covers all other rules.

The rules of a stratum are compiled to code once (`StratumCode`). The code of consecutive strata is linked
(`LinkedStrata`): they get common numbers for relations, places and registers. Both are cached for later changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deltalog.core.arrays import Words
from deltalog.core.rules import Atom, Negation, Pred, Variable, variables
from deltalog.core.tuning import Tuning
from deltalog.engines.local.addresses import TableAddresses
from deltalog.engines.local.body_code import Registers, key_line
from deltalog.engines.local.encoded_terms import EncodeTerms
from deltalog.engines.local.index_join import IndexJoin
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.sorted_runs import Keys, Order
from deltalog.engines.local.table import Table
from deltalog.evaluation.backend import Tables
from deltalog.evaluation.capabilities.tuple_maintenance import SmallChange, SmallResult
from deltalog.evaluation.plan.delta_rules import Role, TuplePlan, TuplePlans
from deltalog.evaluation.plan.ir import Part
from deltalog.kernels import changed_facts, interpreter
from deltalog.kernels import tuple_dred as kernel

LEAST_ROOM = 11  # bits of a number
EMPTY = (0, 0)  # a table of no runs, as kernels read it

ROLE, FACT = kernel.NEGATED + 1, kernel.NEGATED + 2  # more fields of a plan
IN_PLANS = [kernel.TEST_FIRST, kernel.TEST_SECOND, kernel.PUT_FIRST, kernel.PUT_SECOND]  # where registers are
IN_PLANS += [kernel.HEAD_FIRST, kernel.HEAD_SECOND]
IN_CODE = [interpreter.FIRST, interpreter.SECOND, interpreter.HIGH, interpreter.LOW]


class StratumCode:
    """The rules of a stratum as code; predicates, places and registers have numbers of their own."""

    def __init__(self, plans: TuplePlans, ids: EncodeTerms) -> None:
        self.heads, self._ids = plans.preds, ids
        self.preds = {pred: i for i, pred in enumerate(plans.preds)}
        self.sources: dict[tuple[Pred, Order], int] = {}
        self._registers: list[int] = []
        self._code: list[list[int]] = []
        plan = [self._plan(rule) for rule in plans.rules]
        plan.sort(key=lambda line: (line[ROLE], line[kernel.HEAD] if line[ROLE] >= Role.CHECK else line[FACT]))
        self.plans = np.array(plan, np.int64).reshape(-1, FACT + 1)
        self.code = np.array(self._code, np.int64).reshape(-1, interpreter.SWAPPED + 1)
        self.registers = np.array(self._registers, np.int64)
        self.depth = int((self.plans[:, kernel.END] - self.plans[:, kernel.LINES]).max(initial=0)) + 1

    def _number(self, pred: Pred) -> int:
        return self.preds.setdefault(pred, len(self.preds))

    def _plan(self, rule: TuplePlan) -> list[int]:
        first, registers = len(self._code), Registers(self._registers)
        leaf = _leaf(self._ids(rule.fact.terms), registers)
        bound = frozenset(variables(rule.fact))
        for i, step in enumerate(rule.steps):
            needed = {v for later in (rule.head, *rule.steps[i + 1 :]) for v in variables(later)}
            bound = self._step(step, bound, needed, registers)
        head = registers.pair(self._ids(rule.head.terms))
        fact = self._number(rule.fact.pred) if rule.role <= Role.LOOP else -1
        number = self._number(rule.head.pred)
        return [first, len(self._code), *leaf, number, *head, int(rule.negated), rule.role, fact]

    def _step(
        self, step: Atom | Negation, bound: frozenset[Variable], needed: set[Variable], registers: Registers
    ) -> frozenset[Variable]:
        """A line of code; what is bound after it."""
        atom = step.atom if isinstance(step, Negation) else step
        join = IndexJoin.of(self._ids(atom.terms), bound)
        new = {variable for variable, _ in join.new}
        joins = isinstance(step, Atom) and not needed.isdisjoint(new)
        kind = interpreter.JOIN if joins else interpreter.EXISTS if isinstance(step, Atom) else interpreter.ABSENT
        place = self.sources.setdefault((atom.pred, join.order), len(self.sources))
        line = key_line(kind, join, registers, place)
        self._code.append([*line, self._number(atom.pred), int(join.order == (1, 0))])
        return bound | new if joins else bound


def _leaf(terms: Sequence[Variable | int], registers: Registers) -> list[int]:
    """The registers that the ids of a fact must be equal to, and those that they go to."""
    tests, puts = [-1, -1], [-1, -1]
    for i, term in enumerate(terms):
        known = isinstance(term, int) or term in terms[:i]
        (tests if known else puts)[i] = registers.of(term)
    return [*tests, *puts]


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table that is read, and the first stratum that reads it."""

    is_explicit: bool
    pred: Pred
    order: Order
    reader: int


def _moved(registers: Words, by: int) -> Words:
    return np.where(registers >= 0, registers + by, registers)


class LinkedStrata:
    """Strata that come one after the other."""

    def __init__(self, strata: Sequence[StratumCode], tuning: Tuning) -> None:
        self._strata, self._tuning, self._empty = strata, tuning, Table(0, tuning=tuning)
        self._heads = {pred for part in strata for pred in part.heads}
        self._inputs = {pred for part in strata for pred in part.preds} - self._heads
        self.preds: dict[Pred, int] = {}
        for part in strata:
            for pred in (*part.heads, *part.preds):
                self.preds.setdefault(pred, len(self.preds))
        self._places: dict[tuple[bool, Pred, Order], int] = {}
        self._link()

    # Linking.

    def _link(self) -> None:
        self._sources = list(self._found_sources())
        self._own = self._relations()
        self._depth = max(part.depth for part in self._strata)
        self._registers = np.concatenate([part.registers for part in self._strata])
        self._code = np.concatenate(list(self._placed()))
        self._plans = np.concatenate(list(self._renumbered()))
        self._affected, self._inner = self._ranges()
        self._always, self._read_from = self._reads()

    def _found_sources(self) -> Iterable[TableRead]:
        """The tables that are read, as they come."""
        for stratum, part in enumerate(self._strata):
            canonical = [(pred, tuple(range(pred.arity))) for pred in part.heads]
            wanted = [(False, *source) for source in (*part.sources, *canonical)]
            for source in (*wanted, *((True, *source) for source in canonical)):
                if source not in self._places:
                    self._places[source] = len(self._places)
                    yield TableRead(*source, stratum)

    def _relations(self) -> Words:
        own = np.full((len(self.preds), kernel.STRATUM + 1), -1, np.int64)
        for stratum, part in enumerate(self._strata):
            for pred in part.heads:
                order = tuple(range(pred.arity))
                places = self._places[False, pred, order], self._places[True, pred, order]
                own[self.preds[pred]] = *places, stratum
        return own

    def _numbers(self, part: StratumCode) -> Words:
        """The common numbers of a stratum's predicates."""
        return np.array([self.preds[pred] for pred in part.preds] + [-1], np.int64)

    def _placed(self) -> Iterable[Words]:
        registers = 0
        for part in self._strata:
            code = part.code.copy()
            here = np.array([self._places[(False, *source)] for source in part.sources], np.int64)
            code[:, interpreter.PLACE] = here[code[:, interpreter.PLACE]] if len(code) else 0
            code[:, interpreter.OWN] = self._numbers(part)[code[:, interpreter.OWN]]
            code[:, IN_CODE] = _moved(code[:, IN_CODE], registers)
            registers += len(part.registers)
            yield code

    def _renumbered(self) -> Iterable[Words]:
        lines, registers = 0, 0
        for part in self._strata:
            plans, numbers = part.plans.copy(), self._numbers(part)
            plans[:, kernel.LINES : kernel.END + 1] += lines
            plans[:, kernel.HEAD], plans[:, FACT] = numbers[plans[:, kernel.HEAD]], numbers[plans[:, FACT]]
            plans[:, IN_PLANS] = _moved(plans[:, IN_PLANS], registers)
            lines, registers = lines + len(part.code), registers + len(part.registers)
            yield plans

    def _ranges(self) -> tuple[Words, Words]:
        """The ranges of plans of one kind and relation: they are consecutive."""
        affected = np.zeros((len(self._strata), len(self.preds), 2), np.int64)
        inner = np.zeros((kernel.RECHECKS + 1, len(self.preds), 2), np.int64)
        strata = np.repeat(np.arange(len(self._strata)), [len(part.plans) for part in self._strata])
        for at, (stratum, plan) in enumerate(zip(strata.tolist(), self._plans.tolist(), strict=True)):
            role, pred = plan[ROLE], plan[kernel.HEAD] if plan[ROLE] >= Role.CHECK else plan[FACT]
            found = affected[stratum, pred] if role == Role.AFFECTED else inner[role - Role.LOOP, pred]
            found[:] = found[0] if found[1] else at, at + 1
        return affected, inner

    def _reads(self) -> tuple[set[int], dict[Pred, set[int]]]:
        """The sources that every change reads, and those that only a change of an input reads."""
        always = {i for i, source in enumerate(self._sources) if source.pred in self._heads}
        read_from: dict[Pred, set[int]] = defaultdict(set)
        names = list(self.preds)
        for plan in self._plans.tolist():
            read = self._code[plan[kernel.LINES] : plan[kernel.END], interpreter.PLACE].tolist()
            from_input = plan[ROLE] == Role.AFFECTED and names[plan[FACT]] in self._inputs
            (read_from[names[plan[FACT]]] if from_input else always).update(read)
        return always, read_from

    # A change.

    def maintained(self, change: SmallChange[Relation]) -> SmallResult[Relation]:
        """The strata after a change, up to one on which the kernel gives up."""
        changed = (change.removed, change.added, change.removed_facts, change.added_facts)
        size = sum([table.size for facts in changed for table in facts.values()])
        if size > 2 * self._tuning.tuple_max_changed_facts:
            return SmallResult()
        addresses, offsets, strata = self._where(change)
        if not strata:
            return SmallResult()
        given, ends = self._lines(changed)
        limits = np.array(change.budgets[:strata], np.int64)
        facts, done, state = self._run(addresses.words(), offsets, given, ends, limits)
        gave_up = (
            (int(state[changed_facts.CHANGED]), bool(state[changed_facts.TOO_MUCH])) if done < strata else (0, False)
        )
        return self._result(facts, int(ends[kernel.EXPLICIT_REMOVED]), change.before, done, gave_up)

    def _where(self, change: SmallChange[Relation]) -> tuple[TableAddresses, Words, int]:
        """The addresses of tables, and for each source its offset among them (empty if this change does not read it);
        and how many strata can be maintained: all that they read is stored, and sorted or quick to sort."""
        changed = {*change.removed, *change.added} & self._inputs
        due = [self._read_from[pred] for pred in changed]
        addresses, offsets, strata = TableAddresses(), [0] * len(self._sources), len(self._strata)
        addresses.add(self._empty, EMPTY)
        for i in sorted(self._always.union(*due)):
            source = self._sources[i]
            if source.reader < strata:
                explicit, before = change.explicit, change.before
                found = explicit.get(source.pred) if source.is_explicit else before.get((source.pred, Part.ALL))
                places = EMPTY if found is None else found.cheap_addresses(source.order)
                if places is None:
                    strata = source.reader
                else:
                    offsets[i] = addresses.add(found or self._empty, places)
        return addresses, np.array(offsets, np.int64), strata

    def _lines(self, changed: Sequence[Mapping[Pred, Relation]]) -> tuple[Words, Words]:
        """The given changes, in four parts, and where these begin and end."""
        numbers: list[int] = []
        keys: list[Keys] = []
        ends = [0]
        for facts, known in zip(changed, (self._inputs, self._inputs, self._heads, self._heads), strict=True):
            for pred, table in facts.items():
                if pred in known:
                    numbers.append(self.preds[pred])
                    keys.append(table.keys())
            ends.append(len(keys))
        sizes = [len(part) for part in keys]
        given = np.empty((sum(sizes), 2), np.int64)
        if keys:
            given[:, 0] = np.repeat(np.array(numbers), sizes)
            given[:, 1] = np.concatenate(keys).view(np.int64)
        return given, np.array([0, *np.cumsum(sizes)], np.int64)[ends]

    def _run(self, words: Words, offsets: Words, given: Words, ends: Words, limits: Words) -> tuple[Words, int, Words]:
        """The changed facts, how many strata were maintained, and the state in which the kernel ended."""
        room = min(self._tuning.tuple_max_facts, 1 << max(LEAST_ROOM, (8 * len(given)).bit_length()))
        code, own = self._code.copy(), self._own.copy()
        code[:, interpreter.PLACE] = offsets[code[:, interpreter.PLACE]]
        own[:, : kernel.STRATUM] = offsets[own[:, : kernel.STRATUM]]
        facts, buckets = np.empty((room, changed_facts.FACT_FIELDS), np.int64), np.zeros((4, 2 * room), np.int32)
        queue, levels = np.empty(room, np.int64), np.empty((self._depth, 2), np.int64)
        state, rules = np.zeros(changed_facts.STATE_FIELDS, np.int64), (self._plans, self._affected, self._inner)
        done = kernel.delete_and_rederive(
            *rules, code, self._registers.copy(), words, own, given, ends, facts, buckets, queue, levels, limits, state
        )
        return facts[: state[changed_facts.COUNT]], done, state

    def _result(
        self, facts: Words, first: int, before: Tables[Relation], done: int, gave_up: tuple[int, bool]
    ) -> SmallResult[Relation]:
        result: SmallResult[Relation] = SmallResult(done, {}, {}, {}, {}, *gave_up)
        keys, ends, counts = kernel.net_changes(facts, first, len(self.preds))
        ends, counts = ends.tolist(), counts.tolist()
        for pred, number in self.preds.items():
            overdeleted, _, inserted = counts[number]
            if overdeleted or inserted:
                result.counts[pred] = tuple(counts[number])
                low, middle, high = ends[2 * number : 2 * number + 3]
                table = before.get((pred, Part.ALL)) or Table(pred.arity, tuning=self._tuning)
                _apply(pred, keys[low:middle].copy(), keys[middle:high].copy(), table, result)
        return result


def _apply(pred: Pred, removed: Keys, added: Keys, table: Relation, result: SmallResult[Relation]) -> None:
    if len(removed):
        result.removed[pred] = Table.of(removed, pred.arity, table.tuning)
        table = table.minus_subset(result.removed[pred])
    if len(added):
        result.added[pred] = Table.of(added, pred.arity, table.tuning)
        table = table.merge(result.added[pred])
    if len(removed) or len(added):
        result.tables[pred] = table
