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
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple
from urllib.request import ProxyHandler, build_opener

_SETTLE_SECONDS = 1.0  # in which Spark's status tracker hears of the end of a job; it takes milliseconds
_REST_TIMEOUT_SECONDS = 20.0  # for an answer of Spark's web UI

POLL_SECONDS = 0.01
COUNTED = ("jobs", "stages", "tasks", "shuffles")
BYTES = "shuffle_bytes"

logger = logging.getLogger(__name__)


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
    # Scopes that wait to be counted; Spark remembers a thousand jobs, and a scope has a few:
    max_uncounted: int = 64
    _totals: dict[str, int] = field(init=False)
    _waiting: list[str] = field(default_factory=list)  # tags of scopes that are not counted yet
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._totals = dict.fromkeys((*COUNTED, BYTES) if self.context.uiWebUrl else COUNTED, 0)

    def scope_ended(self, tag: str, has_group: bool = True) -> None:
        """The jobs with this tag are done. `has_group`: they are also a job group. (In a stream, the group is that of
        the query: without a web UI, these jobs cannot be told from others, and are not counted.)"""
        if not has_group and BYTES not in self._totals:
            return
        with self._lock:
            self._waiting.append(tag)
            if len(self._waiting) >= self.max_uncounted:
                self._count_waiting()

    def snapshot(self) -> dict[str, int]:
        """The totals so far."""
        with self._lock:
            self._count_waiting()
            return dict(self._totals)

    def _count_waiting(self) -> None:
        tags, self._waiting = self._waiting, []
        if not tags:
            return
        jobs, stages = self._by_rest(tags) or self._by_tracker(tags)
        for job in jobs:
            self._count([stages[stage] for stage in job.stages if stage in stages and stages[stage].tasks])

    def _by_rest(self, tags: Sequence[str]) -> tuple[list[Job], dict[int, Stage]] | None:
        """The jobs with tags and the stages that are done; None without a web UI, or once it has not answered."""
        if BYTES not in self._totals:
            return None
        rest = RestInterface(self.context, _REST_TIMEOUT_SECONDS)
        try:
            return self._settled(lambda: rest.jobs(tags)), rest.stages()
        except (OSError, ValueError, KeyError) as problem:
            logger.debug("the web UI does not answer: %s", problem)
            del self._totals[BYTES]
            return None

    def _by_tracker(self, groups: Sequence[str]) -> tuple[list[Job], dict[int, Stage]]:
        """The same for job groups."""
        jobs = self._settled(lambda: _jobs_by_tracker(self.context, groups))
        return jobs, _stages_by_tracker(self.context, jobs)

    def _settled(self, jobs_now: Callable[[], list[Job]]) -> list[Job]:
        """The jobs, once Spark knows that they have ended; it is given a moment for that."""
        until = time.monotonic() + _SETTLE_SECONDS
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


class RestInterface(NamedTuple):
    """The REST interface of the web UI."""

    context: Any
    timeout_seconds: float

    def jobs(self, tags: Sequence[str] | None = None) -> list[Job]:
        """The jobs that have one of some tags; without tags, all jobs of the session."""
        found = self._get("jobs")
        if tags is not None:
            found = [job for job in found if not set(tags).isdisjoint(job["jobTags"])]
        return [Job(job["status"] == "RUNNING", job["stageIds"]) for job in found]

    def stages(self) -> dict[int, Stage]:
        """The stages that are done."""
        found = self._get("stages?status=complete")
        return {stage["stageId"]: Stage(stage["numCompleteTasks"], stage["shuffleWriteBytes"]) for stage in found}

    def _get(self, what: str) -> list[dict[str, Any]]:
        address = f"{self.context.uiWebUrl}/api/v1/applications/{self.context.applicationId}/{what}"
        with build_opener(ProxyHandler({})).open(address, timeout=self.timeout_seconds) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found


def _jobs_by_tracker(context: Any, groups: Sequence[str]) -> list[Job]:
    tracker = context.statusTracker()
    found = (tracker.getJobInfo(job) for group in groups for job in tracker.getJobIdsForGroup(group))
    return [Job(job.status == "RUNNING", list(job.stageIds)) for job in found if job is not None]


def _stages_by_tracker(context: Any, jobs: Sequence[Job]) -> dict[int, Stage]:
    tracker = context.statusTracker()
    found = (tracker.getStageInfo(stage) for stage in {stage for job in jobs for stage in job.stages})
    return {stage.stageId: Stage(stage.numCompletedTasks, None) for stage in found if stage is not None}
