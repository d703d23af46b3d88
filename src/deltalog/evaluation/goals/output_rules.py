"""The rules that derive the outputs of a program by magic sets, and why some relations keep all their facts.

    restricted  derived for the questions of rules alone, in adorned copies
    kept        derived in full by rewritten rules: outputs, what rules read without a bound argument, and what the
                program excludes
    complete    derived in full by their own rules: what rules negate or aggregate, what stages read, and all that these
                need

A relation that no output needs is not derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.goals.magic import (
    OutputRewriting,
    magic_sets_of_outputs,
    needed_by,
    read_when_complete,
    show_rules,
)
from deltalog.evaluation.goals.rulebase import Rulebase
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.program.magic_request import MagicRequest
from deltalog.program.stages import OrderedStage


@dataclass(frozen=True)
class OutputRules:
    """Rules by magic sets, and what became of the relations that they were asked for."""

    rewriting: OutputRewriting
    restricted: tuple[Pred, ...]
    excluded: Mapping[Pred, str]

    @property
    def lines(self) -> Iterator[str]:
        """For `deltalog plan`."""
        yield f"magic sets for outputs: {', '.join(pred.name for pred in self.restricted) or 'no relation'}"
        yield from (f"  not {pred.name}: {why}" for pred, why in self.excluded.items())
        if self.restricted:
            yield from (f"  {line}" for line in show_rules(self.rewriting.rules, {}).splitlines())


def output_rules(
    rules: Sequence[Rule],
    outputs: Sequence[Pred],
    stages: Sequence[OrderedStage],
    requests: Sequence[MagicRequest],
    present: Iterable[Pred],
    statistics: Statistics,
) -> OutputRules:
    """The rules for outputs. `present`: the predicates that have facts."""
    in_order = frozenset(pred for stage in stages for pred in stage.preds)
    deriving = Rulebase.of(rules, {*present, *in_order}).deriving
    complete = dict(_complete(deriving, outputs, stages))
    why_kept = _why_kept(requests)
    rewriting = magic_sets_of_outputs(
        deriving, outputs, {*present, *in_order}, statistics, lambda pred: why_kept(pred) is None, complete
    )
    restricted = tuple(sorted({pred for pred, _ in rewriting.adorned if not pred.hidden}))
    asked = (pred for pred in {*deriving, *in_order} if not pred.hidden and _is_requested(pred, requests))

    def reason(pred: Pred) -> str:
        if pred in outputs:
            return "it is an output"
        if pred in in_order:
            return "its facts depend on the order of derivation"
        if pred not in needed_by([*outputs, *complete], deriving):
            return "no output needs it"
        return complete.get(pred) or why_kept(pred) or "a rule reads it without a bound argument"

    return OutputRules(rewriting, restricted, {pred: reason(pred) for pred in sorted(asked) if pred not in restricted})


def _is_requested(pred: Pred, requests: Iterable[MagicRequest]) -> bool:
    return any(not request.names.isdisjoint(("*", pred.name)) for request in requests)


def _why_kept(requests: Sequence[MagicRequest]) -> Callable[[Pred], str | None]:
    """Why programs ask that a relation keeps all facts; parts of rules may always be restricted."""

    def why(pred: Pred) -> str | None:
        reasons = [request.why_kept(pred.name) for request in requests]
        return None if pred.hidden or None in reasons else reasons[0]

    return why


def _complete(
    deriving: Mapping[Pred, Sequence[Rule]], outputs: Iterable[Pred], stages: Iterable[OrderedStage]
) -> Iterator[tuple[Pred, str]]:
    """The predicates that must be complete before others are derived, with the reasons."""
    read_by_stages = {pred for stage in stages for pred in stage.reads}
    roots = {pred: "relations that depend on the order of derivation need it" for pred in read_by_stages}
    negated = read_when_complete(deriving, (*outputs, *read_by_stages))
    roots |= {pred: _of_rule("negates or aggregates", head) for pred, head in negated.items()}
    for root, why in roots.items():
        for pred in needed_by([root], deriving):
            if pred not in roots and not root.hidden:
                yield pred, f"{root.name} needs it, and must be complete: {why}"
            elif pred not in roots:
                yield pred, why
    yield from roots.items()


def _of_rule(what: str, head: Pred) -> str:
    return f"a rule {what} it" if head.hidden else f"a rule of {head.name} {what} it"
