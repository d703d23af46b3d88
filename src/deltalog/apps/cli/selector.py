"""`deltalog selector`: train and evaluate models that choose between magic sets and QSQ-R for a program."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deltalog.apps.cli.options import add_data, add_programs, command_parser, count, load_data, seconds
from deltalog.core.errors import UsageError

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.knowledge_base.fit_model import ClassifierScore
    from deltalog.knowledge_base.training_goals import Example

SUBSETS = ("B", "M", "G")
DEEP = 4  # depths from here on are one
FEATURES = ("substitutions", "facts", "subqueries", "applications", "rules")


def parser() -> ArgumentParser:
    what = "Train a model that chooses between magic sets and QSQ-R for a program, or evaluate one."
    made = command_parser("selector", what)
    add = made.add_argument
    add("action", choices=("train", "evaluate"), help="train a model; or evaluate one, and all classifiers")
    add_programs(made)
    add_data(made)
    add("--goals", metavar="N", type=count, default=500, help="number of goals (default: 500)")
    add("--goal-timeout", metavar="S", type=seconds, default=10.0, help="seconds for a goal and a method (default: 10)")
    add("--seed", metavar="N", type=count, default=0, help="random seed for the choice of goals (default: 0)")
    add("--classifier", metavar="NAME", default="tree", help="svm, bayes, tree or logistic (default: tree)")
    add("--examples", metavar="FILE", type=Path, help="timed goals, as `deltalog query --learn` writes them")
    out = "the file of the model (train; default: selector.json), or a folder for tables and plots (evaluate)"
    add("--out", metavar="PATH", type=Path, help=out)
    add("--model", metavar="FILE", type=Path, help="the model to evaluate (default: the one in use)")
    return made


def run(options: Namespace) -> int:
    """Trains or evaluates a model; the exit code."""
    from deltalog.knowledge_base.facade import KnowledgeBase

    kb = KnowledgeBase(options.programs)
    load_data(kb, options)
    return evaluate(kb, options) if options.action == "evaluate" else train(kb, options)


def train(kb: KnowledgeBase, options: Namespace) -> int:
    """Times goals made from the program by both methods, and writes a model."""
    from deltalog.knowledge_base.fit_model import train as trained

    found = [*_given(options), *_asked(kb, kb.training.goals(options.goals, options.seed), options)]
    model = trained(found, options.classifier, ", ".join(path.name for path in options.programs))
    out = options.out or Path("selector.json")
    model.save(out)
    magic = sum(example.label == "magic" for example in found)
    print(f"{len(found):,} goals: QSQ-R is faster for {len(found) - magic:,}, magic sets for {magic:,}")
    print(f"{out}: {model.classifier}, accuracy {model.accuracy:.1%}")
    return 0


def _given(options: Namespace) -> list[Example]:
    from deltalog.knowledge_base.training_goals import read_examples

    return read_examples(options.examples) if options.examples else []


def _asked(kb: KnowledgeBase, goals: Sequence[str], options: Namespace) -> list[Example]:
    from deltalog.knowledge_base.training_goals import examples

    found = []
    for number, example in enumerate(examples(kb, goals, options.goal_timeout), 1):
        found.append(example)
        if sys.stderr.isatty():
            print(f"\r{number:,} of {len(goals):,} goals", end="", file=sys.stderr)
    return found


def evaluate(kb: KnowledgeBase, options: Namespace) -> int:
    """Measures the choices of models for other goals than those they were trained with."""
    from deltalog.evaluation.goals.selector import load
    from deltalog.knowledge_base.fit_model import CLASSIFIERS, ClassifierScore, cross_validated, judged, train

    asked = kb.training.goals(options.goals, options.seed)
    learnt = [*_given(options), *_asked(kb, asked, options)]
    tested = kb.training.test_goals(max(1, options.goals // 2), options.seed, without=asked)
    examples = _asked(kb, [goal for goal, _ in tested], options)
    evaluations = []
    for classifier in CLASSIFIERS:
        model = train(learnt, classifier)
        evaluations.append(ClassifierScore(classifier, tuple(examples), judged(model, examples)))
    shipped = load(options.model) if options.model else kb.training.selector
    name = f"{'given' if options.model else 'default'} model"
    evaluations.append(ClassifierScore(name, tuple(examples), judged(shipped, examples)))
    ablation = {"all": cross_validated(learnt, options.classifier).accuracy()}
    for i, name in enumerate(FEATURES):
        ablation[f"without {name}"] = cross_validated(learnt, options.classifier, without=i).accuracy()
    _report(learnt, evaluations, [depth for _, depth in tested], ablation, options)
    return 0


def _report(
    learnt: Sequence[Example],
    evaluations: Sequence[ClassifierScore],
    depths: Sequence[int],
    ablation: dict[str, float],
    options: Namespace,
) -> None:
    text = "\n".join(
        [
            *_data_tables(learnt, evaluations[0].examples),
            *_accuracies(evaluations, depths),
            *_seconds(evaluations),
            *_table(["features", "accuracy"], [[name, f"{value:.1%}"] for name, value in ablation.items()]),
        ]
    )
    print(text)
    if options.out is not None:
        _write(options.out, text, evaluations, depths, ablation)


def _data_tables(learnt: Sequence[Example], tested: Sequence[Example]) -> Iterator[str]:
    """Joshi et al., Table 2 and Figure 1a."""
    rows = []
    for name, found in (("training", learnt), ("test", tested)):
        magic = [example for example in found if example.label == "magic"]
        late = sum(example.magic is None for example in magic)
        kinds = [str(sum(example.bound == subset for example in found)) for subset in SUBSETS]
        rows.append([name, str(len(found) - len(magic)), f"{len(magic)} ({late})", *kinds])
    yield from _table(["goals", "QSQ-R", "magic (out of time)", *SUBSETS], rows)


def _parts(examples: Sequence[Example], depths: Sequence[int]) -> dict[str, list[int]]:
    """The goals of Figures 1b to 1d of Joshi et al.: by the right answer, by boundedness and by depth."""
    parts = {"all": list(range(len(examples)))}
    for label, name in (("qsqr", "QSQ-R goals"), ("magic", "magic goals")):
        parts[name] = [i for i, e in enumerate(examples) if e.label == label]
    for subset in SUBSETS:
        parts[subset] = [i for i, e in enumerate(examples) if e.bound == subset]
    for depth in range(1, DEEP + 1):
        name = f"depth {depth}{'+' if depth == DEEP else ''}"
        parts[name] = [i for i, d in enumerate(depths) if min(d, DEEP) == depth]
    return parts


def _accuracies(evaluations: Sequence[ClassifierScore], depths: Sequence[int]) -> Iterator[str]:
    """By classifier, what answered in the end; then the choice by features alone, and with some tolerance."""
    parts = _parts(evaluations[0].examples, depths)
    rows = []
    for evaluation in evaluations:
        figures = [f"{evaluation.accuracy(part):.1%}" if part else "-" for part in parts.values()]
        others = [f"{evaluation.first_accuracy():.1%}", f"{evaluation.near_accuracy():.1%}"]
        rows.append([evaluation.classifier, *figures, *others])
    yield from _table(["accuracy", *parts, "by features alone", "or within 10 %"], rows)


def _seconds(evaluations: Sequence[ClassifierScore]) -> Iterator[str]:
    """Joshi et al., Table 1e."""
    rows = []
    for evaluation in evaluations:
        seconds = evaluation.seconds()
        times = seconds["learned"] / max(seconds["ideal"], 1e-9)
        rows.append([evaluation.classifier, *(f"{value:.3f}" for value in seconds.values()), f"{times:.2f}"])
    yield from _table(["seconds", *evaluations[0].seconds(), "learned / ideal"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _write(
    folder: Path,
    text: str,
    evaluations: Sequence[ClassifierScore],
    depths: Sequence[int],
    ablation: dict[str, float],
) -> None:
    from deltalog.core.render.bars import bars

    parts = {name: part for name, part in _parts(evaluations[0].examples, depths).items() if part}
    by_part = {name: {e.classifier: 100 * e.accuracy(part) for e in evaluations} for name, part in parts.items()}

    accuracy = {e.classifier: {"accuracy": 100 * e.accuracy()} for e in evaluations}
    seconds = {e.classifier: e.seconds() for e in evaluations}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "selector.md").write_text(text, "utf-8")
        (folder / "accuracy.svg").write_text(bars("right choices, by classifier", accuracy, " %"), "utf-8")
        (folder / "parts.svg").write_text(bars("right choices, by kind of goal", by_part, " %"), "utf-8")
        (folder / "seconds.svg").write_text(bars("seconds for all test goals", seconds, " s"), "utf-8")
        features = {name: {"accuracy": 100 * value} for name, value in ablation.items()}
        (folder / "features.svg").write_text(bars("right choices without a feature", features, " %"), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
