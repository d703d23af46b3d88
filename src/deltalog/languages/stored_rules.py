"""Rule sets as text, to be stored.

A rule is stored as its text in deltalog's own language. Rules of programs in other languages may have none: there are
functions, hidden relations and stages behind them. Such a program is kept as a whole, with the files that it includes,
and its rules are those of it whose text is the one that is stored. If a later release makes other rules of the program,
these take the place of those that it does not make any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import UsageError
from deltalog.core.rules import Atom, HiddenName, Pred, Rule
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.languages.deltalog.parser import parse_document
from deltalog.languages.protocol import KeptText, united
from deltalog.languages.registry import TABLE
from deltalog.languages.rule_map import all_variables
from deltalog.program.rule_set import RuleSet
from deltalog.program.stages import OrderedStage

_LOST = HiddenName("#lost")  # a relation without facts: a rule that reads it keeps its number, and derives nothing
_NO_TEXT = re.compile(rf"<#[a-z]+\\u0020|\b{PREFIX}")  # of a rule with hidden relations, or functions of Soufflé's


@dataclass(frozen=True)
class KeptPrograms:
    """Programs in other languages that are kept as they were written."""

    texts: tuple[KeptText, ...] = ()

    @classmethod
    def needed(cls, programs: Iterable[KeptText]) -> KeptPrograms:
        """Those of some programs that cannot be said in deltalog's own language."""
        return cls(tuple(each for each in dict.fromkeys(programs) if cls((each,))._is_needed))

    @classmethod
    def stored(cls, settings: Mapping[str, Any]) -> KeptPrograms:
        """As settings have them: by the names of their languages."""
        rows = (row for row in TABLE if row.name in settings)
        return cls(tuple(row.language.stored(each) for row in rows for each in settings[row.name]))

    @staticmethod
    def are_in(settings: Mapping[str, Any]) -> bool:
        """Whether settings have any."""
        return any(row.name in settings for row in TABLE)

    @property
    def as_settings(self) -> dict[str, Any]:
        names = dict.fromkeys(each.language for each in self.texts)
        return {name: [each.as_json for each in self.texts if each.language == name] for name in names}

    def adding(self, programs: Iterable[KeptText]) -> KeptPrograms:
        """With more programs, as far as that is needed; itself if it has them all."""
        more = [each for each in KeptPrograms.needed(programs).texts if each not in self.texts]
        return KeptPrograms((*self.texts, *more)) if more else self

    @cached_property
    def _read(self) -> tuple[tuple[Rule, ...], tuple[OrderedStage, ...]]:
        unit = united([each.read_again() for each in self.texts])
        return tuple(rule for rule in unit.rules if not rule.is_fact), unit.stages

    @property
    def _is_needed(self) -> bool:
        return bool(self.stages) or not all(map(_has_text, self._read[0]))

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """The ordinary rules by their texts."""
        return {str(rule): rule for rule in self._read[0]}

    @property
    def stages(self) -> tuple[OrderedStage, ...]:
        return self._read[1]

    @property
    def preds(self) -> frozenset[Pred]:
        """The relations of stages."""
        return frozenset(pred for stage in self.stages for pred in stage.preds if not pred.hidden)

    def rule(self, text: str) -> Rule:
        """A rule from its text. Other than those of these programs it has no place: the file and the line where it was
        first written are not stored."""
        if (known := self.rules.get(text)) is not None:
            return known
        if self.texts and _NO_TEXT.search(text):
            return Rule((Atom(HiddenName(f"#lost {text}"), ()),), (Atom(_LOST, ()),))
        return replace(parse_document(text).rules[0], span=None)

    def completed(self, rules: RuleSet) -> RuleSet:
        """A rule set without rules that this release does not make of the programs, but with those that it does."""
        if not any(_is_lost(rule) for rule in rules.rules):
            return rules
        new = (rule for rule in self.rules.values() if rule not in rules.numbers)
        return rules.becoming([*(rule for rule in rules.rules if not _is_lost(rule)), *new])

    def check_storable(self, rules: Iterable[Rule]) -> None:
        """UsageError for a rule that would not be the same again."""
        for rule in rules:
            if not _has_text(rule) and self.rules.get(str(rule)) != rule:
                where = f" at {rule.span}" if rule.span else ""
                raise UsageError(
                    f"the rule{where} has no text in the language of stores; write the facts with --out or "
                    "kb.write_outputs instead"
                )


def _is_lost(rule: Rule) -> bool:
    return any(pred.name == _LOST for pred in rule.reads)


def _has_text(rule: Rule) -> bool:
    """Whether a rule can be said in deltalog's own language: without hidden relations, functions of Soufflé's, and
    variables that were renamed."""
    preds = (*rule.reads, *(head.pred for head in rule.heads))
    renamed = any("#" in v.name and not v.anonymous for literal in rule.body for v in all_variables(literal))
    return PREFIX not in str(rule) and not renamed and not any(pred.hidden for pred in preds)


@dataclass(frozen=True, slots=True)
class StoredRules:
    """A rule set: the text of every rule there ever was, in the order of ids, and the numbers of present ones."""

    texts: tuple[str, ...] = ()
    present: tuple[int, ...] = ()

    @classmethod
    def of(cls, rules: RuleSet) -> StoredRules:
        texts = tuple(str(rule) for rule, _ in sorted(rules.numbers.items(), key=lambda pair: pair[1]))
        return cls(texts, tuple(rules.numbers[rule] for rule in rules.rules))

    def rule_set(self, kept: KeptPrograms) -> RuleSet:
        known = list(map(kept.rule, self.texts))
        ids = {f"r{number}": known[number - 1] for number in self.present}
        numbers = {rule: number for number, rule in enumerate(known, 1)}
        return kept.completed(RuleSet(ids, numbers, tuple(ids.values())))
