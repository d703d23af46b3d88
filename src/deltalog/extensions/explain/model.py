"""Explanations as frozen values; the search fills them, and `explain.render` shows them.

A proof is a directed acyclic graph: a part that several steps share is one object. Texts of rules, atoms and
conditions are in the rule language, with the prefixes of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.rules import Atom, Constant, PartName
from deltalog.core.terms import Value, key
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.extensions.explain.rule_parts import atom_text, name_text


@dataclass(frozen=True, eq=False)
class Fact:
    """A fact: its predicate (a bare name, or an IRI without brackets) and its values.

    The predicate `[]` with three values is a triple whose predicate is not an IRI of a property. As in rules, values
    are never confused: `1`, `1.0` and `"1"` make three facts.
    """

    predicate: str
    values: tuple[Value, ...]

    def text(self, prefixes: Mapping[str, str] | None = None) -> str:
        """The fact in the rule language."""
        return shortened(atom_text(Atom(self.predicate, tuple(map(Constant, self.values)))), prefixes or {})

    @property
    def shown_predicate(self) -> str:
        """The predicate, or the part of a rule that it stands for."""
        return name_text(self.predicate) if isinstance(self.predicate, PartName) else self.predicate

    def _key(self) -> tuple[str, tuple[object, ...]]:
        return self.predicate, tuple(map(key, self.values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fact) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class RuleRef:
    """A rule as users know it: its id, its text, and where it was written (file is None for a text)."""

    id: str
    text: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Absent:
    """A negated atom: its instance without NOT, and why nothing matches it."""

    atom: str
    reason: str


@dataclass(frozen=True)
class Condition:
    """BIND, FILTER or a comparison (SKOLEM among them): as written, and with values: `5 > 3`, `?y = 2 + 3 = 5`."""

    text: str
    value: str


@dataclass(frozen=True)
class Member:
    """A member of an aggregate's group: the variables of its body, the aggregated value, and what proves it."""

    bindings: Mapping[str, Value]
    value: Value | None  # None for COUNT(*)
    premises: tuple[Premise, ...]


@dataclass(frozen=True)
class Group:
    """One result of an aggregate: the values of its ON variables, some members, and the number of all of them.

    An AGGREGATE with several functions is one Group for each of them, with the same members.
    """

    text: str
    function: str
    key: tuple[Value, ...]
    members: tuple[Member, ...]
    count: int
    arithmetic: str  # "2 + 3 + ... = 17"


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """A fact and the step that derives it, with the proofs of the premises; an explicit fact has no step.

    height: 0 for an explicit fact, otherwise one more than the largest height of its premises.
    steps: the number of distinct facts in the proof.
    """

    fact: Fact
    kind: Literal["explicit", "derived"]
    height: int
    rule: RuleRef | None = None
    bindings: Mapping[str, Value] = field(default_factory=dict)
    premises: tuple[Premise, ...] = ()
    source: str | None = None  # the file of an explicit fact, where it is known
    also_explicit: bool = False  # a derived proof of a fact that is explicit, too
    also_derived: bool = False  # an explicit fact that a rule derives, too; found for the fact that was asked only
    steps: int = 1

    def __repr__(self) -> str:
        return f"<proof of {self.fact}: {self.kind}, height {self.height}, {self.steps:,} facts>"

    def parts(self) -> Iterator[Proof]:
        """The proofs of the premises, members of aggregates included; a shared one may come several times."""
        return _parts(self.premises)


Premise = Proof | Absent | Group | Condition


def _parts(premises: tuple[Premise, ...]) -> Iterator[Proof]:
    for premise in premises:
        if isinstance(premise, Proof):
            yield premise
        elif isinstance(premise, Group):
            for member in premise.members:
                yield from _parts(member.premises)


@dataclass(frozen=True)
class RuleAttempt:
    """A rule whose head fits a fact that does not hold: how far its body can be satisfied.

    satisfied: the premises that hold together under `bindings`. failed: the first one that does not, with these
    bindings. needed: what would satisfy it. nested: on request, why the failed premise does not hold.
    """

    rule: RuleRef
    bindings: Mapping[str, Value]
    satisfied: tuple[Premise, ...]
    failed: str
    needed: str
    nested: tuple[Refutation, ...] = ()


@dataclass(frozen=True)
class Refutation:
    """Why no fact matches an atom (which may have variables)."""

    atom: str
    attempts: tuple[RuleAttempt, ...]
    near: tuple[Near, ...]
    reason: str = ""  # where there are no attempts: "no rule derives path/2", "see above"


@dataclass(frozen=True)
class Near:
    """A near miss: something that holds and resembles what was asked."""

    kind: str  # "spelling", "type", "arity", "empty predicate", "unknown predicate", "direction"
    text: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a fact holds (`proofs`, the first of least height), or why it does not (`attempts`, `near`)."""

    fact: Fact
    holds: bool
    proofs: tuple[Proof, ...] = ()
    attempts: tuple[RuleAttempt, ...] = ()
    near: tuple[Near, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    depth: int | None = None  # levels of a proof to show; all if None
    reason: str = ""  # where there are neither proofs nor attempts: "no rule derives path/2"

    @property
    def kind(self) -> Literal["explicit", "derived"] | None:
        """Whether the fact is explicit or derived; None if it does not hold."""
        return self.proofs[0].kind if self.proofs else None

    @property
    def height(self) -> int | None:
        """The least height of a proof; None if the fact does not hold."""
        return self.proofs[0].height if self.proofs else None

    def text(self, **options: Any) -> str:
        """An indented tree."""
        return str(self._rendered("text", options))

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """The explanation as JSON's types."""
        return dict(self._rendered("json", options))

    def to_svg(self, **options: Any) -> str:
        """A drawing."""
        return str(self._rendered("svg", options))

    def to_html(self, **options: Any) -> str:
        """A page in one file, which folds and unfolds."""
        return str(self._rendered("html", options))

    def to_mermaid(self, **options: Any) -> str:
        """A flowchart in the language of Mermaid."""
        return str(self._rendered("mermaid", options))

    def _repr_html_(self) -> str:
        return str(self._rendered("html", {"notebook": True}))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        how = f"{self.kind}, height {self.height}" if self.holds else f"does not hold, {len(self.attempts)} rules tried"
        return f"<Explanation of {self.fact}: {how}>"

    @shielded
    def _rendered(self, form: str, options: Mapping[str, Any]) -> Any:
        """What `render(explanation, **options)` of `deltalog.extensions.explain.render.<form>` returns; loaded when needed."""
        return import_module(f"deltalog.extensions.explain.render.{form}").render(self, **options)
