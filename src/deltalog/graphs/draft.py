"""A knowledge base in the course of a request: what its operations have done so far, of which it knows nothing yet.

Each operation is a change of quads, which becomes a change of explicit facts (`engine.named_graphs`). A pattern is
matched in a copy of the knowledge base that has made the changes before it, with all that follows. The copy shares the
tables of the original, which are immutable. At the end the net change is one change of the original.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.backends.base import Backend, united, without
from deltalog.engine.graph_relations import without_graphs
from deltalog.engine.named_graphs import TripleTables, membership_change
from deltalog.maintenance.materialisation import exchanged
from deltalog.syntax.ast import QUADS, UNNAMED, Pred

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase
    from deltalog.query.sparql.query import Query
    from deltalog.query.sparql.solutions import Solutions

DraftTables = Mapping[Pred, Any]


class Net(NamedTuple):
    """The net effect of changes on explicit facts."""

    added: dict[Pred, Any] = {}  # noqa: RUF012 (never changed)
    removed: dict[Pred, Any] = {}  # noqa: RUF012

    def then(self, added: DraftTables, removed: DraftTables, backend: Backend[Any]) -> Net:
        return Net(
            united(without(self.added, removed, backend), added, backend),
            united(without(self.removed, added, backend), removed, backend),
        )


class Draft:
    """`explicit` are the explicit facts after the operations so far, `net` is what these have changed."""

    def __init__(self, kb: KnowledgeBase) -> None:
        kb._completed()
        self._copy = copied(kb)
        self.backend, self.explicit = kb._backend, kb._explicit
        self.triples = TripleTables(kb._backend)
        self.is_union = kb.default_graph == "union"
        self.net, self._unseen = Net(), Net()

    def change(self, add: DraftTables, remove: DraftTables) -> None:
        """Adds and removes quads; see `engine.named_graphs` for what the tables mean."""
        wanted, unwanted = membership_change(self.explicit, add, remove, self.is_union, self.backend)
        found = exchanged(self.explicit, unwanted, wanted, self.backend)
        self.explicit = found.tables
        self.net = self.net.then(found.added, found.removed, self.backend)
        self._unseen = self._unseen.then(found.added, found.removed, self.backend)

    def solve(self, query: Query) -> Solutions:
        """The solutions of a query over all that follows from the changes so far."""
        kb, (added, removed) = self._copy, self._unseen
        if any(map(self.backend.size, (*added.values(), *removed.values()))):
            kb._change_planned(kb._with_axioms(kb._rule_set, added, removed))
            self._unseen = Net()
        return kb._session.solve_translated(kb._contents(), query, "materialised")

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


def copied(kb: KnowledgeBase) -> KnowledgeBase:
    """A knowledge base of its own with the same contents, and without a store."""
    from deltalog.explain.source_files import SourceFiles

    made = copy.copy(kb)
    vars(made).pop("_session", None)
    made._assign(_store=None, _version=None, _frozen=False, _files=SourceFiles(kb._backend.tuning))
    return made
