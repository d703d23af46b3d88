"""What follows from the fields of `Tuning`."""

from __future__ import annotations

from dataclasses import fields

import pytest

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning

# Thresholds that are derived, and the values that benchmarks have found for them.
DERIVED = {
    "distinct_min_rows": 1 << 14,
    "multiway_min_facts": 1 << 11,
    "multiway_check_min_facts": 1 << 8,
    "replan_min_rows": 4_000_000,
    "replan_growth_factor": 8,
    "tree_exchange_factor": 4,
    "tree_growth_factor": 2,
    "tree_min_rows": 20_000,
    "tree_min_worst_case_rows": 2_000_000,
    "tree_cost_margin_when_safer": 64,
    "nested_loop_max_facts": 1 << 14,
    "batch_update_max_rows": 1 << 13,
    "rounds_max_facts": 1 << 18,
    "rounds_max_matches": 1 << 20,
    "rounds_min_matches_per_call": 1 << 12,
    "rounds_expressions_per_round": 8,
    "recompute_all_large_share": 0.2,
    "recompute_all_min_changed_facts_of_large_share": 50,
    "recompute_spread_notice_factor": 256,
    "underivable_check_max_facts": 1 << 14,
    "jobs_per_recursive_stratum": 8,
    "tombstone_scan_divisor": 16,
    "closure_point_lookup_factor": 16,
    "fence_min_rows": 1 << 12,
    "product_min_left_rows": 1 << 9,
    "bit_matrix_min_pairs": 1 << 12,
    "product_max_listed_pairs": 1 << 24,
    "equality_listed_pairs": 1 << 20,
    "skolem_cache_parts": 1 << 17,
    "goal_cost_rows": 10_000,
    "qsqr_first_batch_rows": 64,
    "explain_max_program_bytes": 1 << 20,
    "spark_arrow_max_values": 8_000_000,
    "spark_broadcast_max_terms": 2_000_000,
    "store_min_change_rows": 100_000,
    "store_unused_share": 0.25,
    "state_kept_versions": 3,
}


def test_derived_thresholds_have_the_values_that_were_measured() -> None:
    properties = {name for name, value in vars(Tuning).items() if isinstance(value, property)}
    assert {name: getattr(Tuning(), name) for name in properties} == DERIVED


def test_there_are_few_fields() -> None:
    assert len(fields(Tuning)) <= 60


def test_a_threshold_follows_the_cost_that_it_is_derived_from() -> None:
    assert Tuning(planning_cost_rows=10_000).tree_min_rows == 2 * Tuning().tree_min_rows
    assert Tuning(lookup_cost_rows=0).tombstone_scan_divisor == 0


def test_a_derived_threshold_cannot_be_set() -> None:
    with pytest.raises(TypeError, match="tree_min_rows"):
        KnowledgeBase(tuning=Tuning(tree_min_rows=1.0))  # type: ignore[call-arg]
