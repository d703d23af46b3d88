"""A sample of the metamorphic campaign; `metamorphic` runs many more programs."""

from __future__ import annotations

import pytest

from tests.property import metamorphic
from tests.property.metamorphic_changes import CHANGES, Changed
from tests.property.small_language import Rule

PROGRAMS, BATCH = 100, 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_changes_of_programs_change_no_answers(first: int) -> None:
    for seed in range(first, first + BATCH):
        metamorphic.run(metamorphic.trial(seed))


def test_the_sample_has_every_kind_of_change() -> None:
    applied = {name for seed in range(PROGRAMS) for name in metamorphic.trial(seed).changed()[1]}
    assert applied == set(CHANGES)


@pytest.mark.filterwarnings("ignore")
def test_a_wrong_change_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_last_literal(changed: Changed) -> bool:
        rules = changed.program.rules
        return changed.having([Rule(rule.heads, rule.body[:-1]) for rule in rules if len(rule.body) > 1])

    for name in CHANGES:
        monkeypatch.setitem(CHANGES, name, without_last_literal)
    assert any(metamorphic.failure(metamorphic.trial(seed)) for seed in range(BATCH))
