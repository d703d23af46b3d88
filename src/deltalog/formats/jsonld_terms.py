"""The terms of a JSON-LD context that are defined by others, as `name` by `schema` in `{"schema": "http://schema.org/",
"name": "schema:name"}`.

The parser calls itself for the terms that a definition needs, and a chain of some ten thousand would end the process.
It compares each term of a context with all others, without a check of the limits: 20,000 terms take a minute.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deltalog.core.errors import DataError
from deltalog.core.limits import check_running

MOST_TERMS = 5_000  # of a context; schema.org has 3,000
KeyValues = Sequence[tuple[str, Any]]


class _ContextObject(NamedTuple):
    """What is kept of an object: its size, and its texts, which are all that it can define a term by."""

    size: int
    texts: list[str]


def check_terms(data: bytes, path: Path, most: int) -> None:
    """DataError if a term is defined by another, and so on, more than this many times, or if a context is too large."""
    if data.count(b":") <= most:
        return

    def checked_object(members: KeyValues) -> _ContextObject:
        check_running()
        if any(name == "@context" and _size(value) > MOST_TERMS for name, value in members):
            raise DataError(f"{path}: a @context of more than {MOST_TERMS:,} terms")
        if len(members) > most and _is_deeper(members, most):
            raise DataError(
                f"{path}: more than {most:,} terms of a @context are defined by each other; Tuning(rdf_max_depth=...) "
                "allows more"
            )
        return _ContextObject(len(members), [value for _, value in members if isinstance(value, str)])

    decoder = json.JSONDecoder(object_pairs_hook=checked_object, parse_int=str, parse_float=str, strict=False)
    try:
        decoder.decode(data.decode("utf-8", "replace"))
    except RecursionError:
        raise DataError(f"{path}: objects and arrays are nested too deeply; write them flatter") from None
    except ValueError:
        pass  # the parser says where


def _is_deeper(members: KeyValues, most: int) -> bool:
    """Whether definitions need each other in a chain of more than this many terms, or in a cycle of as many."""
    names = {name for name, _ in members}
    needs = {name: set(_terms((name, *_texts(value)), names)) - {name} for name, value in members}
    needed_by = defaultdict(list)
    for name, others in needs.items():
        for other in others:
            needed_by[other].append(name)
    depth, ready, done = 0, [name for name, others in needs.items() if not others], 0
    while ready:
        depth, done = depth + 1, done + len(ready)
        users = [(user, name) for name in ready for user in needed_by[name]]
        for user, name in users:
            needs[user].discard(name)
        ready = list({user: None for user, _ in users if not needs[user]})
    return depth > most or len(names) - done > most


def _size(context: Any) -> int:
    """The number of terms of a context, or of all in an array."""
    parts = context if type(context) is list else [context]
    return sum(part.size for part in parts if isinstance(part, _ContextObject))


def _texts(value: Any) -> list[str]:
    return value.texts if isinstance(value, _ContextObject) else [value] if isinstance(value, str) else []


def _terms(texts: Iterable[str], names: set[str]) -> Iterable[str]:
    """The terms in texts: alone, or before a colon."""
    for text in texts:
        yield from {text, text.partition(":")[0]} & names
