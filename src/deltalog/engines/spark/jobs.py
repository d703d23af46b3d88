"""Driver: the Spark jobs of a backend: their names, their cancellation, and what they cost.

A block of code that runs jobs is a *scope* (`SparkJobs.named`). Its jobs have a description, which the Spark UI shows,
and a tag of their own, which is also their job group unless the thread has one: a group of the user's and its
cancellation stay in force. All this belongs to the thread and is restored at the end of the scope. A scope within a
scope changes only the description.

While a scope runs, a thread checks the limits of the call. At a limit it cancels the jobs with the tag, and the scope
raises LimitReached. An interrupt cancels them, too. Errors of Spark become EngineErrors of one line.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread, local
from typing import Any

from deltalog.core.errors import EngineError
from deltalog.core.limits import Limits
from deltalog.core.rules import Pred
from deltalog.engines.spark.failures import is_failure_of_spark, one_line
from deltalog.engines.spark.metrics import JobMetrics
from deltalog.evaluation.current_round import current_round

_WATCH_SECONDS = 0.1  # between two checks of the limits while Spark runs jobs

DESCRIPTION, GROUP = "spark.job.description", "spark.jobGroup.id"  # local properties of a thread
# Another one: whatever is marked and computed on the way to a result is checkpointed with it, and forgets its lineage.
ALL_CHECKPOINTS = "spark.checkpoint.checkpointAllMarkedAncestors"
NAMES_SHOWN = 3

logger = logging.getLogger(__name__)


def round_name(preds: Iterable[Pred]) -> str:
    """The name of the jobs that derive facts: predicates and round."""
    names = listed(_short(pred.name) for pred in preds)
    return f"{names}: round {current_round()}" if current_round() else names


def pred_names(what: str, preds: Iterable[Pred]) -> str:
    """The name of the jobs that do something with predicates, such as `write path`."""
    return f"{what} {listed(_short(pred.name) for pred in preds) or 'facts'}"


def _short(name: str) -> str:
    """The name of a predicate; of an IRI the last part."""
    return (re.split(r"[#/]", name)[-1] or name) if "://" in name else name


def listed(names: Iterable[str]) -> str:
    """The first few of some names."""
    found = list(names)
    more = len(found) - NAMES_SHOWN
    return ", ".join(found) if more <= 1 else f"{', '.join(found[:NAMES_SHOWN])} and {more} more"


@dataclass(slots=True)
class SparkJobs:
    """The jobs that a backend runs."""

    context: Any
    limits: Limits
    metrics: JobMetrics = field(init=False)
    _tags: Iterator[str] = field(init=False)
    _thread: local = field(default_factory=local)

    def __post_init__(self) -> None:
        name = uuid.uuid4().hex[:8]
        self._tags = (f"deltalog-{name}-{number}" for number in count(1))
        self.metrics = JobMetrics(self.context)

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """A scope; EngineError if Spark fails in it."""
        if getattr(self._thread, "inside", False):
            with self._described(what):
                yield
            return
        self._thread.inside = True
        tag, has_group = next(self._tags), self.context.getLocalProperty(GROUP) is None
        watch = Watch(lambda: self._cancel(tag), _WATCH_SECONDS)
        try:
            with self._tagged(tag, has_group), self._described(what), watch.during(self.limits):
                yield
        except BaseException as problem:
            if watch.stop is not None:
                raise watch.stop from None
            if not isinstance(problem, Exception):
                self._cancel(tag)
            if not is_failure_of_spark(problem):
                raise
            logger.debug("%s failed", what, exc_info=True)
            raise EngineError(f"Spark failed ({what}): {one_line(problem)}") from None
        finally:
            self._thread.inside = False
            self.metrics.scope_ended(tag, has_group)

    @contextmanager
    def _tagged(self, tag: str, has_group: bool) -> Iterator[None]:
        self.context.addJobTag(tag)
        checkpoints = self.context.getLocalProperty(ALL_CHECKPOINTS)
        self.context.setLocalProperty(ALL_CHECKPOINTS, "true")
        if has_group:
            self.context.setLocalProperty(GROUP, tag)
        try:
            yield
        finally:
            with suppress(Exception):  # the JVM is gone: what raised first says so
                self.context.removeJobTag(tag)
                self.context.setLocalProperty(ALL_CHECKPOINTS, checkpoints)
                if has_group:
                    self.context.setLocalProperty(GROUP, None)

    @contextmanager
    def _described(self, what: str) -> Iterator[None]:
        before = self.context.getLocalProperty(DESCRIPTION)
        self.context.setJobDescription(what)
        try:
            yield
        finally:
            with suppress(Exception):
                self.context.setJobDescription(before)

    def _cancel(self, tag: str) -> None:
        with suppress(Exception):
            self.context.cancelJobsWithTag(tag)


@dataclass(slots=True)
class Watch:
    """Checks the limits of a call in a thread of its own while jobs run; `stop` is what a check raised."""

    cancel: Callable[[], None]
    pause: float
    stop: BaseException | None = None

    @contextmanager
    def during(self, limits: Limits) -> Iterator[None]:
        running = limits.running_now
        if running is None or (running.deadline is None and limits.memory is None):
            yield
            return
        done = Event()
        thread = Thread(target=self._watch, args=(running.check, done), name="deltalog-limits", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _watch(self, check: Callable[[], None], done: Event) -> None:
        while not done.wait(self.pause):
            try:
                if self.stop is None:
                    check()
            except BaseException as stop:
                self.stop = stop
            if self.stop is not None:  # again and again: another job may have begun since
                self.cancel()
