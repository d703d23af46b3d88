"""The text of XML literals: exclusive canonical XML with comments.

The content of `rdf:parseType="Literal"` stands for its canonical form (section 7.2.17 of RDF/XML). A namespace is
declared on the outermost element that visibly uses it, in its own name or in that of an attribute; those that are in
scope and not used stay out (Exclusive XML Canonicalization, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from xml.parsers.expat import ParserCreate
from xml.sax.saxutils import quoteattr

_SEPARATOR = "\n"  # between the namespace, the local name and the prefix
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_VALUE = str.maketrans({"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"})


def canonical_text(content: bytes, namespaces: Mapping[str, str]) -> str:
    """The canonical form of an element's content (well-formed, in UTF-8), given the namespaces in scope by prefix."""
    unused = next(prefix for number in count() if (prefix := f"n{number}") not in namespaces)
    declared = "".join(f" xmlns{':' * bool(p)}{p}={quoteattr(uri)}" for p, uri in namespaces.items())
    parser, form = ParserCreate("UTF-8", _SEPARATOR), _CanonicalForm()
    parser.namespace_prefixes = parser.ordered_attributes = parser.buffer_text = True
    parser.Parse(f'<{unused}:x xmlns:{unused}="x"{declared}>'.encode(), False)
    parser.StartElementHandler, parser.EndElementHandler = form.start, form.end
    parser.CharacterDataHandler = form.characters
    parser.CommentHandler, parser.ProcessingInstructionHandler = form.comment, form.instruction
    parser.Parse(content, False)
    parser.EndElementHandler = None
    parser.Parse(f"</{unused}:x>".encode(), True)
    return "".join(form.pieces)


class _CanonicalForm:
    """What Expat reports, written out; `_declared` has the namespaces that the open elements declare in the output."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._declared: list[dict[str, str]] = [{"": ""}]

    def start(self, name: str, attributes: Sequence[str]) -> None:
        uri, prefix, written = _parts(name)
        named = sorted((*_parts(each), value) for each, value in zip(attributes[::2], attributes[1::2], strict=True))
        used = {prefix: uri} | {p: u for u, p, _, _ in named if p not in ("", "xml")}
        fresh = {p: u for p, u in sorted(used.items()) if self._declared[-1].get(p) != u}
        self._declared.append(self._declared[-1] | fresh)
        self.pieces.append(f"<{written}")
        self.pieces += [f' xmlns{":" * bool(p)}{p}="{u.translate(_VALUE)}"' for p, u in fresh.items()]
        self.pieces += [f' {each}="{value.translate(_VALUE)}"' for _, _, each, value in named]
        self.pieces.append(">")

    def end(self, name: str) -> None:
        self._declared.pop()
        self.pieces.append(f"</{_parts(name)[2]}>")

    def characters(self, text: str) -> None:
        self.pieces.append(text.translate(_TEXT))

    def comment(self, text: str) -> None:
        self.pieces.append(f"<!--{text}-->")

    def instruction(self, target: str, text: str) -> None:
        self.pieces.append(f"<?{target}{' ' * bool(text)}{text}?>")


def _parts(name: str) -> tuple[str, str, str]:
    """The namespace, the prefix and the name as it is written."""
    match name.split(_SEPARATOR):
        case [uri, local, prefix]:
            return uri, prefix, f"{prefix}:{local}"
        case [uri, local]:
            return uri, "", local
        case _:
            return "", "", name
