"""A knowledge base in the course of a request: what its operations have done so far, of which it knows nothing yet.

Each operation is a change of quads, which becomes a change of explicit facts (`deltalog.extensions.graphs.membership`).
A pattern is matched in the state after the changes before it, with all that follows. At the end all that was asked for
is one request. What is there already is part of it: a fact that an ontology states is the user's, too, once a request
inserts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.core.rules import QUADS, UNNAMED, Pred
from deltalog.evaluation.backend import Backend, united, without
from deltalog.evaluation.maintenance.materialisation import exchanged
from deltalog.evaluation.state import ChangeRequest, State, apply
from deltalog.extensions.graphs.membership import TripleTables, membership_change
from deltalog.extensions.graphs.relations import without_graphs
from deltalog.knowledge_base.session import Session

if TYPE_CHECKING:
    from deltalog.languages.sparql.query import Query
    from deltalog.languages.sparql.solutions import Solutions

DraftTables = Mapping[Pred, Any]


class Net(NamedTuple):
    """The facts that changes add and remove in the end, whether they are there or not."""

    added: dict[Pred, Any] = {}  # noqa: RUF012 (never changed)
    removed: dict[Pred, Any] = {}  # noqa: RUF012

    def then(self, added: DraftTables, removed: DraftTables, backend: Backend[Any]) -> Net:
        return Net(
            united(without(self.added, removed, backend), added, backend),
            united(without(self.removed, added, backend), removed, backend),
        )


class _Changes(NamedTuple):
    """Changes of explicit facts, and of quads as they were asked for."""

    facts: Net = Net()
    quads: Net = Net()

    def request(self, state: State[Any], graphs: str) -> ChangeRequest[Any]:
        """The changes as one request, which the extension of graphs need not rewrite."""
        return ChangeRequest(state.rule_set, *self.facts, asked=self.quads, rewritten_by=frozenset((graphs,)))


class Draft:
    """`explicit` are the explicit facts after the operations so far, `changes` is what these have asked for."""

    def __init__(self, session: Session) -> None:
        session.completed()
        self._session = session.beside()
        self._before, self._graphs = session.state, session.graphs.name
        self.backend, self.explicit = session.backend, session.state.explicit
        self.triples = TripleTables(session.backend)
        self.is_union = session.graphs.is_union
        self.changes, self._unseen = _Changes(), _Changes()

    def request(self) -> ChangeRequest[Any]:
        """All that was asked for."""
        return self.changes.request(self._before, self._graphs)

    def change(self, add: DraftTables, remove: DraftTables) -> None:
        """Adds and removes quads; see `deltalog.extensions.graphs.membership` for what the tables mean."""
        wanted, unwanted = membership_change(self.explicit, add, remove, self.is_union, self.backend)
        self.explicit = exchanged(self.explicit, unwanted, wanted, self.backend).tables

        def after(before: _Changes) -> _Changes:
            facts = before.facts.then(wanted, unwanted, self.backend)
            return _Changes(facts, before.quads.then(add, remove, self.backend))

        self.changes, self._unseen = after(self.changes), after(self._unseen)

    def solve(self, query: Query) -> Solutions:
        """The solutions of a query over all that follows from the changes so far."""
        session, unseen = self._session, self._unseen
        if any(self.backend.size(table) for net in unseen for tables in net for table in tables.values()):
            session.state, _ = apply(session.state, unseen.request(session.state, self._graphs), session.how)
            self._unseen = _Changes()
        return session.queries.solve_translated(session.contents(), query, "materialised")

    # Graphs.

    @property
    def quads(self) -> Any:
        return self.triples.of(self.explicit, QUADS)

    def of_graph(self, graph: Any) -> Any:
        """The triples of a named graph, or of the unnamed one (None)."""
        if graph is not None:
            return self.triples.of_graph(self.quads, graph)
        facts = self.triples.from_facts(without_graphs(self.explicit))
        if not self.is_union:
            return facts
        elsewhere = self.triples.without_graph(self.quads)
        return self.triples.plus(self.backend.minus(facts, elsewhere), self.triples.of(self.explicit, UNNAMED))

    def has(self, graph: Any) -> bool:
        return graph is None or bool(self.backend.size(self.of_graph(graph)))
