"""Variants of rules for semi-naive evaluation, and their plans.

For a rule h <- b1, ..., bn whose atoms i1 < i2 < ... are recursive, semi-naive evaluation takes one variant per such
atom: it reads the DELTA, recursive atoms before it OLD, and all others ALL; so every rule instance is found once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from deltalog.core.rules import Atom, HiddenName, Negation, Pred, Rule, Variable, variables
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan, fact_columns
from deltalog.evaluation.plan.join_order import Body, plan_body
from deltalog.evaluation.plan.statistics import Statistics

ONLY = "#only "  # before the names of variables that are existential in a negated atom


@dataclass(frozen=True, slots=True)
class Variant:
    """A rule with the part that each of its atoms reads (ALL by default). With `instances`, its body has one row for
    each instance of the rule, so that they can be counted."""

    rule: Rule
    parts: tuple[tuple[int, Part], ...] = ()
    instances: bool = False

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
    if variant.instances:
        return _plan_instances(variant, statistics)
    live = [v for head in variant.rule.heads for v in variables(head)]
    return plan_body(variant.rule.body, live, statistics, dict(variant.parts), multiway)


def _plan_instances(variant: Variant, statistics: Statistics) -> Body:
    """The same for all variables of an instance: no join becomes a semi-join, and a change of a negated atom counts
    once, however many matches it has."""
    bodies = (variables(literal) for literal in variant.rule.body if not isinstance(literal, Negation))
    live = tuple(dict.fromkeys(v for found in bodies for v in found if not v.name.startswith(ONLY)))
    body = plan_body(variant.rule.body, live, statistics, dict(variant.parts))
    if set(live).issuperset(ir.columns(body.plan)):
        return body
    return replace(body, plan=ir.Distinct(ir.Project(body.plan, tuple((v, v) for v in live))))


def project(head: Atom, body: Plan) -> ir.Project:
    """The facts that a body gives for a head."""
    return ir.Project(body, tuple(zip(fact_columns(len(head.terms)), head.terms, strict=True)))


def new_facts(pred: Pred, inputs: tuple[Plan, ...]) -> Plan:
    """The facts of the inputs that the relation does not have."""
    return ir.AntiJoin(ir.Distinct(ir.Union(inputs)), ir.facts_of(pred))


def all_facts(_: Pred, inputs: tuple[Plan, ...]) -> Plan:
    """The facts of the inputs."""
    return ir.Distinct(ir.Union(inputs))


COUNT = Variable("#count")


def counts(pred: Pred) -> Pred:
    """The relation of facts with their numbers of derivations."""
    return Pred(HiddenName(f"#counts {pred.name}"), pred.arity + 1)


SHARED = "#body"


def shared_body(number: int, live: Mapping[Variable, None]) -> Atom:
    """The atom of a temporary relation that holds the bindings of a body with several heads."""
    return Atom(HiddenName(f"{SHARED}{number}"), tuple(live))
