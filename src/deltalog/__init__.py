"""deltalog: a Datalog reasoner for Python and Spark.

    from deltalog import KnowledgeBase

Importing this loads nothing heavy: engines, readers and the parser are loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.errors import (
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
from deltalog.core.terms import IRI, BlankNode, Literal

if TYPE_CHECKING:
    from deltalog.core.naming import UnknownPredicate
    from deltalog.core.tuning import Tuning
    from deltalog.evaluation.change import Change
    from deltalog.evaluation.facts import Facts
    from deltalog.evaluation.goals.goal_evaluator import Answers
    from deltalog.evaluation.report import Report
    from deltalog.extensions.explain.model import Explanation
    from deltalog.formats.documents import Files
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.knowledge_base.progress_bar import progress
    from deltalog.knowledge_base.settings import Settings
    from deltalog.languages.sparql.solutions import Solutions

__version__ = "0.1.0"

_LAZY = {  # the modules of names that are imported when they are first used
    "Answers": "deltalog.evaluation.goals.goal_evaluator",
    "Change": "deltalog.evaluation.change",
    "Explanation": "deltalog.extensions.explain.model",
    "Facts": "deltalog.evaluation.facts",
    "Files": "deltalog.formats.documents",
    "KnowledgeBase": "deltalog.knowledge_base.facade",
    "Report": "deltalog.evaluation.report",
    "Settings": "deltalog.knowledge_base.settings",
    "Solutions": "deltalog.languages.sparql.solutions",
    "Tuning": "deltalog.core.tuning",
    "UnknownPredicate": "deltalog.core.naming",
    "progress": "deltalog.knowledge_base.progress_bar",
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
    "Settings",
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
