"""The facts of a knowledge base as users see them, by predicate, for comparison with the naive engine."""

from __future__ import annotations

from collections.abc import Iterable

from conftest import Materialisation, as_sets, name_of

from deltalog import KnowledgeBase
from deltalog.evaluation.change import Difference
from deltalog.evaluation.facts import of_predicate
from deltalog.knowledge_base.calls import session_of


def everything(kb: KnowledgeBase) -> Materialisation:
    """All facts, explicit and derived."""
    return as_sets({predicate: list(kb.facts(predicate)) for predicate in kb.predicates})


def naive_copy(kb: KnowledgeBase, rules: Iterable[str]) -> KnowledgeBase:
    """The explicit facts of a knowledge base with these rules, in a new one on the naive engine."""
    fresh = KnowledgeBase("\n".join(rules), engine="naive")
    for pred, table in session_of(kb).state.explicit.items():
        fresh.add(name_of(pred), list(of_predicate(pred, table, session_of(kb).backend)))
    return fresh


def from_nothing(kb: KnowledgeBase, rules: Iterable[str]) -> Materialisation:
    """All facts that follow from the explicit facts and these rules, by the naive engine."""
    return everything(naive_copy(kb, rules))


def shown(difference: Difference) -> Materialisation:
    """The facts of one side of a change."""
    return as_sets({predicate: list(rows) for predicate, rows in difference.items()})


def without(facts: Materialisation, others: Materialisation) -> Materialisation:
    """The facts that are not among the others, without predicates that have none."""
    left = {predicate: rows - others.get(predicate, set()) for predicate, rows in facts.items()}
    return {predicate: rows for predicate, rows in left.items() if rows}
