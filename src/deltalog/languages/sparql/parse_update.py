"""A SPARQL Update request to its operations.

What the standard forbids is refused with its place: variables in INSERT DATA and DELETE DATA, blank nodes in what is
deleted, paths in a template, and a blank node label in two operations that insert data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from deltalog.core.errors import UsageError
from deltalog.core.rules import Constant, Term, Variable
from deltalog.core.terms import IRI, RDF_TYPE, BlankNode, is_absolute
from deltalog.functions.fresh_values import Execution
from deltalog.languages.sparql.algebra import hidden
from deltalog.languages.sparql.parse import WELL_KNOWN, QueryReader
from deltalog.languages.sparql.request_base import NO_BASE, RequestBase
from deltalog.languages.sparql.tokens import QueryToken, tokenize
from deltalog.languages.sparql.update_operations import (
    ChangeData,
    Clear,
    Create,
    GraphTransfer,
    Load,
    Modify,
    QuadPattern,
    Quads,
    UpdateOperation,
    pattern_of,
)

STARTS = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")


def parse_update(text: str, prefixes: Mapping[str, str], base: RequestBase = NO_BASE) -> tuple[UpdateOperation, ...]:
    """The operations of a request. Prefixes and the base of the text go before the ones given."""
    try:
        return _UpdateReader(tokenize(text), {**WELL_KNOWN, **prefixes}, Execution(), request=base).operations()
    except RecursionError:
        raise UsageError("the update is nested too deeply") from None


class _UpdateReader(QueryReader):
    operation = 0  # its number in the request

    def operations(self) -> tuple[UpdateOperation, ...]:
        """Operations separated by `;`, each of which may begin with prefixes. There may be none."""
        self.data_labels: dict[str, int] = {}  # of blank nodes, and the operation that has them
        found: list[UpdateOperation] = []
        self.prologue()
        while self.next.kind != "end":
            self.operation += 1
            found.append(self._operation())
            if not self.accept(";"):
                break
            self.prologue()
        if self.next.kind != "end":
            self.expected("`;` or the end of the update")
        return tuple(found)

    def _operation(self) -> UpdateOperation:
        readers: dict[str, Callable[[], UpdateOperation]] = {
            **{"INSERT": self._change, "DELETE": self._change, "WITH": self._change, "LOAD": self._load},
            **{"CLEAR": self._clear, "DROP": self._clear, "CREATE": self._create},
            **dict.fromkeys(("ADD", "MOVE", "COPY"), self._transfer),
        }
        read = readers.get(self.next.keyword)
        if read is None:
            self.expected(f"{', '.join(STARTS[:-1])} or {STARTS[-1]}")
        return read()

    # INSERT and DELETE.

    def _change(self) -> UpdateOperation:
        graph = self.iri() if self.accept("WITH") else None
        if graph is None and self._comes("INSERT", "DATA"):
            return ChangeData(insert=self._data("INSERT DATA", blank_nodes=True))
        if graph is None and self._comes("DELETE", "DATA"):
            return ChangeData(delete=self._data("DELETE DATA", blank_nodes=False))
        if graph is None and self._comes("DELETE", "WHERE"):
            quads = self._quads("DELETE WHERE", blank_nodes=False)
            return Modify(quads, (), pattern_of(quads))
        if not self.sees("DELETE", "INSERT"):
            self.expected("DELETE or INSERT")
        delete = self._quads("DELETE", blank_nodes=False) if self.accept("DELETE") else ()
        insert = self._quads("INSERT", blank_nodes=True) if self.accept("INSERT") else ()
        dataset = self.graphs("USING")
        self.expect("WHERE")
        return Modify(delete, insert, self.group(), graph, dataset)

    def _comes(self, first: str, second: str) -> bool:
        """Takes two words, if they come."""
        comes = self.sees(first) and self.after.keyword == second
        self.at += 2 * comes
        return comes

    def _data(self, what: str, blank_nodes: bool) -> Quads:
        start = self.at
        quads = self._quads(what, blank_nodes, is_data=True)
        if any(isinstance(term, Variable) and not hidden(term) for quad in quads for term in quad):
            self.fail(f"a variable cannot be in {what}", self._first(start, lambda token: token.kind == "variable"))
        for _, subject, predicate, object in quads:
            if _is_literal(subject) and _is_of_rdf(predicate, object):
                self.fail(f"the subject of a triple in {what} cannot be a literal", self.tokens[start + 1])
        return quads

    def _quads(self, what: str, blank_nodes: bool, is_data: bool = False) -> Quads:
        """`{ triples GRAPH <g> { triples } ... }`"""
        start = self.at
        self.expect("{")
        found: list[QuadPattern] = []
        with self._template(self.data_labels if is_data else {}):
            while not self.sees("}"):
                found += self._in_graph() if self.accept("GRAPH") else self._template_triples(None)
        self.expect("}")
        if not blank_nodes and any(isinstance(term, Variable) and hidden(term) for quad in found for term in quad):
            self.fail(f"a blank node cannot be in {what}; use a variable", self._first(start, _is_blank))
        return tuple(found)

    def _in_graph(self) -> list[QuadPattern]:
        graph = self.variable_or_iri()
        self.expect("{")
        found = [] if self.sees("}") else self._template_triples(graph)
        self.expect("}")
        self.accept(".")
        return found

    def _template_triples(self, graph: Term | None) -> list[QuadPattern]:
        found: list[QuadPattern] = []
        while True:
            for s, p, o in self.plain_triples():
                found.append((graph, s, p, o))
            if not self.accept(".") or self.sees("}", "GRAPH"):
                break
        if not self.sees("}", "GRAPH"):
            self.expected("`.`, GRAPH or `}`")
        return found

    @contextmanager
    def _template(self, labels: dict[str, int]) -> Iterator[None]:
        """Blank node labels of a template are others than those of patterns; those of data belong to one operation."""
        before = self.labels, self.pattern, self.has_paths
        self.labels, self.pattern, self.has_paths = labels, -self.operation, False
        yield
        self.labels, self.pattern, self.has_paths = before

    def _first(self, start: int, is_it: Callable[[QueryToken], bool]) -> QueryToken:
        return next(token for token in self.tokens[start:] if is_it(token))

    # Graphs as a whole.

    def _load(self) -> Load:
        self.expect("LOAD")
        silent, source = self._silent(), self._source()
        if not self.accept("INTO"):
            return Load(source, None, silent)
        self.expect("GRAPH")
        return Load(source, self.iri(), silent)

    def _source(self) -> IRI:
        """A relative IRI is a path in a folder that may be loaded from, unless there is a BASE."""
        request, self.request = self.request, NO_BASE
        source, self.request = self.iri(), request
        return source

    def _clear(self) -> Clear:
        self.take()
        silent = self._silent()
        if token := self.accept("DEFAULT", "NAMED", "ALL"):
            return Clear(token.keyword, silent)
        if not self.accept("GRAPH"):
            self.expected("GRAPH, DEFAULT, NAMED or ALL")
        return Clear(self.iri(), silent)

    def _create(self) -> Create:
        self.expect("CREATE")
        silent = self._silent()
        self.expect("GRAPH")
        return Create(self.iri(), silent)

    def _transfer(self) -> GraphTransfer:
        kind, silent = self.take().keyword, self._silent()
        source = self._graph_or_default()
        self.expect("TO")
        return GraphTransfer(kind, source, self._graph_or_default(), silent)

    def _silent(self) -> bool:
        return self.accept("SILENT") is not None

    def _graph_or_default(self) -> IRI | None:
        if self.accept("DEFAULT"):
            return None
        self.accept("GRAPH")
        return self.iri()


def _is_literal(term: Term) -> bool:
    return isinstance(term, Constant) and not isinstance(term.value, IRI | BlankNode)


def _is_of_rdf(predicate: Term, object: Term) -> bool:
    """Whether a triple is a fact of an IRI, and not of a bare name."""
    name = object if predicate == Constant(IRI(RDF_TYPE)) else predicate
    return isinstance(name, Constant) and isinstance(name.value, IRI) and is_absolute(name.value)


def _is_blank(token: QueryToken) -> bool:
    return token.kind == "blank" or token.keyword in ("[", "(")
