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
    ExpressionFails,
    function,
    of_nemo,
    of_souffle,
    of_sparql,
    with_sparql,
)
from deltalog.functions.numbers import integer
from deltalog.functions.regular_expressions import compiled, replaced

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
    function("strlen", "text -> integer", _of_strings(len))
    .named(rif=("func:string-length", "func:PlainLiteral-length"), swrl="stringLength", elsewhere="length")
    .written_as(nemo="STRLEN", rdfox="STRLEN", souffle="strlen"),
    of_sparql("strlen", 1, lambda value: len(sparql.text_of(value))),
    of_nemo("strlen", 1, nemo.of_strings(len)),
    of_souffle("strlen", "text -> integer", lambda value: len(souffle.string(value).encode()), core="strlen").named(
        souffle="strlen"
    ),
)
PARTS = (
    function("substr", "text, integer, integer? -> text", _substr)
    .named(rif="func:substring", swrl="substring", elsewhere="substring")
    .written_as(nemo="SUBSTR", rdfox="SUBSTR", souffle="substr({0}, {1} - 1, {2})"),
    of_sparql("substr", "anything, anything, anything?", _substr_in_sparql),
    of_nemo("substr", "anything, anything, anything?", nemo.substring),
    of_souffle("substr", "text, integer, integer -> text", souffle.substring).named(souffle="substr"),
    *with_sparql(function("strbefore", "text, text -> text", _before).named(rif="func:substring-before")),
    *with_sparql(function("strafter", "text, text -> text", _after).named(rif="func:substring-after")),
    of_nemo("strbefore", 2, nemo.of_two(nemo.before, keeping=True)),
    of_nemo("strafter", 2, nemo.of_two(nemo.after, keeping=True)),
)
TESTS = (
    function("contains", "text, text -> truth", _of_strings(str.__contains__))
    .named(rif="pred:contains", swrl="contains")
    .written_as(nemo="CONTAINS", rdfox="CONTAINS"),
    function("strstarts", "text, text -> truth", _of_strings(str.startswith))
    .named(rif="pred:starts-with", swrl="startsWith", elsewhere="startswith")
    .written_as(nemo="STRSTARTS", rdfox="STRSTARTS"),
    function("strends", "text, text -> truth", _of_strings(str.endswith))
    .named(rif="pred:ends-with", swrl="endsWith", elsewhere="endswith")
    .written_as(nemo="STRENDS", rdfox="STRENDS"),
    of_sparql("contains", "anything, anything -> truth", sparql.of_pair(str.__contains__)),
    of_sparql("strstarts", "anything, anything -> truth", sparql.of_pair(str.startswith)),
    of_sparql("strends", "anything, anything -> truth", sparql.of_pair(str.endswith)),
    of_nemo("contains", 2, nemo.of_two(str.__contains__)),
    of_nemo("strstarts", 2, nemo.of_two(str.startswith)),
    of_nemo("strends", 2, nemo.of_two(str.endswith)),
    of_nemo("compare", 2, nemo.of_two(lambda a, b: (a > b) - (a < b))),
    of_nemo("levenshtein", 2, nemo.of_two(nemo.distance)),
    of_souffle("contains", 2, souffle.of_strings(lambda part, text: part in text)),
    *with_sparql(
        function("regex", "text, text, text? -> truth", _regex).named(rif="pred:matches", elsewhere="matches")
    ),
    of_nemo("regex", 2, nemo.of_two(nemo.matches)),
    of_souffle("match", 2, souffle.match_pattern),
)
CHANGES = (
    function("concat", "anything... -> text", _concat)
    .named(rif="func:concat", swrl="stringConcat", elsewhere=("cat", "strcat"))
    .written_as(rdfox="CONCAT", souffle=("{0}", "cat")),
    of_sparql("concat", "anything*", _concat_in_sparql),
    of_nemo("concat", "anything...", nemo.joined),
    of_souffle(
        "cat", "text... -> text", souffle.of_strings(lambda *texts: sparql.concatenated(texts)), core="concat"
    ).named(souffle="cat"),
    function("ucase", "text -> text", _of_strings(str.upper))
    .named(rif="func:upper-case", swrl="upperCase", elsewhere="upper")
    .written_as(rdfox="UCASE"),
    function("lcase", "text -> text", _of_strings(str.lower))
    .named(rif="func:lower-case", swrl="lowerCase", elsewhere="lower")
    .written_as(rdfox="LCASE"),
    of_sparql("ucase", 1, lambda value: sparql.like(sparql.text_of(value).upper(), value)),
    of_sparql("lcase", 1, lambda value: sparql.like(sparql.text_of(value).lower(), value)),
    of_nemo("ucase", 1, nemo.keeping_language(str.upper)),
    of_nemo("lcase", 1, nemo.keeping_language(str.lower)),
    of_nemo("strrev", 1, nemo.keeping_language(lambda text: text[::-1])),
    function("replace", "text, text, text, text? -> text", _replace).written_as(rdfox="REPLACE"),
    of_sparql("replace", "anything, anything, anything, anything?", _replace_pattern),
    *with_sparql(
        function("encode_for_uri", "text -> text", lambda value: quote(sparql.text_of(value), safe="")).named(
            rif="func:encode-for-uri"
        )
    ),
    of_nemo("uriencode", 1, nemo.of_strings(lambda text: quote(text, safe="-_.~"))),
    of_nemo("uridecode", 1, nemo.of_strings(lambda text: unquote(text, errors="strict"))),
    function("sparql:joined", 2, _joined),
    of_souffle("smin", "anything, anything...", souffle.of_strings(min), core="min").named(souffle="min"),
    of_souffle("smax", "anything, anything...", souffle.of_strings(max), core="max").named(souffle="max"),
)
TEXTS = (
    function("str", "anything -> text", lexical)
    .named(rif="func:string-from-PlainLiteral", elsewhere=("tostring", "to_string"))
    .written_as(rdfox="STR"),
    of_sparql("str", 1, sparql.str_of),
    of_nemo("str", 1, nemo.text_of),
    of_nemo("fullstr", 1, nemo.full_text),
    *with_sparql(function("lang", "literal -> text", _lang, ordinary=True).named(rif="func:lang-from-PlainLiteral")),
    *with_sparql(function("langmatches", "text, text -> truth", _lang_matches)),
    *with_sparql(
        function("strlang", "text, text -> literal", _with_language).named(
            rif="func:PlainLiteral-from-string-lang", nemo="STRLANG"
        )
    ),
    of_nemo("lang", 1, nemo.language_of),
    of_souffle("ord", "anything -> integer", souffle.ordinal).named(souffle="ord"),
    of_sparql("struuid", 0, fresh_values.struuid, instead=_INSTEAD),
)
DIGESTS = (
    each
    for name in ("md5", "sha1", "sha256", "sha384", "sha512")
    for each in with_sparql(function(name, "text -> text", _hashed(name)))
)
FUNCTIONS = (*LENGTH, *PARTS, *TESTS, *CHANGES, *TEXTS, *DIGESTS)
