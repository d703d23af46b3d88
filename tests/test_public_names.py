"""What docs, messages and tracebacks call `deltalog.X` can be imported from deltalog."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import deltalog
from deltalog import DeltalogError, KnowledgeBase

ROOT = Path(__file__).parent.parent
NAME = re.compile(r"\bdeltalog\.([A-Z]\w*)")
IMPORTED = re.compile(r"from deltalog import ([\w, ]+)")


def mentioned() -> set[str]:
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    found = set[str]()
    for path in files:
        text = path.read_text("utf-8")
        found.update(NAME.findall(text))
        if path.suffix == ".md":
            found.update(name.strip() for names in IMPORTED.findall(text) for name in names.split(","))
    return found - {""}


def test_names_that_docs_and_messages_mention() -> None:
    names = mentioned()
    assert {"KnowledgeBase", "Answers", "Change", "UnknownPredicate"} <= names
    assert [name for name in sorted(names) if not hasattr(deltalog, name)] == []


def test_exceptions_are_where_tracebacks_say() -> None:
    for each in walk_packages(deltalog.__path__, "deltalog."):
        if each.name.startswith(("deltalog.core", "deltalog.extensions.store", "deltalog.formats")):
            import_module(each.name)
    waiting, wrong = [DeltalogError], []
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__ == "deltalog" and getattr(deltalog, kind.__name__, None) is not kind:
            wrong.append(kind)
    assert wrong == []


def test_every_public_name_is_there() -> None:
    assert [name for name in deltalog.__all__ if not hasattr(deltalog, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = deltalog.Nothing


def test_an_unknown_predicate_can_be_caught() -> None:
    with pytest.raises(deltalog.UnknownPredicate):
        KnowledgeBase("p(1).").facts("q")
