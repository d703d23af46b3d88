"""The elements of an XML document, with their places for messages.

Document types are those of `deltalog.formats.entities`: plain entities are expanded, all others are refused. What follows an
expanded entity on its line has its place in the expanded text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from deltalog.core.errors import Diagnostic, SyntaxProblem
from deltalog.core.rules import Source, Span
from deltalog.formats.entities import expanded

RIF = "http://www.w3.org/2007/rif#"
MAX_DEPTH = 200  # of elements in each other
_ANNOTATIONS = ("id", "meta")
_PARTS = {  # what may be inside of the elements of RIF Core; `slot` and `rest` are refused later, with another message
    **dict.fromkeys(("Forall", "Exists"), ("declare", "formula")),
    **dict.fromkeys(("And", "Or"), ("formula",)),
    **dict.fromkeys(("Atom", "Expr"), ("op", "args", "slot")),
    **dict.fromkeys(("Const", "Var"), ()),
    "declare": ("Var",),
    "Implies": ("if", "then"),
    "Frame": ("object", "slot"),
    "Member": ("instance", "class"),
    "Equal": ("left", "right"),
    "External": ("content",),
    "List": ("items", "rest"),
}


class NotRifCore(Exception):
    """Something in a document has no meaning here; the diagnostic says what and where."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)


@dataclass
class Element:
    """An element; `parts` are those inside of it without annotations. Names of RIF are without their namespace."""

    name: str
    attributes: dict[str, str]
    span: Span  # of its first tag
    parts: list[Element] = field(default_factory=list)
    text: str = ""

    def refused(self, message: str, hint: str | None = None) -> NotRifCore:
        return NotRifCore(message, self.span, hint)

    def check(self) -> None:
        """Refuses what has no meaning inside of this element, and inside of the elements in it."""
        for part in self.parts:
            if part.name not in _PARTS.get(self.name, (part.name,)):
                raise part.refused(f"<{part.name}> has no place in <{self.name}>")
            part.check()
        if self.text.strip() and self.name not in ("Const", "Var"):
            raise self.refused(f"the text {self.text.strip()!r:.40} has no place in <{self.name}>")

    def all(self, name: str) -> Iterator[Element]:
        """The elements inside of those parts that have a name: of `formula`, the formulas."""
        return (inner for part in self.parts if part.name == name for inner in part.parts)

    def one(self, name: str) -> Element:
        found = list(self.all(name))
        if len(found) != 1:
            raise self.refused(f"<{self.name}> has {len(found) or 'nothing'} in <{name}>, where one thing belongs")
        return found[0]


def read_elements(text: str, name: str) -> Element:
    """The outermost element of a document; SyntaxProblem if it is no XML, DataError for a refused document type."""
    data = expanded(text.encode(), name)
    return _ElementReader(Source(name, data.decode()), data).read()


class _ElementReader:
    """The open elements, innermost last, below one that holds the outermost."""

    def __init__(self, source: Source, data: bytes) -> None:
        self._source, self._data = source, data
        self._open = [Element("", {}, Span(source, 0, 0))]
        self._bytes = self._characters = 0
        self._parser = ParserCreate("utf-8", namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _: self._open.pop()
        self._parser.CharacterDataHandler = self._text

    def read(self) -> Element:
        try:
            self._parser.Parse(self._data, True)
        except ExpatError as error:
            at = len(self._data[: self._parser.ErrorByteIndex].decode(errors="ignore"))
            hint = "A RIF document is RIF/XML; the presentation syntax is not read."
            wrong = Diagnostic(f"this is not XML: {ErrorString(error.code)}", Span(self._source, at, at + 1), hint)
            raise SyntaxProblem([wrong]) from None
        except NotRifCore as refused:
            raise SyntaxProblem([refused.diagnostic]) from None
        return self._open[0].parts[0]

    def _place(self) -> int:
        """The character that the parser is at; it only goes forward."""
        at = self._parser.CurrentByteIndex
        self._characters += len(self._data[self._bytes : at].decode())
        self._bytes = at
        return self._characters

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        start = self._place()
        span = Span(self._source, start, self._source.text.index(">", start) + 1)
        namespace, _, local = name.rpartition("}")
        element = Element(local if namespace == RIF else f"{{{name}", attributes, span)
        if len(self._open) > MAX_DEPTH:
            raise element.refused(f"there are more than {MAX_DEPTH} elements in each other")
        if element.name not in _ANNOTATIONS:
            self._open[-1].parts.append(element)
        self._open.append(element)

    def _text(self, text: str) -> None:
        self._open[-1].text += text
