"""Between stores, which are folders of one machine, and states of pipelines, which are Parquet at any URI."""

from __future__ import annotations

from os import PathLike
from typing import Any

from deltalog.apps.pipelines.manifest import Manifest
from deltalog.apps.pipelines.state import Given, PipelineState
from deltalog.core.errors import DataError, UsageError
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase


def export_store(
    store: str | PathLike[str], uri: str, spark: Any = None, *, version: int | None = None, engine: str = "auto"
) -> Manifest:
    """Writes a version of a store as the first version of a new state at a URI. A pipeline with that state goes on from
    there. With engine="spark" executors write the rows; with "auto" the driver does, while they fit its memory."""
    with KnowledgeBase.open(store, readonly=True, version=version, engine=engine, spark=spark) as kb:
        state = PipelineState.open(_session(kb), uri)
        if state.version:
            raise UsageError(f"{uri} has a state already (version {state.version}); choose another URI")
        session_of(kb).completed()
        return state.commit(kb, None, given=Given(session_of(kb).backend, {}))


def import_state(uri: str, store: str | PathLike[str], spark: Any = None) -> None:
    """Creates a store in a folder that is new or empty, from the current version of a state."""
    kb = KnowledgeBase(engine="auto", spark=spark)
    state = PipelineState.open(_session(kb), uri)
    if not state.version:
        raise DataError(f"{uri} has no state; a pipeline with `state` writes one")
    state.load(kb)
    kb.save(store)
    kb.close()


def _session(kb: KnowledgeBase) -> Any:
    """The Spark session of a knowledge base."""
    backend: Any = session_of(kb).backend
    return getattr(backend, "far", backend).spark
