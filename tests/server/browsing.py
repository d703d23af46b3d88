"""A real browser on a page of ours: Chromium, driven by playwright. Without either, tests are skipped and say so."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from deltalog import KnowledgeBase

EXAMPLES = Path(__file__).parents[2] / "examples"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# What a browser reports of a request that was refused is no defect of the page. A listener watches inline styles:
# Chromium itself puts one on text that replaces a selection in an editor. It is blocked, and the editor draws the line.
EXPECTED = re.compile(r"responded with a status of (4\d\d|503)|net::ERR_|^Applying inline style")
WATCH = """document.addEventListener("securitypolicyviolation", (event) => {
  const node = event.composedPath()[0], own = event.sourceFile || !node.closest?.(".cm-content");
  if (own) console.error(`policy: ${event.violatedDirective} ${event.sourceFile}`);
})"""


def railway() -> KnowledgeBase:
    kb = KnowledgeBase((EXAMPLES / "graph" / "rules.dl").read_text())
    kb.load(EXAMPLES / "graph" / "data")
    return kb


def university() -> KnowledgeBase:
    kb = KnowledgeBase((EXAMPLES / "university" / "rules.dlog").read_text())
    kb.load(EXAMPLES / "university" / "data.ttl")
    return kb


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium with an empty profile, or a skip."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium): the page is not tested here")
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: ./uvw run --group page pytest ...")
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)


class Visit:
    """A page in a context of its own; it collects what goes wrong."""

    def __init__(self, chromium: Any, address: str, **options: Any) -> None:
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.address, self.page = address, self.context.new_page()
        self.page.set_default_timeout(8000)
        self.page.add_init_script(WATCH)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda said: self._said(said.type, said.text))
        self.page.on("request", lambda request: self._asked(request.url))

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not EXPECTED.search(text):
            self.problems.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.address, "blob:", "data:")):
            self.problems.append(f"the page asked for {url}")

    def go(self, view: str, **parameters: str) -> Any:
        """A view of the page, loaded anew."""
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        self.page.goto(f"{self.address}/#/{view}{'?' if query else ''}{query}")
        self.page.reload()
        self.page.wait_for_selector("main > *:not(.quiet)")
        return self.page

    def write(self, text: str, editor: int = 0) -> None:
        """Text in an editor, in the place of what was there."""
        self.page.locator(".cm-content").nth(editor).click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def run(self, text: str) -> None:
        self.write(text)
        self.page.keyboard.press("Control+Enter")

    def close(self) -> None:
        self.context.close()
        if self.problems:
            pytest.fail("\n".join(self.problems))
