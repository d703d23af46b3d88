"""Goals as rules.

A goal is a conjunction; it becomes the rule #goal(constants, variables) <- goal, whose facts are the answers. The
constants of its atoms are variables of that rule, bound when it is asked: goals that differ in them alone are the same
rule, and share all that is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deltalog.model.errors import UnsafeRule, UsageError
from deltalog.model.terms import Value
from deltalog.program.aggregates import separate
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules
from deltalog.program.safety import unsafe
from deltalog.query.adornment import Adornment
from deltalog.query.rulebase import bindings, by_head, reads
from deltalog.syntax.ast import (
    Aggregate,
    Atom,
    BodyLiteral,
    Constant,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.syntax.printer import print_body

GOAL = HiddenName("#goal")


@dataclass(frozen=True)
class Goal:
    """The rules of a goal (its own, and those of its aggregates), and what it is asked with."""

    rule: Rule
    names: tuple[str, ...]  # of the columns of answers
    constants: tuple[Value, ...]

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
        return set(reads(self.rule.body))


def goal_rule(goal: Sequence[BodyLiteral]) -> Rule:
    """#goal(variables in the order in which they occur) <- goal; `_` is not one of them."""
    names = dict.fromkeys(
        v for literal in goal if not isinstance(literal, Negation) for v in variables(literal) if not v.anonymous
    )
    return Rule((Atom(GOAL, tuple(names)),), tuple(goal))


def as_goal(literals: Sequence[BodyLiteral]) -> Goal:
    """A goal of literals; an unsafe one is refused like an unsafe rule."""
    rule = _core_rule(goal_rule(literals))
    if errors := list(unsafe(rule)):
        raise UnsafeRule(errors)
    rule = directed_rule(rule)
    given: dict[Variable, Value] = {}
    body = tuple(_opened(literal, given) if isinstance(literal, Atom) else literal for literal in rule.body)
    head = Atom(GOAL, (*given, *rule.heads[0].terms))
    return Goal(Rule((head,), body), tuple(v.name for v in variables(rule.heads[0])), tuple(given.values()))


def _core_rule(goal: Rule) -> Rule:
    """The one rule of the core language that a goal is."""
    rules = core_rules(goal)
    if len(rules) > 1:
        raise UsageError(
            "a goal has no alternatives (`;`), no NOT over several literals and no AGGREGATE with PER; "
            f"make it a rule, and ask for its head: answer(...) :- {print_body(goal.body)} ."
        )
    return rules[0]


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
