"""Proofs from a search: which instance proves each fact, and the proof as users see it.

Of the instances that give a fact its height, the one whose proof has the fewest facts is taken, given what was taken
for its premises. Every part of a proof is itself of least height. (A proof with the fewest facts of all would be
NP-hard to find, as parts can be shared.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isinf
from typing import Generic, TypeVar

from deltalog.core.arrays import IdRow
from deltalog.core.rules import Aggregate, Atom, Bind, BodyLiteral, Filter, Negation, Variable
from deltalog.core.terms import Value
from deltalog.extensions.explain.backward_search import ROOT, BackwardSearch, Instance
from deltalog.extensions.explain.instances import BodyPlan, InstanceFinder, Members
from deltalog.extensions.explain.model import Fact, Group, Member, Premise, Proof, RuleRef
from deltalog.extensions.explain.terms import FactKey
from deltalog.extensions.explain.wording import Wording

_COMPARED_FACTS = 1 << 10  # in proofs that are compared by their facts, and not by their size as trees

T = TypeVar("T")
Choice = dict[int, Instance]  # the instance of each derived fact in a proof


class Choices(Generic[T]):
    """The instance that proves each fact of a search."""

    def __init__(self, search: BackwardSearch[T], others: bool = False) -> None:
        self.search = search
        self.best: Choice = {}
        needed = self._needed(others)
        self._sets = len(needed) <= _COMPARED_FACTS
        self._facts: dict[int, frozenset[int]] = {}  # in the proof of a fact
        self._sizes: dict[int, int] = {}  # of the proof as a tree, where sets would be large
        for number in sorted(needed, key=lambda i: search.nodes[i].height):
            self._choose(number)

    def _needed(self, others: bool) -> set[int]:
        """The facts that proofs of the root may have; with `others`, also those that are not of least height."""
        needed = {number for one in self.search.root.instances for number in one.premises if self._is_proved(one)}
        waiting = list(needed)
        while waiting:
            number = waiting.pop()
            for instance in (
                filter(self._is_proved, self.search.nodes[number].instances) if others else self._tied(number)
            ):
                waiting += (new := set(instance.premises) - needed)
                needed |= new
        return needed

    def _is_proved(self, instance: Instance) -> bool:
        return not isinf(self.search.height_of(instance))

    def _tied(self, number: int) -> list[Instance]:
        """The instances that give a fact its height."""
        node = self.search.nodes[number]
        return [] if node.explicit else [one for one in node.instances if self.search.height_of(one) == node.height]

    def _choose(self, number: int) -> None:
        tied = self._tied(number)
        if tied:
            self.best[number] = min(tied, key=self._order)
        self._sizes[number] = self.size(self.best[number]) if tied else 1
        if self._sets:
            self._facts[number] = self._proof_facts(self.best[number]) if tied else frozenset((number,))

    def _order(self, instance: Instance) -> tuple[int, int, IdRow]:
        return self.size(instance), instance.plan.order, instance.row

    def _proof_facts(self, instance: Instance) -> frozenset[int]:
        return frozenset((instance.head,)).union(*(self._facts[number] for number in instance.premises))

    def size(self, instance: Instance) -> int:
        """The number of facts in the proof that begins with an instance; where they are many, as a tree."""
        if self._sets:
            return len(self._proof_facts(instance))
        return 1 + sum(self._sizes[number] for number in instance.premises)

    def of_root(self) -> list[Instance]:
        """The instances that derive the root, best first."""
        found = filter(self._is_proved, self.search.root.instances)
        return sorted(found, key=lambda one: (self.search.height_of(one), *self._order(one)))

    def proofs(self, most: int) -> list[Choice]:
        """Up to so many different choices for the root: other instances of the root first, then one other instance
        below it."""
        tops = [self._reached({**self.best, ROOT: top}) for top in self.of_root()[:most]]
        others = (other for top in list(tops) for other in self._varied(top))
        while len(tops) < most and (other := next(others, None)) is not None:
            tops.append(other)
        return tops

    def _varied(self, choice: Choice) -> Iterator[Choice]:
        """Choices that differ in one fact below the root, and are well founded."""
        needed = set(self._sizes)
        for number in (number for number in choice if number != ROOT):
            for instance in self.search.nodes[number].instances:
                if instance is choice[number] or not needed.issuperset(instance.premises):
                    continue
                other = {**self.best, ROOT: choice[ROOT], number: instance}
                if in_order(other) is not None:
                    yield self._reached(other)

    def _reached(self, choice: Choice) -> Choice:
        """The part of a choice that the proof of the root uses."""
        found: Choice = {}
        waiting = [ROOT]
        while waiting:
            number = waiting.pop()
            if number in choice and number not in found:
                found[number] = choice[number]
                waiting += choice[number].premises
        return found


def in_order(choice: Choice) -> list[int] | None:
    """The derived facts of a choice that the root rests on, premises first; None if one rests on itself."""
    order: list[int] = []
    state: dict[int, bool] = {}  # whether a fact is done
    waiting = [(ROOT, False)]
    while waiting:
        number, done = waiting.pop()
        if done:
            state[number] = True
            order.append(number)
        elif number in state:
            if not state[number]:
                return None
        elif number in choice:
            state[number] = False
            waiting.append((number, True))
            waiting += [(premise, False) for premise in choice[number].premises if not state.get(premise, False)]
    return order


IN_ORDER = "in an order (choice-domain, subsumption or the like), which has no proof"


@dataclass
class ProofBuilder(Generic[T]):
    """Makes proofs of choices."""

    search: BackwardSearch[T]
    wording: Wording
    rule_ref: Callable[[str], RuleRef]
    source: Callable[[Fact], str | None]
    shown_members: int
    is_given: Callable[[FactKey], bool] = lambda _: True  # whether a fact without a proof is explicit
    made: dict[int, Proof] = field(default_factory=dict)
    _bits: dict[int, int] = field(default_factory=dict)

    @property
    def finder(self) -> InstanceFinder[T]:
        return self.search.finder

    def explicit(self, also_derived: bool) -> Proof:
        """The root as an explicit fact."""
        return replace(self._unproved(self.search.root.fact), also_derived=also_derived)

    def _unproved(self, fact: FactKey) -> Proof:
        """A fact that is explicit, or that a stage has derived."""
        shown = self._fact(fact)
        if self.is_given(fact):
            return Proof(shown, "explicit", 0, source=self.source(shown))
        return Proof(shown, "derived", 0, source=IN_ORDER)

    def proof(self, choice: Choice) -> Proof:
        """The proof of the root by a choice."""
        self.made, self._bits = {}, {}
        order = in_order(choice)
        assert order is not None, "a proof rests on itself"
        self._learn(choice)
        for number in order:
            self.made[number] = self._step(choice[number])
        return self.made[ROOT]

    def _learn(self, choice: Choice) -> None:
        """Decodes the terms of a proof at once."""
        ids = {id for instance in choice.values() for id in instance.row}
        facts = (self.search.nodes[p].fact for instance in choice.values() for p in (instance.head, *instance.premises))
        self.search.terms.learn(ids.union(*(fact.row for fact in facts)))

    def _fact(self, fact: FactKey) -> Fact:
        return Fact(fact.pred.name, self.search.terms.values(fact.row))

    def _proved(self, fact: FactKey) -> Proof:
        """The proof of a premise: a step made before, or an explicit fact."""
        number = self.search.number(fact)
        if number not in self.made:
            self.made[number] = self._unproved(fact)
        return self.made[number]

    def _step(self, instance: Instance) -> Proof:
        node, body = self.search.nodes[instance.head], instance.plan.body
        premises = tuple(self._premises(body, instance.plan.rule.body, instance.row))
        height = 1 + max((self.made[p].height for p in instance.premises if p in self.made), default=0)
        below = self._bits_of(instance.premises)
        self._bits[instance.head] = below | 1 << len(self._bits)
        return Proof(
            fact=self._fact(node.fact),
            kind="derived",
            height=height,
            rule=self.rule_ref(instance.plan.name),
            bindings=self._bindings(body.columns, instance.row),
            premises=premises,
            also_explicit=instance.head == ROOT and self.search.is_explicit,
            steps=self._bits[instance.head].bit_count(),
        )

    def _bits_of(self, premises: Sequence[int]) -> int:
        """The facts in the proofs of premises: a bit for each."""
        found = 0
        for number in premises:
            if number not in self._bits:
                self._bits[number] = 1 << len(self._bits)
            found |= self._bits[number]
        return found

    def _bindings(self, columns: Sequence[Variable], row: IdRow) -> dict[str, Value]:
        values = self.search.terms.values(row)
        named = zip(columns, values, strict=True)
        return {v.name: value for v, value in named if not v.anonymous and not v.name.startswith("#")}

    def _premises(self, body: BodyPlan[T], written: Sequence[BodyLiteral], row: IdRow) -> Iterator[Premise]:
        """The premises of an instance, in the order of writing."""
        values = dict(zip(body.columns, self.search.terms.values(row), strict=True))
        facts, aggregates = {i: pick for i, _, pick in body.atoms}, dict(body.aggregates)
        for i, literal in enumerate(written):
            match literal:
                case Atom():
                    yield self._proved(self.search.terms.shown(literal.pred, facts[i](row)))
                case Negation(atom):
                    yield self.wording.absent(atom, values)
                case Filter() | Bind():
                    yield self.wording.condition(literal, values)
                case Aggregate():
                    yield from self._groups(literal, aggregates[i], row, values)

    def _groups(
        self, literal: Aggregate, members: Members[T], row: IdRow, values: Mapping[Variable, Value]
    ) -> Iterator[Group]:
        """One group for each function of an aggregate."""
        key = members.group(row)
        rows = sorted(self.finder.members(members, [key]).get(key, ()))
        columns = members.plan.columns
        self.search.terms.learn({id for found in rows for id in found})
        shown = [tuple(self._premises(members.plan, literal.body, found)) for found in rows[: self.shown_members]]
        for call, argument in zip(literal.calls, members.arguments, strict=True):
            place = None if argument is None else columns.index(argument)
            all_values = [self.search.terms.value(found[place]) for found in rows] if place is not None else None
            yield Group(
                text=self.wording.literal(literal),
                function=call.function,
                key=self.search.terms.values(key),
                members=tuple(
                    Member(
                        self._bindings(columns, found),
                        None if all_values is None else all_values[i],
                        premises,
                    )
                    for i, (found, premises) in enumerate(zip(rows, shown, strict=False))
                ),
                count=len(rows),
                arithmetic=self.wording.arithmetic(call, all_values, len(rows), values[call.variable]),
            )
