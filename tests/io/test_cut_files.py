"""A file that is cut short is an error, or has all facts of what is left of it."""

from __future__ import annotations

import bz2
import gzip
import json
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltalog import IRI, DataError, KnowledgeBase, LimitReached
from deltalog.core.tuning import Tuning
from deltalog.formats.entities import expanded

XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">
  <e:A rdf:about="http://e.org/a"><e:p>text</e:p><e:q rdf:resource="http://e.org/b"/></e:A>
  <rdf:Description rdf:about="http://e.org/c"><e:p rdf:parseType="Literal"><b>x</b></e:p></rdf:Description>
</rdf:RDF>"""
TURTLE = """@prefix e: <http://e.org/> .
e:a a e:A ; e:p "text", 'x'@en ; e:q [ e:p (1 2) ] ."""
TRIG = "<http://e.org/g> { <http://e.org/a> <http://e.org/p> <http://e.org/b> }"
JSON_LD = json.dumps({"@id": "http://e.org/a", "http://e.org/p": [{"@value": "x", "@language": "en"}, {"@id": "_:b"}]})
WHOLE = {"a.rdf": XML, "a.ttl": TURTLE, "a.trig": TRIG, "a.jsonld": JSON_LD}


def load(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    kb = KnowledgeBase()
    kb.load(path)
    return kb.explicit_facts


@pytest.mark.parametrize("name", WHOLE)
def test_documents(tmp_path: Path, name: str) -> None:
    data = WHOLE[name].encode()
    facts = load(tmp_path / name, data)
    # A document of TriG may be empty, and so may one of Turtle or of prefixes alone.
    complete = {0, data.find(b".\n") + 1, data.find(b".\n") + 2} if name in ("a.ttl", "a.trig") else set()
    for end in range(len(data)):
        try:
            found = load(tmp_path / name, data[:end])
        except DataError:
            continue
        assert (end in complete and found == 0) or (not data[:end].strip() and found == 0), (end, found)
    assert facts > 0


def test_ntriples_by_line(tmp_path: Path) -> None:
    line = b'<http://e.org/a> <http://e.org/p> "x"@en .'
    for end in range(1, len(line)):
        with pytest.raises(DataError):
            load(tmp_path / "a.nt", line[:end])
    assert load(tmp_path / "a.nt", line) == 1


@pytest.mark.parametrize("text", ['[1, "two"]\n', '["a", {"iri": "http://e.org/b"}]\n'])
def test_json_lines(tmp_path: Path, text: str) -> None:
    data = text.strip().encode()
    for end in range(1, len(data)):
        with pytest.raises(DataError):
            load(tmp_path / "p.jsonl", data[:end])


def test_csv_with_an_open_quote(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        load(tmp_path / "p.csv", b'a,"b\nc,d\n')


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
def test_compressed_files(tmp_path: Path, ending: str) -> None:
    text = b"".join(b"<http://e.org/%d> <http://e.org/p> <http://e.org/%d> .\n" % (i, i * i) for i in range(300))
    compress = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": lambda d: pa.compress(d, "zstd", asbytes=True)}
    data = compress[ending](text)
    assert load(tmp_path / f"a.nt{ending}", data) == 300
    for end in {*range(0, len(data), 37), 1, len(data) - 1}:
        with pytest.raises(DataError):
            load(tmp_path / f"a.nt{ending}", data[:end])


def test_parquet(tmp_path: Path) -> None:
    kb = KnowledgeBase()
    kb.add("p", [(i, str(i)) for i in range(100)])
    kb.write(tmp_path / "out", "parquet")
    data = (tmp_path / "out" / "p.parquet").read_bytes()
    for end in {*range(0, len(data), 29), len(data) - 1}:
        with pytest.raises(DataError):
            load(tmp_path / "p.parquet", data[:end])


def written(format: str) -> bytes:
    """A file that deltalog wrote itself."""
    kb = KnowledgeBase()
    for predicate in ("http://e.org/p", "http://e.org/q"):
        kb.add(predicate, [(IRI(f"http://e.org/{i}"), value) for i in range(8) for value in (i, f'"text\n{i}"')])
    with TemporaryDirectory() as folder:
        kb.write(folder, format)
        return next(path for path in Path(folder).glob(f"*.{format}") if path.stem != "predicates").read_bytes()


FORMATS = ("nt", "nq", "ttl", "trig", "jsonl", "csv", "tsv", "parquet")
FILES = {format: written(format) for format in FORMATS} | {"rdf": XML.encode(), "jsonld": JSON_LD.encode()}


def facts_in(path: Path, data: bytes) -> set[tuple[str, Any]]:
    path.write_bytes(data)
    kb = KnowledgeBase()
    kb.load(path, shared_blank_nodes=True)
    return {(predicate, row) for predicate in kb.predicates for row in kb.facts(predicate)}


@given(st.data())
def test_a_cut_at_any_place_is_an_error_or_leaves_a_complete_document(data: st.DataObject) -> None:
    format = data.draw(st.sampled_from(sorted(FILES)))
    whole = FILES[format]
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with TemporaryDirectory() as folder:
        try:
            found = facts_in(Path(folder) / f"p.{format}", part)
        except DataError:
            return
        if format in ("csv", "tsv"):  # the part of a cell is one, too
            assert len(found) <= len(facts_in(Path(folder) / f"p.{format}", whole))
        elif format in ("nt", "nq", "jsonl", "ttl", "trig"):
            assert found <= facts_in(Path(folder) / f"p.{format}", whole)
        else:
            assert not found and not part.strip()


def nested(name: str, depth: int) -> str:
    if name == "a.jsonld":
        return '{"http://e.org/p":' * depth + "1" + "}" * depth
    start = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">'
    return start + "<e:A><e:p>" * depth + "</e:p></e:A>" * depth + "</rdf:RDF>"


@pytest.mark.parametrize("name", ["a.rdf", "a.jsonld"])
def test_depth(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(nested(name, 50_000))
    with pytest.raises(DataError, match=r"nested; Tuning\(rdf_max_depth"):
        KnowledgeBase().load(tmp_path / name)
    (tmp_path / name).write_text(nested(name, 20))
    KnowledgeBase().load(tmp_path / name)
    with pytest.raises(DataError, match="more than 10 "):
        KnowledgeBase(tuning=Tuning(rdf_max_depth=10)).load(tmp_path / name)


TABLES: dict[str, Any] = {"p.csv": "a,1\n", "p.tsv": "a\t1\n", "p.jsonl": '["a", 1]\n'}
LINES = {**WHOLE, **TABLES, "a.nt": "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n"}


@pytest.mark.parametrize("types", [None, ["string", "int"]])
@pytest.mark.parametrize("name", [*LINES, "p.parquet", "p.csv.gz"])
def test_limits_hold_while_files_are_read(tmp_path: Path, name: str, types: list[str] | None) -> None:
    options = {"types": types} if name.startswith("p.") and types and name != "p.jsonl" else {}
    if name == "p.parquet":
        pq.write_table(pa.table({"a": ["a"], "b": [1]}), tmp_path / name)
    else:
        data = LINES[name.removesuffix(".gz")].encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    kb = KnowledgeBase()
    kb.limits.ended = "the server shuts down"
    with pytest.raises(LimitReached), kb.limits.running("load"):
        kb.load(tmp_path / name, **options)
    assert kb.explicit_facts == 0


@pytest.mark.parametrize(("name", "rows"), [("p.csv", 300_000), ("p.tsv", 300_000), ("p.jsonl", 30_000)])
def test_limits_are_checked_again_and_again(
    tmp_path: Path, name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that is reached in the middle of a file ends the call there."""
    (tmp_path / name).write_text(TABLES[name] * rows)
    checks = count()
    for module in ("tables", "files"):
        monkeypatch.setattr(f"deltalog.formats.{module}.check_running", lambda: next(checks))
    monkeypatch.setattr("deltalog.core.limits.check_running", lambda: next(checks))
    KnowledgeBase().load(tmp_path / name)
    assert next(checks) > 1


