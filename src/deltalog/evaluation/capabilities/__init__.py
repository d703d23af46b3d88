"""What a backend can do beyond the algebra. Each capability is a small protocol in a module of its own.

A backend declares what it has in its `capabilities`; an algorithm reads the field and has another way where it is None:

    lookups = backend.capabilities.point_lookup
    if lookups is None:
        ...  # by magic sets
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from deltalog.evaluation.capabilities.counting import Counting
from deltalog.evaluation.capabilities.data_frames import DataFrames
from deltalog.evaluation.capabilities.job_costs import JobCosts
from deltalog.evaluation.capabilities.metrics import EngineMetrics
from deltalog.evaluation.capabilities.offload import Offload
from deltalog.evaluation.capabilities.point_lookup import PointLookup
from deltalog.evaluation.capabilities.representatives import Representatives
from deltalog.evaluation.capabilities.residence import Residence
from deltalog.evaluation.capabilities.skolem_inverse import SkolemInverse
from deltalog.evaluation.capabilities.small_rounds import SmallRounds
from deltalog.evaluation.capabilities.tuple_maintenance import TupleMaintenance
from deltalog.evaluation.capabilities.virtual_relations import VirtualRelations

T = TypeVar("T")
C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities(Generic[T]):
    """The capabilities of a backend; None (or False) where it has none."""

    multiway_joins: bool = False  # plans may have `plan.ir.MultiJoin`
    tuple_maintenance: TupleMaintenance[T] | None = None
    small_rounds: SmallRounds[T] | None = None
    virtual_relations: VirtualRelations[T] | None = None
    representatives: Representatives[T] | None = None
    offload: Offload[T] | None = None
    skolem_inverse: SkolemInverse[T] | None = None
    point_lookup: PointLookup[T] | None = None
    counting: Counting[T] | None = None
    metrics: EngineMetrics | None = None
    job_costs: JobCosts[T] | None = None
    data_frames: DataFrames[T] | None = None
    residence: Residence[T] | None = None


def required(capability: C | None) -> C:
    """A capability of which the caller has made sure before, such as when it chose a strategy."""
    if capability is None:
        raise AssertionError("this backend does not have the capability")
    return capability
