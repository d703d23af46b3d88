"""Tables for a terminal: columns as wide as their cells, numbers to the right, at most as wide as the window.

A character of East Asian scripts takes two places, and a combining one none. Where a table is wider than the window,
its widest columns are cut, which `…` shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import combining, east_asian_width

from deltalog.core.limits import checked

GAP = 2  # places between columns
NARROWEST = 8  # places that a column which is cut keeps


def text_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[bool] = (),
    width: int | None = None,
) -> Iterator[str]:
    """The lines of a table with a header. `numbers` says which columns stand to the right."""
    header, rows = [_plain(name) for name in columns], [[_plain(cell) for cell in row] for row in checked(rows)]
    widths = [max(places(row[i]) for row in checked((header, *rows))) for i in range(len(columns))]
    if width is not None:
        widths = _narrowed(widths, width)
    right = list(numbers) or [False] * len(columns)
    for row in (header, ["-" * each for each in widths], *rows):
        yield _line(row, widths, right)


def places(text: str) -> int:
    """How many places of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, most: int) -> str:
    """A text in at most so many places."""
    if places(text) <= most:
        return text
    kept = ""
    for each in text:
        if places(kept + each) >= most:
            break
        kept += each
    return f"{kept}…"


def _plain(text: str) -> str:
    """A text without what would move the cursor."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _narrowed(widths: list[int], most: int) -> list[int]:
    """Widths of columns that fit, as far as they can."""
    room = most - GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > NARROWEST:
        widest = max(widths)
        second = max([each for each in widths if each < widest], default=0)
        share = -(-(sum(widths) - room) // widths.count(widest))
        target = max(NARROWEST, second, widest - share)
        widths = [target if each == widest else each for each in widths]
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, to_the_right in zip(cells, widths, right, strict=True):
        text = cut(cell, width)
        blank = " " * (width - places(text))
        padded.append(blank + text if to_the_right else text + blank)
    return (" " * GAP).join(padded).rstrip()
