"""The parser of `grammar.lark`, whose words come from `syntax.lexer`.

Its tables take longer to compute than a small program takes to run, so lark keeps them in a file beside the compiled
modules of Python. lark compares the grammar, its own version and Python's with those of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import Lexer

from deltalog.languages.deltalog.builder import Builder


class WordStream(Lexer):
    """Words are words already."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, words: Any) -> Iterator[Any]:  # type: ignore[override]
        return iter(words)


@cache
def statement_parser() -> Lark:
    """The parser of one statement."""
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    tables = Path(cache_from_source(__file__)).with_suffix(".tables")
    with suppress(OSError):
        tables.parent.mkdir(parents=True, exist_ok=True)
    return Lark(grammar, start="statement", parser="lalr", lexer=WordStream, transformer=Builder(), cache=str(tables))
