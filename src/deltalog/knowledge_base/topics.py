"""The modules behind the methods of `KnowledgeBase`, each loaded when it is first used.

They load numpy and an engine. A program with a mistake is reported before that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalog.knowledge_base import (
        changes,
        explanations,
        frozen,
        graphs,
        kept_programs,
        ontologies,
        opening,
        outputs,
        programs,
        queries,
        reading,
        stores,
        training,
    )

__all__ = [
    "changes",
    "explanations",
    "frozen",
    "graphs",
    "kept_programs",
    "ontologies",
    "opening",
    "outputs",
    "programs",
    "queries",
    "reading",
    "stores",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"deltalog.knowledge_base.{name}")
