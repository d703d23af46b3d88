"""Rules to plans: what a rule derives, from everything or from one changed atom.

For a rule h <- b1, ..., bn whose atoms i1 < i2 < ... are recursive, semi-naive evaluation takes one variant per such
atom: it reads the DELTA, recursive atoms before it OLD, and the rest ALL; so every rule instance is found once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from deltalog.plan import ir
from deltalog.plan.body import Body, plan_body
from deltalog.plan.ir import Part, Plan, fact_columns
from deltalog.plan.statistics import Statistics
from deltalog.syntax.ast import Atom, Pred, Rule, Variable, variables


@dataclass(frozen=True, slots=True)
class Variant:
    """A rule with the part that each of its atoms reads (ALL, unless it is said)."""

    rule: Rule
    parts: tuple[tuple[int, Part], ...] = ()

    @property
    def delta(self) -> Pred:
        """The predicate whose DELTA it reads; there must be one."""
        return next(
            literal.pred
            for i, part in self.parts
            if part is Part.DELTA and isinstance(literal := self.rule.body[i], Atom)
        )


def variants(rule: Rule, recursive: Collection[Pred]) -> Iterator[Variant]:
    """One variant for each atom of a predicate of the hyper-node."""
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom) and literal.pred in recursive]
    for number, i in enumerate(atoms):
        yield Variant(rule, (*((j, Part.OLD) for j in atoms[:number]), (i, Part.DELTA)))


def plan_variant(variant: Variant, statistics: Statistics, multiway: bool = False) -> Body:
    """The plan of the variant's body, for the variables of its heads."""
    live = [v for head in variant.rule.heads for v in variables(head)]
    return plan_body(variant.rule.body, live, statistics, dict(variant.parts), multiway)


def project(head: Atom, body: Plan) -> Plan:
    """The facts that a body gives for a head."""
    return ir.Project(body, tuple(zip(fact_columns(len(head.terms)), head.terms, strict=True)))


def new_facts(pred: Pred, inputs: tuple[Plan, ...]) -> Plan:
    """What is in one of the inputs and not known."""
    return ir.AntiJoin(ir.Distinct(ir.Union(inputs)), ir.facts_of(pred))


def all_facts(_: Pred, inputs: tuple[Plan, ...]) -> Plan:
    """What is in one of the inputs, known or not."""
    return ir.Distinct(ir.Union(inputs))


SHARED = "#body"


def shared_body(number: int, live: Mapping[Variable, None]) -> Atom:
    """The atom of a temporary relation that holds the bindings of a body with several heads."""
    return Atom(f"{SHARED}{number}", tuple(live))
