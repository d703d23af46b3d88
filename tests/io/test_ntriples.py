"""N-Triples and N-Quads through the fast path, checked against pyoxigraph and against what we accept beyond it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_values import are_terms, blanks, iris, values

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import QUADS, Pred
from deltalog.core.terms import IRI, RDF_TYPE, XSD, BlankNode, key, literal
from deltalog.formats import ntriples
from deltalog.formats.documents import Reading
from deltalog.formats.read import read
from deltalog.formats.triples import print_term

Facts = set[tuple[Pred, tuple[Any, ...]]]


SHARED = Reading(shared_blank_nodes=True)


def facts_of(path: Path, reading: Reading = SHARED) -> Facts:
    dictionary = Dictionary()
    facts = read(path, dictionary, reading)
    return {
        (pred, tuple(map(key, row)))
        for pred, columns in facts.items()
        for row in zip(*map(dictionary.decode, columns), strict=True)
    }


def fact(name: str, *row: Any) -> tuple[Pred, tuple[Any, ...]]:
    return Pred(name, len(row)), tuple(map(key, row))


def parsed(tmp_path: Path, text: str | bytes, name: str = "a.nt", reading: Reading = SHARED) -> Facts:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return facts_of(path, reading)


def error(tmp_path: Path, text: str | bytes, name: str = "a.nt", reading: Reading = SHARED) -> str:
    with pytest.raises(DataError) as caught:
        parsed(tmp_path, text, name, reading)
    return str(caught.value).removeprefix(str(tmp_path) + "/")


def test_terms(tmp_path: Path) -> None:
    text = r"""# a comment
<http://e/s> <http://e/p> <http://e/o> .
<http://e/s>	<http://e/p>	_:b1	.	# behind
  _:b1 <p> "text" .

