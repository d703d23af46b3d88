"""The learned choice between magic sets and QSQ-R: a model is a few numbers in a JSON file.

    linear (a support vector machine, logistic regression)   w·x + b > 0: magic
    bayes                                                    the class with the greater likelihood of x
    tree                                                     nested [feature, threshold, at most, above]; leaves 0 or 1

where x are the features of Algorithm 2, as orders of magnitude. A second tree, whatever the kind, has at its leaves how
many rows QSQ-R may go through before magic sets takes over (the logarithm; none: as many as it likes).

Prediction needs nothing but these numbers; `deltalog.evaluation.goals.fit_model` makes them. A file is checked before it is used:
whatever it says, it can only choose badly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp, inf, isfinite, log
from pathlib import Path
from typing import Any

from deltalog.core.errors import DataError
from deltalog.evaluation.goals.estimate import Features

FORMAT = "deltalog selector 2"
KINDS = ("linear", "bayes", "tree")
FEATURES = len(Features._fields)
DEEPEST = 20
DEFAULT = Path(__file__).with_name("selector.json")


@dataclass(frozen=True)
class Model:
    """A trained choice. `classifier` is its name among those of Joshi et al., `trained_for` the programs."""

    classifier: str
    kind: str
    parameters: Any
    rows: Any  # a tree, or None
    trained_for: str
    goals: int
    accuracy: float

    def choose(self, features: Features) -> str:
        """The method that should be faster."""
        x = features.vector
        match self.kind:
            case "linear":
                magic = (
                    self.parameters["bias"] + sum(w * f for w, f in zip(self.parameters["weights"], x, strict=True)) > 0
                )
            case "bayes":
                magic = _likelihood(self.parameters["magic"], x) > _likelihood(self.parameters["qsqr"], x)
            case _:
                magic = bool(_leaf(self.parameters["tree"], x))
        return "magic" if magic else "qsqr"

    def patience(self, features: Features) -> float:
        """How many rows QSQ-R may go through."""
        return inf if self.rows is None else exp(_leaf(self.rows, features.vector))

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n", "utf-8")


def _likelihood(parameters: dict[str, Any], x: Sequence[float]) -> float:
    """The logarithm of prior times densities, each feature a normal distribution of its own."""
    prior: float = parameters["prior"]
    logs: float = sum(
        -0.5 * (log(v) + (f - m) ** 2 / v)
        for f, m, v in zip(x, parameters["mean"], parameters["variance"], strict=True)
    )
    return prior + logs


def _leaf(tree: Any, x: Sequence[float]) -> float:
    while isinstance(tree, list):
        tree = tree[2] if x[tree[0]] <= tree[1] else tree[3]
    return float(tree)


def load(path: str | Path = DEFAULT) -> Model:
    """The model of a file; DataError if it is none."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise DataError(f"cannot read the model {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path} is not a model: it is not JSON; `deltalog selector train` makes models") from None
    wrong = _wrong(found)
    if wrong:
        raise DataError(f"{path} is not a model of deltalog: {wrong}; `deltalog selector train` makes models")
    del found["format"]
    return Model(**found)


def _wrong(found: Any) -> str | None:
    """What keeps a JSON value from being a model."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return f"it does not say that its format is {FORMAT!r}"
    missing = {"format", *Model.__dataclass_fields__} ^ found.keys()
    if missing:
        return f"it should have exactly the fields of one, and differs in {', '.join(sorted(missing))}"
    if not all(isinstance(found[name], str) for name in ("classifier", "kind", "trained_for")):
        return "a name is no text"
    if not (_number(found["accuracy"]) and isinstance(found["goals"], int)):
        return "a figure is no number"
    if found["rows"] is not None and not _is_tree(found["rows"], DEEPEST, lambda leaf: _number(leaf) and leaf < 700):
        return "its rows are no tree"
    return _wrong_parameters(found["kind"], found["parameters"])


def _wrong_parameters(kind: str, parameters: Any) -> str | None:
    if kind not in KINDS:
        return f"there is no kind {kind!r}; kinds are {', '.join(KINDS)}"
    match parameters:
        case {"weights": weights, "bias": bias} if kind == "linear" and _numbers(weights) and _number(bias):
            return None
        case {"magic": magic, "qsqr": qsqr} if kind == "bayes" and _normal(magic) and _normal(qsqr):
            return None
        case {"tree": tree} if kind == "tree" and _is_tree(tree, DEEPEST, _is_class):
            return None
    return f"its parameters are not those of the kind {kind!r}"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and len(values) == FEATURES and all(map(_number, values))


def _normal(value: Any) -> bool:
    match value:
        case {"prior": prior, "mean": mean, "variance": variance}:
            return _number(prior) and _numbers(mean) and _numbers(variance) and min(variance) > 0
    return False


def _is_class(leaf: Any) -> bool:
    return isinstance(leaf, int) and leaf in (0, 1)


def _is_tree(tree: Any, depth: int, is_leaf: Callable[[Any], bool]) -> bool:
    match tree:
        case [int(feature), threshold, below, above] if depth and 0 <= feature < FEATURES and _number(threshold):
            return _is_tree(below, depth - 1, is_leaf) and _is_tree(above, depth - 1, is_leaf)
    return is_leaf(tree)
