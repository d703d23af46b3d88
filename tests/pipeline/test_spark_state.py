"""Knowledge bases that are saved and opened: rules, facts and materialisation are those of the naive engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deltalog import KnowledgeBase, ProgramError
from deltalog.apps.pipelines.state import PipelineState, WantedChange, change
from deltalog.core.tuning import Tuning
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.changes import encoded
from tests.property.history_generator import history
from tests.property.history_model import PREFIX, TUNINGS, History, is_rule, rows
from tests.property.history_player import everything, from_scratch

SEEDS = 200 if os.environ.get("DELTALOG_SLOW") else 12
FEW_DELTAS = {"state_max_deltas": 2, "compact_delta_share": 100.0, "store_kept_snapshots": 1}


class Player:
    """Plays a history. After each step the state is committed, and the next step opens it again."""

    def __init__(self, story: History, spark: Any, uri: str, engines: tuple[str, ...]) -> None:
        self.story, self.spark, self.uri, self.engines = story, spark, uri, engines
        self.tuning = Tuning(**{**TUNINGS[story.tuning], **FEW_DELTAS})  # type: ignore[arg-type]
        self.rules, self.facts = list(dict.fromkeys(story.rules)), set(story.facts)

    def opened(self, number: int) -> KnowledgeBase:
        options: Mapping[str, Any] = {**self.story.options, "engine": self.engines[number % len(self.engines)]}
        session = {} if options["engine"] == "local" else {"spark": self.spark}
        return KnowledgeBase(PREFIX + "\n".join(self.rules), tuning=self.tuning, **options, **session)

    def play(self) -> tuple[int, int]:
        """How many versions were restored without evaluation, and how many were opened."""
        kb = self.opened(0)
        for predicate, found in rows(sorted(self.facts)).items():
            kb.add(predicate, found)
        state = PipelineState.open(self.spark, self.uri)
        state.commit(kb, None)
        restored = opened = 0
        for number, step in enumerate(self.story.steps, 1):
            before = from_scratch(self.rules, self.facts)
            gone = set(step.remove).difference(step.add)
            unchanged = self.rules, self.facts
            self.rules = [rule for rule in self.rules if rule not in gone]
            self.rules += [line for line in dict.fromkeys(step.add) if is_rule(line) and line not in self.rules]
            self.facts = (self.facts - gone) | {line for line in step.add if not is_rule(line)}
            try:
                expected = from_scratch(self.rules, self.facts)
            except ProgramError:
                self.rules, self.facts = unchanged
                continue
            kb, state = self.opened(number), PipelineState.open(self.spark, self.uri)
            rules = session_of(kb).state.rule_set.rules
            state.load(kb)
            restored, opened = restored + (session_of(kb).state.materialised is not None), opened + 1
            assert everything(kb) == before, f"step {number}\n{self.story}"
            facts = [
                encoded(session_of(kb), rows(line for line in lines if not is_rule(line)))
                for lines in (step.add, step.remove)
            ]
            made = change(
                kb,
                lambda kb=kb, rules=rules, facts=facts: WantedChange(
                    session_of(kb).state.rule_set.becoming(rules), *facts
                ),
            )  # type: ignore[misc]
            assert made is not None
            assert everything(kb) == expected, f"step {number}\n{self.story}"
            state.commit(kb, made[1])
            assert set(kb.rules) == set(KnowledgeBase(PREFIX + "\n".join(self.rules)).rules)
        return restored, opened


def check(seed: int, spark: Any, folder: Path, *engines: str) -> None:
    player = Player(history(seed), spark, str(folder / "state"), engines)
    restored, opened = player.play()
    assert restored == opened, "a state that was saved with the same options is restored, and not computed again"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_histories_with_a_saved_state_agree_with_naive(seed: int, spark: Any, tmp_path: Path) -> None:
    check(seed, spark, tmp_path, "local")


@pytest.mark.parametrize("seed", [3, 6, 17])
def test_a_state_may_be_opened_by_either_engine(seed: int, spark: Any, tmp_path: Path) -> None:
    check(seed, spark, tmp_path, "local", "spark")


@pytest.mark.usefixtures("everything_far")
@pytest.mark.parametrize("seed", [6])
def test_executors_write_and_read_a_state(seed: int, spark: Any, tmp_path: Path) -> None:
    check(seed, spark, tmp_path, "spark", "local")
