"""The methods of a knowledge base that warn: a base class of `KnowledgeBase`, as `query.methods` is.

Rules are looked at when they come. How rules and data fit together is looked at when something is read for the first
time, because data may come after the rules, and again when rules have changed. An update of facts alone looks at
nothing. Each warning is given once for a knowledge base and its frozen copies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import DataWarning, DeltalogWarning, Diagnostic
from deltalog.core.rules import Pred, Rule, Span
from deltalog.core.user_warnings import warn_of_all
from deltalog.evaluation.graph_relations import without_graphs
from deltalog.formats.files import name_of
from deltalog.program.body_atoms import needs_facts
from deltalog.program.lint import CHECKS, lint
from deltalog.program.lint_data import lint_data

if TYPE_CHECKING:
    from deltalog.core.dictionary import Dictionary
    from deltalog.evaluation.backend import Backend
    from deltalog.languages.protocol import ProgramFile, Unit
    from deltalog.program.rule_set import RuleSet
    from deltalog.program.stages import OrderedStage


class WarningMethods:
    """A knowledge base as far as its warnings are concerned."""

    files: tuple[ProgramFile, ...]
    _stages: tuple[OrderedStage, ...]  # of the programs
    _backend: Backend[Any]
    _lock: CallLock
    _rule_set: RuleSet
    _explicit: dict[Pred, Any]
    _lints: tuple[Diagnostic, ...] = ()  # of all rules there ever were
    _compared: RuleSet | None = None  # the rules that were last compared with data
    _given_names: set[str]  # under which data were given, maybe without rows
    _first_given: int | None = None  # the first id that data may have
    _warned: set[Diagnostic]
    _warns: bool = True  # not where rules are not as the user wrote them

    @property
    @exclusive
    def warnings(self) -> list[Diagnostic]:
        """What is most likely not meant: in the rules, and in how rules and present facts fit together."""
        present = set(self._rule_set.rules)
        gone = [rule.span for rule in self._rule_set.numbers if rule.span is not None and rule not in present]
        lints = [each for each in self._lints if not any(_is_in(each.span, span) for span in gone)]
        return [*lints, *self._data_lints()]

    def _warn_of_rules(self, document: Unit) -> tuple[Diagnostic, ...]:
        """Warns of rules that come; what `_lints` has when they have come."""
        found = (*document.warnings, *lint(document.rules, CHECKS))
        self._warn(found, DeltalogWarning)
        return (*self._lints, *found)

    def _warn_of_data(self) -> None:
        """Warns of rules and data that do not fit together, if rules have changed since that was last looked at."""
        if self._compared is self._rule_set or not self._warns or not self._has_anything:
            return
        self._compared = self._rule_set
        self._warn(self._data_lints(), DataWarning)

    def _data_lints(self) -> tuple[Diagnostic, ...]:
        inputs = (file.predicate for file in self.files if file.predicate and file.kind == "input")
        given = {*self._given_names, *inputs}
        given.update(pred.name for stage in self._stages for pred in stage.preds)
        found = lint_data(self._with_ordered, without_graphs(self._explicit), given)
        return (*found, *self._literal_lints())

    @property
    def _with_ordered(self) -> tuple[Rule, ...]:
        """The rules, and those of stages."""
        return (*self._rule_set.rules, *(rule for stage in self._stages for rule in stage.rules))

    @property
    def _has_anything(self) -> bool:
        """Whether there are facts, or rules that need none."""
        return bool(self._explicit) or not all(needs_facts(rule.body) for rule in self._with_ordered)

    @property
    def _local_dictionary(self) -> Dictionary | None:
        """The values of the facts, unless executors have them."""
        from deltalog.core.dictionary import Dictionary

        dictionary = getattr(self._backend, "dictionary", None)
        return dictionary if isinstance(dictionary, Dictionary) else None

    def _literal_lints(self) -> list[Diagnostic]:
        """Of the data that were given to this knowledge base, if it has their values."""
        dictionary = self._local_dictionary
        if dictionary is None or self._first_given is None:
            return []
        from deltalog.evaluation.goals.ill_typed_literals import ill_typed_literals_of

        return ill_typed_literals_of(dictionary, self._first_given)

    def _warn(self, diagnostics: Collection[Diagnostic], category: type[DeltalogWarning]) -> None:
        new = [each for each in diagnostics if each not in self._warned]
        warn_of_all(new, category)
        self._warned.update(new)

    def _note_names(self, facts: Mapping[str, Any] | Iterable[Path]) -> None:
        """Notes the names of data that may have no rows, and where their values begin."""
        if self._first_given is None and facts:
            dictionary = self._local_dictionary
            self._first_given = 0 if dictionary is None else len(dictionary)
        self._given_names.update(facts if isinstance(facts, Mapping) else _names(facts))


def _is_in(span: Span | None, rule: Span) -> bool:
    return span is not None and span.source is rule.source and rule.start <= span.start <= rule.end


def _names(paths: Iterable[Path]) -> set[str]:
    """The names of files, and of those in folders."""
    files = [inside for path in paths for inside in (path, *(path.iterdir() if path.is_dir() else ()))]
    return {name_of(path).stem for path in files}
