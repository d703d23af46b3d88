"""How soon the page of the server is there: in Chromium, on LUBM(n) with program L.

    ./uvw run --group page python -m benchmarks.page_paint [--lubm 5] [--times 5]

Each visit is of a browser with an empty profile. `first paint` is what the browser reports; `ready` is when the
predicates with their numbers of facts are on the page.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.datasets import lubm
from benchmarks.registry import PROGRAMS

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
FIGURES = """() => ({
  "first paint": performance.getEntriesByName("first-contentful-paint")[0].startTime,
  ready: performance.now(),
  bytes: performance.getEntriesByType("resource").filter(one => one.name.includes("/static/"))
    .reduce((sum, one) => sum + one.encodedBodySize, 0),
})"""


@contextmanager
def serving(size: int) -> Iterator[str]:
    """The address of a server in a process of its own."""
    with TemporaryDirectory() as folder:
        lubm(size, Path(folder))
        program = str(PROGRAMS / "lubm_l.dl")
        command = [sys.executable, "-m", "deltalog", "serve", program, "--data", folder, "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait()


def visit(playwright: Any, address: str) -> dict[str, float]:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
    try:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector(".predicate-row")
        return dict(page.evaluate(FIGURES))
    finally:
        browser.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lubm", type=int, default=5)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with serving(options.lubm) as address, sync_playwright() as playwright:
        visits = [visit(playwright, address) for _ in range(options.times)]
    for name, unit in (("first paint", "ms"), ("ready", "ms"), ("bytes", "bytes")):
        values = [each[name] for each in visits]
        print(f"{name:12} median {median(values):8,.0f} {unit}, most {max(values):8,.0f} {unit}")


if __name__ == "__main__":
    main()
