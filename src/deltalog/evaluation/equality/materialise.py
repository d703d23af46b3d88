"""Materialisations over representatives of equal individuals.

Explicit facts stay as they were given. Inside, there is an ordinary materialisation of facts and rules in which every
individual has been replaced by the representative of its class; users see it with all names. Classes and facts come to
a common fixpoint in rounds:

    materialise, or follow a change     facts and rules over representatives, by the usual evaluation and maintenance
    links                               individuals that are equal now; none: done
    join                                their classes; the facts and rules that mention them are changed accordingly

A change that removes something first takes suspect classes apart (`equality.suspects`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from deltalog.core.arrays import Ids
from deltalog.core.equality_classes import EqualityClasses
from deltalog.core.rules import Constant, Pred, Rule
from deltalog.evaluation.backend import Backend, united
from deltalog.evaluation.capabilities import required
from deltalog.evaluation.equality.links import links, pairs_of
from deltalog.evaluation.equality.recognise import SAME_AS
from deltalog.evaluation.equality.rewrite import CLUSTERED, NAMES, EqualityRewriting
from deltalog.evaluation.equality.suspects import Removal, Suspicion
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.maintenance.apply_change import apply_change, number_kinds
from deltalog.evaluation.maintenance.materialisation import ChangedFacts, Evaluator, Materialisation, materialise
from deltalog.evaluation.maintenance.update_state import Update, UpdateReport
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.seminaive import Relations
from deltalog.program import Program, analyse

T = TypeVar("T")


@dataclass(frozen=True)
class Equal(Generic[T]):
    """Facts and rules over the representatives of classes."""

    rewriting: EqualityRewriting
    classes: EqualityClasses
    inner: Materialisation[T]
    suspicion: Suspicion

    @property
    def is_empty(self) -> bool:
        return not len(self.classes)


@dataclass(frozen=True)
class EqualMaterialisation(Materialisation[T]):
    """What users see of it: `program` has all rules, those of equality, too, and `relations` all names."""

    equal: Equal[T] = field(kw_only=True)

    @property
    def is_restorable(self) -> bool:
        return False

    @property
    def keeps_parts_of_rules(self) -> bool:
        return False  # over representatives only

    @property
    def described(self) -> str:
        """For reports."""
        classes = self.equal.classes
        return f"representatives: {len(classes.members):,} names of {len(classes):,} individuals"

    @property
    def tables(self) -> Iterator[T]:
        yield from self.equal.inner.tables
        yield from self.equal.inner.explicit.values()


def materialise_equal(
    program: Program, explicit: dict[Pred, T], rewriting: EqualityRewriting, evaluator: Evaluator[T], schemes: str
) -> EqualMaterialisation[T]:
    """From scratch. LiteralsLinked if literals are made equal."""
    backend = evaluator.backend
    classes = EqualityClasses().joined(*pairs_of(explicit.get(SAME_AS), backend))
    facts = _normalised_facts(explicit, rewriting, classes, backend)
    rules = rewriting.over(constants_of(rewriting, classes, backend))
    inner = materialise(analyse(rules, facts, schemes, numbers=number_kinds(facts, backend)), facts, evaluator)
    first = Equal(rewriting, classes, inner, Suspicion(rewriting, inner.program.rules))
    done = _settled(first, links(inner.relations, rewriting.hubs), explicit, evaluator, schemes, UpdateReport())
    return _shown(program, explicit, done, None)


def follow_equal(
    old: EqualMaterialisation[T],
    program: Program,
    rewriting: EqualityRewriting,
    facts: ChangedFacts[T],
    evaluator: Evaluator[T],
    schemes: str,
) -> tuple[EqualMaterialisation[T], Update[T]]:
    """From an earlier one and a change of its facts and rules."""
    started, backend, report = time.perf_counter(), evaluator.backend, UpdateReport()
    lost = _lost_classes(old.equal, rewriting, facts, evaluator)
    classes = old.equal.classes.without(lost)
    apart = old.equal.classes.class_of(lost)
    stated = required(backend.capabilities.representatives).mentioning(_of(facts.explicit, SAME_AS, backend), apart)
    for known in (stated, facts.added.get(SAME_AS)):
        classes = classes.joined(*pairs_of(known, backend))
    step = _Step(old.explicit, facts.explicit, facts.added, facts.removed)
    moved, update = _moved(replace(old.equal, rewriting=rewriting), classes, step, evaluator, schemes)
    found = _new_links(moved, update)
    _add_report(report, update.report)
    done = _settled(moved, found, facts.explicit, evaluator, schemes, report)
    new = _shown(program, facts.explicit, done, old)
    report.seconds = time.perf_counter() - started
    return new, changed_relations(old, new, facts, report)


def changed_relations(
    old: Materialisation[T], new: Materialisation[T], facts: ChangedFacts[T], report: UpdateReport
) -> Update[T]:
    """An update from one materialisation to another, of which the differences are found by comparison, on demand."""
    given = facts.explicit, dict(facts.added), dict(facts.removed)
    update = Update(old.relations, new.relations, *given, facts_before=old.count, report=report)
    preds = {pred for state in (old, new) for pred, _ in state.relations.whole() if not pred.hidden}
    update.defer_deltas(sorted(preds))
    report.hyper_nodes = new.program.hyper_nodes
    return update


# Rounds.


@dataclass(frozen=True)
class _Step(Generic[T]):
    """The explicit facts before and after a step, and their difference."""

    before: Mapping[Pred, T]
    after: Mapping[Pred, T]
    added: Mapping[Pred, T] = field(default_factory=dict)
    removed: Mapping[Pred, T] = field(default_factory=dict)


def _settled(
    equal: Equal[T],
    found: tuple[Ids, Ids],
    explicit: Mapping[Pred, T],
    evaluator: Evaluator[T],
    schemes: str,
    report: UpdateReport,
) -> Equal[T]:
    """The common fixpoint of classes and facts."""
    while len(found[0]):
        classes = equal.classes.joined(*found)
        equal, update = _moved(equal, classes, _Step(explicit, explicit), evaluator, schemes)
        found = _new_links(equal, update)
        _add_report(report, update.report)
    return equal


def _new_links(equal: Equal[T], update: Update[T]) -> tuple[Ids, Ids]:
    update.resolve_deltas(equal.rewriting.equating)
    return links(equal.inner.relations, equal.rewriting.hubs, update.added)


def _moved(
    equal: Equal[T], classes: EqualityClasses, step: _Step[T], evaluator: Evaluator[T], schemes: str
) -> tuple[Equal[T], Update[T]]:
    """Facts and rules with other classes, and after a change of explicit facts."""
    backend, inner = evaluator.backend, equal.inner
    add, remove = _exchanged_facts(equal, classes, step, backend)
    rules = equal.rewriting.over(constants_of(equal.rewriting, classes, backend))
    known = {rule: rule for rule in inner.program.rules}
    rules = tuple([known.get(rule, rule) for rule in rules])
    changed = None if rules == inner.program.rules else rules
    evaluator = replace(evaluator, trees=Trees(evaluator.trees.way, tuning=backend.tuning))
    new, update = apply_change(inner, changed, add, remove, evaluator, schemes)
    same = changed is None and equal.suspicion.rewriting is equal.rewriting
    suspicion = equal.suspicion if same else Suspicion(equal.rewriting, new.program.rules)
    return Equal(equal.rewriting, classes, new, suspicion), update


def _add_report(total: UpdateReport, part: UpdateReport) -> None:
    for name in ("overdeleted", "rederived", "inserted", "visited", "recomputed"):
        setattr(total, name, getattr(total, name) + getattr(part, name))
    total.notes += part.notes
    total.visited_preds |= part.visited_preds
    total.recomputed_preds |= part.recomputed_preds


# Facts and rules over representatives.


def _of(facts: Mapping[Pred, T], pred: Pred, backend: Backend[T]) -> T:
    table = facts.get(pred)
    return backend.empty(pred.arity) if table is None else table


def _normalised_facts(
    explicit: Mapping[Pred, T], rewriting: EqualityRewriting, classes: EqualityClasses, backend: Backend[T]
) -> dict[Pred, T]:
    """Explicit facts over representatives, and those that say what the classes are."""
    over = required(backend.capabilities.representatives)
    facts = {p: over.normalised(t, classes) if p in rewriting.columns else t for p, t in explicit.items()}
    return united(facts, _class_facts(classes, backend), backend)


def _class_facts(classes: EqualityClasses, backend: Backend[T]) -> dict[Pred, T]:
    heads = classes.heads
    return {
        NAMES: backend.load([classes.representatives, classes.members], 2),
        CLUSTERED: backend.load([classes.members], 1),
        SAME_AS: backend.load([heads, heads], 2),
    }


def _exchanged_facts(
    equal: Equal[T], classes: EqualityClasses, step: _Step[T], backend: Backend[T]
) -> tuple[dict[Pred, T], dict[Pred, T]]:
    """The facts over representatives that come and go. All explicit facts that a fact over representatives may stand
    for are looked at together, so one of them that stays keeps it."""
    over, old = required(backend.capabilities.representatives), equal.classes
    differing = old.differing(classes)
    concerned = np.union1d(old.class_of(differing), classes.class_of(differing))
    add, remove = dict(step.added), dict(step.removed)
    for pred in equal.rewriting.columns.keys() & (step.before.keys() | step.after.keys()):
        ids = np.union1d(concerned, _equals_of(step.removed.get(pred), old, backend))
        if len(ids) or pred in step.added:
            before, after = _of(step.before, pred, backend), _of(step.after, pred, backend)
            stated = over.mentioning(before, ids)
            gone = _and_more(stated, step.removed.get(pred), backend)
            stated = stated if after is before else over.mentioning(after, ids)
            come = _and_more(stated, step.added.get(pred), backend)
            remove[pred], add[pred] = over.normalised(gone, old), over.normalised(come, classes)
    if len(differing):
        add = united(add, _class_facts(classes, backend), backend)
        remove = united(remove, _class_facts(old, backend), backend)
    return add, remove


def _and_more(table: T, more: T | None, backend: Backend[T]) -> T:
    return table if more is None else backend.merge(table, backend.minus(more, table))


def _equals_of(table: T | None, classes: EqualityClasses, backend: Backend[T]) -> Ids:
    """The ids of all classes of several names that facts mention."""
    if table is None or not len(classes):
        return np.empty(0, np.uint32)
    ids: Ids = np.unique(np.concatenate(list(backend.rows(table))))
    return classes.class_of(ids[classes.contains(ids)])


def constants_of(
    rewriting: EqualityRewriting, classes: EqualityClasses, backend: Backend[T]
) -> dict[Constant, Constant]:
    """The representatives of the constants of rules that equal others."""
    if not rewriting.constants or not len(classes):
        return {}
    lookup = required(backend.capabilities.point_lookup)
    ids = {constant: id for constant in rewriting.constants if (id := lookup.find(constant.value)) is not None}
    before = np.fromiter(ids.values(), np.uint32, len(ids))
    after = classes.representative(before)
    values = backend.codec.values(after)
    pairs = zip(ids, values, (before != after).tolist(), strict=True)
    return {constant: Constant(value) for constant, value, differs in pairs if differs}


# Suspect classes.


def _lost_classes(old: Equal[T], rewriting: EqualityRewriting, facts: ChangedFacts[T], evaluator: Evaluator[T]) -> Ids:
    """The representatives of the classes that a change may take apart."""
    if old.is_empty:
        return old.classes.heads
    before = old.inner.program.rules
    after = (
        before
        if rewriting is old.rewriting
        else rewriting.over(constants_of(rewriting, old.classes, evaluator.backend))
    )
    different = set(before) ^ set(after) if after is not before else set[Rule]()
    over = required(evaluator.backend.capabilities.representatives)
    removed = {
        p: over.normalised(t, old.classes) if p in old.rewriting.columns else t for p, t in facts.removed.items()
    }
    changed = {*facts.added, *facts.removed, *(rule.heads[0].pred for rule in different)}
    removal = Removal(frozenset(different) & set(before), removed, frozenset(changed))
    evaluator = replace(evaluator, trees=Trees("standard", tuning=evaluator.backend.tuning))
    return old.suspicion.suspects(old.classes, old.inner.relations, removal, evaluator)


# What users see.


def _shown(
    program: Program, explicit: dict[Pred, T], equal: Equal[T], old: EqualMaterialisation[T] | None
) -> EqualMaterialisation[T]:
    """A materialisation with all names; relations that show the same as before are taken over."""
    inner = equal.inner
    backend = inner.relations.backend
    concerned = np.empty(0, np.uint32)
    if old is not None:
        differing = old.equal.classes.differing(equal.classes)
        concerned = np.union1d(old.equal.classes.representative(differing), equal.classes.representative(differing))
    relations: Relations[T] = Relations(backend)
    for pred, table in inner.relations.whole():
        if not pred.hidden:
            known = _known(pred, table, old, concerned.astype(np.uint32), backend)
            relations.set(pred, _expanded(pred, table, equal, backend) if known is None else known)
    trees = Trees("standard", tuning=backend.tuning)
    return EqualMaterialisation(program, explicit, relations, trees, seconds=inner.seconds, equal=equal)


def _expanded(pred: Pred, table: T, equal: Equal[T], backend: Backend[T]) -> T:
    over = required(backend.capabilities.representatives)
    return over.expanded(table, equal.classes) if pred in equal.rewriting.columns else table


def _known(pred: Pred, table: T, old: EqualMaterialisation[T] | None, concerned: Ids, backend: Backend[T]) -> T | None:
    """The relation that showed a table before, if it still does."""
    if old is None or old.equal.inner.relations.parts.get((pred, Part.ALL)) is not table:
        return None
    over = required(backend.capabilities.representatives)
    if pred in old.equal.rewriting.columns and len(concerned) and backend.size(over.mentioning(table, concerned)):
        return None
    return old.relations.get(pred)
