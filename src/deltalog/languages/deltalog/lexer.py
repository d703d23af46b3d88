"""From text to words, one statement at a time.

A `Word` is what the grammar calls a terminal. Terms are ready-made: the value of a VARIABLE word is a `Variable`, that
of an IRI word an `IRI` with its prefix resolved, that of a CONSTANT word a value. Everything that depends on the
context is decided here, so that the grammar stays small:

Comments. `#` and `//` start one everywhere outside of strings and `<iri>`s. `%` after a value on the same line is
always the modulo operator, and everywhere else it starts a comment: `syntax.percent` decides, and refuses what could be
both.

The end of a statement. A dot ends it. Where files have no dots, a line does, if the next line starts (no further to the
right than this statement did) with something that can start a rule, and no bracket is open. So the rest of a rule that
goes over several lines is best indented. A PREFIX ends by itself.

Keywords are words like all others where they cannot be keywords: `light(on)`, `count(?x, ?y)`, `base(a)`.

`<` starts an IRI, unless an operand stands before it on the same line; `<-` is `:-`, unless a digit follows it.

Errors (an unknown prefix, an unexpected character, an unterminated string) are collected in the `ReadingState`, and
reading continues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import dropwhile
from typing import Any
from urllib.parse import urljoin

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Source, Span, Variable
from deltalog.core.terms import IRI, RDF, XSD, BlankNode, literal
from deltalog.languages.deltalog.percent import AMBIGUOUS_HINT, OPERATORS, Bracket, Percent, percent_means

PREFIXES = {
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
}
MAX_DEPTH = 100  # of brackets in brackets


class Word:
    """A terminal of the grammar: its type, its value, and its place in the text."""

    __slots__ = ("end", "reading", "start", "type", "value")
    line = column = end_line = end_column = start_pos = end_pos = None  # what lark copies into its own last token

    def __init__(self, type: str, value: Any, start: int, end: int, reading: ReadingState) -> None:
        self.type = type
        self.value = value
        self.start = start
        self.end = end
        self.reading = reading

    @property
    def text(self) -> str:
        return self.reading.source.text[self.start : self.end]


class ReadingState:
    """The state of reading a text: its prefixes and errors so far."""

    def __init__(self, source: Source, prefixes: Mapping[str, str] | None = None) -> None:
        self.source = source
        self.prefixes = {**PREFIXES, **(prefixes or {})}
        self.base: str | None = None
        self.diagnostics: list[Diagnostic] = []

    def complain(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        self.diagnostics.append(Diagnostic(message, Span(self.source, start, end), hint))


_IRI = r"<(?![-=?])(?:[^<>\"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>"
_PREFIX = r"(?:[^\W\d_][\w-]*(?:\.[\w-]+)*)?"
_LOCAL = r"(?:\w(?:\w|-+(?=\w)|[.:](?=\w))*)"
_PREFIXED = rf"{_PREFIX}:(?:{_LOCAL}|(?![-=]))"
_WORD = re.compile(
    rf"""
    (?P<iri>{_IRI})
  | (?P<string>(?P<quoted>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
      (?:@(?P<language>[A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^(?P<datatype>{_IRI}|{_PREFIXED}))?)
  | (?P<variable>\?\w+)
  | (?P<blank>_:\w(?:\w|[-.](?=[\w-]))*)
  | (?P<prefixed>{_PREFIXED})
  | (?P<number>[0-9]+(?P<fraction>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))
  | (?P<name>\w+)
  | (?P<directive>@(?:prefix|base|input|output|columns)\b)
  | (?P<sign>:-|<-(?![0-9])|\?-|&&|\|\||!=|<=|>=|==|:=|[=<>+\-*/%!&(),;.\[\]])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLANK_SPACE = re.compile(r"(?:[\s\ufeff]++|\#[^\n]*+|//[^\n]*+)*+")  # possessive: nothing to try again
_QUERY = re.compile(_BLANK_SPACE.pattern + r"\?-")
_TO_LINE_END = re.compile(r"[^\n]*")
_BLANKS = re.compile(r"[ \t]*")
_OPENS_ON_THE_LINE = re.compile(r"[ \t]*[(\[]")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

_SIGNS = {
    ":-": "_ARROW", "<-": "_ARROW", "?-": "QUERY", "&&": "ANDAND", "||": "OR", "&": "_AND", ",": "_COMMA",
    ";": "_ELSE", "!": "BANG",
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "%": "PERCENT", ")": "CLOSE", "]": "CLOSE_SQUARE",
    "=": "COMPARISON", "!=": "COMPARISON", "<": "COMPARISON", "<=": "COMPARISON", ">": "COMPARISON", ">=": "COMPARISON",
}  # fmt: skip
_WRONG_SIGNS = {"==": "=", ":=": "="}

# What can stand at the end of an operand or an atom.
_ENDS = frozenset(("NAME", "IRI", "VARIABLE", "CONSTANT", "CLOSE", "CLOSE_SQUARE"))
_BEFORE_OPEN = frozenset(("NAME", "IRI", "FILTER", "BIND", "COMP", "AGGREGATE", "IN"))

# Keywords: what must follow, and whether an operand or a literal must (True) or must not (False) end just before.
_KEYWORDS: dict[str, tuple[str, re.Pattern[str], bool | None]] = {
    "and": ("_AND", re.compile(""), True),
    "or": ("_ELSE", re.compile(""), True),
    "not": ("NOT", re.compile(r"\s*[\w<\[:(?\"'!]"), False),
    "filter": ("FILTER", re.compile(r"\s*\("), False),
    "bind": ("BIND", re.compile(r"\s*\(|\s+\w+\s*\("), None),
    "comp": ("COMP", re.compile(r"\s*\([^\n]*?,\s*(?:!=|[<>]=?|=)\s*,"), False),
    "aggregate": ("AGGREGATE", re.compile(r"\s*\(\s*[^\s)]"), False),
    "on": ("_ON", re.compile(r"\s+[?\w]"), True),
    "per": ("_PER", re.compile(r"\s+[?\w]"), True),
    "exists": ("EXISTS", re.compile(rf"\s*\(|\s+(?:\?|\[|(?:{_IRI}|{_PREFIXED}|\w+)\s*[(\[])"), False),
    "with": ("WITH", re.compile(r"\s+\w+\s*\("), True),
    "as": ("_AS", re.compile(r"\s+[?\w]"), True),
    "in": ("IN", re.compile(r"\s*\("), True),
    "distinct": ("DISTINCT", re.compile(r"\s*[^\s,)\]]"), False),
}
_IN_FOLLOWS = re.compile(r"\s+in\s*\(", re.IGNORECASE)
_DIRECTIVES = {
    "prefix": ("PREFIX", re.compile(rf"\s+{_PREFIX}:?\s*<")),
    "base": ("BASE", re.compile(r"\s*<[^-=<]")),
}


class Lexer:
    """The words of one text. `statements` yields them a statement at a time, each ending with an _END word."""

    def __init__(self, reading: ReadingState, goal: bool = False) -> None:
        self.reading = reading
        self.goal = goal
        self.text = reading.source.text
        self.at = self.line_start = 0
        self._begin()
        if goal and not _QUERY.match(self.text):
            self._add("QUERY", "?-", 0, 0)

    def _begin(self) -> None:
        """A new statement."""
        self.words: list[Word] = []
        self.brackets: list[Bracket] = []  # those that are open
        self.closed: Bracket | None = None  # the last one that was closed
        self.doubtful: int | None = None  # a `%` comment since the last word, which an operator would make a modulo
        self.anonymous = 0
        self.broken = False  # an error covers the rest of the statement
        self.indent = 0
        self.stopped = False  # the end of the statement is unknown; the next line starts a new one

    def statements(self) -> Iterator[list[Word]]:
        """Statements that cannot be parsed are reported and omitted."""
        while True:
            ended = self._statement()
            if self.words and not self.broken:
                yield self.words
            if not ended:
                return
            self._begin()

    def _statement(self) -> bool:
        """Collects the words of the next statement; False when the text is at its end."""
        text, size = self.text, len(self.text)
        while True:
            new_line = self._skip()
            if self.at >= size:
                self._end(size, size)
                return False
            if text[self.at] == "%" and self._starts_a_comment(new_line):
                self.at = _TO_LINE_END.match(text, self.at).end()  # type: ignore[union-attr]
                continue
            if self._ends_here(new_line):
                self._end(self.at, self.at)
                return True
            if text[self.at] == ".":
                self._refuse_leading_dot()
                self.at += 1
                self._end(self.at - 1, self.at)
                return True
            self._word(new_line)
            if self.stopped:
                return True

    def _refuse_leading_dot(self) -> None:
        if not self.words and not self.broken:
            hint = "Directives such as .decl are Soufflé's: choose that language with --language souffle."
            self.reading.complain("a statement cannot start with a dot", self.at, self.at + 1, hint)

    def _skip(self) -> bool:
        """Past blanks and comments; whether a line has ended since the last word."""
        start = self.at
        self.at = _BLANK_SPACE.match(self.text, start).end()  # type: ignore[union-attr]
        line_end = self.text.rfind("\n", start, self.at)
        if line_end >= 0:
            self.line_start = line_end + 1
        return line_end >= 0

    def _end(self, start: int, end: int) -> None:
        if self.words:
            self._add("_END", ".", start, end)

    def _ends_here(self, new_line: bool) -> bool:
        """Whether the statement has ended without a dot."""
        words = self.words
        if not words:
            return False
        if words[0].type in ("PREFIX", "BASE"):
            return words[-1].type == "IRI" and self.text[self.at] != "."
        if not new_line or self.brackets or words[-1].type not in _ENDS:
            return False
        return self.at - self.line_start <= self.indent and self._can_start_a_rule()

    def _can_start_a_rule(self) -> bool:
        match = _WORD.match(self.text, self.at)
        if match is None or match.lastgroup in ("variable", "number", "string", "blank"):
            return False
        if match.lastgroup == "sign":
            return match.group() in ("[", "?-")
        return match.group().lower() not in ("and", "or", "on", "per", "with", "as", "in")

    def _starts_a_comment(self, new_line: bool) -> bool:
        """Whether the `%` here does. What could be both is an error, and the rest of the line is skipped."""
        meaning = Percent.COMMENT
        if not new_line and self.words:
            right = self._operand_after(self.at + 1)
            meaning = percent_means(
                self.words, self.brackets, self.closed, right, self.words[-1].text.lower() in _KEYWORDS
            )
        if meaning is Percent.AMBIGUOUS:
            self._refuse_percent(self.at)
        elif meaning is Percent.COMMENT_AFTER_ATOM:
            self.doubtful = self.at
        return meaning is not Percent.MODULO

    def _refuse_percent(self, start: int) -> None:
        self.broken = True
        self.reading.complain("this `%` may be a modulo or start a comment", start, start + 1, AMBIGUOUS_HINT)

    def _operand_after(self, at: int) -> str | None:
        """The rest of a line, if it starts with something that can be the right side of a modulo."""
        line_end = _TO_LINE_END.match(self.text, at).end()  # type: ignore[union-attr]
        match = _WORD.match(self.text, _BLANKS.match(self.text, at).end(), line_end)  # type: ignore[union-attr]
        if match is None:
            return None
        word, kind = match.group(), match.lastgroup
        if word == "-":
            return self._operand_after(match.end())
        is_call = bool(_OPENS_ON_THE_LINE.match(self.text, match.end())) and kind in ("name", "prefixed", "iri")
        is_variable = kind == "variable" or (kind == "name" and (word[0] == "_" or word[0].isupper()))
        is_number = kind == "number" or (kind == "string" and match["datatype"] is not None)
        return self.text[at:line_end] if is_call or is_variable or is_number or word == "(" else None

    # Words

    def _add(self, type: str, value: Any, start: int, end: int) -> None:
        self.words.append(Word(type, value, start, end, self.reading))

    def _word(self, new_line: bool) -> None:
        match = _WORD.match(self.text, self.at)
        if not self.words:
            self.indent = self.at - self.line_start
        if match is None:
            self._strange()
            return
        kind = match.lastgroup or ""
        end = match.end()
        if kind == "iri" and not new_line and self._after_operand():
            kind, end = "sign", self.at + 1
        start, self.at = self.at, end
        _READERS[kind](self, match, start, end)
        if self.doubtful is not None and self.words and self.words[-1].type in OPERATORS:
            self._refuse_percent(self.doubtful)
        self.doubtful = None

    def _after_operand(self) -> bool:
        return bool(self.words) and self.words[-1].type in _ENDS and self.words[0].type != "PREFIX"

    def _strange(self) -> None:
        start = self.at
        character = self.text[start]
        self.broken = True
        if character in "\"'":
            self._endless_string(start, "double" if character == '"' else "single")
            return
        self.at = start + 1
        if not self._complained_just_before(start):
            hint = "Write `?name` for a variable." if character == "?" else None
            self.reading.complain(f"the character {character!r} means nothing here", start, self.at, hint)

    def _endless_string(self, start: int, quote: str) -> None:
        self.at = _TO_LINE_END.match(self.text, start).end()  # type: ignore[union-attr]
        self.stopped = True
        hint = f"End it with a {quote} quote on the same line; write \\n for a new line inside of a text."
        self.reading.complain("this text in quotes does not end", start, self.at, hint)

    def _complained_just_before(self, start: int) -> bool:
        """Whether the character before was unexpected, too: one error for a run of them is enough."""
        if not self.reading.diagnostics:
            return False
        span = self.reading.diagnostics[-1].span
        if span is None or span.end != start:
            return False
        self.reading.diagnostics[-1] = Diagnostic(
            "these characters mean nothing here", Span(span.source, span.start, start + 1)
        )
        return True

    def _iri(self, match: re.Match[str], start: int, end: int) -> None:
        self._add("IRI", IRI(self._resolved(match.group(), start, end)), start, end)

    def _resolved(self, written: str, start: int, end: int) -> str:
        """The full IRI of `<iri>` or `prefix:name`."""
        if not written.startswith("<"):
            return self._expanded(written, start, end)
        iri = written[1:-1]
        if "\\" in iri:
            iri = self._unescaped(iri, start + 1)
        if self.reading.base is not None:
            try:
                return urljoin(self.reading.base, iri)
            except ValueError:
                self.reading.complain("this IRI cannot be joined with the BASE", start, end)
        return iri

    def _expanded(self, written: str, start: int, end: int) -> str:
        prefix, _, local = written.partition(":")
        space = self.reading.prefixes.get(prefix)
        if space is None:
            hint = f"Declare it at the top of the file: PREFIX {prefix}: <http://...>"
            self.reading.complain(f"the prefix `{prefix}:` has not been declared", start, end, hint)
            self.reading.prefixes[prefix] = space = f"{prefix}:"
        return space + local

    def _prefixed(self, match: re.Match[str], start: int, end: int) -> None:
        written = match.group()
        if len(self.words) == 1 and self.words[0].type == "PREFIX" and written.endswith(":"):
            self._add("PREFIX_NAME", written[:-1], start, end)
        else:
            self._add("IRI", IRI(self._expanded(written, start, end)), start, end)

    def _string(self, match: re.Match[str], start: int, end: int) -> None:
        text = match["quoted"][1:-1]
        if "\\" in text:
            text = self._unescaped(text, start + 1)
        datatype: str | None = match["datatype"]
        if datatype is not None:
            datatype = self._resolved(datatype, match.start("datatype"), match.end("datatype"))
        self._add("CONSTANT", literal(text, datatype, match["language"]), start, end)

    def _unescaped(self, text: str, start: int) -> str:
        def character(escape: re.Match[str]) -> str:
            code, simple = escape[1] or escape[2], escape[3]
            if simple in _ESCAPES:
                return _ESCAPES[simple]
            if code and not 0xD800 <= int(code, 16) <= 0xDFFF and int(code, 16) <= 0x10FFFF:
                return chr(int(code, 16))
            hint = r"Known are \n \t \r \b \f \" \' \\ \uXXXX and \UXXXXXXXX; write \\ for a backslash."
            where = (start + escape.start(), start + escape.end())
            self.reading.complain(f"`{escape[0]}` stands for no character", *where, hint)
            return ""

        return _ESCAPE.sub(character, text)

    def _variable(self, match: re.Match[str], start: int, end: int) -> None:
        self._add_variable(match.group()[1:], start, end)

    def _add_variable(self, name: str, start: int, end: int) -> None:
        if name == "_":
            name = f"_#{self.anonymous}"
            self.anonymous += 1
        self._add("VARIABLE", Variable(name, Span(self.reading.source, start, end)), start, end)

    def _blank(self, match: re.Match[str], start: int, end: int) -> None:
        self._add("CONSTANT", BlankNode(match.group()[2:]), start, end)

    def _number(self, match: re.Match[str], start: int, end: int) -> None:
        written = match.group()
        if match["fraction"]:
            self._add("CONSTANT", float(written), start, end)
        elif len(written) > 4000:
            self.broken = True
            self.reading.complain(f"this number is too long ({len(written)} digits)", start, start + 1)
        else:
            self._add("CONSTANT", int(written), start, end)

    def _name(self, match: re.Match[str], start: int, end: int) -> None:
        name = match.group()
        lower = name.lower()
        if lower == "not" and self._after_operand() and _IN_FOLLOWS.match(self.text, end):
            self._add("NOT_BEFORE_IN", name, start, end)
        elif lower in _KEYWORDS and self._is_keyword(lower, end):
            kind = "_IN" if lower == "in" and self._lists_variables() else _KEYWORDS[lower][0]
            self._add(kind, name, start, end)
        elif lower in _DIRECTIVES and not self.words and _DIRECTIVES[lower][1].match(self.text, end):
            self._add(_DIRECTIVES[lower][0], name, start, end)
        elif _OPENS_ON_THE_LINE.match(self.text, end):
            self._add("NAME", name, start, end)
        elif lower in ("true", "false"):
            self._add("CONSTANT", lower == "true", start, end)
        elif name[0] == "_" or name[0].isupper():
            self._add_variable(name, start, end)
        else:
            self._add("NAME", name, start, end)

    def _is_keyword(self, lower: str, end: int) -> bool:
        _, follows, after_operand = _KEYWORDS[lower]
        if not self.words or (lower == "distinct" and self.words[-1].type != "_OPEN"):
            return False
        if lower == "in" and self.words[-1].type == "NOT_BEFORE_IN":
            return True
        if lower == "exists" and self.words[-1].type not in ("NOT", "BANG"):
            return False
        if after_operand is not None and (self.words[-1].type in _ENDS) != after_operand:
            return False
        return follows.match(self.text, end) is not None

    def _lists_variables(self) -> bool:
        """Whether the words so far end with the variables of `NOT EXISTS ?x, ?y`."""
        rest = dropwhile(lambda word: word.type in ("VARIABLE", "_COMMA"), reversed(self.words))
        return getattr(next(rest, None), "type", None) == "EXISTS"

    def _directive(self, match: re.Match[str], start: int, end: int) -> None:
        self._add(match.group()[1:].upper(), match.group(), start, end)

    def _sign(self, match: re.Match[str], start: int, end: int) -> None:
        sign = self.text[start:end]
        if sign in "([":
            self._open(sign, start, end)
            return
        if sign in _WRONG_SIGNS:
            right = _WRONG_SIGNS[sign]
            hint = f"Write `{right}` to compare, or `:-` between the head and the body of a rule."
            self.reading.complain(f"`{sign}` means nothing here", start, end, hint)
            self.broken = True
            return
        if sign in ")]" and self.brackets:
            self.closed = self.brackets.pop()
        self._add(_SIGNS[sign], sign, start, end)

    def _open(self, sign: str, start: int, end: int) -> None:
        last = self.words[-1] if self.words else None
        applied = last is not None and last.type in (_BEFORE_OPEN if sign == "(" else ("NAME", "IRI"))
        self.brackets.append(Bracket(len(self.words), applied))
        if len(self.brackets) > MAX_DEPTH and not self.broken:
            self.broken = True
            self.reading.complain(f"more than {MAX_DEPTH} brackets in brackets", start, end)
        names = {"(": ("LPAREN", "_OPEN"), "[": ("LSQUARE", "_OPEN_SQUARE")}[sign]
        self._add(names[applied], sign, start, end)


_READERS: dict[str, Callable[[Lexer, re.Match[str], int, int], None]] = {
    "iri": Lexer._iri,
    "prefixed": Lexer._prefixed,
    "string": Lexer._string,
    "variable": Lexer._variable,
    "blank": Lexer._blank,
    "number": Lexer._number,
    "name": Lexer._name,
    "directive": Lexer._directive,
    "sign": Lexer._sign,
}
