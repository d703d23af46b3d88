"""The rules of a program indexed by the predicate of their head, for magic sets and QSQ-R.

`Rulebase.of` analyses a program once; each goal then visits only the rules that it reaches. Every rule here has one
head. An aggregate reads a hidden relation, the bindings of its body, which a rule of its own derives (`bindings`). So
an aggregate is evaluated by subqueries like any other atom, and only for the groups that the goal needs.

Every predicate has a level. The level of a head is at least that of every predicate in the body, and at least two more
than that of every predicate that the body negates or aggregates. When all subqueries below a level are answered,
relations below that level are complete. The bindings of an aggregate are one level below its head. No aggregate is
inside of another one: the analysis has given the inner one a relation (`deltalog.program.aggregates`).

`ordered` is the sideways information passing of both methods: the join order that the planner chooses for a body when
the bound arguments of the head are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    Filter,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Variable,
    variables,
)
from deltalog.core.terms import Value, key
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.join_order import plan_body
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.program import HyperNode, Program, analyse
from deltalog.program.body_atoms import negative, positive

STEP = 2  # levels between a predicate and those that it negates


@dataclass
class Rulebase:
    """Rules by head, and the levels of predicates. Predicates that are `settled`, with complete facts, have no rules.

    Rules that read a predicate without facts and without rules that can derive any are omitted too, so a rulebase is
    valid only while the set of predicates with facts stays the same.
    """

    program: Program
    deriving: dict[Pred, tuple[Rule, ...]]
    levels: dict[Pred, int]
    adorned: dict[Any, Any] = field(default_factory=dict)  # the rules that QSQ-R has compiled
    _constants: dict[Pred, set[Any] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Sequence[Rule], data: Iterable[Pred], settled: Collection[Pred] = ()) -> Rulebase:
        data = set(data)
        program = analyse(rules, data)
        deriving = by_head(rule for node in program.hyper_nodes for rule in node.rules)
        for pred in settled:
            deriving.pop(pred, None)
        levels = _levels(program.hyper_nodes)
        return cls(program, _possible(_with_bindings(deriving, levels), data), levels)

    @cached_property
    def top(self) -> int:
        """A level above those of all predicates."""
        return max(self.levels.values(), default=0) + 2 * STEP

    def may_have(self, pred: Pred, value: Value) -> bool:
        """Whether a value that is in no stored fact can be in a derived one: rules contain it, or compute values."""
        if pred not in self._constants:
            rules = [rule for one in self.reachable([pred]) for rule in self.deriving[one]]
            computed = any(isinstance(literal, Bind | Aggregate) for rule in rules for literal in rule.body)
            terms = (t for rule in rules for atom in (*rule.heads, *positive(rule.body)) for t in atom.terms)
            self._constants[pred] = None if computed else {key(t.value) for t in terms if isinstance(t, Constant)}
        constants = self._constants[pred]
        return constants is None or key(value) in constants

    def reachable(self, preds: Iterable[Pred]) -> Iterator[Pred]:
        """The derived predicates that some predicates depend on, themselves included."""
        waiting, seen = list(preds), set()
        while waiting:
            pred = waiting.pop()
            if pred in seen or pred not in self.deriving:
                continue
            seen.add(pred)
            yield pred
            waiting += [read for rule in self.deriving[pred] for read in reads(rule.body)]


def by_head(rules: Iterable[Rule]) -> dict[Pred, tuple[Rule, ...]]:
    """Rules with one head each, by its predicate."""
    deriving: dict[Pred, dict[Rule, None]] = {}
    for rule in rules:
        for head in rule.heads:
            single = rule if len(rule.heads) == 1 else replace(rule, heads=(head,))
            deriving.setdefault(head.pred, {})[single] = None
    return {pred: tuple(found) for pred, found in deriving.items()}


def reads(body: Sequence[BodyLiteral]) -> Iterator[Pred]:
    """The predicates that a body reads, negated or not."""
    yield from (atom.pred for atom in positive(body))
    yield from (atom.pred for atom, _ in negative(body))


def _levels(hyper_nodes: Sequence[HyperNode]) -> dict[Pred, int]:
    levels: dict[Pred, int] = {}
    for node in hyper_nodes:  # in topological order
        level = max((levels.get(pred, 0) + (STEP if pred in node.negated else 0) for pred in node.reads), default=0)
        for pred in node.heads:
            levels[pred] = max(levels.get(pred, 0), level)
    return levels


def _possible(deriving: dict[Pred, tuple[Rule, ...]], data: set[Pred]) -> dict[Pred, tuple[Rule, ...]]:
    """The rules that can derive facts, given the predicates that have facts."""
    possible: dict[Pred, list[Rule]] = {}
    reading: dict[Pred, list[int]] = {}
    rules = [rule for found in deriving.values() for rule in found]
    missing = []
    for i, rule in enumerate(rules):
        needed = {atom.pred for atom in positive(rule.body)} - data
        missing.append(len(needed))
        for pred in needed:
            reading.setdefault(pred, []).append(i)
    waiting = [i for i, count in enumerate(missing) if not count]
    while waiting:
        rule = rules[waiting.pop()]
        pred = rule.heads[0].pred
        if pred not in possible and pred not in data:
            for i in reading.get(pred, ()):
                missing[i] -= 1
                if not missing[i]:
                    waiting.append(i)
        possible.setdefault(pred, []).append(rule)
    return {pred: tuple(r for r in deriving[pred] if r in set(found)) for pred, found in possible.items()}


# Aggregates.


def bindings(aggregate: Aggregate) -> tuple[Rule, tuple[AggregateCall, ...]]:
    """The rule for the bindings of an aggregate's body, ON variables first, and the calls over its variables."""
    from deltalog.core.rule_text import print_literal

    extra, calls = [], []
    for i, call in enumerate(aggregate.calls):
        if not isinstance(call.argument, Variable) and call.argument is not None:
            argument = Variable(f"#argument{i}")
            extra.append(Bind(call.argument, argument))
            call = replace(call, argument=argument)
        calls.append(call)
    body = (*aggregate.body, *extra)
    names = dict.fromkeys(
        (*aggregate.on, *(v for one in body if not isinstance(one, Negation) for v in variables(one)))
    )
    return Rule((Atom(HiddenName(f"#bindings {print_literal(aggregate)}"), tuple(names)),), body), tuple(calls)


