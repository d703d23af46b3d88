"""The methods of a knowledge base that derive the outputs of programs alone, by magic sets: a base class of
`KnowledgeBase`, as `query.methods` is.

The rules of a knowledge base stay as they are. What is derived here is a second state, with all facts of the outputs.
Relations that it has in part are not read from it. It is used while there is no materialisation, and made again when
rules or explicit facts have changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.locks import exclusive
from deltalog.core.limits import limited, within_budget
from deltalog.core.rules import Pred
from deltalog.evaluation.failed_expressions import failed_expressions
from deltalog.evaluation.report import MagicSetsUse, Report
from deltalog.knowledge_base.warning_methods import WarningMethods

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.evaluation.goals.output_rules import OutputRules
    from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation
    from deltalog.evaluation.staged import EvaluationSetting
    from deltalog.program.magic_request import MagicRequest
    from deltalog.program.rule_set import RuleSet

_WHOLE = "all relations are derived; kb.materialise_outputs() derives what outputs need"


@dataclass(frozen=True)
class DerivedOutputs:
    """What outputs need, derived from rules and explicit facts."""

    rule_set: RuleSet
    explicit: dict[Pred, Any]
    state: Materialisation[Any]
    report: Report
    whole: frozenset[Pred]  # the relations that it has in full


class OutputMethods(WarningMethods):
    """A knowledge base as far as the outputs of its programs are concerned."""

    engine: str
    _magic: tuple[MagicRequest, ...] = ()
    _outputs: DerivedOutputs | None = None
    _state: Materialisation[Any] | None
    _report: Report
    _schemes: str
    if TYPE_CHECKING:  # what `KnowledgeBase` has

        @property
        def _setting(self) -> EvaluationSetting: ...
        @property
        def _engine_reason(self) -> str: ...
        @property
        def report(self) -> Report: ...
        def _contents(self) -> Contents[Any]: ...
        def _evaluator(self) -> Evaluator[Any]: ...
        def _assign(self, **attributes: Any) -> None: ...
        def materialise(self, *, partial: bool = False, progress: bool = False) -> Report: ...

    @exclusive
    def materialise_outputs(self, *, partial: bool = False) -> Report:
        """Derives what the outputs of programs need, by magic sets, if the programs ask for them; otherwise
        everything that follows, as `materialise` does. `report.magic_sets` says what was restricted, and what was not.

        Other relations keep their meaning: reading one derives everything. partial: as for `materialise`."""
        if not self._magic or self._state is not None:
            return self.materialise(partial=partial)
        if why := self._why_no_magic_sets():
            report = self.materialise(partial=partial)
            report.magic_sets = MagicSetsUse(unused=why)
            return report
        if self._known_outputs() is None:
            self._derive_outputs(partial)
        self._warn_of_data()
        return self.report

    @property
    def _magic_sets_not_used(self) -> MagicSetsUse | None:
        """For the report of a materialisation of everything."""
        return MagicSetsUse(unused=_WHOLE) if self._magic else None

    def _why_no_magic_sets(self) -> str:
        """Why outputs cannot be derived alone; empty if they can."""
        if self.engine == "naive":
            return "the naive engine evaluates the rules as they are"
        if not self._output_preds:
            return "the program has no .output or .printsize"
        if any(not rule.is_rewritten for rule in self._rule_set.rules) or any(file.pred is None for file in self.files):
            return "not all rules are those of Soufflé programs"
        return "" if self._output_rules().restricted else self._nothing_restricted()

    def _nothing_restricted(self) -> str:
        reasons = [f"{pred.name}: {why}" for pred, why in self._output_rules().excluded.items()]
        return f"they would restrict no relation ({'; '.join(reasons) or 'rules derive none that they are asked for'})"

    @property
    def _output_preds(self) -> list[Pred]:
        """The predicates of outputs that programs declare."""
        return list(dict.fromkeys(file.pred for file in self.files if file.kind != "input" and file.pred is not None))

    def _output_rules(self) -> OutputRules:
        from deltalog.evaluation.goals.output_rules import output_rules
        from deltalog.evaluation.maintenance.materialisation import start
        from deltalog.evaluation.plan.statistics import PartialStatistics

        backend = self._backend
        present = [pred for pred, table in self._explicit.items() if backend.size(table)]
        statistics = PartialStatistics(start(self._explicit, backend))
        return output_rules(self._rule_set.rules, self._output_preds, self._stages, self._magic, present, statistics)

    def _known_outputs(self) -> DerivedOutputs | None:
        """What was derived for outputs, if it is still so."""
        known = self._outputs
        same = known is not None and known.rule_set is self._rule_set and known.explicit is self._explicit
        return known if same else None

    @limited
    @within_budget
    def _derive_outputs(self, partial: bool) -> None:
        from deltalog.evaluation.encode_facts import encode_facts_of
        from deltalog.evaluation.maintenance.apply_change import number_kinds
        from deltalog.program import analyse

        self._backend.failures.back_to({})
        made = self._output_rules()
        rules = [rule for rule in made.rewriting.rules if not rule.is_fact]
        explicit = self._explicit | encode_facts_of(made.rewriting.rules, self._backend)
        numbers = number_kinds(explicit, self._backend)
        report = Report(engine=self.engine, seconds={**self._report.seconds, "plan": 0.0, "evaluate": 0.0})
        evaluator = replace(self._evaluator(), counts_hidden=True)
        state = self._setting.materialise(
            lambda: analyse(rules, explicit, self._schemes, numbers=numbers), explicit, evaluator, report, partial
        )
        given = (pred for pred in self._explicit if not any(each == pred for each, _ in made.rewriting.adorned))
        whole = frozenset(pred for pred in (*made.rewriting.whole, *given) if not pred.hidden)
        self._describe_outputs(report, made, state, whole)
        known = DerivedOutputs(self._rule_set, self._explicit, state, report, whole)
        self._assign(_outputs=known, _report=report)

    def _describe_outputs(
        self, report: Report, made: OutputRules, state: Materialisation[Any], whole: frozenset[Pred]
    ) -> None:
        """Fills in the report."""
        size = self._backend.size
        restricted = {pred.name: sum(map(size, _copies(pred, made, state))) for pred in made.restricted}
        excluded = {pred.name: why for pred, why in made.excluded.items()}
        report.magic_sets = MagicSetsUse(restricted, excluded)
        report.per_predicate = {pred.name: size(state.facts.get(pred)) for pred in sorted(whole)}
        given = sum(size(table) for pred, table in self._explicit.items() if pred not in whole and not pred.hidden)
        report.facts_total = sum(report.per_predicate.values()) + sum(restricted.values()) + given
        report.failures = failed_expressions(self._backend.failures, self._rule_set.ids)
        report.failed_expressions = sum(each.count for each in report.failures)
        report.engine_reason = self._engine_reason

    def _contents_with(self, predicate: str) -> Contents[Any]:
        """The contents with all facts of a predicate: of what outputs need, or of everything."""
        contents = self._contents()
        if not self._magic or self._state is not None:
            return contents.materialised()
        pred = contents.names().find(predicate)
        return self._contents_of_outputs() if pred in self._output_preds else contents.materialised()

    def _contents_of_outputs(self) -> Contents[Any]:
        """The contents with all facts of outputs."""
        if self._magic and self._state is None:
            self.materialise_outputs()
        known = self._known_outputs()
        if self._state is not None or known is None:
            return self._contents().materialised()
        return replace(self._contents(), state=known.state, report=known.report)

    def _plan_of_outputs(self) -> Iterator[str]:
        """How outputs would be derived, if a program asks for magic sets."""
        if self._magic and self._output_preds:
            yield from self._output_rules().lines


def _copies(pred: Pred, made: OutputRules, state: Materialisation[Any]) -> Iterator[Any]:
    """The tables of the adorned copies of a relation."""
    from deltalog.evaluation.goals.adornment import AdornedName

    for each, adornment in made.rewriting.adorned:
        if each == pred:
            yield state.relations.get(Pred(AdornedName(pred.name, adornment), pred.arity))
