"""Soufflé programs in stores: with 32-bit arithmetic, records and stages, they are kept as they were written."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltalog import DataError, KnowledgeBase, UsageError
from deltalog.apps.cli.main import main
from deltalog.extensions.store.verify import repair, verify
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.souffle import program as souffle_program
from tests.souffle.test_souffle_changes import PROGRAMS, Story, shortest, some_facts, steps, visible
from tests.store.plain_reader import read_store
from tests.store.stored_contents import contents

ORDINARY = """
.type Box = [n : number, name : symbol]
.decl n(x : number)
.decl box(b : Box)
.decl later(x : number, c : number)
.decl rank(name : symbol, o : number)
n(2147483646).
n(x + 1) :- n(x), x % 1000 > 640.
box([x, "a"]) :- n(x).
later(x, c) :- n(x), c = count : { n(y), y > x }.
rank(s, ord(s)) :- box([_, s]).
"""
MORE = ".type Pair = [a : number, b : number]\n.decl n(x : number)\n.decl two(p : Pair)\ntwo([x, x * 2]) :- n(x).\n"
WRAPPED = {(2147483646,), (2147483647,), (-2147483648,)}


@pytest.mark.filterwarnings("ignore::deltalog.DeltalogWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=8, deadline=None)
@given(start=some_facts, history=st.lists(steps, min_size=1, max_size=3), again=st.lists(steps, max_size=2))
def test_histories(name: str, start: Any, history: list[Any], again: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        story = Story(PROGRAMS[name], start)
        story.kb.save(place)
        versions = {1: contents(story.kb)}
        for steps_ in (history, again):
            for step in steps_:
                story.step(*step)
                versions[story.kb.version or 0] = contents(story.kb)
            story.kb.close()
            story.kb = KnowledgeBase.open(place)
            assert visible(story.kb) == story.facts
        story.kb.close()
        for version, wanted in versions.items():
            with KnowledgeBase.open(place, version=version) as old:
                assert contents(old) == wanted
            plain = read_store(place, version)
            assert plain.rules == wanted.rules
            assert len(plain.facts) == sum(map(len, wanted.explicit.values()))
        assert verify(place).is_sound


def test_ordinary_programs(tmp_path: Path) -> None:
    kb = KnowledgeBase(ORDINARY)
    kb.save(tmp_path / "store")
    kb.update(add={"n": [(641,)]}, remove={"n": [(2147483646,)]})
    wanted = contents(kb)
    assert kb.count("n") == 360
    kb.close()
    with KnowledgeBase.open(tmp_path / "store", version=1) as opened:
        assert session_of(opened).state.materialised is not None  # restored, and not derived again
        assert set(opened.facts("n")) == WRAPPED
        assert set(opened.facts("rank")) == {("a", 0)}
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert contents(opened) == wanted
        assert "n(?x)" in str(opened.explain("n(700)"))


def test_programs_that_are_added(tmp_path: Path) -> None:
    kb = shortest()
    kb.save(tmp_path / "store")
    kb.add_rules(MORE)
    kb.update(add={"n": [(3,)]})
    kb.remove_rules("r2")
    kb.add_rules(MORE)
    wanted = contents(kb)
    assert wanted.facts["two"] and verify(tmp_path / "store").is_sound
    kb.close()
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert contents(opened) == wanted
        opened.compact()
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert contents(opened) == wanted


def test_included_files_are_kept(tmp_path: Path) -> None:
    program, part = tmp_path / "program.dl", tmp_path / "part.dl"
    part.write_text(".once\n.decl n(x : number)\nn(x + STEP) :- n(x), x < LAST.\n")
    program.write_text('#define LAST 3\n.include "part.dl"\n#include "parts/../part.dl"\n#include <last.dl>\nn(1).\n')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "last.dl").write_text(
        '.include "../part.dl"\n.decl last(x : symbol)\nlast(__FILE__) :- n(LAST).'
    )
    kb = KnowledgeBase(program, include_dirs=tmp_path / "parts", macros={"STEP": "1"})
    kb.save(tmp_path / "store")
    kb.close()
    program.unlink()
    rmtree(tmp_path / "parts")
    part.unlink()
    with KnowledgeBase.open(tmp_path / "store") as opened:
        opened.update(add={"n": [(-1,)]})
        assert set(opened.facts("n")) == {(-1,), (0,), (1,), (2,), (3,)}
        assert list(opened.facts("last")) == [(str(tmp_path / "parts" / "last.dl"),)]


def test_formats(tmp_path: Path) -> None:
    """What can be said in deltalog's own language is stored as before, so earlier releases read it."""
    for name, text, number in [
        ("old", ".decl p(x : number)\n.decl q(x : number)\np(x) :- q(x).", 2),
        ("new", ORDINARY, 3),
    ]:
        kb = KnowledgeBase(text)
        kb.save(tmp_path / name)
        kb.close()
        [manifest] = (tmp_path / name).glob("snapshots/*/manifest.json")
        assert json.loads(manifest.read_text())["format"] == number


