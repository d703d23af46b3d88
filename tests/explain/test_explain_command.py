"""`deltalog explain`: formats, files, exit codes, and colour only where somebody sees it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from deltalog.apps.cli.main import main

PATHS = "path(X, Y) :- edge(X, Y).\npath(X, Z) :- path(X, Y), edge(Y, Z).\n"
RUN = ["explain", "paths.dl", "path(a, d)", "--data", "edge.csv"]

Outcome = tuple[int, str, str]
Run = Callable[..., Outcome]


@pytest.fixture
def deltalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder with a program and its data: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paths.dl").write_text(PATHS)
    (tmp_path / "edge.csv").write_text("a,b\nb,c\nc,d\n")

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exit:  # argparse
            code = int(exit.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def test_a_proof(deltalog: Run) -> None:
    code, out, err = deltalog(*RUN)
    assert (code, err) == (0, "")
    assert out.startswith("path(a, d) holds: derived, height 3, 6 facts\n")
    assert "r2 (paths.dl:2)  path(?X, ?Z) :- path(?X, ?Y), edge(?Y, ?Z) ." in out
    assert out.rstrip().endswith("└─ edge(c, d)   explicit, edge.csv")
    assert "\x1b" not in out


def test_a_fact_that_does_not_hold(deltalog: Run) -> None:
    code, out, err = deltalog("explain", "paths.dl", "path(d, a)", "--data", "edge.csv")
    assert (code, err) == (0, "")
    assert out.startswith("path(d, a) does not hold\n")
    code, out, _ = deltalog("explain", "paths.dl", "path(d, a)", "--data", "edge.csv", "--format", "json")
    assert code == 0
    assert json.loads(out)["holds"] is False


def test_several_programs_and_data_in_any_order(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "more.dl").write_text("end(X) :- path(_, X), NOT edge(X, _).\n")
    code, out, _ = deltalog("explain", "--data", "edge.csv", "paths.dl", "more.dl", "end(d)", "--format", "text")
    assert code == 0
    assert "more.dl:1" in out
    assert "NOT edge(d, _)" in out


def test_formats(deltalog: Run) -> None:
    assert json.loads(deltalog(*RUN, "--format", "json")[1])["height"] == 3
    assert ElementTree.fromstring(deltalog(*RUN, "--format", "svg")[1]).tag.endswith("svg")
    assert deltalog(*RUN, "--format", "html")[1].startswith("<!doctype html>")
    assert deltalog(*RUN, "--format", "mermaid")[1].startswith("flowchart TD\n")


@pytest.mark.parametrize(
    ("name", "start"),
    [("why.html", "<!doctype"), ("why.SVG", "<svg"), ("why.json", "{"), ("why.mmd", "flowchart"), ("why", "path(a")],
)
def test_a_file_has_the_format_of_its_ending(name: str, start: str, deltalog: Run, tmp_path: Path) -> None:
    code, out, err = deltalog(*RUN, "--out", name)
    assert (code, out) == (0, "")
    assert err == f"the fact holds; the explanation is in {name}\n"
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_all_depth_and_steps(deltalog: Run, tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("a,b\nb,d\na,c\nc,d\n")
    assert "proof 2 of 2" in deltalog(*RUN, "--all", "5")[1]
    assert "the proof is shown to depth 1" in deltalog(*RUN, "--depth", "1")[1]
    assert "1 fact of 4 hidden; steps=4 (--steps 4) shows all" in deltalog(*RUN, "--steps", "3")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["paths.dl"], 2, "the following arguments are required"),
        ([*RUN[1:], "--format", "png"], 2, "invalid choice: 'png'"),
        ([*RUN[1:], "--all", "0"], 2, "must be at least 1, got 0"),
        ([*RUN[1:], "--steps", "some"], 2, "'some' is not a number"),
        (["none.dl", "p(a)"], 1, "none.dl"),
        (["paths.dl", "path(a, ?x)"], 1, "a fact has no variables"),
        (["paths.dl", "path(a"], 1, "error"),
        ([*RUN[1:], "--out", "no/such/folder/why.html"], 1, "cannot write no/such/folder/why.html"),
    ],
)
def test_mistakes(arguments: list[str], code: int, says: str, deltalog: Run) -> None:
    found, out, err = deltalog("explain", *arguments)
    assert (found, out) == (code, "")
    assert says in err


def on_a_terminal(folder: Path, **environment: str) -> str:
    """What the command prints on a terminal of its own."""
    (folder / "paths.dl").write_text(PATHS)
    (folder / "edge.csv").write_text("a,b\nb,c\nc,d\n")
    ours, theirs = pty.openpty()
    unset = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = [sys.executable, "-m", "deltalog", *RUN]
    with subprocess.Popen(command, stdout=theirs, cwd=folder, env={**unset, "TERM": "xterm", **environment}) as running:
        os.close(theirs)
        printed = b""
        while chunk := _read(ours):
            printed += chunk
        assert running.wait(timeout=120) == 0
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


def test_colour_on_a_terminal_only(tmp_path: Path) -> None:
    coloured, plain = on_a_terminal(tmp_path), on_a_terminal(tmp_path, NO_COLOR="1")
    assert "\x1b[" in coloured
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9]+m", "", coloured) == plain
    assert "\x1b" not in on_a_terminal(tmp_path, TERM="dumb")


def test_a_terminal_without_unicode(tmp_path: Path, deltalog: Run) -> None:
    command = [sys.executable, "-m", "deltalog", *RUN]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    assert b"+- path(a, c)\n|  |  r2" in run.stdout.replace(b"\r\n", b"\n")
