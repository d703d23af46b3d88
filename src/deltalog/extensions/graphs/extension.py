"""Named graphs as an extension: a change of quads becomes a change of explicit facts (`graphs.membership`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from deltalog.core.rules import QUADS, UNNAMED, Pred
from deltalog.evaluation.backend import Backend, without
from deltalog.evaluation.state import ChangeRequest, State
from deltalog.extensions.graphs.membership import TripleTables, membership_change
from deltalog.extensions.graphs.relations import has_graphs

T = TypeVar("T")


@dataclass(frozen=True)
class Graphs:
    """`default_graph` is what rules apply to: the "union" of all graphs, or the "unnamed" one."""

    default_graph: str
    name: str = "graphs"

    @property
    def is_union(self) -> bool:
        return self.default_graph == "union"

    def concerns(self, request: ChangeRequest[T], state: State[T]) -> bool:
        return any(map(has_graphs, (request.add, request.remove, state.explicit)))

    def rewrite(self, request: ChangeRequest[T], state: State[T], backend: Backend[T]) -> ChangeRequest[T]:
        add, remove = membership_change(state.explicit, request.add, request.remove, self.is_union, backend)
        return replace(request, add=add, remove=remove)

    def in_unnamed_graph(
        self, explicit: Mapping[Pred, T], add: dict[Pred, T], remove: dict[Pred, T], backend: Backend[T]
    ) -> tuple[dict[Pred, T], dict[Pred, T]]:
        """A change of facts of the unnamed graph alone: what is removed and is in a named graph, too, stays in the
        default graph if that is the union."""
        if not self.is_union or not has_graphs(explicit):
            return add, remove
        unnamed = {UNNAMED: TripleTables(backend).from_facts(remove)} if remove else {}
        return membership_change(explicit, add, unnamed, True, backend)

    def with_quads(
        self, facts: Mapping[Pred, T], explicit: Mapping[Pred, T], only: Collection[Pred], backend: Backend[T]
    ) -> dict[Pred, Any]:
        """Facts of the default graph without those that are in named graphs alone, and the quads of named graphs;
        `only` of some predicates, if there are any."""
        triples = TripleTables(backend)
        quads = triples.of(explicit, QUADS)
        if not backend.size(quads):
            return dict(facts)
        named = triples.without_graph(quads)
        if only:
            chosen = {pred: table for pred, table in triples.by_predicate(named).items() if pred in only}
            named = triples.from_facts(chosen)
        if self.is_union:
            elsewhere = backend.minus(named, triples.of(explicit, UNNAMED))
            facts = without(facts, triples.by_predicate(elsewhere), backend)
        return {**facts, QUADS: triples.matching(quads, named)}
