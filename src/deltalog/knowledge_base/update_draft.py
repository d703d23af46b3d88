"""A knowledge base in the course of a request: what its operations have done so far, of which it knows nothing yet.

Each operation is a change of quads, which becomes a change of explicit facts (`engine.named_graphs`). A pattern is
matched in a copy of the knowledge base that has made the changes before it, with all that follows. The copy shares the
tables of the original, which are immutable. At the end all that was asked for is one change of the original. What is
there already is part of it: a fact that an ontology states is the user's, too, once a request inserts it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.core.rules import QUADS, UNNAMED, Pred
from deltalog.evaluation.backend import Backend, united, without
from deltalog.evaluation.graph_relations import without_graphs
from deltalog.evaluation.maintenance.materialisation import exchanged
from deltalog.evaluation.named_graphs import TripleTables, membership_change
from deltalog.extensions.ontology.planned import Planned, RequestedChange

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase
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

    def planned(self, kb: KnowledgeBase) -> Planned:
        return kb._with_axioms(kb._rule_set, *self.facts, RequestedChange(*self.quads))


class Draft:
    """`explicit` are the explicit facts after the operations so far, `changes` is what these have asked for."""

    def __init__(self, kb: KnowledgeBase) -> None:
        kb._completed()
        self._copy = copied(kb)
        self.backend, self.explicit = kb._backend, kb._explicit
        self.triples = TripleTables(kb._backend)
        self.is_union = kb.default_graph == "union"
        self.changes, self._unseen = _Changes(), _Changes()

    def change(self, add: DraftTables, remove: DraftTables) -> None:
        """Adds and removes quads; see `engine.named_graphs` for what the tables mean."""
        wanted, unwanted = membership_change(self.explicit, add, remove, self.is_union, self.backend)
        self.explicit = exchanged(self.explicit, unwanted, wanted, self.backend).tables

        def after(before: _Changes) -> _Changes:
            facts = before.facts.then(wanted, unwanted, self.backend)
            return _Changes(facts, before.quads.then(add, remove, self.backend))

        self.changes, self._unseen = after(self.changes), after(self._unseen)

    def solve(self, query: Query) -> Solutions:
        """The solutions of a query over all that follows from the changes so far."""
        kb, unseen = self._copy, self._unseen
        if any(self.backend.size(table) for net in unseen for tables in net for table in tables.values()):
            kb._change_planned(unseen.planned(kb))
            self._unseen = _Changes()
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
    from deltalog.extensions.explain.source_files import SourceFiles

    made = copy.copy(kb)
    vars(made).pop("_session", None)
    made._assign(_store=None, _version=None, _frozen=False, _files=SourceFiles(kb._backend.tuning))
    return made
