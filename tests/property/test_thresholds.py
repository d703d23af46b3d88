"""The ways that only large data take, on small programs: thresholds are so low that everything goes through them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from programs import INTEGERS, MIXED, Example, Features, examples
from test_engines_agree import agrees

from deltalog.backends.local import evaluate, matrix, nested, probe, product, table
from deltalog.plan import body

COLUMNS = {(nested, "FEW"): 0}
SPARSE = {
    **COLUMNS,
    (product, "SMALL"): 0,
    (product, "WORTH_OFFSETS"): 1e9,
    (evaluate, "MORSEL"): 3,
}
DEAD = {(table, "MOST_DEAD"): 0, (probe, "WORTH_COMPACTING"): 0}
WAYS = {
    "columns": COLUMNS,
    "parallel": COLUMNS,
    "nested loops give up": {(nested, "ROOM"): 4, (nested, "MOST"): 16},
    "sparse products": SPARSE,
    "dense products": {**SPARSE, (matrix, "FEWEST_PAIRS"): 1, (matrix, "LEAST_FILLED"): 0},
    "distinct in between": {**COLUMNS, (body, "WORTH_DISTINCT"): 0, (evaluate, "MORSEL"): 2},
    "dead rows stay": DEAD,
    "dead rows stay, columns": {**COLUMNS, **DEAD},
    "large tables": {**COLUMNS, (probe, "FEW"): 0},
}


PARALLEL = ("parallel", "sparse products", "dense products")  # everything is dealt out to threads


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_naive(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, name), value in WAYS[way].items():
        monkeypatch.setattr(module, name, value)

    @settings(max_examples=max(100, settings().max_examples))
    @given(examples(Features(INTEGERS, functions=False, aggregates=False)))
    def joins(example: Example) -> None:
        agrees("local", example, way in PARALLEL)

    @settings(max_examples=50)
    @given(examples(Features(MIXED)))
    def mixed(example: Example) -> None:
        agrees("local", example, way in PARALLEL)

    joins()
    mixed()
