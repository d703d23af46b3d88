"""Join order: from the body of a rule to a left-deep plan.

Atoms are joined greedily, by the smallest estimated intermediate result; every condition, BIND and negation is applied
as soon as its variables are bound; a condition that calls a function only after all atoms whose variables are bound. An
atom that binds nothing that is needed later is a semi-join. There is no cross product where a connected order exists.
Where the backend supports it, the cyclic core of a body is one multiway join (`plan.multiway`), which comes first.

In semi-naive evaluation one atom reads the DELTA; it comes first, unless a BIND computes one of its values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Expression,
    Filter,
    Negation,
    Variable,
    variables,
)
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan
from deltalog.evaluation.plan.multiway import agm_bound, multiway_core, variable_order, worst_case_rows
from deltalog.evaluation.plan.statistics import CachedStatistics, Estimate, Matches, Statistics

_TIE_FACTOR = 4.0  # join orders whose costs are within this factor count as equal


@dataclass(frozen=True, slots=True)
class StepNote:
    """One step of a plan, for `explain` and for worst-case estimates."""

    action: str  # scan, multiway, join, semi-join, anti-join, filter, bind, aggregate, distinct
    literal: BodyLiteral | None
    part: Part | None
    bound: tuple[int, ...]  # the columns that are bound before the look-up; an index has them first
    rows: float
    inner: tuple[StepNote, ...] = ()  # the steps of an aggregate's own body


def joined_steps(notes: Iterable[StepNote]) -> list[tuple[Atom, Part, tuple[int, ...]]]:
    """The atoms that are joined, and their columns that are bound before; of a semi-join all: it adds no rows."""
    found = []
    for note in notes:
        if isinstance(note.literal, Atom) and note.action in ("scan", "join", "semi-join"):
            known = note.bound if note.action != "semi-join" else tuple(range(len(note.literal.terms)))
            found.append((note.literal, note.part or Part.ALL, known))
    return found


@dataclass(frozen=True, slots=True)
class Body:
    """The plan of a body with its steps, its estimate and its cost in rows."""

    plan: Plan
    notes: tuple[StepNote, ...]
    estimate: Estimate
    cost: float


@dataclass(frozen=True, slots=True)
class PartialPlan:
    """A plan under construction, the literals that are not placed yet, and its cost so far."""

    plan: Plan
    waiting: tuple[int, ...]
    bound: frozenset[Variable]
    estimate: Estimate
    cost: float = 0.0
    notes: tuple[StepNote, ...] = ()


def plan_body(
    body: Sequence[BodyLiteral],
    live: Iterable[Variable],
    statistics: Statistics,
    parts: Mapping[int, Part] | None = None,
    multiway: bool = False,
) -> Body:
    """The best plan found for a body of which the variables `live` are needed afterwards.

    `parts` says which literals (by number) read OLD or DELTA; the others read ALL. `multiway`: with multiway joins.
    """
    if len(body) == 1 and isinstance(atom := body[0], Atom):
        return _scan(atom, (parts or {}).get(0, Part.ALL), statistics)
    live, parts = frozenset(live), parts or {}
    if len(body) == 2 and Part.DELTA in parts.values() and (found := _from_delta(body, live, statistics, parts)):
        return found
    return _Planner(tuple(body), live, CachedStatistics.of(statistics), parts, multiway).best()


def _from_delta(
    body: Sequence[BodyLiteral], live: frozenset[Variable], statistics: Statistics, parts: Mapping[int, Part]
) -> Body | None:
    """The plan of two atoms, one of which reads a small DELTA: there is no other order. None for any other body."""
    i = 0 if parts.get(0) is Part.DELTA else 1
    delta, other, part = body[i], body[1 - i], parts.get(1 - i, Part.ALL)
    if not isinstance(delta, Atom) or not isinstance(other, Atom) or part is Part.DELTA:
        return None
    first = _scan(delta, Part.DELTA, statistics)
    if first.cost >= statistics.tuning.distinct_min_rows:
        return None
    known, scan = frozenset(variables(delta)), ir.Scan(other, part)
    estimate = first.estimate.joined(Matches.of(other, part, statistics))
    joins = any(v in live and v not in known for v in variables(other))
    if not joins:
        estimate = Estimate(min(estimate.rows, first.estimate.rows), estimate.distinct)
    bound = tuple(n for n, t in enumerate(other.terms) if not isinstance(t, Variable) or t in known)
    note = StepNote("join" if joins else "semi-join", other, part, bound, estimate.rows)
    plan = ir.Join(first.plan, scan) if joins else ir.SemiJoin(first.plan, scan)
    return Body(plan, (*first.notes, note), estimate, first.cost + estimate.rows)


def _scan(atom: Atom, part: Part, statistics: Statistics) -> Body:
    """The plan of a body that is one atom."""
    estimate = Estimate().joined(Matches.of(atom, part, statistics))
    bound = tuple(i for i, t in enumerate(atom.terms) if not isinstance(t, Variable))
    return Body(ir.Scan(atom, part), (StepNote("scan", atom, part, bound, estimate.rows),), estimate, estimate.rows)


@dataclass(slots=True)
class _Planner:
    body: tuple[BodyLiteral, ...]
    live: frozenset[Variable]
    statistics: Statistics
    parts: Mapping[int, Part]
    multiway: bool
    tuning: Tuning = field(init=False)
    joined: frozenset[Variable] = field(init=False)
    aggregates: dict[int, Body] = field(init=False)
    late: frozenset[int] = field(init=False)  # BINDs that only the head reads: computed after all joins
    mentioned: list[frozenset[Variable]] = field(init=False)  # the variables of each literal
    relations: frozenset[int] = field(init=False)  # atoms and aggregates; the others are conditions
    matches: dict[int, Matches] = field(init=False)  # of each atom

    def __post_init__(self) -> None:
        self.tuning = self.statistics.tuning
        self.mentioned = [frozenset(variables(literal)) for literal in self.body]
        self.relations = frozenset(i for i, literal in enumerate(self.body) if isinstance(literal, Atom | Aggregate))
        self.matches = {
            i: Matches.of(literal, self.parts.get(i, Part.ALL), self.statistics)
            for i, literal in enumerate(self.body)
            if isinstance(literal, Atom)
        }
        # Variables that something other than a negation binds; the others of a negation are existential in it.
        self.joined = frozenset().union(
            *(self.mentioned[i] for i, literal in enumerate(self.body) if not isinstance(literal, Negation))
        )
        self.aggregates = {
            i: self._aggregate(literal) for i, literal in enumerate(self.body) if isinstance(literal, Aggregate)
        }
        self.late = frozenset(self._late_binds())

    def _late_binds(self) -> list[int]:
        binds = {i: literal.variable for i, literal in enumerate(self.body) if isinstance(literal, Bind)}
        if not binds:
            return []
        read = Counter(v for literal in self.body for v in variables(literal))
        return [i for i, variable in binds.items() if read[variable] == 1]

    def best(self) -> Body:
        """The cheapest of the greedy orders, one for each atom that can come first."""
        start = self._apply_ready(PartialPlan(ir.Unit(), tuple(range(len(self.body))), frozenset(), Estimate()))
        delta = [i for i in start.waiting if self.parts.get(i) is Part.DELTA]
        firsts = delta if delta and not any(map(self._is_computed, delta)) else [*delta, *self._firsts(start)]
        orders = self._orders(start, firsts) or [start]
        best = self._safest(orders) if self.multiway else min(orders, key=lambda order: order.cost)
        core = self._core(start)
        if core and self._is_dangerous(best, core):
            best = self._greedy(self._multiway_joined(start, core)) or best
        return Body(best.plan, best.notes, best.estimate, best.cost)

    def _orders(self, start: PartialPlan, firsts: Iterable[int]) -> list[PartialPlan]:
        """The greedy orders, without those that are clearly more expensive than another one."""
        found, most = list[PartialPlan](), inf
        for first in firsts:
            order = self._greedy(self._place(start, first), most)
            if order is not None:
                found.append(order)
                most = min(most, (_TIE_FACTOR if self.multiway else 1.0) * order.cost)
        return found

    def _safest(self, orders: Sequence[PartialPlan]) -> PartialPlan:
        """The cheapest order; or one of similar cost with a far better worst case."""
        best = min(orders, key=lambda order: order.cost) if len(orders) > 1 else orders[0]
        if best.cost < self.tuning.distinct_min_rows or len(orders) == 1:
            return best
        likely = [order for order in orders if order.cost <= _TIE_FACTOR * best.cost]
        most = {id(order): worst_case_rows(joined_steps(order.notes), self.statistics) for order in likely}
        safest = min(likely, key=lambda order: (most[id(order)], order.cost))
        far = self.tuning.multiway_advantage_factor
        return safest if far * most[id(safest)] <= most[id(best)] else best

    def _core(self, start: PartialPlan) -> list[int]:
        """The atoms of a multiway join, if any."""
        if not self.multiway or not isinstance(start.plan, ir.Unit):
            return []
        atoms = {i: literal for i in start.waiting if isinstance(literal := self.body[i], Atom)}
        return multiway_core(atoms, self.parts, self.statistics)

    def _is_dangerous(self, order: PartialPlan, core: Sequence[int]) -> bool:
        """Whether binary joins have a far worse worst case than a multiway join."""
        atoms = [literal for i in core if isinstance(literal := self.body[i], Atom)]
        steps = [step for step in joined_steps(order.notes) if step[0] in atoms]
        most = agm_bound(atoms, [self.parts.get(i, Part.ALL) for i in core], self.statistics)
        for i in core:
            if self.parts.get(i) is Part.DELTA and self.live.issubset(variables(self.body[i])):
                most = min(most, self.statistics.size(self.body[i].pred, Part.DELTA))  # type: ignore[union-attr]
        return worst_case_rows(steps, self.statistics) > self.tuning.multiway_advantage_factor * most

    def _multiway_joined(self, order: PartialPlan, core: Sequence[int]) -> PartialPlan:
        """The plan after a multiway join of some atoms."""
        scans = tuple(ir.Scan(self.body[i], self.parts.get(i, Part.ALL)) for i in core)  # type: ignore[arg-type]
        waiting = tuple(i for i in order.waiting if i not in core)
        estimate, notes = order.estimate, []
        for i, scan in zip(core, scans, strict=True):
            estimate = estimate.joined(self.matches[i])
            notes.append(StepNote("multiway", scan.atom, scan.part, (), estimate.rows))
        atoms, parts = [scan.atom for scan in scans], [scan.part for scan in scans]
        unread = frozenset(v for atom in atoms for v in variables(atom)) - self._needed(waiting)
        chosen = variable_order(atoms, parts, self.statistics, unread)
        plan = ir.MultiJoin(scans, chosen)
        joined = PartialPlan(plan, waiting, frozenset(chosen), estimate, estimate.rows, (*order.notes, *notes))
        return self._apply_ready(joined)

    def _is_computed(self, i: int) -> bool:
        """Whether a BIND computes a value of an atom: the other atoms cannot be looked up from that value."""
        return any(isinstance(literal, Bind) and literal.variable in variables(self.body[i]) for literal in self.body)

    def _firsts(self, start: PartialPlan) -> list[int]:
        """The atoms to try as the first one: all, or the smallest ones of a large body."""
        relations = self._relations(start)
        return sorted(relations, key=lambda i: self._rows(start, i))[: 6 if len(relations) <= 6 else 3]

    def _relations(self, order: PartialPlan) -> list[int]:
        return [i for i in order.waiting if i in self.relations]

    def _greedy(self, order: PartialPlan, most: float = inf) -> PartialPlan | None:
        """Joins all waiting atoms, always the one with the fewest resulting rows; None if the cost exceeds `most`."""
        while relations := self._relations(order):
            if order.cost > most:
                return None
            connected = [i for i in relations if self._connected(order, i)] or relations
            order = self._place(order, min(connected, key=lambda i: self._rows(order, i)))
        return order

    def _connected(self, order: PartialPlan, i: int) -> bool:
        mine = self.mentioned[i]
        return not mine or not mine.isdisjoint(order.bound)

    def _rows(self, order: PartialPlan, i: int) -> float:
        """The estimated rows after joining literal i."""
        atom = self.matches.get(i)
        return self._grown(order, i).rows if atom is None else order.estimate.joined_rows(atom)

    def _grown(self, order: PartialPlan, i: int) -> Estimate:
        literal = self.body[i]
        if isinstance(literal, Atom):
            return order.estimate.joined(self.matches[i])
        rows = max(1.0, self.aggregates[i].estimate.rows)
        shared = [v for v in variables(literal) if v in order.bound]
        grown = order.estimate.rows * (1.0 if shared else rows)
        return Estimate(grown, {**{v: rows for v in variables(literal)}, **order.estimate.distinct})

    def _place(self, order: PartialPlan, i: int) -> PartialPlan:
        """Joins literal i, then applies the conditions that have become ready."""
        literal, waiting = self.body[i], tuple(j for j in order.waiting if j != i)
        new = self.mentioned[i] - order.bound
        needed = self._needed(waiting)
        estimate = self._grown(order, i)
        part = self.parts.get(i, Part.ALL)
        right: Plan = self.aggregates[i].plan if isinstance(literal, Aggregate) else ir.Scan(literal, part)  # type: ignore[arg-type]
        if isinstance(order.plan, ir.Unit):
            action, plan = "scan", right
        elif new & needed or not isinstance(literal, Atom):
            action, plan = "join", ir.Join(order.plan, right)
        else:
            action, plan = "semi-join", ir.SemiJoin(order.plan, right)
            estimate = Estimate(min(estimate.rows, order.estimate.rows), estimate.distinct)
        if isinstance(literal, Aggregate):
            action = "aggregate"
        bound = order.bound | (new if action != "semi-join" else frozenset())
        inner = self.aggregates[i].notes if isinstance(literal, Aggregate) else ()
        note = StepNote(action, literal, part, self._bound_columns(literal, order.bound), estimate.rows, inner)
        placed = PartialPlan(plan, waiting, bound, estimate, order.cost + estimate.rows, (*order.notes, note))
        return self._apply_ready(self._distinct(placed, needed))

    def _distinct(self, order: PartialPlan, needed: frozenset[Variable]) -> PartialPlan:
        """Drops columns that are not needed later, where that leaves far fewer rows before another join."""
        kept = order.bound & needed
        rows = order.estimate.combinations(kept)
        worth = max(4 * rows, self.tuning.distinct_min_rows)
        if kept == order.bound or not self._relations(order) or order.estimate.rows < worth:
            return order
        plan = ir.Distinct(ir.Project(order.plan, tuple((v, v) for v in sorted(kept, key=lambda v: v.name))))
        estimate = Estimate(rows, {v: order.estimate.distinct[v] for v in kept})
        note = StepNote("distinct", None, None, (), rows)
        return PartialPlan(plan, order.waiting, kept, estimate, order.cost, (*order.notes, note))

    @staticmethod
    def _bound_columns(literal: BodyLiteral, bound: frozenset[Variable]) -> tuple[int, ...]:
        if not isinstance(literal, Atom):
            return ()
        return tuple(i for i, t in enumerate(literal.terms) if not isinstance(t, Variable) or t in bound)

    def _needed(self, waiting: Iterable[int]) -> frozenset[Variable]:
        """The variables that are read later, by the head or by waiting literals."""
        return self.live.union(*(self.mentioned[i] for i in waiting))

    def _apply_ready(self, order: PartialPlan) -> PartialPlan:
        """Applies every condition, BIND and negation whose variables are bound."""
        while True:
            ready = next((i for i in order.waiting if i not in self.relations and self._ready(i, order)), None)
            if ready is None:
                return order
            order = self._applied(order, ready)

    def _ready(self, i: int, order: PartialPlan) -> bool:
        literal, bound = self.body[i], order.bound
        match literal:
            case Filter(condition):
                return bound.issuperset(variables(condition)) and not (
                    _is_expensive(condition) and any(self.mentioned[j] <= bound for j in self._relations(order))
                )
            case Bind(expression):
                return bound.issuperset(variables(expression)) and (i not in self.late or not self._relations(order))
            case Negation(atom):
                return all(v in bound for v in variables(atom) if v in self.joined)
            case _:
                return False

    def _applied(self, order: PartialPlan, i: int) -> PartialPlan:
        literal, plan, estimate, bound = self.body[i], order.plan, order.estimate, order.bound
        columns: tuple[int, ...] = ()
        match literal:
            case Filter(condition):
                action, plan, estimate = "filter", ir.Where(plan, condition), estimate.halved()
            case Negation(atom):
                action, plan, estimate = "anti-join", ir.AntiJoin(plan, ir.Scan(atom)), estimate.halved()
                columns = self._bound_columns(atom, bound)
            case Bind(expression, variable) if variable not in bound:
                action, plan, estimate = "bind", ir.Extend(plan, variable, expression), estimate.extended(variable)
                bound |= {variable}
            case Bind(expression, variable):
                action, estimate = "bind", estimate.halved()
                plan = ir.Where(plan, Call("sameterm", (variable, expression)))
            case _:
                raise AssertionError(literal)
        note = StepNote(action, literal, None, columns, estimate.rows)
        waiting = tuple(j for j in order.waiting if j != i)
        return PartialPlan(plan, waiting, bound, estimate, order.cost, (*order.notes, note))

    def _aggregate(self, literal: Aggregate) -> Body:
        """The plan of an aggregate: its body over all its variables, then the calls over variables."""
        calls, extra = [], []
        for i, call in enumerate(literal.calls):
            argument = call.argument
            if isinstance(argument, Variable) or argument is None:
                calls.append(call)
            else:
                variable = Variable(f"#argument{i}")
                extra.append(Bind(argument, variable))
                calls.append(replace(call, argument=variable))
        names = [v for inner in literal.body if not isinstance(inner, Negation) for v in variables(inner)]
        body = plan_body((*literal.body, *extra), names + [bind.variable for bind in extra], self.statistics)
        return Body(_aggregated(body.plan, literal.on, calls), body.notes, body.estimate, body.cost)


_CHEAP = frozenset(("=", "!=", "<", "<=", ">", ">=", "sameterm", "&&", "||", "!"))


def _is_expensive(condition: Expression) -> bool:
    """Whether a condition calls a function, value by value: look-ups that leave fewer rows come before it."""
    if not isinstance(condition, Call):
        return False
    return condition.function not in _CHEAP or any(map(_is_expensive, condition.arguments))


def _aggregated(input: Plan, on: tuple[Variable, ...], calls: Sequence[AggregateCall]) -> Plan:
    """The calls over an input; a result that repeats an ON variable or another result must be the same value."""
    names = tuple(dict.fromkeys((*on, *(call.variable for call in calls))))
    seen, separate, same = set(on), [], []
    for i, call in enumerate(calls):
        if call.variable in seen:
            fresh = Variable(f"#result{i}")
            same.append(Call("sameterm", (call.variable, fresh)))
            call = replace(call, variable=fresh)
        seen.add(call.variable)
        separate.append(call)
    plan: Plan = ir.GroupBy(input, on, tuple(separate))
    for condition in same:
        plan = ir.Where(plan, condition)
    return ir.Project(plan, tuple((v, v) for v in names)) if same else plan
