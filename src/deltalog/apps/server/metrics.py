"""Figures for Prometheus, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Histogram:
    """Times, counted by the bounds that they are within."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, labels: str) -> Iterator[str]:
        sum_so_far = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self.counts, strict=True):
            sum_so_far += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {sum_so_far}'
        yield f"{name}_sum{{{labels}}} {self.total:.6f}"
        yield f"{name}_count{{{labels}}} {sum_so_far}"


@dataclass(slots=True)
class Metrics:
    """Counts of requests, and the times that they took."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)  # by method, path and status
    seconds: dict[str, Histogram] = field(default_factory=dict)  # by path
    gauges: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def done(self, method: str, path: str, status: int, seconds: float) -> None:
        with self._lock:
            self.requests[method, path, status] += 1
            self.seconds.setdefault(path, Histogram()).add(seconds)

    def change(self, gauge: str, by: int) -> None:
        with self._lock:
            self.gauges[gauge] += by

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it, with other figures and what they are."""
        with self._lock:
            lines = [*self._lines(), *(line for name, (about, n) in gauges.items() for line in _gauge(name, about, n))]
        return "\n".join(lines) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _header("deltalog_requests_total", "Requests by method, path and status.", "counter")
        for (method, path, status), count in sorted(self.requests.items()):
            yield f'deltalog_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}'
        yield from _header("deltalog_request_seconds", "Time from request to answer.", "histogram")
        for path, times in sorted(self.seconds.items()):
            yield from times.lines("deltalog_request_seconds", f'path="{path}"')
        for name, value in sorted(self.gauges.items()):
            yield from _gauge(f"deltalog_{name}", f"{name.replace('_', ' ')} now.", value)


def _header(name: str, about: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def _gauge(name: str, about: str, value: float) -> Iterator[str]:
    yield from _header(name, about, "counter" if name.endswith("_total") else "gauge")
    yield f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