def test_limits_are_checked_for_each_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(1_000)}), tmp_path / "p.parquet", row_group_size=10)
    checks = count()
    monkeypatch.setattr("deltalog.core.limits.check_running", lambda: next(checks))
    kb = KnowledgeBase()
    kb.load(tmp_path / "p.parquet")
    assert next(checks) >= 100 and kb.count("p") == 1_000


RDF_START = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/"'
CHAIN = ", ".join(f'"t{i}": "t{i + 1}:x"' for i in range(20_000)) + ', "t20000": "http://e.org/"'
TERMS = ", ".join(f'"t{i}": "http://e.org/{i}"' for i in range(6_000))
COSTLY = {
    "attributes": ("a.rdf", RDF_START + "><e:A " + " ".join(f'e:p{i}="x"' for i in range(3_000)) + "/></rdf:RDF>"),
    "namespaces": ("a.rdf", RDF_START + "".join(f' xmlns:p{i}="http://e.org/{i}"' for i in range(3_000)) + "/>"),
    "terms by terms": ("a.jsonld", f'{{"@context": {{{CHAIN}}}, "t0": 1}}'),
    "terms by terms, cut short": ("a.jsonld", f'{{"@context": {{{CHAIN}}}, "t0": 1'),
    "terms in a cycle": ("a.jsonld", f'{{"@context": {{{CHAIN.replace("http://e.org/", "t0:x")}}}, "t0": 1}}'),
    "terms": ("a.jsonld", f'{{"@context": {{{TERMS}}}, "t0": 1}}'),
    "terms of an array": ("a.jsonld", f'{{"@context": [{{{TERMS}}}, {{"a": "t1:x"}}], "t0": 1}}'),
}


