"""Compiles plans to functions that can be called many times, each time over other tables.

A small change of facts runs hundreds of small plans. So all that depends on a plan alone (column orders of index joins,
which columns are needed where, ids of constants) is compiled once and cached by the identity of the plan's nodes
(`plan_cache`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard, TypeVar

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.limits import check_running
from deltalog.core.rules import Expression, Term, Variable, variables
from deltalog.core.tuning import Tuning
from deltalog.engines.local.aggregate import aggregate, group_starts
from deltalog.engines.local.encoded_terms import EncodedTerms
from deltalog.engines.local.index_join import IndexJoin, Rows
from deltalog.engines.local.join_project import Product
from deltalog.engines.local.multiset import Multiset, multiset_of, multiset_sum, with_count_column
from deltalog.engines.local.multiway import multiway_join
from deltalog.engines.local.nested_loop import LoopBatch, NestedLoops, distinct_keys, nested_loops
from deltalog.engines.local.pipeline import Evaluation, Key, KeysOf, PipelineStep, PlanPipeline, sorted_union
from deltalog.engines.local.plan_cache import PlanCache
from deltalog.engines.local.relation import Relation
from deltalog.engines.local.small_rounds import RoundsCode
from deltalog.engines.local.sorted_runs import Keys, Order, no_keys, pack, sort_distinct, unpack
from deltalog.engines.local.table import Table, empty
from deltalog.engines.local.tuple_dred import LinkedStrata, StratumCode
from deltalog.evaluation.capabilities.small_rounds import SmallRules
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.delta_rules import TuplePlans
from deltalog.evaluation.plan.ir import Plan, columns

NO_VALUE = 0  # no value has this id
ColumnVariables = tuple[Variable, ...]

B = TypeVar("B")


class PlanCompiler:
    """Compiles plans over one dictionary."""

    def __init__(self, dictionary: Dictionary, tuning: Tuning, kept_plans: int) -> None:
        self.dictionary, self.tuning = dictionary, tuning
        self._cache = PlanCache(kept_plans)
        self._unknown = False  # a constant has no id yet: it may have one the next time

    def keys(self, plan: Plan) -> KeysOf:
        """The distinct rows of a plan, as sorted keys."""
        match plan:
            case ir.Distinct(input):
                return self.keys(input)
            case ir.AntiJoin(ir.Distinct(input), ir.Scan(atom, part)) if atom.terms == columns(input):
                return partial(_without, self.keys(input), (atom.pred, part))
            case ir.Counted(inputs):
                return partial(_counted, [self._bag(input) for input in inputs], len(columns(inputs[0])))
            case ir.Union((input,)):
                return self.keys(input)
            case ir.Union(inputs):
                return partial(_union, [self.keys(input) for input in inputs], len(columns(plan)))
            case _:
                return self._once("plan", (plan,), partial(self._projected, plan))

    def _once(self, kind: str, objects: Sequence[object], compile: Callable[[], B], values: Hashable = None) -> B:
        """What is compiled from some objects, compiled once. It is not kept if it has a constant without an id."""
        known: B | None = self._cache.find(kind, objects, values)
        if known is not None:
            return known
        before, self._unknown = self._unknown, False
        compiled = compile()
        if not self._unknown:
            self._cache.keep(kind, objects, compiled, values)
        self._unknown |= before
        return compiled

    def _bag(self, plan: ir.Project) -> Bag:
        """The rows of a projected body with how many times each occurs; a binding of all columns counts once."""
        return self._once("bag", (plan,), partial(self._compile_bag, plan))

    def _compile_bag(self, plan: ir.Project) -> Bag:
        ids = self._interned([t for _, t in plan.columns])
        small = nested_loops(plan.input, ids, self._ids)
        alone = LoopBatch([(0, replace(small, is_leaf=False))]) if small else None
        return partial(_bag_of, self.pipeline(plan.input, frozenset(columns(plan.input))), ids, alone)

    def strata(self, plans: Sequence[TuplePlans]) -> LinkedStrata:
        """Consecutive strata, for maintenance tuple at a time."""
        return self._once("strata", plans, partial(self._compile_strata, plans))

    def _compile_strata(self, plans: Sequence[TuplePlans]) -> LinkedStrata:
        return LinkedStrata([self._stratum(one) for one in plans], self.tuning)

    def _stratum(self, plans: TuplePlans) -> StratumCode:
        return self._once("stratum", (plans,), lambda: StratumCode(plans, self._interned))

    def rounds(self, rules: SmallRules) -> RoundsCode:
        """Rule variants, for small rounds."""
        values = rules.preds, rules.counted, tuple(delta for delta, _, _ in rules.variants)
        plans = [plan for _, _, plan in rules.variants]
        return self._once("rounds", plans, lambda: RoundsCode(rules, self._interned), values)

    def _interned(self, terms: Sequence[Term]) -> EncodedTerms:
        """Constants by their ids; a constant without an id gets one."""
        return tuple(t if isinstance(t, Variable) else self.dictionary.intern(t.value) for t in terms)

    # Groups of plans.

    def group(self, plans: Iterable[Plan]) -> UnionBatch | None:
        """Plans as a group, if each is a union of bodies."""
        unions = [_inputs(plan) for plan in plans]
        if not all(unions):
            return None
        inputs: Sequence[Inputs] = unions  # type: ignore[assignment]
        parts = [plan for union, known in inputs for plan in (*union, known)]
        return self._once("group", parts, lambda: self._group(inputs))

    def _group(self, inputs: Sequence[Inputs]) -> UnionBatch:
        small: list[tuple[int, NestedLoops]] = []
        others: list[list[KeysOf]] = []
        for number, (union, _) in enumerate(inputs):
            found = [self._small(plan) for plan in union]
            small += [(number, loops) for loops in found if loops is not None]
            others.append([self.keys(plan) for plan, loops in zip(union, found, strict=True) if loops is None])
        known = [(scan.atom.pred, scan.part) if scan else None for _, scan in inputs]
        arities = [len(columns(union[0])) for union, _ in inputs]
        return UnionBatch(LoopBatch(small) if small else None, others, known, arities)

    def bags(self, plans: Sequence[ir.Counted]) -> Bags:
        """Plans that count derivations, as a group."""
        parts = [input for plan in plans for input in (*plan.inputs, None)]
        return self._once("bags", parts, lambda: self._compile_bags(plans))

    def _compile_bags(self, plans: Sequence[ir.Counted]) -> Bags:
        small: list[tuple[int, NestedLoops]] = []
        others: list[list[Bag]] = []
        for number, plan in enumerate(plans):
            found = [self._small(input) for input in plan.inputs]
            small += [(number, replace(loops, is_leaf=False)) for loops in found if loops is not None]
            others.append([self._bag(input) for input, loops in zip(plan.inputs, found, strict=True) if loops is None])
        return Bags(LoopBatch(small) if small else None, others, [len(columns(plan)) - 1 for plan in plans])

    def _small(self, plan: Plan) -> NestedLoops | None:
        if not isinstance(plan, ir.Project):
            return None
        return self._once("small", (plan,), partial(self._compile_small, plan))

    def _compile_small(self, plan: ir.Project) -> NestedLoops | None:
        return nested_loops(plan.input, self._interned([t for _, t in plan.columns]), self._ids)

    def _projected(self, plan: Plan) -> KeysOf:
        """The distinct values of terms over the rows of a body."""
        body, named = (plan.input, plan.columns) if isinstance(plan, ir.Project) else (plan, None)
        terms = columns(plan) if named is None else tuple(term for _, term in named)
        ids = self._interned(terms)
        if _is_stored(body, ids):
            return self._stored(body, ids)
        needed = frozenset(t for t in ids if isinstance(t, Variable))
        small = nested_loops(body, ids, self._ids)
        alone = LoopBatch([(0, small)]) if small else None
        by_rows = partial(_sink, self.pipeline(body, needed), ids, alone)
        product = self._product(body, ids, by_rows)
        return by_rows if product is None else product.keys

    def _stored(self, body: ir.Scan, terms: EncodedTerms) -> KeysOf:
        """A copy of a stored relation, or of one with its columns exchanged: its runs are sorted already."""
        order = tuple(body.atom.terms.index(t) for t in terms)  # type: ignore[arg-type]
        return partial(_copy, (body.atom.pred, body.part), order)

    def _product(self, body: Plan, terms: EncodedTerms, by_rows: KeysOf, flip: bool = True) -> Product | None:
        """The body as a sparse product, if its last join has that form."""
        if not (isinstance(body, ir.Join) and isinstance(body.right, ir.Scan) and len(terms) == 2):
            return None
        left, scan, atom = body.left, body.right, body.right.atom
        bound = frozenset(columns(left))
        join = [t for t in atom.terms if isinstance(t, Variable) and t in bound]
        new = [t for t in atom.terms if isinstance(t, Variable) and t not in bound]
        if not (len(atom.terms) == 2 and len(join) == 1 and len(new) == 1):
            return None
        x, z, y = next((t for t in terms if t != new[0]), None), new[0], join[0]
        if not isinstance(x, Variable) or x not in bound or z not in terms:
            return None
        pairs = self.keys(ir.Project(left, ((x, x), (y, y))))
        order = (0, 1) if atom.terms[0] == y else (1, 0)
        leaf = _bounding(left) if flip else None
        product = Product(pairs, (atom.pred, scan.part), order, terms[0] == x, leaf, by_rows)
        if (
            flip
            and not product.forward
            and isinstance(left, ir.Scan)
            and len(columns(left)) == 2 == len(left.atom.terms)
        ):
            product.flipped = self._product(ir.Join(scan, left), terms, by_rows, flip=False)
        return product

    # Pipelines.

    def pipeline(self, plan: Plan, needed: frozenset[Variable]) -> PlanPipeline:
        """The leaf of a plan and the steps above it; a step keeps only what later steps and the sink need."""
        steps: list[PipelineStep] = []
        while True:
            check_running()
            match plan:
                case ir.Where(input, condition):
                    steps.append(partial(_where, condition, _both(input, needed)))
                    needed |= set(variables(condition))
                    plan = input
                case ir.Extend(input, variable, expression):
                    steps.append(partial(_extend, variable, expression, _both(input, needed)))
                    needed = needed - {variable} | set(variables(expression))
                    plan = input
                case ir.Join(left, right) | ir.SemiJoin(left, right) | ir.AntiJoin(left, right):
                    join = self._index_join(right, frozenset(columns(left)))
                    steps.append(self._look_up(plan, join, needed))
                    needed = (needed & set(columns(left))) | {k for k in join.keys if isinstance(k, Variable)}
                    plan = left
                case _:
                    if isinstance(plan, ir.Scan) and _is_pair(plan, needed):
                        first = frozenset(columns(plan)[:1])
                        steps.append(partial(_spread, (plan.atom.pred, plan.part), self._index_join(plan, first)))
                    return PlanPipeline(self._leaf(plan, needed), tuple(steps[::-1]))

    def _look_up(
        self, plan: ir.Join | ir.SemiJoin | ir.AntiJoin, join: IndexJoin, needed: frozenset[Variable]
    ) -> PipelineStep:
        source, kept = self._source(plan.right, join), _both(plan.left, needed)
        if isinstance(plan, ir.Join) and not join.complete:
            return partial(_join, source, join, kept, needed - set(kept))
        return partial(_anti_join if isinstance(plan, ir.AntiJoin) else _semi_join, source, join, kept)

    def _index_join(self, plan: Plan, bound: frozenset[Variable]) -> IndexJoin:
        return IndexJoin.of(self._ids(plan.atom.terms) if isinstance(plan, ir.Scan) else columns(plan), bound)

    def _ids(self, terms: Sequence[Term]) -> EncodedTerms:
        """Constants by their ids; `NO_VALUE` for a constant that no fact has."""
        found = tuple(t if isinstance(t, Variable) else self.dictionary.find(t.value) or NO_VALUE for t in terms)
        self._unknown |= NO_VALUE in found
        return found

    def _source(self, plan: Plan, join: IndexJoin) -> TableSource:
        """Where an index join finds its relation."""
        if not isinstance(plan, ir.Scan):
            return partial(_evaluated_once, self.keys(plan), len(columns(plan)))
        if NO_VALUE in join.keys:
            return lambda _: empty(len(join.order))
        return partial(_relation, (plan.atom.pred, plan.part))

    # Leaves.

    def _leaf(self, plan: Plan, needed: frozenset[Variable]) -> Leaf:
        names = columns(plan)
        match plan:
            case ir.Unit():
                return lambda _: Rows({}, 1)
            case ir.Scan():
                return self._scan(plan, needed)
            case ir.MultiJoin():
                chain = self.pipeline(plan.pairwise, needed)
                by_rows = partial(_all_rows, chain, _both(plan, needed))
                return multiway_join(plan, needed, self._ids, by_rows).rows
            case ir.GroupBy():
                grouped = tuple(dict.fromkeys((*plan.on, *columns(plan.input))))
                return partial(
                    _aggregate, plan, grouped, self.keys(ir.Project(plan.input, tuple((v, v) for v in grouped)))
                )
            case ir.Project(input, new) if all(isinstance(t, Variable) for _, t in new):
                inner = frozenset(t for v, t in new if v in needed)
                renamed = [(v, t) for v, t in new if v in needed]
                return partial(_rename, self.pipeline(input, inner), _both(input, inner), renamed)  # type: ignore[arg-type]
            case _:
                return partial(_unpacked, self.keys(plan), len(names), _places(names, needed))

    def _scan(self, plan: ir.Scan, needed: frozenset[Variable]) -> Leaf:
        join = self._index_join(plan, frozenset())
        source = self._source(plan, join)
        if join.keys or join.equal:
            return partial(_selected, source, join, needed)
        return partial(_columns, source, _places(columns(plan), needed))


@dataclass(frozen=True, slots=True)
class UnionBatch:
    """Unions of bodies, whose small ones are evaluated in one kernel call; `known` is subtracted from each union."""

    together: LoopBatch | None
    others: list[list[KeysOf]]
    known: list[Key | None]
    arities: list[int]

    def keys(self, evaluation: Evaluation) -> list[Keys] | None:
        """The distinct rows of each union; None if they are too large for one call, and each is evaluated alone."""
        found = self.together.keys(evaluation) if self.together else {}
        if found is None:
            return None
        return [self._one(number, found.get(number), evaluation) for number in range(len(self.known))]

    def _one(self, number: int, small: list[Keys] | None, evaluation: Evaluation) -> Keys:
        known = self.known[number]
        table = evaluation.table(known) if known else None
        parts = [distinct_keys(small)] if small else []
        parts += [keys for other in self.others[number] if len(keys := other(evaluation, table))]
        keys = sorted_union(parts, self.arities[number])
        return keys if table is None else table.without(keys)


@dataclass(frozen=True, slots=True)
class Bags:
    """The same for plans that count."""

    together: LoopBatch | None
    others: list[list[Bag]]
    arities: list[int]

    def keys(self, evaluation: Evaluation) -> list[Keys] | None:
        found = self.together.keys(evaluation) if self.together else {}
        if found is None:
            return None
        return [self._one(number, found.get(number, []), evaluation) for number in range(len(self.arities))]

    def _one(self, number: int, small: list[Keys], evaluation: Evaluation) -> Keys:
        parts = [multiset_of(np.concatenate(small))] if small else []
        parts += [part for bag in self.others[number] for part in bag(evaluation)]
        return with_count_column(multiset_sum(parts, self.arities[number]), self.arities[number], evaluation.dictionary)


Inputs = tuple[tuple[Plan, ...], ir.Scan | None]  # bodies, and what is left out of their union


def _inputs(plan: Plan) -> Inputs | None:
    match plan:
        case ir.Distinct(ir.Union(inputs)):
            return inputs, None
        case ir.AntiJoin(ir.Distinct(ir.Union(inputs)), ir.Scan() as scan):
            return inputs, scan
        case _:
            return None


# Compiled plans: functions of what depends on the plan alone, and then of an evaluation.

Leaf = Callable[[Evaluation], Rows]
TableSource = Callable[[Evaluation], Relation]
ColumnPlaces = tuple[tuple[Variable, int], ...]
Bag = Callable[[Evaluation], list[Multiset]]


def _without(inner: KeysOf, known: Key, evaluation: Evaluation, _: Relation | None) -> Keys:
    table = evaluation.table(known)
    return table.without(inner(evaluation, table))


def _union(inputs: Sequence[KeysOf], arity: int, evaluation: Evaluation, known: Relation | None) -> Keys:
    return sorted_union([keys for input in inputs if len(keys := input(evaluation, known))], arity)


def _copy(key: Key, order: Order, evaluation: Evaluation, _: Relation | None) -> Keys:
    return sorted_union([run.order(order) for run in evaluation.table(key).stored().compact.runs], len(order))


def _sink(
    pipeline: PlanPipeline, terms: EncodedTerms, small: LoopBatch | None, evaluation: Evaluation, _: Relation | None
) -> Keys:
    found = small.keys(evaluation) if small else None
    if found is not None:
        return distinct_keys(found[0]) if found else no_keys(len(terms))
    return sorted_union(evaluation.run(pipeline, lambda rows: sort_distinct(_packed(terms, rows))), len(terms))


def _counted(bags: Sequence[Bag], arity: int, evaluation: Evaluation, _: Relation | None) -> Keys:
    """The sum of bags, with the counts in one more column."""
    found = multiset_sum([part for bag in bags for part in bag(evaluation)], arity)
    return with_count_column(found, arity, evaluation.dictionary)


def _bag_of(
    pipeline: PlanPipeline, terms: EncodedTerms, small: LoopBatch | None, evaluation: Evaluation
) -> list[Multiset]:
    found = small.keys(evaluation) if small else None
    if found is not None:
        return [multiset_of(keys) for keys in found.get(0, ())]
    return evaluation.run(
        pipeline, lambda rows: multiset_of(_packed(terms, rows) if terms else np.zeros(rows.size, np.uint64))
    )


def _packed(terms: EncodedTerms, rows: Rows) -> Keys:
    values = [rows.columns[t] if isinstance(t, Variable) else np.full(rows.size, t, np.uint32) for t in terms]
    return pack(values, rows.size)


def _where(condition: Expression, kept: ColumnVariables, evaluation: Evaluation, rows: Rows, _: int) -> Rows:
    return rows.take(evaluation.vectors.holds(condition, rows), kept)


def _extend(
    variable: Variable, expression: Expression, kept: ColumnVariables, evaluation: Evaluation, rows: Rows, _: int
) -> Rows:
    values, ok = evaluation.vectors.values(expression, rows)
    extended = Rows({**{v: rows.columns[v] for v in kept}, variable: values}, rows.size)
    return extended if ok is None else extended.take(ok, (*kept, variable))


def _join(
    source: TableSource,
    join: IndexJoin,
    kept: ColumnVariables,
    new: frozenset[Variable],
    evaluation: Evaluation,
    rows: Rows,
    most: int,
) -> Rows | int:
    return join.join(source(evaluation), rows, evaluation.ids, kept, new, most)


def _spread(key: Key, join: IndexJoin, evaluation: Evaluation, rows: Rows, most: int) -> Rows | int:
    """The second column of pairs, where the scan has given the first one only."""
    ((new, _),) = join.new
    if new in rows.columns:
        return rows
    return join.join(evaluation.table(key), rows, evaluation.ids, tuple(rows.columns), frozenset([new]), most)


def _semi_join(
    source: TableSource, join: IndexJoin, kept: ColumnVariables, evaluation: Evaluation, rows: Rows, _: int
) -> Rows:
    return rows.take(join.matches(source(evaluation), rows, evaluation.ids), kept)


def _anti_join(
    source: TableSource, join: IndexJoin, kept: ColumnVariables, evaluation: Evaluation, rows: Rows, _: int
) -> Rows:
    return rows.take(~join.matches(source(evaluation), rows, evaluation.ids), kept)


def _relation(key: Key, evaluation: Evaluation) -> Relation:
    return evaluation.table(key)


def _evaluated_once(keys: KeysOf, arity: int, evaluation: Evaluation) -> Table:
    return evaluation.evaluated_once(keys, arity)


def _selected(source: TableSource, join: IndexJoin, needed: frozenset[Variable], evaluation: Evaluation) -> Rows:
    rows = join.join(source(evaluation), Rows({}, 1), evaluation.ids, (), needed)
    assert isinstance(rows, Rows)
    return rows


def _columns(source: TableSource, places: ColumnPlaces, evaluation: Evaluation) -> Rows:
    relation = source(evaluation)
    found = relation.scan([i for _, i in places])  # where one column is missing, it comes by `_spread`
    size = len(found[0]) if found else relation.size
    return Rows({v: column for (v, _), column in zip(places, found, strict=False)}, size)


def _unpacked(keys: KeysOf, arity: int, places: ColumnPlaces, evaluation: Evaluation) -> Rows:
    found = keys(evaluation, None)
    values = unpack(found, arity)
    return Rows({v: values[i] for v, i in places}, len(found))


def _rename(
    pipeline: PlanPipeline, names: ColumnVariables, renamed: Sequence[tuple[Variable, Variable]], evaluation: Evaluation
) -> Rows:
    inner = evaluation.rows(pipeline, names)
    return Rows({v: inner.columns[t] for v, t in renamed}, inner.size)


def _all_rows(pipeline: PlanPipeline, names: ColumnVariables, evaluation: Evaluation) -> Rows:
    return evaluation.rows(pipeline, names)


def _aggregate(plan: ir.GroupBy, names: ColumnVariables, grouped: KeysOf, evaluation: Evaluation) -> Rows:
    keys = grouped(evaluation, None)
    values = dict(zip(names, unpack(keys, len(names)), strict=True))
    starts = group_starts([values[v] for v in plan.on], len(keys))
    result = Rows({v: values[v][starts] for v in plan.on}, len(starts))
    present = np.ones(len(starts), np.bool_)
    for call in plan.calls:
        result.columns[call.variable], ok = aggregate(call, values, plan.on, starts, len(keys), evaluation.vectors)
        present &= True if ok is None else ok
    return result if present.all() else result.take(present, tuple(result.columns))


def _is_stored(body: Plan, terms: EncodedTerms) -> TypeGuard[ir.Scan]:
    """All columns of a stored relation, in some order."""
    if not isinstance(body, ir.Scan) or len(terms) > 2 or len(body.atom.terms) != len(terms):
        return False
    return len(set(terms)) == len(terms) and set(terms) == set(body.atom.terms)


def _is_pair(plan: ir.Scan, needed: frozenset[Variable]) -> bool:
    """Whether a scan gives all pairs of a relation, with both columns."""
    names = columns(plan)
    return len(plan.atom.terms) == len(names) == 2 and needed.issuperset(names)


def _bounding(plan: Plan) -> Key | None:
    """A stored relation that bounds the number of rows of a plan, if its form shows one."""
    match plan:
        case ir.Scan(atom, part):
            return atom.pred, part
        case ir.Where(input) | ir.Extend(input) | ir.SemiJoin(input) | ir.AntiJoin(input):
            return _bounding(input)
        case _:
            return None


def _both(plan: Plan, needed: frozenset[Variable]) -> ColumnVariables:
    return tuple(v for v in columns(plan) if v in needed)


def _places(names: ColumnVariables, needed: frozenset[Variable]) -> ColumnPlaces:
    return tuple((v, i) for i, v in enumerate(names) if v in needed)