def test_another_release_may_make_other_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase(ORDINARY.replace("ord(s)", "strlen(s)"))
    kb.add_rules("big(?x) :- n(?x), ?x > 5 .")
    kb.save(tmp_path / "store")
    kb.update(add={"n": [(999,)]}, remove={"n": [(2147483646,)]})
    kb.add_rules("small(?x) :- n(?x), NOT big(?x) .")
    wanted = visible(kb)
    kb.close()
    monkeypatch.setattr(souffle_program, "_label", lambda _: "other")
    for _ in range(2):
        with KnowledgeBase.open(tmp_path / "store") as opened:
            assert visible(opened) == wanted
            opened.update(add={"n": [(-4,)]})
            opened.update(remove={"n": [(-4,)]})
            opened.compact()
    assert verify(tmp_path / "store").is_sound


def test_repair(tmp_path: Path) -> None:
    kb = shortest()
    kb.save(tmp_path / "store")
    kb.update(remove={"edge": [("c", "b", 1)]})
    wanted = contents(kb)
    kb.close()
    (tmp_path / "store" / "catalog.db").write_bytes(b"damaged")
    with pytest.raises(DataError):
        KnowledgeBase.open(tmp_path / "store")
    assert repair(tmp_path / "store").repaired
    with KnowledgeBase.open(tmp_path / "store") as opened:
        assert set(opened.facts("dist")) == {("a", 0), ("b", 2), ("c", 1), ("d", 3)}
        opened.update(remove={"edge": [("c", "b", 1)]})
        assert contents(opened).facts == wanted.facts


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dist.dl").write_text("""
        .decl edge(x : symbol, y : symbol, w : number)
        .input edge
        .decl dist(x : symbol, d : number)
        .output dist
        dist("a", 0).
        dist(y, d + w) :- dist(x, d), edge(x, y, w).
        dist(x, a) <= dist(x, b) :- b < a.
    """)
    Path("edge.facts").write_text("a\tb\t4\na\tc\t1\nc\tb\t1\n")
    Path("new").mkdir()
    Path("new/edge.csv").write_text("c,b,1\n")

    def said(*arguments: str) -> str:
        capsys.readouterr()
        assert main(arguments) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    said("run", "dist.dl", "--store", "store", "--quiet")
    assert said("query", "store", "dist(b, ?d)").split() == ["2"]
    assert '"dist": 1' in said("update", "store", "--remove", "new", "--json")
    assert said("query", "store", "dist(b, ?d)").split() == ["4"]
    assert said("query", "store", "dist(b, ?d)", "--at", "1").split() == ["2"]
    assert "in an order" in said("explain", "store", "dist(b, 4)")
    assert "+0 -1 facts" in said("log", "store")
    said("store", "verify", "store")
    said("store", "export", "store", "--format", "csv", "--out", "tables")
    assert "b,4" in "".join(path.read_text() for path in Path("tables").rglob("*.csv"))
    said("store", "compact", "store")
    said("update", "store", "--add", "new")
    assert said("query", "store", "dist(b, ?d)").split() == ["2"]


def test_spark(tmp_path: Path, spark: Any) -> None:
    from deltalog.spark import export_store

    kb = shortest()
    kb.save(tmp_path / "store")
    kb.close()
    with KnowledgeBase.open(tmp_path / "store", engine="spark", spark=spark) as opened:
        opened.update(remove={"edge": [("c", "b", 1)]})
        assert set(opened.facts("dist")) == {("a", 0), ("b", 4), ("c", 1), ("d", 5)}
    with pytest.raises(UsageError, match="cannot have existential rules, or Soufflé programs"):
        export_store(tmp_path / "store", str(tmp_path / "state"), spark)
