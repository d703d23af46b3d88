"""docs/store.md describes the format: a reader that knows nothing else finds the same facts and rules."""

from __future__ import annotations

import math
import random
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from deltalog import IRI, BlankNode, KnowledgeBase, Literal
from deltalog.core.terms import DECIMAL, Kind, kind
from deltalog.knowledge_base.calls import session_of
from tests.store.plain_reader import Fact, Value, read_store

XSD = "http://www.w3.org/2001/XMLSchema#"
VALUES: list[Any] = [
    *(0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200), 10**30),
    *(0.0, 1.5, -2.25e300, math.inf, -math.inf, math.nan),
    *(True, False, "", "a", "ü\0店\n", "x" * 100, "12345678", "123456789", "\ud800"),
    *(IRI("http://e/a"), IRI("a"), BlankNode("b0"), date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 1, 5)),
    *(datetime(2024, 2, 29, 12, 30, tzinfo=UTC), Literal("hallo", language="de"), Literal("a\0b", language="en-gb")),
    *(Literal("1.50", XSD + "decimal"), Literal("7", XSD + "int"), Literal("POINT(1 2)", "http://e/wkt")),
]
RULES = """
PREFIX : <http://e/>
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).
n(?c) :- AGGREGATE(edge(?x, ?y) BIND COUNT(?x) AS ?c).
:Both[?x] :- :A[?x], NOT :B[?x] .
"""


def plain(value: Any) -> Value:
    """A value as the page says that it is stored."""
    what = int(kind(value))
    match value:
        case float():
            return what, int.from_bytes(struct.pack("<d", value), "little", signed=True)
        case bool():
            return what, "true" if value else "false"
        case int() if what == Kind.BIG_INTEGER:
            return what, f"{'-' if value < 0 else ''}{abs(value):x}"
        case Decimal():
            return what, f"{DECIMAL}\0{value}"
        case Literal():
            return what, f"{value.language or value.datatype}\0{value.text}"
        case date():
            return what, value.isoformat()
        case str():
            return what, str.__str__(value)
    return what, value


def explicit(kb: KnowledgeBase) -> set[Fact]:
    backend = session_of(kb).backend
    return {
        (pred.name, tuple(map(plain, row)))
        for pred, table in session_of(kb).state.explicit.items()
        for row in zip(*map(backend.codec.values, backend.rows(table)), strict=True)
    } | {
        (pred.name, ())
        for pred, table in session_of(kb).state.explicit.items()
        if not pred.arity and backend.size(table)
    }


def check(folder: Path, version: int) -> None:
    with KnowledgeBase.open(folder, readonly=True, version=version) as kb:
        found = read_store(folder, version)
        assert found.version == version
        assert found.facts == explicit(kb)
        assert found.rules == {name: str(rule) for name, rule in kb.rule_ids.items()}
        assert found.prefixes == kb.prefixes


@pytest.mark.parametrize("seed", range(4))
def test_another_reader_finds_every_version(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)

    def rows(arity: int, most: int = 30) -> list[tuple[Any, ...]]:
        values = [value for value in VALUES if isinstance(value, IRI | BlankNode)] if arity == 1 else VALUES
        return [tuple(random_.choice(values) for _ in range(arity)) for _ in range(random_.randint(0, most))]

    folder = tmp_path / "s"
    with KnowledgeBase(RULES) as kb:
        kb.add("edge", [(value, value) for value in VALUES])
        kb.save(folder)
        for number in range(12):
            names = ["edge", "path", f"p{random_.randint(0, 9)}", "http://e/A", "q", "wide"]
            arity = {"edge": 2, "path": 2, "http://e/A": 1, "q": 3, "wide": 5}
            add, remove = (
                {name: rows(arity.get(name, 2)) for name in random_.sample(names, 3)} for _ in ("add", "remove")
            )
            kb.update(add, remove)
            if number % 3 == 0:
                kb.change(add_rules=f"PREFIX p{number}: <http://p/>\nflag. r(X) :- edge(X, {number}).")
            if number % 4 == 1:
                kb.remove_rules(["r1", "flag."] if "r1" in kb.rule_ids else [])
                kb.add_rules("path(X, Y) :- edge(X, Y).")
            if number == 7:
                kb.compact(keep=2)
    versions = range(1, (kb.version or 0) + 1)
    assert len(versions) > 12
    for version in versions:
        check(folder, version)


def test_values_that_nothing_uses_are_left_out(tmp_path: Path) -> None:
    with KnowledgeBase() as kb:
        kb.add("p", [(i, str(i)) for i in range(1000)])
        kb.save(tmp_path / "s")
        kb.update(remove={"p": [(i, str(i)) for i in range(900)]})
        kb.compact()
    check(tmp_path / "s", 2)
