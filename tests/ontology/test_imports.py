"""owl:imports: found among the files, beside them, or by a catalog; and what is missing is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.core.errors import DataError

PREFIXES = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
TOP, BASE = "http://example.org/top", "http://example.org/base"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PREFIXES + text)
    return path


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """zoo.ttl imports top, which imports base."""
    write(tmp_path / "lib" / "top.ttl", f"<{TOP}> a owl:Ontology ; owl:imports <{BASE}> . :Animal rdfs:subClassOf :B .")
    write(tmp_path / "lib" / "base.ttl", f"<{BASE}> a owl:Ontology . :B rdfs:subClassOf :C .")
    text = (
        f"<http://example.org/zoo> a owl:Ontology ; owl:imports <{TOP}> . :Cat rdfs:subClassOf :Animal . :tom a :Cat ."
    )
    return write(tmp_path / "zoo.ttl", text)


def catalog(folder: Path, entries: str) -> None:
    namespace = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
    (folder / "catalog-v001.xml").write_text(f'<?xml version="1.0"?><catalog xmlns="{namespace}">{entries}</catalog>')


def classes(kb: KnowledgeBase) -> set[str]:
    kb.materialise()
    return {name.removeprefix("http://example.org/") for name in kb.predicates}


def quietly(*paths: Path) -> KnowledgeBase:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return KnowledgeBase(ontology=paths)


def test_a_missing_import_is_said(zoo: Path) -> None:
    with pytest.warns(UserWarning, match=f"zoo.ttl imports <{TOP}>, which was not found.*Give its file.*catalog"):
        kb = KnowledgeBase(ontology=zoo)
    assert kb.ontology is not None
    assert [each.iri for each in kb.ontology.missing_imports] == [TOP]
    assert classes(kb) == {"Cat", "Animal"}


def test_files_that_are_given_import_each_other(zoo: Path) -> None:
    assert classes(quietly(zoo, zoo.parent / "lib")) == {"Cat", "Animal", "B", "C"}


def test_an_import_that_is_loaded_later_is_not_missing(zoo: Path) -> None:
    with pytest.warns(UserWarning, match="top"):
        kb = KnowledgeBase(ontology=zoo)
    kb.load_ontology(zoo.parent / "lib")
    assert kb.ontology is not None
    assert kb.ontology.missing_imports == ()


def test_a_file_beside_the_document(tmp_path: Path) -> None:
    write(tmp_path / "b.ttl", ":B rdfs:subClassOf :C .")
    a = write(tmp_path / "a.ttl", "<> a owl:Ontology ; owl:imports <b.ttl> . :x a :B .")
    assert classes(quietly(a)) == {"B", "C"}


CATALOGS = {
    "uri": f'<uri name="{TOP}" uri="lib/top.ttl"/><uri name="{BASE}#" uri="lib/base.ttl"/>',
    "group": f'<group xml:base="lib/"><uri name="{TOP}" uri="top.ttl"/>'
    f'<system systemId="{BASE}" uri="base.ttl"/></group>',
    "rewrite": '<rewriteURI uriStartString="http://" rewritePrefix="no/"/>'
    + "".join(f'<rewriteURI uriStartString="{iri}" rewritePrefix="lib/{iri[19:]}.ttl"/>' for iri in (TOP, BASE)),
}


@pytest.mark.parametrize("entries", CATALOGS.values(), ids=CATALOGS)
def test_a_catalog(zoo: Path, entries: str) -> None:
    catalog(zoo.parent, entries)
    catalog(zoo.parent / "lib", '<nextCatalog catalog="../catalog-v001.xml"/>')
    assert classes(quietly(zoo)) == {"Cat", "Animal", "B", "C"}


def test_a_catalog_may_find_a_document_under_another_name(zoo: Path) -> None:
    """Also after the knowledge base was stored, and removed with the only document that imports it."""
    (zoo.parent / "lib" / "top.ttl").write_text(f"{PREFIXES}:Animal rdfs:subClassOf :B .")
    catalog(zoo.parent, f'<uri name="{TOP}" uri="lib/top.ttl"/>')
    kb = quietly(zoo)
    assert classes(kb) == {"Cat", "Animal", "B"}
    kb.save(zoo.parent / "store")
    kb.close()
    with KnowledgeBase.open(zoo.parent / "store") as again:
        assert again.ontology is not None
        assert again.ontology.missing_imports == ()
        again.remove_ontology(zoo)
        assert again.ontology.files == ()


def test_what_another_document_imports_stays(zoo: Path) -> None:
    catalog(zoo.parent, f'<uri name="{BASE}" uri="lib/base.ttl"/>')
    other = write(zoo.parent / "other.ttl", f"<http://example.org/other> a owl:Ontology ; owl:imports <{BASE}> .")
    kb = quietly(other, zoo.parent / "lib" / "top.ttl", zoo)
    kb.remove_ontology(zoo.parent / "lib" / "top.ttl")
    assert kb.ontology is not None
    assert [file.path.name for file in kb.ontology.files] == ["other.ttl", "zoo.ttl", "base.ttl"]


def test_the_network_is_never_asked(zoo: Path) -> None:
    catalog(zoo.parent, f'<uri name="{TOP}" uri="http://127.0.0.1:9/top.ttl"/>')
    with pytest.warns(UserWarning, match="catalog-v001.xml maps it to http://127.0.0.1:9/top.ttl, which is not a file"):
        KnowledgeBase(ontology=zoo)


def test_a_broken_catalog(zoo: Path) -> None:
    (zoo.parent / "catalog-v001.xml").write_text("<catalog>\n<uri")
    with pytest.raises(DataError, match=r"catalog-v001\.xml:2: this catalog of imports is not well-formed XML"):
        KnowledgeBase(ontology=zoo)


def test_the_vocabulary_of_owl_need_not_be_found(tmp_path: Path) -> None:
    quietly(write(tmp_path / "a.ttl", "<> a owl:Ontology ; owl:imports <http://www.w3.org/2002/07/owl> ."))


@pytest.mark.parametrize("command", [["ontology"], ["run", "--ontology"]])
def test_on_the_command_line(command: list[str], zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, str(zoo)]) == 0
    assert f"warning: {zoo} imports <{TOP}>, which was not found" in capsys.readouterr().err


def test_a_folder_is_removed_as_it_was_loaded(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ttl").write_text(f"@prefix : <http://example.org/> . :{name} a :A .")
    kb = KnowledgeBase(ontology=tmp_path)
    assert len(kb.facts("http://example.org/A")) == 2
    kb.remove_ontology(tmp_path)
    assert kb.ontology is not None
    assert kb.ontology.files == ()
    assert len(kb.facts("http://example.org/A")) == 0
