"""The motivating example of Zhang et al. (hypertree decomposition): a cyclic rule whose joins explode, and whose answer
is small. `cw` and `ca` link n companies to k things each; every pair of things of one number shares one `pc` value.

With rule pc(X, Y) :- cw(X, Z1), ca(X, Z2), pc(Z1, Y), pc(Z2, Y) the pc facts are 2nk given and nk + k derived.
"""

from __future__ import annotations

Rows = list[tuple[str, str]]


def motivating(n: int = 30, k: int = 40) -> dict[str, Rows]:
    grid = [(i, i * k + j, j) for i in range(n) for j in range(1, k + 1)]
    return {
        "cw": [(f"a{i}", f"b{number}") for i, number, _ in grid] + [(f"a{n}", "a2")],
        "ca": [(f"a{i}", f"c{number}") for i, number, _ in grid] + [(f"a{n}", "a3")],
        "pc": [(f"{kind}{number}", f"d{j}") for kind in "bc" for _, number, j in grid],
    }
