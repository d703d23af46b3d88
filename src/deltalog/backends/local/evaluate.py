"""Plans over local tables.

A left-deep plan is a pipeline: rows of its leftmost input are pushed through one step after the other (look-ups in
other relations, conditions, new columns), a morsel at a time, so that no intermediate result is larger than a morsel;
both cores take morsels. What comes out is packed into keys, sorted and made distinct. `Distinct`, `Union` and
`Aggregate` end a pipeline and begin the next one.

The last join of a rule h(x, z) <- ..., r(y, z) is special: `_compose` finds the new pairs without writing any twice
(see `kernels.join.compose`). It applies itself to what is left of the body, so a chain of joins becomes a chain of
sparse products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np

from deltalog.backends.base import Tables
from deltalog.backends.local.aggregate import aggregate, group_starts
from deltalog.backends.local.matrix import Matrix, Runs
from deltalog.backends.local.probe import Probe, Rows, concatenate
from deltalog.backends.local.scratch import Scratch, Stamps
from deltalog.backends.local.table import (
    NO_KEYS,
    NO_OFFSETS,
    Keys,
    Order,
    Run,
    Table,
    no_keys,
    pack,
    sort_distinct,
    union,
    unpack,
)
from deltalog.backends.local.vector import Vectors
from deltalog.dictionary import Dictionary
from deltalog.kernels import rows as kernel
from deltalog.kernels.join import RUNS, compose
from deltalog.plan import ir
from deltalog.plan.ir import Plan, columns
from deltalog.syntax.ast import Expression, Pred, Term, Variable, variables

MORSEL = 1 << 21  # rows in flight per thread
PARALLEL = 1 << 15  # fewer rows are not worth a second thread
SMALL = 1 << 9  # left sides below this are joined row by row
WORTH_OFFSETS = 8  # direct access by id is worth making when there are at least ids / 8 candidates

Step = Callable[[Rows], Rows]
A = TypeVar("A")
R = TypeVar("R")


@dataclass(slots=True)
class Pipeline:
    """A leaf, and steps with the number of rows each will give (None: no more than it gets)."""

    leaf: Rows
    steps: list[tuple[Step, Callable[[Rows], int] | None]]


@dataclass(slots=True)
class Evaluation:
    """One evaluation of one plan: where its tables are, and with what it computes."""

    tables: Tables[Table]
    dictionary: Dictionary
    vectors: Vectors
    scratch: Scratch
    pool: ThreadPoolExecutor
    threads: int
    check: Callable[[], None] = field(default=lambda: None)  # raises when a limit is hit

    @property
    def ids(self) -> int:
        return len(self.dictionary)

    # Keys: the distinct rows of a plan, sorted.

    def keys(self, plan: Plan, known: Table | None = None) -> Keys:
        """The distinct rows of a plan, as sorted keys; rows of `known` may be left out."""
        match plan:
            case ir.Distinct(input):
                return self.keys(input, known)
            case ir.AntiJoin(ir.Distinct(input), ir.Scan(atom, part)) if atom.terms == columns(input):
                table = self.table(atom.pred, part)
                return table.without(self.keys(input, table))
            case ir.Union(inputs):
                found = [self.keys(input, known) for input in inputs]
                return _sorted_union([keys for keys in found if len(keys)], len(columns(plan)))
            case ir.Project(input, new):
                return self._projected(input, tuple(term for _, term in new), known)
            case _:
                return self._projected(plan, columns(plan), known)

    def _projected(self, body: Plan, terms: tuple[Term, ...], known: Table | None) -> Keys:
        """The distinct values of terms over the rows of a body."""
        ids = tuple(t if isinstance(t, Variable) else self.dictionary.intern(t.value) for t in terms)
        fast = self._stored(body, ids)
        if fast is None:
            fast = self._compose(body, ids, known)
        if fast is not None:
            return fast
        needed = frozenset(t for t in ids if isinstance(t, Variable))
        parts = self._run(body, needed, lambda rows: sort_distinct(_pack_terms(ids, rows)))
        return _sorted_union([part for part in parts if len(part)], len(ids))

    def _stored(self, body: Plan, terms: tuple[Variable | int, ...]) -> Keys | None:
        """A copy of a stored relation, or of one with its columns exchanged: its runs are sorted already."""
        if not isinstance(body, ir.Scan) or len(terms) > 2 or len(body.atom.terms) != len(terms):
            return None
        if not (len(set(terms)) == len(terms) and set(terms) == set(body.atom.terms)):
            return None
        order = tuple(body.atom.terms.index(t) for t in terms)  # type: ignore[arg-type]
        runs = [run.order(order) for run in self.table(body.atom.pred, body.part).compact.runs]
        return _sorted_union(runs, len(terms))

    # Sparse products.

    def _compose(self, body: Plan, terms: tuple[Variable | int, ...], known: Table | None) -> Keys | None:
        """h(x, z) <- left(.., x, y, ..), r(y, z) as a sparse product, where the body has that form and is worth it."""
        if not (isinstance(body, ir.Join) and isinstance(body.right, ir.Scan) and len(terms) == 2):
            return None
        bound, atom = frozenset(columns(body.left)), body.right.atom
        join = [t for t in atom.terms if isinstance(t, Variable) and t in bound]
        new = [t for t in atom.terms if isinstance(t, Variable) and t not in bound]
        if not (len(atom.terms) == 2 and len(join) == 1 and len(new) == 1):
            return None
        x, z, y = next((t for t in terms if t != new[0]), None), new[0], join[0]
        if not isinstance(x, Variable) or x not in bound or z not in terms:
            return None
        if terms == (z, x) and self._worth_flipping(body.left, body.right):
            return self._compose(ir.Join(body.right, body.left), terms, known)  # so that pairs come in the head's order
        right = self.table(atom.pred, body.right.part)
        left = self.keys(ir.Project(body.left, ((x, x), (y, y))))
        order = (0, 1) if atom.terms[0] == y else (1, 0)
        if len(left) < SMALL or WORTH_OFFSETS * self._candidates(len(left), right, order[0]) < self.ids:
            return self._compose_small(left, right, order, terms[0] == x)
        return self._compose_large(left, right, order, known, (0, 1) if terms[0] == x else (1, 0))

    def _worth_flipping(self, left: Plan, right: ir.Scan) -> bool:
        """Two stored relations of which the second is not much larger than what the join will visit."""
        if not (isinstance(left, ir.Scan) and len(columns(left)) == 2 == len(left.atom.terms)):
            return False
        first, second = (self.table(scan.atom.pred, scan.part) for scan in (left, right))
        shared = next(i for i, t in enumerate(right.atom.terms) if t in left.atom.terms)
        return second.size < 4 * self._candidates(first.size, second, shared)

    def _candidates(self, rows: int, right: Table, column: int) -> float:
        return rows * right.size / max(1.0, right.distinct(column, self.ids))

    def _compose_small(self, left: Keys, right: Table, order: Order, forward: bool) -> Keys:
        """The same by look-ups, for a left side that is small beside the number of ids."""
        x, y, z = Variable("#x"), Variable("#y"), Variable("#z")
        columns = unpack(left, 2)
        probe = Probe.of(right, [y, z] if order == (0, 1) else [z, y], frozenset([y]))
        rows = probe.join(Rows({x: columns[0], y: columns[1]}, len(left)), self.ids, frozenset([x, z]))
        pair = (x, z) if forward else (z, x)
        return sort_distinct(pack([rows.columns[v] for v in pair], rows.size))

    def _compose_large(self, left: Keys, right: Table, order: Order, known: Table | None, head: Order) -> Keys:
        # Dead rows of `known` are not known: without them, or it is asked afterwards.
        present = [run for run in known.runs if run.has_order(head)] if known and not known.dead else []
        right = right.compact
        product = self._product(right, order, self._runs(present, head))

        def part(bounds: tuple[int, int]) -> Keys:
            self.check()
            with self.scratch.stamps(self.ids) as stamps:
                keys = product(left[bounds[0] : bounds[1]], stamps)
            return keys if head == (0, 1) else np.sort(kernel.swap(keys))

        work = self._candidates(len(left), right, order[0])
        parts = self._each(part, _group_bounds(left, self.threads * 4 if work > 2 * PARALLEL else 1))
        if head == (0, 1):
            return np.concatenate(parts) if len(parts) > 1 else parts[0]  # the parts have ascending x
        return _sorted_union(parts, 2)

    def _product(self, right: Table, order: Order, known: Runs) -> Callable[[Keys, Stamps], Keys]:
        """How to multiply: by bitmaps where rows of the right side are long, else pair by pair."""
        dense = Matrix.of([run.order(order) for run in right.runs])
        if dense is not None:
            return lambda left, stamps: dense.compose(left, known, stamps)
        runs = self._runs(right.runs, order)

        def sparse(left: Keys, stamps: Stamps) -> Keys:
            keys: Keys
            keys, stamps.generation = compose(left, *runs, *known, stamps.array, stamps.generation, stamps.bits)
            return keys

        return sparse

    def _runs(self, runs: Sequence[Run], order: Order) -> Runs:
        padding = RUNS - len(runs)
        keys = [run.order(order) for run in runs] + [NO_KEYS] * padding
        return tuple(keys), (*(run.offsets(order, self.ids) for run in runs), *[NO_OFFSETS] * padding)

    # Pipelines.

    def rows(self, plan: Plan, needed: frozenset[Variable]) -> Rows:
        """All rows of a plan at once, with the columns that are needed."""
        parts = [part for part in self._run(plan, needed, lambda rows: rows) if part.size]
        return concatenate(parts, [v for v in columns(plan) if v in needed])

    def _run(self, plan: Plan, needed: frozenset[Variable], sink: Callable[[Rows], R]) -> list[R]:
        """What the sink makes of each morsel of the plan's rows."""
        pipeline = self._pipeline(plan, needed)
        size = pipeline.leaf.size
        if size == 0:
            return []

        def part(bounds: tuple[int, int]) -> list[R]:
            return list(self._push(pipeline.leaf.slice(*bounds), pipeline, 0, sink))

        pieces = self.threads if size >= PARALLEL else 1
        bounds = _even_bounds(size, max(pieces, -(-size // MORSEL)))
        return [result for results in self._each(part, bounds) for result in results]

    def _push(self, rows: Rows, pipeline: Pipeline, at: int, sink: Callable[[Rows], R]) -> Iterator[R]:
        """Rows through the steps from `at` on; split where a join would give too many."""
        self.check()
        for i in range(at, len(pipeline.steps)):
            if rows.size == 0:
                return
            step, estimate = pipeline.steps[i]
            if estimate is not None and rows.size > 1:
                expected = estimate(rows)
                if expected > MORSEL:
                    pieces = min(rows.size, -(-expected // MORSEL) + 1)
                    for bounds in _even_bounds(rows.size, pieces):
                        yield from self._push_on(rows.slice(*bounds), pipeline, i, sink)
                    return
            rows = step(rows)
        if rows.size:
            yield sink(rows)

    def _push_on(self, rows: Rows, pipeline: Pipeline, at: int, sink: Callable[[Rows], R]) -> Iterator[R]:
        """A piece through the step that made it necessary (however much that gives), then on."""
        rows = pipeline.steps[at][0](rows)
        if rows.size:
            yield from self._push(rows, pipeline, at + 1, sink)

    def _pipeline(self, plan: Plan, needed: frozenset[Variable]) -> Pipeline:
        """The leaf of a plan and the steps above it; a step keeps only what later steps and the sink need."""
        steps: list[tuple[Step, Callable[[Rows], int] | None]] = []
        while True:
            match plan:
                case ir.Where(input, condition):
                    steps.append((self._where(condition, needed), None))
                    needed |= set(variables(condition))
                    plan = input
                case ir.Extend(input, variable, expression):
                    steps.append((self._extend(variable, expression, needed), None))
                    needed = needed - {variable} | set(variables(expression))
                    plan = input
                case ir.Join(left, right) | ir.SemiJoin(left, right) | ir.AntiJoin(left, right):
                    probe = self._probe(right, frozenset(columns(left)))
                    steps.append(self._look_up(type(plan), probe, needed))
                    needed = (needed & set(columns(left))) | {k for k in probe.keys if isinstance(k, Variable)}
                    plan = left
                case _:
                    return Pipeline(self._leaf(plan, needed), steps[::-1])

    def _where(self, condition: Expression, needed: frozenset[Variable]) -> Step:
        def step(rows: Rows) -> Rows:
            truth = self.vectors.holds(condition, rows)
            return rows.keep(needed).take(truth)

        return step

    def _extend(self, variable: Variable, expression: Expression, needed: frozenset[Variable]) -> Step:
        def step(rows: Rows) -> Rows:
            values, ok = self.vectors.values(expression, rows)
            extended = Rows({**rows.keep(needed).columns, variable: values}, rows.size)
            return extended if ok is None else extended.take(ok)

        return step

    def _look_up(
        self, kind: type, probe: Probe, needed: frozenset[Variable]
    ) -> tuple[Step, Callable[[Rows], int] | None]:
        if kind is ir.Join and not probe.complete:
            return (lambda rows: probe.join(rows, self.ids, needed)), (lambda rows: probe.matched(rows, self.ids))
        if kind is ir.AntiJoin:
            return (lambda rows: rows.keep(needed).take(~probe.matches(rows, self.ids))), None
        return (lambda rows: rows.keep(needed).take(probe.matches(rows, self.ids))), None

    def _probe(self, plan: Plan, bound: frozenset[Variable]) -> Probe:
        if isinstance(plan, ir.Scan):
            terms = self._terms(plan.atom.terms)
            table = self.table(plan.atom.pred, plan.part) if terms is not None else Table(len(plan.atom.terms))
            return Probe.of(table, terms if terms is not None else [0] * len(plan.atom.terms), bound)
        names = columns(plan)
        return Probe.of(Table.of(self.keys(plan), len(names)), list(names), bound)

    def _terms(self, terms: Sequence[Term]) -> list[Variable | int] | None:
        """Constants by their ids; None when one is no value of any fact."""
        found = [t if isinstance(t, Variable) else self.dictionary.find(t.value) for t in terms]
        return None if None in found else found  # type: ignore[return-value]

    # Leaves.

    def _leaf(self, plan: Plan, needed: frozenset[Variable]) -> Rows:
        match plan:
            case ir.Unit():
                return Rows({}, 1)
            case ir.Scan():
                return self._scan(plan, needed)
            case ir.Aggregate():
                return self._aggregate(plan)
            case ir.Project(input, new) if all(isinstance(t, Variable) for _, t in new):
                inner = self.rows(input, frozenset(t for v, t in new if v in needed))  # type: ignore[misc]
                return Rows({v: inner.columns[t] for v, t in new if v in needed}, inner.size)  # type: ignore[index]
            case _:
                keys = self.keys(plan)
                names = columns(plan)
                values = unpack(keys, len(names))
                return Rows({v: values[i] for i, v in enumerate(names) if v in needed}, len(keys))

    def _scan(self, plan: ir.Scan, needed: frozenset[Variable]) -> Rows:
        probe = self._probe(plan, frozenset())
        names = columns(plan)
        if probe.keys or probe.equal:
            return probe.join(Rows({}, 1), self.ids, needed)
        values = probe.table.columns()
        return Rows({v: values[i] for i, v in enumerate(names) if v in needed}, probe.table.size)

    def _aggregate(self, plan: ir.Aggregate) -> Rows:
        names = tuple(dict.fromkeys((*plan.on, *columns(plan.input))))
        keys = self.keys(ir.Project(plan.input, tuple((v, v) for v in names)))
        values = dict(zip(names, unpack(keys, len(names)), strict=True))
        starts = group_starts([values[v] for v in plan.on], len(keys))
        result = Rows({v: values[v][starts] for v in plan.on}, len(starts))
        present = np.ones(len(starts), np.bool_)
        for call in plan.calls:
            result.columns[call.variable], ok = aggregate(call, values, starts, len(keys), self.dictionary)
            present &= True if ok is None else ok
        return result if present.all() else result.take(present)

    def table(self, pred: Pred, part: ir.Part) -> Table:
        return self.tables.get((pred, part)) or Table(pred.arity)

    def _each(self, function: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
        """The function over the arguments, on both cores when there are several."""
        if len(arguments) <= 1 or self.threads == 1:
            return [function(a) for a in arguments]
        return list(self.pool.map(function, arguments))


def _pack_terms(terms: tuple[Variable | int, ...], rows: Rows) -> Keys:
    values = [rows.columns[t] if isinstance(t, Variable) else np.full(rows.size, t, np.uint32) for t in terms]
    return pack(values, rows.size)


def _sorted_union(parts: Sequence[Keys], arity: int) -> Keys:
    """The union of sorted sets."""
    if not parts:
        return no_keys(arity)
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return union(parts[0], parts[1])
    return sort_distinct(np.concatenate(parts))


def _even_bounds(size: int, pieces: int) -> list[tuple[int, int]]:
    if pieces == 1:
        return [(0, size)]
    cuts = np.linspace(0, size, pieces + 1).astype(int).tolist()
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def _group_bounds(left: Keys, pieces: int) -> list[tuple[int, int]]:
    """Pieces of sorted keys that do not cut a group of equal high halves."""
    if pieces == 1:
        return [(0, len(left))]
    cuts = {0, len(left)}
    for cut, _ in _even_bounds(len(left), pieces)[1:]:
        lead = left[cut] >> kernel.HALF << kernel.HALF
        cuts.add(int(np.searchsorted(left, lead)))
    ordered = sorted(cuts)
    return list(pairwise(ordered))
