"""Schemes: how a relation that rules define as a whole follows from other relations, without its facts being stored.

    closure      the transitive closure of one input
    components   the pairs of vertices that are connected in one input
    inverse      one input with its columns swapped
    union        all inputs, each read as it is or with its columns swapped

`deltalog.program.recognise` finds them. A backend keeps a relation with a scheme as a virtual relation or as a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from deltalog.core.rules import Atom, HiddenName, Pred, Rule, Variable

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


class SchemeKind(Enum):
    CLOSURE = "closure"
    COMPONENTS = "components"
    INVERSE = "inverse"
    UNION = "union"


@dataclass(frozen=True, slots=True)
class Scheme:
    """The inputs of a relation, and how it follows from them. `swapped` says which inputs are read with their columns
    swapped."""

    pred: Pred
    kind: SchemeKind
    inputs: tuple[Pred, ...]
    guarded: bool = False  # by x != z: the relation has no pair (x, x) unless an input has it
    swapped: tuple[bool, ...] = ()
    listed: bool = False  # whether a small relation may be stored as a table
    rule: Rule = field(init=False, compare=False, repr=False)  # stands for the scheme in the dependency graph

    def __post_init__(self) -> None:
        rule = Rule((atom(self.pred, X, Y),), tuple(atom(pred, X, Y) for pred in self.inputs))
        object.__setattr__(self, "rule", rule)

    def __str__(self) -> str:
        flags = self.swapped or (False,) * len(self.inputs)
        names = [f"the inverse of {p}" if swap else str(p) for p, swap in zip(_names(self.inputs), flags, strict=True)]
        made = f"the {self.kind.value} of {', '.join(names)}" if self.kind is not SchemeKind.INVERSE else names[0]
        return f"{_names([self.pred])[0]} is {made}, kept by a scheme"


def atom(pred: Pred, *terms: Variable) -> Atom:
    return Atom(pred.name, terms)


def backbone(pred: Pred) -> Pred:
    """The hidden relation of the facts that something other than the scheme gives (X_R in Hu et al.)."""
    return Pred(HiddenName(f"#backbone {pred.name}"), pred.arity)


def given(pred: Pred) -> Pred:
    """The relation of the explicit facts of a predicate, where they are kept apart."""
    return Pred(HiddenName(f"#given {pred.name}"), pred.arity)


def _names(preds: Iterable[Pred]) -> list[str]:
    return [f"<{pred.name}>" if ":" in pred.name and not pred.hidden else pred.name for pred in preds]
