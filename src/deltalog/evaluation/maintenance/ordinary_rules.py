"""Rules without stages over some facts: what evaluations in several steps consist of (`deltalog.evaluation.staged`,
`deltalog.evaluation.chase`). Equality goes by its axioms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.maintenance.apply_change import apply_change, number_kinds
from deltalog.evaluation.maintenance.first_materialisation import materialise_first
from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation
from deltalog.evaluation.maintenance.update_state import Update
from deltalog.evaluation.report import Report
from deltalog.program import analyse

T = TypeVar("T")


@dataclass(frozen=True)
class OrdinaryRules(Generic[T]):
    """An evaluator, and a setting for schemes."""

    evaluator: Evaluator[T]
    schemes: str

    @property
    def backend(self) -> Backend[T]:
        return self.evaluator.backend

    def first(
        self, rules: Sequence[Rule], base: dict[Pred, T], report: Report, partial: bool = False
    ) -> Materialisation[T]:
        """Rules over facts, from scratch."""
        numbers = number_kinds(base, self.backend)
        program = analyse(rules, base, self.schemes, numbers=numbers)
        return materialise_first(lambda: program, base, self._fresh, report, partial)

    def changed(
        self, old: Materialisation[T], rules: tuple[Rule, ...], added: Mapping[Pred, T], removed: Mapping[Pred, T]
    ) -> tuple[Materialisation[T], Update[T]]:
        """From an earlier one."""
        same = rules == old.program.rules
        return apply_change(old, None if same else rules, added, removed, self._fresh, self.schemes)

    @property
    def _fresh(self) -> Evaluator[T]:
        """The evaluator of one step: decompositions are its own."""
        return replace(self.evaluator, trees=Trees(self.evaluator.trees.way, tuning=self.backend.tuning))
