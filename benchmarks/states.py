"""The states of a benchmark on disk: random facts taken out, a rule taken out, a goal put in as a rule.

    full/  small/  minus_small/  large/  minus_large/        facts: all, the sample, all but the sample
    program.dl  rule.dl  minus_rule.dl  query.dl  goal.txt   rules: all, the one, all but the one, all and the goal's

A line of a file is a fact. Samples are drawn without replacement over all lines of all files, with a fixed seed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tasks import ANSWER, STATES
from deltalog.core.rules import Atom, Rule, Variable
from deltalog.languages.deltalog.parser import parse, parse_goal

SEED = 7
LARGE = 0.25


@dataclass(frozen=True)
class States:
    """The folder of a benchmark's states; `facts` is the number of distinct facts in `full`."""

    folder: Path
    facts: int
    heads: dict[str, list[str]]  # of each state's program

    def files(self, name: str) -> list[Path]:
        return sorted((self.folder / name).iterdir())

    def rules(self, state: str) -> Sequence[Rule]:
        path = self.folder / STATES[state][0]
        return parse(path.read_text("utf-8"), str(path))

    def save(self) -> None:
        (self.folder / "states.json").write_text(json.dumps({"facts": self.facts, "heads": self.heads}))


def stored(folder: Path) -> States:
    saved = json.loads((folder / "states.json").read_text())
    return States(folder, saved["facts"], saved["heads"])


def write(folder: Path, program: Path, rule: int, goal: str | None, wanted: set[str]) -> States:
    """Make the wanted states of the facts in `folder`/full and a program."""
    _write_programs(folder, parse(program.read_text("utf-8"), str(program)), rule, goal)
    lines = {path.name: path.read_bytes().splitlines(keepends=True) for path in sorted((folder / "full").iterdir())}
    total = sum(map(len, lines.values()))
    for name, count in (("small", small(total)), ("large", int(total * LARGE))):
        if f"minus_{name}" in wanted:
            _write_sample(folder, name, lines, count, total)
    facts = sum(len(set(rows)) for rows in lines.values())
    made = States(folder, facts, {})
    for state in STATES:
        if (folder / STATES[state][0]).exists():
            made.heads[state] = sorted({head.name for r in made.rules(state) for head in r.heads})
    made.save()
    return made


def small(facts: int) -> int:
    """How many facts a small change has."""
    return min(1_000 if facts >= 100_000 else 100, max(facts // 10, 1))


def _write_sample(folder: Path, name: str, lines: dict[str, list[bytes]], count: int, total: int) -> None:
    import numpy as np

    from benchmarks.generators.draws import words

    chosen = np.zeros(total, bool)
    chosen[np.argsort(words(SEED, name, np.arange(total)), kind="stable")[:count]] = True
    start = 0
    for part in (name, f"minus_{name}"):
        (folder / part).mkdir()
    for file, rows in lines.items():
        taken = chosen[start : start + len(rows)].tolist()
        start += len(rows)
        gone = {row for row, is_taken in zip(rows, taken, strict=True) if is_taken}
        if gone:
            (folder / name / file).write_bytes(b"".join(row for row in dict.fromkeys(rows) if row in gone))
        (folder / f"minus_{name}" / file).write_bytes(b"".join(row for row in rows if row not in gone))


def _write_programs(folder: Path, rules: Sequence[Rule], rule: int, goal: str | None) -> None:
    texts = [str(r) for r in rules]
    place = rule % len(texts)
    programs = {"program": texts, "rule": [texts[place]], "minus_rule": texts[:place] + texts[place + 1 :]}
    if goal is not None:
        programs["query"] = [*texts, answer_rule(goal)]
        (folder / "goal.txt").write_text(goal, "utf-8")
    for name, lines in programs.items():
        (folder / f"{name}.dl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def answer_rule(goal: str) -> str:
    """`bench_answer(?x) :- path(a, ?x) .`: one fact for each answer."""
    atoms = [part for part in parse_goal(goal, "<goal>") if isinstance(part, Atom)]
    variables = dict.fromkeys(t.name for atom in atoms for t in atom.terms if isinstance(t, Variable))
    return f"{ANSWER}({', '.join(f'?{name}' for name in variables)}) :- {goal} ."
