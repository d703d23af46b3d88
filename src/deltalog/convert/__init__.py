"""Programs in other languages, as far as they can be said there.

`converted` prints a program statement by statement: each target is a `Writer` (one file each), which returns the text
of a rule or raises `CannotSay`. What cannot be said is left out of the text, and named with its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from deltalog.convert.writer import CannotSay, Writer
from deltalog.model.errors import Diagnostic
from deltalog.program.load_program import Documents

TARGETS = ("deltalog", "souffle", "nemo", "rdfox")


@dataclass(frozen=True)
class Converted:
    """The text of a program in another language, and what it does not say."""

    text: str
    lost: tuple[Diagnostic, ...]


def converted(document: Documents, target: str) -> Converted:
    """A program in another language."""
    module = import_module(f"deltalog.convert.to_{target}")
    writer: Writer = getattr(module, f"{target.capitalize()}Writer")(document)
    lines: list[str] = []
    lost: list[Diagnostic] = []
    for rule in writer.rules:
        try:
            lines.append(writer.statement(rule))
            writer.said.update((*rule.reads, *(head.pred for head in rule.heads)))
        except CannotSay as problem:
            lost.append(Diagnostic(problem.message, rule.span, problem.hint))
    lost += writer.lost
    text = "".join(f"{line}\n" for line in (*writer.before(), *lines, *writer.after()))
    return Converted(text, tuple(_in_order(lost)))


def _in_order(lost: Sequence[Diagnostic]) -> list[Diagnostic]:
    return sorted(dict.fromkeys(lost), key=lambda each: each.span.start if each.span else -1)
