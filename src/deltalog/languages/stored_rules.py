"""Rule sets as text, to be stored.

A rule is stored as its text in deltalog's own language. Rules of Soufflé programs may have none: there are functions,
hidden relations and stages behind them. Such a program is kept as a whole, with the files that it includes, and its
rules are those of it whose text is the one that is stored. If a later release makes other rules of the program, these
take the place of those that it does not make any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import UsageError
from deltalog.core.rules import (
    Aggregate,
    Atom,
    BodyLiteral,
    Disjunction,
    HiddenName,
    NegatedBody,
    Pred,
    Rule,
    Variable,
    variables,
)
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.languages.deltalog.parser import parse_document
from deltalog.languages.souffle.program_text import ProgramText
from deltalog.languages.souffle.rules import souffle_rules
from deltalog.program.rule_set import RuleSet
from deltalog.program.stages import OrderedStage

SETTING = "souffle"  # the name under which programs are stored among settings
_LOST = HiddenName("#lost")  # a relation without facts: a rule that reads it keeps its number, and derives nothing
_NO_TEXT = re.compile(rf"<#[a-z]+\\u0020|\b{PREFIX}")  # of a rule with hidden relations, or functions of Soufflé's


@dataclass(frozen=True)
class KeptPrograms:
    """Soufflé programs that are kept as they were written."""

    texts: tuple[ProgramText, ...] = ()

    @classmethod
    def needed(cls, programs: Iterable[ProgramText]) -> KeptPrograms:
        """Those of some programs that cannot be said in deltalog's own language."""
        return cls(tuple(each for each in dict.fromkeys(programs) if cls((each,))._is_needed))

    @classmethod
    def stored(cls, settings: Mapping[str, Any]) -> KeptPrograms:
        """As settings have them."""
        return cls(tuple(map(ProgramText.of_json, settings.get(SETTING, ()))))

    @property
    def as_settings(self) -> dict[str, Any]:
        return {SETTING: [each.as_json for each in self.texts]} if self.texts else {}

    def adding(self, programs: Iterable[ProgramText]) -> KeptPrograms:
        """With more programs, as far as that is needed; itself if it has them all."""
        more = [each for each in KeptPrograms.needed(programs).texts if each not in self.texts]
        return KeptPrograms((*self.texts, *more)) if more else self

    @cached_property
    def _read(self) -> tuple[tuple[Rule, ...], tuple[OrderedStage, ...]]:
        from deltalog.languages.souffle.program import read_again

        found = [souffle_rules(read_again(each)) for each in self.texts]
        rules = tuple(rule for each, _ in found for rule in each if not rule.is_fact)
        return rules, tuple(stage for _, each in found for stage in each)

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
    renamed = any("#" in v.name and not v.anonymous for v in _variables(rule.body))
    return PREFIX not in str(rule) and not renamed and not any(pred.hidden for pred in preds)


def _variables(body: Iterable[BodyLiteral]) -> Iterator[Variable]:
    """All variables of a body, also of bodies inside of it."""
    for literal in body:
        yield from variables(literal)
        match literal:
            case Aggregate(inner) | NegatedBody(inner):
                yield from _variables(inner)
            case Disjunction(alternatives):
                yield from (variable for inner in alternatives for variable in _variables(inner))


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
