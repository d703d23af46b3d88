"""Goals over a materialisation: a conjunction is a plan like any rule's body.

Facts of a materialisation are under their own predicates. A goal with a variable for a predicate or a class reads
triples, so these are made from them first, by the bridges that a rule with that body would need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from deltalog.engine.seminaive import Relations, SemiNaive
from deltalog.facts import Facts
from deltalog.plan import ir
from deltalog.plan.body import plan_body
from deltalog.program import Program, analyse
from deltalog.syntax.ast import Aggregate, Atom, Literal, Negation, Pred, Rule, Variable, variables

T = TypeVar("T")
GOAL = "#goal"


def answer(goal: Sequence[Literal], relations: Relations[T]) -> Facts[T]:
    """The distinct bindings of the goal's variables, in the order in which they occur; `_` is not one of them."""
    names = list(
        dict.fromkeys(
            v for literal in goal if not isinstance(literal, Negation) for v in variables(literal) if not v.anonymous
        )
    )
    rule = Rule((Atom(GOAL, tuple(names)),), tuple(goal))
    program = analyse([rule], {pred for pred, _ in relations.parts})  # an unsafe goal is refused like an unsafe rule
    if program.bridges:
        return Facts([v.name for v in names], _bridged(program, rule, relations), relations.backend)
    body = plan_body(goal, names, relations)
    plan = ir.Distinct(ir.Project(body.plan, tuple((Variable(f"#{i}"), v) for i, v in enumerate(names))))
    return Facts([v.name for v in names], relations.backend.run(plan, relations.parts), relations.backend)


def _bridged(program: Program, rule: Rule, relations: Relations[T]) -> T:
    """The facts of the goal's rule, evaluated with the bridges over relations that stay as they are."""
    ours = Relations(relations.backend, dict(relations.parts))
    SemiNaive(program, ours).run()
    return ours.get(rule.heads[0].pred)


def predicates(literals: Sequence[Literal]) -> Iterator[Pred]:
    """The predicates that a goal reads."""
    for literal in literals:
        match literal:
            case Atom():
                yield literal.pred
            case Negation(atom):
                yield atom.pred
            case Aggregate(body):
                yield from predicates(body)
