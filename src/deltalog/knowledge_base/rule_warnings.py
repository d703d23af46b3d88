"""Warnings about rules and data that are most likely not meant.

Rules are looked at when they come. How rules and data fit together is looked at when something is read for the first
time, because data may come after the rules, and again when rules have changed. An update of facts alone looks at
nothing. Each warning is given once for a knowledge base and its frozen copies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataWarning, DeltalogWarning, Diagnostic
from deltalog.core.rules import Rule, Span
from deltalog.core.user_warnings import warn_of_all
from deltalog.evaluation.state import State
from deltalog.extensions.graphs.relations import without_graphs
from deltalog.formats.files import name_of
from deltalog.program.body_atoms import needs_facts
from deltalog.program.lint import CHECKS, lint
from deltalog.program.lint_data import lint_data

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.knowledge_base.session import Session
    from deltalog.languages.protocol import ProgramUnit
    from deltalog.program.rule_set import RuleSet


class RuleWarnings:
    """What was looked at, and what was said of it."""

    def __init__(self) -> None:
        self.lints: tuple[Diagnostic, ...] = ()  # of all rules there ever were
        self.compared: RuleSet | None = None  # the rules that were last compared with data
        self._given_names: set[str] = set()  # under which data were given, maybe without rows
        self._first_given: int | None = None  # the first id that data may have
        self._warned: set[Diagnostic] = set()

    def present(self, session: Session) -> list[Diagnostic]:
        """All that is to be said of the present rules, and of how rules and present facts fit together."""
        rule_set = session.state.rule_set
        present = set(rule_set.rules)
        gone = [rule.span for rule in rule_set.numbers if rule.span is not None and rule not in present]
        lints = [each for each in self.lints if not any(_is_in(each.span, span) for span in gone)]
        return [*lints, *self._data_lints(session)]

    def warn_of_rules(self, document: ProgramUnit) -> tuple[Diagnostic, ...]:
        """Warns of rules that come; what `lints` has when they have come."""
        found = (*document.warnings, *lint(document.rules, CHECKS))
        self._warn(found, DeltalogWarning)
        return (*self.lints, *found)

    def warn_of_data(self, session: Session) -> None:
        """Warns of rules and data that do not fit together, if rules have changed since that was last looked at."""
        rule_set = session.state.rule_set
        if self.compared is rule_set or not _has_anything(session.state):
            return
        self.compared = rule_set
        self._warn(self._data_lints(session), DataWarning)

    def _data_lints(self, session: Session) -> tuple[Diagnostic, ...]:
        document, state = session.document, session.state
        inputs = (file.predicate for file in document.files if file.predicate and file.kind == "input")
        given = {*self._given_names, *inputs}
        given.update(pred.name for stage in state.ordered for pred in stage.preds)
        found = lint_data(_with_ordered(state), without_graphs(state.explicit), given)
        return (*found, *self._literal_lints(session.backend))

    def _literal_lints(self, backend: Backend[Any]) -> list[Diagnostic]:
        """Of the data that were given to this knowledge base, if it has their values."""
        dictionary = _local_dictionary(backend)
        if dictionary is None or self._first_given is None:
            return []
        from deltalog.evaluation.goals.ill_typed_literals import ill_typed_literals_of

        return ill_typed_literals_of(dictionary, self._first_given)

    def _warn(self, diagnostics: Collection[Diagnostic], category: type[DeltalogWarning]) -> None:
        new = [each for each in diagnostics if each not in self._warned]
        warn_of_all(new, category)
        self._warned.update(new)

    def note_names(self, facts: Mapping[str, Any] | Iterable[Path], backend: Backend[Any]) -> None:
        """Notes the names of data that may have no rows, and where their values begin."""
        if self._first_given is None and facts:
            dictionary = _local_dictionary(backend)
            self._first_given = 0 if dictionary is None else len(dictionary)
        self._given_names.update(facts if isinstance(facts, Mapping) else _names(facts))


def _with_ordered(state: State[Any]) -> tuple[Rule, ...]:
    """The rules, and those of stages."""
    return (*state.rule_set.rules, *(rule for stage in state.ordered for rule in stage.rules))


def _has_anything(state: State[Any]) -> bool:
    """Whether there are facts, or rules that need none."""
    return bool(state.explicit) or not all(needs_facts(rule.body) for rule in _with_ordered(state))


def _local_dictionary(backend: Backend[Any]) -> Dictionary | None:
    """The values of the facts, unless executors have them."""
    dictionary = getattr(backend, "dictionary", None)
    return dictionary if isinstance(dictionary, Dictionary) else None


def _is_in(span: Span | None, rule: Span) -> bool:
    return span is not None and span.source is rule.source and rule.start <= span.start <= rule.end


def _names(paths: Iterable[Path]) -> set[str]:
    """The names of files, and of those in folders."""
    files = [inside for path in paths for inside in (path, *(path.iterdir() if path.is_dir() else ()))]
    return {name_of(path).stem for path in files}
