"""States: values that a change leaves alone, and one short way from a change to its maintenance."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from deltalog import KnowledgeBase, LimitReached, Settings, UsageError
from deltalog.evaluation.goals.selector import Model
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


def test_a_reader_takes_over_the_selector_of_the_writer(tmp_path: Path) -> None:
    model = Model("tree", "tree", {"tree": 1}, None, "mine", 0, 0.0)
    with KnowledgeBase("p(X) :- q(X). q(1).") as writer:
        writer.save(tmp_path / "s")
        reader = KnowledgeBase.open(tmp_path / "s", readonly=True)
        writer.training.selector = model
        writer.update({"q": [(2,)]})
        assert reader.refresh() == 2
        assert reader.training.selector == model
        writer.compact()
        reader = KnowledgeBase.open(tmp_path / "s", readonly=True, version=2)
        assert reader.training.selector == model


def test_a_frozen_state_is_one_of_its_knowledge_base(tmp_path: Path) -> None:
    class Own(KnowledgeBase):
        pass

    with Own("q(X, Y) :- p(X), BIND(1 / X AS Y). p(0). p(1).") as kb:
        kb.save(tmp_path / "s")
        kb.update({"p": [(2,)]})
        frozen = kb.frozen()
        assert type(frozen) is Own and frozen.version == kb.version == 2
    fresh = KnowledgeBase("q(X, Y) :- p(X), BIND(1 / X AS Y). p(0). p(a).")
    assert fresh.frozen().report.failed_expressions == fresh.report.failed_expressions > 0


def test_rows_of_a_generator_are_read_within_the_limits() -> None:
    kb, clock = KnowledgeBase("r(X) :- p(X).", timeout=1.0), [0.0]
    kb.materialise()
    kb.limits.clock = lambda: clock[0]

    def slow() -> Iterator[tuple[int]]:
        for number in range(4):
            clock[0] += 0.5
            yield (number,)

    with pytest.raises(LimitReached):
        kb.update({"p": slow()})


def test_a_store_opens_with_the_settings_that_are_given(tmp_path: Path) -> None:
    with KnowledgeBase("p(a).", settings=Settings(maintenance="bf", default_graph="unnamed")) as kb:
        kb.save(tmp_path / "s")
    with KnowledgeBase.open(tmp_path / "s") as kb:
        assert session_of(kb).settings.maintenance == "bf"
    given = Settings(maintenance="counting", default_graph="unnamed")
    with KnowledgeBase.open(tmp_path / "s", settings=given) as kb:
        assert session_of(kb).settings == given
    with pytest.raises(UsageError, match="default graph"):
        KnowledgeBase.open(tmp_path / "s", settings=Settings(default_graph="union"))


@pytest.mark.parametrize("wrong", [{}, [], 0, {"maintenance": "bf"}])
def test_settings_are_settings(wrong: Any) -> None:
    with pytest.raises(UsageError, match="Settings"):
        KnowledgeBase(settings=wrong)


def test_outputs_that_a_limit_stopped_are_derived_again() -> None:
    program = """
        .decl e(x:number, y:number)
        .decl t(x:number, y:number)
        .decl o(y:number)
        t(x, y) :- e(x, y).
        t(x, z) :- t(x, y), e(y, z).
        o(y) :- t(0, y).
        .output o
        .pragma "magic-transform" "*"
    """
    kb = KnowledgeBase(program, language="souffle", max_facts=12)
    kb.add("e", [(i, i + 1) for i in range(20)])
    assert not kb.materialise_outputs(partial=True).complete
    kb.limits.max_facts = None
    assert kb.materialise_outputs().complete and len(kb.facts("o")) == 20
