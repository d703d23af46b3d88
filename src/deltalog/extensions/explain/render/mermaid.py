"""An explanation as a flowchart of Mermaid, which Markdown on GitHub and in notebooks draws.

A part that is used several times is one node with several arrows. Everything in a label that Mermaid could read as its
own (quotes, `#`, `%%`, backticks, HTML) is written as an entity. Mermaid refuses texts of more than 50,000 characters,
so a larger chart is cut further.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deltalog.core.render.text_width import cut_middle
from deltalog.extensions.explain.model import Explanation
from deltalog.extensions.explain.render.labels import place, visible
from deltalog.extensions.explain.render.outline import Outline, OutlineNode, outline

STEPS, NESTING = 60, 60
WIDEST = 60  # columns of a line of a label
MOST_CHARACTERS = 45_000

CLASSES = {
    "explicit": "fill:#e6f4e8,stroke:#5d9c68,color:#1c2333",
    "derived": "fill:#e9f0fb,stroke:#6b8fc4,color:#1c2333",
    "absent": "fill:#fff4d9,stroke:#b99235,color:#1c2333",
    "failed": "fill:#fde8e8,stroke:#c25555,color:#1c2333",
    "other": "fill:#f4f6fa,stroke:#8a93a6,color:#1c2333",
}
SAME_CLASS = {"satisfied": "explicit", "near": "absent"}


def render(explanation: Explanation, *, steps: int = STEPS) -> str:
    """The text of the flowchart; at most about `steps` facts are in it."""
    while True:
        text = "\n".join(_lines(outline(explanation, steps, NESTING))) + "\n"
        if len(text) <= MOST_CHARACTERS or steps <= 1:
            return text
        steps //= 2


def _lines(made: Outline) -> Iterator[str]:
    yield "flowchart TD"
    names = {node: f"n{i}" for i, node in enumerate(node for node in made.nodes() if node.see is None)}
    for node, name in names.items():
        kind = SAME_CLASS.get(node.kind, node.kind)
        yield f'  {name}["{_label(node)}"]:::{kind if kind in CLASSES else "other"}'
    for node, name in names.items():
        yield from (f"  {name} --> {names[child.see or child]}" for child in node.children)
    for i, note in enumerate([made.title] * (not names) + made.notes):
        yield f'  note{i}["{_escaped(note, 4 * WIDEST)}"]:::other'
    yield from (f"  classDef {name} {style}" for name, style in CLASSES.items())


def _label(node: OutlineNode) -> str:
    rule = [place(node.rule), node.rule.text] if node.rule is not None else []
    rows = [node.headline, node.remark, *rule, node.bindings]
    return "<br/>".join(_escaped(row, WIDEST) for row in rows if row)


def _escaped(text: str, most: int) -> str:
    """ASCII other than letters, digits, spaces and a few marks is written as entities of Mermaid."""
    return re.sub(r"[!-~](?<![A-Za-z0-9.,()=?/])", lambda m: f"#{ord(m[0])};", cut_middle(visible(text), most))
