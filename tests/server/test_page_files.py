"""What is served as the page: complete, small, with the licences of what is in it, and nothing from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from serving import client

from deltalog.apps.server import page

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
MOST_BYTES = 400_000  # compressed, everything that can be loaded


def test_the_page_and_all_that_it_names() -> None:
    with client() as server:
        answer = server.get("/", headers={"accept-encoding": "identity"})
        assert answer.status_code == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
        names = re.findall(r'(?:href|src)="(static/[^"]+)"', answer.text)
        assert any(name.endswith(".js") for name in names) and any(name.endswith(".css") for name in names)
        for name in names:
            found = server.get(f"/{name}")
            assert found.status_code == 200 and found.headers["x-content-type-options"] == "nosniff"
            assert ("immutable" in found.headers["cache-control"]) == ("-" in name)
        assert server.get("/static/nothing.js").status_code == 404
        assert server.get("/static/..%2Fpage.py").status_code == 404


def test_scripts_load_scripts_that_are_there() -> None:
    files = page.found()
    named = {name for file in files.values() for name in re.findall(rb'"\./([\w-]+\.js)"', file.content)}
    assert named and {name.decode() for name in named} <= files.keys()


def test_it_is_strict_and_needs_no_token() -> None:
    with client(token="a-token-for-the-tests-only", token_for_reading=True) as server:
        answer = server.get("/")
        assert answer.status_code == 200 and server.get("/health").status_code == 401
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert "<style" not in answer.text and not re.search(r"<script(?![^>]* src=)", answer.text)


def test_another_name_is_refused() -> None:
    with client(hosts=frozenset(["127.0.0.1"])) as server:
        assert server.get("/", headers={"host": "elsewhere.example"}).status_code == 403


def test_nothing_comes_from_elsewhere() -> None:
    html = page.found()["index.html"].content.decode()
    assert "//" not in re.sub(r"<!doctype html>", "", html)
    styles = b"".join(file.content for name, file in page.found().items() if name.endswith(".css"))
    assert b"url(" not in styles and b"@import" not in styles


def test_it_is_small() -> None:
    assert sum(len(file.compressed) for file in page.found().values()) < MOST_BYTES


def test_licences_of_everything_in_it() -> None:
    text = page.found()["THIRD_PARTY_LICENSES"].content.decode()
    listed = set(re.findall(r"^(\S+) \d[\w.]* \((?:MIT|ISC|BSD-3-Clause|Apache-2.0)\)$", text, re.MULTILINE))
    taken = json.loads((WEB / "package.json").read_text())["devDependencies"]
    assert {name for name in taken if not name.startswith("@types/")} - {"esbuild", "typescript"} <= listed
    assert all(re.search("Permission|Redistribution", part) for part in text.split("-" * 80))  # each with its text


def test_the_lock_file_names_no_registry() -> None:
    lock = (WEB / "package-lock.json").read_text()
    packages = [each for name, each in json.loads(lock)["packages"].items() if name]
    assert "resolved" not in lock and all(each.get("integrity") for each in packages)


def test_it_is_in_the_wheel() -> None:
    """Hatchling takes every file of the package that git does not ignore."""
    names = [f"src/deltalog/apps/server/static/{name}" for name in page.found()]
    ignored = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True)
    assert ignored.stdout == ""
