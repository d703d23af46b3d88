"""Small tables for notebooks: the first rows, and how many there are in all.

Text has the colour of its surroundings, so a table can be read on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from deltalog.core.terms import IRI, BlankNode, Literal

ROWS = 10  # that a preview shows
LONGEST = 80  # characters of a cell

_STYLE = "text-align:left;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;padding:2px 8px"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], total: int, caption: str = "") -> str:
    """The first rows as HTML, under a caption."""
    shown = list(islice(rows, ROWS))
    head = "".join(f'<th style="{_STYLE}">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    more = f"<div>… and {total - len(shown):,} more</div>" if total > len(shown) else ""
    title = f"<div><b>{escape(caption)}</b></div>" if caption else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if columns else ""
    return f"<div>{title}{table}{more}</div>"


def _cell(value: object) -> str:
    text = shown(value)
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    title = f' title="{escape(text)}"' if cut != text else ""
    return f'<td style="{_STYLE}"{title}>{escape(cut)}</td>'


def shown(value: object) -> str:
    """A value as people read it: IRIs in brackets, strings as they are."""
    match value:
        case None:
            return ""
        case IRI():
            return f"<{value}>"
        case BlankNode():
            return f"_:{value}"
        case Literal():
            return f'"{value.text}"' + (f"@{value.language}" if value.language else f"^^<{value.datatype}>")
        case bool():
            return str(value).lower()
    return str(value)
