"""Variants of rules for maintenance: the instances that a delta changes, and the candidates that can still be derived.

    delta_variants    one variant for each literal that a delta can change: an atom reads the DELTA, everything else the
                      state; for a negated atom, the DELTA is joined to the body, and the negation stays
    check_variant     the rule with one more atom in its body, the candidates: it derives those of them that it can (the
                      backward evaluation of DRed, a set at a time)
    skolem_columns    the SKOLEM terms of a rule's head. Where the arguments of those in candidates are known, the rule
                      is checked with an atom of these (the inverse) in place of the BIND: it starts from the candidates
                      and their arguments, and not from all terms that it could compute
    supports          the check with a body atom for a head: the body facts of instances that derive candidates
    disjoint_...      delta variants for counting: each instance is a row of one variant only, because literals before
                      the one that reads the DELTA must be unchanged
    grouped           for a rule that is one aggregate: the rule that finds the groups that a delta changes, and the
                      rule restricted to some groups
    group_keys        for a rule that is one aggregate: the rule that finds the groups of the candidates

An aggregate is checked only in the groups of the candidates. These are a relation of distinct group keys, so that the
restriction is a semi-join: it leaves out bindings of the aggregate's body, and cannot repeat one.

A variant of a rule with atoms and negated atoms alone can be evaluated tuple at a time (`tuple_plan`): one fact is its
DELTA, and the other literals are looked up one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from deltalog.core.rule_text import print_literal
from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.tuning import Tuning
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.plan.join_order import plan_body
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.evaluation.plan.variants import ONLY, Variant, variants
from deltalog.functions.skolem import is_plain_skolem, skolem_form


@dataclass(frozen=True, slots=True)
class DeltaVariant:
    """A variant that reads the delta of a predicate, for an atom of it or (negated) for a negated one."""

    pred: Pred
    negated: bool
    variant: Variant


def delta_variants(rule: Rule) -> Iterator[DeltaVariant]:
    """The delta variants of a rule without aggregates, one per literal."""
    for i, literal in enumerate(rule.body):
        if isinstance(literal, Atom):
            yield DeltaVariant(literal.pred, False, Variant(rule, ((i, Part.DELTA),)))
        elif isinstance(literal, Negation):
            body = (*rule.body, _as_positive(literal.atom, rule, i))
            variant = Variant(replace(rule, body=body), ((len(body) - 1, Part.DELTA),))
            yield DeltaVariant(literal.atom.pred, True, variant)


def _as_positive(atom: Atom, rule: Rule, place: int) -> Atom:
    """A negated atom as a positive one: variables that only it has are renamed, as they are existential."""
    bound = {
        v
        for i, other in enumerate(rule.body)
        if i != place and not isinstance(other, Negation)
        for v in variables(other)
    }
    return replace(atom, terms=tuple(_renamed(t, ONLY) if t not in bound else t for t in atom.terms))


def _renamed(term: Term, prefix: str) -> Term:
    return Variable(prefix + term.name) if isinstance(term, Variable) else term


def candidates(pred: Pred) -> Pred:
    """The name under which candidates are read."""
    return Pred(HiddenName(f"#candidates {pred.name}"), pred.arity)


@dataclass(frozen=True, slots=True)
class SkolemColumn:
    """A SKOLEM term that is a column of a head, and the atom of its inverse: its arguments, and the term."""

    bind: Bind
    call: Call
    column: int
    atom: Atom


def skolem_columns(rule: Rule) -> Iterator[SkolemColumn]:
    head = rule.heads[0]
    for bind in rule.body:
        if isinstance(bind, Bind) and bind.variable in head.terms and is_plain_skolem(call := bind.expression):
            column = head.terms.index(bind.variable)
            name = HiddenName(f"#made {head.pred.name} {column} {skolem_form(call)}")
            yield SkolemColumn(bind, call, column, Atom(name, (*dict.fromkeys(variables(call)), bind.variable)))


def check_variant(rule: Rule, inverted: Iterable[SkolemColumn] = ()) -> Variant:
    """The rule for the candidates only, which are read as DELTA; an aggregate for their groups only. The arguments of
    SKOLEM terms that are `inverted` are read, and not computed."""
    head = rule.heads[0]
    atoms: dict[BodyLiteral, BodyLiteral] = {skolem.bind: skolem.atom for skolem in inverted}
    literals = _in_groups(rule).body if is_aggregate(rule) else rule.body
    body = tuple(atoms.get(literal, literal) for literal in literals)
    return Variant(
        replace(rule, body=(*body, Atom(candidates(head.pred).name, head.terms))), ((len(body), Part.DELTA),)
    )


def supports(rule: Rule, preds: Collection[Pred], inverted: Iterable[SkolemColumn] = ()) -> Iterator[Variant]:
    """For each body atom of these predicates: the rule that finds its facts in instances that derive candidates."""
    check = check_variant(rule, inverted)
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.pred in preds:
            yield replace(check, rule=replace(check.rule, heads=(literal,)))


def group_keys(rule: Rule) -> Rule | None:
    """For h(g, r) <- AGGREGATE(b ON g ...): the rule #keys(g) <- #candidates h(g, r). Group variables that are not in
    the head are left out; None if that leaves none."""
    head = rule.heads[0]
    keys = tuple(v for v in _aggregate_of(rule).on if v in head.terms)
    if not keys:
        return None
    # The name says all of the rule, as several aggregates are checked at once.
    name = HiddenName(f"#keys {' '.join(v.name for v in keys)} of {print_literal(head)}")
    return Rule((Atom(name, keys),), (Atom(candidates(head.pred).name, head.terms),))


def _in_groups(rule: Rule) -> Rule:
    """An aggregate over the groups of the candidates only."""
    keys = group_keys(rule)
    return rule if keys is None else _restricted(rule, keys.heads[0])


def _restricted(rule: Rule, groups: Atom) -> Rule:
    """An aggregate over some groups; all variables of `groups` must be group variables."""
    literal = _aggregate_of(rule)
    assert set(groups.terms) <= set(literal.on)
    return replace(rule, body=(replace(literal, body=(*literal.body, groups)),))


def _aggregate_of(rule: Rule) -> Aggregate:
    (literal,) = rule.body
    assert isinstance(literal, Aggregate)
    return literal


# For counting. A literal is unchanged when its atom is not in the delta, which has a name of its own.


def delta_of(pred: Pred, negated: bool = False) -> Pred:
    """The name of the delta of a predicate that changes its atoms (Δp), or its negated ones (Δn)."""
    return Pred(HiddenName(f"#change {'not ' if negated else ''}{pred.name}"), pred.arity)


def deleted(pred: Pred, before: bool = False) -> Pred:
    """The name of the facts of a predicate of the stratum that are deleted so far, or were before the last round."""
    return Pred(HiddenName(f"#deleted {'before ' if before else ''}{pred.name}"), pred.arity)


def disjoint_delta_variants(rule: Rule, preds: Collection[Pred]) -> Iterator[DeltaVariant]:
    """Π[I : Δp, Δn], for deltas from before the stratum."""
    before: tuple[BodyLiteral, ...] = ()
    for i, literal in enumerate(rule.body):
        if isinstance(literal, Atom) and literal.pred not in preds:
            body = (*rule.body, *before)
            yield DeltaVariant(literal.pred, False, Variant(replace(rule, body=body), ((i, Part.DELTA),), True))
        elif isinstance(literal, Negation):
            atom = replace(_as_positive(literal.atom, rule, i), name=delta_of(literal.atom.pred, True).name)
            body = (*rule.body, *before, atom)
            variant = Variant(replace(rule, body=body), ((len(body) - 1, Part.DELTA),), True)
            yield DeltaVariant(literal.atom.pred, True, variant)
        before += tuple(_unchanged(literal, preds))


def _unchanged(literal: BodyLiteral, preds: Collection[Pred]) -> Iterator[BodyLiteral]:
    """The condition that a literal from before the stratum is unchanged."""
    if isinstance(literal, Atom) and literal.pred not in preds:
        yield _not_in(literal, delta_of(literal.pred))
    elif isinstance(literal, Negation):
        yield _not_in(literal.atom, delta_of(literal.atom.pred, True))


def _not_in(atom: Atom, other: Pred) -> Negation:
    return Negation(replace(atom, name=other.name))


def disjoint_deletion_variants(rule: Rule, preds: Collection[Pred]) -> Iterator[Variant]:
    """Instances of which a fact of the stratum is deleted in this round, one variant for each of its atoms; literals
    from before the stratum are unchanged."""
    own = {i: literal for i, literal in enumerate(rule.body) if isinstance(literal, Atom) and literal.pred in preds}
    others = tuple(unchanged for literal in rule.body for unchanged in _unchanged(literal, preds))
    for i in own:
        present = tuple(_not_in(atom, deleted(atom.pred, before=j > i)) for j, atom in own.items() if j != i)
        yield Variant(replace(rule, body=(*rule.body, *others, *present)), ((i, Part.DELTA),), True)


def disjoint_insertion_variants(rule: Rule, preds: Collection[Pred]) -> Iterator[Variant]:
    """Instances over a fact of the stratum that is new in this round."""
    return (replace(variant, instances=True) for variant in variants(rule, preds))


GROUPS = HiddenName("#groups")


def is_aggregate(rule: Rule) -> bool:
    return len(rule.body) == 1 and isinstance(rule.body[0], Aggregate)


def grouped(rule: Rule) -> tuple[Rule, Rule]:
    """For h <- AGGREGATE(b ON g ...): the rule #groups(g) <- b, and the rule h over the groups of #groups only."""
    literal = _aggregate_of(rule)
    groups = Atom(GROUPS, literal.on)
    return Rule((groups,), literal.body), _restricted(rule, groups) if literal.on else rule


