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
from deltalog.core.rules import Pred
from deltalog.extensions.versions import EXPLICIT, Growth, RelationEntry, VersionContents, check_format

FORMAT = 1
GIVEN = "given"  # a kind of relations: the facts of rules and ontologies


@dataclass(frozen=True)
class StoredRelation(RelationEntry):
    """A relation of a state; `added` and `removed` rows are in deltas."""

    number: int
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The rows that one version wrote."""

    version: int
    rows: int
    terms: int


@dataclass(frozen=True)
class Manifest(VersionContents):
    """A version: its contents, relations, where their rows are, and how far each source and stream has been read."""

    version: int
    parent: int | None
    created: str
    salt: int
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

    @property
    def growth(self) -> Growth:
        """What the deltas have."""
        return Growth(len(self.data) - 1, sum(folder.rows for folder in self.data[1:]))

    def text(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if name != "settings"}, indent=1)

    @classmethod
    def parse(cls, text: str, uri: str) -> Manifest:
        """A manifest from its text; DataError if it is none, NewerFormat if it is of a later release."""
        try:
            values = json.loads(text)
            check_format(values["format"], FORMAT, uri, "state")
            values["relations"] = tuple(_records(StoredRelation, values["relations"]))
            values["data"] = tuple(_records(DataFolder, values["data"]))
            return cls(**values | vars(VersionContents.read(values)))
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            message = f"{uri} is not the manifest of a state ({problem}); restore the file, or start with a new state"
            raise DataError(message) from None


def _records(kind: Any, rows: Iterable[Mapping[str, Any]]) -> Iterable[Any]:
    return (kind(**row) for row in rows)
