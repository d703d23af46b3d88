"""The report of a pipeline run: what was read, derived and written, how long it took, and the lineage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase


@dataclass(slots=True)
class Transfer:
    """What was read from a source, or written to a sink. `rows` are distinct, for a source those that no source before
    it has; `bytes` are those of files, or None."""

    name: str
    target: str
    predicates: list[str]
    rows: int | None = None
    bytes: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Violation:
    """The facts of the predicate of a constraint: how many, and some of them."""

    constraint: str
    predicate: str
    count: int
    limit: int
    action: str
    columns: tuple[str, ...] = ()
    sample: tuple[tuple[Any, ...], ...] = ()

    @property
    def exceeded(self) -> bool:
        return self.count > self.limit

    def as_json(self) -> dict[str, Any]:
        sample = [[value if isinstance(value, int | float) else str(value) for value in row] for row in self.sample]
        return {**asdict(self), "exceeded": self.exceeded, "sample": sample}

    def __str__(self) -> str:
        rows = ", ".join(f"({', '.join(map(str, row))})" for row in self.sample)
        allowed = f" where {self.limit:,} are allowed" if self.limit else ""
        plural = "" if self.count == 1 else "s"
        return f"{self.count:,} violation{plural} of {self.predicate}{allowed}{f', such as {rows}' if rows else ''}"


@dataclass(slots=True)
class PipelineReport:
    """What a run did. `as_json` is what `--json` prints and `report.json` has."""

    pipeline: str
    engine: str = ""
    engine_reason: str = ""
    version: int | None = None  # of the state
    sources: list[Transfer] = field(default_factory=list)
    sinks: list[Transfer] = field(default_factory=list)
    facts: dict[str, int] = field(default_factory=dict)  # by predicate
    facts_in: int = 0
    rounds: int = 0
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    spark: dict[str, dict[str, int]] = field(default_factory=dict)  # jobs, stages, shuffles by stage
    changes: dict[str, dict[str, int]] = field(default_factory=dict)  # added and removed by predicate
    violations: list[Violation] = field(default_factory=list)
    lineage: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        made = asdict(self)
        made["violations"] = [one.as_json() for one in self.violations]
        made["seconds"] = {stage: round(seconds, 6) for stage, seconds in self.seconds.items()}
        return made

    @contextmanager
    def stage(self, name: str, kb: KnowledgeBase) -> Iterator[None]:
        """Measures a stage: its seconds, and what Spark did in it."""
        started, before = time.perf_counter(), kb.metrics()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
            self.spark[name] = _sum(self.spark.get(name, {}), before, kb.metrics())


def _sum(known: Mapping[str, int], before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {what: known.get(what, 0) + count - before.get(what, 0) for what, count in after.items()}
