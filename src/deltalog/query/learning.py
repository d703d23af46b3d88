"""Training the selector: the four classifiers of paper 001, by scikit-learn, and how good they are.

Accuracy counts right choices; what matters more is time, so the report has both: the seconds of always-QSQ,
always-magic, the ideal choice and the learned one, whose estimates count, too (paper 001, Figure 1 and Table 1e).
A goal for which both methods take about the same time teaches little; examples are weighted by what a mistake costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from deltalog.errors import UsageError
from deltalog.query.estimate import Features
from deltalog.query.selector import Model
from deltalog.query.training import Example

CLASSIFIERS = ("svm", "bayes", "tree", "logistic")
FOLDS = 5
PER_SECOND = 20.0  # orders of magnitude that a second counts for
SMOOTH = 1e-3  # the least variance of a feature


def train(examples: Sequence[Example], classifier: str = "tree", trained_for: str = "", without: int = -1) -> Model:
    """A model of examples. `without` leaves a feature out, for the ablation."""
    _check(examples, classifier)
    x, y = [_masked(e.features, without) for e in examples], [int(e.label == "magic") for e in examples]
    fitted = _fitted(classifier, x, y, [_weight(e) for e in examples])
    kind, parameters = _parameters(classifier, fitted)
    model = Model(classifier, kind, parameters, trained_for, len(examples), 0.0)
    return Model(classifier, kind, parameters, trained_for, len(examples), round(accuracy(model, examples, without), 4))


def _check(examples: Sequence[Example], classifier: str) -> None:
    if classifier not in CLASSIFIERS:
        raise UsageError(f"there is no classifier {classifier!r}; classifiers are {', '.join(CLASSIFIERS)}")
    labels = {example.label for example in examples}
    if len(labels) < 2:
        raise UsageError(
            f"there is nothing to choose: of {len(examples)} goals, all are answered faster by one method "
            f"({', '.join(labels) or 'none was asked'}); give more data, or goals of more kinds"
        )


def _weight(example: Example) -> float:
    """How much a wrong choice costs: in orders of magnitude, and in seconds."""
    fast, slow = sorted((example.seconds("qsqr"), example.seconds("magic")))
    return 0.05 + min(log(max(slow, 1e-9) / max(fast, 1e-9)), 5.0) + PER_SECOND * (slow - fast)


def _masked(features: Features, without: int) -> tuple[float, ...]:
    return tuple(0.0 if i == without else f for i, f in enumerate(features.vector))


def _fitted(classifier: str, x: Sequence[Sequence[float]], y: Sequence[int], weights: Sequence[float]) -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB
        from sklearn.svm import LinearSVC
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise UsageError(
            "training needs scikit-learn, which is not installed; `pip install deltalog[selector]` brings it"
        ) from None
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
    return "tree", {"tree": _nested(fitted.tree_, 0)}


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(v), 6) for v in values]


def _nested(tree: Any, node: int) -> Any:
    if tree.children_left[node] < 0:
        return int(tree.value[node][0].argmax())
    below, above = (_nested(tree, child[node]) for child in (tree.children_left, tree.children_right))
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


def accuracy(model: Model, examples: Sequence[Example], without: int = -1) -> float:
    right = sum(chosen(model, example, without) == example.label for example in examples)
    return right / max(1, len(examples))


@dataclass(frozen=True)
class Evaluation:
    """A classifier, judged on goals that it was not trained with: the choice for each of them."""

    classifier: str
    examples: tuple[Example, ...]
    choices: tuple[str, ...]

    def accuracy(self, of: Iterable[int] | None = None) -> float:
        numbers = range(len(self.examples)) if of is None else list(of)
        right = sum(self.choices[i] == self.examples[i].label for i in numbers)
        return right / max(1, len(numbers))

    def seconds(self) -> dict[str, float]:
        """Always one method, the better one each time, and ours with its estimates."""
        pairs = list(zip(self.examples, self.choices, strict=True))
        return {
            "always QSQ-R": sum(e.seconds("qsqr") for e in self.examples),
            "always magic": sum(e.seconds("magic") for e in self.examples),
            "ideal": sum(e.seconds(e.label) for e in self.examples),
            "learned": sum(e.seconds(choice) + e.estimating for e, choice in pairs),
        }


def cross_validated(examples: Sequence[Example], classifier: str, without: int = -1) -> Evaluation:
    """Every example is judged by a model of the others: five parts in turn."""
    choices = [""] * len(examples)
    for fold in range(FOLDS):
        held = [i for i in range(len(examples)) if i % FOLDS == fold]
        model = train([e for i, e in enumerate(examples) if i % FOLDS != fold], classifier, without=without)
        for i in held:
            choices[i] = chosen(model, examples[i], without)
    return Evaluation(classifier, tuple(examples), tuple(choices))
