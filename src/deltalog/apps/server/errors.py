"""Errors as HTTP has them: a status, a code and a message; see the table in docs/server.md."""

from __future__ import annotations

import re
from typing import Any

from deltalog.core.errors import (
    DataError,
    DeltalogError,
    Diagnostic,
    LimitReached,
    ProgramError,
    SyntaxProblem,
    UsageError,
)

NESTED = "this is nested too deeply; write it flatter"
_PLACE = re.compile(r"line (\d+), column (\d+) of the \w+: (.*)", re.DOTALL)


class HTTPError(Exception):
    """A request that is answered by an error."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None, **more: Any):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers, self.more = headers or {}, more

    @property
    def document(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, **self.more}}


def wrong(message: str) -> HTTPError:
    """A parameter or a body that makes no sense."""
    return HTTPError(400, "usage", message)


def _limit_name(reason: str) -> str:
    """The limit that a sentence is about."""
    return next((name for name in ("time", "memory", "facts") if re.search(rf"\b{name}\b", reason)), reason)


def refusal(problem: BaseException) -> HTTPError | None:
    """What a request that failed is told; None for a defect of ours."""
    match problem:
        case HTTPError():
            return problem
        case ProgramError():
            code = "syntax" if isinstance(problem, SyntaxProblem) else "program"
            listed = [diagnostic(each) for each in problem.diagnostics]
            return HTTPError(400, code, str(problem), diagnostics=listed)
        case LimitReached():
            return HTTPError(503, "limit", str(problem), limit=_limit_name(problem.reason))
        case DataError():
            return HTTPError(400, "data", str(problem))
        case UsageError():
            placed = placed_message(str(problem))
            return HTTPError(400, "syntax" if placed else "usage", str(problem), diagnostics=placed)
        case DeltalogError():
            return HTTPError(400, "usage", str(problem))
        case RecursionError():
            return wrong(NESTED)
        case MemoryError():
            return HTTPError(503, "limit", "the server is out of memory; ask for less", limit="memory")
        case _:
            return None


def diagnostic(found: Diagnostic, text: str | None = None) -> dict[str, Any]:
    """A diagnostic as JSON; lines and columns count from one, and the end is behind the last character. If it is to be
    about a certain text, it has a place only there."""
    place: dict[str, Any] = dict.fromkeys(("line", "column", "end_line", "end_column"))
    if (span := found.span) is not None and text not in (None, span.source.text):
        message = f"together with the rules that are there: {found.message}\n{span.excerpt()}"
        return {"severity": found.severity, "message": message, "hint": found.hint, **place}
    if span is not None:
        last = type(span)(span.source, max(span.start, span.end - 1), span.end)
        place = {"line": span.line, "column": span.column, "end_line": last.line, "end_column": last.column + 1}
    return {"severity": found.severity, "message": found.message, "hint": found.hint, **place}


def placed_message(message: str) -> list[dict[str, Any]]:
    """The diagnostic of a message about SPARQL that names its place."""
    found = _PLACE.match(message)
    if found is None:
        return []
    line, column, text = int(found[1]), int(found[2]), found[3]
    place = {"line": line, "column": column, "end_line": line, "end_column": column + 1}
    return [{"severity": "error", "message": text.partition("\n")[0], "hint": None, **place}]
