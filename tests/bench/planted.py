"""Ways that give wrong answers, fail or never end, to see that the harness notices."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import Outcome
from benchmarks.peers.clingo import Clingo
from deltalog.core.rules import Rule


class Planted(Clingo):
    def version(self) -> str | None:
        return "1"


class OneFactShort(Planted):
    def run(self, folder: Path, keep: bool = False) -> Outcome:
        right = super().run(folder)
        return Outcome({"load": 0.0, "evaluate": 1e-6}, {name: count - 1 for name, count in right.counts.items()})


class Broken(Planted):
    def run(self, folder: Path, keep: bool = False) -> Outcome:
        raise RuntimeError("out of order")


class Endless(Planted):
    def run(self, folder: Path, keep: bool = False) -> Outcome:
        time.sleep(60)
        raise AssertionError("the harness should have ended this")


class NotInstalled(Planted):
    def version(self) -> str | None:
        return None

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        raise AssertionError("the harness should not use what is not installed")
