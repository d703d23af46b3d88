"""Manifests: what a version of a state consists of, as JSON.

A version has a base and delta versions after it, each a folder of rows. Rows name their relation by its number. Numbers
are never used twice until a compaction, so a relation that is written as a whole gets a new number, and rows of numbers
that a manifest does not list are void.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from deltalog.core.errors import DataError
from deltalog.core.rules import HiddenName, Pred
from deltalog.languages.stored_rules import StoredRules

FORMAT = 1
EXPLICIT, DERIVED, GIVEN = "explicit", "derived", "given"  # given: the facts of rules and ontologies


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A relation of a state; `added` and `removed` rows are in deltas."""

    number: int
    kind: str
    name: str
    hidden: bool
    arity: int
    rows: int
    added: int = 0
    removed: int = 0

    @property
    def pred(self) -> Pred:
        return Pred(HiddenName(self.name) if self.hidden else self.name, self.arity)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The rows that one version wrote."""

    version: int
    rows: int
    terms: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version: rules, relations, where their rows are, and how far each source and stream has been read."""

    version: int
    parent: int | None
    created: str
    salt: int
    rules: StoredRules
    prefixes: Mapping[str, str]
    shape: str  # of the program (see `maintenance.snapshot`)
    numbers: tuple[int, ...]  # the kinds of numbers in the scope of the program
    relations: tuple[StoredRelation, ...]
    next_relation: int
    data: tuple[DataFolder, ...]  # the base first
    sources: Mapping[str, Any] = field(default_factory=dict)  # offsets by the name of a source
    streams: Mapping[str, Any] = field(default_factory=dict)  # the last batch by the name of a source
    sinks: Mapping[str, Any] = field(default_factory=dict)  # the definitions of sinks
    format: int = FORMAT

    def of_kind(self, kind: str) -> dict[Pred, StoredRelation]:
        return {relation.pred: relation for relation in self.relations if relation.kind == kind}

    @property
    def rows(self) -> int:
        return sum(relation.rows for relation in self.relations)

    @property
    def counts(self) -> dict[str, int]:
        """The explicit facts by predicate."""
        return {str(pred): relation.rows for pred, relation in self.of_kind(EXPLICIT).items()}

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def parse(cls, text: str, uri: str) -> Manifest:
        """A manifest from its text; DataError if it is none, or of a later release."""
        try:
            values = json.loads(text)
            if values["format"] > FORMAT:
                raise DataError(
                    f"{uri}: a later release of deltalog wrote this state; use that release, or a new state"
                )
            values["rules"] = StoredRules(*map(tuple, values["rules"].values()))
            values["relations"] = tuple(_records(StoredRelation, values["relations"]))
            values["data"] = tuple(_records(DataFolder, values["data"]))
            values["numbers"] = tuple(values["numbers"])
            return cls(**values)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            message = f"{uri} is not the manifest of a state ({problem}); restore the file, or start with a new state"
            raise DataError(message) from None


def _records(kind: Any, rows: Iterable[Mapping[str, Any]]) -> Iterable[Any]:
    return (kind(**row) for row in rows)
