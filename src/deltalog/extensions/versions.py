"""What a version of a knowledge base consists of, whatever keeps it.

A store keeps versions as arrays and a log in SQLite (`extensions.store`), a pipeline as Parquet at any URI
(`apps.pipelines.state`). For both, a version is

    contents     rules, prefixes, settings and the shape of the program (`VersionContents`)
    relations    explicit facts, and those that are derived (`maintenance.snapshot`)

A *base* has all rows of its relations, and later versions are the base with changes. When these have grown, the next
version is a base again (`Growth.due`). If the program no longer has the shape that was stored, only explicit facts are
taken over. What a later release wrote is not damaged, and this one does not touch it (`NewerFormat`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from deltalog.core.errors import DataError
from deltalog.core.rules import HiddenName, Pred
from deltalog.evaluation.maintenance.materialisation import Materialisation
from deltalog.evaluation.maintenance.snapshot import shape_of
from deltalog.languages.stored_rules import StoredRules
from deltalog.program.rule_set import RuleSet

EXPLICIT, DERIVED = "explicit", "derived"  # kinds of relations


class NewerFormat(DataError):
    """A later release of deltalog wrote a version: it is not damaged, and this release cannot read it."""


def check_format(found: int, known: int, place: object, noun: str) -> None:
    """NewerFormat if the format of what is at a place is unknown."""
    if found > known:
        raise NewerFormat(
            f"{place}: a later release of deltalog wrote this {noun} (format {found}, this release reads up to "
            f"{known}); upgrade deltalog"
        )


@dataclass(frozen=True)
class VersionContents:
    """What a version has beside its facts."""

    rules: StoredRules
    prefixes: Mapping[str, str]
    settings: Mapping[str, Any]
    shape: str  # of the program (see `maintenance.snapshot`)
    numbers: tuple[int, ...]  # the kinds of numbers in the scope of the program

    @classmethod
    def of(
        cls, rules: RuleSet, prefixes: Mapping[str, str], settings: Mapping[str, Any], state: Materialisation[Any]
    ) -> VersionContents:
        numbers = tuple(sorted(map(int, state.program.scope.numbers)))
        return VersionContents(StoredRules.of(rules), dict(prefixes), settings, shape_of(state), numbers)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> VersionContents:
        """From the values of a manifest; KeyError, TypeError or AttributeError if they are others."""
        rules, numbers = StoredRules(*map(tuple, values["rules"].values())), tuple(values["numbers"])
        return VersionContents(rules, values["prefixes"], values.get("settings", {}), values["shape"], numbers)


@dataclass(frozen=True)
class RelationEntry:
    """A relation of a version, in its manifest."""

    kind: str
    name: str
    hidden: bool
    arity: int
    rows: int

    @classmethod
    def of(cls, kind: str, pred: Pred, rows: int) -> RelationEntry:
        return RelationEntry(kind, str(pred.name), pred.hidden, pred.arity, rows)

    @property
    def pred(self) -> Pred:
        return Pred(HiddenName(self.name) if self.hidden else self.name, self.arity)


class Growth(NamedTuple):
    """What has come since a base: the number of changes, and of rows in them."""

    changes: int = 0
    rows: int = 0

    def due(self, base_rows: int, most_changes: int, most_share: float, least_rows: int = 0) -> str:
        """Why the next version should be a base; nothing if it should not. At most so many changes stay beside a base,
        and a share of its rows, or `least_rows` if that is more."""
        if self.changes >= most_changes:
            return f"{self.changes:,} changes since the last snapshot"
        if self.rows > max(most_share * base_rows, least_rows):
            return f"changes of {self.rows:,} facts since the last snapshot"
        return ""
