"""SPARQL Update requests, carried out on a draft of a knowledge base.

DELETE without a graph removes from the default graph: where that is the union of all graphs, from all of them. INSERT
without a graph adds to the unnamed graph, which is also what CLEAR, DROP, COPY, MOVE and ADD call DEFAULT.
A graph without triples does not exist, so CREATE has nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deltalog.core.errors import DeltalogError, LimitReached, UsageError
from deltalog.core.rules import QUADS, UNNAMED, Pred, Variable
from deltalog.core.terms import IRI, Value
from deltalog.evaluation.backend import united
from deltalog.extensions.graphs.allowed_files import AllowedFiles
from deltalog.extensions.graphs.relations import without_graphs
from deltalog.extensions.graphs.templates import TemplateNodes, encoded, filled
from deltalog.formats.documents import Reading
from deltalog.knowledge_base.update_draft import Draft
from deltalog.languages.sparql.algebra import Select, hidden
from deltalog.languages.sparql.query import translate_select
from deltalog.languages.sparql.update_operations import (
    ChangeData,
    Clear,
    Create,
    GraphTransfer,
    Load,
    Modify,
    Quads,
    UpdateOperation,
)

QuadFacts = dict[Pred, Any]


class UpdateRequest:
    """A request under way. `deleted`: the facts that it was asked to delete from the default graph."""

    def __init__(self, draft: Draft, files: AllowedFiles, reading: Reading) -> None:
        self._reading = reading
        self.draft, self.files, self.deleted, self.notes = draft, files, QuadFacts(), list[str]()
        self._blank_nodes = TemplateNodes()

    def run(self, operations: Sequence[UpdateOperation]) -> None:
        """Carries operations out, one after the other. With SILENT one that fails changes nothing."""
        for number, operation in enumerate(operations):
            try:
                self._run(operation, number)
            except LimitReached:
                raise
            except DeltalogError as problem:
                if not getattr(operation, "silent", False):
                    raise
                self.notes.append(str(problem))

    def _run(self, operation: UpdateOperation, number: int) -> None:
        match operation:
            case ChangeData(delete, insert):
                self._fill(delete, insert, [{}], None, number)
            case Modify():
                self._modify(operation, number)
            case Load(source, into):
                self._load(source, into)
            case Clear(target):
                self._clear(target)
            case Create(graph):
                self._create(graph)
            case GraphTransfer(kind, source, target):
                self._transfer(kind, source, target)

    # Templates.

    def _modify(self, operation: Modify, number: int) -> None:
        """The templates are filled with all solutions before anything changes."""
        names = any(isinstance(term, Variable) and hidden(term) for quad in operation.insert for term in quad)
        select = Select(operation.pattern, operation.variables, distinct=not names)
        graph = operation.graph if operation.dataset.default is None else None
        solutions = self.draft.solve(translate_select(select, operation.dataset, graph))
        rows = [dict(zip(solutions.columns, row, strict=True)) for row in solutions]
        self._fill(operation.delete, operation.insert, rows, operation.graph, number)

    def _fill(
        self,
        delete: Quads,
        insert: Quads,
        solutions: Iterable[Mapping[str, Value | None]],
        graph: IRI | None,
        number: int,
    ) -> None:
        backend = self.draft.backend
        removed, added = (
            encoded(filled(template, solutions, graph, self._blank_nodes, number), backend)
            for template in (delete, insert)
        )
        self.deleted = united(self.deleted, without_graphs(removed), backend)
        self.draft.change(added, removed)

    # Graphs as a whole.

    def _load(self, source: IRI, into: IRI | None) -> None:
        draft, path = self.draft, self.files.find(source)
        facts = draft.backend.codec.read([path], self._reading)
        draft.change(facts if into is None else draft.triples.quads_of(facts, into), {})

    def _clear(self, target: IRI | str) -> None:
        draft = self.draft
        if isinstance(target, IRI):
            if not draft.has(target):
                self.notes.append(f"there is no graph <{target}> to clear")
            draft.change({}, self._contents(target))
            return
        gone = self._contents(None) if target in ("DEFAULT", "ALL") else {}
        draft.change({}, {**gone, QUADS: draft.quads} if target in ("NAMED", "ALL") else gone)

    def _create(self, graph: IRI) -> None:
        if self.draft.has(graph):
            raise UsageError(f"CREATE GRAPH <{graph}>: there is such a graph; CREATE SILENT leaves it as it is")

    def _transfer(self, kind: str, source: IRI | None, target: IRI | None) -> None:
        draft, triples = self.draft, self.draft.triples
        if not draft.has(source):
            raise UsageError(
                f"{kind} <{source}>: there is no such graph, and nothing has changed; {kind} SILENT ignores that"
            )
        if source == target:
            return
        found = draft.of_graph(source)
        added = triples.by_predicate(found) if target is None else {QUADS: triples.in_graph(found, target)}
        gone = self._contents(target) if kind != "ADD" else {}
        if kind == "MOVE":
            gone = united(gone, self._contents(source), draft.backend)
        draft.change(added, gone)

    def _contents(self, graph: IRI | None) -> QuadFacts:
        """Everything that is in a graph, as what is to be removed."""
        found = self.draft.of_graph(graph)
        return {UNNAMED: found} if graph is None else {QUADS: self.draft.triples.in_graph(found, graph)}
