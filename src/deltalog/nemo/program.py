"""A Nemo program: rules, existential rules, and the files that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deltalog.model.terms import Value
from deltalog.syntax.ast import Atom, BodyLiteral, Rule, Span, Variable

TRIGGER = "deltalog trigger "  # the names of predicates that only the restricted chase has


@dataclass(frozen=True)
class FileUse:
    """`@import` or `@export` of a predicate; `arity` is that of its atoms in the program, if there are any."""

    kind: str
    predicate: str
    format: str
    parameters: Mapping[str, Value]
    span: Span
    arity: int | None = None
    folder: Path | None = None  # of the program, if it is a file


@dataclass(frozen=True)
class ExistentialRule:
    """heads(x, v) <- body, where the variables `new` have no value in the body. `skolem` is the rule that gives them
    values by SKOLEM: the same for the same values of the other variables of the heads."""

    heads: tuple[Atom, ...]
    body: tuple[BodyLiteral, ...]
    new: tuple[Variable, ...]
    skolem: Rule

    @property
    def frontier(self) -> tuple[Variable, ...]:
        """The variables of the heads that have values in the body."""
        names = dict.fromkeys(t for head in self.heads for t in head.terms if isinstance(t, Variable))
        return tuple(v for v in names if v not in self.new)


@dataclass(frozen=True)
class NemoProgram:
    """`rules` has the Skolem rules of existential rules, too."""

    rules: tuple[Rule, ...]
    prefixes: Mapping[str, str]
    existential: tuple[ExistentialRule, ...] = ()
    imports: tuple[FileUse, ...] = ()
    exports: tuple[FileUse, ...] = ()
    outputs: tuple[str, ...] = ()
