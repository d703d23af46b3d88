"""The ways that only large data take, on small programs: thresholds are so low that everything goes through them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from programs import INTEGERS, MIXED, Example, Features, examples
from test_engines_agree import agrees

from deltalog.backends.local import bit_matrix, index_join, join_project, nested_loop, pipeline, table
from deltalog.model.tuning import Tuning

COLUMNS = {(nested_loop, "FEW"): 0}
SPARSE = {
    **COLUMNS,
    (join_project, "SMALL"): 0,
    (join_project, "WORTH_OFFSETS"): 1e9,
    (pipeline, "MORSEL"): 3,
}
DEAD = {(table, "MOST_DEAD"): 0, (index_join, "WORTH_COMPACTING"): 0}
WAYS = {
    "columns": COLUMNS,
    "parallel": COLUMNS,
    "nested loops give up": {(nested_loop, "ROOM"): 4, (nested_loop, "MOST"): 16},
    "sparse products": SPARSE,
    "dense products": {**SPARSE, (bit_matrix, "FEWEST_PAIRS"): 1, (bit_matrix, "LEAST_FILLED"): 0},
    "distinct in between": {**COLUMNS, (pipeline, "MORSEL"): 2},
    "dead rows stay": DEAD,
    "dead rows stay, columns": {**COLUMNS, **DEAD},
    "large tables": {**COLUMNS, (index_join, "FEW"): 0},
}


TUNINGS = {"distinct in between": Tuning(distinct_min_rows=0)}
PARALLEL = ("parallel", "sparse products", "dense products")  # everything is dealt out to threads


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_naive(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, name), value in WAYS[way].items():
        monkeypatch.setattr(module, name, value)

    @settings(max_examples=max(100, settings().max_examples))
    @given(examples(Features(INTEGERS, functions=False, aggregates=False)))
    def joins(example: Example) -> None:
        agrees("local", example, way in PARALLEL, TUNINGS.get(way))

    @settings(max_examples=50)
    @given(examples(Features(MIXED)))
    def mixed(example: Example) -> None:
        agrees("local", example, way in PARALLEL, TUNINGS.get(way))

    joins()
    mixed()
