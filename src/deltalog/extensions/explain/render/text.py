"""An explanation as an indented tree.

    path(a, c)
    │  r2 (paths.dl:2)  path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) .
    │  ?X = a, ?Y = b, ?Z = c
    ├─ path(a, b)
    │  ...
    └─ edge(b, c)   explicit, edge.csv

The text of a rule is said where it occurs first, and its id everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from deltalog.core.render.text_tree import text_tree
from deltalog.core.render.text_width import columns, cut_middle
from deltalog.extensions.explain.model import Explanation
from deltalog.extensions.explain.render.labels import place, visible
from deltalog.extensions.explain.render.outline import Outline, OutlineNode, outline

STEPS, NESTING, WIDTH, NARROWEST, LONGEST = 100, 16, 110, 40, 300  # facts, levels, columns; LONGEST is of one label

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
COLOURS = {"explicit": GREEN, "satisfied": GREEN, "failed": RED, "absent": YELLOW, "near": YELLOW, "more": DIM}


def render(explanation: Explanation, *, colour: bool = False, width: int = WIDTH, steps: int = STEPS) -> str:
    """The text; `colour`: with the codes of a terminal. At most about `steps` facts are shown."""
    return "\n".join(_Tree(colour, width).lines(outline(explanation, steps, NESTING)))


class _Tree:
    """The lines of an outline; knows which rules have been said."""

    def __init__(self, colour: bool, width: int) -> None:
        self.colour, self.width = colour, width
        self.said: set[str] = set()

    def lines(self, made: Outline) -> Iterator[str]:
        for line in _wrapped(cut_middle(made.title, LONGEST), self.width):
            yield self.painted(line, BOLD)
        for section in made.sections:
            yield ""
            if section.heading:
                yield self.painted(section.heading, DIM)
            for i, node in enumerate(section.nodes):
                if i and node.kind == "attempt":
                    yield ""
                yield from text_tree(node, lambda each: each.children, self.node)
        if made.notes:
            yield ""
        for note in made.notes:
            yield self.painted(note, YELLOW)

    def node(self, node: OutlineNode, indent: str) -> Iterator[str]:
        """The lines of a node without its children."""
        room = max(self.width - len(indent), NARROWEST)
        yield from self.head(node, room)
        yield from self.step(node, room)

    def head(self, node: OutlineNode, room: int) -> Iterator[str]:
        """The label and the note of a node: in one line if there is room."""
        if not node.label:
            return
        label, note = cut_middle(node.headline, LONGEST), cut_middle(node.remark, LONGEST)
        number = f"  [{node.number}]" if node.number else ""
        *lines, last = (self.painted(line, COLOURS.get(node.kind, BOLD)) for line in _wrapped(label, room))
        yield from lines
        if not lines and columns(f"{label}{number}   {note}") <= room:
            yield f"{last}{number}" + (f"   {self.painted(note, DIM)}" if note else "")
        else:
            yield f"{last}{number}"
            yield from (self.painted(line, DIM) for line in _wrapped(note, room))

    def step(self, node: OutlineNode, room: int) -> Iterator[str]:
        """The rule and the bindings of a node."""
        bindings = cut_middle(node.bindings, 4 * LONGEST)
        if node.rule is not None:
            if node.rule.id in self.said:  # one line
                for line in _wrapped(": ".join(filter(None, [place(node.rule), bindings])), room):
                    yield self.painted(line, CYAN)
                return
            self.said.add(node.rule.id)
            for line in _wrapped(f"{place(node.rule)}  {cut_middle(visible(node.rule.text), 4 * LONGEST)}", room):
                yield self.painted(line, CYAN)
        for line in _wrapped(bindings, room):
            yield self.painted(line, DIM)

    def painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of about a width. A break stands for one space; more of them stay, as they may belong to a value."""
    lines = wrap(
        text,
        width,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=False,
    )
    return [line[:-1] if line.endswith(" ") and not line.endswith("  ") else line for line in lines]
