"""Which language a program is written in."""

from __future__ import annotations

import re

_WORDS = "decl|type|comp|init|input|output|printsize|include|functor|number_type|symbol_type|pragma"
_DIRECTIVE = re.compile(rf"^\s*\.(?:{_WORDS})\s", re.M)


def is_souffle(text: str) -> bool:
    """Whether a text has Soufflé's directives."""
    return _DIRECTIVE.search(text) is not None
