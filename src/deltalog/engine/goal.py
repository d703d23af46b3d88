"""Goals over a materialisation: a conjunction is a plan like any rule's body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from deltalog.engine.seminaive import Relations
from deltalog.facts import Facts
from deltalog.plan import ir
from deltalog.plan.body import plan_body
from deltalog.program import analyse
from deltalog.syntax.ast import Atom, Literal, Negation, Rule, Variable, variables

T = TypeVar("T")


def answer(goal: Sequence[Literal], relations: Relations[T]) -> Facts[T]:
    """The distinct bindings of the goal's variables, in the order in which they occur; `_` is not one of them."""
    names = list(
        dict.fromkeys(
            v for literal in goal if not isinstance(literal, Negation) for v in variables(literal) if not v.anonymous
        )
    )
    analyse([Rule((Atom("#goal", tuple(names)),), tuple(goal))])  # an unsafe goal is refused like an unsafe rule
    body = plan_body(goal, names, relations)
    plan = ir.Distinct(ir.Project(body.plan, tuple((Variable(f"#{i}"), v) for i, v in enumerate(names))))
    return Facts([v.name for v in names], relations.backend.run(plan, relations.parts), relations.backend)
