r"""Regular expressions that take long by Python's `re`: matched by backtracking that remembers where it has failed.

`re` may need exponential time, for `(a+)+b` or `(a|a)*b`, in which no other thread runs and no limit holds.
`most_steps` bounds its time for a text of a certain length; where that is too long, a `Program` matches instead, with
the same priorities. It is at a split of the pattern (a repetition, an alternative) and a place of the text at most
once, so its time is linear in the length of both, except that with a reference to a group (`\1`) what the group has
matched counts, too. It looks at the limits of the call from time to time.

    pieces        of a pattern in the syntax of `re`: atoms, quantifiers, brackets and bars, from left to right
    instructions  ("atom", match), ("split", number, first, second), ("jump", to), ("save", slot), ("same", group),
                  ("again", split, behind) at the end of what is repeated: an empty repetition is the last one,
                  ("match",)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deltalog.core.limits import check_running

MOST_INSTRUCTIONS = 20_000
CHECKED_STEPS = 4_096
_REFERENCE = re.compile(r"\(\?:\\([1-9])\)")
_COUNTS = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")

Spans = tuple[int, ...]  # of groups: start and end of each, -1 where it has not matched


class TooLarge(ValueError):
    """A pattern with too many repetitions."""


# Patterns as trees.


@dataclass(frozen=True, slots=True)
class CharacterMatch:
    text: str


@dataclass(frozen=True, slots=True)
class CaptureGroup:
    number: int
    body: PatternChoice


@dataclass(frozen=True, slots=True)
class PatternChoice:
    branches: tuple[tuple[PatternNode, ...], ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    body: PatternNode
    least: int
    most: float  # or infinity
    greedy: bool


PatternNode = CharacterMatch | CaptureGroup | PatternChoice | Repeat


class _Parser:
    """Reads pieces, which are a valid pattern."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces, self.at, self.groups = pieces, 0, 0

    def choice(self) -> PatternChoice:
        branches = [self._branch()]
        while self._next == "|":
            self.at += 1
            branches.append(self._branch())
        return PatternChoice(tuple(branches))

    @property
    def _next(self) -> str:
        return self.pieces[self.at] if self.at < len(self.pieces) else ""

    def _branch(self) -> tuple[PatternNode, ...]:
        found: list[PatternNode] = []
        while self._next not in ("", "|", ")"):
            found.append(self._repeated(self._item()))
        return tuple(found)

    def _item(self) -> PatternNode:
        piece, self.at = self._next, self.at + 1
        if piece not in ("(", "(?:"):
            return CharacterMatch(piece)
        self.groups += piece == "("
        number = self.groups
        body = self.choice()
        self.at += 1
        return CaptureGroup(number, body) if piece == "(" else body

    def _repeated(self, body: PatternNode) -> PatternNode:
        piece = self._next
        if piece[:1] not in ("*", "+", "?", "{"):
            return body
        self.at += 1
        least, most = _counts(piece)
        return Repeat(body, least, most, not (len(piece) > 1 and piece.endswith("?")))


def _counts(quantifier: str) -> tuple[int, float]:
    known: dict[str, tuple[int, float]] = {"*": (0, math.inf), "+": (1, math.inf), "?": (0, 1)}
    if quantifier[0] in known:
        return known[quantifier[0]]
    found = _COUNTS.match(quantifier)
    assert found is not None
    least = int(found[1])
    return least, float(found[3]) if found[3] else math.inf if found[2] else least


def parsed(pieces: Sequence[str]) -> PatternChoice:
    return _Parser(pieces).choice()


# How long `re` may take.


def most_steps(tree: PatternChoice, length: int) -> float:
    """A bound of the steps of `re` for a search in a text of this length; infinity where they may be exponential."""
    return (length + 1) * _ways(tree, length + 1, False)


def _ways(node: PatternNode, length: int, repeated: bool) -> float:
    """In how many ways a node may match from a place on; those of what is repeated are to be one."""
    match node:
        case CharacterMatch():
            return 1
        case CaptureGroup(_, body):
            return _ways(body, length, repeated)
        case Repeat(body, least, most, _):
            inside = _ways(body, length, repeated or most > 1)
            ways = min(most, length) - min(least, length) + 1
            return math.inf if (inside > 1 and most > 1) or (ways > 1 and repeated) else inside * ways
        case PatternChoice(branches):
            ways = 1 if _is_decided(branches) else len(branches)
            return math.inf if ways > 1 and repeated else _sequence(branches, length, repeated) * ways


def _sequence(branches: tuple[tuple[PatternNode, ...], ...], length: int, repeated: bool) -> float:
    return max(math.prod(_ways(node, length, repeated) for node in branch) for branch in branches)


def _is_decided(branches: tuple[tuple[PatternNode, ...], ...]) -> bool:
    """Whether the next character says which branch it is: each begins with another one."""
    if len(branches) == 1:
        return True
    firsts = [branch[0] if branch else None for branch in branches]
    letters = {each.text.casefold() for each in firsts if isinstance(each, CharacterMatch) and _is_letter(each.text)}
    return len(letters) == len(branches)


def _is_letter(piece: str) -> bool:
    return len(piece) == 1 and piece.isalnum() and piece.isascii()


# Programs.


