"""The outputs of programs, derived alone, by magic sets.

The rules of a knowledge base stay as they are. What is derived here is a second state, with all facts of the outputs.
Relations that it has in part are not read from it. It is used while there is no materialisation, and made again when
rules or explicit facts have changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltalog.core.rules import Pred
from deltalog.evaluation.failed_expressions import failed_expressions
from deltalog.evaluation.report import MagicSetsUse, Report
from deltalog.knowledge_base.session import Session

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.evaluation.goals.output_rules import OutputRules
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.program.rule_set import RuleSet

NOT_USED = MagicSetsUse(unused="all relations are derived; kb.materialise_outputs() derives what outputs need")


@dataclass(frozen=True)
class DerivedOutputs:
    """What outputs need, derived from rules and explicit facts."""

    rule_set: RuleSet
    explicit: dict[Pred, Any]
    state: Materialisation[Any]
    report: Report
    whole: frozenset[Pred]  # the relations that it has in full


def materialise_outputs(session: Session, partial: bool = False) -> None:
    """Derives what the outputs of programs need, if the programs ask for it; otherwise everything that follows."""
    if not session.document.magic or session.state.materialised is not None:
        session.materialise_if_needed(partial)
    elif why := _why_not(session):
        session.materialise_if_needed(partial)
        session.state.report.magic_sets = MagicSetsUse(unused=why)
    elif (known := known_outputs(session)) is None or not (partial or known.report.complete):
        session.run("derive_outputs", lambda: _derive(session, partial))


def _why_not(session: Session) -> str:
    """Why outputs cannot be derived alone; empty if they can."""
    if session.engine == "naive":
        return "the naive engine evaluates the rules as they are"
    if not output_preds(session):
        return "the program has no .output or .printsize"
    rewritten = all(rule.is_rewritten for rule in session.rules)
    if not rewritten or any(file.pred is None for file in session.document.files):
        return "not all rules are those of Soufflé programs"
    return "" if _rules(session).restricted else _nothing_restricted(session)


def _nothing_restricted(session: Session) -> str:
    reasons = [f"{pred.name}: {why}" for pred, why in _rules(session).excluded.items()]
    return f"they would restrict no relation ({'; '.join(reasons) or 'rules derive none that they are asked for'})"


def output_preds(session: Session) -> list[Pred]:
    """The predicates of outputs that programs declare."""
    files = session.document.files
    return list(dict.fromkeys(file.pred for file in files if file.kind != "input" and file.pred is not None))


def _rules(session: Session) -> OutputRules:
    from deltalog.evaluation.goals.output_rules import output_rules
    from deltalog.evaluation.maintenance.materialisation import start
    from deltalog.evaluation.plan.statistics import PartialStatistics

    backend, explicit, state = session.backend, session.state.explicit, session.state
    present = [pred for pred, table in explicit.items() if backend.size(table)]
    statistics = PartialStatistics(start(explicit, backend))
    outputs, magic = output_preds(session), session.document.magic
    return output_rules(session.rules, outputs, state.ordered, magic, present, statistics)


def known_outputs(session: Session) -> DerivedOutputs | None:
    """What was derived for outputs, if it is still so."""
    known, state = session.outputs, session.state
    same = known is not None and known.rule_set is state.rule_set and known.explicit is state.explicit
    return known if same else None


def _derive(session: Session, partial: bool) -> None:
    from deltalog.evaluation.encode_facts import encode_facts_of
    from deltalog.evaluation.maintenance.apply_change import number_kinds
    from deltalog.program import analyse

    backend, state = session.backend, session.state
    backend.failures.restore({})
    made = _rules(session)
    rules = [rule for rule in made.rewriting.rules if not rule.is_fact]
    explicit = state.explicit | encode_facts_of(made.rewriting.rules, backend)
    numbers = number_kinds(explicit, backend)
    report = session.new_report()
    evaluator = replace(session.evaluator(), counts_hidden=True)
    derived = session.setting.materialise(
        lambda: analyse(rules, explicit, session.schemes, numbers=numbers), explicit, evaluator, report, partial
    )
    given = (pred for pred in state.explicit if not any(each == pred for each, _ in made.rewriting.adorned))
    whole = frozenset(pred for pred in (*made.rewriting.whole, *given) if not pred.hidden)
    _describe(session, report, made, derived, whole)
    session.outputs = DerivedOutputs(state.rule_set, state.explicit, derived, report, whole)
    session.state = replace(state, report=report)


def _describe(
    session: Session, report: Report, made: OutputRules, derived: Materialisation[Any], whole: frozenset[Pred]
) -> None:
    """Fills in the report."""
    size, explicit = session.backend.size, session.state.explicit
    restricted = {pred.name: sum(map(size, _copies(pred, made, derived))) for pred in made.restricted}
    excluded = {pred.name: why for pred, why in made.excluded.items()}
    report.magic_sets = MagicSetsUse(restricted, excluded)
    report.per_predicate = {pred.name: size(derived.facts.get(pred)) for pred in sorted(whole)}
    given = sum(size(table) for pred, table in explicit.items() if pred not in whole and not pred.hidden)
    report.facts_total = sum(report.per_predicate.values()) + sum(restricted.values()) + given
    report.failures = failed_expressions(session.backend.failures, session.state.rule_set.ids)
    report.failed_expressions = sum(each.count for each in report.failures)
    report.engine_reason = session.engine_reason


def contents_with(session: Session, predicate: str) -> Contents[Any]:
    """The contents with all facts of a predicate: of what outputs need, or of everything."""
    contents = session.contents()
    if not session.document.magic or session.state.materialised is not None:
        return contents.materialised()
    pred = contents.names().find(predicate)
    return contents_of_outputs(session) if pred in output_preds(session) else contents.materialised()


def contents_of_outputs(session: Session) -> Contents[Any]:
    """The contents with all facts of outputs."""
    if session.document.magic and session.state.materialised is None:
        materialise_outputs(session)
        session.warn_of_data()
    known = known_outputs(session)
    if session.state.materialised is not None or known is None:
        return session.contents().materialised()
    return replace(session.contents(), state=known.state, report=known.report)


def plan_of_outputs(session: Session) -> Iterator[str]:
    """How outputs would be derived, if a program asks for magic sets."""
    if session.document.magic and output_preds(session):
        yield from _rules(session).lines


def _copies(pred: Pred, made: OutputRules, state: Materialisation[Any]) -> Iterator[Any]:
    """The tables of the adorned copies of a relation."""
    from deltalog.evaluation.goals.adornment import AdornedName

    for each, adornment in made.rewriting.adorned:
        if each == pred:
            yield state.relations.get(Pred(AdornedName(pred.name, adornment), pred.arity))
