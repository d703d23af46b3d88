"""Training the selector: the four classifiers of Joshi et al., by scikit-learn, and how good they are.

Accuracy counts right choices: the label is the method with the least time, however close the other one was (Joshi et
al., section 6). What matters more is time, so the report has both: the seconds of always-QSQ, always-magic, the ideal
choice and the learned one, whose estimates count, too (Figure 1 and Table 1e). A goal for which both methods take about
the same time teaches little; examples are weighted by what a mistake costs.

Past the paper, a model says after how many rows QSQ-R is given up. A regression tree puts goals together that magic
sets should take about as long for, and each of its leaves has the limit that would have been best for its goals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from statistics import median
from typing import Any, NamedTuple

from deltalog.core.errors import UsageError
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.selector import Model
from deltalog.evaluation.goals.training_goals import Example

CLASSIFIERS = ("svm", "bayes", "tree", "logistic")
FOLDS = 5
PER_SECOND = 2.0  # orders of magnitude that a second counts for
SMOOTH = 1e-3  # the least variance of a feature
PER_ROW = 1.5e-6  # seconds, where no example says
FEW = 50  # rows; of fewer than these, the time says nothing about one
LEVELS, ALIKE = 5, 15  # of the tree of limits: its depth, and the least number of goals at a leaf
FINER = 1.5  # from one limit to the next
TIE = 0.05  # in orders of magnitude for each goal: limits that are as good
NEAR = 1.1  # methods that differ by less than this are about as fast


def train(examples: Sequence[Example], classifier: str = "tree", trained_for: str = "", without: int = -1) -> Model:
    """A model of examples. `without` leaves a feature out, for the ablation."""
    _check(examples, classifier)
    return replace(_trained(examples, classifier, without), trained_for=trained_for)


def _trained(examples: Sequence[Example], classifier: str, without: int) -> Model:
    _check_library()
    rows, unit = _patience(examples, without), per_row(examples)
    lessons = [_lesson(e, _tried(e, _rows(rows, e, without), unit)[1]) for e in examples]
    model = replace(_classified(examples, lessons, classifier, without), rows=rows)
    right = ClassifierScore(classifier, tuple(examples), judged(model, examples, without)).accuracy()
    return replace(model, accuracy=round(right, 4))


class Lesson(NamedTuple):
    """Which method to choose for an example, and how much a wrong choice costs."""

    magic: bool
    weight: float


def _lesson(example: Example, tried: float) -> Lesson:
    """What an example teaches when QSQ-R takes so many seconds, with those of magic sets if it is given up.

    A mistake costs orders of magnitude, and seconds.
    """
    magic = example.seconds("magic")
    fast, slow = sorted((max(tried, 1e-9), max(magic, 1e-9)))
    return Lesson(magic < tried, 0.05 + min(log(slow / fast), 5.0) + PER_SECOND * (slow - fast))


def _classified(examples: Sequence[Example], lessons: Sequence[Lesson], classifier: str, without: int) -> Model:
    """A model that has no limit for QSQ-R."""
    x, y = [_masked(e.features, without) for e in examples], [int(lesson.magic) for lesson in lessons]
    if len(set(y)) < 2:
        return Model(classifier, "tree", {"tree": y[0]}, None, "", len(examples), 0.0)
    fitted = _fitted(classifier, x, y, [lesson.weight for lesson in lessons])
    return Model(classifier, *_parameters(classifier, fitted), None, "", len(examples), 0.0)


# How long QSQ-R may try.


def _patience(examples: Sequence[Example], without: int) -> Any:
    """A tree of the logarithm of rows: goals that should take magic sets about as long, and for them the best limit."""
    from sklearn.tree import DecisionTreeRegressor

    unit = per_row(examples)
    x = [_masked(e.features, without) for e in examples]
    worth = [log(max(e.seconds("magic"), 1e-6) / _each(e, unit)) for e in examples]
    regressor = DecisionTreeRegressor(
        criterion="absolute_error", max_depth=LEVELS, min_samples_leaf=ALIKE, random_state=0
    )
    leaves = regressor.fit(x, worth).apply(x).tolist()
    best = {
        leaf: _best_limit([e for e, at in zip(examples, leaves, strict=True) if at == leaf], unit)
        for leaf in set(leaves)
    }
    return _nested(regressor.tree_, 0, lambda _, node: round(log(best[node]), 4))


def _best_limit(examples: Sequence[Example], unit: float) -> float:
    """The rows after which to give up, so that goals take the least over the ideal, in orders of magnitude; of limits
    that are as good the largest, which is at most what the dearest of them by magic sets is worth, twice."""
    limits = [1.0]
    while limits[-1] < 2 * max(e.seconds("magic") / _each(e, unit) for e in examples):
        limits.append(limits[-1] * FINER)
    losses = [sum(log(_tried(e, limit, unit)[1] / max(e.seconds(e.label), 1e-9)) for e in examples) for limit in limits]
    enough = min(losses) + TIE * len(examples)
    return max(limit for limit, loss in zip(limits, losses, strict=True) if loss <= enough)


def _rows(tree: Any, example: Example, without: int) -> float:
    masked: Any = _Masked(_masked(example.features, without))
    return Model("", "tree", {}, tree, "", 0, 0.0).patience(masked)


def per_row(examples: Sequence[Example]) -> float:
    """The seconds that QSQ-R takes for a row, in the median."""
    found = [e.qsqr / e.work for e in examples if e.work and e.qsqr is not None and e.work >= FEW]
    return median(found) if found else PER_ROW


def _tried(example: Example, rows: float, unit: float) -> tuple[str, float]:
    """The method that answers when QSQ-R may go through so many rows, and the seconds of all."""
    if rows == inf or (example.qsqr is not None and _work(example, unit) <= rows):
        return "qsqr", example.seconds("qsqr")
    return "magic", min(rows * _each(example, unit), example.seconds("qsqr")) + example.seconds("magic")


def _work(example: Example, unit: float) -> float:
    """The rows that QSQ-R went through; about so many, where nobody counted them."""
    return example.seconds("qsqr") / unit if example.work is None else example.work


def _each(example: Example, unit: float) -> float:
    """The seconds of a row."""
    return example.seconds("qsqr") / example.work if example.work and example.work >= FEW else unit


def _check(examples: Sequence[Example], classifier: str) -> None:
    if classifier not in CLASSIFIERS:
        raise UsageError(f"there is no classifier {classifier!r}; classifiers are {', '.join(CLASSIFIERS)}")
    labels = {example.label for example in examples}
    if len(labels) < 2:
        raise UsageError(
            f"there is nothing to choose: of {len(examples)} goals, all are answered faster by one method "
            f"({', '.join(labels) or 'none was asked'}); give more data, or goals of more kinds"
        )


def _check_library() -> None:
    try:
        import sklearn.linear_model  # noqa: F401
    except ImportError:
        raise UsageError(
            "training needs scikit-learn, which is not installed; `pip install deltalog[selector]` brings it"
        ) from None


def _masked(features: Features, without: int) -> tuple[float, ...]:
    return tuple(0.0 if i == without else f for i, f in enumerate(features.vector))


def _fitted(classifier: str, x: Sequence[Sequence[float]], y: Sequence[int], weights: Sequence[float]) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    made = {
        "svm": lambda: LinearSVC(C=1.0, max_iter=20_000),
        "bayes": lambda: GaussianNB(),
        "tree": lambda: DecisionTreeClassifier(max_depth=8, min_samples_leaf=5, random_state=0),
        "logistic": lambda: LogisticRegression(max_iter=5_000),
    }[classifier]()
    return made.fit(x, y, sample_weight=weights)


def _parameters(classifier: str, fitted: Any) -> tuple[str, dict[str, Any]]:
    if classifier in ("svm", "logistic"):
        return "linear", {"weights": _rounded(fitted.coef_[0]), "bias": round(float(fitted.intercept_[0]), 6)}
    if classifier == "bayes":
        return "bayes", {
            name: {
                "prior": round(float(log(max(fitted.class_prior_[i], 1e-9))), 6),
                "mean": _rounded(fitted.theta_[i]),
                "variance": [max(v, SMOOTH) for v in _rounded(fitted.var_[i])],
            }
            for i, name in enumerate(("qsqr", "magic"))
        }
    return "tree", {"tree": _nested(fitted.tree_, 0, lambda value, _: int(value[0].argmax()))}


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(v), 6) for v in values]


def _nested(tree: Any, node: int, leaf: Callable[[Any, int], float]) -> Any:
    if tree.children_left[node] < 0:
        return leaf(tree.value[node], node)
    below, above = (_nested(tree, child[node], leaf) for child in (tree.children_left, tree.children_right))
    if below == above and not isinstance(below, list):
        return below
    return [int(tree.feature[node]), round(float(tree.threshold[node]), 6), below, above]


# How good a model is.


class _Masked(tuple[float, ...]):
    """Features of which one is left out."""

    __slots__ = ()

    @property
    def vector(self) -> tuple[float, ...]:
        return tuple(self)


def chosen(model: Model, example: Example, without: int = -1) -> str:
    masked: Any = _Masked(_masked(example.features, without))
    return model.choose(masked)


class Judged(NamedTuple):
    """What became of a goal: the method that a model chose, the one that answered in the end, the seconds of all."""

    first: str
    last: str
    seconds: float


def judged(model: Model, examples: Sequence[Example], without: int = -1) -> tuple[Judged, ...]:
    """What would have become of goals by a model, by the times of each method."""
    unit, found = per_row(examples), []
    for example in examples:
        first, rows = chosen(model, example, without), _rows(model.rows, example, without)
        last, seconds = _tried(example, rows, unit) if first == "qsqr" else (first, example.seconds(first))
        found.append(Judged(first, last, seconds + example.estimating))
    return tuple(found)


@dataclass(frozen=True)
class ClassifierScore:
    """A classifier, judged on goals that it was not trained with."""

    classifier: str
    examples: tuple[Example, ...]
    judged: tuple[Judged, ...]

    def accuracy(self, of: Iterable[int] | None = None) -> float:
        """The share of goals that the faster method answered."""
        return self._share(of, lambda e, j: j.last == e.label)

    def first_accuracy(self, of: Iterable[int] | None = None) -> float:
        """The same for the choice by features alone, as in the paper."""
        return self._share(of, lambda e, j: j.first == e.label)

    def near_accuracy(self, of: Iterable[int] | None = None) -> float:
        """The same where either method is right for goals in which they differ by less than a tenth."""
        return self._share(of, lambda e, j: e.seconds(j.last) < NEAR * e.seconds(e.label))

    def _share(self, of: Iterable[int] | None, right: Callable[[Example, Judged], bool]) -> float:
        numbers = range(len(self.examples)) if of is None else list(of)
        return sum(right(self.examples[i], self.judged[i]) for i in numbers) / max(1, len(numbers))

    def seconds(self) -> dict[str, float]:
        """Always one method, the better one each time, and ours with its estimates."""
        return {
            "always QSQ-R": sum(e.seconds("qsqr") for e in self.examples),
            "always magic": sum(e.seconds("magic") for e in self.examples),
            "ideal": sum(e.seconds(e.label) for e in self.examples),
            "learned": sum(j.seconds for j in self.judged),
        }


def cross_validated(examples: Sequence[Example], classifier: str, without: int = -1) -> ClassifierScore:
    """Every example is judged by a model of the others: five parts in turn."""
    _check(examples, classifier)
    found: dict[int, Judged] = {}
    for fold in range(FOLDS):
        model = _trained([e for i, e in enumerate(examples) if i % FOLDS != fold], classifier, without)
        held = range(fold, len(examples), FOLDS)
        found |= zip(held, judged(model, [examples[i] for i in held], without), strict=True)
    return ClassifierScore(classifier, tuple(examples), tuple(found[i] for i in range(len(examples))))
