"""Checks of what users pass: UsageError says what was expected, and what came instead."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from typing import Any

from deltalog.core.errors import UsageError

SHOWN_CHARACTERS = 80
_SIMPLE = (str, bytes, int, float, bool, type(None), PathLike)


def short_repr(value: object) -> str:
    """A value in a message, in one short line, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # of what is nested too deeply, or wrong itself
        text = ""
    if isinstance(value, _SIMPLE) or (text and "\n" not in text and len(text) <= SHOWN_CHARACTERS):
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def checked_text(value: object, what: str) -> str:
    """A text, checked; `what` says which, with an example."""
    if not isinstance(value, str):
        raise UsageError(f"expected {what}, and not {short_repr(value)}")
    if not is_text(value):
        raise UsageError(f"{short_repr(value)} has half a character (a surrogate), which is no text")
    return str.__str__(value)


def is_text(value: str) -> bool:
    """Whether a string has a UTF-8 form."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def names_of(value: Any, option: str) -> list[str]:
    """Several names, checked: a single string would be taken for its letters."""
    if isinstance(value, str):
        raise UsageError(f"{option} takes several names; write {option}=[{short_repr(value)}]")
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        raise UsageError(f"{option} takes a list of names, such as {option}=['path'], and not {short_repr(value)}")
    return [checked_text(name, f"names of predicates for {option}, such as 'path'") for name in value]


def path_text(value: object) -> str:
    """The text of a path, checked."""
    if isinstance(value, list | tuple | set):
        raise UsageError(f"expected one path at a time, not {short_repr(value)}; write *paths for the paths of a list")
    if not isinstance(value, str | PathLike) or not isinstance(text := os.fspath(value), str):
        raise UsageError(f"expected a path, such as 'facts.csv' or Path('facts.csv'), and not {short_repr(value)}")
    if "\0" in text or not is_text(text):
        raise UsageError(f"{short_repr(text)} is no path: it has a character that no name of a file has")
    return text


def check_type(value: object, kind: type[Any], what: str) -> None:
    """UsageError if an argument is of another type."""
    if not isinstance(value, kind):
        raise UsageError(f"expected {what}, and not {short_repr(value)}")


def check_choice(what: str, value: object, choices: Collection[str], where: str = "") -> None:
    """UsageError if the value of an option is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise UsageError(f"there is no {what} {short_repr(value)}{where}; choose one of {', '.join(choices)}")