class Role(IntEnum):
    """What a tuple plan is for."""

    AFFECTED = 0  # the consequences of a changed fact from before the stratum
    LOOP = 1  # the consequences, by a recursive rule, of a changed fact of the stratum itself
    CHECK = 2  # whether a nonrecursive rule derives the fact
    RECHECK = 3  # whether a recursive one does


@dataclass(frozen=True, slots=True)
class TuplePlan:
    """A rule variant for one fact at a time: the atom that the fact matches, and the other literals in the order of
    their look-ups. `negated`: the fact matches a negated atom, so that an added fact deletes, and vice versa."""

    role: Role
    head: Atom
    fact: Atom
    steps: tuple[Atom | Negation, ...]
    negated: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class TuplePlans:
    """The tuple plans of a stratum; its predicates in a fixed order."""

    preds: tuple[Pred, ...]
    rules: tuple[TuplePlan, ...]


def is_tuple_maintainable(rule: Rule) -> bool:
    """Whether a rule can be maintained tuple at a time: it consists of atoms, some negated, of up to two terms."""
    atoms = [literal.atom if isinstance(literal, Negation) else literal for literal in (*rule.heads, *rule.body)]
    return all(isinstance(atom, Atom) and len(atom.terms) <= 2 for atom in atoms)


@dataclass(frozen=True, slots=True)
class OneFact:
    """The same data, with a DELTA of one fact."""

    known: Statistics

    @property
    def tuning(self) -> Tuning:
        return self.known.tuning

    def size(self, pred: Pred, part: Part) -> float:
        return 1.0 if part is Part.DELTA else self.known.size(pred, part)

    def distinct(self, pred: Pred, part: Part, column: int) -> float:
        return 1.0 if part is Part.DELTA else self.known.distinct(pred, part, column)

    def heaviest(self, pred: Pred, part: Part, column: int) -> float:
        return 1.0 if part is Part.DELTA else self.known.heaviest(pred, part, column)


def tuple_plan(role: Role, variant: Variant, statistics: Statistics, negated: bool = False) -> TuplePlan:
    """A variant that reads a DELTA, for one fact of it at a time; the planner orders the look-ups."""
    head, body = variant.rule.heads[0], variant.rule.body
    place = next(i for i, part in variant.parts if part is Part.DELTA)
    fact = body[place]
    assert isinstance(fact, Atom)
    steps: list[BodyLiteral | None] = [literal for i, literal in enumerate(body) if i != place]
    if len(steps) > 1:
        notes = plan_body(body, variables(head), OneFact(statistics), {place: Part.DELTA}).notes
        steps = [note.literal for note in notes if note.part is not Part.DELTA]
    return TuplePlan(role, head, fact, tuple(step for step in steps if isinstance(step, Atom | Negation)), negated)


def min_looked_up(rule: TuplePlan, statistics: Statistics) -> float:
    """The size of the smallest relation that is looked up."""
    return min((statistics.size(step.pred, Part.ALL) for step in rule.steps if isinstance(step, Atom)), default=0.0)
