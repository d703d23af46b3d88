"""The restricted chase: existential rules invent a value only where none fits.

A rule h(x, v) <- b(x, y) with a new variable v holds where some value for v is known already. So there is a rule

    trigger(x) <- b(x, y), NOT (h(x, v))

whose facts are derived after all others, and each gives a fact h(x, n) with a new blank node n. These are added as
explicit facts, and everything else is derived again, incrementally, until there is no trigger:

    for each stratum, until none of its rules has triggers:
        take its rules in turn, and a rule whose heads are in its own body again and again until it has none:
        add the heads of all its triggers

Rules without new values are evaluated first, always; so facts that they derive satisfy triggers. Strata are those of
the program: a negation sees all values that lower strata invent. Which values are invented depends on the order of
rules, as in every restricted chase; with `KnowledgeBase`, the same program is evaluated by SKOLEM (the Skolem chase),
which is independent of any order and may invent more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from deltalog.engine.encode_facts import encode_facts_of
from deltalog.kb import KnowledgeBase
from deltalog.model.errors import DeltalogWarning, UsageError
from deltalog.model.terms import IRI, BlankNode, Value, lexical
from deltalog.nemo.program import TRIGGER, ExistentialRule, NemoProgram
from deltalog.program.body_atoms import negative, positive
from deltalog.program.core_rules import core_rules
from deltalog.program.load_program import Documents
from deltalog.program.program import analyse
from deltalog.syntax.ast import Atom, NegatedBody, Pred, Rule, Variable


@dataclass(frozen=True)
class Trigger:
    """An existential rule, and the rule for its triggers."""

    rule: ExistentialRule
    trigger: Rule

    @classmethod
    def of(cls, rule: ExistentialRule, number: int) -> Trigger:
        head = Atom(f"{TRIGGER}{number}", rule.frontier)
        return cls(rule, Rule((head,), (*rule.body, NegatedBody(rule.heads))))

    @property
    def is_recursive(self) -> bool:
        """Whether a predicate of the heads is in the body."""
        names = {(head.name, len(head.terms)) for head in self.rule.heads}
        return any(isinstance(each, Atom) and (each.name, len(each.terms)) in names for each in self.rule.body)

    def facts(self, rows: Sequence[tuple[Value, ...]], names: Iterator[int]) -> Iterator[tuple[str, tuple[Value, ...]]]:
        """The heads for triggers, with new blank nodes."""
        for row in rows:
            values = dict(zip(self.rule.frontier, row, strict=True))
            values.update((variable, BlankNode(str(next(names)))) for variable in self.rule.new)
            for head in self.rule.heads:
                yield head.name, tuple(values[t] if isinstance(t, Variable) else t.value for t in head.terms)


def restricted(document: Documents, **options: Any) -> KnowledgeBase:
    """A knowledge base for `chase`: the rules of a document with triggers in the place of existential rules, the facts
    that it imports, and the files that it names."""
    if document.stages:
        raise UsageError(
            "existential rules of Nemo cannot be evaluated together with a Soufflé program that has choice-domain, "
            "subsumption, .limitsize, autoinc() or the like; run that first, and give its facts with --data"
        )
    analyse(document.rules)
    skolem = {rule.skolem for program in document.nemo for rule in program.existential}
    rules = [
        *(rule for rule in document.rules if rule not in skolem),
        *(each.trigger for each in _triggers(document.nemo)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltalogWarning)  # about rules that the user did not write
        kb = KnowledgeBase(**options)
    kb._warns = False
    kb._rule_set, kb._mentioned = kb._rule_set.adding(rules), kb._mentioned | analyse(rules).preds
    kb._add(encode_facts_of(rules, kb._backend))
    kb.prefixes, kb.nemo, kb.files = document.prefixes, document.nemo, document.files
    kb.directives, kb.notes = document.directives, document.notes
    kb._column_names, kb._declared_columns = dict(document.columns), frozenset(document.columns)
    kb._mentioned |= kb._declared_columns
    kb.load_imports()
    return kb


def chase(kb: KnowledgeBase) -> None:
    """Adds the values that existential rules invent, and everything that follows."""
    triggers, names = _triggers(kb.nemo), count(kb._imported_nulls)
    with kb.limits.running("the chase"):
        for stratum in _by_stratum(kb, triggers):
            while any([_apply(kb, trigger, names) for trigger in stratum]):
                pass
    kb.remove_rules([str(each.trigger) for each in triggers])


def _apply(kb: KnowledgeBase, trigger: Trigger, names: Iterator[int]) -> bool:
    """Adds the heads of all triggers of a rule; of those that it has then, too, if it is recursive."""
    applied = False
    while rows := _rows(kb, trigger):
        facts: dict[str, list[tuple[Value, ...]]] = {}
        for name, row in trigger.facts(rows, names):
            facts.setdefault(name, []).append(row)
        kb.update(add=facts)
        applied = True
        if not trigger.is_recursive:
            break
    return applied


def _triggers(programs: Sequence[NemoProgram]) -> list[Trigger]:
    rules = (rule for program in programs for rule in program.existential)
    return [Trigger.of(rule, number) for number, rule in enumerate(rules)]


def _rows(kb: KnowledgeBase, trigger: Trigger) -> list[tuple[Value, ...]]:
    """The triggers of a rule, in an order that is always the same."""
    return sorted(kb.facts(trigger.trigger.heads[0].name), key=lambda row: [*map(_place, row)])


def _place(value: Value) -> tuple[int, float, str]:
    """The place of a value in the order of triggers: IRIs and literals, then new values by their age, then numbers."""
    match value:
        case BlankNode() if (label := lexical(value)).isdigit():
            return 1, int(label), ""
        case int() | float() if not isinstance(value, bool):
            return 2, value, ""
        case _:
            return 0, isinstance(value, str) and not isinstance(value, IRI), repr(value)


def _by_stratum(kb: KnowledgeBase, triggers: Sequence[Trigger]) -> list[list[Trigger]]:
    """Triggers by strata: rules whose values a negation or an aggregate sees come before it. Within one, they are as
    written."""
    rules = [core for rule in (*kb.rules, *(each.rule.skolem for each in triggers)) for core in core_rules(rule)]
    strata = _strata(rules)
    found: dict[int, list[Trigger]] = {}
    for each in triggers:
        found.setdefault(_stratum(each.rule.skolem, strata), []).append(each)
    return [found[number] for number in sorted(found)]


def _strata(rules: Sequence[Rule]) -> dict[Pred, int]:
    """The number of negations and aggregates on the longest way to each predicate of a program that is stratified."""
    strata: dict[Pred, int] = {}
    changed = True
    while changed:
        changed = False
        for rule in rules:
            number = _stratum(rule, strata)
            for head in rule.heads:
                if strata.get(head.pred, 0) < number:
                    strata[head.pred], changed = number, True
    return strata


def _stratum(rule: Rule, strata: Mapping[Pred, int]) -> int:
    """The stratum of a rule, by those of the predicates of its body."""
    positive_ones = (strata.get(atom.pred, 0) for atom in positive(rule.body))
    return max((*positive_ones, *(strata.get(atom.pred, 0) + 1 for atom, _ in negative(rule.body))), default=0)
