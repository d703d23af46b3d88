"""Random histories on Spark: triples with variable predicates and classes, aggregates, closures, several arities."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.property.history_generator import history
from tests.property.history_player import run


def played(seed: int, steps: int) -> None:
    story = history(seed)
    run(replace(story, options={**story.options, "engine": "spark"}, steps=story.steps[:steps]))


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("seed", range(16))
def test_histories_on_spark_agree_with_naive(seed: int) -> None:
    played(seed, 2)


@pytest.mark.usefixtures("everything_far")
@pytest.mark.parametrize("seed", [6, 17] if os.environ.get("DELTALOG_SLOW") else [6])  # programs with triples
def test_histories_in_frames_agree_with_naive(seed: int) -> None:
    played(seed, 1)
