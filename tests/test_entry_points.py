"""One program, one meaning: every program file of the tests has the same facts in `deltalog run` and `deltalog query`,
in Python by every method, in a store that was saved and opened again, and on the server.

A sample of the files by default; `DELTALOG_ALL_PROGRAMS=1` takes all of them. Facts are compared as text, and blank
nodes by what is said about them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from deltalog import KnowledgeBase
from deltalog.apps.cli.main import main
from deltalog.apps.server import documents
from deltalog.core.rule_text import print_literal
from deltalog.core.rules import Atom, Variable

sys.path.insert(0, str(Path(__file__).parent / "server"))
from serving import client

from deltalog.knowledge_base.calls import session_of

TESTS = Path(__file__).parent
SAMPLE = 5  # one file in so many
BLANK = re.compile(r"_:([A-Za-z0-9]+)")
Lines = dict[str, list[str]]


class ProgramFiles(NamedTuple):
    """The files of a program, its facts, and a folder that a Soufflé program reads facts from."""

    programs: tuple[Path, ...]
    data: Path | None = None
    inputs: Path | None = None

    @property
    def arguments(self) -> list[str]:
        data = [] if self.data is None else ["--data", str(self.data)]
        inputs = [] if self.inputs is None else ["--facts", str(self.inputs)]
        return [*map(str, self.programs), *data, *inputs]

    def loaded(self) -> KnowledgeBase:
        kb = KnowledgeBase(self.programs)
        kb.load_inputs(*([] if self.inputs is None else [self.inputs]))
        if self.data is not None:
            kb.load(self.data)
        return kb


def program_files() -> Iterator[ProgramFiles]:
    for path in sorted((TESTS / "cases").rglob("*.dl")):
        data = path.with_suffix("") / "data"
        yield ProgramFiles((path,), data if data.exists() else None)
    for path in sorted((TESTS / "souffle" / "cases").rglob("*.dl")):
        facts = path.parent / "facts"
        yield ProgramFiles((path,), None, facts if facts.exists() else None)
    single = [*(TESTS / "nemo" / "cases").glob("*.rls"), *(TESTS / "query" / "goals").glob("*.dl")]
    yield from (ProgramFiles((path,)) for path in sorted(single))
    for path in sorted((TESTS / "rif" / "cases").glob("*.rif")):
        yield ProgramFiles((path, path.with_suffix(".facts.dl")))
    for path in sorted((TESTS.parent / "examples").glob("*/rules.dl")):
        tables = path.parent / "data"
        yield ProgramFiles((path,), tables if tables.exists() else None)
    points_to = TESTS.parent / "examples" / "points_to"
    yield ProgramFiles((points_to / "points_to.dl",), None, points_to / "facts")


EVERY = list(program_files())
CHOSEN = EVERY if os.environ.get("DELTALOG_ALL_PROGRAMS") else list(dict.fromkeys([*EVERY[::SAMPLE], *EVERY[-24:]]))


def colours(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Blank nodes by what is said about them, and about those that occur beside them."""
    said = [(name, line) for name, line in lines if BLANK.search(line)]
    found = dict.fromkeys((label for _, line in said for label in BLANK.findall(line)), "")
    for _ in range(4):
        about: dict[str, list[str]] = {label: [] for label in found}
        for name, line in said:
            for label in set(BLANK.findall(line)):
                about[label].append(f"{name}: {_named(line, {**found, label: '*'})}")
        found = {label: blake2b("\n".join(sorted(each)).encode()).hexdigest()[:12] for label, each in about.items()}
    return found


def _named(line: str, names: Mapping[str, str]) -> str:
    return BLANK.sub(lambda match: f"_:{names.get(match[1], match[1])}", line)


def compared(found: Lines) -> Lines:
    """Lines by predicate that are the same for the same facts."""
    names = colours((name, line) for name, each in found.items() for line in each)
    return {name: sorted(_named(line, names) for line in each) for name, each in sorted(found.items()) if each}


def goals(kb: KnowledgeBase) -> dict[str, str]:
    """A goal for all facts of each predicate."""
    preds = {name: session_of(kb).predicate(name) for name in kb.predicates}
    return {
        name: print_literal(Atom(pred.name, tuple(Variable(f"v{i}") for i in range(pred.arity))))
        for name, pred in preds.items()
    }


def in_python(kb: KnowledgeBase) -> Lines:
    kb.materialise()  # a variable for a predicate may derive facts of one that nothing mentions
    return compared({name: list(kb.facts(name).lines(",")) for name in kb.predicates})


def by_goals(files: ProgramFiles, asked: Mapping[str, str], method: str) -> Lines:
    kb = files.loaded()
    return compared({name: list(kb.query(goal, method=method).lines(",")) for name, goal in asked.items()})


def by_query(files: ProgramFiles, asked: Mapping[str, str], folder: Path) -> Lines:
    (folder / "goals").write_text("".join(f"{goal} .\n" for goal in asked.values()), "utf-8")
    out = folder / "answers.jsonl"
    assert main(["query", *files.arguments, "--file", str(folder / "goals"), "--out", str(out)]) == 0
    names = {" ".join(goal.split()): name for name, goal in asked.items()}
    found: Lines = {}
    for line in out.read_text("utf-8").splitlines():
        row = json.loads(line)
        goal = row.pop("goal", next(iter(names)))
        if row.get("holds", True):
            found.setdefault(names[goal], []).append(json.dumps(list(row.values())))
    return compared(found)


def in_server(kb: KnowledgeBase, names: Iterable[str]) -> Lines:
    found: Lines = {}
    with client(kb) as server:
        for name in names:
            answer = server.get(f"/facts/{quote(name, safe='')}", params={"limit": 100_000})
            assert answer.status_code == 200, answer.text
            found[name] = [json.dumps(row, sort_keys=True) for row in answer.json()["rows"]]
    return compared(found)


def as_written(folder: Path) -> Lines:
    return compared({path.name: path.read_text("utf-8").splitlines() for path in folder.glob("*.csv")})


@pytest.mark.parametrize("files", CHOSEN, ids=lambda files: str(files.programs[0].relative_to(TESTS.parent)))
def test_one_meaning_in_every_entry_point(
    files: ProgramFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kb = files.loaded()
        expected = in_python(kb)
        asked = goals(kb)
        kb.write(tmp_path / "python", "csv")
        documents_expected = compared(
            {
                name: [json.dumps(row, sort_keys=True) for row in documents.rows(kb.facts(name))]
                for name in kb.predicates
            }
        )
        for method in ("auto", "magic", "qsqr"):
            assert by_goals(files, asked, method) == expected, f"kb.query by {method}"
        assert main(["run", *files.arguments, "--out", str(tmp_path / "run"), "--format", "csv", "-q"]) == 0
        assert as_written(tmp_path / "run") == as_written(tmp_path / "python"), "deltalog run"
        by_command = by_query(files, asked, tmp_path)
        assert {name: len(each) for name, each in by_command.items()} == {n: len(e) for n, e in expected.items()}
        assert in_server(files.loaded(), asked) == documents_expected, "the server"
        kb.save(tmp_path / "store")
        kb.close()
        with KnowledgeBase.open(tmp_path / "store") as opened:
            assert in_python(opened) == expected, "a store that was opened again"
            assert in_server(opened, asked) == documents_expected, "the server of a store"
    capsys.readouterr()
