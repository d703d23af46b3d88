"""Goals as rules.

A goal is a body; it becomes the rule #goal(constants, variables) <- goal, whose facts are the answers. The constants of
its atoms are variables of that rule, bound when it is asked: goals that differ in them alone are the same rule, and
share all that is made of it. A goal with alternatives, a negated body or groups that may be empty is several rules of
the core language. Then these derive a relation #answers, and the goal asks for all of it; so does one with an aggregate
inside of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from deltalog.core.errors import UnsafeRule
from deltalog.core.rules import (
    Aggregate,
    Atom,
    BodyLiteral,
    Constant,
    Disjunction,
    HiddenName,
    NegatedBody,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import Value
from deltalog.evaluation.goals.adornment import Adornment
from deltalog.evaluation.goals.rulebase import bindings, by_head, reads
from deltalog.program.aggregates import nests_aggregates, separate
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules
from deltalog.program.safety import unsafe

GOAL = HiddenName("#goal")
ANSWERS = HiddenName("#answers")


@dataclass(frozen=True)
class Goal:
    """The rules of a goal (its own, and those of its aggregates), and what it is asked with."""

    rule: Rule
    names: tuple[str, ...]  # of the columns of answers
    constants: tuple[Value, ...]
    derived: tuple[Rule, ...] = ()  # the rules that it adds to those of the program

    @property
    def head(self) -> Atom:
        return self.rule.heads[0]

    @property
    def adornment(self) -> Adornment:
        bound = len(self.constants)
        return (True,) * bound + (False,) * (len(self.head.terms) - bound)

    @property
    def rules(self) -> Mapping[Pred, tuple[Rule, ...]]:
        """All rules of the goal, by head."""
        made = by_head(separate([self.rule]))
        for rules in list(made.values()):
            if isinstance(rules[0].body[0], Aggregate):
                inner = bindings(rules[0].body[0])[0]
                made[inner.heads[0].pred] = (inner,)
        return made

    @property
    def reads(self) -> set[Pred]:
        return {pred for rule in (self.rule, *self.derived) for pred in reads(rule.body)}


def goal_rule(goal: Sequence[BodyLiteral]) -> Rule:
    """#goal(variables in the order in which they occur) <- goal; `_` is not one of them."""
    outside = [literal for literal in goal if not isinstance(literal, Negation | NegatedBody)]
    names = dict.fromkeys(v for literal in outside for v in _given(literal) if not v.anonymous)
    return Rule((Atom(GOAL, tuple(names)),), tuple(goal))


def _given(literal: BodyLiteral) -> Iterator[Variable]:
    """The variables of a literal that the rest of a goal may see: of alternatives, those that all of them have."""
    if not isinstance(literal, Disjunction):
        yield from variables(literal)
        return
    seen = [{v for inner in body for v in _given(inner)} for body in literal.alternatives]
    yield from (v for v in variables(literal) if all(v in names for names in seen))


def as_goal(literals: Sequence[BodyLiteral]) -> Goal:
    """A goal of literals; an unsafe one is refused like an unsafe rule."""
    rule = goal_rule(literals)
    core = core_rules(rule)
    if errors := [error for one in core for error in unsafe(one)]:
        raise UnsafeRule(errors)
    if len(core) > 1 or nests_aggregates(core[0].body):
        answers = Atom(ANSWERS, rule.heads[0].terms)
        derived = core_rules(replace(rule, heads=(answers,)))
        return Goal(replace(rule, body=(answers,)), _names(rule), (), derived)
    rule = directed_rule(core[0])
    given: dict[Variable, Value] = {}
    body = tuple(_opened(literal, given) if isinstance(literal, Atom) else literal for literal in rule.body)
    head = Atom(GOAL, (*given, *rule.heads[0].terms))
    return Goal(Rule((head,), body), _names(rule), tuple(given.values()))


def _names(rule: Rule) -> tuple[str, ...]:
    return tuple(v.name for v in variables(rule.heads[0]))


def _opened(atom: Atom, given: dict[Variable, Value]) -> Atom:
    """An atom with variables in the place of constants."""
    terms: list[Term] = []
    for term in atom.terms:
        if isinstance(term, Constant):
            variable = Variable(f"#{len(given)}")
            given[variable] = term.value
            term = variable
        terms.append(term)
    return replace(atom, terms=tuple(terms))
