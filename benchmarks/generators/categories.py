"""A category graph like the one of DBpedia: skos:broader between categories, with long chains and a few cycles.

Category i has between one and four broader categories (2.0 on average), numbers below i, most of them near i in the
square-root sense, so that chains are long; one edge in a thousand goes the wrong way, which makes cycles as in DBpedia.
Every category is also declared a skos:Concept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.generators.draws import Ints, between, uniform

SKOS = "http://www.w3.org/2004/02/skos/core#"
CATEGORY = "http://dbpedia.org/resource/Category:C"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
MOST = 4
WRONG = 0.001


def broader(categories: int, seed: int = 0) -> Ints:
    """Distinct rows (category, broader category): 2 (categories - 1) of them, or as many as there can be."""
    wanted = 2 * (categories - 1)
    number = np.repeat(np.arange(1, categories), MOST)
    place = np.tile(np.arange(MOST), categories - 1)
    indexes = np.arange(len(number))
    parent = np.floor(number * uniform(seed, "broader", indexes) ** 2).astype(np.int64)
    kept = place <= np.repeat(between(seed, "parents", np.arange(1, categories), 0, MOST - 2), MOST)
    rows = np.column_stack([number, np.minimum(parent, number - 1)])
    order = np.concatenate([np.flatnonzero(place == 0), np.flatnonzero(kept & (place > 0)), np.flatnonzero(~kept)])
    rows = _distinct(rows[order])[:wanted]
    wrong = uniform(seed, "wrong", np.arange(len(rows))) < WRONG
    return _distinct(np.where(wrong[:, None], rows[:, ::-1], rows))


def _distinct(rows: Ints) -> Ints:
    """Each row once, where it first was."""
    _, first = np.unique(rows[:, 0] << 32 | rows[:, 1], return_index=True)
    return rows[np.sort(first)]


def lines(categories: int, seed: int = 0) -> Iterator[str]:
    concept, middle = f"> <{TYPE}> <{SKOS}Concept> .\n", f"> <{SKOS}broader> <{CATEGORY}"
    for number in range(categories):
        yield f"<{CATEGORY}{number}{concept}"
    for category, parent in broader(categories, seed).tolist():
        yield f"<{CATEGORY}{category}{middle}{parent}> .\n"


def write(categories: int, path: Path, seed: int = 0) -> None:
    with path.open("w") as out:
        out.writelines(lines(categories, seed))
