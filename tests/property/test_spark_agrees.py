"""The Spark engine finds what the naive engine finds, in DataFrames alone, on a handful of random programs."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import as_sets, materialise
from hypothesis import HealthCheck, Phase, given, settings
from programs import DECIMALS, INTEGERS, MIXED, Example, Features, examples


def agrees(example: Example) -> None:
    facts = {pred.name: rows for pred, rows in example.facts.items() if rows}
    expected = as_sets(materialise("naive", example.program, facts))
    assert as_sets(materialise("spark", example.program, facts)) == expected


@pytest.mark.parametrize("values", [INTEGERS, MIXED, DECIMALS], ids=["integers", "mixed", "decimals"])
def test_random_programs(values: Any, in_frames: None) -> None:
    @settings(max_examples=5, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(examples(Features(values)))
    def check(example: Example) -> None:
        agrees(example)

    check()
