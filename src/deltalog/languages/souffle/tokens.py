"""From text to tokens: comments, strings, numbers, and a small C preprocessor.

The preprocessor works on tokens, so every token keeps its place in the file in which it was written: `#include`,
`#define` (with and without parameters, `...`, `##` and `#`), `#undef`, `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else`,
`#endif`, `#error` and `#pragma once`; `.include` and `.once` of Soufflé itself. Tokens of a macro have the place of its
use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Source, Span
from deltalog.functions.souffle_functors import BITS
from deltalog.languages.protocol import Preprocessing
from deltalog.languages.souffle.program_text import IncludedText
from deltalog.languages.tokens import Token, scan

DIRECTIVES = (
    *("decl", "functor", "input", "output", "printsize", "limitsize", "type", "comp", "init", "number_type"),
    *("symbol_type", "override", "pragma", "plan", "lattice"),
)
_TOKEN = r"""
    (?P<space>(?:[^\S\n]|\\\r?\n)+|\n+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<directive>\.(?:DIRECTIVES)\b)
  | (?P<include>\.include\b|\.once\b)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<unclosed>/\*|")
  | (?P<ip>\d+\.\d+\.\d+\.\d+)
  | (?P<float>\d+\.\d+)
  | (?P<unsigned>(?:0x[0-9a-fA-F]+|0b[01]+|\d+)u\b)
  | (?P<number>0x[0-9a-fA-F]+|0b[01]+|\d+)
  | (?P<name>choice-domain\b|[_?a-zA-Z][_?a-zA-Z0-9]*)
  | (?P<op>:-|<:|<=|>=|!=|::|->|\#\#|==|&&|\|\||[-+*/%^|\[\]$(),:;.=!@{}<>\#])
""".replace("DIRECTIVES", "|".join(DIRECTIVES))
_HASH = r"(?P<hash>^[ \t]*\#(?:\\\r?\n|/\*.*?\*/|[^\n])*) | (?P<remark>\#[^\n]*) |"  # inside of a line: a comment
_IN_FILE = re.compile(_HASH + _TOKEN, re.X | re.S | re.M)
_BLANK = ("space", "comment", "remark")
_SKIPPED = re.compile(  # where an #if does not hold: anything but lines with #
    r"""(?P<hash>^[ \t]*\#(?:\\\r?\n|/\*.*?\*/|[^\n])*)
  | (?P<comment>/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|[^/"\n]+|.)""",
    re.X | re.S | re.M,
)
_IN_LINE = re.compile(_TOKEN, re.X | re.S)
_DEFINE = re.compile(r"\s*([_a-zA-Z][_a-zA-Z0-9]*)(\(([^)]*)\))?")
_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_ONCE = re.compile(r"\s*#\s*pragma\s+once\b")
_FOLDERS = "-I DIR (include_dirs) names a folder of included files, besides that of the file that includes them."
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
MAX_INCLUDED = 200  # files in each other


@dataclass(frozen=True, slots=True)
class Macro:
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    variadic: bool = False  # whether the last parameter takes all further arguments


_BITS = Macro(None, (Token("number", str(BITS), Span(Source("<built-in>", ""), 0, 0)),))


@dataclass
class Preprocessor:
    """The state while the files of a program are read."""

    given: Preprocessing = field(default_factory=Preprocessing)
    macros: dict[str, Macro] = field(default_factory=lambda: {"RAM_DOMAIN_SIZE": _BITS})
    diagnostics: list[Diagnostic] = field(default_factory=list)
    once: set[int] = field(default_factory=set)  # files that are read once
    included: list[IncludedText] = field(default_factory=list)
    kept: Iterator[IncludedText] | None = None  # what was included at an earlier time, in the place of files
    is_incomplete: bool = False  # whether an included file could not be read
    _numbers: dict[Path, int] = field(default_factory=dict)  # of files
    _by_name: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.given.macros.items():
            source = Source(f"<macro {name}>", value)
            self.macros[name] = Macro(None, tuple(lex(source, 0, len(value), _IN_LINE, self.complain)))

    def complain(self, message: str, span: Span, hint: str | None = None) -> None:
        self.diagnostics.append(Diagnostic(message, span, hint))

    # A file

    def tokens(self, source: Source, folder: Path | None, depth: int = 0) -> Iterator[Token]:
        """The tokens of a text, with macros replaced and files included."""
        if source.name not in self._by_name:
            self._by_name[source.name] = self._number(Path(source.name))
        pending: list[Token] = []
        taken: list[bool | None] = []  # of each #if: in a taken branch, not yet, or (None) a branch was taken already
        for token in self._lexed(source, taken):
            if token.kind == "hash":
                yield from self.expanded(pending)
                pending = []
                if _ONCE.match(token.text) and all(taken) and self._was_read(source):
                    return
                yield from self._directive(token, taken, folder, depth)
            elif not all(taken):
                continue
            elif token.kind == "include" or (pending and pending[-1].kind == "include"):
                yield from self._dot_include(token, pending, source, folder, depth)
                if token.text == ".once" and self._was_read(source):
                    return
            else:
                pending.append(token)
        yield from self.expanded(pending)
        if taken:
            end = len(source.text)
            self.complain("an `#if` has no `#endif`", Span(source, end, end))

    def _was_read(self, source: Source) -> bool:
        """Whether a file that is read once has been read before."""
        file = self._by_name[source.name]
        known = file in self.once
        self.once.add(file)
        return known

    def _lexed(self, source: Source, taken: Sequence[bool | None]) -> Iterator[Token]:
        """The tokens of a text; what is skipped need not be any. A line with # may change what is taken."""
        at, end = 0, len(source.text)
        while at < end:
            is_taken = all(taken)
            for token in lex(source, at, end, _IN_FILE if is_taken else _SKIPPED, self.complain):
                at = token.span.end
                yield token
                if token.kind == "hash" and all(taken) is not is_taken:
                    break
            else:
                return

    def _number(self, path: Path) -> int:
        """The number of a file: the same for all names of it."""
        return self._numbers.setdefault(path.resolve(), len(self._numbers))

    def _dot_include(
        self, token: Token, pending: list[Token], source: Source, folder: Path | None, depth: int
    ) -> Iterator[Token]:
        if token.kind == "include":
            yield from self.expanded(pending)
            pending[:] = [token] if token.text == ".include" else []
            return
        pending.clear()
        if token.kind == "string":
            yield from self._included(unescaped(token, self.complain), token.span, folder, depth)
        else:
            self.complain("`.include` needs the name of a file in quotes", token.span)

    def _included(self, name: str, span: Span, folder: Path | None, depth: int, quoted: bool = True) -> Iterator[Token]:
        """The tokens of a file. A quoted name is looked for beside the file that includes it first, others last."""
        if folder is None:
            self.complain("rules that are added as text include no files; write the rules themselves", span)
            return
        given = self.given.folders
        places = [place / name for place in ((folder, *given) if quoted else (*given, folder))]
        path = next((place for place in places if place.is_file()), places[0])
        if depth > MAX_INCLUDED:
            self.complain(f"more than {MAX_INCLUDED} files include each other", span)
            return
        try:
            found = self._read(path) if self.kept is None else next(self.kept, IncludedText(str(path), -1, ""))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            self.complain(f"cannot read the included file {path}: {reason}", span, _FOLDERS)
            self.is_incomplete = True
            return
        self.included.append(found)
        self._by_name[found.name] = found.file
        yield from self.tokens(Source(found.name, found.text, rewritten=True), Path(found.name).parent, depth + 1)

    def _read(self, path: Path) -> IncludedText:
        return IncludedText(str(path), self._number(path), path.read_text("utf-8-sig"))

    # Lines with #

    def _directive(self, token: Token, taken: list[bool | None], folder: Path | None, depth: int) -> Iterator[Token]:
        text = token.text.lstrip()[1:]
        match = re.match(r"\s*([a-z]+)", text)
        word = match[1] if match else ""
        start = token.span.end - len(text) + (match.end() if match else 0)
        if word in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self._conditional(word, token, start, taken)
        elif not all(taken):
            return
        elif word == "include":
            yield from self._hash_include(token, start, folder, depth)
        elif word == "define":
            self._define(token, start)
        elif word == "undef":
            self.macros.pop(self._text(token, start).strip(), None)
        elif word == "error":
            self.complain(f"#error {self._text(token, start).strip()}", token.span)
        elif word not in ("pragma", "line", "warning", ""):
            self.complain(f"there is no preprocessor directive #{word}", token.span)

    def _text(self, token: Token, start: int) -> str:
        text = token.span.source.text[start : token.span.end]
        return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)

    def _hash_include(self, token: Token, start: int, folder: Path | None, depth: int) -> Iterator[Token]:
        name = re.fullmatch(r'\s*(["<])([^">]+)[">]\s*', self._text(token, start))
        if name is None:
            self.complain("`#include` needs the name of a file in quotes", token.span)
        else:
            yield from self._included(name[2], token.span, folder, depth, quoted=name[1] == '"')

    def _define(self, token: Token, start: int) -> None:
        source = token.span.source
        match = _DEFINE.match(source.text, start, token.span.end)
        if match is None:
            self.complain("`#define` needs a name", token.span)
            return
        variadic = match[2] is not None and match[3].rstrip().endswith("...")
        names = () if match[2] is None else _NAME.findall(re.sub(r"(^|,)\s*\.\.\.", r"\1__VA_ARGS__", match[3]))
        body = tuple(lex(source, match.end(), token.span.end, _IN_LINE, self.complain))
        self.macros[match[1]] = Macro(None if match[2] is None else tuple(names), body, variadic)

    def _conditional(self, word: str, token: Token, start: int, taken: list[bool | None]) -> None:
        if word in ("elif", "else", "endif") and not taken:
            self.complain(f"#{word} without #if", token.span)
        elif word == "endif":
            taken.pop()
        elif word == "else":
            taken[-1] = None if taken[-1] is not False else True
        elif word == "elif":
            taken[-1] = None if taken[-1] is not False else self._condition(token, start)
        elif word == "if":
            taken.append(self._condition(token, start) if all(taken) else None)
        else:
            defined = self._text(token, start).strip() in self.macros
            taken.append(defined is (word == "ifdef"))

    def _condition(self, token: Token, start: int) -> bool:
        words = list(lex(token.span.source, start, token.span.end, _IN_LINE, self.complain))
        resolved: list[Token] = []
        while words:
            word = words.pop(0)
            if word.text == "defined" and words:
                names = [words.pop(0) for _ in range(3 if words[0].text == "(" else 1) if words]
                found = any(each.text in self.macros for each in names)
                resolved.append(replace(word, kind="number", text=str(int(found))))
            else:
                resolved.append(word)
        try:
            return bool(_Condition(list(self.expanded(resolved))).whole())
        except (IndexError, ValueError, ZeroDivisionError):
            self.complain("this condition has no value", token.span, "It is made of numbers, defined(X) and operators.")
            return False

    # Macros

    def expanded(self, tokens: Sequence[Token], hidden: frozenset[str] = frozenset()) -> Iterator[Token]:
        """Tokens with macros replaced, but for hidden ones. What replaces a macro is read again, with what follows."""
        pending = [(token, hidden) for token in reversed(tokens)]
        while pending:
            token, hidden = pending.pop()
            macro = self.macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
            if macro is None or (macro.parameters is not None and not (pending and pending[-1][0].text == "(")):
                yield self._builtin(token)
                continue
            arguments = [] if macro.parameters is None else self._arguments(token, macro, pending)
            body = [replace(each, span=token.span) for each in self._substituted(macro, arguments, hidden)]
            pending += [(each, hidden | {token.text}) for each in reversed(_put(body, token))]

    def _builtin(self, token: Token) -> Token:
        if token.text == "__FILE__":
            return replace(token, kind="string", text=f'"{token.span.source.name}"')
        if token.text == "__LINE__":
            return replace(token, kind="number", text=str(token.span.line))
        return token

    def _arguments(self, name: Token, macro: Macro, pending: list[tuple[Token, frozenset[str]]]) -> list[list[Token]]:
        """Takes the arguments of a macro, with their brackets, from the tokens that follow it."""
        wanted = len(macro.parameters or ())
        arguments: list[list[Token]] = [[]]
        opening, _ = pending.pop()
        depth = 1
        while pending:
            token, _ = pending.pop()
            depth += token.text in "([{" and token.kind == "op"
            depth -= token.text in ")]}" and token.kind == "op"
            if depth == 0:
                self._check_arguments(name, macro, arguments)
                return arguments
            if token.text == "," and depth == 1 and not (macro.variadic and len(arguments) == wanted):
                arguments.append([])
            else:
                arguments[-1].append(token)
        self.complain("the arguments of a macro have no end", opening.span)
        return arguments

    def _check_arguments(self, name: Token, macro: Macro, arguments: Sequence[Sequence[Token]]) -> None:
        wanted = len(macro.parameters or ())
        given = 0 if not wanted and arguments == [[]] else len(arguments)
        if given != wanted and not (macro.variadic and given == wanted - 1):
            counted = f"{wanted} parameter{'' if wanted == 1 else 's'}"
            self.complain(f"the macro {name.text} has {counted}, not {given}", name.span)

    def _substituted(self, macro: Macro, arguments: list[list[Token]], hidden: frozenset[str]) -> Iterator[Token]:
        by_name = dict(zip(macro.parameters or (), arguments, strict=False))
        if macro.variadic and macro.parameters:
            by_name.setdefault(macro.parameters[-1], [])
        body = list(macro.body)
        result: list[Token] = []
        while body:
            token = body.pop(0)
            if token.text == "#" and body and body[0].text in by_name:
                text = _spelled(by_name[body.pop(0).text]).replace("\\", "\\\\").replace('"', '\\"')
                result.append(replace(token, kind="string", text=f'"{text}"'))
            elif token.text == "##" and result and body:
                right = body.pop(0)
                pasted = by_name.get(right.text, [right])
                left = result.pop().text
                if left == "," and not pasted:  # `, ## __VA_ARGS__` without arguments
                    continue
                text = left + (pasted[0].text if pasted and left != "," else "")
                glued = lex(Source("<macro>", text), 0, len(text), _IN_LINE, self.complain)
                result += [replace(each, span=token.span) for each in glued] + pasted[left != "," :]
            elif token.kind == "name" and token.text in by_name:
                raw = by_name[token.text]
                pastes = bool(body) and body[0].text == "##"
                result += _put(raw if pastes else list(self.expanded(raw, hidden)), token)
            else:
                result.append(token)
        return iter(result)


def _put(tokens: list[Token], place: Token) -> list[Token]:
    """Tokens in the place of another one: the first is joined to what comes before if that was."""
    return [replace(tokens[0], joined=place.joined), *tokens[1:]] if tokens else tokens


def _spelled(tokens: Sequence[Token]) -> str:
    """Tokens as they are written, with one space where there is some."""
    return "".join((" " if at and not token.joined else "") + token.text for at, token in enumerate(tokens))


def lex(
    source: Source, start: int, end: int, pattern: re.Pattern[str], complain: Callable[[str, Span], None]
) -> Iterator[Token]:
    """The tokens of a part of a text, without spaces and comments."""

    def strange(at: int) -> int:
        character = source.text[at]
        what = {"/": "this comment has no end", '"': "this string has no end"}.get(character)
        complain(what or f"did not expect `{character}` here", Span(source, at, at + 1))
        return end if what else at + 1

    for token in scan(source, start, end, pattern, strange, blanks=_BLANK):
        yield _address(token) if token.kind == "ip" else token


def _address(token: Token) -> Token:
    """An address such as 127.0.0.1 as a number."""
    number = sum(int(part) << shift for part, shift in zip(token.text.split("."), (24, 16, 8, 0), strict=True))
    return replace(token, kind="number", text=str(number - (1 << 32) if number >= 1 << 31 else number))


def unescaped(token: Token, complain: Callable[[str, Span], None]) -> str:
    """The text of a string."""

    def character(match: re.Match[str]) -> str:
        found = _ESCAPES.get(match[1])
        if found is None:
            complain(f"there is no escape sequence \\{match[1]}", token.span)
        return found or match[1]

    return re.sub(r"\\(.)", character, token.text[1:-1], flags=re.S)


_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {"<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b)}
    | {">=": lambda a, b: int(a >= b)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: a // b, "%": lambda a, b: a % b},
)


@dataclass
class _Condition:
    """The condition of an #if."""

    tokens: list[Token]

    def whole(self) -> int:
        value = self.value()
        if self.tokens:
            raise ValueError(self.tokens[0].text)
        return value

    def value(self, level: int = 0) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self.value(level + 1)
        while self.tokens and self.tokens[0].text in _LEVELS[level]:
            operator = self.tokens.pop(0).text
            left = _LEVELS[level][operator](left, self.value(level + 1))
        return left

    def _unary(self) -> int:
        token = self.tokens.pop(0)
        if token.text == "!":
            return int(not self._unary())
        if token.text == "-":
            return -self._unary()
        if token.text == "(":
            value = self.value()
            if self.tokens.pop(0).text != ")":
                raise ValueError(token.text)
            return value
        return int(token.text.removesuffix("u"), 0) if token.kind in ("number", "unsigned") else 0
