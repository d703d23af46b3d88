"""Counts of rule instances from nothing, by the naive engine's bindings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from deltalog import KnowledgeBase
from deltalog.core.limits import Limits
from deltalog.core.rules import Constant, Pred, Rule
from deltalog.evaluation.facts import rows
from deltalog.evaluation.maintenance.counting import counted
from deltalog.evaluation.maintenance.derivation_counts import Counts
from deltalog.evaluation.naive import FactStore, bindings
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.variants import counts as counts_of
from deltalog.knowledge_base.calls import session_of

Counted = dict[tuple[Pred, tuple[Any, ...]], int]


def from_nothing(rules: frozenset[Rule], known: FactStore) -> Counted:
    """How many bindings of the variables of its body, other than those that only a negation has, derive each fact."""
    found: Counter[tuple[Pred, tuple[Any, ...]]] = Counter()
    for rule in rules:
        (head,) = rule.heads
        for binding in {frozenset(binding.items()): binding for binding in bindings(rule.body, known)}.values():
            row = tuple(term if isinstance(term, Constant) else binding[term] for term in head.terms)
            found[head.pred, row] += 1
    return dict(found)


def kept(tables: Any, preds: frozenset[Pred], backend: Any) -> Counted:
    found = {}
    for pred in preds:
        table = tables.get(counts_of(pred), backend.empty(pred.arity + 1))
        for *row, count in rows(table, pred.arity + 1, backend):
            found[pred, tuple(map(Constant, row))] = count
    return found


def count_all(kb: KnowledgeBase) -> None:
    """Gives every stratum its counts now, and not when it has lost something."""
    kb.materialise()
    state = session_of(kb).state.materialised
    assert state is not None
    program = state.maintenance.program
    strata = [plans for plans in state.maintenance._strata if not plans.schemes]
    counts = {plans.stratum.preds: counted(program, plans, state.relations) for plans in strata}
    session = session_of(kb)
    session.state = replace(session.state, materialised=replace(state, counts=counts))


def check_counts(kb: KnowledgeBase) -> int:
    """That all counts of a knowledge base are right; how many there are."""
    if session_of(kb).state.materialised is None or not session_of(kb).state.materialised.counts:
        return 0
    backend, relations = session_of(kb).backend, session_of(kb).state.materialised.relations
    known, checked = FactStore(Limits()), 0
    for (pred, part), table in relations.parts.items():
        for row in rows(table, pred.arity, backend) if part is Part.ALL else ():
            known.add(pred, tuple(map(Constant, row)))
    for preds, counts in session_of(kb).state.materialised.counts.items():
        assert isinstance(counts, Counts)
        for rules, tables in (
            (counts.nonrecursive_rules, counts.nonrecursive),
            (counts.recursive_rules, counts.recursive),
        ):
            wanted = from_nothing(rules, known)
            assert kept(tables, preds, backend) == wanted, [str(rule) for rule in rules]
            checked += len(wanted)
    return checked
