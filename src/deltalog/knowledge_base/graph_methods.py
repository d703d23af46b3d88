"""The methods of a knowledge base that know of named graphs: a base class of `KnowledgeBase`.

graphs, graph      what is in them
sparql_update      changes them
_with_graphs       a change of quads as a change of explicit facts
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from deltalog.core.arguments import told
from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import UsageError
from deltalog.core.limits import limited, within_budget
from deltalog.core.rules import QUADS, UNNAMED, Pred
from deltalog.core.terms import IRI, BlankNode, Value
from deltalog.evaluation.facts import Facts
from deltalog.formats.documents import Reading
from deltalog.languages.registry import require

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.change import Change
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.evaluation.named_graphs import TripleTables
    from deltalog.extensions.ontology.planned import Planned
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.languages.sparql.graphs import Dataset
    from deltalog.languages.sparql.update_operations import UpdateOperation

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
        sizes = self._triples.graphs(self._quads)
        names = sorted(sizes, key=lambda name: (isinstance(name, BlankNode), str(name)))
        return cast("dict[GraphName, int]", {name: sizes[name] for name in names})

    @exclusive
    def graph(self, name: GraphName) -> Facts[Any]:
        """The triples that were given for a named graph: subjects, predicates and objects."""
        table = self._triples.of_graph(self._quads, graph_name(name))
        return Facts(("subject", "predicate", "object"), table, self._backend)

    @exclusive
    @limited
    @within_budget
    def sparql_update(
        self,
        request: str,
        *,
        load_from: Iterable[str | PathLike[str]] = (),
        dry_run: bool = False,
        dataset: Dataset | None = None,
        base: str | None = None,
    ) -> Change:
        """Carries out a SPARQL Update request: all of its operations, as one change, or nothing.

        An operation sees what those before it have done, with all that follows. What is deleted and still follows from
        rules stays; `change.notes` says so.
        load_from: the folders that LOAD may read files from. dry_run: says what would change, and changes nothing.
        dataset: the graphs that patterns are matched in, as USING and USING NAMED say it, which the request may not.
        base: what relative IRIs are resolved against, unless they name a predicate or the request has a BASE.
        """
        require("sparql")
        from deltalog.languages.sparql.parse_update import parse_update
        from deltalog.languages.sparql.request_base import request_base
        from deltalog.languages.sparql.update_operations import using

        kb = self._base
        resolving = request_base(base, request, lambda: kb._contents().preds)
        operations = using(parse_update(request, kb.prefixes, resolving), dataset)
        return self._carry_out(operations, load_from, Reading(), dry_run)

    @exclusive
    @limited
    @within_budget
    def _carry_out(
        self,
        operations: Sequence[UpdateOperation],
        load_from: Iterable[str | PathLike[str]],
        reading: Reading,
        dry_run: bool = False,
    ) -> Change:
        """Carries out operations as one change; `reading` is how LOAD reads files."""
        from deltalog.extensions.graphs.allowed_files import AllowedFiles
        from deltalog.knowledge_base.update_draft import Draft
        from deltalog.knowledge_base.update_requests import UpdateRequest

        kb = self._base
        if not dry_run:
            kb._check_writable()
        carried_out = UpdateRequest(Draft(kb), AllowedFiles(load_from), reading)
        carried_out.run(operations)
        planned = carried_out.draft.changes.planned(kb)
        change, state = self._finish(planned, dry_run)
        return replace(
            change, notes=(*carried_out.notes, *change.notes, *self._still_there(carried_out.deleted, state))
        )

    def _finish(self, planned: Planned, dry_run: bool) -> tuple[Change, Materialisation[Any]]:
        """Makes a change, or only says what it is; the state after it."""
        kb = self._base
        if dry_run:
            state, update = kb._changed(*planned[:3])
            return kb._described(planned, update), state
        change, _ = kb._change_planned(planned)
        return change, kb._completed()

    def _still_there(self, deleted: Mapping[Pred, Any], state: Materialisation[Any]) -> Iterator[str]:
        """What is to be said of facts that are deleted, and derived all the same."""
        size = self._backend.size
        for pred, table in deleted.items():
            kept = self._triples.intersection(table, state.facts.get(pred))
            derived = size(self._backend.minus(kept, self._triples.of(state.explicit, pred)))
            if derived:
                facts = "fact" if derived == 1 else "facts"
                yield f"{derived:,} {facts} of {pred.name} to delete still follow{'s' * (derived == 1)} from rules"

    @property
    def _quads(self) -> Any:
        return self._triples.of(self._explicit, QUADS)

    @property
    def _triples(self) -> TripleTables[Any]:
        from deltalog.evaluation.named_graphs import TripleTables

        return TripleTables(self._backend)

    def _with_graphs(
        self, add: Mapping[Pred, Any], remove: Mapping[Pred, Any]
    ) -> tuple[dict[Pred, Any], dict[Pred, Any]]:
        """A change of quads as a change of explicit facts; without quads, the same."""
        from deltalog.evaluation.named_graphs import membership_change

        union = self._default_graph == "union"
        return membership_change(self._explicit, add, remove, union, self._backend)

    def _in_unnamed_graph(
        self, explicit: Mapping[Pred, Any], add: dict[Pred, Any], remove: dict[Pred, Any]
    ) -> tuple[dict[Pred, Any], dict[Pred, Any]]:
        """A change of facts of the unnamed graph alone: what is removed and is in a named graph, too, stays in the
        default graph if that is the union."""
        from deltalog.evaluation.graph_relations import has_graphs
        from deltalog.evaluation.named_graphs import membership_change

        if self._default_graph != "union" or not has_graphs(explicit):
            return add, remove
        unnamed = {UNNAMED: self._triples.from_facts(remove)} if remove else {}
        return membership_change(explicit, add, unnamed, True, self._backend)

    def _with_quads(self, facts: Mapping[Pred, Any], only: Collection[Pred]) -> dict[Pred, Any]:
        """Facts of the default graph without those that are in named graphs alone, and the quads of named graphs;
        `only` of some predicates, if there are any."""
        from deltalog.evaluation.backend import without

        triples, quads = self._triples, self._quads
        if not self._backend.size(quads):
            return dict(facts)
        named = triples.without_graph(quads)
        if only:
            chosen = {pred: table for pred, table in triples.by_predicate(named).items() if pred in only}
            named = triples.from_facts(chosen)
        if self._default_graph == "union":
            elsewhere = self._backend.minus(named, triples.of(self._explicit, UNNAMED))
            facts = without(facts, triples.by_predicate(elsewhere), self._backend)
        return {**facts, QUADS: triples.matching(quads, named)}

    def _quad_facts(self, tables: Mapping[Pred, Any]) -> Collection[tuple[Value, ...]]:
        """The quads among the facts of a change."""
        return (
            Facts(("graph", "subject", "predicate", "object"), tables[QUADS], self._backend) if QUADS in tables else ()
        )

    def _in_graph(self, facts: dict[Pred, Any], graph: Value | None) -> dict[Pred, Any]:
        """Facts as quads of a graph, if there is one."""
        return facts if graph is None else self._triples.quads_of(facts, graph)


def graph_name(graph: Any) -> GraphName:
    """The name of a graph, checked."""
    if isinstance(graph, IRI | BlankNode):
        return graph
    raise UsageError(f"a graph has an IRI or a BlankNode as its name, such as IRI('http://e.org/g'), not {told(graph)}")
