"""Text in rows is text, and a literal is not the subject of a triple."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest

from deltalog import IRI, DataError, DataWarning, KnowledgeBase, UsageError

PROGRAM = "PREFIX : <http://e/>\n:q(?x) :- :p(?x, _) ."
TABLES = [
    [(":zoe", 1)],
    pa.table({"a": [":zoe"], "b": [1]}),
    polars.DataFrame({"a": [":zoe"], "b": [1]}),
]


@pytest.mark.parametrize("engine", ["local", "naive"])
@pytest.mark.parametrize("data", TABLES)
def test_literal_subjects_are_refused(engine: str, data: Any) -> None:
    kb = KnowledgeBase(PROGRAM, engine=engine)
    with pytest.raises(UsageError, match=r'row 1 .*IRI\("http://e/zoe"\)'):
        kb.add(":p", data)
    with pytest.raises(UsageError, match=r'\{"iri": "http://e/zoe"\}'):
        kb.update(add={":p": data})
    assert kb.explicit_facts == 0


def test_the_row_is_named() -> None:
    with pytest.raises(UsageError, match=r"row 2 \(3,\): .* 3 is a literal"):
        KnowledgeBase(PROGRAM).add(":C", [(IRI("http://e/a"),), (3,)])


def test_tables_of_iri_predicates(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(":zoe,1\n")
    kb = KnowledgeBase(PROGRAM)
    with pytest.raises(DataError, match=r"t.csv: http://e/p/2, row 1 .*<http://e/zoe>"):
        kb.load(tmp_path / "t.csv", predicate=":p")
    (tmp_path / "t.csv").write_text("<http://e/zoe>,1\n")
    kb.load(tmp_path / "t.csv", predicate=":p")
    assert (IRI("http://e/zoe"),) in kb.facts(":q")


def test_other_predicates_and_removals_take_text() -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.add("edge", [("a", "b")])
    kb.update(remove={":p": [("a", "b")]})
    kb.remove(":p", [("a", "b")])
    assert kb.explicit_facts == 1


@pytest.mark.parametrize("engine", ["local", "naive"])
def test_prefixed_names_are_refused_in_removals(engine: str) -> None:
    """They would remove nothing without a word."""
    kb = KnowledgeBase(PROGRAM, engine=engine)
    kb.add(":p", [(IRI("http://e/zoe"), IRI("http://e/b"))])
    with pytest.raises(UsageError, match=r'IRI\("http://e/zoe"\)'):
        kb.update(remove={":p": [(":zoe", IRI("http://e/b"))]})
    with pytest.raises(UsageError, match=r'IRI\("http://e/zoe"\)'):
        kb.remove(":p", [(":zoe", IRI("http://e/b"))])
    with pytest.warns(DataWarning, match=r"':b' is text, not an IRI"):
        kb.update(remove={":p": [(IRI("http://e/zoe"), ":b")]})


def test_objects_that_look_like_prefixed_names() -> None:
    kb = KnowledgeBase(PROGRAM)
    with pytest.warns(DataWarning, match=r"':acme' is text, not an IRI.*IRI\(\"http://e/acme\"\)"):
        kb.add(":p", [(IRI("http://e/zoe"), ":acme")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kb.add(":p", [(IRI("http://e/zoe"), text) for text in ("acme", "other:acme", "http://e/", ": x")])


def test_derived_facts_are_read_back(tmp_path: Path) -> None:
    kb = KnowledgeBase("PREFIX : <http://e/>\n:r(?y) :- p(_, ?y) .")
    kb.add("p", [("a", "b")])
    kb.write(tmp_path / "out")
    other = KnowledgeBase()
    with pytest.warns(DataWarning, match="'b' is text"):
        other.load(tmp_path / "out")
    assert list(other.facts("http://e/r")) == [("b",)]
