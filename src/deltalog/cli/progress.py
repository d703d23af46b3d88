"""Progress of a run on standard error."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalog.engine.report import Round


@dataclass(slots=True)
class Progress:
    """A line that is rewritten on a terminal, or a line every few seconds elsewhere."""

    quiet: bool
    last: float = 0.0
    open_line: bool = False

    def say(self, text: str) -> None:
        if not self.quiet:
            self.end()
            print(text, file=sys.stderr, flush=True)

    def round(self, round_: Round) -> None:
        """Shows a round: hyper-node, round, new facts, facts per second, facts in total."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if self.quiet or now - self.last < (0.1 if terminal else 5.0):
            return
        self.last = now
        rate = round_.new / round_.seconds if round_.seconds else 0.0
        text = (
            f"hyper-node {round_.hyper_node + 1}/{round_.hyper_nodes}, round {round_.number}: "
            f"{round_.new:,} new facts ({rate:,.0f}/s), {round_.total:,} total"
        )
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self.open_line = True
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends a rewritten line."""
        if self.open_line:
            print(file=sys.stderr)
            self.open_line = False


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
