"""Progress of a command on standard error: a bar on a terminal (`deltalog.knowledge_base.progress_bar`), lines elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deltalog.apps.cli.options import counted
from deltalog.core.watching import FileRead
from deltalog.evaluation.report import RoundSeries
from deltalog.knowledge_base.progress_bar import ProgressBar, Status, TerminalBar, is_terminal

SECONDS_BETWEEN_LINES = 5.0


class Progress(Status):
    """A context that shows what is heard. `lines`: messages, and rounds now and then where there is no bar; `verbose`:
    also each file that is read."""

    def __init__(self, *, lines: bool = True, bar: bool = True, verbose: bool = False) -> None:
        super().__init__()
        self._lines, self._verbose, self._last = lines, verbose, 0.0
        self._bar = ProgressBar(self, TerminalBar) if bar and is_terminal() else None

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self.end()

    def end(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.__exit__()
            self._bar = None

    def say(self, text: str) -> None:
        """A line for whoever waits."""
        if self._lines:
            self._print(text)

    def detail(self, text: str) -> None:
        """A line for whoever asked for all of them."""
        if self._verbose:
            self._print(text)

    def read(self, file: FileRead) -> None:
        super().read(file)
        size = f"{counted(file.facts, 'fact')}, {counted(file.bytes, 'byte')}"
        self.detail(f"read {file.path}: {size} in {file.seconds:.2f} s")

    def rounds(self, series: RoundSeries) -> None:
        """Shows rounds now and then: hyper-node, round, new facts, facts per second, facts in total."""
        super().rounds(series)
        now = time.monotonic()
        if self._bar is not None or not self._lines or now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        rate = series.found / series.seconds if series.seconds else 0.0
        self._print(
            f"hyper-node {series.hyper_node + 1}/{series.hyper_nodes}, round {series.last}: "
            f"{series.new[-1]:,} new facts ({rate:,.0f}/s), {self.facts:,} total"
        )

    def _print(self, text: str) -> None:
        if self._bar is not None:
            self._bar.say(text)
        else:
            print(text, file=sys.stderr, flush=True)


@contextmanager
def log_messages(say: Callable[[str], None]) -> Iterator[None]:
    """Hands the messages of the library's logger to `say`."""
    handler, logger = logging.Handler(logging.INFO), logging.getLogger("deltalog")
    handler.emit = lambda record: say(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
