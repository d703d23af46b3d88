"""An explanation as HTML that folds and unfolds: a page in one file, or a piece of a notebook.

The tree is made of <details>, which work with a keyboard and without a script. The page adds a small script: buttons to
fold and unfold everything, arrow keys, and links that open what they lead to. Its content security policy names the
script by its hash and allows nothing else to run or load. A notebook gets the tree alone, with styles that apply to
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from html import escape

from deltalog.core.render.html import html_page
from deltalog.core.render.text_width import cut_middle
from deltalog.extensions.explain.model import Explanation
from deltalog.extensions.explain.render.labels import place, visible
from deltalog.extensions.explain.render.outline import Outline, OutlineNode, outline

STEPS, NOTEBOOK_STEPS, NESTING = 500, 100, 20
OPEN_LEVELS, NOTEBOOK_OPEN_LEVELS = 4, 2
LONGEST = 600  # characters of one label

# Text has the colour of its surroundings; the hues of the marks can be seen on white and on black.
STYLE = """
.dlx { font: 14px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
.dlx code, .dlx .dlx-label { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px;
  white-space: pre-wrap; background: none; color: inherit; padding: 0 }
.dlx ul { list-style: none; margin: 0; padding: 0 0 0 1.3em; border-left: 1px solid #8888 }
.dlx ul.dlx-top { padding: 0; border: 0 }
.dlx a { color: inherit; text-decoration: underline }
.dlx li { margin: .15em 0; padding: 0 }
.dlx summary { cursor: pointer; border-radius: 4px }
.dlx summary:focus-visible { outline: 2px solid #3b82d0 }
.dlx .dlx-label { font-weight: 600; border-left: 4px solid #8888; padding-left: .45em }
.dlx .dlx-leaf { margin-left: 1.05em }
.dlx .dlx-step { margin: .1em 0 .25em 1.6em }
.dlx .dlx-dim { opacity: .78 }
.dlx .dlx-derived { border-color: #3b82d0 } .dlx .dlx-explicit, .dlx .dlx-satisfied { border-color: #2f9e55 }
.dlx .dlx-group, .dlx .dlx-member { border-color: #9a6fd0 } .dlx .dlx-absent, .dlx .dlx-near { border-color: #c08a1a }
.dlx .dlx-failed { border-color: #d65050 } .dlx .dlx-more { font-weight: normal }
.dlx .dlx-answer { font-size: 1.15em; font-weight: 600; margin: .4em 0 }
.dlx .dlx-heading { font-weight: 600; margin: 1em 0 .3em }
.dlx .dlx-cut { border-left: 4px solid #c08a1a; padding-left: .5em }
"""

PAGE_STYLE = """
button { font: inherit; margin-right: .5em }
:target > summary, .dlx-leaf:target { background: #c08a1a33 }
"""

SCRIPT = """
const all = () => [...document.querySelectorAll('.dlx details')];
const reveal = () => {
  const found = document.getElementById(location.hash.slice(1));
  for (let node = found; node; node = node.parentElement) if (node.tagName === 'DETAILS') node.open = true;
  if (found) found.scrollIntoView({block: 'nearest'});
};
document.getElementById('dlx-unfold').onclick = () => all().forEach(one => one.open = true);
document.getElementById('dlx-fold').onclick = () => all().forEach(one => one.open = false);
addEventListener('hashchange', reveal);
addEventListener('keydown', event => {
  const here = document.activeElement;
  if (!here || here.tagName !== 'SUMMARY') return;
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  const open = {ArrowRight: true, ArrowLeft: false}[event.key];
  if (open !== undefined) here.parentElement.open = open;
  if (step) {
    const seen = [...document.querySelectorAll('.dlx summary')].filter(one => one.offsetParent !== null);
    (seen[seen.indexOf(here) + step] || here).focus();
  }
  if (step || open !== undefined) event.preventDefault();
});
reveal();
"""

TOOLS = (
    '<p><button type="button" id="dlx-unfold">Unfold all</button>'
    '<button type="button" id="dlx-fold">Fold all</button></p>'
)


def render(explanation: Explanation, *, steps: int | None = None, notebook: bool = False) -> str:
    """The page, or with `notebook` a piece of one; at most about `steps` facts are in it."""
    most = steps if steps is not None else NOTEBOOK_STEPS if notebook else STEPS
    made = outline(explanation, most, NESTING)
    name = f"dlx-{sha256(made.title.encode()).hexdigest()[:8]}"
    tree = _Tree(name, NOTEBOOK_OPEN_LEVELS if notebook else OPEN_LEVELS)
    body = "".join(tree.body(made, "" if notebook else TOOLS))
    if notebook:
        return f'<div class="dlx"><style>{STYLE}</style>{body}</div>'
    main = f'<main class="dlx">{body}</main>'
    return html_page(cut_middle(made.title, LONGEST), main, STYLE + PAGE_STYLE, SCRIPT)


class _Tree:
    """The HTML of an outline; `name` starts its ids, which a notebook shares with other outputs."""

    def __init__(self, name: str, open_levels: int) -> None:
        self.name, self.open_levels = name, open_levels

    def body(self, made: Outline, tools: str) -> Iterator[str]:
        title = escape(cut_middle(made.title, LONGEST))
        yield f'<div class="dlx-answer" role="heading" aria-level="1">{title}</div>{tools}'
        yield from (f'<p class="dlx-cut">{escape(note)}</p>' for note in made.notes)
        for section in made.sections:
            if section.heading:
                yield f'<div class="dlx-heading" role="heading" aria-level="2">{escape(section.heading)}</div>'
            level = self.open_levels if section.continued else 0  # which keeps it folded
            yield f'<ul class="dlx-top">{"".join(self.item(node, level) for node in section.nodes)}</ul>\n'

    def item(self, node: OutlineNode, level: int) -> str:
        line = "".join(_line(node))
        if node.see is not None:
            line += f' <a href="#{self.name}-{node.see.number}">see [{node.see.number}]</a>'
        anchor = f' id="{self.name}-{node.number}"' if node.number else ""
        inside = "".join(_step(node))
        children = "".join(self.item(child, level + 1) for child in node.children)
        if not inside and not children:
            return f'<li><div class="dlx-leaf"{anchor}>{line}</div></li>'
        unfolded = " open" if level < self.open_levels else ""
        branch = f"<ul>{children}</ul>" if children else ""
        return f"<li><details{anchor}{unfolded}><summary>{line}</summary>{inside}{branch}</details></li>\n"


def _line(node: OutlineNode) -> Iterator[str]:
    label = node.headline or (place(node.rule) if node.rule is not None else "")
    yield f'<span class="dlx-label dlx-{node.kind}">{escape(cut_middle(label, LONGEST))}</span>'
    if node.number:
        yield f' <span class="dlx-dim">[{node.number}]</span>'
    if note := _note(node):
        yield f' <span class="dlx-dim">{escape(cut_middle(note, LONGEST))}</span>'


def _note(node: OutlineNode) -> str:
    if node.see is not None:
        return ""
    return f"{node.note} by {place(node.rule)}" if node.rule is not None and node.label else node.note


def _step(node: OutlineNode) -> Iterator[str]:
    """The rule and the bindings of a node."""
    if node.rule is not None:
        yield f'<div class="dlx-step"><code>{escape(visible(node.rule.text))}</code></div>'
    if node.bindings:
        yield f'<div class="dlx-step dlx-dim"><code>{escape(cut_middle(node.bindings, 4 * LONGEST))}</code></div>'
