"""The table of `benchmarks.growth`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import growth


def row(way: str, seconds: float, facts: int = 3) -> dict[str, Any]:
    hidden = {"rows": 10, "bytes": 160}
    return {
        "data": "exp:1x1",
        "way": way,
        "materialise": seconds,
        "facts": [facts],
        "peak": 2_000_000,
        "hidden": hidden,
    }


def test_ratios_are_to_the_first_way() -> None:
    text = growth.table(
        [row("standard", 3.0), row("combined", 0.1), {"data": "exp:1x1", "way": "hypertree", "why": "late"}]
    )
    lines = text.splitlines()
    assert "| 3.00 |" in lines[2] and "0.1000 (30.0 x)" in lines[3] and "late" in lines[4]


def test_different_numbers_of_facts_are_found() -> None:
    assert growth.different([row("standard", 1.0), row("combined", 1.0)]) == []
    assert growth.different([row("standard", 1.0), row("combined", 1.0, 4)]) == ["exp:1x1"]


def test_a_way_is_measured_over_small_data(tmp_path: Path) -> None:
    growth.prepared("motivating:5x4", tmp_path)
    found = growth.measured(tmp_path, "combined", growth.PARTS)
    assert set(growth.TASKS) <= set(found)
    assert found["facts"][0] == found["facts"][2] == 2 * 21 + 2 * 20 + 24 > found["facts"][1]
