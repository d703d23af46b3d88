"""Which relations a program asks magic sets for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALL = "*"


@dataclass(frozen=True)
class MagicRequest:
    """The names of relations, `*` for all, and the relations that keep all facts, with the reasons."""

    names: frozenset[str]
    kept: Mapping[str, str]

    def why_kept(self, relation: str) -> str | None:
        """Why magic sets leave a relation as it is; None if they may restrict it."""
        if self.names.isdisjoint((ALL, relation)):
            return "magic sets are not requested for it"
        return self.kept.get(relation)
