"""What is shown while a call runs: files, phases and rounds, and the bar on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deltalog import KnowledgeBase
from deltalog.core.render.text_table import text_table
from deltalog.core.render.text_width import columns, cut_end
from deltalog.core.watching import FileRead, Watcher, watching
from deltalog.evaluation.report import Round, RoundSeries
from deltalog.knowledge_base.progress_bar import Status, described

TRIPLES = """PREFIX : <http://e/>
[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], [?c, rdfs:subClassOf, ?d] .
[?x, ?p, ?y] :- [?q, rdfs:subPropertyOf, ?p], [?x, ?q, ?y] .
:A[:x]. :A[:y]. [:A, rdfs:subClassOf, :B]. [:B, rdfs:subClassOf, :C]. :Q[?x] :- :C[?x].
[:knows, rdfs:subPropertyOf, :meets]. :knows[:x, :y].
"""


class Heard(Watcher):
    def __init__(self) -> None:
        self.phases: list[str] = []
        self.files: list[FileRead] = []
        self.heard: list[Round] = []

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def read(self, file: FileRead) -> None:
        self.files.append(file)

    def rounds(self, series: RoundSeries) -> None:
        self.heard += series


def test_calls_are_heard(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("a,b\nb,c\n")
    heard = Heard()
    with watching(heard):
        kb = KnowledgeBase("two(X, Z) :- edge(X, Y), edge(Y, Z).")
        kb.load(tmp_path / "edge.csv")
        kb.write(tmp_path / "out")
    assert heard.phases == ["load", "plan", "write"]
    assert [(file.path.name, file.bytes, file.facts) for file in heard.files] == [("edge.csv", 8, 2)]
    assert [round_.new for round_ in heard.heard] == [1]
    kb.update(add={"edge": [("c", "d")]})  # nobody listens
    assert len(heard.heard) == 1


@pytest.mark.parametrize("schemes", ["auto", "standard"])
def test_totals_of_rounds_are_visible_facts(schemes: str) -> None:
    rounds: list[Round] = []
    kb = KnowledgeBase(TRIPLES, schemes=schemes, observe=rounds.append)
    report = kb.materialise(progress=True)
    assert rounds[-1].total == report.facts_total == 13
    assert sum(work.rounds for work in report.work.values()) == report.round_count


def test_a_status_in_words(tmp_path: Path) -> None:
    file = tmp_path / "edge.csv"
    file.write_text("a,b\n")
    status = Status()
    status.reading([file])
    status.opened(lambda: 2)
    assert (status.part, status.share) == ("edge.csv", 0.5)
    status.read(FileRead(file, 4, 1, 0.1))
    assert (status.part, status.share, status.facts) == ("", 1.0, 1)
    status.round(Round(1, 4, 7, 5, 1_000, 0.1, 1))
    assert described(status)[:3] == ("evaluate", "hyper-node 2 of 4, round 7", "1,000 facts")
    status.phase("write")
    assert (status.share, described(status)[0]) == (None, "write")


def test_a_bar_on_a_terminal_is_gone_after_an_interrupt(tmp_path: Path) -> None:
    (tmp_path / "numbers.dl").write_text("n(0).  n(Y) :- n(X), BIND(X + 1 AS Y).")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "deltalog", "run", "numbers.dl"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    running = subprocess.Popen(command, cwd=tmp_path, stderr=theirs, stdout=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    seen = b""
    while b"hyper-node 1 of 1" not in seen:
        seen += os.read(ours, 4096)
    running.terminate()
    try:
        while piece := os.read(ours, 4096):
            seen += piece
    except OSError:  # nobody writes any more
        pass
    assert running.wait(500) == 143
    text = seen.decode()
    assert "\x1b[?25h" in text.rpartition("\x1b[?25l")[2]  # the cursor is back
    assert re.sub(r"\x1b\[[?\d]*[A-Za-z]", "", text).rstrip().endswith("interrupted; nothing was written")


def test_tables_fit_the_window() -> None:
    lines = list(text_table(["name", "n"], [["漢字", "1"], ["long " * 20, "10"]], [False, True], 30))
    assert lines[0].split() == ["name", "n"] and max(map(columns, lines)) == 30
    assert lines[2].endswith(" 1") and "…" in lines[3]
    assert (columns("漢字"), columns("e\u0301"), cut_end("abcdef", 4), cut_end("漢字漢", 4)) == (4, 1, "abc…", "漢…")
    assert list(text_table(["a"], [["x\ty\x1b[0m"]]))[2] == "x\\ty\\x1b[0m"
    assert list(text_table([], [])) == ["", ""]
