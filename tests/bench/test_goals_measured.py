"""The benchmark of goals: what it says of measurements, and how it keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.queries import Measured, line, read, report, table, together, write
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.fit_model import Judged

FEATURES = Features(9.0, 5.0, 3.0, 2.0, 1.0)


def measured(name: str) -> Measured:
    from deltalog.evaluation.goals.training_goals import Example

    small = Example("p(a)", FEATURES, 0.001, 0.010, 1e-4, 2.0, 20)
    near = Example("p(b)", FEATURES, 0.0105, 0.010, 1e-4, 2.0, 9_000)
    large = Example("p(?x)", FEATURES, None, 0.5, 1e-4, 2.0)
    judged = (Judged("qsqr", "qsqr", 0.001), Judged("qsqr", "qsqr", 0.011), Judged("qsqr", "magic", 0.52))
    return Measured(name, 1_000, (small, near, large), judged, 0.4, 0.01, {"Q1": 60.0})


def test_figures_of_a_setting() -> None:
    found = line(measured("tiny"))
    assert found["always QSQ-R"] == pytest.approx(2.0115) and found["always magic"] == pytest.approx(0.52)
    assert found["ideal"] == pytest.approx(0.511) and found["learned"] == pytest.approx(0.532)
    assert found["right"] == pytest.approx(2 / 3)  # strictly, as in the paper
    assert found["right or within 10 %"] == 1.0 and found["right by features alone"] == pytest.approx(1 / 3)


def test_results_are_kept_and_reported(tmp_path: Path) -> None:
    two = [measured("one"), measured("two")]
    write(tmp_path / "results.json", two)
    assert list(read(tmp_path / "results.json").values()) == two
    assert together(two).facts == 2_000 and len(together(two).examples) == 6
    report(tmp_path / "out", two)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.json",
        "table.md",
        "seconds.svg",
        "right.svg",
    }
    assert "| Q1 60 |" in table([line(two[0])])
