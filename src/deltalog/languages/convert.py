"""Programs in other languages, as far as they can be said there.

`converted` prints a program statement by statement: each target is a `Writer` (one file each), which returns the text
of a rule or raises `CannotSay`. What cannot be said is left out of the text, and named with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TypeVar

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Rule
from deltalog.languages.load_program import Documents
from deltalog.languages.souffle.core_functions import CoreFunctions
from deltalog.languages.writer import CannotSay, Writer

T = TypeVar("T")
_ORDER = "It has choice-domain, subsumption, .limitsize, autoinc(), or an aggregate over its own recursion."
_FILES = "Name the file in the program that is made, or give it with --data."
TARGETS = ("deltalog", "souffle", "nemo", "rdfox")


@dataclass(frozen=True)
class Converted:
    """The text of a program in another language, what it does not say, and what may mean something else there."""

    text: str
    lost: tuple[Diagnostic, ...]
    notes: tuple[Diagnostic, ...] = ()


def converted(document: Documents, target: str) -> Converted:
    """A program in another language; a Soufflé program in its own is its text."""
    if target == "souffle" and document.souffle:
        return Converted("".join(f"{text.rstrip()}\n" for text in document.souffle), ())
    functions = CoreFunctions()
    lost: list[Diagnostic] = [*_files(document, "input", "error"), *_ordered(document)]
    rules = [made for rule in document.rules if (made := _said(functions.rule, rule, lost)) is not None]
    module = import_module(f"deltalog.languages.{target}.write")
    writer: Writer = getattr(module, f"{target.capitalize()}Writer")(replace(document, rules=tuple(rules)))
    lines: list[str] = []
    for rule in writer.rules:
        line = _said(writer.statement, rule, lost)
        if line is not None:
            lines.append(line)
            writer.said.update((*rule.reads, *(head.pred for head in rule.heads)))
    lost += writer.lost
    text = "".join(f"{line}\n" for line in (*writer.before(), *lines, *writer.after()))
    notes = [Diagnostic(each, None, None, "note") for each in functions.differences if target != "souffle"]
    notes += [Diagnostic(each, None, None, "note") for each in writer.notes]
    notes += _files(document, "output", "note")
    return Converted(text, tuple(_in_order(lost)), tuple(notes))


def _said(say: Callable[[Rule], T], rule: Rule, lost: list[Diagnostic]) -> T | None:
    """What is made of a rule; None, and why, if that cannot be said."""
    try:
        return say(rule)
    except CannotSay as problem:
        lost.append(Diagnostic(problem.message, rule.span, problem.hint))
        return None


def _files(document: Documents, kind: str, severity: str) -> Iterator[Diagnostic]:
    """The files that a Soufflé program names, whose cells have the types of its declarations. Without an output, more
    is written; without an input, facts are missing."""
    for use in document.directives:
        if use.kind == kind:
            yield Diagnostic(f".{kind} {use.relation} at {use.place} is left out", None, _FILES, severity)


def _ordered(document: Documents) -> Iterator[Diagnostic]:
    """What a Soufflé program derives in an order."""
    for rule in (rule for stage in document.stages for rule in (*stage.rules, *stage.procedures.dominance)):
        yield Diagnostic("what this rule derives depends on the order of derivation", rule.span, _ORDER)


def _in_order(lost: Sequence[Diagnostic]) -> list[Diagnostic]:
    return sorted(dict.fromkeys(lost), key=lambda each: each.span.start if each.span else -1)