class PatternProgram:
    """A pattern as instructions. `flags` are those of `re`."""

    def __init__(self, tree: PatternChoice, groups: int, flags: int) -> None:
        self.flags, self.groups = flags, groups
        self.instructions: list[tuple[Any, ...]] = []
        self.splits = 0
        self.referred: list[int] = []
        self._emit(tree)
        self._add("match")

    def _add(self, *instruction: Any) -> int:
        if len(self.instructions) >= MOST_INSTRUCTIONS:
            raise TooLarge("the pattern repeats too much for a text of this length")
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def _emit(self, node: PatternNode) -> None:
        match node:
            case CharacterMatch(text):
                self._emit_atom(text)
            case CaptureGroup(number, body):
                self._add("save", 2 * number)
                self._emit(body)
                self._add("save", 2 * number + 1)
            case PatternChoice(branches):
                self._emit_branches(branches)
            case Repeat():
                self._emit_repeat(node)

    def _emit_atom(self, text: str) -> None:
        reference = _REFERENCE.fullmatch(text)
        if reference is None:
            self._add("atom", re.compile(text, self.flags).match)
        else:
            self.referred.append(int(reference[1]))
            self._add("same", int(reference[1]))

    def _emit_branches(self, branches: tuple[tuple[PatternNode, ...], ...]) -> None:
        ends: list[int] = []
        for number, branch in enumerate(branches):
            is_last = number == len(branches) - 1
            split = -1 if is_last else self._split()
            for node in branch:
                self._emit(node)
            if not is_last:
                ends.append(self._add("jump", 0))
                self._lead(split, split + 1, len(self.instructions))
        for end in ends:
            self.instructions[end] = ("jump", len(self.instructions))

    def _emit_repeat(self, node: Repeat) -> None:
        for _ in range(node.least):
            self._emit(node.body)
        if node.most == math.inf:
            split = self._split()
            self._emit(node.body)
            self._add("again", split, len(self.instructions) + 1)
            self._leave(split, node.greedy)
            return
        splits = []
        for _ in range(int(node.most) - node.least):
            splits.append(self._split())
            self._emit(node.body)
        for split in splits:
            self._leave(split, node.greedy)

    def _split(self) -> int:
        self.splits += 1
        return self._add("split", self.splits - 1, 0, 0)

    def _leave(self, split: int, greedy: bool) -> None:
        """A split goes on behind itself, or to what comes next."""
        ways = split + 1, len(self.instructions)
        self._lead(split, *(ways if greedy else ways[::-1]))

    def _lead(self, split: int, first: int, second: int) -> None:
        self.instructions[split] = ("split", self.instructions[split][1], first, second)

    # Matching.

    def search(self, text: str, start: int = 0) -> Spans | None:
        """The first match from a place on, as the spans of its groups; group 0 is all of it."""
        seen = _Seen(self, len(text) + 1 - start, start)
        for begin in range(start, len(text) + 1):
            if (found := self._match(text, begin, seen)) is not None:
                return found
        return None

    def matches(self, text: str) -> Iterator[Spans]:
        """All matches of a pattern that does not match the empty text."""
        found = self.search(text)
        while found is not None:
            yield found
            found = self.search(text, found[1])

    def _match(self, text: str, begin: int, seen: _Seen) -> Spans | None:
        waiting = [(0, begin, (begin, *(-1,) * (2 * self.groups + 1)))]
        while waiting:
            at, place, spans = waiting.pop()
            while True:
                seen.count_step()
                kind, *rest = self.instructions[at]
                at += 1
                if kind == "atom":
                    matched = rest[0](text, place)
                    if matched is None:
                        break
                    place = matched.end()
                elif kind == "split":
                    if not seen.is_new(rest[0], place, spans):
                        break
                    at = rest[1]
                    waiting.append((rest[2], place, spans))
                elif kind == "jump":
                    at = rest[0]
                elif kind == "again":
                    split = self.instructions[rest[0]][1]
                    at = rest[1] if seen.has(split, place, spans) else rest[0]
                elif kind == "save":
                    spans = (*spans[: rest[0]], place, *spans[rest[0] + 1 :])
                elif kind == "same":
                    group = text[spans[2 * rest[0]] : spans[2 * rest[0] + 1]]
                    if spans[2 * rest[0] + 1] < 0 or not text.startswith(group, place):
                        break
                    place += len(group)
                else:
                    return (spans[0], place, *spans[2:])
        return None


class _Seen:
    """The splits and places that a search has been at; it counts steps, and looks at the limits."""

    def __init__(self, program: PatternProgram, places: int, start: int) -> None:
        self.splits, self.start, self.steps = program.splits, start, 0
        self.referred = [slot for group in program.referred for slot in (2 * group, 2 * group + 1)]
        self._bits = bytearray(0 if self.referred else program.splits * places // 8 + 1)
        self._known: set[tuple[int, ...]] = set()

    def count_step(self) -> None:
        self.steps += 1
        if self.steps % CHECKED_STEPS == 0:
            check_running()

    def has(self, split: int, place: int, spans: Spans) -> bool:
        number = (place - self.start) * self.splits + split
        if self.referred:
            return (number, *(spans[slot] for slot in self.referred)) in self._known
        return bool(self._bits[number >> 3] & 1 << (number & 7))

    def is_new(self, split: int, place: int, spans: Spans) -> bool:
        """Whether the search has not been there, where it is now."""
        is_new = not self.has(split, place, spans)
        number = (place - self.start) * self.splits + split
        if self.referred:
            self._known.add((number, *(spans[slot] for slot in self.referred)))
        else:
            self._bits[number >> 3] |= 1 << (number & 7)
        return is_new
