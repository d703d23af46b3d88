"""Each pass of the analysis alone: programs, and what the pass adds to the analysis.

`tests/program/passes/<pass>.txt` has the cases of a pass. A case is a comment, settings (`% data p/2 q/1`,
`% schemes scheme`), a program, `=>` and the fields of the Analysis that the pass changes; `----` ends it. The passes
before are run first. `DELTALOG_WRITE_PASSES=1` writes what the passes give into the files, to be read before a commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from deltalog.core.errors import Diagnostic, ProgramError
from deltalog.core.rule_text import print_literal
from deltalog.core.rules import Pred, Rule
from deltalog.languages.deltalog.parser import parse
from deltalog.program.analysis import Analysis
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.program import PASSES
from deltalog.program.value_kinds import Scope

FILES = Path(__file__).parent / "passes"
NAMES = [run.__name__ for run in PASSES]


@dataclass(frozen=True)
class Case:
    text: str  # comments, settings and the program
    expected: str

    @property
    def settings(self) -> dict[str, list[str]]:
        lines = (line[1:].split() for line in self.text.splitlines() if line.startswith("% "))
        return {name: values for name, *values in lines if name in ("data", "schemes")}

    @property
    def start(self) -> Analysis:
        preds = (name.rpartition("/") for name in self.settings.get("data", ()))
        data = frozenset(Pred(name, int(arity)) for name, _, arity in preds)
        return Analysis(tuple(parse(self.text)), data, *self.settings.get("schemes", ()))


def cases(name: str) -> Iterator[Case]:
    for block in (FILES / f"{name}.txt").read_text().split("----\n"):
        if block.strip():
            text, _, expected = block.partition("=>\n")
            yield Case(text, expected.strip())


def result(case: Case, name: str) -> str:
    analysis = case.start
    for run in PASSES[: NAMES.index(name)]:
        analysis = run(analysis)
    try:
        after = PASSES[NAMES.index(name)](analysis)
    except ProgramError as error:
        return "\n".join([f"raises {type(error).__name__}", *shown(error.diagnostics)])
    return "\n".join(differences(analysis, after)) or "nothing"


def differences(before: Analysis, after: Analysis) -> Iterator[str]:
    for field in fields(Analysis):
        value = getattr(after, field.name)
        if field.compare and value != getattr(before, field.name):
            yield f"{field.name}:"
            yield from shown(value) if value else ["  (empty)"]


def shown(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (f"  {key} -> {other}" for key, other in value.items() if key != other)
    elif isinstance(value, Scope):
        yield f"  {', '.join(sorted(map(str, value.preds)))}"
    else:
        assert isinstance(value, tuple)
        for one in value:
            yield f"  {described(one)}"


def described(one: object) -> str:
    match one:
        case Diagnostic():
            return f"{one.span}: {one.message}"
        case HyperNode():
            return f"depth {one.depth}{', recursive' if one.recursive else ''}: {'  '.join(map(str, one.rules))}"
        case Rule() | str():
            return str(one)
    return print_literal(one)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_pass(name: str) -> None:
    found = list(cases(name))
    if os.environ.get("DELTALOG_WRITE_PASSES"):
        texts = [f"{case.text}=>\n{result(case, name)}\n" for case in found]
        (FILES / f"{name}.txt").write_text("----\n".join(texts))
    assert len(found) > 1
    for case in cases(name):
        assert result(case, name) == case.expected, case.text


def test_every_file_is_of_a_pass() -> None:
    assert sorted(path.stem for path in FILES.iterdir()) == sorted(NAMES)
