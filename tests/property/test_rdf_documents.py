"""Random documents of valid and slightly broken statements: our readers against pyoxigraph, the same facts or both
refuse. What pyoxigraph refuses beyond the grammar (RFC 3987 inside of an IRI) is not drawn."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import QUADS, Pred
from deltalog.core.terms import IRI, RDF_TYPE, XSD, BlankNode, key, literal
from deltalog.formats import ntriples
from deltalog.formats.documents import Reading
from deltalog.formats.read import read

Facts = set[tuple[Pred, tuple[Any, ...]]]
STRICT = Reading(shared_blank_nodes=True, strict=True)

IRIS = ["<http://e/a>", "<http://e/é>", "<urn:x:1>", "<http://e/\\u00e9\\U0001F600>", f"<{RDF_TYPE}>", "<x+1.-:y>"]
BROKEN_IRIS = [
    *("<a>", "<>", "<http://e/a b>", "<http://e/{}>", "<http://e/|>", "<http://e/^>", "<http://e/`>", "<http://e/<>"),
    *("<http://e/\\u0020>", "<http://e/\\u003E>", "<http://e/\\n>", "<http://e/\\uD800>", "<http://e/\\u00e>", "<1:a>"),
    *(
        "http://e/a>",
        "<http://e/a",
        '<http://e/">',
        "<http://e/\x7f>",
        "<http://e/\x01>",
        "<//e/a>",
        "<http://e/\\U00110000>",
    ),
]
BLANKS = ["_:a", "_:0", "_:a.b", "_:a-", "_:é·", "_:_", "_:a1"]
BROKEN_BLANKS = ["_:", "_:-a", "_:a:b", "_::a", "_:·", "_:←", "_a", "_:.a", "_:a."]
TEXTS = ["", "a", "é😀", "\\t\\b\\n\\r\\f\\\"\\'\\\\", "\\u0041\\U0001F600", "a b # . <>"]
BROKEN_TEXTS = ["\\a", "\\u12", "\\uD800", "\\U00110000", 'a"b', "\n", "\r", "\\"]
TAGS = ["", "@en", "@en-GB", "@de-at-1901", "^^<http://e/t>", f"^^<{XSD}integer>", f"^^<{XSD}string>", f"^^<{XSD}date>"]
BROKEN_TAGS = [
    "@",
    "@1",
    "@en-",
    "@en--us",
    "@abcdefghi",
    "@en-abcdefghi",
    "^^<t>",
    "^^",
    "^<http://e/t>",
    "^^<http://e/ >",
]
ENDS = [" .", ".", " . # c", "\t.\t", " .  "]
BROKEN_ENDS = [
    "",
    " ..",
    " . .",
    " , <http://e/a> .",
    " ;",
    " . <http://e/a>",
    " . <http://e/a> <http://e/a> <http://e/a> .",
]

iris, broken_iris = st.sampled_from(IRIS), st.sampled_from(IRIS + BROKEN_IRIS)
blanks, broken_blanks = st.sampled_from(BLANKS), st.sampled_from(BLANKS + BROKEN_BLANKS)


def literals(texts: list[str], tags: list[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda text, tag: f'"{text}"{tag}', st.sampled_from(texts), st.sampled_from(tags))


def statement(subject: Any, predicate: Any, object: Any, end: Any, graph: Any) -> st.SearchStrategy[str]:
    parts = st.tuples(subject, predicate, object, graph)
    return st.builds(
        lambda terms, space, end: space.join(filter(None, terms)) + end, parts, st.sampled_from(" \t"), end
    )


nodes = iris | blanks
none = st.just("")
plain = literals(TEXTS, TAGS)
triples = statement(nodes, iris, nodes | plain, st.sampled_from(ENDS), none)
quads = statement(nodes, iris, nodes | plain, st.sampled_from(ENDS), none | nodes)
broken = st.one_of(
    statement(broken_iris | broken_blanks, iris, nodes, st.sampled_from(ENDS), none),
    statement(nodes, broken_iris | blanks | plain, nodes, st.sampled_from(ENDS), none),
    statement(nodes, iris, broken_iris | broken_blanks, st.sampled_from(ENDS), none),
    statement(nodes, iris, literals(TEXTS + BROKEN_TEXTS, TAGS + BROKEN_TAGS), st.sampled_from(ENDS), none),
    statement(
        nodes, iris, st.sampled_from(["1", "-1.5", "2e3", "true", "a", "[]", "'a'"]), st.sampled_from(ENDS), none
    ),
    statement(nodes, iris, nodes, st.sampled_from(ENDS + BROKEN_ENDS), broken_iris | broken_blanks | plain),
)
others = st.sampled_from(["", " ", "# comment", "#", "\t"])


def documents(statements: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    lines = st.lists(statements | others, max_size=8)
    ends = st.sampled_from(["\n", "\r\n", "\n\n"])
    return st.builds(lambda lines, end, last: (end.join(lines) + last * end).encode(), lines, ends, st.integers(0, 1))


def theirs(text: bytes, format: Any) -> Facts | None:
    try:
        return {quad(t) for t in pyoxigraph.parse(text, format=format)}
    except SyntaxError:
        return None


def quad(found: Any) -> tuple[Pred, tuple[Any, ...]]:
    """A fact, or a row of QUADS for a triple of a named graph."""
    terms = tuple(map(value, (found.subject, found.predicate, found.object)))
    graph = getattr(found, "graph_name", pyoxigraph.DefaultGraph())
    if isinstance(graph, pyoxigraph.DefaultGraph):
        return fact(*terms)
    return QUADS, tuple(map(key, (value(graph), *terms)))


def value(term: Any) -> Any:
    if isinstance(term, pyoxigraph.Literal):
        return literal(term.value, term.datatype.value, term.language)
    return (IRI if isinstance(term, pyoxigraph.NamedNode) else BlankNode)(term.value)


def fact(s: Any, p: Any, o: Any) -> tuple[Pred, tuple[Any, ...]]:
    row = (s,) if p == RDF_TYPE and isinstance(o, IRI) else (s, o)
    return Pred(str.__str__(p if len(row) == 2 else o), len(row)), tuple(map(key, row))


def ours(text: bytes, folder: Path, name: str, reading: Reading = STRICT) -> Facts | None:
    path, dictionary = folder / name, Dictionary()
    path.write_bytes(text)
    try:
        found = read(path, dictionary, reading)
    except DataError as problem:
        assert f"{name}:" in str(problem)
        assert len(dictionary) == 1
        return None
    return {
        (pred, tuple(map(key, row)))
        for pred, columns in found.items()
        for row in zip(*map(dictionary.decode, columns), strict=True)
    }


@settings(max_examples=max(250, settings().max_examples))
@given(text=documents(triples | broken))
def test_n_triples(text: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert ours(text, tmp_path_factory.mktemp("nt"), "a.nt") == theirs(text, pyoxigraph.RdfFormat.N_TRIPLES)
    assert ours(text, tmp_path_factory.mktemp("nq"), "a.nq") == theirs(text, pyoxigraph.RdfFormat.N_QUADS)


@settings(max_examples=max(150, settings().max_examples))
@given(text=documents(quads), size=st.integers(1, 200))
def test_valid_n_quads(text: bytes, size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In blocks of any size; and the same without being strict."""
    expected, folder, before = theirs(text, pyoxigraph.RdfFormat.N_QUADS), tmp_path_factory.mktemp("nq"), ntriples.BLOCK
    assert expected is not None
    ntriples.BLOCK = size
    try:
        assert ours(text, folder, "a.nq") == expected
        assert ours(text, folder, "a.nq", Reading(shared_blank_nodes=True)) == expected
    finally:
        ntriples.BLOCK = before


