"""The exceptions of deltalog, in one tree.

    DeltalogError
    ├── ProgramError          errors in rules; has every Diagnostic found
    │   ├── SyntaxProblem     the text is not a program
    │   ├── UnsafeRule        a variable has no value
    │   └── NotStratified     a cycle through negation or aggregation
    ├── DataError             a file, a row or a value that cannot be read or written
    ├── UsageError            a call that makes no sense (unknown predicate, wrong option)
    ├── LimitReached          time, facts or memory ran out; the call has changed nothing
    └── EngineError           an engine cannot run here (no Java, a missing package), or Spark failed

The command line shows the message and nothing else, so a message says what, where and what to do.

    DeltalogWarning           a rule that is allowed, and most likely not meant; has its Diagnostic
    └── DataWarning           rules and data do not fit together, or data are doubtful
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalog.core.rules import Rule, Span


class DeltalogError(Exception):
    """The root of all exceptions that deltalog raises on purpose."""

    __module__ = "deltalog"  # where users import it from, and so what tracebacks say

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = "deltalog"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or a lint warning at one place of a program."""

    message: str
    span: Span | None = None
    hint: str | None = None
    severity: str = "error"  # or "warning"

    def __str__(self) -> str:
        if self.span is None:
            place, excerpt = "", ""
        else:
            place, excerpt = f"{self.span}: ", "\n" + self.span.excerpt()
        hint = f"\n  {self.hint}" if self.hint else ""
        return f"{place}{self.severity}: {self.message}{excerpt}{hint}"

    @property
    def text(self) -> str:
        """The same without the severity, where that is said already."""
        return str(self).replace(f"{self.severity}: ", "", 1)


def warning(message: str, span: Span | None, hint: str | None = None) -> Diagnostic:
    """A lint warning."""
    return Diagnostic(message, span, hint, "warning")


class DeltalogWarning(UserWarning):
    """What a program or its data most likely do not mean; `diagnostic` has the place and a hint."""

    __module__ = "deltalog"

    def __init__(self, about: Diagnostic | str) -> None:
        self.diagnostic = Diagnostic(about, severity="warning") if isinstance(about, str) else about
        super().__init__(self.diagnostic.text)


class DataWarning(DeltalogWarning):
    """Rules and data do not fit together, or data are doubtful."""

    __module__ = "deltalog"


class ProgramError(DeltalogError):
    """One or more errors in a program; `diagnostics` has them all, in the order of the text."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n\n".join(map(str, self.diagnostics)))


class SyntaxProblem(ProgramError):
    """The text is not a program; `rules` are the statements in it that could be read."""

    def __init__(self, diagnostics: Sequence[Diagnostic], rules: Sequence[Rule] = ()) -> None:
        super().__init__(diagnostics)
        self.rules = tuple(rules)


class UnsafeRule(ProgramError):
    """A variable of a rule is bound by no positive atom, BIND or aggregate of its body."""


class NotStratified(ProgramError):
    """A predicate depends on itself through negation or aggregation."""


class DataError(DeltalogError):
    """A file, a row or a value that cannot be read or written; nothing of it has been loaded."""


class UsageError(DeltalogError):
    """A call that makes no sense: an unknown predicate, a wrong option, rows of different lengths."""


class LimitReached(DeltalogError):
    """A limit (time, facts, memory) stopped a call, which has changed nothing; `reason` says which limit."""

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason or message


class EngineError(DeltalogError):
    """An engine cannot run on this machine, and the message says what to install; or a job of Spark's failed."""
