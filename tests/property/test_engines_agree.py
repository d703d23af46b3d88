"""Every engine finds what the naive engine finds, on random programs.

A failure prints a program with its facts: save it under tests/cases/regressions as a case.
"""

from __future__ import annotations

import pytest
from conftest import ENGINES, as_sets, materialise
from hypothesis import given, settings
from programs import DECIMALS, INTEGERS, MIXED, Example, Features, examples

from deltalog.core.tuning import Tuning

OTHERS = [engine for engine in ENGINES if engine != "naive"]
KINDS = {
    "joins": Features(INTEGERS, functions=False, aggregates=False),
    "integers": Features(INTEGERS),
    "mixed": Features(MIXED),
    "nested": Features(MIXED, nested=True),
    "decimals": Features(DECIMALS),
    "mixed-joins": Features(MIXED, functions=False, aggregates=False),
}


def agrees(engine: str, example: Example, parallel: bool = False, tuning: Tuning | None = None) -> None:
    facts = {pred.name: rows for pred, rows in example.facts.items() if rows}
    expected = as_sets(materialise("naive", example.program, facts))
    assert as_sets(materialise(engine, example.program, facts, parallel=parallel, tuning=tuning)) == expected


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_naive(engine: str, kind: str) -> None:
    @settings(max_examples=max(300, settings().max_examples))
    @given(examples(KINDS[kind]))
    def check(example: Example) -> None:
        agrees(engine, example)

    check()
