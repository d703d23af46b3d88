"""Exp of Zhang et al.: expression trees that rules evaluate, each for many sets of values (`instances`).

An expression is a binary tree: its root is an operation, any other node above the greatest depth is one with a
probability that gives 11.4 operations an expression at depth 5, and a node that is not an operation is a leaf. For each
leaf and instance there is an evaluation with a value. With o operations there are l = o + expressions leaves, and

    3 l instances + 3 o + l + expressions    facts are given     (eval, instance, value; type, left, right; type; root)
    3 o instances                            facts are derived   (eval, instance, value)

Seed 22 has 3,420 operations in 300 expressions, so that 300 expressions of 300 instances have exactly the 3,362,280 and
6,440,280 facts of the paper's Table 1. Values are -2 to 2: at depth 5 no value leaves 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.generators.draws import Ints, between, uniform

NAMESPACE = "http://example#"
OPERATION = 0.71  # the chance of a node to be an operation
KINDS = np.array(["Plus", "Minus", "Times"])


@dataclass(frozen=True)
class Trees:
    """Nodes by number: expression * width + place in a heap, where place p has the children 2 p and 2 p + 1."""

    roots: Ints
    operations: Ints
    leaves: Ints
    width: int

    def children(self) -> tuple[Ints, Ints]:
        expression, place = np.divmod(self.operations, self.width)
        left = expression * self.width + 2 * place
        return left, left + 1


def trees(expressions: int, depth: int = 5, seed: int = 22) -> Trees:
    width = 2 ** (depth + 1)
    present = np.ones((expressions, 1), bool)
    operations, leaves = [], []
    for level in range(depth + 1):
        places = 2**level + np.arange(2**level)
        nodes = np.arange(expressions)[:, None] * width + places
        inner = present & _is_operation(expressions, places, level, depth, seed)
        operations.append(nodes[inner])
        leaves.append(nodes[present & ~inner])
        present = np.repeat(inner, 2, axis=1)
    return Trees(np.arange(expressions) * width + 1, np.concatenate(operations), np.concatenate(leaves), width)


def _is_operation(
    expressions: int, places: Ints, level: int, depth: int, seed: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    if level in (0, depth):
        return np.full((expressions, len(places)), level == 0)
    indexes = np.arange(expressions)[:, None] * 2**depth + places
    return uniform(seed, "expression", indexes.ravel()).reshape(indexes.shape) < OPERATION


def lines(expressions: int, instances: int, depth: int = 5, seed: int = 22) -> Iterator[str]:
    """The N-Triples."""
    made = trees(expressions, depth, seed)
    kinds = KINDS[between(seed, "kind", made.operations, 0, 2)]
    for root in made.roots.tolist():
        yield f"<{NAMESPACE}n{root}> <{NAMESPACE}isRootOf> <{NAMESPACE}x{root}> .\n"
    for leaf in made.leaves.tolist():
        yield f"<{NAMESPACE}n{leaf}> <{NAMESPACE}hasType> <{NAMESPACE}Value> .\n"
    left, right = made.children()
    for node, kind, a, b in zip(made.operations.tolist(), kinds.tolist(), left.tolist(), right.tolist(), strict=True):
        yield f"<{NAMESPACE}n{node}> <{NAMESPACE}hasType> <{NAMESPACE}{kind}> .\n"
        yield f"<{NAMESPACE}n{node}> <{NAMESPACE}hasLhs> <{NAMESPACE}n{a}> .\n"
        yield f"<{NAMESPACE}n{node}> <{NAMESPACE}hasRhs> <{NAMESPACE}n{b}> .\n"
    yield from _evaluations(made.leaves, instances, seed)


def _evaluations(leaves: Ints, instances: int, seed: int) -> Iterator[str]:
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"
    values = between(seed, "value", np.arange(len(leaves) * instances), -2, 2).tolist()
    for number, leaf in enumerate(leaves.tolist()):
        for instance in range(instances):
            evaluation = f"<{NAMESPACE}v{leaf}_{instance}>"
            yield f"<{NAMESPACE}n{leaf}> <{NAMESPACE}eval> {evaluation} .\n"
            yield f"{evaluation} <{NAMESPACE}instance> <{NAMESPACE}i{instance}> .\n"
            yield f'{evaluation} <{NAMESPACE}value> "{values[number * instances + instance]}"^^{integer} .\n'


def write(expressions: int, instances: int, path: Path) -> None:
    with path.open("w") as out:
        out.writelines(lines(expressions, instances))
