"""The terms of a JSON-LD context that are defined by others, as `name` by `schema` in `{"schema": "http://schema.org/",
"name": "schema:name"}`.

The parser calls itself for the terms that a definition needs, and a chain of some ten thousand would end the process.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deltalog.core.errors import DataError
from deltalog.core.limits import check_running

Members = Sequence[tuple[str, Any]]


def check_terms(data: bytes, path: Path, most: int) -> None:
    """DataError if a term is defined by another, and so on, more than this many times."""
    if data.count(b":") <= most:
        return

    def strings(members: Members) -> list[str]:
        """The texts of an object: all that it can define a term by."""
        check_running()
        if len(members) > most and _is_deeper(members, most):
            raise DataError(
                f"{path}: more than {most:,} terms of a @context are defined by each other; Tuning(rdf_max_depth=...) "
                "allows more"
            )
        return [value for _, value in members if isinstance(value, str)]

    decoder = json.JSONDecoder(object_pairs_hook=strings, parse_int=str, parse_float=str, strict=False)
    try:
        decoder.decode(data.decode("utf-8", "replace"))
    except RecursionError:
        raise DataError(f"{path}: objects and arrays are nested too deeply; write them flatter") from None
    except ValueError:
        pass  # the parser says where


def _is_deeper(members: Members, most: int) -> bool:
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


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value if isinstance(value, list) else []


def _terms(texts: Iterable[Any], names: set[str]) -> Iterable[str]:
    """The terms in texts: alone, or before a colon."""
    for text in texts:
        if isinstance(text, str):
            yield from {text, text.partition(":")[0]} & names
