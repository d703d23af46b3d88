"""Adorned rules, compiled to steps over rows of ids.

    p^bf(x, z) <- e(x, y), q^bf(y, z)

The first rows of this rule are the values of x in the subqueries. A row contains the ids of the rule's constants, then
the ids of its variables in the order in which steps bind them. Each step reads rows and produces longer ones. Positions
in a row are computed here, once for a rule and an adornment, so evaluation only handles tuples: `key` selects the bound
arguments of a subquery from a row, the answer is appended to the row, `equal` are pairs of positions that must have the
same id, and `keep` drops positions that no later step reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import Value
from deltalog.evaluation.capabilities.point_lookup import IdRow
from deltalog.evaluation.goals.adornment import Adornment, bound_terms, magic
from deltalog.evaluation.goals.rulebase import bindings, ordered
from deltalog.evaluation.plan.statistics import Statistics

Getter = Callable[[IdRow], IdRow]
ColumnCopies = tuple[tuple[int, int], ...]
Intern = Callable[[Value], int]


@dataclass(frozen=True, slots=True)
class AskStep:
    """Joins rows with an atom: the bound arguments are a subquery, and its answers extend the row."""

    pred: Pred
    adornment: Adornment
    key: Getter
    equal: ColumnCopies
    keep: Getter | None


@dataclass(frozen=True, slots=True)
class DenyStep:
    """A negated atom: keeps the rows that have no matching answer."""

    pred: Pred
    adornment: Adornment
    key: Getter
    equal: ColumnCopies


@dataclass(frozen=True, slots=True)
class GroupStep:
    """An aggregate over the bindings of its body: `on` and the results of `calls` extend the row."""

    pred: Pred
    adornment: Adornment
    key: Getter
    names: tuple[Variable, ...]  # the columns of the bindings, ON variables first
    on: tuple[Variable, ...]
    calls: tuple[AggregateCall, ...]
    equal: ColumnCopies


@dataclass(frozen=True, slots=True)
class WhereStep:
    """Keeps the rows for which a condition is true; `places` are the positions of its variables."""

    condition: Expression
    places: tuple[tuple[Variable, int], ...]


@dataclass(frozen=True, slots=True)
class ExtendStep:
    """Extends the row by the value of an expression; `places` are the positions of its variables."""

    expression: Expression
    places: tuple[tuple[Variable, int], ...]


RuleStep = AskStep | DenyStep | GroupStep | WhereStep | ExtendStep


@dataclass(frozen=True, slots=True)
class AdornedRule:
    """A compiled rule. The first row is `constants` and a key, with the same ids at `equal` positions; `key` and
    `answer` select a subquery and its answer from the last row."""

    rule: Rule
    constants: IdRow
    equal: ColumnCopies
    steps: tuple[RuleStep, ...]
    key: Getter
    answer: Getter


def adorned_rule(rule: Rule, adornment: Adornment, statistics: Statistics, intern: Intern) -> AdornedRule:
    """Compiles a rule for an adornment of its head."""
    return _Layout(rule, adornment, intern).compiled(statistics)


def getter(places: Sequence[int]) -> Getter:
    """A function that selects some positions of a row."""
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return lambda row: ()
    place = places[0]
    return lambda row: (row[place],)


class _Layout:
    """The position of each term in the row, updated step by step."""

    def __init__(self, rule: Rule, adornment: Adornment, intern: Intern) -> None:
        self.rule, self.head, self.adornment = rule, rule.heads[0], adornment
        constants = dict.fromkeys(t for atom in _atoms(rule) for t in atom.terms if isinstance(t, Constant))
        self.constants = tuple(intern(constant.value) for constant in constants)
        self.places: dict[Term, int] = {constant: place for place, constant in enumerate(constants)}
        self.width = len(constants)

    def compiled(self, statistics: Statistics) -> AdornedRule:
        head, adornment = self.head, self.adornment
        equal = self._bind(bound_terms(head, adornment))
        question = magic(head, adornment)
        body = ordered(self.rule.body, question, variables(head), statistics)
        steps = []
        for i, literal in enumerate(body):
            live = {v for later in body[i + 1 :] for v in variables(later)}.union(variables(head))
            steps.append(self._step(literal, live))
        free = [term for term, bound in zip(head.terms, adornment, strict=True) if not bound]
        key, answer = (getter([self.places[t] for t in terms]) for terms in (bound_terms(head, adornment), free))
        return AdornedRule(self.rule, self.constants, equal, tuple(steps), key, answer)

    def _bind(self, terms: Iterable[Term]) -> ColumnCopies:
        """Assigns the next positions of the row to terms, and returns the pairs of positions that must be equal."""
        equal = []
        for term in terms:
            if term in self.places:
                equal.append((self.places[term], self.width))
            else:
                self.places[term] = self.width
            self.width += 1
        return tuple(equal)

    def _step(self, literal: BodyLiteral, live: Collection[Variable]) -> RuleStep:
        match literal:
            case Atom():
                adornment, key = self._question(literal)
                equal = self._bind(t for t, bound in zip(literal.terms, adornment, strict=True) if not bound)
                return AskStep(literal.pred, adornment, key, equal, self._keep(live))
            case Negation(atom):
                adornment, key = self._question(atom)
                places, width = dict(self.places), self.width
                equal = self._bind(t for t, bound in zip(atom.terms, adornment, strict=True) if not bound)
                self.places, self.width = places, width
                return DenyStep(atom.pred, adornment, key, equal)
            case Filter(condition):
                return WhereStep(condition, self._inputs(condition))
            case Bind(expression, variable) if variable in self.places:
                same = Call("sameterm", (variable, expression))
                return WhereStep(same, self._inputs(same))
            case Bind(expression, variable):
                step = ExtendStep(expression, self._inputs(expression))
                self._bind([variable])
                return step
            case Aggregate():
                return self._group(literal)
        raise AssertionError(f"not of the core language: {literal}")

    def _question(self, atom: Atom) -> tuple[Adornment, Getter]:
        adornment = tuple(term in self.places for term in atom.terms)
        return adornment, getter([self.places[term] for term in atom.terms if term in self.places])

    def _inputs(self, expression: Expression) -> tuple[tuple[Variable, int], ...]:
        return tuple((v, self.places[v]) for v in dict.fromkeys(variables(expression)))

    def _keep(self, live: Collection[Variable]) -> Getter | None:
        """A function that drops the positions that no later step reads; None if there are none."""
        kept = [(term, place) for term, place in self.places.items() if isinstance(term, Constant) or term in live]
        if len(kept) == self.width:
            return None
        kept.sort(key=lambda item: item[1])
        self.places, self.width = {term: i for i, (term, _) in enumerate(kept)}, len(kept)
        return getter([place for _, place in kept])

    def _group(self, aggregate: Aggregate) -> GroupStep:
        rule, calls = bindings(aggregate)
        names, on = tuple(variables(rule.heads[0])), tuple(dict.fromkeys(aggregate.on))
        known = [v for v in on if v in self.places]
        adornment, key = tuple(v in known for v in names), getter([self.places[v] for v in known])
        equal = self._bind((*on, *(call.variable for call in calls)))
        return GroupStep(rule.heads[0].pred, adornment, key, names, on, calls, equal)


def _atoms(rule: Rule) -> Iterable[Atom]:
    yield rule.heads[0]
    for literal in rule.body:
        if isinstance(literal, Atom | Negation):
            yield literal if isinstance(literal, Atom) else literal.atom
