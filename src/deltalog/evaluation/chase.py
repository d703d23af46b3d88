"""The restricted chase: existential rules invent a value only where none fits.

A rule h(x, v) <- b(x, y) with a new variable v holds where some value for v is known already. So there is a rule

    trigger(x) <- b(x, y), NOT (h(x, v))

whose facts are derived after all others, and each gives a fact h(x, n) with a new blank node n. These are added, and
everything else is derived again, incrementally, until there is no trigger:

    for each stratum, until none of its rules has triggers:
        take its rules in turn, and a rule whose heads are in its own body again and again until it has none:
        add the heads of all its triggers

Rules without new values are evaluated first, always; so facts that they derive satisfy triggers. Strata are those of
the program: a negation sees all values that lower strata invent. Which values are invented depends on the order of
rules, as in every restricted chase. Their names do not: a rule invents a value at most once for the values that its
heads share with its body, and these name it.

A change is followed by the facts and rules before any value is invented. If it does not reach what triggers depend on,
the values stay as they are; otherwise they are invented anew from there, as many as without a history.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.existential import ExistentialRule, existential_rules, ordinary_rules
from deltalog.core.rule_text import print_rule
from deltalog.core.rules import TRIPLES, TYPES, Atom, HiddenName, NegatedBody, Pred, Rule, Variable
from deltalog.core.terms import IRI, BlankNode, Value, lexical
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.equality.materialise import EqualMaterialisation, changed_relations
from deltalog.evaluation.facts import rows
from deltalog.evaluation.maintenance.materialisation import ChangedFacts, Materialisation
from deltalog.evaluation.maintenance.ordinary_rules import OrdinaryRules
from deltalog.evaluation.maintenance.update_state import Update, UpdateReport
from deltalog.evaluation.report import Report
from deltalog.functions.scalar import evaluate
from deltalog.program import analyse
from deltalog.program.body_atoms import negative, positive
from deltalog.program.core_rules import core_rules

T = TypeVar("T")
Nulls = dict[Value, int]  # invented values by their age


@dataclass(frozen=True)
class Trigger:
    """An existential rule, and the rule for its triggers."""

    rule: ExistentialRule
    trigger: Rule

    @classmethod
    def of(cls, rule: ExistentialRule) -> Trigger:
        name = hashlib.blake2b(print_rule(rule.skolem).encode(), digest_size=8).hexdigest()
        head = Atom(HiddenName(f"#trigger {name}"), rule.frontier)
        return cls(rule, Rule((head,), (*rule.body, NegatedBody(rule.heads))))

    @property
    def pred(self) -> Pred:
        return self.trigger.heads[0].pred

    @property
    def is_recursive(self) -> bool:
        """Whether a predicate of the heads is in the body."""
        heads = {head.pred for head in self.rule.heads}
        return any(isinstance(each, Atom) and each.pred in heads for each in self.rule.body)

    def facts(self, found: Sequence[tuple[Value, ...]], nulls: Nulls) -> Iterator[tuple[Pred, tuple[Value, ...]]]:
        """The heads for triggers, with new values, which are added to the known ones."""
        for row in found:
            values = dict(zip(self.rule.frontier, row, strict=True))
            new = {bind.variable: evaluate(bind.expression, values) for bind in self.rule.names}
            for null in new.values():
                nulls.setdefault(null, len(nulls))
            values |= new
            for head in self.rule.heads:
                yield head.pred, tuple(values[t] if isinstance(t, Variable) else t.value for t in head.terms)


@dataclass(frozen=True)
class ChaseRules:
    """The rules of a program with existential ones."""

    rules: tuple[Rule, ...]

    @cached_property
    def triggers(self) -> tuple[Trigger, ...]:
        return tuple(map(Trigger.of, existential_rules(self.rules)))

    @cached_property
    def evaluated(self) -> tuple[Rule, ...]:
        """Ordinary rules, and those of triggers."""
        return (*ordinary_rules(self.rules), *(each.trigger for each in self.triggers))

    @cached_property
    def strata(self) -> list[list[Trigger]]:
        """Triggers by strata: rules whose values a negation or an aggregate sees come before it. Within one, they are
        as written."""
        strata = _strata([core for rule in self.rules for core in core_rules(rule)])
        found: dict[int, list[Trigger]] = {}
        for each in self.triggers:
            found.setdefault(_stratum(each.rule.skolem, strata), []).append(each)
        return [found[number] for number in sorted(found)]

    def is_reached(self, changed: Iterator[Pred]) -> bool:
        """Whether facts of some predicates can change what triggers depend on."""
        needed = {pred for each in self.triggers for pred in each.trigger.reads}
        grows = True
        while grows:
            deriving = (rule for rule in self.rules if any(head.pred in needed for head in rule.heads))
            read = {pred for rule in deriving for pred in rule.reads}
            grows = not read <= needed
            needed |= read
        has_wildcards = not needed.isdisjoint((TRIPLES, TYPES)) or any(
            head.pred in (TRIPLES, TYPES) for rule in self.rules for head in rule.heads
        )
        return has_wildcards or not needed.isdisjoint(changed)


@dataclass(frozen=True)
class ChasedMaterialisation(Materialisation[T]):
    """`explicit` is what was given, `chased` that and the facts with invented values; `before` is without them."""

    chased: dict[Pred, T] = field(kw_only=True)
    before: Materialisation[T] = field(kw_only=True)
    rules: ChaseRules = field(kw_only=True)
    nulls: Mapping[Value, int] = field(kw_only=True)

    @property
    def base(self) -> dict[Pred, T]:
        return self.chased

    @property
    def proof_leaves(self) -> dict[Pred, T]:
        return self.explicit

    @property
    def is_restorable(self) -> bool:
        return False

    def beside(self, backend: Backend[T]) -> Self:
        return replace(super().beside(backend), before=self.before.beside(backend))

    @property
    def last(self) -> Materialisation[T]:
        """The rules over all facts that they start from."""
        own = {each.name: getattr(self, each.name) for each in fields(Materialisation)}
        return Materialisation(**{**own, "explicit": self.chased})

    @property
    def tables(self) -> Iterator[T]:
        yield from super().tables
        yield from self.chased.values()
        yield from self.before.tables


@dataclass(frozen=True)
class Chase(OrdinaryRules[T]):
    """The evaluation of a program with existential rules."""

    def materialise(
        self, rules: Sequence[Rule], explicit: dict[Pred, T], report: Report, partial: bool
    ) -> Materialisation[T]:
        """From scratch. A limit while values are invented is an error, even with `partial`."""
        chase = ChaseRules(tuple(rules))
        before = self.first(chase.evaluated, explicit, report, partial)
        if not report.complete:
            return before
        started = time.perf_counter()
        state = self._invent(before, chase)
        report.seconds["evaluate"] += time.perf_counter() - started
        return state

    def follow(
        self, old: Materialisation[T], rules: tuple[Rule, ...] | None, facts: ChangedFacts[T]
    ) -> tuple[Materialisation[T], Update[T]]:
        """From an earlier one, and a change of its facts and rules."""
        if rules is not None:
            analyse(rules)  # with their new values: a cycle through a negation may lead through an existential rule
        if isinstance(old, ChasedMaterialisation):
            if rules is None and not old.rules.is_reached(iter((*facts.added, *facts.removed))):
                return self._keep(old, facts)
            chase, before = old.rules if rules is None else ChaseRules(rules), old.before
        else:
            chase, before = ChaseRules(rules or old.program.rules), old
        started = time.perf_counter()
        new: Materialisation[T]
        if isinstance(before, EqualMaterialisation):  # its relations are those of representatives
            new = self.first(chase.evaluated, facts.explicit, Report())
        else:
            new = self.changed(before, chase.evaluated, facts.added, facts.removed)[0]
        with self.backend.failures.isolated():  # they were counted when the values were first invented
            new = self._invent(new, chase) if chase.triggers else new
        report = UpdateReport(notes=["values of existential rules were invented anew"])
        update = changed_relations(old, new, facts, report)
        report.seconds = time.perf_counter() - started
        return new, update

    def _keep(
        self, old: ChasedMaterialisation[T], facts: ChangedFacts[T]
    ) -> tuple[ChasedMaterialisation[T], Update[T]]:
        """With the values that were invented."""
        rules = old.rules.evaluated
        with self.backend.failures.isolated():  # what is evaluated with the values, too, is counted there
            before = self.changed(old.before, rules, facts.added, facts.removed)[0]
        last, update = self.changed(old.last, rules, facts.added, facts.removed)
        update = replace(update, explicit=facts.explicit, added_facts=dict(facts.added))
        update = replace(update, removed_facts=dict(facts.removed))
        return _shown(last, before, old.rules, old.nulls), update

    def _invent(self, before: Materialisation[T], chase: ChaseRules) -> ChasedMaterialisation[T]:
        """Adds the values that existential rules invent, and everything that follows."""
        invention = _Invention(self, before, {})
        for stratum in chase.strata:
            while any([invention.apply(trigger) for trigger in stratum]):
                pass
        return _shown(invention.state, before, chase, invention.nulls)


@dataclass
class _Invention:
    """A materialisation that grows with the values that rules invent."""

    chase: Chase[Any]
    state: Materialisation[Any]
    nulls: Nulls

    def apply(self, trigger: Trigger) -> bool:
        """Adds the heads of all triggers of a rule; of those that it has then, too, if it is recursive."""
        applied = False
        while found := self._rows(trigger.pred):
            facts: dict[Pred, list[tuple[Value, ...]]] = {}
            for pred, row in trigger.facts(found, self.nulls):
                facts.setdefault(pred, []).append(row)
            tables = {pred: encode_rows(self.chase.backend.codec, each) for pred, each in facts.items()}
            self.state = self.chase.changed(self.state, self.state.program.rules, tables, {})[0]
            applied = True
            if not trigger.is_recursive:
                break
        return applied

    def _rows(self, pred: Pred) -> list[tuple[Value, ...]]:
        """The triggers of a rule, in an order that is always the same."""
        found = rows(self.state.relations.get(pred), pred.arity, self.chase.backend)
        return sorted(found, key=lambda row: [_place(value, self.nulls) for value in row])


def _place(value: Value, nulls: Nulls) -> tuple[int, float, str]:
    """The place of a value in the order of triggers: IRIs and literals, then numbered blank nodes, then invented ones
    by their age, then numbers."""
    match value:
        case BlankNode() if value in nulls:
            return 2, nulls[value], ""
        case BlankNode() if (label := lexical(value)).isdigit():
            return 1, int(label), ""
        case int() | float() if not isinstance(value, bool):
            return 3, value, ""
        case _:
            return 0, isinstance(value, str) and not isinstance(value, IRI), repr(value)


def _shown(
    last: Materialisation[T], before: Materialisation[T], rules: ChaseRules, nulls: Mapping[Value, int]
) -> ChasedMaterialisation[T]:
    own = {each.name: getattr(last, each.name) for each in fields(Materialisation)}
    own["explicit"] = before.explicit
    return ChasedMaterialisation(**own, chased=last.explicit, before=before, rules=rules, nulls=nulls)


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
