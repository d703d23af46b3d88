"""SVG: the writer of all drawings, and their style, which follows the light or dark theme of the reader.

A shape gets its colour by its class: a box is `plain`, `blue`, `green`, `yellow`, `red` or `purple`, or
`dashed` if it stands for something that is elsewhere; a line is plain, or a `warning`.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from deltalog.core.render.text_width import columns

LINE, CHARACTER, MARGIN = 17, 7.25, 14  # pixels; of 12px monospace
FONT = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12"'
STYLE = """
.dlx-page { fill: #ffffff } .dlx text { fill: #1c2333 } .dlx .dim { fill: #566076 } .dlx .rule { fill: #1f5a96 }
.dlx .head { font-weight: 600 } .dlx .title { font-size: 14px; font-weight: 600 }
.dlx path { fill: none; stroke: #8a93a6 } .dlx polygon { fill: #8a93a6 }
.dlx rect.box { stroke: #8a93a6; fill: #f4f6fa }
.dlx path.warning { stroke: #c22222; stroke-dasharray: 5 3 } .dlx polygon.warning { fill: #c22222 }
.dlx .green rect { fill: #e6f4e8; stroke: #5d9c68 } .dlx .blue rect { fill: #e9f0fb; stroke: #6b8fc4 }
.dlx .purple rect { fill: #f3ecfa } .dlx .yellow rect { fill: #fff4d9; stroke: #b99235 }
.dlx .red rect { fill: #fde8e8; stroke: #c25555 } .dlx .dashed rect { stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
.dlx-page { fill: #14181f } .dlx text { fill: #e4e8f0 } .dlx .dim { fill: #a4aec0 } .dlx .rule { fill: #8fc0f5 }
.dlx path { stroke: #69738a } .dlx polygon { fill: #69738a } .dlx rect.box { stroke: #69738a; fill: #1f2530 }
.dlx path.warning { stroke: #e86a6a } .dlx polygon.warning { fill: #e86a6a }
.dlx .green rect { fill: #1b3322; stroke: #57a067 } .dlx .blue rect { fill: #1b2a42; stroke: #5f86c0 }
.dlx .purple rect { fill: #2d2340 } .dlx .yellow rect { fill: #3a2f14; stroke: #b99235 }
.dlx .red rect { fill: #421f22; stroke: #cf6a6a }
}
"""
_HEADS = "".join(
    f'<marker id="dlx-{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<polygon class="{name}" points="0,0 8,4 0,8"/></marker>'
    for name in ("arrow", "warning")
)


def element(name: str, content: str = "", **attributes: str | float) -> str:
    """An element around content, which is SVG; `class_` is written `class`, `text_anchor` `text-anchor`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(v)}"' for key, v in attributes.items() if v != ""
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _attribute(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}"


def text(x: float, y: float, content: str, class_: str = "", **attributes: str) -> str:
    """A line; where characters may be missing from the font, it is fitted to the room that was computed for it."""
    if not content.isascii():
        attributes |= {"textLength": f"{text_width(content):.0f}", "lengthAdjust": "spacingAndGlyphs"}
    return element("text", escape(content), class_=class_, x=x, y=y, **attributes, **{"xml:space": "preserve"})


def text_width(content: str) -> float:
    return columns(content) * CHARACTER


def arrow(path: str, class_: str = "", *, has_head: bool = True) -> str:
    return element("path", class_=class_, d=path, marker_end=f"url(#dlx-{class_ or 'arrow'})" if has_head else "")


def document(shapes: Iterable[str], width: float, height: float, title: str = "") -> str:
    """A drawing with a margin around it, on a page of its own."""
    width, height = width + MARGIN, height + MARGIN
    named = f"<title>{escape(title)}</title>\n" if title else ""
    body = "\n".join(shapes)
    heads = f"<defs>{_HEADS}</defs>\n" if "marker-end" in body else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dlx" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {FONT} role="img">{named}<style>{STYLE}</style>\n{heads}'
        f'<rect class="dlx-page" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )
