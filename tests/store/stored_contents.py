"""What a knowledge base of a store has, for comparisons, and a small store to begin with."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from deltalog import KnowledgeBase
from deltalog.core.terms import key
from deltalog.evaluation.facts import of_predicate
from deltalog.knowledge_base.calls import session_of

RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
lonely(X) :- node(X), NOT path(X, X).
degree(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
named(X, S) :- node(X), BIND(SKOLEM(X) AS S).
"""
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a folder in memory, if there is one
Rows = dict[str, frozenset[tuple[object, ...]]]


class Contents(NamedTuple):
    """All that a user can see of a version."""

    version: int | None
    explicit: Rows
    facts: Rows
    rules: dict[str, str]
    prefixes: dict[str, str]


def contents(kb: KnowledgeBase) -> Contents:
    """Reads all facts, and so all of the files."""
    kb.materialise()
    explicit = {
        str(pred): _rows(of_predicate(pred, table, session_of(kb).backend))
        for pred, table in session_of(kb).state.explicit.items()
    }
    facts = {name: _rows(kb.facts(name)) for name in kb.predicates}
    rules = {name: str(rule) for name, rule in kb.rule_ids.items()}
    return Contents(kb.version, _filled(explicit), _filled(facts), rules, dict(kb.prefixes))


def _rows(facts: Any) -> frozenset[tuple[object, ...]]:
    return frozenset(tuple(map(key, row)) for row in facts)


def _filled(rows: Rows) -> Rows:
    return {name: found for name, found in rows.items() if found}


def opened(folder: Path, version: int | None = None) -> Contents:
    """The contents of a version of a store."""
    with KnowledgeBase.open(folder, readonly=True, version=version) as kb:
        return contents(kb)


def small_store(folder: Path, **options: Any) -> KnowledgeBase:
    """A store with rules of several kinds, at version 1."""
    kb = KnowledgeBase("PREFIX : <http://e.x/>\n" + RULES, **options)
    kb.add("edge", [(1, 2), (2, 3), (3, 1), (3, "four"), ("four", 5.5)])
    kb.add("node", [(value,) for value in (1, 2, 3, "four", 5.5, 10**30)])
    kb.save(folder)
    return kb


def in_child(check: Callable[[], None]) -> None:
    """Calls a function in a forked process; what fails there fails here."""
    assert exit_code(check) == 0, "it failed in the child"


def exit_code(function: Callable[[], None]) -> int:
    """How a forked process ends that calls a function: 0, 1 if it raises, or minus the number of a signal."""
    return end_of(forked(function))


def end_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked(function: Callable[[], None]) -> int:
    """The id of a forked process that calls a function, and ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child
