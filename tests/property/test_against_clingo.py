"""Every engine, the naive one too, finds what clingo finds."""

from __future__ import annotations

import clingo_oracle
import pytest
from conftest import as_sets, materialise
from hypothesis import given, settings
from programs import INTEGERS, SYMBOLS, Example, Features, examples

KINDS = {
    "integers": Features(INTEGERS, functions=False, aggregates=False),
    "symbols": Features(SYMBOLS, order=False, functions=False, aggregates=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_clingo(engine: str, kind: str) -> None:
    @settings(max_examples=max(150, settings().max_examples))
    @given(examples(KINDS[kind]))
    def check(example: Example) -> None:
        facts = {pred.name: rows for pred, rows in example.facts.items() if rows}
        expected = {pred.name: rows for pred, rows in clingo_oracle.materialise(example).items()}
        assert as_sets(materialise(engine, example.program, facts)) == as_sets(expected)

    check()
