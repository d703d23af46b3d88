"""The commands on docs/server.md give what it shows, and so does the example that follows a goal."""

from __future__ import annotations

import doctest
import json
import runpy
import shlex

import httpx2
from documentation import ROOT, blocks, page, sessions
from serving import client, post, running

from deltalog import KnowledgeBase

RAILWAY = ROOT / "examples" / "graph"


def railway() -> KnowledgeBase:
    kb = KnowledgeBase(RAILWAY / "rules.dl")
    kb.load(RAILWAY / "data")
    return kb


def test_the_commands() -> None:
    (block,) = blocks("console", page("docs/server.md"))
    commands = sessions(block)
    assert commands[0][0].startswith("deltalog serve examples/graph/rules.dl --data examples/graph/data")
    with client(railway()) as made:
        for command, wanted in commands[1:]:
            program, address, *options = shlex.split(command)
            given = dict(zip(options[::2], options[1::2], strict=True))
            headers = {"content-type": "application/x-www-form-urlencoded"} if "-d" in given else {}
            headers |= dict([given["-H"].split(": ")]) if "-H" in given else {}
            answer = made.request("POST" if "-d" in given else "GET", address, content=given.get("-d"), headers=headers)
            said = answer.text.replace("\r\n", "\n").rstrip("\n") + "\n"
            assert program == "curl" and doctest.OutputChecker().check_output(wanted, said, doctest.ELLIPSIS), said


def test_the_live_subscription() -> None:
    """`watch.py` prints what the page says while the server gets the changes that the page has."""
    text = page("examples/graph/README.md")
    changes = [shlex.split(line)[-1] for block in blocks("sh", text) for line in block.splitlines() if "curl" in line]
    first, *rest = blocks("text", text)[0].splitlines()
    with running(railway()) as server:
        answers = runpy.run_path(str(RAILWAY / "watch.py"))["watch"]("connection(oslo, ?to)", server.address)
        assert next(answers) == first
        for change in changes:
            post(httpx2, f"{server.address}/update", json.loads(change))
        assert [next(answers) for _ in rest] == rest
        answers.close()
