"""States: values that a change leaves alone, and one short way from a change to its maintenance."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError
from types import FrameType
from typing import Any

import pytest

from deltalog import KnowledgeBase
from deltalog.evaluation.maintenance.maintain import Maintenance
from deltalog.evaluation.state import ChangeRequest, apply
from deltalog.knowledge_base.calls import session_of

RULES = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). lonely(X) :- node(X), NOT path(X, _)."


def chain() -> KnowledgeBase:
    kb = KnowledgeBase(RULES)
    kb.add("edge", [(1, 2), (2, 3), (3, 4)])
    kb.add("node", [(1,), (4,)])
    kb.materialise()
    return kb


def _frames(frame: FrameType | None, first: str) -> list[str]:
    """The functions from one of the knowledge base to the frame."""
    found: list[str] = []
    while frame is not None:
        found.append(frame.f_code.co_name)
        if frame.f_code.co_name == first and frame.f_code.co_filename.endswith("facade.py"):
            return found
        frame = frame.f_back
    raise AssertionError(f"no {first}")


def test_a_removal_reaches_maintenance_in_few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, run, seen = chain(), Maintenance.run, list[list[str]]()

    def noted(maintenance: Maintenance[Any], update: Any) -> None:
        seen.append(_frames(sys._getframe(1), "update"))
        run(maintenance, update)

    monkeypatch.setattr(Maintenance, "run", noted)
    kb.update(remove={"edge": [(2, 3)]})
    (frames,) = seen
    assert len(frames) <= 7, frames


def test_a_state_does_not_change() -> None:
    kb = chain()
    session = session_of(kb)
    before = session.state
    paths = sorted(kb.facts("path"))
    kb.update(add={"edge": [(4, 5)]})
    assert session.state is not before
    assert sorted(session.contents_of(before).facts("path")) == paths
    with pytest.raises(FrozenInstanceError):
        before.prefixes = {}  # type: ignore[misc]


def test_apply_is_what_if_without_a_session() -> None:
    kb = chain()
    session = session_of(kb)
    rules = session.state.rule_set
    gone = {pred: table for pred, table in session.state.explicit.items() if pred.name == "node"}
    after, delta = apply(session.state, ChangeRequest(rules, remove=gone), session.how)
    assert list(session.contents_of(after).facts("lonely")) == [] and list(kb.facts("lonely")) == [(4,)]
    assert not delta.added_rules and delta.update is not None


def test_a_change_visits_only_extensions_that_it_concerns(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = chain()
    session = session_of(kb)
    for extension in session.how.extensions:
        monkeypatch.setattr(type(extension), "rewrite", lambda *_: pytest.fail("no quads, and no ontology"))
    assert kb.update(remove={"edge": [(1, 2)]}).removed.counts() == {"edge": 1, "path": 3}


def test_users_see_what_they_need() -> None:
    names = [name for name in dir(KnowledgeBase()) if not name.startswith("_")]
    assert len(names) <= 56, names
