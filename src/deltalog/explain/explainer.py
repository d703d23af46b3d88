"""Explanations over one materialisation: its rules by head, their plans, and what has been looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isinf
from typing import Generic, TypeVar

from deltalog.concurrency.cached import cached_property
from deltalog.explain.asked_fact import AskedFact
from deltalog.explain.cone import Cone
from deltalog.explain.instances import HeadPlan, InstanceFinder
from deltalog.explain.model import Explanation, Fact, Proof, RuleRef
from deltalog.explain.proofs import Builder, Choices
from deltalog.explain.terms import FactKey, Terms
from deltalog.explain.wording import Wording
from deltalog.maintenance.materialisation import Materialisation
from deltalog.model.errors import LimitReached
from deltalog.program.binding import directed_rule
from deltalog.syntax.ast import Pred, Rule

T = TypeVar("T")


class Explainer(Generic[T]):
    """Why facts of a materialisation hold, and why others do not."""

    def __init__(
        self,
        state: Materialisation[T],
        rules: Mapping[str, Rule],
        prefixes: Mapping[str, str],
        source: Callable[[Fact], str | None],
    ) -> None:
        self.state, self.rules, self.source = state, rules, source
        self.backend = state.relations.backend
        self.tuning = self.backend.tuning
        self.wording = Wording(prefixes, lambda pred: self.backend.size(state.facts.get(pred)))
        self.terms: Terms[T] = Terms(self.backend)

    @cached_property
    def heads(self) -> dict[Pred, list[HeadPlan[T]]]:
        """The heads of rules by predicate."""
        found: dict[Pred, list[HeadPlan[T]]] = {}
        order = 0
        for name, rule in self.rules.items():
            directed = directed_rule(rule)
            for head in dict.fromkeys(rule.heads):
                found.setdefault(head.pred, []).append(HeadPlan.of(name, order, rule, directed, head, self.terms))
                order += 1
        return found

    def rule_ref(self, name: str) -> RuleRef:
        return self.wording.rule(name, self.rules[name])

    def holds(self, fact: AskedFact) -> bool:
        table = self.state.facts.get(fact.pred)
        if fact.pred.arity == 0:
            return self.backend.size(table) > 0
        return self.backend.codec.contains(table, fact.values)

    def explain(self, fact: AskedFact, all: int, depth: int | None) -> Explanation:
        if self.holds(fact):
            proofs = tuple(self.proofs(fact, all))
            return Explanation(fact.shown, True, proofs, prefixes=self.wording.prefixes, depth=depth)
        return Explanation(fact.shown, False, prefixes=self.wording.prefixes, depth=depth)

    # Why.

    def proofs(self, fact: AskedFact, most: int) -> list[Proof]:
        """Up to so many proofs of a fact, the first of least height."""
        cone = self._cone(FactKey(fact.pred, tuple(map(self.terms.id, fact.values))))
        builder = Builder(cone, self.wording, self.rule_ref, self.source, self.tuning.explain_shown_members)
        derived = self._is_derived(cone, thoroughly=most > 1)
        given = [builder.explicit(also_derived=derived)] if cone.is_explicit else []
        if not derived or len(given) >= most:
            assert given or derived, f"there is no proof of {fact.shown}"
            return given
        wanted = most - len(given)
        self._find_others(cone, wanted)
        return [*given, *(builder.proof(choice) for choice in Choices(cone, wanted > 1).proofs(wanted))]

    def _cone(self, root: FactKey) -> Cone[T]:
        return Cone(self.heads, InstanceFinder(self.state.relations, self.state.explicit, self.terms), root)

    def _is_derived(self, cone: Cone[T], thoroughly: bool) -> bool:
        """Searches for a proof by rules. Whether an explicit fact is derived, too, is searched within a bound, unless
        other proofs are asked for."""
        if cone.is_explicit and not thoroughly:
            cone.finder.most = self.tuning.explain_alternative_instances
        try:
            cone.search()
        except LimitReached as limit:
            if limit.reason != "explain_max_instances" or not cone.is_explicit or thoroughly:
                raise
        return not isinf(cone.root.height)

    def _find_others(self, cone: Cone[T], wanted: int) -> None:
        """Deepens until there are so many proofs, or all there are; what the bound leaves out is not shown."""
        try:
            while wanted > 1 and not cone.exhausted and self._proved_instances(cone) < wanted:
                cone.deepen()
        except LimitReached as limit:
            if limit.reason != "explain_max_instances":
                raise

    def _proved_instances(self, cone: Cone[T]) -> int:
        return sum(not isinf(cone.height_of(instance)) for instance in cone.root.instances)
