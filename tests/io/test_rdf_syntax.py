"""What N-Triples, N-Quads, Turtle and RDF/XML allow and refuse: a small document for each rule of the standards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, BlankNode, KnowledgeBase
from deltalog.core.errors import DataError
from deltalog.core.terms import RDF, literal

S, P, T = "<http://e/s>", "<http://e/p>", "<http://e/o>"

BAD_LINES = [
    f"@prefix : <http://e/> .\n{S} {P} {T} .",
    f"@base <http://e/> .\n{S} {P} {T} .",
    f"PREFIX : <http://e/>\n{S} {P} {T} .",
    f"{S} {P} {T}, {T} .",
    f"{S} {P} {T} ; {P} {T} .",
    f"{S} a {T} .",
    f"{S} {P} :o .",
    f"{S} {P} [] .",
    f"{S} {P} () .",
    f"{S} _:p {T} .",
    f'{S} "p" {T} .',
    f'"s" {P} {T} .',
    f"{S} {P} {T}",
    f"{S} {P} {T} . {S} {P} {T} .",
    f"{S} {P}\n{T} .",
    f"<http://e/ s> {P} {T} .",
    f"<http://e/s {P} {T} .",
    *[
        f"<http://e/\\{c}> {P} {T} ."
        for c in ("n", "t", '"', "/", "x", "u12", "u00ZZ", "U0000ZZ11", "uDC00", "U00110000")
    ],
    *[
        f"<http://e/\\u00{c}> {P} {T} ."
        for c in ("00", "20", "22", "3C", "3E", "5C", "5E", "60", "7B", "7C", "7D", "7F", "80")
    ],
    *[f"{S} {P} <http://e/{c}> ." for c in "{}|^`"],
    *[
        f'{S} {P} "{text}" .'
        for text in ("\\a", "\\u12", "\\u00ZZ", "\\U0000ZZ11", "\\uD800", "\\U00110000", "\n", "\r", '"')
    ],
    *[f"{S} {P} {text} ." for text in ("'a'", "\"a'", "'a\"", '"""a"""', "'''a'''", '"a', 'a"')],
    *[
        f'{S} {P} "a"{tag} .'
        for tag in ("@", "@1", "@en-", "@-en", "@en--us", "@e1", "@abcdefghi", "@en-abcdefghi", " @en")
    ],
    *[f'{S} {P} "a"{tag} .' for tag in ("^^", "^<http://e/t>", "^^xsd:string", '^^"t"', "^^_:t", "^^<http://e/{t}>")],
    *[f"{label} {P} {T} ." for label in ("_:", "_:-a", "_:.a", "_::a", "_:a:b", "_:a/b", "_: a", "_:a. ")],
    *[f"{S} {P} {T} {graph} ." for graph in ('"g"', "1.0", "<g h>", "<http://e/{g}>", "_:", f"{T} {T}")],
]
BAD_STRICTLY = [
    f"<s> {P} {T} .",
    f"{S} <p> {T} .",
    f"{S} {P} <o> .",
    f'{S} {P} "a"^^<t> .',
    f"{S} {P} {T} <g> .",
    *[f"{S} {P} {value} ." for value in ("1", "1.0", "1.0e0", "true", "false")],
]
GOOD_LINES = [
    *[
        f"{S} {P} {T} {end}"
        for end in (
            ".",
            ".\n",
            ".\r\n",
            ".\n\n",
            ". # c",
            ".# c\n",
        )
    ],
    *[f"{start}{S} {P} {T} ." for start in ("", "\n", "\r\n", " \t", "# c\n", "\ufeff", "\ufeff# c\n")],
    f"{S}{P}{T}.",
    f"{S}\t{P}\t{T}\t.\t",
    f'{S}{P}"a"@en-GB-1.',
    f'{S} {P} "\\t\\b\\n\\r\\f\\"\\\'\\\\\\u00e9\\U0001F600" .',
    f"<scheme+x.y-z:%20[]#é> {P} <x:> .",
    f"<http://e/\\u00e9\\U0001F600> {P} {T} .",
    f"_:0 {P} _:a.b-c_é·1.",
    f"_:_ {P} _:a .",
]

TURTLE = "@prefix : <http://e/> .\n"
BAD_TURTLE = [
    *[
        f"<http://e/{c}> :p :o ."
        for c in (" ", "\\u0020", "\\n", "\\/", "{a}", "\\u003C", "\\u003E", "\\uD800", "\\u00ZZ")
    ],
    *[f":{local} :p :o ." for local in ("a\\u0039", "a\\x", "a%zz", "a%2", "a\\", "~a", "a~b", "-a", ".a")],
    *[
        f":s :p {object} ."
        for object in ("x:y", "'a", '"a', '"""a"', "'a\n'", '"\\a"', '"\\uD800"', "1e", "+", "--1", "tru", "a")
    ],
    *[f':s :p "a"{tag} .' for tag in ("@1", "@en-", "@abcdefghi", "^^", '^^"t"', "^^<http://e/{t}>")],
    *[f":s {verb} :o ." for verb in ("[]", '"p"', "_:p", "()", "A", "true")],
    *[f"{subject} :p :o ." for subject in ('"s"', "1", "true", "a", "[ :p ]", "( :a")],
    *[
        f"{directive}\n:s :p :o ."
        for directive in ("@prefix e: <http://e/>", "@base <http://e/>", "PREFIX e: <http://e/> .")
    ],
    *[
        f"{directive}\n:s :p :o ."
        for directive in ("@PREFIX e: <http://e/> .", "@prefix e <http://e/> .", "prefix e:", "@x .")
    ],
    *[f":s :p :o {end}" for end in ("", ",", ";", ". .", ":o .", "} .", "; ; , .")],
    ":s :p :o . }",
    "{ :s :p :o } .",
    ":s => :o .",
    ":s = :o .",
    "@forAll :x .",
    "_:a:b :p :o .",
    ":s :p << :a :b :c >> .",
    ":s :p <<( :a :b :c )>> .",
    ':s :p "a"@en--ltr .',
]
GOOD_TURTLE = {
    ":s :p :o .": 1,
    "PREFIX x: <http://e/>\nprefix y: <http://e/>\nx:s y:p :o .": 1,
    "@base <http://b/> .\nBASE <c>\n<s> <p> <o> .": 1,
    ":s :p :o, :o2 ; :q :o ; ; a :C .": 4,
    ":s :p (1 2), () .": 6,
    ":s :p [ :q [] ; :r () ] . [] :p :o . [ :p :o ] .": 5,
    ":a\\~b\\.c\\%41 :p :a%41b, :a.b, :1, :é, :a:b .": 5,
    ":s :p 2, -1.0, +3e0, .5, true, 'a', \"a\"@en-GB, '''a\n'b''', \"\"\"a\"b\"\"\" .": 9,
    ':s :p "\\t\\b\\n\\r\\f\\"\\\'\\\\\\u00e9\\U0001F600", <http://e/\\u00e9> .': 2,
    ":s :p :o . # c\n#": 1,
}


