"""P^1(I), P^2(I), ...: what follows in one step, in two, and so on. More steps make harder goals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from deltalog.core.rules import Pred
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.maintenance.materialisation import start
from deltalog.evaluation.plan.variants import Variant
from deltalog.evaluation.seminaive import PlannedVariant, SemiNaive
from deltalog.program import Program

T = TypeVar("T")


def rounds(program: Program, explicit: Mapping[Pred, T], backend: Backend[T]) -> Iterator[dict[Pred, T]]:
    """The facts that are new in P^1(I), in P^2(I), ...; all rules over all facts each time."""
    evaluation = SemiNaive(program, start(explicit, backend))
    plans = [PlannedVariant(Variant(rule)) for node in program.hyper_nodes if not node.negated for rule in node.rules]
    while new := evaluation.derive(plans):
        yield new
        for pred, table in new.items():
            evaluation.relations.add(pred, table)
