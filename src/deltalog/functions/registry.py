"""The records of all functions and aggregates, by name and by language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from deltalog.functions import aggregates, casts, conditions, dates, numbers, strings, terms
from deltalog.functions.function import AggregateFunction, Function

_TOPICS = (conditions, numbers, casts, strings, terms, dates)
FUNCTIONS: dict[str, Function] = {each.name: each for topic in _TOPICS for each in topic.FUNCTIONS}
AGGREGATES: dict[str, AggregateFunction] = {each.name: each for each in aggregates.AGGREGATES}


def named(language: str) -> dict[str, Function]:
    """The functions of a language by the names that it has for them."""
    return {name: each for each in FUNCTIONS.values() for name in each.names.get(language, ())}


def aggregates_named(language: str) -> dict[str, str]:
    """The aggregates of a language by the names that it has for them."""
    return {each.names[language]: each.name for each in AGGREGATES.values() if language in each.names}


def written(language: str, function: str, arguments: Sequence[str]) -> str | None:
    """A call as a language writes it; None if the language has no such function."""
    for form in FUNCTIONS[function].forms_in(language) if function in FUNCTIONS else ():
        if "{" not in form:
            return f"{form}({', '.join(arguments)})"
        if _places(form) == len(arguments):
            return form.format(*arguments)
    return None


@lru_cache
def _places(form: str) -> int:
    return max(map(int, re.findall(r"{(\d)}", form))) + 1
