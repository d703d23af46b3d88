"""Goals without a materialisation: QSQ-R, magic sets, the learned choice, and materialising first.

    python -m benchmarks.queries --sizes 5,10,20 --json results.json
    python -m benchmarks.queries --train selector.json           the model that comes with deltalog

For LUBM (generated) with the programs L and LE, WordNet (published data) and the category graph: the 14 queries of
LUBM, goals made by Algorithm 3 of paper 001 and goals from derived facts. Every goal is asked by both methods in one
process, and the model is judged on goals that it was not trained with. Times are seconds of the
process; of a goal, the better of two.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import datasets
from benchmarks.lubm_queries import QUERIES
from deltalog import KnowledgeBase
from deltalog.query.learning import Evaluation, chosen, cross_validated, train
from deltalog.query.selector import Model, load
from deltalog.query.training import Example, examples, write_examples

PROGRAMS = Path(__file__).with_name("programs")
CLASSIFIERS = ("svm", "bayes", "tree", "logistic")
BOUND = ("Q1", "Q3", "Q10")


@dataclass(frozen=True)
class Setting:
    """A program with its data."""

    name: str
    program: str
    data: Path
    queries: bool


def settings(sizes: Sequence[int], folder: Path) -> Iterator[Setting]:
    for size in sizes:
        data = folder / f"lubm-{size}"
        data.mkdir()
        datasets.lubm(size, data)
        yield Setting(f"LUBM({size}) L", "lubm_l.dl", data, True)
        yield Setting(f"LUBM({size}) LE", "lubm_le.dl", data, True)
    data = folder / "categories"
    data.mkdir()
    datasets.categories(20_000, data)
    yield Setting("categories", "categories.dl", data, False)
    try:
        yield Setting("WordNet", "wordnet.dl", datasets.published("wordnet/pointers.tsv.gz"), False)
    except datasets.NoData as error:
        print(f"WordNet: {error}", file=sys.stderr)


@dataclass(frozen=True)
class Measured:
    """The goals of a setting with their times, and the seconds of a materialisation."""

    setting: Setting
    examples: tuple[Example, ...]
    materialise: float
    look_up: float
    bound: dict[str, float]  # how many times faster than materialising

    def as_json(self) -> dict[str, Any]:
        return {"name": self.setting.name, "goals": len(self.examples), "materialise": self.materialise}


def measure(setting: Setting, goals: int, timeout: float) -> Measured:
    kb = _loaded(setting)
    trained = kb.training_goals(goals // 2, seed=1)
    tested = [goal for goal, _ in kb.test_goals(goals - len(trained), seed=2, without=trained)]
    queries = list(QUERIES.values()) if setting.queries else []
    found = list(examples(kb, [*queries, *trained, *tested], timeout))
    whole = _loaded(setting)
    started = time.process_time()
    whole.materialise()
    materialise = time.process_time() - started
    started = time.process_time()
    for example in found:
        whole.query(example.goal, "materialised")
    look_up = time.process_time() - started
    by_name = dict(zip(QUERIES, found, strict=False)) if setting.queries else {}
    bound = {name: materialise / by_name[name].seconds("qsqr") for name in BOUND if name in by_name}
    return Measured(setting, tuple(found), materialise, look_up, bound)


def _loaded(setting: Setting) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAMS / setting.program)
    kb.load(setting.data)
    return kb


def report(measured: Sequence[Measured], model: Model | None) -> list[dict[str, Any]]:
    """A line for each setting; the choice is the model's, or that of a tree trained on the other folds."""
    together = [example for one in measured for example in one.examples]
    choices = _choices(together, model)
    lines, at = [], 0
    for one in measured:
        end = at + len(one.examples)
        evaluation = Evaluation("", one.examples, tuple(choices[at:end]))
        at = end
        seconds = evaluation.seconds()
        lines.append(
            {
                **one.as_json(),
                **seconds,
                "materialise then ask": one.materialise + one.look_up,
                "right": evaluation.accuracy(),
                "learned / ideal": seconds["learned"] / seconds["ideal"],
                "estimate ms": 1000 * sum(e.estimating for e in one.examples) / len(one.examples),
                "times faster than materialising": one.bound,
            }
        )
    return lines


def _choices(found: Sequence[Example], model: Model | None) -> Sequence[str]:
    if model is not None:
        return [chosen(model, example) for example in found]
    return cross_validated(found, "tree").choices


def best(found: Sequence[Example]) -> Model:
    """The classifier whose choices cost the least time, trained on everything."""
    costs = {}
    for classifier in CLASSIFIERS:
        evaluation = cross_validated(found, classifier)
        costs[classifier] = evaluation.seconds()["learned"]
        print(f"{classifier}: right {evaluation.accuracy():.1%}, {costs[classifier]:.3f} s", file=sys.stderr)
    return train(found, min(costs, key=lambda name: costs[name]), "LUBM with L and LE, WordNet, a category graph")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[5, 10])
    parser.add_argument("--goals", type=int, default=120, help="for each setting, besides LUBM's 14")
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds for a goal and a method")
    parser.add_argument("--train", metavar="FILE", type=Path, help="write a model trained on all of it")
    parser.add_argument("--crossed", action="store_true", help="judge a tree on folds, not the model that is in use")
    parser.add_argument("--examples", metavar="FILE", type=Path, help="append the goals with their times to this file")
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args(arguments)
    measured = []
    with TemporaryDirectory() as folder:
        for setting in settings(options.sizes, Path(folder)):
            measured.append(measure(setting, options.goals, options.timeout))
            print(f"{setting.name}: {len(measured[-1].examples)} goals", file=sys.stderr)
    if options.examples is not None:
        write_examples([example for one in measured for example in one.examples], options.examples)
    if options.train is not None:
        best([example for one in measured for example in one.examples]).save(options.train)
    lines = report(measured, None if options.crossed or options.train else load())
    for line in lines:
        print(json.dumps({name: round(v, 4) if isinstance(v, float) else v for name, v in line.items()}))
    if options.json is not None:
        options.json.write_text(json.dumps(lines, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