def loaded(tmp_path: Path, text: str, name: str, **options: Any) -> dict[str, set[tuple[Any, ...]]]:
    path = tmp_path / name
    path.write_bytes(text.encode())
    kb = KnowledgeBase("")
    kb.load(path, **options)
    return {predicate: set(map(tuple, kb.facts(predicate))) for predicate in kb.predicates}


def refused(tmp_path: Path, text: str, name: str, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, text, name, **options)
    message = str(caught.value).removeprefix(f"{tmp_path}/")
    file, line, column, *_ = message.split(":")
    assert file == name and line.isdigit() and column.isdigit() and message.count("\n") == 2, message
    return f"{line}:{column}"


@pytest.mark.parametrize("line", BAD_LINES)
def test_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    for name in ("a.nt", "a.nq"):
        refused(tmp_path, line, name)
        refused(tmp_path, line, name, strict=True)
        assert refused(tmp_path, f"{S} {P} {T} .\n{line}", name).split(":")[0] in "23"


@pytest.mark.parametrize("line", BAD_STRICTLY)
def test_lines_that_are_refused_strictly(tmp_path: Path, line: str) -> None:
    for name in ("a.nt", "a.nq"):
        assert loaded(tmp_path, line, name)
        refused(tmp_path, line, name, strict=True)


@pytest.mark.parametrize("line", GOOD_LINES)
def test_lines_that_are_read(tmp_path: Path, line: str) -> None:
    for name in ("a.nt", "a.nq"):
        assert len(loaded(tmp_path, line, name, strict=True)) == 1


def test_graphs_are_for_quads(tmp_path: Path) -> None:
    for graph in ("<http://e/g>", "_:g"):
        line = f"{S} {P} {T} {graph} ."
        assert len(loaded(tmp_path, line, "a.nq", strict=True)) == len(loaded(tmp_path, line, "a.nt")) == 1
        assert refused(tmp_path, line, "a.nt", strict=True) == "1:40"


