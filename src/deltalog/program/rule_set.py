"""The rules of a knowledge base by id: r1, r2, ... in the order in which they were first given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import UsageError
from deltalog.core.existential import ordinary_rules
from deltalog.core.rules import Pred, Rule
from deltalog.languages.load_program import read_documents

MAX_COMPARED = 200  # rules with the same head
_RULE_ID = re.compile(r"r[0-9]+")


@dataclass(frozen=True)
class RuleSet:
    """Rules by id, each once. An id never changes: a rule that was removed and comes back has the id it had before."""

    ids: Mapping[str, Rule] = field(default_factory=dict)
    numbers: Mapping[Rule, int] = field(default_factory=dict)  # of all rules there ever were
    rules: tuple[Rule, ...] = ()

    @cached_property
    def ordinary(self) -> tuple[Rule, ...]:
        """The rules without existential ones."""
        return ordinary_rules(self.rules)

    @property
    def preds(self) -> frozenset[Pred]:
        """The predicates of all rules there ever were."""
        heads = frozenset(head.pred for rule in self.numbers for head in rule.heads)
        return heads.union(*(rule.reads for rule in self.numbers))

    def adding(self, rules: Iterable[Rule]) -> RuleSet:
        """The rule set with more rules (facts among them are left out); itself if it has them all."""
        new = dict.fromkeys(rule for rule in rules if not rule.is_fact)
        if not new:
            return self
        ids, numbers = dict(self.ids), dict(self.numbers)
        for rule in new:
            name = f"r{numbers.setdefault(rule, len(numbers) + 1)}"
            ids.setdefault(name, rule)
        return RuleSet(ids, numbers, tuple(ids.values())) if len(ids) > len(self.ids) else self

    def without(self, other: RuleSet) -> dict[str, Rule]:
        """The rules by id that another rule set does not have; both have the same history."""
        return {} if self is other else {name: rule for name, rule in self.ids.items() if name not in other.ids}

    def becoming(self, rules: Iterable[Rule]) -> RuleSet:
        """The rule set with exactly these rules (facts among them are left out); itself if it has no others."""
        wanted = {rule for rule in rules if not rule.is_fact}
        more = self.adding(rules)
        left = {name: rule for name, rule in more.ids.items() if rule in wanted}
        return RuleSet(left, more.numbers, tuple(left.values())) if len(left) < len(more.ids) else more

    def removing(self, sources: Sequence[str | Path]) -> tuple[RuleSet, list[Rule]]:
        """The rule set without rules that are given by id, text or file, and the facts among them; itself if nothing
        goes. UsageError if there is no such rule."""
        if not sources:
            return self, []
        left, texts = dict(self.ids), []
        for source in sources:
            if isinstance(source, str) and source.strip() in self.ids:
                left.pop(source.strip(), None)
            elif isinstance(source, str) and _RULE_ID.fullmatch(source.strip()):
                raise self._no_rule(source.strip())
            else:
                texts.append(source)
        document = read_documents(texts, includes=False)
        if document.stages:
            raise UsageError(
                "rules with choice-domain, subsumption, .limitsize, autoinc() or the like cannot be removed; make a "
                "new KnowledgeBase with the other rules"
            )
        given = document.rules
        for rule in (rule for rule in given if not rule.is_fact):
            name = f"r{self.numbers.get(rule)}"
            if name not in self.ids:
                raise UsageError(f"there is no such rule to remove: {rule}{self._near(rule)}")
            left.pop(name, None)
        after = RuleSet(left, self.numbers, tuple(left.values())) if len(left) < len(self.ids) else self
        return after, [rule for rule in given if rule.is_fact]

    def _no_rule(self, name: str) -> UsageError:
        removed = " any more" if int(name[1:]) in self.numbers.values() else ""
        known = (
            f"there are {', '.join([*self.ids][:5])}{', ...' * (len(self.ids) > 5)}" if self.ids else "there are none"
        )
        return UsageError(
            f"there is no rule {name}{removed}; {known}; kb.rule_ids and `deltalog store rules` list them"
        )

    def _near(self, rule: Rule) -> str:
        """The rules that resemble one that is not there."""
        from difflib import get_close_matches

        wanted = {head.name for head in rule.heads}
        texts = {str(each): name for name, each in self.ids.items() if wanted & {head.name for head in each.heads}}
        near = get_close_matches(str(rule), list(texts)[:MAX_COMPARED], 1, 0.5)
        return f"; did you mean {texts[near[0]]}, {near[0]}" if near else "; kb.rule_ids lists the rules"
