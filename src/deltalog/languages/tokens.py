"""What hand-written lexers and parsers share: tokens by a table of patterns, and a cursor over them.

A language has a table of patterns by the kinds of its tokens, which are tried in this order, and says where reading
goes on behind what is no token. (deltalog's own lexer is apart: its words are terminals of a grammar, and what ends a
statement depends on the lines.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Source, Span

T = TypeVar("T", bound="Token")
R = TypeVar("R")
UNCLOSED = "unclosed"  # the kind of what begins a token that does not end


@dataclass(frozen=True, slots=True)
class Token:
    """`joined`: nothing stands between it and the token before it."""

    kind: str
    text: str
    span: Span
    joined: bool = False


class Unexpected(Exception):
    """A token that does not fit."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)


def pattern_of(table: Mapping[str, str], flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in table.items()), flags)


def scan(
    source: Source,
    start: int,
    stop: int,
    pattern: re.Pattern[str],
    strange: Callable[[int], int],
    choose: Callable[[re.Match[str], str], tuple[str, int]] | None = None,
    blanks: Container[str] = ("space",),
    make: Callable[..., Any] = Token,
) -> Iterator[Any]:
    """The tokens of a part of a text. `strange` reports what is none, and says where reading goes on; `choose` has the
    kind and the end of a match behind a token of some kind, if that depends on it."""
    text, last, joined = source.text, "", False
    while start < stop:
        match = pattern.match(text, start, stop)
        kind, end = (match.lastgroup or "", match.end()) if match is not None else (UNCLOSED, start)
        if match is not None and choose is not None:
            kind, end = choose(match, last)
        if kind == UNCLOSED:
            start = min(strange(start), stop)
            continue
        if is_token := kind not in blanks:
            yield make(kind, text[start:end], Span(source, start, end), joined)
            last = kind
        start, joined = end, is_token


class Cursor(Generic[T]):
    """A place in tokens, the last of which is of the kind `end`."""

    tokens: Sequence[T]
    at: int = 0

    @property
    def next(self) -> T:
        return self.tokens[self.at]

    @property
    def after(self) -> T:
        """The token after the next one."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def take(self) -> T:
        token = self.next
        self.at += token.kind != "end"
        return token

    def key(self, token: T) -> str:
        """What a token is called where it is expected."""
        raise NotImplementedError

    def sees(self, *keys: str) -> bool:
        return self.key(self.next) in keys

    def accept(self, *keys: str) -> T | None:
        return self.take() if self.sees(*keys) else None

    def expect(self, key: str, hint: str | None = None) -> T:
        if not self.sees(key):
            raise self.unexpected(self.named(key), hint)
        return self.take()

    def named(self, key: str) -> str:
        return f"`{key}`"

    def unexpected(self, wanted: str, hint: str | None = None) -> Exception:
        token = self.next
        what = f"the {self.whole} ends too early" if token.kind == "end" else f"did not expect `{token.text}` here"
        return Unexpected(what, token.span, hint or f"Expected {wanted}.")

    @property
    def whole(self) -> str:
        return "program"

    def separated(self, one: Callable[[], R], separator: str = ",") -> tuple[R, ...]:
        """One thing or more."""
        found = [one()]
        while self.accept(separator):
            found.append(one())
        return tuple(found)

    def listed(self, one: Callable[[], R], close: str) -> tuple[R, ...]:
        """Things with commas in between, up to a bracket."""
        found = () if self.sees(close) else self.separated(one)
        self.expect(close)
        return found

    def since(self, start: Span) -> Span:
        """From a place to the last token, if that is in the same text."""
        last = self.tokens[max(self.at - 1, 0)].span
        return Span(start.source, start.start, last.end) if last.source is start.source else start