@pytest.mark.parametrize("text", BAD_TURTLE)
def test_turtle_that_is_refused(tmp_path: Path, text: str) -> None:
    refused(tmp_path, TURTLE + text, "a.ttl")


@pytest.mark.parametrize("text", GOOD_TURTLE)
def test_turtle_that_is_read(tmp_path: Path, text: str) -> None:
    for whole in (TURTLE + text, "\ufeff" + TURTLE + text, (TURTLE + text).replace("\n", "\r\n")):
        assert sum(map(len, loaded(tmp_path, whole, "a.ttl").values())) == GOOD_TURTLE[text]


# RDF/XML: what is wrong begins a line.

XML = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/" xml:base="http://b/d">
%s
</rdf:RDF>
"""
NAMES = ("ID", "about", "bagID", "parseType", "resource", "nodeID", "aboutEach", "aboutEachPrefix", "RDF", "datatype")
BAD_XML = [
    *[f"<rdf:{name}/>" for name in (*NAMES, "li")],
    *[f"<e:C>\n<rdf:{name}/></e:C>" for name in (*NAMES, "Description")],
    *[
        f'<e:C rdf:{name}="x"/>'
        for name in ("bagID", "parseType", "resource", "datatype", "aboutEach", "li", "Description")
    ],
    *[f'<e:C>\n<e:p rdf:{name}="x"/></e:C>' for name in ("about", "bagID", "aboutEach", "aboutEachPrefix", "li")],
    *[f'<e:C rdf:ID="{name}"/>' for name in ("1x", "a b", "a:b", "a/b", "")],
    *[f'<e:C rdf:nodeID="{name}"/>' for name in ("1x", "a b", "_:a", "a/b", "")],
    *[f'<e:C>\n<e:p rdf:parseType="Literal" {other}></e:p></e:C>' for other in ('rdf:resource="x"', 'e:q="x"')],
    *[f'<e:C>\n<e:p rdf:parseType="Resource" {other}></e:p></e:C>' for other in ('rdf:nodeID="x"', 'e:q="x"')],
    '<e:C>\n<e:p rdf:parseType="Collection" rdf:resource="x"/></e:C>',
    '<e:C>\n<e:p rdf:datatype="http://e/t" rdf:resource="x"/></e:C>',
    '<e:C rdf:ID="a" rdf:about="b"/>',
    '<e:C rdf:nodeID="a" rdf:about="b"/>',
    '<e:C>\n<e:p rdf:resource="a" rdf:nodeID="b"/></e:C>',
    '<e:C>\n<e:p rdf:resource="a">text</e:p></e:C>',
    "<e:C>\n<e:p>text<e:D/></e:p></e:C>",
    "<e:C>\n<e:p><e:D/><e:D/></e:p></e:C>",
    "<e:C>text</e:C>",
    '<e:C rdf:ID="x"/>\n<e:D rdf:ID="x"/>',
    '<e:C rdf:about="a b"/>',
    '<e:C rdf:about="http://e/{a}"/>',
    '<e:C>\n<e:p rdf:resource="a|b"/></e:C>',
    '<e:C>\n<e:p rdf:datatype="a b">1</e:p></e:C>',
    '<e:C>\n<e:p xml:lang="1">a</e:p></e:C>',
    '<e:C>\n<e:p xml:lang="abcdefghi">a</e:p></e:C>',
    "<C/>",
    '<e:C p="x"/>',
    "<e:C>",
    "<x:C/>",
]


@pytest.mark.parametrize("ending", ["ttl", "trig"])
def test_bases_with_dot_segments(tmp_path: Path, ending: str) -> None:
    """Merged paths lose the segments; a base that is taken as a whole, and absolute IRIs, keep them."""
    (tmp_path / f"d.{ending}").write_text(
        r"""@base <http://a/bb/ccc/../d;p?q> .
        <s> <p> <../g> , <> , <?y> , <#f> , <http://z/a/../b> , "<x> \" <y>" , '''<x> ' ''' . # <x>
        BASE <e/./f>
        <s> <q> <g> ."""
    )
    kb = KnowledgeBase()
    kb.load(tmp_path / f"d.{ending}")
    whole = "http://a/bb/ccc/../d;p"
    iris = ("http://a/g", f"{whole}?q", f"{whole}?y", f"{whole}?q#f", "http://z/a/../b")
    texts = ('<x> " <y>', "<x> ' ")
    assert set(kb.facts("http://a/bb/p")) == {(IRI("http://a/bb/s"), each) for each in (*map(IRI, iris), *texts)}
    assert set(kb.facts("http://a/bb/e/q")) == {(IRI("http://a/bb/e/s"), IRI("http://a/bb/e/g"))}


BASE_XML = f"""<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/" xml:base="http://a/bb/ccc/../d;p?q">
  <rdf:Description rdf:about="s">
    <e:p rdf:resource="../g"/> <e:p rdf:resource=""/> <e:p rdf:resource="?y"/> <e:p rdf:resource="#f"/>
    <e:p rdf:resource="http://z/a/../b"/>
    <e:q rdf:parseType="Literal"><e:x xml:base="http://b/../c"></e:x></e:q>
    <e:r rdf:resource="e/g"/> <e:r xml:base="http://h/i/./j" rdf:resource=""/>
  </rdf:Description>
