"""Runs a pipeline in a process of its own, which is killed at some moment.

python killed_run.py PIPELINE.toml        runs it once
DELTALOG_KILL_AT=N                        SIGKILL at the Nth call that writes a small file of the state or a sink
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from deltalog.apps.pipelines import run as run_module
from deltalog.apps.pipelines.hadoop import Hadoop
from deltalog.apps.pipelines.run import PipelineRun
from deltalog.spark import Pipeline

MOMENTS = (
    (Hadoop, "write_text"),
    (Hadoop, "upload"),
    (Hadoop, "delete"),
    (PipelineRun, "write"),
    (run_module, "write_frame"),
)


def kill_at(number: int) -> None:
    """Kills this process before or after (an odd number: after) one of the calls that write something."""
    left = [number]

    def watched(call: Any) -> Any:
        def act(*arguments: Any, **options: Any) -> Any:
            _count(left)
            result = call(*arguments, **options)
            _count(left)
            return result

        return act

    for owner, name in MOMENTS:
        setattr(owner, name, watched(getattr(owner, name)))


def _count(left: list[int]) -> None:
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1


def main() -> None:
    at = os.environ.get("DELTALOG_KILL_AT")
    if at is not None:
        kill_at(int(at))
    report = Pipeline.from_file(sys.argv[1]).run(master="local[2]")
    print("version", report.version, flush=True)


if __name__ == "__main__":
    main()
