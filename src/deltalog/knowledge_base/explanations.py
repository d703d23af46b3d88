"""Explanations of a session's facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltalog.core.errors import UsageError
from deltalog.core.limits import count
from deltalog.knowledge_base.session import Session

if TYPE_CHECKING:
    from deltalog.extensions.explain.asked_fact import AskedFact
    from deltalog.extensions.explain.model import Explanation


def explain(session: Session, fact: Any, values: Any, proofs: int, depth: int | None) -> Explanation:
    """Why a fact holds, or why it does not."""
    most = count(proofs, "all", least=1)
    levels = None if depth is None else count(depth, "depth", least=1)
    explainer = session.explainer(session.completed())
    session.warn_of_data()
    with session.backend.failures.isolated():  # expressions that fail in the search are not the materialisation's
        return explainer.explain(asked(session, fact, values), most, levels, lambda: session.contents().preds)


def asked(session: Session, fact: Any, values: Any) -> AskedFact:
    """A fact as the user gave it: as text, or as a predicate and values."""
    from deltalog.extensions.explain.asked_fact import asked_fact

    return asked_fact(fact, values, session.prefixes, session.names())


def explicit_fact(session: Session, fact: Any, values: Any) -> AskedFact:
    """The same; UsageError if it is not an explicit fact."""
    found = asked(session, fact, values)
    table = session.contents().explicit.get(found.pred)
    if table is None or not session.backend.codec.contains(table, found.values):
        raise UsageError(
            f"{found.shown.text(session.prefixes)} is not an explicit fact, so it cannot be removed; "
            "explain() names the explicit facts that a derived one rests on"
        )
    return found
