"""Directives that name files and columns.

    @input edge from "edges.csv" (header = true, columns = [src AS from, to], types = [string, string]) .
    @input "univ.ttl" .
    @output path to "path.parquet" (columns = [from, to]) .
    @columns path(from, to) .

The words of such a statement come from the lexer. Options are checked here, each at its place; whether a file exists is
known when it is read. What is wrong is reported to the `ReadingState`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from deltalog.core.errors import UsageError
from deltalog.core.rules import Pred, Span, Variable
from deltalog.core.table_options import (
    DEFAULT_OPTIONS,
    INPUT_OPTIONS,
    OUTPUT_OPTIONS,
    ColumnChoice,
    TableOptions,
)
from deltalog.core.terms import BlankNode, Literal
from deltalog.languages.deltalog.lexer import Word
from deltalog.languages.deltalog.named_file import OwnFile

DIRECTIVES = ("INPUT", "OUTPUT", "COLUMNS")
_TABLES = (".csv", ".tsv", ".facts", ".parquet", ".jsonl", ".ndjson")
_RDF = (".nt", ".nq", ".ttl", ".trig", ".jsonld", ".rdf", ".owl", ".xml")
_COMPRESSIONS = (".gz", ".bz2", ".zst")
_WRITTEN = (".csv", ".tsv", ".jsonl", ".parquet", ".nt", ".nq", ".ttl", ".trig")


@dataclass(frozen=True)
class ColumnDeclaration:
    """`@columns`: the names of the columns of a predicate."""

    pred: Pred
    names: tuple[str, ...]


class _Wrong(Exception):
    """A word at which a directive cannot go on."""

    def __init__(self, word: Word, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.word, self.message, self.hint = word, message, hint


def read_directive(words: Sequence[Word]) -> OwnFile | ColumnDeclaration | None:
    """What a statement that begins with @input, @output or @columns says; None if it is wrong, which is reported."""
    reader = _Reader(words)
    try:
        return reader.columns() if words[0].type == "COLUMNS" else reader.file(words[0].type.lower())
    except _Wrong as wrong:
        word, reading = wrong.word, words[0].reading
        reading.complain(wrong.message, word.start, max(word.end, word.start + 1), wrong.hint)
        return None


class _Reader:
    """The words of one directive, from left to right."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words, self.at = words, 1

    @property
    def next(self) -> Word:
        return self.words[self.at]

    def take(self) -> Word:
        word = self.words[self.at]
        self.at += word.type != "_END"
        return word

    def expect(self, types: Sequence[str], what: str) -> Word:
        word = self.take()
        if word.type not in types:
            found = "the directive ends too early" if word.type == "_END" else f"did not expect `{word.text}` here"
            raise _Wrong(word, found, f"Expected {what}.")
        return word

    def end(self) -> None:
        if self.next.type != "_END":
            raise _Wrong(self.next, f"did not expect `{self.next.text}` here", "The directive ends before it.")

    # Statements

    def file(self, kind: str) -> OwnFile:
        preposition = "from" if kind == "input" else "to"
        example = {"input": '@input edge from "edges.csv"', "output": '@output path to "path.csv"'}[kind]
        predicate = None
        if self.next.type != "CONSTANT" or kind == "output":
            predicate = str(self.expect(("NAME", "IRI"), f"a predicate: {example}").value)
            word = self.take()
            if word.type != "NAME" or word.value.lower() != preposition:
                raise _Wrong(word, f"expected `{preposition}` and the name of a file", f"For example: {example}")
        path = self.expect(("CONSTANT",), f"the name of a file in quotes: {example}")
        self._check_path(path, kind, predicate)
        options = self.options(INPUT_OPTIONS if kind == "input" else OUTPUT_OPTIONS, f"@{kind}")
        self.end()
        first = self.words[0]
        return OwnFile(kind, predicate, path.value, options, Span(first.reading.source, path.start, path.end))

    def _check_path(self, word: Word, kind: str, predicate: str | None) -> None:
        if type(word.value) is not str:
            raise _Wrong(word, "expected the name of a file in quotes")
        name = word.value.lower()
        for ending in _COMPRESSIONS:
            name = name.removesuffix(ending)
        suffix = Path(name).suffix
        known = _WRITTEN if kind == "output" else (*_TABLES, *_RDF)
        if suffix not in known and (suffix or kind == "output"):  # a folder has none
            what = "written" if kind == "output" else "read"
            raise _Wrong(word, f"the ending of {word.text} says no format that can be {what}", f"{_list(known)}.")
        if kind == "input" and suffix in _RDF and predicate is not None:
            raise _Wrong(word, "a file of RDF has its predicates inside", f"Write @input {word.text}")
        if kind == "input" and suffix in _TABLES and predicate is None:
            raise _Wrong(word, "a table has one predicate", f"Write @input name from {word.text}")

    def columns(self) -> ColumnDeclaration:
        what = "a predicate with the names of its columns: @columns path(from, to)"
        predicate = self.expect(("NAME", "IRI"), what)
        names = [self._name(word) for word in self._listed(("_OPEN", "_OPEN_SQUARE"), ("CLOSE", "CLOSE_SQUARE"), what)]
        self.end()
        lower = [name.lower() for name in names]
        for word, name in zip(self.words[3::2], lower, strict=False):
            if lower.count(name) > 1:
                raise _Wrong(word, f"two columns are called `{word.text}`", "Upper and lower case are not told apart.")
        return ColumnDeclaration(Pred(str(predicate.value), len(names)), tuple(names))

    # Options

    def options(self, known: Sequence[str], where: str) -> TableOptions:
        if self.next.type != "LPAREN":
            return DEFAULT_OPTIONS
        self.take()
        given: dict[str, Any] = {}
        while True:
            name = self.expect(("NAME", "VARIABLE"), "an option, such as header = true")
            self._check_option(name, known, given, where)
            self.expect(("COMPARISON",), f"`=`, as in {name.text} = ...")
            first = self.next
            given[name.text] = self.value()
            self._checked(lambda one=name.text: TableOptions.of({one: given[one], **_needed(one)}), first)  # type: ignore[misc]
            if self.expect(("_COMMA", "CLOSE"), "`,` or `)`").type == "CLOSE":
                break
        return self._checked(lambda: TableOptions.of(given), self.words[0])

    def _check_option(self, name: Word, known: Sequence[str], given: dict[str, Any], where: str) -> None:
        if name.text in given:
            raise _Wrong(name, f"the option `{name.text}` is given twice")
        if name.text not in known:
            wanted = {"null": "nulls", "sep": "delimiter", "separator": "delimiter"}.get(name.text, name.text)
            near = get_close_matches(wanted, known, 1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Options are {', '.join(known)}."
            raise _Wrong(name, f"{where} has no option `{name.text}`", hint)

    def _checked(self, make: Callable[[], TableOptions], word: Word) -> TableOptions:
        try:
            return make()
        except UsageError as problem:
            raise _Wrong(word, str(problem)) from None

    def value(self) -> Any:
        """A text, a number, true or false, a name, or a list of them."""
        if self.next.type != "LSQUARE":
            sign = self.take() if self.next.type == "MINUS" else None
            what = "a value: a text, a number, true, false or a list"
            word = self.expect(("CONSTANT", "NAME", "VARIABLE", "IRI"), what)
            if sign is not None and type(word.value) in (int, float):
                return -word.value
            return word.value if word.type in ("CONSTANT", "IRI") else word.text
        items = []
        self.take()
        while self.next.type != "CLOSE_SQUARE":
            items.append(self._item())
            if self.next.type == "_COMMA":
                self.take()
            elif self.next.type != "CLOSE_SQUARE":
                raise _Wrong(self.next, f"did not expect `{self.next.text}` here", "Expected `,` or `]`.")
        self.take()
        return items

    def _item(self) -> Any:
        """An element of a list: `name`, `old AS new`, or `name = type`."""
        word = self.expect(("CONSTANT", "NAME", "VARIABLE"), "a name, a text or a number")
        source = word.value if type(word.value) in (int, str) and word.type == "CONSTANT" else word.text
        if self.next.type == "_AS":
            self.take()
            return ColumnChoice(source, self._name(self.expect(("CONSTANT", "NAME", "VARIABLE"), "the new name")))
        if self.next.type == "COMPARISON" and self.next.text == "=":
            self.take()
            return (source, self.expect(("NAME", "CONSTANT"), "a type").value)
        return source

    def _listed(self, opens: Sequence[str], closes: Sequence[str], what: str) -> list[Word]:
        self.expect(opens, what)
        words = [self.expect(("NAME", "VARIABLE", "CONSTANT"), what)]
        while self.expect(("_COMMA", *closes), what).type == "_COMMA":
            words.append(self.expect(("NAME", "VARIABLE", "CONSTANT"), what))
        return words

    def _name(self, word: Word) -> str:
        if word.type == "CONSTANT" and (type(word.value) is not str or isinstance(word.value, BlankNode | Literal)):
            raise _Wrong(word, "expected a name")
        if isinstance(word.value, Variable):
            return word.text
        return str(word.value)


def _needed(option: str) -> dict[str, Any]:
    """What makes an option right on its own."""
    return {"nulls": "drop"} if option == "null_values" else {}


def _list(endings: Sequence[str]) -> str:
    return f"Endings are {', '.join(endings)}"
