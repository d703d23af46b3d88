"""The methods of a knowledge base that know of named graphs: a base class of `KnowledgeBase`.

graphs, graph      what is in them
_with_graphs       a change of quads as a change of explicit facts
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from deltalog.concurrency.locks import CallLock, exclusive
from deltalog.model.errors import UsageError
from deltalog.model.facts import Facts
from deltalog.model.terms import IRI, BlankNode, Value
from deltalog.syntax.ast import QUADS, Pred

if TYPE_CHECKING:
    from deltalog.backends.base import Backend
    from deltalog.engine.named_graphs import TripleTables
    from deltalog.kb import KnowledgeBase

GraphName = IRI | BlankNode


class GraphMethods:
    """A knowledge base as far as its graphs are concerned."""

    _backend: Backend[Any]
    _explicit: dict[Pred, Any]
    _lock: CallLock
    _default_graph: str

    @property
    def _base(self) -> KnowledgeBase:
        """The knowledge base that this is."""
        return cast("KnowledgeBase", self)

    @property
    def default_graph(self) -> str:
        """What rules apply to: the "union" of all graphs, or the "unnamed" one."""
        return self._default_graph

    @property
    @exclusive
    def graphs(self) -> dict[GraphName, int]:
        """The named graphs, and how many triples each has. A graph without triples does not exist."""
        quads, triples = self._quads, self._triples
        names = sorted(triples.graphs(quads), key=lambda name: (isinstance(name, BlankNode), str(name)))
        sizes = {name: self._backend.size(triples.of_graph(quads, name)) for name in names}
        return cast("dict[GraphName, int]", sizes)

    @exclusive
    def graph(self, name: GraphName) -> Facts[Any]:
        """The triples that were given for a named graph: subjects, predicates and objects."""
        table = self._triples.of_graph(self._quads, graph_name(name))
        return Facts(("subject", "predicate", "object"), table, self._backend)

    @property
    def _quads(self) -> Any:
        return self._triples.of(self._explicit, QUADS)

    @property
    def _triples(self) -> TripleTables[Any]:
        from deltalog.engine.named_graphs import TripleTables

        return TripleTables(self._backend)

    def _with_graphs(
        self, add: Mapping[Pred, Any], remove: Mapping[Pred, Any]
    ) -> tuple[dict[Pred, Any], dict[Pred, Any]]:
        """A change of quads as a change of explicit facts; without quads, the same."""
        from deltalog.engine.named_graphs import membership_change

        union = self._default_graph == "union"
        return membership_change(self._explicit, add, remove, union, self._backend)

    def _in_graph(self, facts: dict[Pred, Any], graph: Value | None) -> dict[Pred, Any]:
        """Facts as quads of a graph, if there is one."""
        return facts if graph is None else self._triples.quads_of(facts, graph)


def graph_name(graph: Any) -> GraphName:
    """The name of a graph, checked."""
    if isinstance(graph, IRI | BlankNode):
        return graph
    raise UsageError(f"a graph has an IRI or a BlankNode as its name, such as IRI('http://e.org/g'), not {graph!r}")
