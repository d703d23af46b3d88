"""Knowledge bases for commands: of programs, with their options and data, or of stores."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalog.extensions.store.catalog import Catalog
    from deltalog.knowledge_base.facade import KnowledgeBase


# Options that are settings of a knowledge base. A command has some of them.
SETTINGS = (
    *("language", "ontology", "profile", "equality", "master", "schemes", "cyclic", "default_graph"),
    *("timeout", "max_facts", "memory"),
)


def settings_of(options: Namespace) -> dict[str, Any]:
    """The options of a command that are settings of a knowledge base."""
    from deltalog.apps.cli.options import preprocessing_of

    settings = {name: value for name, value in vars(options).items() if name in SETTINGS}
    return settings | preprocessing_of(options)


def knowledge_base(paths: Sequence[Path], options: Namespace, **settings: Any) -> KnowledgeBase:
    """The knowledge base of programs, without data."""
    from deltalog.knowledge_base.facade import KnowledgeBase

    return _of_the_process(KnowledgeBase(paths, **settings_of(options) | settings))


def open_programs_or_store(paths: Sequence[Path], options: Namespace, **settings: Any) -> KnowledgeBase:
    """The knowledge base of programs with their --data, or of a store (a folder), for reading, with its --at."""
    from deltalog.apps.cli.options import load_data

    if is_store(paths):
        return open_store(paths[0], options, readonly=True, version=options.at)
    kb = knowledge_base(paths, options, **settings)
    load_data(kb, options)
    return kb


def is_store(paths: Sequence[Path]) -> bool:
    """Whether what is named is a store, and not programs."""
    return bool(paths) and paths[0].is_dir()


def mismatch(paths: Sequence[Path], options: Namespace) -> str | None:
    """What is wrong with --data and --at, if anything: one goes with programs, the other with a store."""
    stores = [path for path in paths if path.is_dir()]
    if stores and len(paths) > 1:
        return f"{stores[0]} is a folder; a store goes alone"
    if stores and options.data:
        return "--data goes with a program; `deltalog update STORE --add` adds facts to a store"
    if not stores and options.at is not None:
        return f"--at needs a store{f', and {paths[0]} is not one' if paths else ''}"
    return None


def open_store(folder: Path, options: Namespace, *, readonly: bool, version: int | None = None) -> KnowledgeBase:
    """The knowledge base of a store, with the limits of the options."""
    from deltalog.knowledge_base.facade import KnowledgeBase

    return _of_the_process(KnowledgeBase.open(folder, readonly=readonly, version=version, **_limits(options)))


def _of_the_process(kb: KnowledgeBase) -> KnowledgeBase:
    """A knowledge base whose --memory is that of the whole process, which does nothing else."""
    kb.limits.held = 0
    return kb


def _limits(options: Namespace) -> dict[str, Any]:
    return {"timeout": options.timeout, "max_facts": options.max_facts, "memory": options.memory}


@contextmanager
def catalog_of(folder: Path) -> Iterator[Catalog]:
    """The catalog of a store, for reading; loads no facts."""
    from deltalog.core.tuning import Tuning
    from deltalog.extensions.store.store import Store

    store = Store.open(folder, Tuning(), readonly=True)
    try:
        with store.catalog.reading():
            yield store.catalog
    finally:
        store.close()
