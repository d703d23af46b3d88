"""Which language a program is written in."""

from __future__ import annotations

import re

_WORDS = "decl|type|comp|init|input|output|printsize|include|functor|number_type|symbol_type|pragma"
_HASH = r"""include\s*["<]|pragma\s+once\s*$|(?:ifdef|ifndef)\s+\w+\s*$"""  # more than words, as in a comment
_DIRECTIVE = re.compile(rf"^\s*\.(?:{_WORDS})\s|^\s*#\s*(?:{_HASH})", re.M)


def is_souffle(text: str) -> bool:
    """Whether a text has directives of Soufflé, or of its preprocessor."""
    return _DIRECTIVE.search(text) is not None
