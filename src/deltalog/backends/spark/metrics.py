"""Driver: jobs, stages, tasks and shuffles of scopes of jobs (see `jobs`), from Spark's public sources.

The REST interface of the web UI knows the tags of jobs, and how many bytes a stage has written to a shuffle. Where the
UI is off or cannot be reached, the status tracker tells about the jobs of a job group; then there is no figure for the
bytes, and every stage of a job but its last one counts as a shuffle. (With adaptive execution, where a shuffle is a job
of its own, these are too few.)

Spark forgets old jobs (`spark.ui.retainedJobs`) and hears of new ones a moment later than the driver, so the jobs of a
scope are counted some time after its end, and before there are many of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple
from urllib.request import ProxyHandler, build_opener

from deltalog.model.tuning import Tuning

POLL_SECONDS = 0.01
HTTP_SECONDS = 5.0
COUNTED = ("jobs", "stages", "tasks", "shuffles")
BYTES = "shuffle_bytes"


class Job(NamedTuple):
    """A job that has ended: its stages, which may have been skipped."""

    running: bool
    stages: Sequence[int]


class Stage(NamedTuple):
    """A stage: how many of its tasks are done, and the bytes it has written to a shuffle, if they are known."""

    tasks: int
    shuffle_bytes: int | None


@dataclass(slots=True)
class JobMetrics:
    """The totals over the jobs of all scopes that have ended."""

    context: Any
    tuning: Tuning
    _totals: dict[str, int] = field(init=False)
    _waiting: list[tuple[str, float]] = field(default_factory=list)  # tags, and when their scopes ended
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._totals = dict.fromkeys((*COUNTED, BYTES) if self.context.uiWebUrl else COUNTED, 0)

    def scope_ended(self, tag: str) -> None:
        """The jobs with this tag are done."""
        with self._lock:
            self._waiting.append((tag, time.monotonic()))
            if len(self._waiting) >= self.tuning.spark_max_uncounted_scopes:
                self._count_waiting()

    def snapshot(self) -> dict[str, int]:
        """The totals so far."""
        with self._lock:
            self._count_waiting()
            return dict(self._totals)

    def _count_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        tags = [tag for tag, _ in waiting]
        until = waiting[-1][1] + self.tuning.spark_settle_seconds
        try:
            jobs = self._settled(lambda: _jobs_by_rest(self.context, tags), until)
            stages = _stages_by_rest(self.context)
        except (OSError, ValueError, KeyError):
            jobs = self._settled(lambda: _jobs_by_tracker(self.context, tags), until)
            stages = _stages_by_tracker(self.context, jobs)
            self._totals.pop(BYTES, None)
        for job in jobs:
            self._count([stages[stage] for stage in job.stages if stage in stages and stages[stage].tasks])

    def _settled(self, jobs_now: Callable[[], list[Job]], until: float) -> list[Job]:
        """The jobs, once Spark knows that they have ended; it is given a moment for that."""
        while True:
            jobs = jobs_now()
            if (jobs and not any(job.running for job in jobs)) or time.monotonic() > until:
                return jobs
            time.sleep(POLL_SECONDS)

    def _count(self, ran: Sequence[Stage]) -> None:
        """Adds a job with the stages that it ran."""
        totals, sizes = self._totals, [stage.shuffle_bytes for stage in ran if stage.shuffle_bytes is not None]
        totals["jobs"] += 1
        totals["stages"] += len(ran)
        totals["tasks"] += sum(stage.tasks for stage in ran)
        totals["shuffles"] += sum(size > 0 for size in sizes) if BYTES in totals else max(0, len(ran) - 1)
        if BYTES in totals:
            totals[BYTES] += sum(sizes)


# By the REST interface of the web UI.


def _jobs_by_rest(context: Any, tags: Sequence[str]) -> list[Job]:
    mine = set(tags)
    return [
        Job(job["status"] == "RUNNING", job["stageIds"])
        for job in _get(context, "jobs")
        if not mine.isdisjoint(job["jobTags"])
    ]


def _stages_by_rest(context: Any) -> dict[int, Stage]:
    stages = _get(context, "stages?status=complete")
    return {stage["stageId"]: Stage(stage["numCompleteTasks"], stage["shuffleWriteBytes"]) for stage in stages}


def _get(context: Any, what: str) -> list[dict[str, Any]]:
    if not context.uiWebUrl:
        raise OSError("the web UI is off")
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}"
    with build_opener(ProxyHandler({})).open(address, timeout=HTTP_SECONDS) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


# By the status tracker.


def _jobs_by_tracker(context: Any, groups: Sequence[str]) -> list[Job]:
    tracker = context.statusTracker()
    found = (tracker.getJobInfo(job) for group in groups for job in tracker.getJobIdsForGroup(group))
    return [Job(job.status == "RUNNING", list(job.stageIds)) for job in found if job is not None]


def _stages_by_tracker(context: Any, jobs: Sequence[Job]) -> dict[int, Stage]:
    tracker = context.statusTracker()
    found = (tracker.getStageInfo(stage) for stage in {stage for job in jobs for stage in job.stages})
    return {stage.stageId: Stage(stage.numCompletedTasks, None) for stage in found if stage is not None}
