"""The ways that only large data take, on small programs: thresholds are so low that everything goes through them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from programs import INTEGERS, MIXED, Example, Features, examples
from test_engines_agree import agrees

from deltalog.core.tuning import Tuning

COLUMNS = Tuning(nested_loop_max_leaf_rows=1)
SPARSE = replace(COLUMNS, small_table_rows=0, lookup_cost_rows=10**9, product_min_candidates_per_row=0, morsel_rows=3)
TOMBSTONES = Tuning(tombstone_max_divisor=0)
WAYS = {
    "columns": COLUMNS,
    "parallel": COLUMNS,
    "nested loops give up": Tuning(kernel_call_max_matches=16),
    "sparse products": SPARSE,
    "dense products": replace(SPARSE, bit_matrix_min_bits_per_word=0),
    "sorted products": replace(SPARSE, product_min_candidates_per_row=10**9),
    "distinct in between": replace(COLUMNS, nested_loop_max_leaf_rows=0, morsel_rows=2),
    "tombstones stay": TOMBSTONES,
    "tombstones stay, columns": replace(TOMBSTONES, nested_loop_max_leaf_rows=0),
    "large tables": replace(COLUMNS, small_table_rows=0),
}


PARALLEL = ("parallel", "sparse products", "dense products")  # everything is dealt out to threads


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_naive(way: str) -> None:
    @settings(max_examples=max(100, settings().max_examples))
    @given(examples(Features(INTEGERS, functions=False, aggregates=False)))
    def joins(example: Example) -> None:
        agrees("local", example, way in PARALLEL, WAYS[way])

    @settings(max_examples=50)
    @given(examples(Features(MIXED)))
    def mixed(example: Example) -> None:
        agrees("local", example, way in PARALLEL, WAYS[way])

    joins()
    mixed()
