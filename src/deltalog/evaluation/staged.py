"""Materialisations of programs in stages (`deltalog.program.stages`), at first and from change to change.

Explicit facts stay as they were given. What the rules start from is something else, the base: the facts of a stage take
the place of those that are given of its relations, which choice-domain, subsumption and the like may have left out.

    for each stage      materialise, or follow a change   the ordinary rules that derive what the stage reads
                        run the stage                     over that; if the change does not reach it, it stays as it was
    at last             materialise, or follow a change   all ordinary rules; a change of stages is one of their base

So everything but the stages follows changes by the usual maintenance. A stage that a change reaches is evaluated from
scratch; so are those after it that autoinc() would give other numbers. Equality goes by its axioms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Self, TypeVar

from deltalog.core.existential import existential_rules
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.chase import Chase, ChasedMaterialisation
from deltalog.evaluation.equality.apply import EqualitySetting
from deltalog.evaluation.equality.materialise import changed_relations
from deltalog.evaluation.equality.recognise import recognise_equality
from deltalog.evaluation.maintenance.apply_change import Follower
from deltalog.evaluation.maintenance.materialisation import ChangedFacts, Evaluator, Materialisation
from deltalog.evaluation.maintenance.ordinary_rules import OrdinaryRules
from deltalog.evaluation.maintenance.update_state import Update, UpdateReport, difference
from deltalog.evaluation.report import Report
from deltalog.evaluation.run_stages import StageFacts, run_stage
from deltalog.program import Program
from deltalog.program.stages import OrderedStage, StagedRules, check_stages

T = TypeVar("T")


@dataclass(frozen=True)
class StageState(Generic[T]):
    """What a stage reads, and what it derived."""

    reads: Materialisation[T]
    found: StageFacts[T]


@dataclass(frozen=True)
class StagedMaterialisation(Materialisation[T]):
    """`explicit` is what was given, `base` what the rules start from. Everything else is of the last level."""

    staged: dict[Pred, T] = field(kw_only=True)
    order: StagedRules = field(kw_only=True)
    stages: tuple[StageState[T], ...] = field(kw_only=True)

    @property
    def base(self) -> dict[Pred, T]:
        return self.staged

    @property
    def in_order(self) -> frozenset[Pred]:
        return frozenset(pred for level in self.order.levels for pred in level.stage.preds)

    @property
    def is_restorable(self) -> bool:
        return False

    def beside(self, backend: Backend[T]) -> Self:
        stages = tuple(replace(stage, reads=stage.reads.beside(backend)) for stage in self.stages)
        return replace(super().beside(backend), stages=stages)

    @property
    def last(self) -> Materialisation[T]:
        """The ordinary rules over the base."""
        own = {each.name: getattr(self, each.name) for each in fields(Materialisation)}
        return Materialisation(**{**own, "explicit": self.base})

    @property
    def tables(self) -> Iterator[T]:
        yield from super().tables
        yield from self.base.values()
        for stage in self.stages:
            yield from stage.reads.tables


@dataclass(frozen=True)
class EvaluationSetting:
    """What a knowledge base evaluates by: a setting for equality, one for schemes, and stages, if there are any."""

    equality: str
    schemes: str
    stages: tuple[OrderedStage, ...] = ()

    @property
    def _plain(self) -> EqualitySetting:
        return EqualitySetting(self.equality, self.schemes)

    def described(self, state: Materialisation[T], evaluator: Evaluator[T]) -> str:
        """How the equality of a state is evaluated, for reports; empty if there is none."""
        if not self.stages and not isinstance(state, ChasedMaterialisation):
            return self._plain.described(state, evaluator)
        has_equality = recognise_equality(state.program.rules) is not None
        return "axioms: the program has relations that depend on an order" if has_equality else ""

    def why_materialise(self, rules: tuple[Rule, ...], evaluator: Evaluator[T]) -> str | None:
        """Why goals are answered from a materialisation, if there is a reason."""
        if self.stages or any(existential_rules(rules)):
            return None
        return self._plain.why_materialise(rules, evaluator)

    def materialise(
        self,
        analysed: Callable[[], Program],
        explicit: dict[Pred, T],
        evaluator: Evaluator[T],
        report: Report,
        partial: bool,
    ) -> Materialisation[T]:
        """The first materialisation, with the report of it. A limit in a stage is an error, even with `partial`."""
        if not self.stages and any(existential_rules(analysed().rules)):
            return Chase(evaluator, self.schemes).materialise(analysed().rules, explicit, report, partial)
        if not self.stages:
            return self._plain.materialise(analysed, explicit, evaluator, report, partial)
        order = StagedRules.of(analysed().rules, self.stages)
        return _Staged(evaluator, self.schemes).materialise(order, explicit, report, partial)

    def follower(self, old: Materialisation[T], rules: tuple[Rule, ...] | None) -> Follower[T]:
        """What takes a materialisation through a change of facts and rules (None: the same rules)."""
        check_stages(rules or (), self.stages)
        if isinstance(old, ChasedMaterialisation) or any(existential_rules(rules or ())):
            return self._follow_chase
        return self._follow_stages if isinstance(old, StagedMaterialisation) else self._plain.follower(old, rules)

    def _follow_chase(
        self,
        old: Materialisation[T],
        rules: tuple[Rule, ...] | None,
        add: Mapping[Pred, T],
        remove: Mapping[Pred, T],
        evaluator: Evaluator[T],
        schemes: str,
    ) -> tuple[Materialisation[T], Update[T]]:
        facts = ChangedFacts.of(old.explicit, add, remove, evaluator.backend)
        return Chase(evaluator, schemes).follow(old, rules, facts)

    def _follow_stages(
        self,
        old: Materialisation[T],
        rules: tuple[Rule, ...] | None,
        add: Mapping[Pred, T],
        remove: Mapping[Pred, T],
        evaluator: Evaluator[T],
        schemes: str,
    ) -> tuple[Materialisation[T], Update[T]]:
        assert isinstance(old, StagedMaterialisation)
        order = old.order if rules is None else StagedRules.of(rules, self.stages)
        facts = ChangedFacts.of(old.explicit, add, remove, evaluator.backend)
        staged = _Staged(evaluator, schemes)
        if [level.stage for level in order.levels] == [level.stage for level in old.order.levels]:
            return staged.follow(old, order, facts)
        new = staged.materialise(order, facts.explicit, Report())
        why = "everything recomputed, because relations that depend on an order depend on others now"
        return new, changed_relations(old, new, facts, UpdateReport(notes=[why]))


@dataclass(frozen=True)
class _Staged(OrdinaryRules[T]):
    """The evaluation of a program in stages."""

    def materialise(
        self, order: StagedRules, explicit: dict[Pred, T], report: Report, partial: bool = False
    ) -> StagedMaterialisation[T]:
        """From scratch."""
        started, base, states, number = time.perf_counter(), explicit, list[StageState[T]](), 0
        for level in order.levels:
            with self.backend.failures.isolated():  # what the last level evaluates, too, is counted there
                reads = self.first(level.rules, base, Report())
            found = self._run(level.stage, reads, number)
            states.append(StageState(reads, found))
            base, number = _replaced(base, level.stage, found), found.numbers.stop
        seconds = time.perf_counter() - started
        last = self.first(order.rules, base, report, partial)
        report.seconds["evaluate"] += seconds
        return _shown(last, explicit, order, states)

    def _run(self, stage: OrderedStage, reads: Materialisation[T], first: int) -> StageFacts[T]:
        def given(pred: Pred) -> T:
            return (reads.relations if pred.hidden else reads.facts).get(pred)

        return run_stage(stage, given, self.backend, first, self.evaluator.naive)

    def follow(
        self, old: StagedMaterialisation[T], order: StagedRules, facts: ChangedFacts[T]
    ) -> tuple[StagedMaterialisation[T], Update[T]]:
        """From an earlier one with the same stages, and a change of its facts and rules."""
        started, notes, states, number = time.perf_counter(), list[str](), list[StageState[T]](), 0
        added, removed = dict(facts.added), dict(facts.removed)
        for level, before in zip(order.levels, old.stages, strict=True):
            with self.backend.failures.isolated():
                reads, update = self.changed(before.reads, level.rules, added, removed)
            why = _why(level.stage, before.found, update, number)
            found = self._run(level.stage, reads, number) if why else before.found
            states.append(StageState(reads, found))
            notes += [f"{_names(level.stage)}: derived anew, {why}"] if why else []
            number += len(found.numbers)
            self._exchange(level.stage, before.found, found, added, removed)
        last, update = self.changed(old.last, order.rules, added, removed)
        update.report.notes[:0] = notes
        update.report.seconds = time.perf_counter() - started
        given = facts.explicit, dict(facts.added), dict(facts.removed)
        update = replace(update, explicit=given[0], added_facts=given[1], removed_facts=given[2])
        return _shown(last, facts.explicit, order, states), update

    def _exchange(
        self,
        stage: OrderedStage,
        before: StageFacts[T],
        after: StageFacts[T],
        added: dict[Pred, T],
        removed: dict[Pred, T],
    ) -> None:
        """From here on a change is one of what the stage derived, and not of what is given of its relations."""
        for pred in stage.preds:
            added.pop(pred, None)
            removed.pop(pred, None)
        added |= difference(after.tables, before.tables, self.backend)
        removed |= difference(before.tables, after.tables, self.backend)


def _why(stage: OrderedStage, before: StageFacts[Any], update: Update[Any], number: int) -> str:
    """Why a stage is to be evaluated anew; empty if its facts stay as they were."""
    concerned = stage.reads | stage.preds
    update.resolve_deltas(concerned)
    changed = sorted({pred.name for pred in concerned & update.changed if not pred.hidden})
    again = ", with numbers of autoinc() from the start" if stage.counts else ""
    if changed or not concerned.isdisjoint(update.changed):
        return f"because of changes of {', '.join(changed) or 'what it reads'}{again}"
    if before.numbers and before.numbers.start != number:
        return "because autoinc() has taken fewer or more numbers before"
    return ""


def _names(stage: OrderedStage) -> str:
    return ", ".join(sorted(pred.name for pred in stage.preds if not pred.hidden))


def _replaced(base: Mapping[Pred, T], stage: OrderedStage, found: StageFacts[T]) -> dict[Pred, T]:
    """What rules start from after a stage."""
    return {pred: table for pred, table in base.items() if pred not in stage.preds} | found.tables


def _shown(
    last: Materialisation[T], explicit: dict[Pred, T], order: StagedRules, stages: Sequence[StageState[T]]
) -> StagedMaterialisation[T]:
    own = {each.name: getattr(last, each.name) for each in fields(Materialisation)}
    own["explicit"] = explicit
    return StagedMaterialisation(**own, staged=last.explicit, order=order, stages=tuple(stages))
