"""A session as it is now, for readers of their own.

Tables are immutable, and a change replaces them, so the present state can be shared: a frozen session has the same
tables, rules and dictionary as the one it was made from. What calls change is its own: the lock, the caches and
counters of its backend, prepared queries and plans. So its calls wait for no others, and no others for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deltalog.core.errors import UsageError
from deltalog.engines.local import LocalBackend
from deltalog.knowledge_base.session import Session


def frozen(session: Session, before: Session | None = None) -> Session:
    """The present state of a session, which is materialised. `before` is an earlier frozen session that nobody uses any
    more: its prepared queries and plans are taken over."""
    made, report = session.completed(), session.state.report
    backend = _backend_beside(session.backend, None if before is None else before.backend)
    backend.failures.restore(session.backend.failures.mark())
    report = replace(report, seconds=dict(report.seconds), recent=report.recent.copy())
    state = replace(session.state, materialised=made.beside(backend), report=report)
    found = session.beside(backend=backend, state=state, is_frozen=True, frozen_version=session.version)
    _take_queries(found, session, before)
    return found


def _take_queries(found: Session, session: Session, before: Session | None) -> None:
    """Takes over prepared queries that are of the same backend; otherwise only the model that chooses methods."""
    if before is not None and before.backend is found.backend and "queries" in vars(before):
        vars(found)["queries"] = before.queries
    elif "queries" in vars(session):
        found.queries.take_over(session.queries)


def _backend_beside(backend: Any, known: Any) -> LocalBackend:
    """A backend over the same dictionary: one that is known, or a new one."""
    if not isinstance(backend, LocalBackend) or backend.capabilities.residence is not None:
        raise UsageError(
            "only the local engine has frozen states; use engine='local', or open the store once for each reader"
        )
    if isinstance(known, LocalBackend) and known.dictionary is backend.dictionary:
        return known
    return backend.beside()
