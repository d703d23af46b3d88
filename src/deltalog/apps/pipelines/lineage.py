"""Lineage: from sources to sinks, through predicates and rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltalog.apps.pipelines.spec import SinkSpec
from deltalog.core.naming import Names
from deltalog.core.rules import Pred, Rule


def lineage(
    sources: Mapping[str, Sequence[Pred]],
    rules: Sequence[Rule],
    bridges: Sequence[Rule],
    sinks: Sequence[tuple[SinkSpec, Pred]],
) -> dict[str, list[dict[str, Any]]]:
    """The predicates of each source, what each rule reads and derives, and the sources that each sink depends on."""
    name = _names(sources, rules)
    depends = _dependencies([*rules, *bridges])
    return {
        "sources": [{"source": source, "predicates": sorted(map(name, preds))} for source, preds in sources.items()],
        "rules": [
            {
                "rule": str(rule),
                "reads": sorted(map(name, rule.reads)),
                "derives": sorted({name(head.pred) for head in rule.heads}),
            }
            for rule in rules
        ],
        "sinks": [
            {
                "sink": sink.name,
                "predicate": sink.predicate,
                "sources": [source for source, preds in sources.items() if _reaches(pred, depends, set(preds))],
            }
            for sink, pred in sinks
        ],
    }


def _names(sources: Mapping[str, Sequence[Pred]], rules: Sequence[Rule]) -> Any:
    preds = {pred for some in sources.values() for pred in some}
    preds |= {pred for rule in rules for pred in (*rule.reads, *(head.pred for head in rule.heads))}
    shown = {pred: name for name, pred in Names(preds).by_name.items()}
    return lambda pred: shown[pred]


def _dependencies(rules: Sequence[Rule]) -> dict[Pred, set[Pred]]:
    depends: dict[Pred, set[Pred]] = {}
    for rule in rules:
        for head in rule.heads:
            depends.setdefault(head.pred, set()).update(rule.reads)
    return depends


def _reaches(start: Pred, depends: Mapping[Pred, set[Pred]], goals: set[Pred]) -> bool:
    """Whether a predicate is one of the goals, or depends on one."""
    seen, waiting = {start}, [start]
    while waiting:
        pred = waiting.pop()
        if pred in goals:
            return True
        new = depends.get(pred, set()) - seen
        seen |= new
        waiting += new
    return False