@settings(max_examples=max(100, settings().max_examples))
@given(text=documents(triples | broken))
def test_turtle(text: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A document without a relative IRI means the same in Turtle."""
    folder = tmp_path_factory.mktemp("ttl")
    facts = ours(text, folder, "a.nt")
    assert facts is None or ours(text, folder, "a.ttl") == facts


@settings(max_examples=max(100, settings().max_examples))
@given(documents=st.lists(documents(quads), min_size=2, max_size=4), seed=st.integers(0, 2**16))
def test_files_have_their_own_nodes(
    documents: list[bytes], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """All facts of all files, each with labels of its own, whatever the order in which they are loaded."""
    folder, names = tmp_path_factory.mktemp("many"), [f"{i}.nq" for i in range(len(documents))]
    for name, text in zip(names, documents, strict=True):
        (folder / name).write_bytes(text)
    shuffled = random.Random(seed).sample(names, len(names))
    dictionary = Dictionary()
    found = read([folder / name for name in shuffled], dictionary)
    rows = {pred: set(zip(*map(dictionary.decode, columns), strict=True)) for pred, columns in found.items()}
    expected: dict[Pred, set[Any]] = {}
    for name, text in zip(names, documents, strict=True):
        for pred, row in theirs(text, pyoxigraph.RdfFormat.N_QUADS) or ():
            expected.setdefault(pred, set()).add(tuple(own(folder / name, x) for _, x in row))
    keyed = [
        {pred: {tuple(map(key, row)) for row in rows} for pred, rows in facts.items()} for facts in (rows, expected)
    ]
    assert keyed[0] == keyed[1]


def own(path: Path, value: Any) -> Any:
    return BlankNode(Reading().label_prefix(path) + value) if isinstance(value, BlankNode) else value
