"""About how much work a goal is (paper 001, Algorithm 2), from the statistics of stored facts alone.

    f1 substitutions, f2 relevant facts, f3 subqueries, f4 applications of rules, f5 different rules

The rules are followed from the goal five deep, without deriving anything. A goal's constants are passed on to the
bodies of its rules; for the goal and the bodies of its first rules the facts that match are counted by index, and
deeper the mean of a column is enough. So what is deeper depends on no constant, and is computed once for all goals.

Three things differ from the algorithm as printed. It has no table of what it has visited; with one, by predicate,
adornment and depth, it takes as many steps as there are rules and not as there are paths, and BUDGET bounds even those.
It asks every atom of a body as if it stood alone; here an atom is asked with what the atoms before it bind, once for
each of their rows, and all those questions together are no more work than the atom with nothing bound. And what an
atom multiplies rows by are its answers alone: at most one where all is bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log1p
from typing import NamedTuple

from deltalog.backends.local import LocalBackend
from deltalog.plan.ir import Part
from deltalog.query.adornment import Adornment
from deltalog.query.goal import Goal
from deltalog.query.qsqr import Stored
from deltalog.query.rulebase import Rulebase, bindings
from deltalog.syntax.ast import Aggregate, Atom, Constant, Negation, Pred, Rule, Term, Variable

MAX_DEPTH = 5  # maxd
EXACT = 2  # the depth from which on means are enough
BUDGET = 1_000  # rules that one estimate looks at
MOST = 1e30  # of a product; there is nothing to learn beyond

Pattern = tuple[int | bool | None, ...]  # an id; None: free; True: bound, by whatever value


class Features(NamedTuple):
    """f1 to f5."""

    substitutions: float
    facts: float
    subqueries: float
    applications: float
    rules: float

    @property
    def vector(self) -> tuple[float, ...]:
        """What classifiers see: orders of magnitude."""
        return tuple(map(log1p, self))


class _Sum(NamedTuple):
    f1: float
    f2: float
    f3: float
    applications: float
    rules: int  # a bit for each
    answers: float


CUT = _Sum(1.0, 1.0, 0.0, 0.0, 0, 1.0)  # Algorithm 2, line 6


class Estimator:
    """Estimates over one set of rules and facts; keeps what does not depend on a goal."""

    def __init__(self, rulebase: Rulebase, stored: Stored, backend: LocalBackend) -> None:
        self._rulebase, self._stored, self._backend = rulebase, stored, backend
        self._kept: dict[tuple[Pred, Pattern, int], _Sum] = {}
        self._here: dict[tuple[Pred, Pattern, int], _Sum] = {}  # what has to do with the constants of this goal
        self._bits: dict[int, int] = {}
        self._looked_at = 0

    def features(self, goal: Goal) -> Features:
        """est(Q, I): lines 1 to 4. The goal's own rule is no rule of the program."""
        self._looked_at, self._here = 0, {}
        ids = {v: self._backend.dictionary.find(c) for v, c in zip(goal.head.terms, goal.constants, strict=False)}
        bound = {v: -1 if i is None else i for v, i in ids.items() if isinstance(v, Variable)}
        found = self._rule(goal.rule, bound, 0)
        return Features(found.f1, found.f2, found.f3, found.applications, float(found.rules.bit_count()))

    def _query(self, pred: Pred, pattern: Pattern, depth: int) -> _Sum:
        """estQuery: lines 5 to 15."""
        if depth >= MAX_DEPTH:
            return CUT
        if depth >= EXACT:
            pattern = tuple(None if i is None else True for i in pattern)
        name = (pred, pattern, depth)
        kept = self._kept if depth >= EXACT else self._here
        if name not in kept:
            found = self._follow(pred, pattern, depth)
            if self._looked_at > BUDGET:
                return found
            kept[name] = found
        return kept[name]

    def _follow(self, pred: Pred, pattern: Pattern, depth: int) -> _Sum:
        f1 = f2 = answers = self._count(pred, pattern)
        f3, applications, rules = 1.0, 0.0, 0
        for rule in self._rulebase.deriving.get(pred, ()):
            if not self._unifies(rule.heads[0], pattern) or self._looked_at > BUDGET:
                continue
            self._looked_at += 1
            inner = self._rule(rule, _unified(rule.heads[0], pattern), depth + 1)
            f1, f2, f3 = f1 + inner.f1, f2 + inner.f2, f3 + inner.f3
            applications += 1 + inner.applications
            answers += inner.answers
            rules |= inner.rules | self._bit(rule)
        answers = min(answers, float(len(self._backend.dictionary)) ** pattern.count(None))
        return _Sum(min(f1, MOST), min(f2, MOST), min(f3, MOST), min(applications, MOST), rules, answers)

    def _rule(self, rule: Rule, bound: dict[Variable, int | bool], depth: int) -> _Sum:
        """estRule: lines 16 to 23. What is negated is asked, too, and multiplies nothing."""
        rows, f1, f2, f3, applications, rules = 1.0, 0.0, 0.0, 0.0, 0.0, 0
        for atom, multiplies in _connected(rule, bound):
            asked = self._query(atom.pred, tuple(self._place(term, bound) for term in atom.terms), depth)
            most1, most2 = self._whole(atom.pred, depth) if rows > 1 else (MOST, MOST)
            f1, f2 = f1 + min(rows * asked.f1, rows + most1), f2 + min(rows * asked.f2, most2)
            f3 += min(rows * asked.f3, rows + most1)
            applications += asked.applications
            rules |= asked.rules
            if multiplies:
                rows = min(rows * asked.answers, MOST)
                bound = {**dict.fromkeys((t for t in atom.terms if isinstance(t, Variable)), True), **bound}
        return _Sum(min(f1 + rows, MOST), min(f2, MOST), min(f3, MOST), applications, rules, rows)

    def _whole(self, pred: Pred, depth: int) -> tuple[float, float]:
        """f1 and f2 of a predicate with nothing bound."""
        whole = self._query(pred, (None,) * pred.arity, max(depth, EXACT))
        return whole.f1, whole.f2

    def _bit(self, rule: Rule) -> int:
        return 1 << self._bits.setdefault(id(rule), len(self._bits))

    def _unifies(self, head: Atom, pattern: Pattern) -> bool:
        """Whether a head can be an answer: its constants are those that were asked for."""
        return all(
            not isinstance(term, Constant) or i is None or i is True or self._place(term, {}) == i
            for term, i in zip(head.terms, pattern, strict=True)
        )

    def _place(self, term: Term, bound: dict[Variable, int | bool]) -> int | bool | None:
        if isinstance(term, Constant):
            found = self._backend.dictionary.find(term.value)
            return -1 if found is None else found
        return bound.get(term)

    def _count(self, pred: Pred, pattern: Pattern) -> float:
        """|{θ | Gθ ∈ I}|: line 7."""
        size = self._stored.known.size(pred, Part.ALL)
        if not size or all(i is None for i in pattern):
            return size
        if -1 in pattern:
            return 0.0
        if not any(i is True for i in pattern):
            adornment: Adornment = tuple(i is not None for i in pattern)
            lookup = self._stored.lookup((pred, adornment))
            if lookup is not None and lookup.indexed:
                return float(lookup.count(tuple(i for i in pattern if i is not None), len(self._backend.dictionary)))
        for column, i in enumerate(pattern):
            if i is not None:
                size /= max(1.0, self._stored.known.distinct(pred, Part.ALL, column))
        return size


def _unified(head: Atom, pattern: Pattern) -> dict[Variable, int | bool]:
    """What a head's variables are bound to by a question."""
    bound: dict[Variable, int | bool] = {}
    for term, i in zip(head.terms, pattern, strict=True):
        if i is not None and isinstance(term, Variable):
            bound.setdefault(term, i)
    return bound


def _connected(rule: Rule, bound: dict[Variable, int | bool]) -> Iterator[tuple[Atom, bool]]:
    """The atoms of a body, each next one among those with most arguments bound; negated ones at the end."""
    waiting = [_atom(literal) for literal in rule.body if isinstance(literal, Atom | Aggregate)]
    known = set(bound)
    while waiting:
        best = waiting[0]
        if len(waiting) > 1:
            best = max(waiting, key=lambda atom: sum(not isinstance(t, Variable) or t in known for t in atom.terms))
        waiting.remove(best)
        yield best, True
        known.update(t for t in best.terms if isinstance(t, Variable))
    yield from ((literal.atom, False) for literal in rule.body if isinstance(literal, Negation))


def _atom(literal: Atom | Aggregate) -> Atom:
    return literal if isinstance(literal, Atom) else bindings(literal)[0].heads[0]
