"""A progress bar for calls that take long: phase, hyper-node and round, facts, facts per second, time.

A thread of its own shows it, so that time goes on where nothing is heard for a while. It appears when a call takes
longer than a moment, and rich is loaded only then; what is quick shows nothing and loads nothing. On a terminal it is a
line that is rewritten, and gone at the end; in a notebook it is an output that is updated. Elsewhere there is none.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Protocol

from deltalog.core.watching import FileRead, Watcher, watching
from deltalog.evaluation.report import Round, RoundSeries

MOMENT = 0.4  # seconds that pass before a bar appears
EVERY = 0.1  # seconds between two looks at what is going on
RATE_SECONDS = 3.0  # that the rate is an average of


@dataclass
class Status(Watcher):
    """What goes on, as far as it was heard of. Other threads may read it at any time."""

    name: str = "load"
    facts: int = 0
    part: str = ""  # of the phase: a file, or a hyper-node and its round
    done: float = 0.0  # of `whole`: bytes, or hyper-nodes
    whole: float = 0.0  # zero: nobody knows
    started: float = field(default_factory=time.monotonic)
    _samples: deque[tuple[float, int]] = field(default_factory=deque)
    _sizes: dict[Path, int] = field(default_factory=dict)
    _position: Callable[[], int] = field(default=int)

    def phase(self, name: str) -> None:
        if name != self.name:
            self.name, self.part, self.done, self.whole = name, "", 0.0, 0.0

    def reading(self, paths: list[Path]) -> None:
        self._sizes = {path: _size(path) for path in paths}
        self.done, self.whole = 0.0, float(sum(self._sizes.values()))
        self.part = str(paths[0].name) if paths else ""

    def opened(self, position: Callable[[], int]) -> None:
        self._position = position

    def read(self, file: FileRead) -> None:
        self._position = int
        self.facts += file.facts
        self.done += file.bytes
        self._sizes.pop(file.path, None)
        self.part = next((path.name for path in self._sizes), "")

    def evaluating(self, hyper_node: int, hyper_nodes: int) -> None:
        self.name, self.done, self.whole = "evaluate", float(hyper_node), float(hyper_nodes)
        self.part = f"hyper-node {hyper_node + 1} of {hyper_nodes}"

    def round(self, round_: Round) -> None:
        self.rounds(RoundSeries.of(round_))

    def rounds(self, series: RoundSeries) -> None:
        self.evaluating(series.hyper_node, series.hyper_nodes)
        self.part += f", round {series.last:,}"
        self.facts = max(self.facts, series.total)

    @property
    def share(self) -> float | None:
        """How much of the phase is over, from 0 to 1; None if nobody knows."""
        try:
            here = self._position()
        except (OSError, ValueError):  # it was closed just now
            here = 0
        return min(1.0, (self.done + here) / self.whole) if self.whole else None

    def rate(self, now: float) -> float:
        """Facts per second, of the last seconds."""
        self._samples.append((now, self.facts))
        while now - self._samples[0][0] > RATE_SECONDS:
            self._samples.popleft()
        (first, before), passed = self._samples[0], now - self._samples[0][0]
        return 0.0 if passed < EVERY or first == now else (self.facts - before) / passed


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class Shown(Protocol):
    """What is on the screen while a bar is."""

    def update(self, status: Status) -> None: ...

    def say(self, text: str) -> None: ...

    def close(self) -> None: ...


class TerminalBar:
    """A line at the bottom of the terminal of standard error, by rich."""

    def __init__(self, status: Status) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        text = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("phase", "part", "facts", "elapsed")]
        self._bar = Progress(
            text[0], BarColumn(20), *text[1:], console=Console(stderr=True), transient=True, auto_refresh=False
        )
        self._task = self._bar.add_task("", total=None, phase="", part="", facts="", elapsed="")
        self.update(status)
        self._bar.start()

    def update(self, status: Status) -> None:
        phase, part, facts, elapsed = described(status)
        share = status.share
        total, done = (None, 0.0) if share is None else (1.0, share)
        self._bar.update(
            self._task, total=total, completed=done, refresh=True, phase=phase, part=part, facts=facts, elapsed=elapsed
        )

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()


class NotebookBar:
    """An output of a notebook's cell."""

    def __init__(self, status: Status) -> None:
        from IPython.display import display

        self._handle = display(self._html(status), display_id=True)  # type: ignore[no-untyped-call]

    def update(self, status: Status) -> None:
        self._handle.update(self._html(status))

    def say(self, text: str) -> None:
        print(text, file=sys.stderr)

    def close(self) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(""))  # type: ignore[no-untyped-call]

    @staticmethod
    def _html(status: Status) -> Any:
        from html import escape

        from IPython.display import HTML

        phase, *texts = described(status)
        share = "" if status.share is None else f' value="{status.share:.3f}"'
        words = " · ".join(escape(text) for text in texts if text)
        return HTML(f"<div>{phase} <progress{share}></progress> {words}</div>")  # type: ignore[no-untyped-call]


def described(status: Status) -> tuple[str, str, str, str]:
    """A status in words: the phase, its part, facts with their rate, and the time so far."""
    now = time.monotonic()
    rate, seconds = status.rate(now), int(now - status.started)
    facts = f"{status.facts:,} facts" if status.facts else ""
    if facts and rate >= 1:
        facts += f", {rate:,.0f}/s"
    elapsed = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return status.name, status.part, facts, elapsed


class ProgressBar:
    """A context in which a bar shows a status, once a moment has passed."""

    def __init__(self, status: Status, shown: type[TerminalBar] | type[NotebookBar]) -> None:
        self._status, self._make = status, shown
        self._over, self._lock = Event(), Lock()
        self._shown: Shown | None = None
        self._thread = Thread(target=self._watch, name="deltalog-progress", daemon=True)

    def __enter__(self) -> ProgressBar:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with self._lock:
            if self._shown is not None:
                self._shown.close()
            self._shown = None

    def say(self, text: str) -> None:
        """A line above the bar."""
        with self._lock:
            if self._shown is not None:
                self._shown.say(text)
            else:
                print(text, file=sys.stderr, flush=True)

    def _watch(self) -> None:
        wait = MOMENT
        while not self._over.wait(wait):
            wait = EVERY
            with self._lock:
                if self._over.is_set():
                    return
                if self._shown is None:
                    self._shown = self._make(self._status)
                self._shown.update(self._status)


def bar_of(status: Status) -> ProgressBar | None:
    """A bar for where this process shows something; None if that is neither a notebook nor a terminal."""
    if _is_notebook():
        return ProgressBar(status, NotebookBar)
    return ProgressBar(status, TerminalBar) if is_terminal() else None


def is_terminal() -> bool:
    """Whether standard error is a terminal on which a line can be rewritten."""
    import os

    return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


@contextmanager
def progress() -> Iterator[None]:
    """A context in which calls that take long show a bar."""
    status = Status()
    bar = bar_of(status)
    if bar is None:
        yield
        return
    with watching(status), bar:
        yield
