"""Texts that a prompt and a notebook show as what they are: a plan line by line, a drawing as a picture."""

from __future__ import annotations

from html import escape

_STYLE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;line-height:1.35"


class PlainText(str):
    """A text of several lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<pre style="{_STYLE}">{escape(self)}</pre>'


class SvgText(str):
    """An SVG, which has a background of its own (`svg`)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<SVG: {len(self):,} characters>"

    def _repr_svg_(self) -> str:
        return str(self)

    _repr_html_ = _repr_svg_