</rdf:RDF>"""
BASE_JSON = """{"@context": {"@base": "http://a/bb/ccc/../d;p?q", "e": "http://e/"}, "@id": "s",
  "e:p": [{"@id": "../g"}, {"@id": ""}, {"@id": "?y"}, {"@id": "#f"}, {"@id": "http://z/a/../b"}],
  "e:q": "<e:x xmlns:e=\\"http://e/\\" xml:base=\\"http://b/../c\\"></e:x>",
  "e:r": [{"@context": {"@base": "e/./f"}, "@id": "g"}, {"@context": {"@base": "http://h/i/./j"}, "@id": ""}]}"""


@pytest.mark.parametrize("name, text", [("d.rdf", BASE_XML), ("d.jsonld", BASE_JSON)])
def test_bases_with_dot_segments_elsewhere(tmp_path: Path, name: str, text: str) -> None:
    """In RDF/XML and JSON-LD, and in the base that a reader is given."""
    (tmp_path / name).write_text(text)
    kb = KnowledgeBase()
    kb.load(tmp_path / name)
    whole, s = "http://a/bb/ccc/../d;p", IRI("http://a/bb/s")
    iris = ("http://a/g", f"{whole}?q", f"{whole}?y", f"{whole}?q#f", "http://z/a/../b")
    assert set(kb.facts("http://e/p")) == {(s, IRI(each)) for each in iris}
    [(_, literal)] = kb.facts("http://e/q")
    assert 'xml:base="http://b/../c"' in str(getattr(literal, "text", literal))
    assert set(kb.facts("http://e/r")) == {(s, IRI("http://a/bb/e/g")), (s, IRI("http://h/i/./j"))}
    (tmp_path / name).write_text(text.replace(f' xml:base="{whole}?q"', "").replace(f'"@base": "{whole}?q", ', ""))
    other = KnowledgeBase()
    other.load(tmp_path / name, base=f"{whole}?q")
    assert set(other.facts("http://e/p")) == set(kb.facts("http://e/p"))


@pytest.mark.parametrize("text", BAD_XML)
def test_rdf_xml_that_is_refused(tmp_path: Path, text: str) -> None:
    line = int(refused(tmp_path, XML % text, "a.rdf").split(":")[0])
    assert line in (3 + text.count("\n"), 4 + text.count("\n"))  # a start or an end that is missing is seen later


def test_rdf_xml_that_is_read(tmp_path: Path) -> None:
    text = """
    <e:C rdf:ID="x" e:p="1" rdf:type="http://e/D"/>
    <rdf:Bag rdf:about="y"><rdf:li>a</rdf:li><rdf:li rdf:resource="#x"/></rdf:Bag>
    <rdf:Description rdf:about="z" xml:lang="en">
      <e:q>a</e:q> <e:q xml:lang="de-AT">b</e:q> <e:q rdf:datatype="http://e/t">c</e:q>
      <e:r rdf:parseType="Resource"><e:s>1</e:s></e:r>
      <e:t rdf:parseType="Collection"><rdf:Description rdf:about="c"/></e:t>
      <e:u rdf:parseType="Literal" rdf:ID="st"><a rdf:bagID="any"/></e:u>
      <e:v rdf:nodeID="n"/> <e:v e:w="2" rdf:nodeID="n"/>
      <e:base xml:base="http://o/p/" rdf:resource="q"/>
    </rdf:Description>
    """
    rows = loaded(tmp_path, XML % text, "a.rdf", shared_blank_nodes=True)
    x, y, z = IRI("http://b/d#x"), IRI("http://b/y"), IRI("http://b/z")
    assert rows["http://e/C"] == rows["http://e/D"] == {(x,)} and rows["http://e/p"] == {(x, "1")}
    assert rows[RDF + "_1"] == {(y, "a")} and rows[RDF + "_2"] == {(y, x)} and rows[RDF + "Bag"] == {(y,)}
    values = {literal("a", language="en"), literal("b", language="de-at"), literal("c", "http://e/t")}
    assert rows["http://e/q"] == {(z, value) for value in values}
    assert rows["http://e/base"] == {(z, IRI("http://o/p/q"))}
    (node,), (resource,) = ({o for _, o in rows[p]} for p in ("http://e/v", "http://e/r"))
    assert node == BlankNode("n")
    assert rows["http://e/w"] == {(node, literal("2", language="en"))} and {s for s, _ in rows["http://e/s"]} == {
        resource
    }
    assert rows[RDF + "first"] == {(next(o for _, o in rows["http://e/t"]), IRI("http://b/c"))}
    assert rows[RDF + "subject"] == {(IRI("http://b/d#st"), z)}


XML_LITERALS = {
    "": "",
    "<b/>": "<b></b>",
    '<b  c = "1&#10;\'"\n a=\'"2"\'/>\n': '<b a="&quot;2&quot;" c="1&#xA;\'"></b>\n',
    "a &amp;\r\n&#13; <![CDATA[<b>]]> é &#233;": "a &amp;\n&#xD; &lt;b&gt; é é",
    "<!-- c --><?pi  d?>": "<!-- c --><?pi d?>",
    "<e:b><e:b/></e:b>": '<e:b xmlns:e="http://e/"><e:b></e:b></e:b>',
    '<b e:a="1"/>': '<b xmlns:e="http://e/" e:a="1"></b>',
    '<b xmlns:unused="http://u/" xml:lang="en"/>': '<b xml:lang="en"></b>',
    '<b xmlns="http://y/"><c/><d xmlns=""/></b>': '<b xmlns="http://y/"><c></c><d xmlns=""></d></b>',
    '<e:b xmlns:e="http://y/"/><e:c/>': '<e:b xmlns:e="http://y/"></e:b><e:c xmlns:e="http://e/"></e:c>',
    '<b e:z="1" a="2" rdf:b="3"/>': f'<b xmlns:e="http://e/" xmlns:rdf="{RDF}" a="2" e:z="1" rdf:b="3"></b>',
}


@pytest.mark.parametrize("content", XML_LITERALS)
def test_xml_literals_are_canonical(tmp_path: Path, content: str) -> None:
    """Exclusive canonical form: of the namespaces in scope only those that are visibly used are declared."""
    wanted = {(IRI("http://b/s"), literal(XML_LITERALS[content], RDF + "XMLLiteral"))}
    node = '<e:C rdf:about="s"><e:p\nrdf:parseType="Literal" >%s</e:p></e:C>'
    assert loaded(tmp_path, XML % (node % content), "a.rdf")["http://e/p"] == wanted
    # Lines after a literal keep their numbers.
    lines = content.count("\n") + 5
    assert refused(tmp_path, XML % (node % content + "\n<e:C rdf:li='x'/>"), "a.rdf").startswith(f"{lines}:")
    assert refused(tmp_path, XML % (node % content + "\n<e:C rdf:about='a b'/>"), "a.rdf").startswith(f"{lines}:")


def test_a_default_namespace_in_xml_literals(tmp_path: Path) -> None:
    node = '<e:C rdf:about="s" xmlns="http://d/"><e:p rdf:parseType="Literal"><e:a><b/></e:a><c xmlns=""/></e:p></e:C>'
    text = '<e:a xmlns:e="http://e/"><b xmlns="http://d/"></b></e:a><c></c>'
    assert loaded(tmp_path, XML % node, "a.rdf")["http://e/p"] == {
        (IRI("http://b/s"), literal(text, RDF + "XMLLiteral"))
    }


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "x-unknown"])
def test_xml_in_other_encodings_is_refused(tmp_path: Path, encoding: str) -> None:
    text = (XML % "").replace('"1.0"', f'"1.0" encoding="{encoding}"')
    with pytest.raises(DataError, match="expected XML in UTF-8, not in " + encoding):
        loaded(tmp_path, text, "a.rdf")


def test_an_error_in_one_of_several_files_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(f"{S} {P} {T} .")
    kb = KnowledgeBase("q(1).")
    for name, text in {"b.nt": "oops", "b.ttl": ":a", "b.rdf": XML % BAD_XML[0]}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=name):
            kb.load(tmp_path / "a.nt", tmp_path / name)
        assert kb.predicates == ["q"]
