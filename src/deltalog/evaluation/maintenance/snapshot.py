"""What is stored of a materialisation, and how one is restored without evaluating its rules.

    stored      explicit facts, and the relations of derived predicates: those of aggregates, backbones and trees, too
    rebuilt     virtual relations, from their inputs; relations of trees that were not chosen when it was stored
    derived     again: what rests on representatives of equal individuals
    dropped     counts of derivations and limits of the tuple-at-a-time kernel: maintenance makes them again

Relations that only have explicit facts are not stored twice. A materialisation can be restored for a program of the
same shape: the same rules of evaluation, over relations that are stored in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Generic, Protocol, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation, start
from deltalog.evaluation.maintenance.update_state import Update
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.seminaive import Relations, SemiNaive
from deltalog.program import Program
from deltalog.program.dependency import DependencyGraph

T = TypeVar("T")


class StoredProgram(Protocol):
    """What is stored beside tables."""

    @property
    def prefixes(self) -> Mapping[str, str]: ...

    @property
    def shape(self) -> str:
        """Of the program."""
        ...

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kinds of numbers in the scope of the program."""
        ...


def shape(program: Program) -> str:
    """A digest of how a program is evaluated and stored."""
    rules = sorted(str(rule) for node in program.hyper_nodes for rule in node.rules)
    schemes = sorted(f"{pred} {scheme}" for pred, scheme in program.scheme_of.items())
    stored = sorted(f"{pred} in {place}" for pred, place in program.stored.items())
    return sha256("\n".join([*rules, "", *schemes, "", *stored]).encode()).hexdigest()


def shape_of(state: Materialisation[T]) -> str:
    """The shape of what is stored of a materialisation; of no program, if it is to be derived again."""
    return shape(state.program) if state.is_restorable else ""


def stored_relations(state: Materialisation[T], list_schemes: bool) -> dict[Pred, T]:
    """The relations to store beside the explicit facts; those of schemes if they are listed."""
    if not state.is_restorable:
        return {}
    virtual: Collection[Pred] = () if list_schemes else state.program.scheme_of
    kept = state.program.derived.difference(virtual) | state.trees.relations.keys()
    return {pred: table for pred, table in state.relations.whole() if pred in kept}


def restored(
    program: Program,
    explicit: dict[Pred, T],
    stored: Mapping[Pred, T],
    evaluator: Evaluator[T],
    list_schemes: bool,
) -> Materialisation[T]:
    """The materialisation of a program, from what was stored of one of the same shape."""
    relations, trees = start(program.placed(explicit), evaluator.backend), evaluator.trees
    rebuilt = () if list_schemes else program.scheme_of.keys()
    for pred in program.derived.difference(rebuilt).intersection(stored):
        relations.set(pred, stored[pred])
    schemes = [scheme.rule for pred, scheme in program.scheme_of.items() if pred in rebuilt or pred not in stored]
    _evaluate(schemes, program, relations)
    trees.program(program, relations)  # chooses trees by the sizes of relations
    for pred in trees.relations.keys() & stored.keys():
        relations.set(pred, stored[pred])
    _evaluate([rule for pred, rule in trees.relations.items() if pred not in stored], program, relations)
    trees.settle(program, relations)
    return Materialisation(program, explicit, relations, trees)


def _evaluate(rules: Sequence[Rule], program: Program, relations: Relations[T]) -> None:
    """Evaluates some rules of evaluation alone, over relations that are complete."""
    if rules:
        SemiNaive(replace(program, hyper_nodes=DependencyGraph.of(tuple(rules)).hyper_nodes), relations).run()


@dataclass(frozen=True)
class Delta(Generic[T]):
    """How stored relations differ between two states: rows that were added and removed, or a relation as a whole."""

    added: dict[Pred, T] = field(default_factory=dict)
    removed: dict[Pred, T] = field(default_factory=dict)
    whole: dict[Pred, T] = field(default_factory=dict)


def explicit_delta(state: Materialisation[T], update: Update[T]) -> Delta[T]:
    """The explicit facts that an update added and removed to get to a state."""
    home = {place: pred for pred, place in [*state.program.stored.items(), *state.program.given.items()]}
    return Delta(
        {home.get(pred, pred): table for pred, table in update.added_facts.items()},
        {home.get(pred, pred): table for pred, table in update.removed_facts.items()},
    )


def relations_delta(
    state: Materialisation[T], update: Update[T], list_schemes: bool, known: Collection[Pred]
) -> Delta[T]:
    """How the stored relations of a state differ from those before an update; `known` are those that were stored
    then. Where the update does not tell, tables are compared, or a relation is stored as a whole."""
    backend, old = update.backend, update.old
    stored, delta = stored_relations(state, list_schemes), Delta[T]()
    update.resolve_deltas(stored.keys())
    for pred, table in stored.items():
        before = old.parts.get((pred, Part.ALL))
        if before is table and pred in known:
            continue
        if before is None or pred not in known:
            delta.whole[pred] = table
            continue
        none = backend.empty(pred.arity)
        added, removed = update.added.get(pred, none), update.removed.get(pred, none)
        told = backend.size(before) + backend.size(added) - backend.size(removed) == backend.size(table)
        if not told or pred in update.stored_differently:
            removed, added = backend.minus(before, table), backend.minus(table, before)
        if backend.size(added):
            delta.added[pred] = added
        if backend.size(removed):
            delta.removed[pred] = removed
    return delta
