"""Tables for a terminal: columns as wide as their cells, numbers to the right, at most as wide as the window.

Where a table is wider than the window, its widest columns are cut, which `…` shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltalog.core.limits import checked
from deltalog.core.render.text_width import columns as width_of
from deltalog.core.render.text_width import cut_end

GAP = 2  # spaces between columns
NARROWEST = 8  # the least width of a column that is cut


def text_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[bool] = (),
    width: int | None = None,
    *,
    underlined: bool = True,
) -> Iterator[str]:
    """The lines of a table with a header. `numbers` says which columns stand to the right."""
    header, rows = [_plain(name) for name in columns], [[_plain(cell) for cell in row] for row in checked(rows)]
    widths = [max(width_of(row[i]) for row in checked((header, *rows))) for i in range(len(columns))]
    if width is not None:
        widths = _narrowed(widths, width)
    right = list(numbers) or [False] * len(columns)
    line = [["-" * each for each in widths]] if underlined else []
    for row in (header, *line, *rows):
        yield _line(row, widths, right)


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
        text = cut_end(cell, width)
        blank = " " * (width - width_of(text))
        padded.append(blank + text if to_the_right else text + blank)
    return (" " * GAP).join(padded).rstrip()
