"""A campaign of `tests.campaigns.signal_history`: processes that get signals at random moments of public calls.

python -m tests.campaigns.signals --signals 100000 --jobs 1

Kernels are interpreted, compiled when that pays, or compiled at once. Most processes load them from a cache; some have
an empty cache of their own, so signals come while they are compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory
from typing import NamedTuple

SIGNALS_PER_PROCESS = 4000
COLD_SIGNALS = 100  # with an empty cache each takes about as long as compiling a kernel
TIMEOUT_SECONDS = 1800
SETTINGS = (*("auto", "compile", "auto", "interpret") * 5, "auto-cold", "compile-cold")


class Played(NamedTuple):
    """What a process reports."""

    seed: int
    setting: str
    signals: int  # whose handlers ran
    stopped: int  # calls that they ended
    calls: int
    problem: str


def played(seed: int, setting: str) -> Played:
    """Runs the process of a seed."""
    kernels, _, cold = setting.partition("-")
    with TemporaryDirectory() as folder:
        environment = os.environ | {"DELTALOG_KERNELS": kernels} | ({"NUMBA_CACHE_DIR": folder} if cold else {})
        count = COLD_SIGNALS if cold else SIGNALS_PER_PROCESS
        command = [sys.executable, "-m", "tests.campaigns.signal_history", str(seed), str(count)]
        try:
            child = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Played(seed, setting, 0, 0, 0, "hangs")
    signals, stopped, calls = [int(word) for word in child.stdout.split()[-3:]] or [0, 0, 0]
    problem = f"exit code {child.returncode}: {child.stderr.strip()[-3000:]}" if child.returncode else ""
    return Played(seed, setting, signals, stopped, calls, problem)


def planned(signals: int, first: int) -> Iterator[tuple[int, str]]:
    """Seeds and settings of the processes for so many signals."""
    seed = first
    while signals > 0:
        setting = SETTINGS[seed % len(SETTINGS)]
        yield seed, setting
        signals -= COLD_SIGNALS if setting.endswith("cold") else SIGNALS_PER_PROCESS
        seed += 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Sends signals to processes, and checks what is left.")
    parser.add_argument("--signals", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    started, everything = time.monotonic(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(lambda each: played(*each), planned(options.signals, options.first)):
            everything.append(one)
            total = sum(each.signals for each in everything)
            print(f"seed {one.seed}, {one.setting}: {one.signals} signals {one.problem}; {total} so far", flush=True)
    failing = [one.seed for one in everything if one.problem]
    signals, stopped, calls = (sum(each) for each in list(zip(*everything, strict=True))[2:5])
    print(
        f"{signals} signals in {len(everything)} processes: {calls} calls, {stopped} ended by a signal, "
        f"{len(failing)} processes failing {failing}, {time.monotonic() - started:.0f} s"
    )
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
