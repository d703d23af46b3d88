"""The cases of tests/cases on Spark: a part of them with the driver's help, and a choice of them in DataFrames alone.

A case costs a second with the driver's help, and a few in DataFrames. So with its help every third case runs, and all
bugs that were found (all cases when DELTALOG_ALL_CASES is set); the choice for DataFrames is one that has every
construct of the language.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import test_cases

pytestmark = pytest.mark.usefixtures("spark")

CHOICE = (
    "atoms/arity_zero",
    "atoms/constants_in_bodies",
    "atoms/cross_product",
    "atoms/repeated_variables",
    "aggregates/count",
    "aggregates/distinct_values",
    "aggregates/of_nothing_in_a_join",
    "negation/existential",
    "aggregates/every_function",
    "recursion/through_several_heads",
    "conditions/coalesce",
    "comparisons/equal_numbers_of_different_types",
    "skolem/expressions",
    "arithmetic/overflow_fails",
)


STEP = 1 if os.environ.get("DELTALOG_ALL_CASES") else 3
PROGRAMS = [
    program
    for number, program in enumerate(test_cases.PROGRAMS)
    if number % STEP == 0 or program.parent.name == "regressions"
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_with_the_drivers_help(program: Path) -> None:
    test_cases.test_case(program, "spark")


@pytest.mark.parametrize("name", CHOICE)
def test_in_data_frames(name: str, in_frames: None) -> None:
    test_cases.test_case(test_cases.CASES / f"{name}.dl", "spark")
