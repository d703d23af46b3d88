"""deltalog: a Datalog reasoner for Python and Spark.

    from deltalog import KnowledgeBase

Importing this loads nothing heavy: engines, readers and the parser are loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

from deltalog.concurrency.interrupts import shielded
from deltalog.model.errors import (
    DataError,
    DataWarning,
    DeltalogError,
    DeltalogWarning,
    EngineError,
    LimitReached,
    NotStratified,
    ProgramError,
    SyntaxProblem,
    UnsafeRule,
    UsageError,
)
from deltalog.model.terms import IRI, BlankNode, Literal

if TYPE_CHECKING:
    from deltalog.io.documents import Files
    from deltalog.kb import KnowledgeBase
    from deltalog.progress_bar import progress

__version__ = "0.1.0"

__all__ = [
    "IRI",
    "BlankNode",
    "DataError",
    "DataWarning",
    "DeltalogError",
    "DeltalogWarning",
    "EngineError",
    "Files",
    "KnowledgeBase",
    "LimitReached",
    "Literal",
    "NotStratified",
    "ProgramError",
    "SyntaxProblem",
    "UnsafeRule",
    "UsageError",
    "progress",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


@shielded
def __getattr__(name: str) -> Any:
    if name == "KnowledgeBase":
        from deltalog.kb import KnowledgeBase

        return KnowledgeBase
    if name == "Files":
        from deltalog.io.documents import Files

        return Files
    if name == "progress":
        from deltalog.progress_bar import progress

        return progress
    raise AttributeError(f"module 'deltalog' has no attribute {name!r}")
