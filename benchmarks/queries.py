"""Goals without a materialisation: QSQ-R, magic sets, the learned choice, and materialising first.

    python -m benchmarks.queries --report out               everything: LUBM(5), (10) and (20), categories, WordNet
    python -m benchmarks.queries --only "LUBM(5) L" --json results.json    a part, put to the others in the file
    python -m benchmarks.queries --train selector.json      the model that comes with deltalog
    python -m benchmarks.queries --published                LUBM's answers by every method, against published counts

As in Joshi et al., a model is trained on goals that Algorithm 3 makes, and judged on others, made from derived facts,
and on the 14 queries of LUBM; LUBM(10) and LUBM(20) are not among what it was trained on. (The depth of trees and such
numbers of `deltalog.knowledge_base.fit_model` were chosen with goals of yet another seed, on three of the settings.)
Every goal is asked several times by both methods, then as users ask it, all in one process; the least seconds of the
process count. `learned` is that third one, so parsing, estimate, prediction and what is given up are in it.
Materialising by itself, the third choice, is switched off for it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import datasets
from benchmarks.lubm_queries import QUERIES
from deltalog import KnowledgeBase
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.selector import Model
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.fit_model import CLASSIFIERS, ClassifierScore, Judged, cross_validated, train
from deltalog.knowledge_base.training_goals import Example, examples, timed, write_examples

PROGRAMS = Path(__file__).with_name("programs")
BOUND = ("Q1", "Q3", "Q10")
SLOWEST = 1e-5  # seconds for a row
TRAINING = "LUBM(1) and LUBM(5) with L and LE, 5,000 and 20,000 categories, WordNet"
# LUBM(1,0), published, and LUBM(5,0), by another engine.
PUBLISHED = {
    "lubm-1": (4, 0, 6, 34, 719, 7790, 67, 7790, 208, 4, 224, 15, 1, 5916),
    "lubm-5": (4, 9, 6, 34, 719, 48582, 67, 7790, 1245, 4, 224, 15, 21, 36682),
}


@dataclass(frozen=True)
class Setting:
    """A program with its data, which `make` writes into a folder."""

    name: str
    program: str
    make: Callable[[Path], None]
    queries: bool = False

    def loaded(self) -> KnowledgeBase:
        kb = KnowledgeBase(PROGRAMS / self.program)
        with TemporaryDirectory() as folder:
            self.make(Path(folder))
            kb.load(folder)
        return kb


def settings(universities: Sequence[int], categories: Sequence[int]) -> Iterator[Setting]:
    for size in universities:
        yield Setting(f"LUBM({size}) L", "lubm_l.dl", partial(datasets.lubm, size), True)
        yield Setting(f"LUBM({size}) LE", "lubm_le.dl", partial(datasets.lubm, size), True)
    for size in categories:
        yield Setting(f"{size:,} categories", "categories.dl", partial(datasets.categories, size))
    yield Setting("WordNet", "wordnet.dl", datasets.pointers)


# Measuring


@dataclass(frozen=True)
class Measured:
    """The goals of a setting with their times, and the seconds of a materialisation."""

    name: str
    facts: int
    examples: tuple[Example, ...]
    judged: tuple[Judged, ...]
    materialise: float
    look_up: float
    bound: dict[str, float] = field(default_factory=dict)  # how many times faster than materialising

    @property
    def evaluation(self) -> ClassifierScore:
        return ClassifierScore(self.name, self.examples, self.judged)


def measure(setting: Setting, goals: int, timeout: float) -> Measured:
    kb = setting.loaded()
    tested = [goal for goal, _ in kb.training.test_goals(goals, seed=3, without=kb.training.goals(goals, seed=1))]
    queries = list(QUERIES.values()) if setting.queries else []
    asked = [(example, _asked(kb, example, timeout)) for example in examples(kb, [*queries, *tested], timeout)]
    found, judged = tuple(example for example, _ in asked), tuple(one for _, one in asked)
    whole = setting.loaded()
    materialise = _seconds(whole.materialise)
    look_up = sum(_seconds(partial(whole.query, example.goal, "materialised")) for example in found)
    facts = sum(session_of(whole).backend.size(table) for table in session_of(whole).state.explicit.values())
    bound = _bound(found, judged, materialise) if setting.queries else {}
    return Measured(setting.name, facts, found, judged, materialise, look_up, bound)


def _asked(kb: KnowledgeBase, example: Example, timeout: float) -> Judged:
    """A goal as users ask it."""
    first = kb.training.selector.choose(example.features)
    session_of(kb).queries.goals(session_of(kb).contents()).history.tried = True
    seconds, answers = timed(partial(kb.query, example.goal, timeout=timeout))
    last = _last(kb.training.selector, example) if answers is None else answers.method
    return Judged(first, last, timeout if seconds is None else seconds)


def _last(model: Model, example: Example) -> str:
    """The method that is at work when the time is over: magic sets, where QSQ-R is given up."""
    tried = model.choose(example.features) == "qsqr"
    return "qsqr" if tried and model.patience(example.features) * SLOWEST > example.timeout else "magic"


def _bound(found: Sequence[Example], judged: Sequence[Judged], materialise: float) -> dict[str, float]:
    names = list(QUERIES)
    return {name: materialise / judged[names.index(name)].seconds for name in BOUND}


def _seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


# Results


def line(one: Measured) -> dict[str, Any]:
    """The figures of a setting."""
    evaluation, seconds = one.evaluation, one.evaluation.seconds()
    return {
        "setting": one.name,
        "facts": one.facts,
        "goals": len(one.examples),
        **seconds,
        "materialise then ask": one.materialise + one.look_up,
        "learned / ideal": seconds["learned"] / seconds["ideal"],
        "right": evaluation.accuracy(),
        "right by features alone": evaluation.first_accuracy(),
        "right or within 10 %": evaluation.near_accuracy(),
        "estimate ms": 1000 * max(e.estimating for e in one.examples),
        "times faster than materialising": one.bound,
    }


def together(measured: Sequence[Measured]) -> Measured:
    """All settings as one."""
    return Measured(
        "all",
        sum(one.facts for one in measured),
        tuple(e for one in measured for e in one.examples),
        tuple(j for one in measured for j in one.judged),
        sum(one.materialise for one in measured),
        sum(one.look_up for one in measured),
    )


def read(path: Path) -> dict[str, Measured]:
    found = {}
    for row in json.loads(path.read_text("utf-8")) if path.exists() else ():
        row["examples"] = tuple(Example(**{**e, "features": Features(*e["features"])}) for e in row["examples"])
        row["judged"] = tuple(Judged(*one) for one in row["judged"])
        found[row["name"]] = Measured(**row)
    return found


def write(path: Path, measured: Sequence[Measured]) -> None:
    rows = ",\n".join(json.dumps(asdict(one)) for one in measured)
    path.write_text(f"[\n{rows}\n]\n", "utf-8")


def table(lines: Sequence[dict[str, Any]]) -> str:
    rows = [[_cell(name, value) for name, value in one.items()] for one in lines]
    head = list(lines[0])
    parts = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(part)} |\n" for part in parts)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {times:,.0f}" for key, times in value.items()) or "-"
    if isinstance(value, float):
        return f"{value:.1%}" if name.startswith("right") else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def report(folder: Path, measured: Sequence[Measured]) -> None:
    """Results, table and plots in a folder."""
    from deltalog.core.render.bars import bars

    folder.mkdir(parents=True, exist_ok=True)
    lines = [line(one) for one in (*measured, together(measured))]
    write(folder / "results.json", measured)
    (folder / "table.md").write_text(table(lines), "utf-8")
    ways = ("always QSQ-R", "always magic", "ideal", "learned", "materialise then ask")
    seconds = {one["setting"]: {way: one[way] for way in ways} for one in lines[:-1]}
    (folder / "seconds.svg").write_text(bars("seconds for all goals of a setting", seconds, " s"), "utf-8")
    shares = ("right", "right by features alone", "right or within 10 %")
    right = {one["setting"]: {share: 100 * one[share] for share in shares} for one in lines}
    (folder / "right.svg").write_text(bars("goals that the faster method answered", right, " %"), "utf-8")


# The model that comes with deltalog


def trained(goals: int, timeout: float, kept: Path | None) -> None:
    """Asks the goals to learn from, and keeps them."""
    for setting in settings([1, 5], [5_000, 20_000]):
        kb = setting.loaded()
        found = list(examples(kb, kb.training.goals(goals, seed=1), timeout))
        print(f"{setting.name}: {len(found)} goals", file=sys.stderr)
        if kept is not None:
            write_examples(found, kept)


def best(found: Sequence[Example]) -> str:
    """The fastest of the classifiers that are right most often, give or take a percent, each part of the goals judged
    by a model of the others."""
    right, times = {}, {}
    for classifier in CLASSIFIERS:
        evaluation = cross_validated(found, classifier)
        right[classifier], times[classifier] = evaluation.accuracy(), evaluation.seconds()["learned"]
        seconds = ", ".join(f"{name} {value:.2f} s" for name, value in evaluation.seconds().items())
        print(f"{classifier}: right {right[classifier]:.1%}, {seconds}", file=sys.stderr)
    return min((name for name in right if right[name] > max(right.values()) - 0.01), key=lambda name: times[name])


def published() -> int:
    """The 14 queries over the published data by every method; the exit code."""
    wrong = 0
    for name, counts in PUBLISHED.items():
        for program in ("lubm_l.dl", "lubm_le.dl"):
            kb, whole = KnowledgeBase(PROGRAMS / program), KnowledgeBase(PROGRAMS / program)
            for one in (kb, whole):
                one.load(datasets.published(f"lubm/data/{name}.nt.gz"))
            for (query, goal), count in zip(QUERIES.items(), counts, strict=True):
                ways = {method: kb for method in ("magic", "qsqr", "auto")} | {"materialised": whole}
                found = {method: len(one.query(goal, method)) for method, one in ways.items()}
                wrong += set(found.values()) != {count}
                print(f"{name} {program} {query}: {count} published, {found}")
    print("all as published" if not wrong else f"{wrong} queries have other counts")
    return bool(wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[5, 10, 20])
    parser.add_argument("--goals", type=int, default=100, help="for each setting, besides LUBM's 14")
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds for a goal and a method")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="a setting; may be repeated")
    parser.add_argument("--json", metavar="FILE", type=Path, help="put the results to those in this file")
    parser.add_argument("--report", metavar="DIR", type=Path, help="results, table and plots; of --json, if given")
    parser.add_argument("--train", metavar="FILE", type=Path, help="write a model trained on other goals and data")
    parser.add_argument("--examples", metavar="FILE", type=Path, help="with --train: where its goals are, or will be")
    parser.add_argument("--published", action="store_true", help="check LUBM's answers over the published data")
    options = parser.parse_args(arguments)
    if options.published:
        return published()
    return _train(options) if options.train else _measure(options)


def _train(options: argparse.Namespace) -> int:
    from deltalog.knowledge_base.training_goals import read_examples

    with TemporaryDirectory() as folder:
        kept = options.examples or Path(folder) / "examples.jsonl"
        if not kept.exists():
            trained(options.goals, options.timeout, kept)
        found = read_examples(kept)
    train(found, best(found), TRAINING).save(options.train)
    return 0


def _measure(options: argparse.Namespace) -> int:
    kept = read(options.json) if options.json else {}
    for setting in settings(options.sizes, [20_000]):
        if not options.only or setting.name in options.only:
            kept[setting.name] = measure(setting, options.goals, options.timeout)
            print(table([line(kept[setting.name])]), file=sys.stderr)
    if options.json:
        write(options.json, list(kept.values()))
    if options.report:
        report(options.report, list(kept.values()))
    print(table([line(one) for one in (*kept.values(), together(list(kept.values())))]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
