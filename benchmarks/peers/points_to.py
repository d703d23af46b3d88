"""The stand-in for compiled Soufflé, `points_to.cpp`: compiled by g++ with Abseil (`apt-get install libabsl-dev`).

It is a program of our own, for the rules of `benchmarks.souffle` only; the comment at its beginning says what it is.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

ORDERS = ("text", "plan-base", "plan-field", "plan-calls")  # of joins
SOURCE = Path(__file__).with_suffix(".cpp")
PACKAGES = ("absl_flat_hash_map", "absl_btree")


def missing() -> str | None:
    """What it needs and is not there."""
    for tool in ("g++", "pkg-config"):
        if shutil.which(tool) is None:
            return tool
    found = subprocess.run(["pkg-config", "--exists", *PACKAGES], check=False).returncode == 0
    return None if found else "Abseil (libabsl-dev)"


def build(folder: Path) -> Path:
    libraries = subprocess.run(["pkg-config", "--libs", *PACKAGES], check=True, capture_output=True, text=True).stdout
    binary = folder / "points_to"
    command = ["g++", "-std=c++17", "-O3", "-march=native", str(SOURCE), "-o", str(binary), *libraries.split()]
    subprocess.run(command, check=True)
    return binary


def run(binary: Path, facts: Path, order: str, seconds: float) -> dict[str, Any] | None:
    """Seconds to read and to evaluate, and the sizes of derived relations; None after so many seconds."""
    try:
        done = subprocess.run([binary, facts, order], check=True, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found
