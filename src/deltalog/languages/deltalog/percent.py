"""What `%` means: the modulo operator, or the start of a comment.

After a value on the same line, `%` is always the modulo operator. A value is a variable, a constant, a function call or
an expression in brackets. At the beginning of a line, after the dot of a statement, after an atom, and wherever no
operator can stand (after `,`, `:-` or an opening bracket), it starts a comment.

Two kinds of text are ambiguous and refused, so that nobody loses the rest of a line without noticing: a value followed
by something that is not a number (`?x != ?y % different`), and what looks like an atom where the rest of the line or
the next one goes on as an expression does (`f(?x) % 2 = 0`, unless `f` is a function).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from deltalog.core.terms import Literal
from deltalog.functions.signatures import is_function

if TYPE_CHECKING:
    from deltalog.languages.deltalog.lexer import Word

AMBIGUOUS_HINT = "Start a comment with `#` or `//`. For a modulo, write numbers or expressions in brackets: (?x) % (3)"
OPERATORS = frozenset(("COMPARISON", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "ANDAND", "OR", "IN"))
_COMPARES = re.compile(r"[=<>]")
_BEFORE_LITERALS = frozenset(("AGGREGATE", "EXISTS", "_IN"))  # brackets after these have literals inside
_NEVER_VALUES = frozenset(("FILTER", "BIND", "COMP", "AGGREGATE", "IN"))
_BETWEEN_LITERALS = frozenset(("_COMMA", "_AND", "_ELSE", "NOT"))
_STATEMENTS_WITHOUT_VALUES = frozenset(("PREFIX", "BASE", "INPUT", "OUTPUT", "COLUMNS"))
_BEFORE_NAMED_VARIABLES = frozenset(("_AS", "_ON", "_PER"))


class Percent(Enum):
    COMMENT = auto()
    COMMENT_AFTER_ATOM = auto()  # unless an operator follows it on the next line
    MODULO = auto()
    AMBIGUOUS = auto()


@dataclass(frozen=True)
class Bracket:
    """A bracket: the number of its word in the statement, and whether a name or a keyword stands before it."""

    word: int
    applied: bool


def percent_means(
    words: Sequence[Word], opened: Sequence[Bracket], closed: Bracket | None, right: str | None, keyword: bool
) -> Percent:
    """The meaning of a `%` after some words of its line. `closed`: the bracket that was closed last. `right`: the rest
    of the line, if a number can start there. `keyword`: whether the last word is spelled like one."""
    last = words[-1]
    if not _ends_an_operand(words):
        return Percent.COMMENT
    if keyword:
        return Percent.AMBIGUOUS
    first = len(words) - 1
    if last.type.startswith("CLOSE") and closed is not None:
        first = closed.word - closed.applied
    if _is_in_a_body(words, opened) and not _is_operand(words, first):
        return _after_literal(words, first, closed, right)
    return Percent.MODULO if right is not None and _may_be_a_number(last) else Percent.AMBIGUOUS


def _ends_an_operand(words: Sequence[Word]) -> bool:
    if words[0].type in _STATEMENTS_WITHOUT_VALUES or (len(words) > 1 and words[-2].type in _BEFORE_NAMED_VARIABLES):
        return False
    return words[-1].type in ("NAME", "IRI", "VARIABLE", "CONSTANT", "CLOSE", "CLOSE_SQUARE")


def _is_in_a_body(words: Sequence[Word], opened: Sequence[Bracket]) -> bool:
    """Whether literals stand here, or may: not in arguments of something."""
    return all(not each.applied or words[each.word - 1].type in _BEFORE_LITERALS for each in opened)


def _is_operand(words: Sequence[Word], first: int) -> bool:
    """Whether what starts at a word of a body is a value for certain."""
    return words[first].type in ("VARIABLE", "CONSTANT") or (first > 0 and words[first - 1].type in OPERATORS)


def _after_literal(words: Sequence[Word], first: int, closed: Bracket | None, right: str | None) -> Percent:
    """After what may be an atom, or an expression in brackets."""
    start = words[first]
    if start.type in ("LPAREN", "NOT", "BANG"):
        if closed is not None and _has_literals(words, closed.word):
            return Percent.COMMENT_AFTER_ATOM
        return Percent.MODULO if right is not None else Percent.AMBIGUOUS
    if right is None or start.type in _NEVER_VALUES or words[-1].type == "CLOSE_SQUARE":
        return Percent.COMMENT_AFTER_ATOM
    if words[-1].type == "CLOSE" and start.type == "NAME" and is_function(str(start.value).lower()):
        return Percent.MODULO
    return Percent.AMBIGUOUS if _COMPARES.search(right) else Percent.COMMENT_AFTER_ATOM


def _has_literals(words: Sequence[Word], opening: int) -> bool:
    """Whether a bracket that closes with the last word has literals inside, not an expression."""
    if opening and words[opening - 1].type in ("NOT", "BANG", "EXISTS", "_IN"):
        return True
    depth = 0
    for word in words[opening:]:
        depth += (word.type in ("LPAREN", "_OPEN", "LSQUARE", "_OPEN_SQUARE")) - word.type.startswith("CLOSE")
        if depth == 1 and word.type in _BETWEEN_LITERALS:
            return True
    return False


def _may_be_a_number(word: Word) -> bool:
    """False for a constant that is text: nothing can be computed with it."""
    return word.type not in ("NAME", "IRI", "CLOSE_SQUARE") and (
        word.type != "CONSTANT" or isinstance(word.value, Literal) or not isinstance(word.value, str | bool)
    )
