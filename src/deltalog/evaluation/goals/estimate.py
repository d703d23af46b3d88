"""Estimates the work of a goal from the statistics of stored facts (Joshi et al., Algorithm 2).

    f1 substitutions, f2 relevant facts, f3 subqueries, f4 rule applications, f5 distinct rules

The estimate follows the rules from the goal to a depth of five and derives no facts. Constants of the goal are passed
to the bodies of its rules. At depths below EXACT, matching facts are counted by index; deeper, the mean number of facts
per value of a column is used, so these estimates do not depend on constants and are computed once for all goals.

There are three differences from the published algorithm:

- It memoises by predicate, adornment and depth, so its cost is linear in the number of rules and not in the number of
  paths. MAX_RULES is an additional limit.
- The published algorithm estimates each atom of a body in isolation. Here an atom is estimated with the variables that
  earlier atoms bind, once per row, and the total is limited by the estimate of the atom with all arguments free.
- An atom multiplies the number of rows by its number of answers only, which is at most one if all arguments are bound.

Each rule is prepared once per adornment of its head (`_Rule`, `_Step`); an estimate only inserts the ids of the goal's
constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log1p
from typing import Generic, NamedTuple, TypeVar

from deltalog.core.rules import Aggregate, Atom, Constant, Negation, Pred, Rule, Variable
from deltalog.core.terms import Value
from deltalog.evaluation.goals.adornment import Adornment
from deltalog.evaluation.goals.goal import Goal
from deltalog.evaluation.goals.qsqr import Stored
from deltalog.evaluation.goals.rulebase import Rulebase, bindings
from deltalog.evaluation.plan.ir import Part

T = TypeVar("T")
MAX_DEPTH = 5  # maxd
EXACT = 2  # from this depth on, means are used instead of counts
MAX_RULES = 1_000  # rules that one estimate visits
MOST = 1e30  # the upper limit of products
UNKNOWN, BOUND = -1, -2  # a constant that occurs in no fact; an argument bound to an unspecified value

Pattern = tuple[int | None, ...]  # an id, UNKNOWN or BOUND; None: free


class Features(NamedTuple):
    """The features f1 to f5 of a goal."""

    substitutions: float
    facts: float
    subqueries: float
    applications: float
    rules: float

    @property
    def vector(self) -> tuple[float, ...]:
        """The input of classifiers: the logarithms of the features."""
        return tuple(map(log1p, self))


class _Sum(NamedTuple):
    f1: float
    f2: float
    f3: float
    applications: float
    rules: int  # a bit for each
    answers: float


CUT = _Sum(1.0, 1.0, 0.0, 0.0, 0, 1.0)  # Algorithm 2, line 6


class _Step(NamedTuple):
    """An atom of a body: its pattern, and the positions of arguments that it (first) and the head (second) share."""

    pred: Pred
    pattern: Pattern
    given: tuple[tuple[int, int], ...]
    multiplies: bool

    def asked(self, head: Pattern) -> Pattern:
        filled = list(self.pattern)
        for place, source in self.given:
            filled[place] = head[source]
        return tuple(filled)


class _Rule(NamedTuple):
    """A rule for an adornment of its head: the positions and ids of the head's constants, and the atoms in order."""

    bit: int
    constants: tuple[tuple[int, int], ...]
    steps: tuple[_Step, ...]

    def unifies(self, pattern: Pattern) -> bool:
        """Whether the constants of the head match those of the pattern."""
        return all(pattern[place] in (None, BOUND, id) for place, id in self.constants)