def _with_bindings(deriving: dict[Pred, tuple[Rule, ...]], levels: dict[Pred, int]) -> dict[Pred, tuple[Rule, ...]]:
    for pred, rules in list(deriving.items()):
        for rule in rules:
            if isinstance(rule.body[0], Aggregate):
                inner = bindings(rule.body[0])[0]
                read, level = inner.heads[0].pred, levels.get(pred, 0) - 1
                deriving[read] = (inner,)
                levels[read] = min(level, levels.get(read, level))  # below all rules that have this aggregate
    return deriving


# Sideways information passing.


def ordered(
    body: Sequence[BodyLiteral], question: Atom, live: Iterable[Variable], statistics: Statistics
) -> list[BodyLiteral]:
    """The literals of a body in the order in which the planner joins them to the subquery, with conditions as early as
    possible."""
    if sum(isinstance(literal, Atom | Aggregate) for literal in body) > 1:
        plan = plan_body((*body, question), live, statistics, {len(body): Part.DELTA})
        placed = [note.literal for note in plan.notes if note.literal is not None and note.literal != question]
        return [*placed, *(literal for literal in body if literal not in placed)]
    return _settled(body, set(variables(question)))


def _settled(body: Sequence[BodyLiteral], bound: set[Variable]) -> list[BodyLiteral]:
    """The same for a body with at most one atom, which needs no join order."""
    joined = {v for literal in body if not isinstance(literal, Negation) for v in variables(literal)}
    waiting, placed = list(body), []
    while waiting:
        conditions = (one for one in waiting if not isinstance(one, Atom | Aggregate) and _ready(one, bound, joined))
        atoms = (one for one in waiting if isinstance(one, Atom | Aggregate))
        literal = next(conditions, None) or next(atoms, None) or waiting[0]
        waiting.remove(literal)
        placed.append(literal)
        if not isinstance(literal, Negation | Filter):
            bound.update(variables(literal))
    return placed


def _ready(literal: BodyLiteral, bound: Collection[Variable], joined: Collection[Variable]) -> bool:
    match literal:
        case Filter(condition):
            return all(v in bound for v in variables(condition))
        case Bind(expression):
            return all(v in bound for v in variables(expression))
        case Negation(atom):
            return all(v in bound for v in variables(atom) if v in joined)
        case _:
            return False
