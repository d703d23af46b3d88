"""The commands on docs/server.md give what it shows."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

from serving import client

from deltalog import KnowledgeBase

ROOT = Path(__file__).parents[2]


def test_the_commands() -> None:
    (block,) = re.findall(
        r"^```console\n(.*?)^```", (ROOT / "docs" / "server.md").read_text(), re.DOTALL | re.MULTILINE
    )
    commands = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    kb = KnowledgeBase(ROOT / "examples" / "graph" / "rules.dl")
    kb.load(ROOT / "examples" / "graph" / "data")
    assert commands[0][0].startswith("deltalog serve examples/graph/rules.dl --data examples/graph/data")
    with client(kb) as made:
        for command, _, wanted in commands[1:]:
            program, address, *options = shlex.split(command)
            given = dict(zip(options[::2], options[1::2], strict=True))
            headers = {"content-type": "application/x-www-form-urlencoded"} if "-d" in given else {}
            headers |= dict([given["-H"].split(": ")]) if "-H" in given else {}
            answer = made.request("POST" if "-d" in given else "GET", address, content=given.get("-d"), headers=headers)
            said = answer.text.replace("\r\n", "\n").rstrip("\n") + "\n"
            assert program == "curl" and doctest.OutputChecker().check_output(wanted, said, doctest.ELLIPSIS), said