<s> <p> "caf\u00E9 \U0001F600 \"q\" \\ \t\n\r\b\f \'" .
<s> <p> "chat"@FR .
<s> <p> "chat"@en-GB .
<s> <p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .
<s> <p> "-5"^^<http://www.w3.org/2001/XMLSchema#integer> .
<s> <p> "123456789012345678901234567890"^^<http://www.w3.org/2001/XMLSchema#integer> .
<s> <p> "five"^^<http://www.w3.org/2001/XMLSchema#integer> .
<s> <p> "1.5"^^<http://www.w3.org/2001/XMLSchema#double> .
<s> <p> "1.50"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<s> <p> "str"^^<http://www.w3.org/2001/XMLSchema#string> .
<s> <p> "\u0041"^^<http://www.w3.org/2001/XMLSchema#string> .
<s> <p> "x"^^<http://e/t> .
<s> <p> "x"^^<http://e/\u0074> .
<http://e/\u00e9> <p> "" .
<s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <C> .
<s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "C" .
<s><p><o>.
"""
    s = IRI("s")
    assert parsed(tmp_path, text) == {
        fact("http://e/p", IRI("http://e/s"), IRI("http://e/o")),
        fact("http://e/p", IRI("http://e/s"), BlankNode("b1")),
        fact("p", BlankNode("b1"), "text"),
        fact("p", s, 'café 😀 "q" \\ \t\n\r\b\f \''),
        fact("p", s, literal("chat", language="fr")),
        fact("p", s, literal("chat", language="en-gb")),
        fact("p", s, 5),
        fact("p", s, -5),
        fact("p", s, 123456789012345678901234567890),
        fact("p", s, literal("five", XSD + "integer")),
        fact("p", s, 1.5),
        fact("p", s, literal("1.50", XSD + "decimal")),
        fact("p", s, "str"),
        fact("p", s, "A"),
        fact("p", s, literal("x", "http://e/t")),
        fact("p", IRI("http://e/é"), ""),
        fact("C", s),
        fact(str(RDF_TYPE), s, "C"),
        fact("p", s, IRI("o")),
    }


def test_bare_values(tmp_path: Path) -> None:
    text = "".join(f"<s> <p> {o} .\n" for o in ("25", "-3", "+4", "1.5", "2e3", "-1.5E-2", "true", "false", "1" * 30))
    expected = [25, -3, 4, 1.5, 2000.0, -0.015, True, False, int("1" * 30)]
    assert parsed(tmp_path, text + "<s> <p> 7.\n") == {fact("p", IRI("s"), o) for o in [*expected, 7]}


def test_lines(tmp_path: Path) -> None:
    expected = {fact("p", IRI("a"), IRI("b")), fact("p", IRI("c"), IRI("d"))}
    for end in ("\n", "\r\n", "\n\n", "\r"):
        assert parsed(tmp_path, f"<a> <p> <b> .{end}<c> <p> <d> .") == expected
        assert parsed(tmp_path, f"{end}<a> <p> <b> .{end}<c> <p> <d> .{end}") == expected
    assert parsed(tmp_path, "") == parsed(tmp_path, "\n \n") == parsed(tmp_path, "# only this") == set()


def test_quads_keep_their_graph(tmp_path: Path) -> None:
    text = "<a> <p> <b> <g> .\n<a> <p> <c> _:g .\n<a> <p> <d> .\n"
    found = parsed(tmp_path, text, "a.nq")
    assert found == {
        (QUADS, tuple(map(key, (graph, IRI("a"), IRI("p"), IRI(o)))))
        for graph, o in ((IRI("g"), "b"), (BlankNode("g"), "c"))
    } | {fact("p", IRI("a"), IRI("d"))}
    without = read(tmp_path / "a.nq", Dictionary(), Reading(graphs=False))
    assert {pred: len(columns[0]) for pred, columns in without.items()} == {Pred("p", 2): 3}


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ('"a" <p> <o> .', "3:1", "expected a subject"),
        ("<s> p <o> .", "3:5", "expected a predicate"),
        ("<s> _:p <o> .", "3:5", "expected a predicate"),
        ("<s> <p> o .", "3:9", "expected an object"),
        ("<s> <p> 12x .", "3:9", "expected an object"),
        ("<s> <p> .", "3:9", "expected an object"),
        ("<s> <p> <a b> .", "3:11", "expected the > that ends the IRI"),
        ("<s", "3:3", "expected the > that ends the IRI"),
        *[(f"<s> <p> <http://e/a{c}b> .", "3:20", "expected an IRI without spaces") for c in "{}|^`"],
        *[
            (f"<s> <p> <http://e/\\u{c}b> .", "3:10", "expected an IRI")
            for c in ("0020", "003C", "003E", "007B", "0000")
        ],
        ("<s> <p> <http://e/\\U00000020> .", "3:10", "expected an IRI without spaces"),
        *[
            (f"<s> <p> <http://e/{c}> .", "3:19", "expected \\uXXXX")
            for c in ("\\n", "\\/", "\\u00ZZ", "\\uD800", "\\U00110000")
        ],
        ("<s> <a|b> <o> .", "3:7", "expected an IRI without spaces"),
        ("<a|b> <p> <o> .", "3:3", "expected an IRI without spaces"),
        ("<s> <p> <o> <g|h> .", "3:15", "expected an IRI without spaces"),
        ('<s> <p> "a"^^<http://e/{t}> .', "3:15", "expected an IRI without spaces"),
        ('<s> <p> "a"^^<http://www.w3.org/2001/XMLSchema#a|b> .', "3:15", "expected an IRI without spaces"),
        ('<s> <p> "a"^^<http://e/\\t> .', "3:24", "expected \\uXXXX"),
        ("_:a:b <p> <o> .", "3:4", "expected a character that can stand in the label"),
        ("<s> <p> <o> _:a:b .", "3:16", "expected a character that can stand in the label"),
        ("_:a← <p> <o> .", "3:4", "expected a character that can stand in the label"),
        ("_:·a <p> <o> .", "3:3", "expected a character that can stand in the label"),
        ("_::a <p> <o> .", "3:1", "expected a blank node"),
        ("_:-a <p> <o> .", "3:1", "expected a blank node"),
        ("<s> <p> _: .", "3:9", "expected a blank node"),
        ("_", "3:1", "expected a blank node"),
        ('<s> <p> "open .', "3:16", 'expected the " that ends the literal'),
        ('<s> <p> "open\\', "3:14", 'expected the " that ends the literal'),
        ('<s> <p> "\\q" .', "3:10", "expected an escape that exists"),
        ('<s> <p> "é\\u12" .', "3:11", "expected an escape that exists"),
        ('<s> <p> "\\uD800" .', "3:10", "expected an escape that exists"),
        ('<s> <p> "\\UFFFFFFFF" .', "3:10", "expected an escape that exists"),
        *[
            (f'<s> <p> "a"@{tag} .', "3:13", "expected a language")
            for tag in ("", "1", "en-", "-en", "en--us", "e1", "é")
        ],
        *[(f'<s> <p> "a"@{tag} .', "3:13", "expected a language") for tag in ("abcdefghi", "en-abcdefghi")],
        ('<s> <p> "a"@en_us .', "3:15", "expected a blank node"),
        ('<s> <p> "a"^<t> .', "3:12", "expected a datatype"),
        ('<s> <p> "a"^^xsd:int .', "3:12", "expected a datatype"),
        ("<s> <p> <o>", "3:12", "expected the . that ends the statement"),
        ("<s> <p> <o> <g> <h> .", "3:17", "expected the . that ends the statement"),
        ("<s> <p> <o> . <s> <p> <o> .", "3:15", "expected the end of the line"),
    ],
)
def test_errors_have_the_place_and_the_line(tmp_path: Path, line: str, place: str, words: str) -> None:
    message = error(tmp_path, f"<a> <b> <c> .\n# fine\n{line}\n<a> <b> <c> .\n")
    first, shown, caret = message.split("\n")
    assert first.startswith(f"a.nt:{place}: {words}")
    assert shown == f"  {line}"
    assert caret == " " * (int(place.split(":")[1]) + 1) + "^"


def test_control_characters_in_iris(tmp_path: Path) -> None:
    for c in "\x01\x1f\x7f\x80\x9f":
        assert error(tmp_path, f"<s> <p> <http://e/{c}> .").startswith("a.nt:1:19: expected")
    assert parsed(tmp_path, "<s> <p> <http://e/\xa0> .") == {fact("p", IRI("s"), IRI("http://e/\xa0"))}


def test_a_name_that_was_refused_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    """Names are checked when they are new; NUL in a text must not be taken for NUL in a datatype."""
    text = '<s> <p> "b\\u0000c"^^<t> .\n<s> <p> "c"^^<t\\u0000b> .'
    assert error(tmp_path, text).startswith("a.nt:2:15: expected an IRI")


def test_what_the_standard_refuses_is_refused_strictly(tmp_path: Path) -> None:
    s, p, o = "<http://e/s>", "<http://e/p>", "<http://e/o>"
    strict = Reading(strict=True)
    for line, place in {
        f"<s> {p} {o} .": 2,
        f"{s} <p> {o} .": 15,
        f"{s} {p} <o> .": 28,
        f"{s} {p} <> .": 28,
        f"{s} {p} <//e/o> .": 28,
        f"{s} {p} <1a:b> .": 28,
        f"{s} {p} <a\\u0062> .": 28,
        f'{s} {p} "a"^^<t> .': 33,
        f"{s} {p} {o} <g> .": 41,
    }.items():
        assert error(tmp_path, line, "a.nq", strict).startswith(f"a.nq:1:{place}: expected an absolute IRI")
        assert len(parsed(tmp_path, line)) == 1
    for value in ("1", "1.0", "1.0e0", "true", "false"):
        message = error(tmp_path, f"{s} {p} {value} .", reading=strict)
        assert message.startswith("a.nt:1:27: expected an object") and "number" not in message
    for line in (f"{s} {p} {o} .", f"{s} {p} <a:b> .", f'{s} {p} "1"^^<x+y.z-1:> <urn:g> .', f'_:x {p} "é"@en-GB-1 .'):
        assert len(parsed(tmp_path, line, "a.nq", strict)) == 1


def test_byte_order_marks(tmp_path: Path) -> None:
    assert parsed(tmp_path, "\ufeff<a> <p> <b> .\n") == {fact("p", IRI("a"), IRI("b"))}
    assert parsed(tmp_path, "\ufeff") == set()
    assert error(tmp_path, "\ufeff<a> <p> oops .\n").startswith("a.nt:1:9:")
    assert error(tmp_path, "<a> <p> <b> .\n\ufeff<a> <p> <b> .\n").startswith("a.nt:2:1:")


def test_not_utf8(tmp_path: Path) -> None:
    assert error(tmp_path, b'<a> <b> <c> .\n<a> <b> "\xff" .\n').startswith("a.nt:2:10: expected UTF-8")
    assert error(tmp_path, b"<a> <b> <c> .\n_:a\xff <b> <c> .\n").startswith("a.nt:2:4: expected UTF-8")
    assert error(tmp_path, b"<a> <b> <c> .\n<a\xc2> <b> <c> .\n").startswith("a.nt:2:3: expected UTF-8")


def test_the_line_of_an_error_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples, "BLOCK", 1000)
    lines = [f"<s{i}> <p> <o{i}> ." for i in range(2000)]
    assert len(parsed(tmp_path, "\n".join(lines))) == 2000
    for wrong in (0, 777, 1999):
        broken = [*lines[:wrong], "<s> <p> oops .", *lines[wrong + 1 :]]
        assert error(tmp_path, "\n".join(broken)).startswith(f"a.nt:{wrong + 1}:9: expected an object")
    two = [*lines[:500], "first", *lines[500:1500], "second", *lines[1500:]]
    assert error(tmp_path, "\n".join(two)).startswith("a.nt:501:1:")


def test_long_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples, "BLOCK", 100)
    text = "x" * 5000
    assert parsed(tmp_path, f'<a> <p> "{text}" .\n<b> <p> <c> .\n') == {
        fact("p", IRI("a"), text),
        fact("p", IRI("b"), IRI("c")),
    }


def test_nothing_is_loaded_from_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<a> <b> <c> .\noops\n")
    dictionary = Dictionary()
    with pytest.raises(DataError):
        read(tmp_path / "a.nt", dictionary)
    assert len(dictionary) == 1


def test_ids_are_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples, "BLOCK", 500)
    path = tmp_path / "a.nt.gz"
    path.write_bytes(gzip.compress("".join(f'<s{i % 97}> <p> "{i % 89}" .\n' for i in range(3000)).encode()))
    results = []
    for _ in range(3):
        dictionary = Dictionary()
        facts = read(path, dictionary)
        results.append([column.tolist() for column in facts[Pred("p", 2)]])
    assert results[0] == results[1] == results[2]


def oxigraph(text: bytes) -> Facts:
    found = set()
    for triple in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES):
        s, p, o = (_value(term) for term in (triple.subject, triple.predicate, triple.object))
        is_class = p == RDF_TYPE and isinstance(o, IRI)
        found.add(fact(str.__str__(o), s) if is_class else fact(str.__str__(p), s, o))
    return found


def _value(term: Any) -> Any:
    if isinstance(term, pyoxigraph.Literal):
        return literal(term.value, term.datatype.value, term.language)
    return (IRI if isinstance(term, pyoxigraph.NamedNode) else BlankNode)(term.value)


absolute = st.sampled_from(["http://e.org/a", "http://e.org/b", "http://e.org/é", "urn:x:1", str(RDF_TYPE)]).map(IRI)
triples = st.lists(
    st.tuples(st.one_of(absolute, blanks), absolute, st.one_of(absolute, values)).filter(are_terms), max_size=10
)


@settings(max_examples=150, deadline=None)
@given(triples, st.data())
def test_the_same_as_oxigraph(tmp_path_factory: pytest.TempPathFactory, triples: list, data: st.DataObject) -> None:
    text = "".join(f"{' '.join(map(print_term, triple))} .\n" for triple in triples).encode()
    try:
        expected = oxigraph(text)
    except (SyntaxError, ValueError):
        assume(False)
    assert parsed(tmp_path_factory.mktemp("nt"), text) == expected


seeds = [
    b"<a> <b> <c> .\n",
    b'_:x <p> "a\\u0041\\"b"@en-us <g> . # c\n',
    b'<a> <b> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\r\n<a> <b> 1.5e3 .',
    b"<s> <p> true .\n",
]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(seeds), st.data())
def test_mutated_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, seed: bytes, data: Any) -> None:
    text = bytearray(seed * data.draw(st.integers(1, 3)))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.one_of(
                st.binary(max_size=3), st.sampled_from([b"<", b">", b'"', b"\\", b"_:", b"\n", b"@", b"^^", b"\\u"])
            )
        )
    try:
        found = parsed(tmp_path_factory.mktemp("nt"), bytes(text))
    except DataError as problem:
        assert "a.nt:" in str(problem)
    else:
        assert len(found) <= text.count(b".")


@settings(max_examples=100, deadline=None)
@given(iris)
def test_an_iri_comes_back_or_cannot_be_written(tmp_path_factory: pytest.TempPathFactory, iri: IRI) -> None:
    try:
        term = print_term(iri)
    except DataError:
        assert error(tmp_path_factory.mktemp("nt"), f"<{escaped(iri)}> <p> 1 .").startswith("a.nt:1:")
    else:
        assert parsed(tmp_path_factory.mktemp("nt"), f"{term} <p> 1 .") == {fact("p", iri, 1)}


def escaped(text: str) -> str:
    return "".join(f"\\U{ord(c):08X}" for c in text)