class Estimator(Generic[T]):
    """Estimates goals over one set of rules and facts; caches whatever does not depend on the goal."""

    def __init__(self, rulebase: Rulebase, stored: Stored[T]) -> None:
        self._rulebase, self._stored = rulebase, stored
        self._kept: dict[tuple[Pred, Pattern, int], _Sum] = {}
        self._here: dict[tuple[Pred, Pattern, int], _Sum] = {}  # estimates that depend on the constants of this goal
        self._rules: dict[tuple[Pred, Adornment], list[_Rule]] = {}
        self._bits: dict[int, int] = {}
        self.looked_at = 0  # rules that the last estimate visited

    def features(self, goal: Goal) -> Features:
        """est(Q, I): lines 1 to 4. The rule of the goal itself is not counted."""
        self.looked_at, self._here = 0, {}
        free = len(goal.head.terms) - len(goal.constants)
        pattern = (*map(self._id, goal.constants), *[None] * free)
        found = self._rule(self._prepared(goal.rule, goal.adornment, 0), pattern, 0)
        return Features(found.f1, found.f2, found.f3, found.applications, float(found.rules.bit_count()))

    def _query(self, pred: Pred, pattern: Pattern, depth: int) -> _Sum:
        """estQuery: lines 5 to 15."""
        if depth >= MAX_DEPTH:
            return CUT
        kept = self._kept if depth >= EXACT else self._here
        name = (pred, pattern, depth)
        found = kept.get(name)
        if found is None:
            found = self._follow(pred, pattern, depth)
            if self.looked_at <= MAX_RULES:
                kept[name] = found
        return found

    def _follow(self, pred: Pred, pattern: Pattern, depth: int) -> _Sum:
        f1 = f2 = answers = self._count(pred, pattern)
        f3, applications, rules = 1.0, 0.0, 0
        for rule in self._deriving(pred, tuple(i is not None for i in pattern)):
            if not rule.unifies(pattern):
                continue
            if self.looked_at > MAX_RULES:
                break
            self.looked_at += 1
            inner = self._rule(rule, pattern, depth + 1)
            f1, f2, f3 = f1 + inner.f1, f2 + inner.f2, f3 + inner.f3
            applications += 1 + inner.applications
            answers += inner.answers
            rules |= inner.rules | rule.bit
        answers = float(min(answers, int(self._stored.lookups.known_ids) ** pattern.count(None)))  # beyond any float
        return _Sum(min(f1, MOST), min(f2, MOST), min(f3, MOST), min(applications, MOST), rules, answers)

    def _rule(self, rule: _Rule, head: Pattern, depth: int) -> _Sum:
        """estRule: lines 16 to 23. Negated atoms are estimated too, but do not multiply the rows."""
        rows, f1, f2, f3, applications, rules = 1.0, 0.0, 0.0, 0.0, 0.0, 0
        for step in rule.steps:
            pattern = step.asked(head) if depth < EXACT and step.given else step.pattern
            asked = self._query(step.pred, pattern, depth)
            if rows > 1:
                whole = self._query(step.pred, (None,) * step.pred.arity, max(depth, EXACT))
                f1, f2 = f1 + min(rows * asked.f1, rows + whole.f1), f2 + min(rows * asked.f2, whole.f2)
                f3 += min(rows * asked.f3, rows + whole.f1)
            else:
                f1, f2, f3 = f1 + rows * asked.f1, f2 + rows * asked.f2, f3 + rows * asked.f3
            applications += asked.applications
            rules |= asked.rules
            if step.multiplies:
                rows = min(rows * asked.answers, MOST)
        return _Sum(min(f1 + rows, MOST), min(f2, MOST), min(f3, MOST), applications, rules, rows)

    def _count(self, pred: Pred, pattern: Pattern) -> float:
        """|{θ | Gθ ∈ I}|: line 7."""
        size = self._stored.known.size(pred, Part.ALL)
        if not size or all(i is None for i in pattern):
            return size
        if UNKNOWN in pattern:
            return 0.0
        if BOUND not in pattern:
            lookup = self._stored.lookup((pred, tuple(i is not None for i in pattern)))
            if lookup is not None and lookup.indexed:
                return float(lookup.count(tuple(i for i in pattern if i is not None)))
        for column, i in enumerate(pattern):
            if i is not None:
                size /= max(1.0, self._stored.known.distinct(pred, Part.ALL, column))
        return size

    # Prepared rules.

    def _deriving(self, pred: Pred, adornment: Adornment) -> list[_Rule]:
        name = (pred, adornment)
        if name not in self._rules:
            rules = self._rulebase.deriving.get(pred, ())
            self._rules[name] = [self._prepared(rule, adornment, self._bit(rule)) for rule in rules]
        return self._rules[name]

    def _bit(self, rule: Rule) -> int:
        return 1 << self._bits.setdefault(id(rule), len(self._bits))

    def _prepared(self, rule: Rule, adornment: Adornment, bit: int) -> _Rule:
        terms = rule.heads[0].terms
        given: dict[Variable, int] = {}
        for place, (term, bound) in enumerate(zip(terms, adornment, strict=True)):
            if bound and isinstance(term, Variable):
                given.setdefault(term, place)
        constants = [(place, self._id(term.value)) for place, term in enumerate(terms) if isinstance(term, Constant)]
        return _Rule(bit, tuple(constants), tuple(self._steps(rule, given)))

    def _steps(self, rule: Rule, given: dict[Variable, int]) -> Iterator[_Step]:
        known = set(given)
        for atom, multiplies in _connected(rule, known):
            pattern = [
                self._id(t.value) if isinstance(t, Constant) else BOUND if t in known else None for t in atom.terms
            ]
            heads = [(i, given[t]) for i, t in enumerate(atom.terms) if isinstance(t, Variable) and t in given]
            yield _Step(atom.pred, tuple(pattern), tuple(heads), multiplies)
            if multiplies:
                known.update(t for t in atom.terms if isinstance(t, Variable))

    def _id(self, value: Value) -> int:
        found = self._stored.lookups.find(value)
        return UNKNOWN if found is None else found


def _connected(rule: Rule, known: set[Variable]) -> Iterator[tuple[Atom, bool]]:
    """The atoms of a body in a greedy order, most bound arguments first; negated atoms come last."""
    waiting = [_atom(literal) for literal in rule.body if isinstance(literal, Atom | Aggregate)]
    while waiting:
        best = max(waiting, key=lambda atom: sum(not isinstance(t, Variable) or t in known for t in atom.terms))
        waiting.remove(best)
        yield best, True
    yield from ((literal.atom, False) for literal in rule.body if isinstance(literal, Negation))


def _atom(literal: Atom | Aggregate) -> Atom:
    return literal if isinstance(literal, Atom) else bindings(literal)[0].heads[0]
