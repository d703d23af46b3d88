"""HTML: tables, and pages in one file. Text has the colour of its surroundings, to be read on white and on black."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from html import escape
from itertools import islice

from deltalog.core.terms import IRI, BlankNode, Literal

ROWS = 10  # that a preview shows
LONGEST = 80  # characters of a cell of a preview

_STYLE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;padding:2px 8px;text-align"
PAGE_STYLE = """
:root { color-scheme: light dark }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 80em; padding: 0 1em;
  background: Canvas; color: CanvasText }
"""


def value_text(value: object) -> str:
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


def html_preview(columns: Sequence[str], rows: Iterable[Sequence[object]], total: int, caption: str = "") -> str:
    """The first rows, under a caption, and how many there are in all."""
    shown = list(islice(rows, ROWS))
    more = f"<div>… and {total - len(shown):,} more</div>" if total > len(shown) else ""
    title = f"<div><b>{escape(caption)}</b></div>" if caption else ""
    return f"<div>{title}{html_table(columns, shown, longest=LONGEST) if columns else ''}{more}</div>"


def html_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    text: Callable[[object], str] = value_text,
    longest: int = sys.maxsize,
) -> str:
    """A table, with numbers to the right. `text` writes a value, of which at most `longest` characters are shown."""
    head = "".join(f'<th style="{_STYLE}:left">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(_cell(value, text(value), longest) for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object, text: str, longest: int) -> str:
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    title = f' title="{escape(text)}"' if short != text else ""
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f'<td style="{_STYLE}:{side}"{title}>{escape(short)}</td>'


def html_page(title: str, body: str, style: str = "", script: str = "") -> str:
    """A page in one file. The content security policy of one with a script names the script by its hash, and allows
    nothing else to run or load."""
    style += PAGE_STYLE
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'"
    security = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if script else ""
    scripts = f"\n<script>{script}</script>" if script else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{security}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body>{body}{scripts}</body></html>\n"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
