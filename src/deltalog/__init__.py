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
    from deltalog.engine.report import Report
    from deltalog.explain.model import Explanation
    from deltalog.io.documents import Files
    from deltalog.kb import KnowledgeBase
    from deltalog.model.change import Change
    from deltalog.model.facts import Facts
    from deltalog.model.naming import UnknownPredicate
    from deltalog.model.tuning import Tuning
    from deltalog.progress_bar import progress
    from deltalog.query.goal_evaluator import Answers
    from deltalog.query.sparql.solutions import Solutions

__version__ = "0.1.0"

_LAZY = {  # the modules of names that are imported when they are first used
    "Answers": "deltalog.query.goal_evaluator",
    "Change": "deltalog.model.change",
    "Explanation": "deltalog.explain.model",
    "Facts": "deltalog.model.facts",
    "Files": "deltalog.io.documents",
    "KnowledgeBase": "deltalog.kb",
    "Report": "deltalog.engine.report",
    "Solutions": "deltalog.query.sparql.solutions",
    "Tuning": "deltalog.model.tuning",
    "UnknownPredicate": "deltalog.model.naming",
    "progress": "deltalog.progress_bar",
}

__all__ = [
    "IRI",
    "Answers",
    "BlankNode",
    "Change",
    "DataError",
    "DataWarning",
    "DeltalogError",
    "DeltalogWarning",
    "EngineError",
    "Explanation",
    "Facts",
    "Files",
    "KnowledgeBase",
    "LimitReached",
    "Literal",
    "NotStratified",
    "ProgramError",
    "Report",
    "Solutions",
    "SyntaxProblem",
    "Tuning",
    "UnknownPredicate",
    "UnsafeRule",
    "UsageError",
    "progress",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


@shielded
def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'deltalog' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
