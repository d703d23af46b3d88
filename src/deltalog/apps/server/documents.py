"""What is answered, as the types of JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from deltalog.apps.server.versions import FactsByPredicate, Made, Step
from deltalog.core.naming import Names
from deltalog.core.rules import Rule
from deltalog.core.terms import Value
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.formats.json_values import json_value
from deltalog.knowledge_base.calls import session_of

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

JsonDocument = dict[str, Any]
_ABSOLUTE = re.compile(r"[^\s<>\"]*:[^\s<>\"]*")


def rows(found: Iterable[tuple[Value | None, ...]]) -> list[list[Any]]:
    return [[None if value is None else json_value(value) for value in row] for row in found]


def label(name: str, prefixes: Mapping[str, str]) -> str:
    """The name of a predicate with a prefix, if there is one for it."""
    return shortened(f"<{name}>", prefixes).strip("<>") if _ABSOLUTE.fullmatch(name) else name


def changed_facts(found: FactsByPredicate, names: Names, most: int) -> JsonDocument:
    """Facts by predicate, each with at most so many rows."""
    return {name: _some(found[pred], most) for name, pred in names.by_name.items() if pred in found}


def _some(facts: Facts[Any], most: int) -> JsonDocument:
    return {"count": len(facts), "rows": rows(facts.page(0, most)), "complete": len(facts) <= most}


def rule_texts(found: Mapping[str, Rule], prefixes: Mapping[str, str]) -> dict[str, str]:
    return {name: shortened(str(rule), prefixes) for name, rule in found.items()}


def difference(
    added: FactsByPredicate,
    removed: FactsByPredicate,
    added_rules: Mapping[str, Rule],
    removed_rules: Mapping[str, Rule],
    kb: KnowledgeBase,
    most: int,
) -> JsonDocument:
    """Facts and rules that come and go."""
    names = session_of(kb).names({*added, *removed})
    return {
        "added": changed_facts(added, names, most),
        "removed": changed_facts(removed, names, most),
        "added_rules": rule_texts(added_rules, kb.prefixes),
        "removed_rules": rule_texts(removed_rules, kb.prefixes),
    }


def change(made: Made, kb: KnowledgeBase, dry_run: bool, most: int) -> JsonDocument:
    """A change that was made, or would be; `kb` is for names, and for the expressions that fail after it."""
    found, how = made.change, {"dry_run": dry_run, "durable": made.durable, "seconds": round(made.seconds, 6)}
    facts = found.added.by_predicate(), found.removed.by_predicate()
    quads = {"added_quads": _quads(found.added_quads, most), "removed_quads": _quads(found.removed_quads, most)}
    rules = found.added_rules, found.removed_rules
    notes = {"notes": list(found.notes), "failures": [each.as_json for each in kb.report.failures]}
    return {"version": made.number, **how, **difference(*facts, *rules, kb, most), **quads, **notes}


def _quads(found: Collection[tuple[Value, ...]], most: int) -> JsonDocument:
    """Triples of named graphs: graph, subject, predicate and object."""
    return {"count": len(found), "rows": rows(islice(found, most)), "complete": len(found) <= most}


def step(found: Step, kb: KnowledgeBase, most: int) -> JsonDocument:
    """What a version changed."""
    parts = found.added, found.removed, found.added_rules, found.removed_rules
    return {"version": found.number, **difference(*parts, kb, most)}
