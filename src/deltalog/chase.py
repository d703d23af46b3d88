"""The restricted chase: existential rules invent a value only where none fits.

A rule h(x, v) <- b(x, y) with a new variable v holds where some value for v is known already. So there is a rule

    trigger(x) <- b(x, y), NOT (h(x, v))

whose facts are derived after all others, and each gives a fact h(x, n) with a new blank node n. These are added as
explicit facts, and everything else is derived again, incrementally, until there is no trigger:

    until no rule of any stratum has triggers:
        take the first stratum that has, and its first rule that has: add the heads of all its triggers

Rules without new values are evaluated first, always; so facts that they derive satisfy triggers. Strata are those of
the program: a negation sees all values that lower strata invent. Which values are invented depends on the order of
rules, as in every restricted chase; with `KnowledgeBase`, the same program is evaluated by SKOLEM (the Skolem chase),
which is independent of any order and may invent more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from deltalog.kb import KnowledgeBase
from deltalog.model.errors import DeltalogWarning
from deltalog.model.terms import BlankNode, Value
from deltalog.nemo.program import TRIGGER, ExistentialRule, NemoProgram
from deltalog.program.core_rules import core_rules
from deltalog.program.dependency import DependencyGraph
from deltalog.program.load_program import Documents
from deltalog.syntax.ast import Atom, NegatedBody, Rule, Variable


@dataclass(frozen=True)
class Trigger:
    """An existential rule, and the rule for its triggers."""

    rule: ExistentialRule
    trigger: Rule

    @classmethod
    def of(cls, rule: ExistentialRule, number: int) -> Trigger:
        head = Atom(f"{TRIGGER}{number}", rule.frontier)
        return cls(rule, Rule((head,), (*rule.body, NegatedBody(rule.heads))))

    def facts(self, rows: Sequence[tuple[Value, ...]], names: Iterator[int]) -> Iterator[tuple[str, tuple[Value, ...]]]:
        """The heads for triggers, with new blank nodes."""
        for row in rows:
            values = dict(zip(self.rule.frontier, row, strict=True))
            values.update((variable, BlankNode(f"n{next(names)}")) for variable in self.rule.new)
            for head in self.rule.heads:
                yield head.name, tuple(values[t] if isinstance(t, Variable) else t.value for t in head.terms)


def restricted(document: Documents, **options: Any) -> KnowledgeBase:
    """A knowledge base for `chase`: the rules of a document with triggers in the place of existential rules, and the
    facts that it imports."""
    skolem = {rule.skolem for program in document.nemo for rule in program.existential}
    rules = [
        *(rule for rule in document.rules if rule not in skolem),
        *(each.trigger for each in _triggers(document.nemo)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltalogWarning)  # about rules that the user did not write
        kb = KnowledgeBase("\n".join(map(str, rules)), language="deltalog", **options)
    kb._warns = False
    kb.prefixes, kb.nemo = document.prefixes, document.nemo
    kb.load_imports()
    return kb


def chase(kb: KnowledgeBase) -> None:
    """Adds the values that existential rules invent, and everything that follows."""
    triggers, names = _triggers(kb.nemo), count()
    ordered = _by_stratum(kb, triggers)
    while (found := next(((each, rows) for each in ordered if (rows := _rows(kb, each))), None)) is not None:
        facts: dict[str, list[tuple[Value, ...]]] = {}
        for name, row in found[0].facts(found[1], names):
            facts.setdefault(name, []).append(row)
        kb.update(add=facts)
    kb.remove_rules([str(each.trigger) for each in triggers])


def _triggers(programs: Sequence[NemoProgram]) -> list[Trigger]:
    rules = (rule for program in programs for rule in program.existential)
    return [Trigger.of(rule, number) for number, rule in enumerate(rules)]


def _rows(kb: KnowledgeBase, trigger: Trigger) -> list[tuple[Value, ...]]:
    """The triggers of a rule, in an order that is always the same."""
    return sorted(kb.facts(trigger.trigger.heads[0].name), key=repr)


def _by_stratum(kb: KnowledgeBase, triggers: Sequence[Trigger]) -> list[Trigger]:
    """Triggers in the order of the strata of the predicates that their rules derive, then as written."""
    rules = [*kb.rules, *(each.rule.skolem for each in triggers)]
    graph = DependencyGraph.of([core for rule in rules for core in core_rules(rule)])
    place = {pred: i for i, stratum in enumerate(graph.strata) for pred in stratum.preds}
    return sorted(triggers, key=lambda each: max(place.get(head.pred, -1) for head in each.rule.heads))
