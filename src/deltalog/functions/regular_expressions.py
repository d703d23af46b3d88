r"""Regular expressions of XPath, which REGEX and REPLACE have, as Python's.

Most of the syntax is the same. What differs:

    .           no line break, neither \n nor \r, unless the flag s is given
    $           the end of the text, and not also before a last line break, unless the flag m is given
    \i \c       the characters that start a name of XML, and those in one
    \p{Lu}      a category of Unicode, and \P{Lu} any other character
    [a-z-[aeiou]]   a class without the characters of another one
    \s          a space, a tab or a line break of ASCII
    \d \w       as in Python: digits; letters, digits and the underscore
    flags       s m i x q: x ignores white space outside of classes, q takes the pattern as plain text

Python's extensions are errors here: look-ahead, named groups, inline flags, possessive quantifiers, `\b`, `\A`. In the
replacement, `$1` is what the first group matched, `\$` a dollar sign and `\\` a backslash.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.limits import checked
from deltalog.functions.backtracking import PatternChoice, PatternProgram, Spans, most_steps, parsed

CACHED_PATTERNS = 512
QUICK_STEPS = 10**8  # of `re`: a second or so, in which no limit holds
_FLAGS = {"s": re.DOTALL, "m": re.MULTILINE, "i": re.IGNORECASE, "x": re.NOFLAG, "q": re.NOFLAG}
_ONE_LETTER = {"n": "\n", "r": "\r", "t": "\t"}
_PLAIN_ESCAPES = frozenset("\\|.?*+(){}-[]^$")
_NAME_START = (
    r":A-Z_a-z\xC0-\xD6\xD8-\xF6\xF8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F\u2C00-\u2FEF"
    r"\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NAME = _NAME_START + r"\-.0-9\xB7\u0300-\u036F\u203F-\u2040"
_CLASSES = {"s": r" \t\n\r", "d": r"\d", "w": r"\w", "i": _NAME_START, "c": _NAME}  # inside of brackets
_QUANTIFIER = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_CATEGORY = re.compile(r"\{([A-Z][a-z]?)\}")


class WrongPattern(ValueError):
    """A regular expression or a replacement that is not valid."""


class RegularExpression:
    """A pattern that is valid. Texts for which `re` may take too long are matched by a `Program`."""

    def __init__(self, pieces: Sequence[str], flags: int) -> None:
        self._pieces, self._flags = pieces, flags
        self._quick = re.compile("".join(pieces), flags)
        self.groups = self._quick.groups

    @cached_property
    def _tree(self) -> PatternChoice:
        return parsed(self._pieces)

    @cached_property
    def _program(self) -> PatternProgram:
        return PatternProgram(self._tree, self.groups, self._flags)

    def is_quick(self, text: str) -> bool:
        """Whether `re` takes not too long for a text."""
        return most_steps(self._tree, len(text)) <= QUICK_STEPS

    def is_in(self, text: str) -> bool:
        """Whether there is a match in a text."""
        search = self._quick.search if self.is_quick(text) else self._program.search
        return search(text) is not None

    def matches(self, text: str) -> Iterator[Spans]:
        """The matches in a text, if none is empty: the spans of the whole and of the groups."""
        if not self.is_quick(text):
            yield from self._program.matches(text)
            return
        for match in self._quick.finditer(text):
            yield tuple(end for group in range(self.groups + 1) for end in match.span(group))


@lru_cache(maxsize=CACHED_PATTERNS)
def compiled(pattern: str, flags: str = "") -> RegularExpression:
    """A pattern with the flags of XPath; WrongPattern if it is not valid."""
    if set(flags) - _FLAGS.keys():
        raise WrongPattern(f"unknown flags {flags!r}; flags are s, m, i, x and q")
    pieces = list(map(re.escape, pattern)) if "q" in flags else list(_Translator(pattern, flags).pieces())
    try:
        return RegularExpression(pieces, sum({_FLAGS[flag] for flag in flags}))
    except (re.error, OverflowError, RecursionError) as error:
        raise WrongPattern(str(error)) from None


def replaced(
    text: str, pattern: str, replacement: str, flags: str = "", check_length: Callable[[int], None] = lambda _: None
) -> str:
    """A text with every match replaced; WrongPattern also for a pattern that matches nothing at all. `check_length` is
    told how long the text becomes."""
    expression = compiled(pattern, flags)
    if expression.is_in(""):
        raise WrongPattern("the pattern matches the empty text")
    parts = [replacement] if "q" in flags else _parts(replacement, expression.groups)
    found, behind, length = list[str](), 0, len(text)
    for spans in checked(expression.matches(text)):
        new = [part if isinstance(part, str) else text[spans[2 * part] : spans[2 * part + 1]] for part in parts]
        found += (text[behind : spans[0]], *new)
        length += sum(map(len, new)) - (spans[1] - spans[0])
        check_length(length)
        behind = spans[1]
    return "".join([*found, text[behind:]])


def _parts(replacement: str, groups: int) -> list[str | int]:
    """The texts and the numbers of groups of a replacement; a number has as many digits as there are groups for."""
    found: list[str | int] = []
    at = 0
    while at < len(replacement):
        match = re.compile(r"[^\\$]+|\\([\\$])|\$([0-9]+)").match(replacement, at)
        if match is None:
            raise WrongPattern("in a replacement, `$` is followed by a number, and `\\` by `$` or `\\`")
        at = match.end()
        if match[2] is None:
            found.append(match[1] or match[0])
            continue
        digits = match[2]
        while len(digits) > 1 and int(digits) > groups:
            digits = digits[:-1]
        at -= len(match[2]) - len(digits)
        found.append(int(digits) if int(digits) <= groups else "")
    return found


class _Translator:
    """Reads a pattern from left to right, and writes Python's."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern, self.flags = pattern, flags
        self.at = 0

    def pieces(self) -> Iterator[str]:
        quantifiable = False
        while self.at < len(self.pattern):
            character = self.pattern[self.at]
            if "x" in self.flags and character in " \t\n\r":
                self.at += 1
            elif character in "*+?{":
                yield self._quantifier(quantifiable)
                quantifiable = False
            else:
                quantifiable = character not in "(|"
                yield self._atom(character)

    def _quantifier(self, quantifiable: bool) -> str:
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None or not quantifiable:
            raise WrongPattern(f"nothing to repeat at {self.pattern[self.at :]!r}")
        self.at = match.end()
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1
            return match[0] + "?"
        return match[0]

    def _atom(self, character: str) -> str:
        if character == "\\":
            return self._escape(in_class=False)
        if character == "[":
            return self._class()
        self.at += 1
        if character == "(":
            return self._group()
        if character in "]}":
            raise WrongPattern(f"`{character}` without its opening bracket")
        special: dict[str, Callable[[], str]] = {
            ".": lambda: "." if "s" in self.flags else r"[^\n\r]",
            "$": lambda: "$" if "m" in self.flags else r"\Z",
            **dict.fromkeys(")|^", lambda: character),
        }
        return special.get(character, lambda: re.escape(character))()

    def _group(self) -> str:
        if self.pattern[self.at : self.at + 1] != "?":
            return "("
        if self.pattern[self.at : self.at + 2] != "?:":
            raise WrongPattern("after `(?` there can only be `:`")
        self.at += 2
        return "(?:"

    def _escape(self, in_class: bool) -> str:
        """`\\d` and the like; in a class as what can stand in brackets."""
        letter = self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if letter in _ONE_LETTER:
            return re.escape(_ONE_LETTER[letter])
        if letter and letter in _PLAIN_ESCAPES:
            return re.escape(letter)
        if letter and letter.lower() in _CLASSES:
            return self._known_class(letter, in_class)
        if letter and letter in "pP":
            return self._category(letter == "P", in_class)
        if letter and letter in "123456789" and not in_class:
            return rf"(?:\{letter})"
        raise WrongPattern(f"`\\{letter}` has no meaning")

    def _known_class(self, letter: str, in_class: bool) -> str:
        inside = _CLASSES[letter.lower()]
        if letter.islower():
            return inside if in_class else f"[{inside}]"
        if letter in "DW":
            return f"\\{letter}" if in_class else f"[^{inside}]"
        return _complement(inside) if in_class else f"[^{inside}]"

    def _category(self, negated: bool, in_class: bool) -> str:
        match = _CATEGORY.match(self.pattern, self.at)
        if match is None:
            raise WrongPattern("after `\\p` there is a category of Unicode in braces, such as {Lu}")
        self.at = match.end()
        inside = _characters_of(match[1])
        if not inside:
            raise WrongPattern(f"Unicode has no category {match[1]}")
        if in_class:
            return _complement(inside) if negated else inside
        return f"[{'^' if negated else ''}{inside}]"

    def _class(self) -> str:
        """`[...]`, with another class subtracted from it or not, as a pattern for one character."""
        self.at += 1
        negated = self._accept("^")
        inside = ""
        while not self._accept("]"):
            if self.pattern.startswith("-[", self.at) and inside:
                self.at += 1
                without = self._class()
                if not self._accept("]"):
                    raise WrongPattern("a class that is subtracted is the last thing in a class")
                return f"(?:(?!{without})[{'^' if negated else ''}{inside}])"
            inside += self._member()
        if not inside:
            raise WrongPattern("a class is empty")
        return f"[{'^' if negated else ''}{inside}]"

    def _member(self) -> str:
        if self.at >= len(self.pattern):
            raise WrongPattern("a class is not closed")
        character = self.pattern[self.at]
        if character == "\\":
            return self._escape(in_class=True)
        if character == "[":
            raise WrongPattern("`[` in a class is written `\\[`")
        self.at += 1
        return "-" if character == "-" and self._in_range() else re.escape(character)

    def _in_range(self) -> bool:
        """Whether the minus that was read stands between two characters."""
        before, after = self.pattern[self.at - 2], self.pattern[self.at : self.at + 1]
        return before not in "[^" and after not in ("]", "", "[")

    def _accept(self, character: str) -> bool:
        found = self.pattern.startswith(character, self.at)
        self.at += found
        return found


@lru_cache(maxsize=64)
def _characters_of(category: str) -> str:
    """The characters of a category of Unicode, or of all that start with a letter, as ranges."""
    return _ranges(lambda code: unicodedata.category(chr(code)).startswith(category))


@lru_cache(maxsize=64)
def _complement(inside: str) -> str:
    matches = re.compile(f"[{inside}]").match
    return _ranges(lambda code: matches(chr(code)) is None)


def _ranges(contains: Callable[[int], bool]) -> str:
    found: list[str] = []
    start: int | None = None
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and contains(code)
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            found.append(f"{_code(start)}-{_code(code - 1)}")
            start = None
    return "".join(found)


def _code(code: int) -> str:
    return f"\\U{code:08x}"
