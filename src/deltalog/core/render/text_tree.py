"""Trees for a terminal: the children of a node below it, each behind a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
TRUNK, BRANCH, LAST, BLANK = "│  ", "├─ ", "└─ ", "   "


def text_tree(
    node: T,
    children: Callable[[T], Sequence[T]],
    lines: Callable[[T, str], Iterable[str]],
    first: str = "",
    rest: str = "",
) -> Iterator[str]:
    """The lines of a tree. `lines(node, indent)` are those of a node alone: the first one stands behind `first`, others
    behind `indent`, which is `rest` and the trunk that leads to the children of the node."""
    below = children(node)
    indent = rest + (TRUNK if below else BLANK)
    for line in lines(node, indent):
        yield f"{first}{line}"
        first = indent
    for child in below:
        is_last = child is below[-1]
        ends = (LAST, BLANK) if is_last else (BRANCH, TRUNK)
        yield from text_tree(child, children, lines, *(f"{rest}{end}" for end in ends))
