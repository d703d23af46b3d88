"""A change of explicit facts and rules, from one materialisation to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.maintenance.materialisation import ChangedFacts, Evaluator, Materialisation, updated
from deltalog.evaluation.maintenance.update_state import Update
from deltalog.program import changed
from deltalog.program.value_kinds import Numbers

T = TypeVar("T")


class Follower(Protocol[T]):
    """Takes a materialisation through a change; see `apply_change`."""

    def __call__(
        self,
        old: Materialisation[T],
        rules: tuple[Rule, ...] | None,
        add: Mapping[Pred, T],
        remove: Mapping[Pred, T],
        evaluator: Evaluator[T],
        schemes: str,
    ) -> tuple[Materialisation[T], Update[T]]: ...


def apply_change(
    old: Materialisation[T],
    rules: tuple[Rule, ...] | None,
    add: Mapping[Pred, T],
    remove: Mapping[Pred, T],
    evaluator: Evaluator[T],
    schemes: str,
) -> tuple[Materialisation[T], Update[T]]:
    """The materialisation after facts have been added and removed, with other rules (None: the same), and what that
    took. The old one stays as it is."""
    if rules is not None and not add and not remove and not evaluator.naive:
        cut = old.without_leaves(rules)
        if cut is not None:
            return cut
    facts, program = ChangedFacts.of(old.explicit, add, remove, evaluator.backend), old.program
    same_data = facts.explicit.keys() <= program.data or not program.depends_on_data
    same_scope = program.scope.covers(facts.added, number_kinds(facts.added, evaluator.backend))
    if rules is not None or not (same_data and same_scope):
        numbers = number_kinds(facts.explicit, evaluator.backend)
        rules = program.rules if rules is None else rules
        program = changed(program, rules, facts.explicit, schemes, numbers, same_scope)
    return updated(old, program, facts, evaluator)


def number_kinds(facts: Mapping[Pred, T], backend: Backend[T]) -> Numbers:
    """The kinds of numbers in facts, by predicates."""
    return lambda preds: backend.codec.number_kinds([facts[pred] for pred in preds if pred in facts])
