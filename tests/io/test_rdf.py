"""Turtle and RDF/XML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.core.terms import IRI, XSD, literal
from deltalog.formats.read import read

TURTLE = """@prefix : <http://e/> .
:a :p :b, "text", "chat"@fr, 5, 1.5, 1e3, true ; a :C .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
  <e:C rdf:about="http://e/a"><e:p rdf:resource="http://e/b"/><e:p xml:lang="fr">chat</e:p></e:C>
</rdf:RDF>
"""


def parsed(tmp_path: Path, text: str | bytes, name: str) -> dict[Pred, list[tuple[Any, ...]]]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    dictionary = Dictionary()
    facts = read(path, dictionary)
    return {pred: list(zip(*map(dictionary.decode, columns), strict=True)) for pred, columns in facts.items()}


def error(tmp_path: Path, text: str | bytes, name: str) -> str:
    with pytest.raises(DataError) as caught:
        parsed(tmp_path, text, name)
    return str(caught.value).removeprefix(str(tmp_path) + "/")


def test_turtle(tmp_path: Path) -> None:
    a = IRI("http://e/a")
    facts = parsed(tmp_path, TURTLE, "a.ttl")
    assert facts[Pred("http://e/C", 1)] == [(a,)]
    assert facts[Pred("http://e/p", 2)] == [
        (a, IRI("http://e/b")),
        (a, "text"),
        (a, literal("chat", language="fr")),
        (a, 5),
        (a, literal("1.5", XSD + "decimal")),
        (a, 1000.0),
        (a, True),
    ]


@pytest.mark.parametrize("name", ["a.rdf", "a.owl", "a.xml"])
def test_rdf_xml(tmp_path: Path, name: str) -> None:
    a = IRI("http://e/a")
    assert parsed(tmp_path, XML, name) == {
        Pred("http://e/C", 1): [(a,)],
        Pred("http://e/p", 2): [(a, IRI("http://e/b")), (a, literal("chat", language="fr"))],
    }


def test_an_empty_language_ends_the_outer_one(tmp_path: Path) -> None:
    text = XML.replace("xmlns:e", 'xml:lang="fr" xmlns:e').replace(
        '<e:p xml:lang="fr">chat</e:p>',
        """<e:p e:x='xml:lang=""' xml:lang = ''/><e:q xml:lang="">chat</e:q>
        <e:r>chat</e:r><e:s xml:lang="x-none-0">chat</e:s>
        <e:t rdf:parseType="Literal"><b xml:lang="">chat</b></e:t>""",
    )
    facts = parsed(tmp_path, text, "a.rdf")
    assert [row[1] for row in facts[Pred("http://e/x", 2)]] == ['xml:lang=""']
    assert [row[1] for row in facts[Pred("http://e/q", 2)]] == ["chat"]
    assert [row[1] for row in facts[Pred("http://e/r", 2)]] == [literal("chat", language="fr")]
    assert [row[1] for row in facts[Pred("http://e/s", 2)]] == [literal("chat", language="x-none-0")]
    assert facts[Pred("http://e/t", 2)][0][1].text == '<b xml:lang="">chat</b>'
    whole = parsed(tmp_path, text.replace('xml:lang="fr"', 'xml:lang=""'), "a.rdf")
    assert [row[1] for row in whole[Pred("http://e/r", 2)]] == ["chat"]
    message = error(tmp_path, text.replace("</e:C>", "<e:p></e:C>"), "a.rdf")
    assert message.startswith("a.rdf:5:") and "x-none-1" not in message


def test_errors_have_the_line(tmp_path: Path) -> None:
    message = error(tmp_path, TURTLE + ":a :b oops", "a.ttl")
    assert message.startswith("a.ttl:3:") and "\n  :a :b oops" in message
    assert error(tmp_path, XML.replace("</e:C>", ""), "a.rdf").startswith("a.rdf:")


def test_nothing_is_loaded_from_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(TURTLE + "oops")
    dictionary = Dictionary()
    with pytest.raises(DataError):
        read(tmp_path / "a.ttl", dictionary)
    assert len(dictionary) == 1


@pytest.mark.parametrize("start", ["<!DOCTYPE x [", "<!doctype rdf:RDF>", '<!ENTITY e "x">'])
def test_entities_are_refused(tmp_path: Path, start: str) -> None:
    message = error(tmp_path, XML.replace("<rdf:RDF", start + "\n<rdf:RDF"), "a.rdf")
    assert message.startswith("a.rdf:2: XML with <!") and "refused" in message
    assert "UTF-8" in error(tmp_path, XML.replace("<rdf:RDF", start).encode("utf-16"), "a.rdf")


@pytest.mark.parametrize(
    "subset",
    [
        '<!DOCTYPE rdf:RDF SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE rdf:RDF [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY % e "x">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY a "<rdf:Description/>">]>',
        "<!DOCTYPE rdf:RDF [<!ELEMENT a ANY>]>",
        f'<!DOCTYPE rdf:RDF [<!ENTITY a "{"x" * 5_000}">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY a "x">]><!DOCTYPE rdf:RDF [<!ENTITY b "x">]>',
    ],
)
def test_external_nested_and_long_entities_are_refused(tmp_path: Path, subset: str) -> None:
    assert "is refused" in error(tmp_path, XML.replace("<rdf:RDF", subset + "\n<rdf:RDF"), "a.rdf")


ENTITIES = """<?xml version="1.0"?>
<!-- from an editor -->
<!DOCTYPE rdf:RDF [
  <!ENTITY owl "http://www.w3.org/2002/07/owl#" >
  <!ENTITY ex 'http://example.org/' > <!-- ours -->
  <!ENTITY said "it's" >
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/" xml:base="&ex;">
  <rdf:Description rdf:about='&ex;a'><rdf:type rdf:resource="&owl;Class"/>
    <ex:p>&said; &amp; so</ex:p><ex:q><![CDATA[&said;]]></ex:q></rdf:Description>
</rdf:RDF>
"""


def test_plain_entities_are_expanded(tmp_path: Path) -> None:
    found = parsed(tmp_path, ENTITIES, "a.rdf")
    assert found == {
        Pred("http://www.w3.org/2002/07/owl#Class", 1): [(IRI("http://example.org/a"),)],
        Pred("http://example.org/p", 2): [(IRI("http://example.org/a"), "it's & so")],
        Pred("http://example.org/q", 2): [(IRI("http://example.org/a"), "&said;")],
    }
    assert error(tmp_path, ENTITIES.replace("</ex:p>", ""), "a.rdf").startswith("a.rdf:1")
    assert "a.rdf" in error(tmp_path, ENTITIES.replace("&ex;a", "&none;a"), "a.rdf")


def test_entities_may_not_make_a_document_huge(tmp_path: Path) -> None:
    long = ENTITIES.replace("it's", "x" * 2_000).replace("&said; &amp;", "&said;" * 200_000)
    assert "times as long" in error(tmp_path, long, "a.rdf")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([(TURTLE, "a.ttl"), (XML, "a.rdf")]), st.data())
def test_mutated_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, seed: Any, data: Any) -> None:
    text = bytearray(seed[0].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=4))
    try:
        parsed(tmp_path_factory.mktemp("rdf"), bytes(text), seed[1])
    except DataError as problem:
        assert seed[1] in str(problem)
