"""Explanations over one materialisation: its rules by head, their plans, and what has been looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isinf
from typing import Generic, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import LimitReached
from deltalog.core.rules import Aggregate, Atom, BodyLiteral, Constant, Pred, Rule, Variable
from deltalog.core.terms import Value
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.maintenance.materialisation import Materialisation
from deltalog.evaluation.seminaive import Relations, SemiNaive
from deltalog.extensions.explain.asked_fact import AskedFact
from deltalog.extensions.explain.backward_search import ROOT, BackwardSearch
from deltalog.extensions.explain.closures import Closure, closures_of
from deltalog.extensions.explain.instances import BodyPlan, HeadPlan, InstanceFinder, Members
from deltalog.extensions.explain.model import Explanation, Fact, Proof, RuleRef
from deltalog.extensions.explain.near_misses import NearMisses
from deltalog.extensions.explain.proofs import Choices, ProofBuilder
from deltalog.extensions.explain.rule_parts import per_literals
from deltalog.extensions.explain.terms import FactKey, ProofTerms
from deltalog.extensions.explain.why_not import WhyNot
from deltalog.extensions.explain.wording import Wording
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules
from deltalog.program.dependency import DependencyGraph

_SHOWN_MEMBERS = 10  # members of an aggregate's group that a proof has
_ALTERNATIVE_INSTANCES = 1 << 12  # that are looked at to see whether an explicit fact is derived, too

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
        self.terms: ProofTerms[T] = ProofTerms(self.backend)
        self._literal_plans: dict[tuple[BodyLiteral, tuple[Variable, ...]], BodyPlan[T]] = {}

    @cached_property
    def heads(self) -> dict[Pred, list[HeadPlan[T]]]:
        """The heads of rules by predicate."""
        found: dict[Pred, list[HeadPlan[T]]] = {}
        order = 0
        for name, core in ((name, core) for name, rule in self.rules.items() for core in core_rules(rule)):
            directed = directed_rule(core)
            self.wording.written.update(per_literals(core.heads[0], core.body))
            for head in dict.fromkeys(core.heads):
                found.setdefault(head.pred, []).append(HeadPlan.of(name, order, core, directed, head, self.terms))
                order += 1
        return found

    @cached_property
    def relations(self) -> Relations[T]:
        """The relations that rules work on. Those that stand for parts of rules are evaluated if they are not kept, as
        with representatives of equal individuals: from facts that are all there, so they change nothing."""
        kept, program = self.state.relations, self.state.program
        parts = [directed_rule(core) for rule in self.rules.values() for core in core_rules(rule)]
        parts = [core for core in parts if core.heads[0].pred.hidden]
        if self.state.keeps_parts_of_rules or not parts:
            return kept
        relations = Relations(self.backend, dict(kept.parts))
        hyper_nodes = DependencyGraph.of(tuple(dict.fromkeys(parts))).hyper_nodes
        SemiNaive(
            replace(program, hyper_nodes=hyper_nodes), relations, trees=Trees("standard", tuning=self.tuning)
        ).run()
        return relations

    @cached_property
    def closures(self) -> dict[Pred, Closure[T]]:
        """The transitive relations."""
        return closures_of(self.state.program, self.heads, self.finder())

    def literal_plan(self, literal: BodyLiteral, given: tuple[Variable, ...]) -> BodyPlan[T]:
        """The plan of one literal under values of some variables, which stay columns."""
        key = literal, given
        if key not in self._literal_plans:
            self._literal_plans[key] = BodyPlan((literal,), given, self.terms, given)
        return self._literal_plans[key]

    def members_of(self, literal: Aggregate) -> Members[T]:
        return Members(literal, literal.on, self.terms)

    def rule_ref(self, name: str) -> RuleRef:
        return self.wording.rule(name, self.rules[name])

    def holds(self, fact: AskedFact) -> bool:
        return self._has(self.state.facts.get(fact.pred), fact.values)

    def _has(self, table: T, values: Sequence[Value]) -> bool:
        return self.backend.codec.contains(table, values) if values else self.backend.size(table) > 0

    def explain(self, fact: AskedFact, all: int, depth: int | None, known: Callable[[], set[Pred]]) -> Explanation:
        """The explanation of a fact. `known` tells all predicates, for names that are misspelt."""
        prefixes = self.wording.prefixes
        if self.holds(fact):
            proofs = self.proofs_of(FactKey(fact.pred, tuple(map(self.terms.id, fact.values))), all)
            return Explanation(fact.shown, True, tuple(proofs), prefixes=prefixes, depth=depth)
        atom = Atom(fact.pred.name, tuple(map(Constant, fact.values)))
        refuted = WhyNot(self, NearMisses(self, known()).of).refuted(atom, depth or 1)
        found = refuted.attempts, refuted.near
        return Explanation(fact.shown, False, (), *found, prefixes=prefixes, reason=refuted.reason)

    # Why.

    def proofs_of(self, fact: FactKey, most: int) -> list[Proof]:
        """Up to so many proofs of a fact that holds, the first of least height."""
        search = self._search(fact)
        shown = _SHOWN_MEMBERS
        builder = ProofBuilder(search, self.wording, self.rule_ref, self.source, shown, self._is_given)
        derived = self._is_derived(search, thoroughly=most > 1)
        given = [builder.explicit(also_derived=derived)] if search.is_explicit else []
        if not derived or len(given) >= most:
            assert given or derived, f"there is no proof of {fact}"
            return given
        wanted = most - len(given)
        self._find_others(search, wanted)
        return [*given, *(builder.proof(choice) for choice in Choices(search, wanted > 1).proofs(wanted))]

    def _search(self, root: FactKey) -> BackwardSearch[T]:
        closures = {pred: closure.forgotten() for pred, closure in self.closures.items()}
        return BackwardSearch(self.heads, closures, self.finder(), root)

    def _is_given(self, fact: FactKey) -> bool:
        if fact.pred not in self.state.in_order:
            return True
        return self.is_explicit(fact.pred, self.terms.values(fact.row))

    def is_explicit(self, pred: Pred, values: Sequence[Value]) -> bool:
        """Whether a fact was given."""
        table = self.state.explicit.get(pred)
        return table is not None and self._has(table, values)

    def finder(self, shown: bool = False) -> InstanceFinder[T]:
        """Finds instances over the relations that rules work on, or over those that users see."""
        relations = self.state.facts if shown else self.relations
        return InstanceFinder(relations, self.state.proof_leaves, self.terms)

    def _is_derived(self, search: BackwardSearch[T], thoroughly: bool) -> bool:
        """Searches for a proof by rules. Whether an explicit fact is derived, too, is searched within a bound, unless
        other proofs are asked for."""
        if search.is_explicit and not thoroughly:
            search.finder.most = _ALTERNATIVE_INSTANCES
        try:
            search.run()
        except LimitReached as limit:
            if limit.reason != "explain_max_instances" or not search.is_explicit or thoroughly:
                raise
        return not isinf(search.root.height)

    def _find_others(self, search: BackwardSearch[T], wanted: int) -> None:
        """Deepens until there are so many proofs, or all there are; what the bound leaves out is not shown."""
        try:
            if wanted > 1 and search.root.fact.pred in search.closures:
                search.expand_transitive([ROOT])
            while wanted > 1 and not search.exhausted and self._proved_instances(search) < wanted:
                search.deepen()
        except LimitReached as limit:
            if limit.reason != "explain_max_instances":
                raise

    def _proved_instances(self, search: BackwardSearch[T]) -> int:
        return sum(not isinf(search.height_of(instance)) for instance in search.root.instances)
