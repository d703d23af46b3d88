"""Strings, their languages, and digests.

In rules, `str` is the text of any value, and `concat` joins those texts. The other functions take strings, and Literals
by their text; they fail on anything else, and give plain strings. `strlen` counts code points. `substr(s, start,
length)` is XPath's: the characters at the positions start <= p < start + length, the first being 1; both are integers.
`replace(s, old, new)` replaces every occurrence of a plain text; an empty `old` changes nothing. With flags as a fourth
argument, it is SPARQL's REPLACE, of a regular expression. Regular expressions, languages and digests are SPARQL's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from deltalog.core.terms import Kind, Literal, Value, datatype, kind, lexical, literal
from deltalog.functions import fresh_values
from deltalog.functions import nemo_functions as nemo
from deltalog.functions import souffle_functors as souffle
from deltalog.functions import sparql_operators as sparql
from deltalog.functions.function import (
    ANY_NUMBER,
    ANYTHING,
    ELSEWHERE,
    INTEGER,
    LITERAL,
    NEMO,
    RDFOX,
    RIF,
    SOUFFLE,
    SWRL,
    TEXT,
    TRUTH,
    ExpressionFails,
    Function,
    of_nemo,
    of_souffle,
    of_sparql,
    with_sparql,
)
from deltalog.functions.numbers import integer
from deltalog.functions.regular_expressions import compiled, replaced

MANY = (1, ANY_NUMBER)
_INSTEAD = "str(SKOLEM(?x, ...)) is a text that depends on nothing but its arguments."


def string(value: Value) -> str:
    if isinstance(value, Literal):
        return value.text
    if kind(value) is not Kind.STRING:
        raise ExpressionFails(f"{value!r} is no string")
    return str(value)


def _concat(*values: Value) -> str:
    return sparql.concatenated([lexical(value) for value in values])


def _substr(value: Value, start: Value, *length: Value) -> str:
    text, begin = string(value), integer(start)
    end = begin + integer(length[0]) if length else len(text) + 1
    return text[max(begin, 1) - 1 : max(end, 1) - 1]


def _replace(value: Value, old: Value, new: Value, *flags: Value) -> Value:
    if flags:
        return _replace_pattern(value, old, new, *flags)
    text, pattern, replacement = string(value), string(old), string(new)
    if not pattern:
        return text
    sparql.check_length(len(text) + text.count(pattern) * len(replacement))
    return text.replace(pattern, replacement)


def _of_strings(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*map(string, values))


def _substr_in_sparql(value: Value, start: Value, *length: Value) -> Value:
    text, begin = sparql.text_of(value), sparql.whole(start)
    end = begin + sparql.whole(length[0]) if length else len(text) + 1
    return sparql.like(text[max(begin, 1) - 1 : max(end, 1) - 1], value)


def _concat_in_sparql(*values: Value) -> Value:
    text = sparql.concatenated([sparql.text_of(value) for value in values])
    languages = {sparql.language_of(value) for value in values}
    return literal(text, language=languages.pop() if len(languages) == 1 else None)


def _before(value: Value, mark: Value) -> Value:
    text, part = sparql.pair(value, mark)
    before, found, _ = text.partition(part) if part else ("", "found", "")
    return sparql.like(before, value) if found else ""


def _after(value: Value, mark: Value) -> Value:
    text, part = sparql.pair(value, mark)
    _, found, after = text.partition(part) if part else ("", "found", text)
    return sparql.like(after, value) if found else ""


def _regex(value: Value, pattern: Value, *flags: Value) -> bool:
    return compiled(sparql.simple(pattern), *map(sparql.simple, flags)).is_in(sparql.text_of(value))


def _replace_pattern(value: Value, pattern: Value, replacement: Value, *flags: Value) -> Value:
    given, new = sparql.text_of(value), sparql.simple(replacement)
    written = sparql.simple(flags[0]) if flags else ""
    text = replaced(given, sparql.simple(pattern), new, written, sparql.check_length)
    return sparql.like(text, value)


def _joined(values: Value, separator: Value) -> str:
    """The texts of a list (see `sparql.LIST`), joined."""
    assert isinstance(values, Literal)
    if values.datatype != sparql.LIST:
        raise ExpressionFails("there is no list")
    return sparql.concatenated(json.loads(values.text), str(separator))


def _hashed(name: str) -> Callable[[Value], str]:
    """The digest of a string in UTF-8, as hexadecimal digits."""
    return lambda value: hashlib.new(name, sparql.simple(value).encode(), usedforsecurity=False).hexdigest()


def _lang_matches(tag: Value, wanted: Value) -> bool:
    text, pattern = sparql.simple(tag).lower(), sparql.simple(wanted).lower()
    return bool(text) if pattern == "*" else text == pattern or text.startswith(pattern + "-")


def _lang(value: Value) -> str:
    if datatype(value) is None:
        raise ExpressionFails(f"{value!r} is no literal")
    return sparql.language_of(value) or ""


def _with_language(value: Value, tag: Value) -> Literal:
    language = sparql.simple(tag)
    if not re.fullmatch(r"[a-zA-Z]+(?:-[a-zA-Z0-9]+)*", language):
        raise ExpressionFails(f"{language!r} is no language")
    return Literal(sparql.simple(value), language=language)


LENGTH = (
    Function(
        "strlen",
        1,
        _of_strings(len),
        TEXT,
        INTEGER,
        {RIF: ("func:string-length", "func:PlainLiteral-length"), SWRL: "stringLength", ELSEWHERE: "length"},
        {NEMO: "STRLEN", RDFOX: "STRLEN", SOUFFLE: "strlen"},
    ),
    of_sparql("strlen", 1, lambda value: len(sparql.text_of(value))),
    of_nemo("strlen", 1, nemo.of_strings(len)),
    of_souffle(
        "strlen",
        1,
        lambda value: len(souffle.string(value).encode()),
        takes=TEXT,
        gives=INTEGER,
        names={SOUFFLE: "strlen"},
        core="strlen",
    ),
)
PARTS = (
    Function(
        "substr",
        (2, 3),
        _substr,
        (TEXT, INTEGER),
        TEXT,
        {RIF: "func:substring", SWRL: "substring", ELSEWHERE: "substring"},
        {NEMO: "SUBSTR", RDFOX: "SUBSTR", SOUFFLE: "substr({0}, {1} - 1, {2})"},
    ),
    of_sparql("substr", (2, 3), _substr_in_sparql),
    of_nemo("substr", (2, 3), nemo.substring),
    of_souffle("substr", 3, souffle.substring, takes=(TEXT, INTEGER), gives=TEXT, names={SOUFFLE: "substr"}),
    *with_sparql(Function("strbefore", 2, _before, TEXT, TEXT, {RIF: "func:substring-before"})),
    *with_sparql(Function("strafter", 2, _after, TEXT, TEXT, {RIF: "func:substring-after"})),
    of_nemo("strbefore", 2, nemo.of_two(nemo.before, keeping=True)),
    of_nemo("strafter", 2, nemo.of_two(nemo.after, keeping=True)),
)
TESTS = (
    Function(
        "contains",
        2,
        _of_strings(str.__contains__),
        TEXT,
        TRUTH,
        {RIF: "pred:contains", SWRL: "contains"},
        {NEMO: "CONTAINS", RDFOX: "CONTAINS"},
    ),
    Function(
        "strstarts",
        2,
        _of_strings(str.startswith),
        TEXT,
        TRUTH,
        {RIF: "pred:starts-with", SWRL: "startsWith", ELSEWHERE: "startswith"},
        {NEMO: "STRSTARTS", RDFOX: "STRSTARTS"},
    ),
    Function(
        "strends",
        2,
        _of_strings(str.endswith),
        TEXT,
        TRUTH,
        {RIF: "pred:ends-with", SWRL: "endsWith", ELSEWHERE: "endswith"},
        {NEMO: "STRENDS", RDFOX: "STRENDS"},
    ),
    of_sparql("contains", 2, sparql.of_pair(str.__contains__), gives=TRUTH),
    of_sparql("strstarts", 2, sparql.of_pair(str.startswith), gives=TRUTH),
    of_sparql("strends", 2, sparql.of_pair(str.endswith), gives=TRUTH),
    of_nemo("contains", 2, nemo.of_two(str.__contains__)),
    of_nemo("strstarts", 2, nemo.of_two(str.startswith)),
    of_nemo("strends", 2, nemo.of_two(str.endswith)),
    of_nemo("compare", 2, nemo.of_two(lambda a, b: (a > b) - (a < b))),
    of_nemo("levenshtein", 2, nemo.of_two(nemo.distance)),
    of_souffle("contains", 2, souffle.of_strings(lambda part, text: part in text)),
    *with_sparql(Function("regex", (2, 3), _regex, TEXT, TRUTH, {RIF: "pred:matches", ELSEWHERE: "matches"})),
    of_nemo("regex", 2, nemo.of_two(nemo.matches)),
    of_souffle("match", 2, souffle.match_pattern),
)
CHANGES = (
    Function(
        "concat",
        MANY,
        _concat,
        ANYTHING,
        TEXT,
        {RIF: "func:concat", SWRL: "stringConcat", ELSEWHERE: ("cat", "strcat")},
        {RDFOX: "CONCAT", SOUFFLE: ("{0}", "cat")},
    ),
    of_sparql("concat", (0, ANY_NUMBER), _concat_in_sparql),
    of_nemo("concat", MANY, nemo.joined),
    of_souffle(
        "cat",
        MANY,
        souffle.of_strings(lambda *texts: sparql.concatenated(texts)),
        takes=TEXT,
        gives=TEXT,
        names={SOUFFLE: "cat"},
        core="concat",
    ),
    Function(
        "ucase",
        1,
        _of_strings(str.upper),
        TEXT,
        TEXT,
        {RIF: "func:upper-case", SWRL: "upperCase", ELSEWHERE: "upper"},
        {RDFOX: "UCASE"},
    ),
    Function(
        "lcase",
        1,
        _of_strings(str.lower),
        TEXT,
        TEXT,
        {RIF: "func:lower-case", SWRL: "lowerCase", ELSEWHERE: "lower"},
        {RDFOX: "LCASE"},
    ),
    of_sparql("ucase", 1, lambda value: sparql.like(sparql.text_of(value).upper(), value)),
    of_sparql("lcase", 1, lambda value: sparql.like(sparql.text_of(value).lower(), value)),
    of_nemo("ucase", 1, nemo.keeping_language(str.upper)),
    of_nemo("lcase", 1, nemo.keeping_language(str.lower)),
    of_nemo("strrev", 1, nemo.keeping_language(lambda text: text[::-1])),
    Function("replace", (3, 4), _replace, TEXT, TEXT, written={RDFOX: "REPLACE"}),
    of_sparql("replace", (3, 4), _replace_pattern),
    *with_sparql(
        Function(
            "encode_for_uri",
            1,
            lambda value: quote(sparql.text_of(value), safe=""),
            TEXT,
            TEXT,
            {RIF: "func:encode-for-uri"},
        )
    ),
    of_nemo("uriencode", 1, nemo.of_strings(lambda text: quote(text, safe="-_.~"))),
    of_nemo("uridecode", 1, nemo.of_strings(lambda text: unquote(text, errors="strict"))),
    Function("sparql:joined", 2, _joined),
    of_souffle("smin", (2, ANY_NUMBER), souffle.of_strings(min), names={SOUFFLE: "min"}, core="min"),
    of_souffle("smax", (2, ANY_NUMBER), souffle.of_strings(max), names={SOUFFLE: "max"}, core="max"),
)
TEXTS = (
    Function(
        "str",
        1,
        lexical,
        ANYTHING,
        TEXT,
        {RIF: "func:string-from-PlainLiteral", ELSEWHERE: ("tostring", "to_string")},
        {RDFOX: "STR"},
    ),
    of_sparql("str", 1, sparql.str_of),
    of_nemo("str", 1, nemo.text_of),
    of_nemo("fullstr", 1, nemo.full_text),
    *with_sparql(Function("lang", 1, _lang, LITERAL, TEXT, {RIF: "func:lang-from-PlainLiteral"}, ordinary=True)),
    *with_sparql(Function("langmatches", 2, _lang_matches, TEXT, TRUTH)),
    *with_sparql(
        Function(
            "strlang", 2, _with_language, TEXT, LITERAL, {RIF: "func:PlainLiteral-from-string-lang", NEMO: "STRLANG"}
        )
    ),
    of_nemo("lang", 1, nemo.language_of),
    of_souffle("ord", 1, souffle.ordinal, gives=INTEGER, names={SOUFFLE: "ord"}),
    of_sparql("struuid", 0, fresh_values.struuid, instead=_INSTEAD),
)
DIGESTS = (
    each
    for name in ("md5", "sha1", "sha256", "sha384", "sha512")
    for each in with_sparql(Function(name, 1, _hashed(name), TEXT, TEXT))
)
FUNCTIONS = (*LENGTH, *PARTS, *TESTS, *CHANGES, *TEXTS, *DIGESTS)
