"""The site is built from the pages without a warning; its references are complete, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import deltalog
import deltalog.spark
from deltalog.apps.cli.main import COMMANDS

pytest.importorskip("sphinx")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages by their names."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(folder)]
    run = subprocess.run(build, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return {page.stem: page.read_text(encoding="utf-8") for page in folder.glob("*.html")}


def test_every_page_is_there(site: dict[str, str]) -> None:
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} <= site.keys()
    assert [name for name in COMMANDS if f"usage: deltalog {name}" not in site["cli"]] == []


def test_the_api_reference_is_complete(site: dict[str, str]) -> None:
    wanted = [f"deltalog.{name}" for name in deltalog.__all__]
    wanted += [f"deltalog.spark.{name}" for name in deltalog.spark.__all__]
    wanted += [f"deltalog.KnowledgeBase.{name}" for name in dir(deltalog.KnowledgeBase) if not name.startswith("_")]
    assert [name for name in wanted if f'id="{name}"' not in site["api"]] == []


def test_links_lead_somewhere(site: dict[str, str]) -> None:
    """Also to headings, and none is left as it was in the text."""
    for name, text in site.items():
        article = text.partition("<article")[2].partition("</article>")[0]
        links = [link.partition("#") for link in re.findall(r'href="(?!http)([^"]*)"', article)]
        places = [(target.removesuffix(".html") or name, anchor) for target, _, anchor in links if anchor]
        assert [place for place in places if f'id="{place[1]}"' not in site[place[0]]] == [], name
        assert 'class="xref myst"' not in article, name
