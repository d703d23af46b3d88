"""Wind farms: DS1 and DS2 of Xu and Curé (section 6.1), for its Rule Sets 1, 2 and 3.

DS1    turbine i has the neighbour i + 1, and every turbine measures an air temperature. All are then neighbours of all:
       n (n - 1) neighbour facts; and 3 n facts about them (a count, a median, more than three), the 160,800 of Table 1
       for 400 turbines; and one fact for each of the sensors that are made to measure nonsense.
DS2    a chain of n turbines, its quarters linked by p1, p2, p3 and p4 in turn, as in the data that the authors
       published (there with 200). p5, which the rules negate, links every tenth pair of the p2 and p3 quarters.
"""

from __future__ import annotations

import numpy as np

from benchmarks.generators.draws import Ints, between, uniform

ANOMALY = 0.02
DEGREES = (18, 22)


def neighbours(turbines: int, seed: int = 0) -> dict[str, Ints]:
    """DS1."""
    number = np.arange(turbines)
    temperature = between(seed, "temperature", number, *DEGREES)
    temperature = np.where(broken(turbines, seed), temperature + 40, temperature)
    return {
        "hasNeighbour": np.column_stack([number[:-1], number[1:]]),
        "hasAirTemperatureMesurement": np.column_stack([number, temperature]),
    }


def broken(turbines: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which sensors measure nonsense."""
    return uniform(seed, "broken", np.arange(turbines)) < ANOMALY


def neighbours_size(turbines: int, seed: int = 0) -> int:
    """How many facts Rule Set 1 derives, hasNeighbour included, for more than four turbines."""
    return turbines * (turbines - 1) + 3 * turbines + int(broken(turbines, seed).sum())


def relations(turbines: int) -> dict[str, Ints]:
    """DS2: as many links as turbines, a quarter of each kind, and p5."""
    if turbines % 4:
        raise ValueError(f"{turbines} turbines cannot be divided by 4")
    number = np.arange(turbines)
    links = np.column_stack([number, number + 1])
    kinds = {f"p{i + 1}": part for i, part in enumerate(np.split(links, 4))}
    quarter = turbines // 4
    return kinds | {"p5": links[quarter : 3 * quarter : 10]}
