"""Rule sets as text, to be stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from deltalog.expressions.souffle_functors import PREFIX
from deltalog.model.errors import UsageError
from deltalog.program.rule_set import RuleSet
from deltalog.syntax.ast import Rule
from deltalog.syntax.parser import parse_document


def stored_rule(text: str) -> Rule:
    """A rule from its text. It has no place: the file and the line where it was first written are not stored."""
    return replace(parse_document(text).rules[0], span=None)


def check_storable(rules: Iterable[Rule]) -> None:
    """UsageError for a rule that has no text: one with a hidden relation or a function of Soufflé's language."""
    for rule in rules:
        text = str(rule)
        if f"{PREFIX}" in text or any(pred.hidden for pred in (*rule.reads, *(head.pred for head in rule.heads))):
            where = f" at {rule.span}" if rule.span else ""
            raise UsageError(
                f"the rule{where} of a Soufflé program has no text in the language of stores (it has arithmetic of 32 "
                "bits, records or an aggregate); write the facts with --out or kb.write_outputs instead"
            )


@dataclass(frozen=True, slots=True)
class StoredRules:
    """A rule set: the text of every rule there ever was, in the order of ids, and the numbers of present ones."""

    texts: tuple[str, ...] = ()
    present: tuple[int, ...] = ()

    @classmethod
    def of(cls, rules: RuleSet) -> StoredRules:
        texts = tuple(str(rule) for rule, _ in sorted(rules.numbers.items(), key=lambda pair: pair[1]))
        return cls(texts, tuple(rules.numbers[rule] for rule in rules.rules))

    def rule_set(self) -> RuleSet:
        known = list(map(stored_rule, self.texts))
        ids = {f"r{number}": known[number - 1] for number in self.present}
        return RuleSet(ids, {rule: number for number, rule in enumerate(known, 1)}, tuple(ids.values()))
