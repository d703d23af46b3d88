"""An explanation as the types of JSON.

A proof is `{"fact": {"predicate", "values"}, "holds": true, "kind", "height", "rule", "bindings", "premises"}`, and so
is each premise that is a fact; others are `{"absent"}`, `{"aggregate"}` and `{"condition"}`. A derived fact that
occurs several times is written once, with an `"id"`; elsewhere it has `"see"` with that id instead of its step. A proof
that is deeper than readers of JSON nest goes on in the list `"continued"` of the outermost object in the same way.
Where a depth or a number of steps is asked for, a fact whose step is left out has `"hidden": {"facts": n}`.

Values are those of `deltalog.formats.json_values`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf
from typing import Any

from deltalog.core.terms import Value
from deltalog.extensions.explain.model import (
    Absent,
    Condition,
    Explanation,
    Fact,
    Group,
    Member,
    Near,
    Premise,
    Proof,
    Refutation,
    RuleAttempt,
    RuleRef,
)
from deltalog.extensions.explain.render.outline import Expansion
from deltalog.formats.json_values import json_value

NESTING = 50  # proofs, or refutations, inside of each other; each takes two levels of JSON or more


def render(explanation: Explanation, *, steps: float = inf) -> dict[str, Any]:
    """The explanation as a dictionary; with at most about `steps` facts of a proof."""
    if explanation.holds:
        return _Proofs(explanation, steps).document()
    reason = {"reason": explanation.reason} if explanation.reason else {}
    return {
        "fact": _fact(explanation.fact),
        "holds": False,
        "attempts": [_attempt(attempt) for attempt in explanation.attempts],
        "near": [_near(near) for near in explanation.near],
        **reason,
    }


# Values


def _values(bindings: Mapping[str, Value]) -> dict[str, Any]:
    return {name: json_value(value) for name, value in bindings.items()}


def _fact(fact: Fact) -> dict[str, Any]:
    return {"predicate": fact.shown_predicate, "values": [json_value(value) for value in fact.values]}


def _rule(rule: RuleRef) -> dict[str, Any]:
    where = {"file": rule.file, "line": rule.line}
    return {"id": rule.id, "text": rule.text, **{name: value for name, value in where.items() if value is not None}}


# Proofs


class _Proofs:
    """The making of one document."""

    def __init__(self, explanation: Explanation, steps: float) -> None:
        self.proofs = explanation.proofs
        depth = inf if explanation.depth is None else explanation.depth
        self.expansion = Expansion(self.proofs, steps, depth)
        self.places: dict[int, dict[str, Any]] = {}  # of expanded proofs
        self.waiting: deque[Proof] = deque()
        self.references: list[tuple[dict[str, Any], Proof]] = []

    def document(self) -> dict[str, Any]:
        first, *others = (self.proof(proof, None) for proof in self.proofs)
        continued = []
        while self.waiting:
            continued.append(self.expanded(self.waiting.popleft()))
        ids: dict[int, int] = {}
        for referring, proof in self.references:
            referring["see"] = ids.setdefault(id(proof), len(ids) + 1)
            self.places[id(proof)]["id"] = referring["see"]
        more: dict[str, Any] = {"others": others} if others else {}
        return first | more | ({"continued": continued} if continued else {}) | self.hidden()

    def hidden(self) -> dict[str, Any]:
        hidden = self.expansion.total - self.expansion.shown
        return {"hidden_facts": hidden} if hidden else {}

    def proof(self, proof: Proof, above: Proof | None) -> dict[str, Any]:
        if self.expansion.is_here(proof, above) and id(proof) not in self.places:
            level = self.expansion.levels[id(proof)]
            if level == 0 or level % NESTING:
                return self.expanded(proof)
            if proof not in self.waiting:
                self.waiting.append(proof)
        made = _head(proof)
        if id(proof) in self.expansion.levels:
            self.references.append((made, proof))
        elif proof.premises:
            made["hidden"] = {"facts": proof.steps - 1}
        else:
            made["premises"] = []
        return made

    def expanded(self, proof: Proof) -> dict[str, Any]:
        made = self.places[id(proof)] = _head(proof)
        if proof.rule is not None:
            made["rule"] = _rule(proof.rule)
        made["bindings"] = _values(proof.bindings)
        made["premises"] = [self.premise(premise, proof) for premise in proof.premises]
        return made

    def premise(self, premise: Premise, above: Proof) -> dict[str, Any]:
        match premise:
            case Proof():
                return self.proof(premise, above)
            case Group():
                return _group(premise, [self.member(member, above) for member in premise.members])
            case _:
                return _plain(premise)

    def member(self, member: Member, above: Proof) -> dict[str, Any]:
        return _member(member, [self.premise(premise, above) for premise in member.premises])


def _head(proof: Proof) -> dict[str, Any]:
    made: dict[str, Any] = {"fact": _fact(proof.fact), "holds": True, "kind": proof.kind, "height": proof.height}
    also = {"source": proof.source, "also_explicit": proof.also_explicit, "also_derived": proof.also_derived}
    return made | {name: value for name, value in also.items() if value}


def _plain(premise: Absent | Condition) -> dict[str, Any]:
    if isinstance(premise, Absent):
        return {"absent": {"atom": premise.atom, "reason": premise.reason}}
    return {"condition": {"text": premise.text, "value": premise.value}}


def _group(group: Group, members: list[dict[str, Any]]) -> dict[str, Any]:
    made = {
        "text": group.text,
        "function": group.function,
        "key": [json_value(value) for value in group.key],
        "count": group.count,
        "members": members,
        "arithmetic": group.arithmetic,
    }
    return {"aggregate": made}


def _member(member: Member, premises: list[dict[str, Any]]) -> dict[str, Any]:
    value = None if member.value is None else json_value(member.value)
    return {"bindings": _values(member.bindings), "value": value, "premises": premises}


# Why not


def _attempt(attempt: RuleAttempt, level: int = 1) -> dict[str, Any]:
    made = {
        "rule": _rule(attempt.rule),
        "satisfied": [_satisfied(premise) for premise in attempt.satisfied],
        "failed": attempt.failed,
        "needed": attempt.needed,
        "bindings": _values(attempt.bindings),
    }
    if not attempt.nested:
        return made
    if level >= NESTING:
        return made | {"hidden": {"nested": len(attempt.nested)}}
    return made | {"nested": [_refutation(one, level + 1) for one in attempt.nested]}


def _satisfied(premise: Premise) -> dict[str, Any]:
    """A premise that holds; the step of a derived fact is in the explanation of that fact."""
    match premise:
        case Proof():
            made = _head(premise)
            return made | ({"rule": _rule(premise.rule)} if premise.rule is not None else {})
        case Group():
            members = [_member(one, [_satisfied(inside) for inside in one.premises]) for one in premise.members]
            return _group(premise, members)
        case _:
            return _plain(premise)


def _refutation(refutation: Refutation, level: int) -> dict[str, Any]:
    made = {
        "atom": refutation.atom,
        "attempts": [_attempt(attempt, level) for attempt in refutation.attempts],
        "near": [_near(near) for near in refutation.near],
    }
    return made | ({"reason": refutation.reason} if refutation.reason else {})


def _near(near: Near) -> dict[str, str]:
    return {"kind": near.kind, "text": near.text}
