"""How wide a text is in a font of fixed width, and how it is shortened to fit.

A character of East Asian scripts takes two columns, and a combining one none.
"""

from __future__ import annotations

from unicodedata import combining, east_asian_width


def columns(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def cut_end(text: str, most: int) -> str:
    """The beginning of a text, in at most so many columns."""
    return text if columns(text) <= most else f"{_fitting(text, most - 1)}…"


def cut_middle(text: str, most: int) -> str:
    """A text in at most so many columns, without its middle: the ends of IRIs say more."""
    if columns(text) <= most:
        return text
    tail = _fitting(text[::-1], (most - 1) // 2)[::-1]
    return f"{_fitting(text, most - 1 - columns(tail))}…{tail}"


def _fitting(text: str, most: int) -> str:
    width = 0
    for i, character in enumerate(text):
        width += _width(character)
        if width > most:
            return text[:i]
    return text


def _width(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
