"""Opens stores for commands."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase
    from deltalog.store.catalog import Catalog


def open_program_or_store(path: Path, options: Namespace) -> KnowledgeBase:
    """The knowledge base of a program with its --data, or of a store (a folder), for reading, with its --at."""
    from deltalog.cli.options import load_data
    from deltalog.kb import KnowledgeBase

    if path.is_dir():
        return open_store(path, options, readonly=True, version=options.at)
    kb = KnowledgeBase(path, **_limits(options))
    load_data(kb, options)
    return kb


def open_store(folder: Path, options: Namespace, *, readonly: bool, version: int | None = None) -> KnowledgeBase:
    """The knowledge base of a store, with the limits of the options."""
    from deltalog.kb import KnowledgeBase

    return KnowledgeBase.open(folder, readonly=readonly, version=version, **_limits(options))


def _limits(options: Namespace) -> dict[str, Any]:
    return {"timeout": options.timeout, "max_facts": options.max_facts, "memory": options.memory}


@contextmanager
def catalog_of(folder: Path) -> Iterator[Catalog]:
    """The catalog of a store, for reading; loads no facts."""
    from deltalog.model.tuning import Tuning
    from deltalog.store.store import Store

    store = Store.open(folder, Tuning(), readonly=True)
    try:
        with store.catalog.reading():
            yield store.catalog
    finally:
        store.close()
