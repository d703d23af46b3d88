"""Changes as users ask for them, and as an ontology makes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.core.rules import Pred, Rule

if TYPE_CHECKING:
    from deltalog.extensions.ontology.state import Ontology
    from deltalog.program.rule_set import RuleSet


class Planned(NamedTuple):
    """A change with what an ontology adds to it."""

    rule_set: RuleSet
    add: dict[Pred, Any]
    remove: dict[Pred, Any]
    ontology: Ontology | None
    notes: tuple[str, ...] = ()  # what was asked for and does not happen


class RequestedChange(NamedTuple):
    """What a user asks for: facts to add and to remove as they were given, and rules to add."""

    add: Mapping[Pred, Any]
    remove: Mapping[Pred, Any]
    rules: Collection[Rule] = ()
