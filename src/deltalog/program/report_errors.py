"""The pass that refuses a program: all errors of the passes before it together, in the order of the text."""

from __future__ import annotations

from deltalog.core.errors import Diagnostic, NotStratified, UnsafeRule
from deltalog.program.analysis import Analysis


def report_errors(analysis: Analysis) -> Analysis:
    """A pass: raises UnsafeRule or NotStratified with every error that was found."""
    errors = sorted([*analysis.unsafe, *analysis.cycles], key=_place)
    if analysis.unsafe:
        raise UnsafeRule(errors)
    if analysis.cycles:
        raise NotStratified(errors)
    return analysis


def _place(diagnostic: Diagnostic) -> tuple[str, int]:
    span = diagnostic.span
    return (span.source.name, span.start) if span else ("", 0)
