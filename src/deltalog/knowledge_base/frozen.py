"""A knowledge base as it is now, for readers of their own.

Tables are immutable, and a change replaces them, so the present state can be shared: a frozen knowledge base has the
same tables, rules and dictionary as the one it was made from. What calls change is its own: the lock, the caches and
counters of its backend, prepared queries and plans. So its calls wait for no others, and no others for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.locks import CallLock
from deltalog.core.errors import UsageError
from deltalog.engines.local import LocalBackend
from deltalog.evaluation.chase import ChasedMaterialisation
from deltalog.evaluation.maintenance.materialisation import LazyMaintenance, Materialisation
from deltalog.evaluation.seminaive import Relations
from deltalog.evaluation.staged import StagedMaterialisation

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

OWN = ("_session", "_explainer")  # made when they are first needed


def frozen(kb: KnowledgeBase, before: KnowledgeBase | None = None) -> KnowledgeBase:
    """The present state of a knowledge base, which is materialised. `before` is an earlier frozen state of it that
    nobody uses any more: its prepared queries and plans are taken over."""
    backend = _backend_beside(kb._backend, None if before is None else before._backend)
    backend.failures.back_to(kb._backend.failures.mark())
    made = object.__new__(type(kb))
    shared = {name: value for name, value in vars(kb).items() if name not in OWN}
    own: dict[str, Any] = {
        "_lock": CallLock(),
        "_backend": backend,
        "_state": _beside(kb._completed(), backend),
        "_report": replace(kb._report, seconds=dict(kb._report.seconds), recent=kb._report.recent.copy()),
        "_store": None,
        "_frozen": True,
        "examples": [],
    }
    vars(made).update(shared | own)
    _take_session(made, kb, before)
    return made


def _take_session(made: KnowledgeBase, kb: KnowledgeBase, before: KnowledgeBase | None) -> None:
    """Takes over prepared queries that are of the same backend; otherwise only the model that chooses methods."""
    if before is not None and before._backend is made._backend and "_session" in vars(before):
        vars(made)["_session"] = before._session
    elif "_session" in vars(kb):
        made._session.take_over(kb._session)


def _backend_beside(backend: Any, known: Any) -> LocalBackend:
    """A backend over the same dictionary: one that is known, or a new one."""
    if not isinstance(backend, LocalBackend) or backend.capabilities.residence is not None:
        raise UsageError(
            "only the local engine has frozen states; use engine='local', or open the store once for each reader"
        )
    if isinstance(known, LocalBackend) and known.dictionary is backend.dictionary:
        return known
    return backend.beside()


def _beside(state: Materialisation[Any], backend: LocalBackend) -> Materialisation[Any]:
    """The same tables on another backend; plans of maintenance are its own."""
    relations = Relations(backend, state.relations.parts)
    made = replace(state, relations=relations, trees=state.trees.copied(), lazy=LazyMaintenance())
    if isinstance(made, StagedMaterialisation):
        stages = tuple(replace(stage, reads=_beside(stage.reads, backend)) for stage in made.stages)
        made = replace(made, stages=stages)
    if isinstance(made, ChasedMaterialisation):
        made = replace(made, before=_beside(made.before, backend))
    vars(made)["facts"] = Relations(backend, state.facts.parts)
    return made