@pytest.mark.parametrize("what", COSTLY)
def test_what_costs_a_parser_too_much(tmp_path: Path, what: str) -> None:
    """The square of the length in time, without a check of the limits, or the stack of the process."""
    name, text = COSTLY[what]
    with pytest.raises(DataError, match=r"more than [0-9],000 (attributes|terms)|more than 5,000 terms"):
        load(tmp_path / name, text.encode())


def test_terms_defined_by_terms(tmp_path: Path) -> None:
    chain = ", ".join(f'"t{i}": {{"@id": "t{i + 1}:x"}}' for i in range(1_500)) + ', "t1500": "http://e.org/"'
    assert load(tmp_path / "a.jsonld", f'{{"@context": {{{chain}}}, "@id": "http://e.org/s", "t0": 1}}'.encode()) == 1


def test_entities_after_an_open_comment() -> None:
    """An open comment or CDATA section ends with the document, and is looked through once."""
    for opening in (b"<!--", b"<![CDATA["):
        assert expanded(b'<!DOCTYPE r [<!ENTITY e "x">]><r>&e;' + opening + b"&e;", "a.rdf").endswith(
            b"x" + opening + b"&e;"
        )


def checks_of_load(path: Path, data: bytes) -> int:
    """How often the limits are checked while a file is loaded."""
    path.write_bytes(data)
    kb, readings = KnowledgeBase(timeout=1.0, threads=1), count()
    kb.limits.clock = lambda: 0.0 * next(readings)
    with kb.limits.running("load"):
        kb.load(path)
    return next(readings)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("name", ["p.nt", "p.csv", "p.jsonl"])
def test_limits_are_checked_within_a_line(tmp_path: Path, name: str, ending: str) -> None:
    text = b"x" * (20 << 20)
    line = {"p.nt": b'<a:s> <a:p> "%s" .\n', "p.csv": b"%s,1\n", "p.jsonl": b'{"a": "%s"}\n'}[name] % text
    compress = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".zst": lambda d: pa.compress(d, "zstd", asbytes=True),
    }
    assert checks_of_load(tmp_path / f"{name}{ending}", compress[ending](line)) >= 20


def test_limits_are_checked_between_columns(tmp_path: Path) -> None:
    keys = ", ".join(f'"k{i}": {i}' for i in range(20_000))
    assert checks_of_load(tmp_path / "p.jsonl", f"{{{keys}}}".encode()) >= 150


def test_a_literal_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="more than 16 MiB"):
        load(tmp_path / "a.ttl", b'<a:s> <a:p> "' + b"x" * (17 << 20) + b'" .')
