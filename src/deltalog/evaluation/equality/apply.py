"""How equality is evaluated: by representatives or by its axioms, at first and from change to change.

By representatives where that is asked for and possible. Otherwise the rules of equality are evaluated like all others,
and `EqualityStrategy.reason` says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from deltalog.core.errors import LimitReached
from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.equality.links import LiteralsLinked
from deltalog.evaluation.equality.materialise import (
    EqualMaterialisation,
    changed_relations,
    follow_equal,
    materialise_equal,
)
from deltalog.evaluation.equality.recognise import recognise_equality, why_axioms
from deltalog.evaluation.equality.rewrite import EqualityRewriting, TooManyNames, rewrite
from deltalog.evaluation.maintenance import apply_change as plain
from deltalog.evaluation.maintenance.first_materialisation import finish, materialise_first, observed
from deltalog.evaluation.maintenance.materialisation import ChangedFacts, Evaluator, Materialisation, materialise
from deltalog.evaluation.maintenance.update_state import Update, UpdateReport
from deltalog.evaluation.report import Report
from deltalog.program import Program, changed

_MAX_NAMES = 6  # variables of a rule that stand for names; a rule is copied for each set of them

T = TypeVar("T")
STOPPED = "a literal is the same as something else, or a limit stopped the materialisation"


@dataclass(frozen=True)
class EqualityStrategy:
    """How rules are evaluated: with a rewriting, by representatives; else by axioms, and why, if there are any."""

    rewriting: EqualityRewriting | None = None
    reason: str = ""


def choose_strategy(rules: tuple[Rule, ...], setting: str, evaluator: Evaluator[T]) -> EqualityStrategy:
    """How rules are to be evaluated."""
    equality = recognise_equality(rules)
    if equality is None:
        return EqualityStrategy()
    if setting != "representatives":
        return EqualityStrategy(reason="as requested")
    if evaluator.naive or evaluator.backend.capabilities.representatives is None:
        return EqualityStrategy(reason=f"the {evaluator.engine} engine has no representatives")
    reason = why_axioms(rules)
    try:
        return EqualityStrategy(reason=reason) if reason else EqualityStrategy(rewrite(equality, _MAX_NAMES))
    except TooManyNames as problem:
        return EqualityStrategy(reason=str(problem))


@dataclass(frozen=True)
class EqualitySetting:
    """What a knowledge base evaluates by: a setting for equality, and one for schemes."""

    equality: str
    schemes: str

    def described(self, state: Materialisation[T], evaluator: Evaluator[T]) -> str:
        """How the equality of a state is evaluated, for reports; empty if there is none."""
        if isinstance(state, EqualMaterialisation):
            return state.described
        way = choose_strategy(state.program.rules, self.equality, evaluator)
        reason = STOPPED if way.rewriting is not None else way.reason
        return f"axioms: {reason}" if reason else ""

    def why_materialise(self, rules: tuple[Rule, ...], evaluator: Evaluator[T]) -> str | None:
        """Why goals are answered from a materialisation, if there is a reason: a goal alone goes by axioms."""
        by_representatives = choose_strategy(rules, self.equality, evaluator).rewriting is not None
        return "equal individuals have representatives in a materialisation" if by_representatives else None

    def materialise(
        self,
        analysed: Callable[[], Program],
        explicit: dict[Pred, T],
        evaluator: Evaluator[T],
        report: Report,
        partial: bool,
    ) -> Materialisation[T]:
        """The first materialisation, with the report of it. What a limit stops is kept by axioms alone: classes that
        are not complete yet may be wrong under negation."""
        started, program = time.perf_counter(), analysed()
        way = choose_strategy(program.rules, self.equality, evaluator)
        if way.rewriting is not None:
            try:
                observing = observed(report, evaluator)
                state = materialise_equal(program, explicit, way.rewriting, observing, self.schemes)
                finish(report, evaluator, started, planned=0.0)
                return state
            except (LiteralsLinked, LimitReached) as stopped:
                if isinstance(stopped, LimitReached) and not partial:
                    raise
                report.forget_rounds()
        return materialise_first(lambda: program, explicit, evaluator, report, partial)

    def follower(self, old: Materialisation[T], rules: tuple[Rule, ...] | None) -> plain.Follower[T]:
        """What takes a materialisation through a change of facts and rules (None: the same rules)."""
        is_plain = rules is None and not isinstance(old, EqualMaterialisation)
        return plain.apply_change if is_plain else self._follow

    def _follow(
        self,
        old: Materialisation[T],
        rules: tuple[Rule, ...] | None,
        add: Mapping[Pred, T],
        remove: Mapping[Pred, T],
        evaluator: Evaluator[T],
        schemes: str,
    ) -> tuple[Materialisation[T], Update[T]]:
        way = choose_strategy(rules, self.equality, evaluator) if rules is not None else EqualityStrategy()
        if isinstance(old, EqualMaterialisation):
            rewriting = old.equal.rewriting if rules is None else way.rewriting
        elif (
            way.rewriting is None or choose_strategy(old.program.rules, self.equality, evaluator).rewriting is not None
        ):
            return plain.apply_change(old, rules, add, remove, evaluator, schemes)
        else:
            rewriting = way.rewriting
        facts = ChangedFacts.of(old.explicit, add, remove, evaluator.backend)
        program = self._program(old, rules, facts, evaluator)
        if rewriting is not None:
            try:
                return self._by_representatives(old, program, rewriting, facts, evaluator)
            except LiteralsLinked:
                pass
        new = materialise(program, facts.explicit, evaluator)
        return new, changed_relations(old, new, facts, _from_scratch())

    def _by_representatives(
        self,
        old: Materialisation[T],
        program: Program,
        rewriting: EqualityRewriting,
        facts: ChangedFacts[T],
        evaluator: Evaluator[T],
    ) -> tuple[Materialisation[T], Update[T]]:
        if isinstance(old, EqualMaterialisation) and _keeps_columns(old, rewriting):
            return follow_equal(old, program, rewriting, facts, evaluator, self.schemes)
        new = materialise_equal(program, facts.explicit, rewriting, evaluator, self.schemes)
        return new, changed_relations(old, new, facts, _from_scratch())

    def _program(
        self, old: Materialisation[T], rules: tuple[Rule, ...] | None, facts: ChangedFacts[T], evaluator: Evaluator[T]
    ) -> Program:
        """The rules after a change, analysed as they are; with representatives these are not what is evaluated."""
        if rules is None and facts.explicit.keys() <= old.program.data:
            return old.program
        numbers = plain.number_kinds(facts.explicit, evaluator.backend)
        return changed(
            old.program, old.program.rules if rules is None else rules, facts.explicit, self.schemes, numbers
        )


def _keeps_columns(old: EqualMaterialisation[T], rewriting: EqualityRewriting) -> bool:
    """Whether no relation with facts is over representatives before and over names after, or the other way round."""
    before, after = old.equal.rewriting.columns, rewriting.columns
    relations = old.equal.inner.relations
    return not any(relations.size(pred) for pred in before.keys() ^ after.keys() if not pred.hidden)


def _from_scratch() -> UpdateReport:
    return UpdateReport(notes=["everything recomputed, because equality is evaluated in another way"])
