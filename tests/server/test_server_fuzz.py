"""Requests with every kind of bad input: an answer that says what is wrong, never a defect."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import client
from starlette.testclient import TestClient

from deltalog.apps.server.app import ENDPOINTS
from deltalog.apps.server.endpoints import Endpoint

PREDICATES = (
    "path",
    "edge",
    "a",
    ":knows",
    "<http://e.org/>",
    "@rdfs",
    "<",
    ">",
    "1",
    "-1",
    "1e999",
    '"',
    "'",
    "é",
    "𝄞",
    "\\u",
)
SIGNS = (*"()[]{},.*/|^=!", ":-", "&&", "?x", "?y", "X")
KEYWORDS = (
    "NOT",
    "AGGREGATE",
    "ON",
    "SELECT",
    "ASK",
    "INSERT",
    "DATA",
    "DELETE",
    "WHERE",
    "BIND",
    "AS",
    "FILTER",
    "COUNT",
)
WORDS = (*PREDICATES, *SIGNS, *KEYWORDS, "PREFIX")
GRAMMAR = (*WORDS, *(f" {word} " for word in WORDS), "\x00", "\n")
texts = st.one_of(st.lists(st.sampled_from(GRAMMAR), max_size=14).map("".join), st.text(max_size=20))
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), texts)
names = st.one_of(st.sampled_from(("iri", "blank", "text", "datatype", "language", "edge")), texts)
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)
MEDIA_TYPES = ("json", "sparql-query", "sparql-update", "x-www-form-urlencoded", "n-triples", "rdf+xml")
headers = st.fixed_dictionaries(
    {},
    optional={
        "accept": st.text(string.printable.strip(), max_size=20),
        "content-type": st.sampled_from((*(f"application/{name}" for name in MEDIA_TYPES), "text/turtle", "a", "")),
        "content-encoding": st.sampled_from(("gzip", "identity", "x")),
        "last-event-id": st.sampled_from(("", "1", "x", "9" * 30)),
        "authorization": st.sampled_from(("Bearer", "Bearer x", "x")),
    },
)
FINITE = [endpoint for endpoint in ENDPOINTS if endpoint.path != "/changes"]


@pytest.fixture(scope="module")
def made() -> Iterator[TestClient]:
    with client(seconds=2.0, body_bytes=100_000) as found:
        yield found


def check(answer: Any) -> None:
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    assert "Traceback" not in answer.text
    if answer.status_code >= 400:
        assert answer.json()["error"]["message"]


@settings(max_examples=200)
@given(
    st.sampled_from(FINITE),
    st.dictionaries(st.sampled_from([f.name for e in ENDPOINTS for f in e.fields]), texts, max_size=3),
    texts,
    st.one_of(st.binary(max_size=30), texts.map(lambda text: text.encode("utf-8", "replace"))),
    headers,
)
def test_any_parameters_and_bodies(
    made: TestClient, endpoint: Endpoint, given: dict[str, str], name: str, body: bytes, headers: dict[str, str]
) -> None:
    path = endpoint.path.partition("{")[0] + (quote(name.encode("utf-8", "replace")) if "{" in endpoint.path else "")
    parameters = {key: value.encode("utf-8", "replace").decode() for key, value in given.items()}
    check(made.request(endpoint.method, path, params=parameters, content=body, headers=headers))


@settings(max_examples=300)
@given(st.sampled_from([endpoint for endpoint in ENDPOINTS if endpoint.body is not None]), st.data())
def test_any_json(made: TestClient, endpoint: Endpoint, data: st.DataObject) -> None:
    assert endpoint.body is not None
    names = st.sampled_from([field.name for field in endpoint.body])
    values = st.one_of(documents, texts, st.dictionaries(texts, st.lists(st.lists(scalars, max_size=3), max_size=2)))
    document = data.draw(st.one_of(st.dictionaries(names, values, max_size=4), documents))
    sent = json.dumps(document).encode()
    check(made.request(endpoint.method, endpoint.path, content=sent, headers={"content-type": "application/json"}))


@settings(max_examples=200)
@given(st.sampled_from(("query", "update")), texts, st.sampled_from(("", "SELECT * { ", "INSERT DATA { ", "ASK {")))
def test_any_sparql(made: TestClient, kind: str, text: str, start: str) -> None:
    sent = (start + text).encode("utf-8", "replace")
    check(made.post("/sparql", content=sent, headers={"content-type": f"application/sparql-{kind}"}))


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"goal": ' + b"[" * 9000, b'{"goal": "' + b"(" * 50_000 + b'"}', b'{"limit": NaN, "goal": "x"}',
     b'{"limit": 1' + b"0" * 5000 + b"}", b'{"goal": 1, "goal": 2}', b"\xff", b"", b"null", b'"\\ud800"',
     b'{"goal": "edge(?x, ?y), ' + b"NOT " * 3000 + b'"}', b'{"goal": "edge(?x, ?y), ?x = ' + b"(1 + " * 3000 + b'"}',
     b'{"goal": "edge(?x, ?y), ?x = ' + b"-" * 20_000 + b'1"}'],
)  # fmt: skip
def test_bodies_that_are_hard_to_read(made: TestClient, body: bytes) -> None:
    check(made.post("/query", content=body, headers={"content-type": "application/json"}))


@pytest.mark.parametrize("start", ["SELECT * { FILTER(", "SELECT * {", "ASK { ?x "])
def test_sparql_that_is_hard_to_read(made: TestClient, start: str) -> None:
    for text in ("(" * 20_000, "{" * 20_000, "!" * 20_000 + "1", "^" * 20_000 + ":p ?y", "OPTIONAL {" * 3000):
        check(made.post("/sparql", content=start + text, headers={"content-type": "application/sparql-query"}))
