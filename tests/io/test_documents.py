"""Blank nodes and relative IRIs of files: what is one node, and what is not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, BlankNode, KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.core.errors import DataError, UsageError

XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"%s>%s</rdf:RDF>"""
# The same in each format: a labelled node with a property, and (where there is such a thing) a node without a label.
DOCUMENTS = {
    "nt": "_:b0 <http://e/p> _:b0 .\n",
    "nq": "_:b0 <http://e/p> _:b0 _:b0 .\n",
    "ttl": "_:b0 <http://e/p> _:b0 . <http://e/s> <http://e/q> [], [] .",
    "rdf": XML % ("", '<rdf:Description rdf:nodeID="b0"><e:p rdf:nodeID="b0"/><e:q><e:D/></e:q></rdf:Description>'),
}


def loaded(*paths: Path, engine: str = "local", **options: Any) -> dict[str, set[tuple[Any, ...]]]:
    kb = KnowledgeBase("", engine=engine)
    kb.load(*paths, **options)
    return facts_of(kb)


def facts_of(kb: KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    return {predicate: set(map(tuple, kb.facts(predicate))) for predicate in kb.predicates}


def document(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("one", DOCUMENTS)
@pytest.mark.parametrize("other", DOCUMENTS)
def test_a_label_means_one_node_in_each_file(one: str, other: str, tmp_path: Path) -> None:
    for name, ending in (("a", one), ("b", other), ("sub/a", one), ("c", "nt.gz")):
        document(tmp_path, f"{name}.{ending}", DOCUMENTS[ending[:3].rstrip(".")])
    nodes = {x for x, y in loaded(tmp_path)["http://e/p"] if x == y}
    assert len(nodes) == 4 and all(isinstance(node, BlankNode) and node.endswith("_b0") for node in nodes)
    assert loaded(tmp_path, shared_blank_nodes=True)["http://e/p"] == {(BlankNode("b0"), BlankNode("b0"))}


def test_the_parts_of_a_document_share_labels_if_told_so(tmp_path: Path) -> None:
    lines = [f"_:n{i} <http://e/p> _:n{i + 1} .\n" for i in range(100)]
    for part in range(4):
        document(tmp_path, f"{part}.nt", "".join(lines[part::4]))
    rows = {(BlankNode(f"n{i}"), BlankNode(f"n{i + 1}")) for i in range(100)}
    assert loaded(tmp_path, shared_blank_nodes=True)["http://e/p"] == rows
    assert len(set().union(*loaded(tmp_path)["http://e/p"])) > 101


@pytest.mark.parametrize("ending", DOCUMENTS)
def test_names_depend_on_the_path_alone(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So loading a file again, or by another spelling of its path, adds nothing; in another process neither."""
    path = document(tmp_path, f"a.{ending}", DOCUMENTS[ending])
    kb = KnowledgeBase("")
    kb.load(path)
    once = facts_of(kb)
    kb.load(path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    kb.load(f"a.{ending}", tmp_path / "x" / ".." / f"a.{ending}")
    assert facts_of(kb) == once == loaded(path, engine="naive")
    path.write_text(DOCUMENTS[ending].replace("http://e/p", "http://e/z").replace("e:p", "e:z"))
    assert loaded(path)["http://e/z"] == once["http://e/p"]


def test_nodes_without_a_label_are_all_different_even_if_labels_are_shared(tmp_path: Path) -> None:
    for name in ("a.ttl", "b.ttl"):
        document(tmp_path, name, "<http://e/s> <http://e/q> [], [ <http://e/r> _:x ], (1 2) .")
    rows = loaded(tmp_path, shared_blank_nodes=True)
    assert len(rows["http://e/q"]) == 6
    assert {x for _, x in rows["http://e/r"]} == {BlankNode("x")}


def test_a_label_of_hexadecimal_digits_is_a_label(tmp_path: Path) -> None:
    """The parser calls nodes without a label so."""
    label = "a" * 32
    a = document(tmp_path, "a.ttl", f"_:{label} <http://e/p> [] . <http://e/s> <http://e/p> _:{label}.")
    xml = f'<e:C rdf:nodeID="{label}"/><e:C/>'
    b = document(tmp_path, "b.rdf", XML % ("", xml))
    rows = loaded(a, b, shared_blank_nodes=True)
    assert (IRI("http://e/s"), BlankNode(label)) in rows["http://e/p"]
    assert (BlankNode(label),) in rows["http://e/C"] and len(rows["http://e/C"]) == 2


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
def test_blank_nodes_of_tables_are_global(format: str, tmp_path: Path) -> None:
    kb = KnowledgeBase("p(_:b, 1). q(_:b, 2). r(?x, ?y) :- p(?x, 1), BIND(SKOLEM(?x) AS ?y).")
    before = facts_of(kb)
    kb.write(tmp_path / "out", format)
    assert loaded(tmp_path / "out") == before
    assert before["p"] == {(BlankNode("b"), 1)}


def test_triples_that_we_wrote_keep_their_labels(tmp_path: Path) -> None:
    """Those are names of the knowledge base: SKOLEM makes the same again."""
    rules = "<http://e/r>(?x, ?y) :- <http://e/p>(?x, ?z), BIND(SKOLEM(?x) AS ?y)."
    source = document(tmp_path, "a.nt", DOCUMENTS["nt"])
    kb = KnowledgeBase(rules + " <http://e/p>(_:mine, <http://e/o>).")
    kb.load(source)
    before = facts_of(kb)
    kb.write(tmp_path / "out", "nt")
    kb.write(tmp_path / "more", "nt", only=["http://e/p"])
    again = KnowledgeBase(rules)
    again.load(tmp_path / "out", source)
    assert facts_of(again) == before
    again.load(tmp_path / "more")
    assert facts_of(again) == before


def test_triples_without_blank_nodes_are_written_without_a_comment(tmp_path: Path) -> None:
    KnowledgeBase("<http://e/p>(<http://e/s>, 1).").write(tmp_path / "out", "nt")
    assert (tmp_path / "out" / "facts.nt").read_text().startswith("<http://e/s> <http://e/p> ")


# Relative IRIs.


def test_relative_iris_belong_to_their_file(tmp_path: Path) -> None:
    for name in ("a.rdf", "b.rdf"):
        document(tmp_path, name, XML % ("", '<e:C rdf:ID="x"/>'))
    for name in ("a.ttl", "sub/a.ttl"):
        document(tmp_path, name, "<#x> a <http://e/C> . <> a <http://e/D> . <y> a <http://e/E> .")
    rows, root = loaded(tmp_path), tmp_path.as_uri()
    files = ("a.rdf", "b.rdf", "a.ttl", "sub/a.ttl")
    assert rows["http://e/C"] == {(IRI(f"{root}/{name}#x"),) for name in files}
    assert rows["http://e/D"] == {(IRI(f"{root}/{name}"),) for name in files[2:]}
    assert rows["http://e/E"] == {(IRI(f"{root}/y"),), (IRI(f"{root}/sub/y"),)}


def test_the_base_can_be_chosen(tmp_path: Path) -> None:
    turtle = document(tmp_path, "a.ttl", "<#x> a <http://e/C> .")
    xml = document(tmp_path, "b.rdf", XML % ("", '<e:C rdf:ID="x"/><e:C rdf:about="../y"/>'))
    rows = loaded(turtle, xml, base="http://b/c/d")
    assert rows == {"http://e/C": {(IRI("http://b/c/d#x"),), (IRI("http://b/y"),)}}


def test_a_document_that_names_its_base(tmp_path: Path) -> None:
    one = document(tmp_path, "a.ttl", "@base <http://b/> . <x> a <http://e/C> . BASE <c/d> <../y> a <http://e/C> .")
    two = document(
        tmp_path,
        "a.rdf",
        XML % (' xml:base="http://b/f#g"', '<e:C rdf:ID="x" xml:base="http://b/z"/><e:C rdf:ID="x"/>'),
    )
    for base in (None, "http://other/"):
        assert loaded(one, base=base) == {"http://e/C": {(IRI("http://b/x"),), (IRI("http://b/y"),)}}
        assert loaded(two, base=base) == {"http://e/C": {(IRI("http://b/z#x"),), (IRI("http://b/f#x"),)}}


# Examples of section 5.4 of RFC 3986.
RESOLVED = {
    "g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g",
    "//g": "http://g", "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q#s",
    "g#s": "http://a/b/c/g#s", ";x": "http://a/b/c/;x", "": "http://a/b/c/d;p?q", ".": "http://a/b/c/",
    "..": "http://a/b/", "../g": "http://a/b/g", "../..": "http://a/", "../../../g": "http://a/g",
    "/./g": "http://a/g", "g.": "http://a/b/c/g.", "..g": "http://a/b/c/..g", "./g/.": "http://a/b/c/g/",
    "g;x=1/../y": "http://a/b/c/y", "g?y/../x": "http://a/b/c/g?y/../x", "http:g": "http:g",
}  # fmt: skip


def test_relative_iris_by_rfc_3986(tmp_path: Path) -> None:
    for relative, absolute in RESOLVED.items():
        path = document(tmp_path, "a.ttl", f"<{relative}> a <http://e/C> .")
        assert loaded(path, base="http://a/b/c/d;p?q") == {"http://e/C": {(IRI(absolute),)}}, relative


def test_relative_iris_of_ntriples_are_names(tmp_path: Path) -> None:
    path = document(tmp_path, "a.nt", "<road1> <near> <road2> .")
    assert loaded(path, base="http://b/") == {"near": {(IRI("road1"), IRI("road2"))}}
    with pytest.raises(DataError, match=r"a\.nt:1:2: expected an absolute IRI"):
        loaded(path, strict=True)


@pytest.mark.parametrize("base", ["", "d", "/a/b", "http://a b/", "1:x"])
def test_a_base_that_is_none(base: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="absolute IRI"):
        loaded(document(tmp_path, "a.ttl", "<#x> a <#C> ."), base=base)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text("same(?x) :- <http://e/p>(?x, 1), <http://e/p>(?x, 2).\n")
    document(tmp_path, "a.nt", "_:b <http://e/p> 1 .")
    document(tmp_path, "b.ttl", "_:b <http://e/p> 2 . <#x> <http://e/q> 1 .")
    data = ["--data", "a.nt", "--data", "b.ttl"]

    def answer(goal: str, *options: str) -> str:
        assert main(["query", "p.dl", goal, *data, *options]) == 0
        return capsys.readouterr().out

    assert answer("same(?x)") == ""
    assert answer("same(?x)", "--shared-blank-nodes") == "_:b\n"
    assert answer("<http://e/q>(?x, 1)", "--base", "http://z/") == "<http://z/#x>\n"
    assert main(["run", "p.dl", *data, "--strict"]) == 1
    assert "a.nt:1:18: expected an object" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["run", "p.dl", *data, "--base", "here"])
    assert "'here' is not an absolute IRI" in capsys.readouterr().err
    assert main(["run", "p.dl", *data, "--shared-blank-nodes", "--out", "out", "--quiet"]) == 0
    assert Path("out/same.csv").read_text() == "_:b\n"
