"""Functions of tests in processes of their own. A watchdog ends one that hangs, and the test fails with its stacks."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PATIENCE_SECONDS = 600  # where kernels are not compiled yet, and others use the cores, a process takes minutes
TESTS = Path(__file__).parent


def watched(function: Callable[..., None], *arguments: object) -> None:
    """Calls a function of a module of tests in a new process."""
    module = Path(function.__code__.co_filename).stem
    call = f"{module}.{function.__name__}(*{arguments!r})"
    code = f"import watchdog; watchdog.watch(); import {module}; {call}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, f"{call} ended with {run.returncode}\n{run.stdout}\n{run.stderr}"


def watch() -> None:
    """From now on this process has so much time; then it shows its stacks and ends. A forked process has no watchdog
    unless it calls this itself."""
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(PATIENCE_SECONDS)
