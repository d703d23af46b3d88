"""From text to rules.

    text -> Lexer -> words of one statement -> lark (grammar.lark) -> Builder -> Rule

Statements are parsed one by one, and every wrong statement adds a diagnostic; a text with any is refused as a whole.
The parser is built once per process, on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalog.core.arguments import checked_text
from deltalog.core.errors import Diagnostic, SyntaxProblem
from deltalog.core.rules import (
    Aggregate,
    Bind,
    BodyLiteral,
    Call,
    Disjunction,
    Expression,
    Filter,
    NegatedBody,
    Rule,
    Source,
)
from deltalog.languages.deltalog.file_directives import DIRECTIVES, ColumnDeclaration, read_directive
from deltalog.languages.deltalog.lexer import Lexer, ReadingState, Word
from deltalog.languages.deltalog.named_file import OwnFile
from deltalog.languages.protocol import ProgramUnit

if TYPE_CHECKING:
    from lark import UnexpectedToken

MAX_ERRORS = 500  # a text with more of them is not a program
MAX_NESTING = 200  # of operators and functions in each other


def parse(text: str, name: str = "<text>") -> list[Rule]:
    """The rules of a text; facts are rules without a body. SyntaxProblem has all errors."""
    return list(parse_document(text, name).rules)


def parse_document(
    text: str, name: str = "<text>", prefixes: Mapping[str, str] | None = None, ready_made: bool = False
) -> ProgramUnit:
    """The rules of a text, the prefixes that it declares (with the ones that are always there), the files that it names
    and the columns that it declares. `prefixes` may be used in it without being declared there."""
    reading = ReadingState(Source(name, text, ready_made), prefixes)
    meanings = list(_meanings(reading, Lexer(reading)))
    rules = [meaning for meaning in meanings if isinstance(meaning, Rule)]
    _refuse_if_wrong(reading, rules)
    files = tuple(meaning for meaning in meanings if isinstance(meaning, OwnFile))
    columns = {each.pred: each.names for each in meanings if isinstance(each, ColumnDeclaration)}
    return ProgramUnit(tuple(rules), reading.prefixes, files, columns, languages=("deltalog",))


def parse_goal(text: str, name: str = "<goal>", prefixes: Mapping[str, str] | None = None) -> tuple[BodyLiteral, ...]:
    """The literals of a query such as `path(a, ?x), edge(?x, ?y)`; `?-` before it and a dot after it may be missing."""
    text = checked_text(text, "a goal as text, such as 'path(a, ?x)'")
    reading = ReadingState(Source(name, text), prefixes)
    goals = list(_meanings(reading, Lexer(reading, goal=True)))
    if not reading.diagnostics and len(goals) != 1:
        reading.complain("a query is one line of atoms and conditions", 0, len(text), "For example: path(a, ?x)")
    _refuse_if_wrong(reading)
    goal: tuple[BodyLiteral, ...] = goals[0]
    return goal


@dataclass(frozen=True)
class Goals:
    """A text of goals: each of them, behind blanks such that its place stays the same, and the prefixes for all."""

    texts: tuple[str, ...]
    prefixes: Mapping[str, str]


def split_goals(text: str, name: str = "<goals>", prefixes: Mapping[str, str] | None = None) -> Goals:
    """The goals of a text. A goal ends as a rule does: with a dot, or where the next line starts another one."""
    from lark import UnexpectedToken

    from deltalog.languages.deltalog.grammar import statement_parser

    reading = ReadingState(Source(name, text), prefixes)
    places = []
    for words in Lexer(reading).statements():
        if words[0].type == "PREFIX":
            try:
                statement_parser().parse(words)
            except UnexpectedToken as error:
                _complain(reading, words, error)
        elif words[0].type == "BASE":
            reading.complain("goals have no BASE", words[0].start, words[-1].end, "Write full IRIs, or use a PREFIX.")
        else:
            places.append((words[0].start, words[-1].start))
    _refuse_if_wrong(reading)
    blank = re.sub(r"[^\n]", " ", text)
    return Goals(tuple(blank[:start] + text[start:end] for start, end in places), reading.prefixes)


def _refuse_if_wrong(reading: ReadingState, rules: Sequence[Rule] = ()) -> None:
    if reading.diagnostics:
        in_order = sorted(reading.diagnostics, key=lambda d: d.span.start if d.span else 0)
        more = len(in_order) - MAX_ERRORS
        rest = [Diagnostic(f"and {more} more errors")] if more > 0 else []
        raise SyntaxProblem([*in_order[:MAX_ERRORS], *rest], rules)


def _meanings(reading: ReadingState, lexer: Lexer) -> Iterator[Any]:
    """The result of the Builder for each statement that can be parsed."""
    from lark import UnexpectedToken

    from deltalog.languages.deltalog.grammar import statement_parser

    parse_words = statement_parser().parse
    refused = False  # one error for all lines of a table
    for words in lexer.statements():
        if not lexer.goal and _looks_like_data(words):
            if not refused:
                reading.complain("this is neither a fact nor a rule", words[0].start, words[-2].end, _TABLES)
            refused = True
            continue
        if words[0].type == "QUERY" and not lexer.goal:
            reading.complain("a query has no place among rules", words[0].start, words[-1].end, _QUERIES)
            continue
        if words[0].type in DIRECTIVES and not lexer.goal:
            yield read_directive(words)
            continue
        try:
            meaning: Any = parse_words(words)
        except UnexpectedToken as error:
            _complain(reading, words, error)
            continue
        if len(words) > MAX_NESTING and meaning and _nesting(meaning) > MAX_NESTING:
            message = f"more than {MAX_NESTING} operations in one expression"
            reading.complain(message, words[0].start, words[0].end, "Compute it in several steps, with BIND.")
        else:
            yield meaning


def _looks_like_data(words: list[Word]) -> bool:
    """Whether a statement without its dot has neither brackets nor a body: a line of a table, or a stray word."""
    return words[-1].start == words[-1].end and not any(word.type in _ONLY_IN_PROGRAMS for word in words)


def _nesting(meaning: Rule | tuple[BodyLiteral, ...]) -> int:
    """The depth of the deepest expression of a rule or a goal (it may be too deep for recursion)."""
    level = list(_expressions(meaning.body if isinstance(meaning, Rule) else meaning))
    depth = 0
    while level:
        depth += 1
        level = [argument for node in level if isinstance(node, Call) for argument in node.arguments]
    return depth


def _expressions(body: tuple[BodyLiteral, ...]) -> Iterator[Expression]:
    for literal in body:
        match literal:
            case Filter(condition=expression) | Bind(expression=expression):
                yield expression
            case NegatedBody(body=inner):
                yield from _expressions(inner)
            case Disjunction(alternatives=alternatives):
                yield from (expression for inner in alternatives for expression in _expressions(inner))
            case Aggregate():
                yield from _expressions(literal.body)
                yield from (call.argument for call in literal.calls if call.argument is not None)


# Errors

_QUERIES = "Ask it with `deltalog query`, or make it a rule: answer(?x) :- ..."
_TABLES = "Pass a table with --data (in Python with load). A fact without arguments ends with a dot: rainy."
_ONLY_IN_PROGRAMS = frozenset(
    ("_ARROW", "_OPEN", "_OPEN_SQUARE", "LPAREN", "LSQUARE", "QUERY", "PREFIX", "BASE", *DIRECTIVES)
)
_IN_WORDS = {
    "_COMMA": "`,`",
    "CLOSE": "`)`",
    "CLOSE_SQUARE": "`]`",
    "_ARROW": "`:-`",
    "_END": "`.`",
    "_AS": "`AS`",
    "_OPEN": "`(`",
    "VARIABLE": "a variable",
    "NAME": "a name",
    "IRI": "an <iri>",
    "WITH": "`WITH`",
    "BIND": "`BIND`",
    "PREFIX_NAME": "a prefix such as `a:`",
}
_OPENS = {"_OPEN": "(", "LPAREN": "(", "_OPEN_SQUARE": "[", "LSQUARE": "["}
_CLOSES = {"CLOSE": "(", "CLOSE_SQUARE": "["}


def _complain(reading: ReadingState, words: list[Word], error: UnexpectedToken) -> None:
    word: Any = error.token
    expected = error.accepts or error.expected
    unclosed = _unclosed(words, word)
    hint = _hint(words, word, expected)
    if word.type == "_END" and unclosed is not None:
        message = f"the bracket `{unclosed.text}` is never closed"
        reading.complain(message, unclosed.start, unclosed.end, hint)
        return
    what = "the rule ends too early" if word.type == "_END" else f"did not expect `{word.text}` here"
    reading.complain(what, word.start, max(word.end, word.start + 1), hint)


def _unclosed(words: list[Word], until: Word) -> Word | None:
    """The innermost bracket that is open before a word."""
    open_brackets: list[Word] = []
    for word in words:
        if word is until:
            break
        if word.type in _OPENS:
            open_brackets.append(word)
        elif word.type in _CLOSES and open_brackets:
            open_brackets.pop()
    return open_brackets[-1] if open_brackets else None


def _hint(words: list[Word], word: Word, expected: set[str]) -> str | None:
    if word is words[0] and word.type == "VARIABLE":
        return "A statement starts with an atom, such as p(?x); a name with a capital letter is a variable."
    if word.type == "COMPARISON" and word.text == ">" and words[words.index(word) - 1].text == "<":
        return "Write != for `not equal`."
    if word.type == "COMPARISON" and "_COMMA" in expected:
        return "Compare two values at a time: 1 < ?x, ?x < 5"
    if "FILTER" in expected:
        return "Expected an atom or a condition."
    if "CONSTANT" in expected:
        return "Expected a variable, a constant or an expression."
    known = [text for type, text in _IN_WORDS.items() if type in expected]
    return f"Expected {_alternatives(known)}." if known else None


def _alternatives(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
