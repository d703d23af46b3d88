"""The programs of docs/coming-from.md, in their own languages and in ours, derive the same facts.

Soufflé's, Nemo's and RDFox's programs are run by deltalog as they are, SQL by SQLite; there is no Prolog here, so of
that section only our own program is run.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from documentation import blocks, page

from deltalog import IRI, KnowledgeBase

EDGES = [("oslo", "malmo"), ("malmo", "berlin"), ("berlin", "malmo"), ("malmo", "rome"), ("oslo", "rome")]
PREFIX = "http://example.org/"
SECTIONS = dict(section.split("\n", 1) for section in page("docs/coming-from.md").split("\n## ")[1:])
Facts = dict[str, set[tuple[str, ...]]]


def facts(kb: KnowledgeBase, base: str = "") -> Facts:
    names = {"path": "path", "degree": "degree", "end": "End" if base else "end"}
    return {
        name: {tuple(str(value).removeprefix(base) for value in row) for row in kb.facts(base + place)}
        for name, place in names.items()
    }


def by_rules(program: str) -> Facts:
    kb = KnowledgeBase(program)
    kb.add("edge", EDGES)
    return facts(kb)


def by_triples(program: str) -> Facts:
    kb = KnowledgeBase(f"PREFIX : <{PREFIX}>\n{program}")
    kb.add(PREFIX + "edge", [(IRI(PREFIX + x), IRI(PREFIX + y)) for x, y in EDGES])
    return facts(kb, PREFIX)


def by_sql(statements: str) -> Facts:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE edge (x TEXT, y TEXT)")
    database.executemany("INSERT INTO edge VALUES (?, ?)", EDGES)
    database.executescript(statements)
    return {
        name: {tuple(map(str, row)) for row in database.execute(f'SELECT * FROM "{name}"')}
        for name in ("path", "degree", "end")
    }


def by_nemo(program: str, folder: Path) -> Facts:
    (folder / "edge.csv").write_text("".join(f"{x},{y}\n" for x, y in EDGES), encoding="utf-8")
    (folder / "path.rls").write_text(program, encoding="utf-8")
    kb = KnowledgeBase(folder / "path.rls")
    kb.load_inputs(folder)
    return facts(kb)


@pytest.mark.parametrize("system", SECTIONS)
def test_both_programs_derive_the_same(system: str, tmp_path: Path) -> None:
    section = SECTIONS[system]
    theirs, ours = (blocks("text", section) + blocks("sql", section))[0], blocks("prolog", section)[0]
    found = (by_triples if system == "RDFox" else by_rules)(ours)
    assert len(found["path"]) == 9 and found["end"] == {("rome",)} and ("malmo", "2") in found["degree"]
    if system == "Nemo":
        assert by_nemo(theirs, tmp_path) == found
    elif system != "Prolog":
        assert {"Soufflé": by_rules, "RDFox": by_triples, "SQL": by_sql}[system](theirs) == found
