"""`deltalog selector`: train and evaluate, from the command line, on a small program."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from deltalog.apps.cli.main import main
from deltalog.evaluation.goals.selector import load

RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
back(X, Y) :- path(Y, X).
alone(X) :- edge(X, _), NOT back(X, _).
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    """A tree in which goals near the root are much work, and goals far down little."""
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "edge.csv").write_text("".join(f"{i // 3},{i}\n" for i in range(1, 3_000)))
    return [str(tmp_path / "rules.dl"), "--data", str(tmp_path / "edge.csv")]


def test_train_writes_a_model(program: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "model.json"
    assert main(["selector", "train", *program, "--goals", "40", "--goal-timeout", "1", "--out", str(out)]) == 0
    model, said = load(out), capsys.readouterr().out
    assert model.trained_for == "rules.dl" and model.goals == 40 and model.classifier == "tree"
    assert "40 goals: " in said and f"{out}: tree, accuracy " in said
    goal = ["query", program[0], "path(2000, ?x)", *program[1:], "--selector", str(out), "--why"]
    assert main(goal) == 0
    out.write_text(json.dumps({**json.loads(out.read_text()), "kind": "forest"}))
    assert main(goal) == 1
    assert "is not a model of deltalog: there is no kind 'forest'" in capsys.readouterr().err


def test_evaluate_has_the_tables_and_plots_of_the_paper(
    program: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    assert main(["selector", "evaluate", *program, "--goals", "40", "--goal-timeout", "1", "--out", str(out)]) == 0
    text = (out / "selector.md").read_text()
    assert text.strip() == capsys.readouterr().out.strip()
    tables = [table.splitlines() for table in text.strip().split("\n\n")]
    firsts = [[line.split("|")[1].strip() for line in table] for table in tables]
    models = ["svm", "bayes", "tree", "logistic", "default model"]
    assert firsts[0] == ["goals", "---", "training", "test"]
    assert firsts[1] == ["accuracy", "---", *models] and firsts[2] == ["seconds", "---", *models]
    assert firsts[3][2:4] == ["all", "without substitutions"] and len(firsts[3]) == 2 + 6
    seconds = [float(cell) for cell in tables[2][4].split("|")[2:6]]
    assert seconds[2] <= min(seconds[:2]) and seconds[2] <= seconds[3]  # the ideal is the least
    for plot in ("accuracy", "parts", "seconds", "features"):
        assert ET.parse(out / f"{plot}.svg").getroot().tag.endswith("svg")
