"""Named graphs: which graphs explicit facts are in.

A knowledge base is a set of quads: triples that are in named graphs, and triples in the unnamed one. Rules see its
default graph, the explicit facts by predicate (E). Graph membership is kept beside it, in two hidden relations that
exist only where there are quads:

    QUADS(g, s, p, o)    the triples of named graphs
    UNNAMED(s, p, o)     of these triples, those that are in the unnamed graph, too

If the default graph is the union of all graphs, a fact is in E while some graph has it; one that QUADS does not mention
is in the unnamed graph alone. If it is the unnamed graph, E and QUADS have nothing to do with each other, and UNNAMED
is empty. Both relations are explicit facts like others, so updates, stores and Spark need to know nothing of graphs.

A change is asked for in the same relations: facts by predicate are added to the unnamed graph and removed from the
default graph, rows of QUADS are added to and removed from named graphs, rows of UNNAMED are removed from the unnamed
graph. `membership_change` turns that into a change of E, QUADS and UNNAMED.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from deltalog.core.errors import UsageError
from deltalog.core.rules import (
    QUADS,
    TRIPLES,
    TYPES,
    UNNAMED,
    AggregateCall,
    Atom,
    Constant,
    HiddenName,
    Pred,
    Term,
    Variable,
)
from deltalog.core.terms import IRI, RDF_TYPE, Value
from deltalog.evaluation.backend import Backend, run, united
from deltalog.evaluation.facts import rows
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, Plan
from deltalog.evaluation.plan.variants import project
from deltalog.extensions.graphs.relations import GRAPHS, has_graphs, without_graphs

T = TypeVar("T")
_G, _S, _P, _O = Variable("g"), Variable("s"), Variable("p"), Variable("o")
_QUAD = Atom(QUADS.name, (_G, _S, _P, _O))
_GIVEN = Pred(HiddenName("#given"), 3)
_TRIPLE = Atom(_GIVEN.name, (_S, _P, _O))


def membership_change(
    explicit: Mapping[Pred, T], add: Mapping[Pred, T], remove: Mapping[Pred, T], union: bool, backend: Backend[T]
) -> tuple[dict[Pred, T], dict[Pred, T]]:
    """A change of quads as a change of E, QUADS and UNNAMED. What is both added and removed is there afterwards."""
    if not (has_graphs(explicit) or has_graphs(add) or has_graphs(remove)):
        return dict(add), dict(remove)
    triples = TripleTables(backend)
    if not union:
        unnamed = {pred: table for pred, table in remove.items() if pred != UNNAMED}
        return dict(add), united(unnamed, triples.by_predicate(triples.of(remove, UNNAMED)), backend)
    return _Membership(triples, explicit).changed(add, remove)


@dataclass(frozen=True)
class _Membership(Generic[T]):
    """Where the default graph is the union of all graphs. The triples that a change mentions are F."""

    triples: TripleTables[T]
    explicit: Mapping[Pred, T]

    def changed(self, add: Mapping[Pred, T], remove: Mapping[Pred, T]) -> tuple[dict[Pred, T], dict[Pred, T]]:
        t, minus, plus = self.triples, self.triples.minus, self.triples.plus
        given, gone = t.from_facts(add), t.from_facts(remove)
        quads, quads_gone, unnamed_gone = t.of(add, QUADS), t.of(remove, QUADS), t.of(remove, UNNAMED)
        touched = plus(given, gone, unnamed_gone, t.without_graph(quads), t.without_graph(quads_gone))  # F
        known = t.from_facts(t.common(t.by_predicate(touched), self.explicit))  # F ∩ E
        # Before: the quads of F, and those of its triples that are in the unnamed graph.
        named = t.matching(t.of(self.explicit, QUADS), touched)
        marked = t.intersection(touched, t.of(self.explicit, UNNAMED))
        unnamed = plus(minus(known, t.without_graph(named)), marked)
        # After: the same without what is removed, and with what is added.
        named_now = plus(minus(minus(named, quads_gone), t.matching(named, gone)), quads)
        unnamed_now = plus(minus(minus(unnamed, unnamed_gone), gone), given)
        in_named = t.without_graph(named_now)
        present, marked_now = plus(in_named, unnamed_now), t.intersection(unnamed_now, in_named)
        added = {QUADS: minus(named_now, named), UNNAMED: minus(marked_now, marked)}
        removed = {QUADS: minus(named, named_now), UNNAMED: minus(marked, marked_now)}
        return (
            self._with(added, united(without_graphs(add), t.by_predicate(minus(present, known)), t.backend)),
            self._with(removed, united(t.not_triples(remove), t.by_predicate(minus(known, present)), t.backend)),
        )

    def _with(self, graphs: Mapping[Pred, T], facts: dict[Pred, T]) -> dict[Pred, T]:
        return facts | {pred: table for pred, table in graphs.items() if self.triples.backend.size(table)}


@dataclass(frozen=True)
class TripleTables(Generic[T]):
    """Triples as tables of three columns, between facts by predicate and quads."""

    backend: Backend[T]

    def of(self, tables: Mapping[Pred, T], pred: Pred) -> T:
        return tables[pred] if pred in tables else self.backend.empty(pred.arity)

    # Sets.

    def plus(self, first: T, *others: T) -> T:
        for other in filter(self.backend.size, others):
            first = self.backend.merge(first, self.minus(other, first)) if self.backend.size(first) else other
        return first

    def minus(self, first: T, second: T) -> T:
        return self.backend.minus(first, second) if self.backend.size(first) and self.backend.size(second) else first

    def intersection(self, first: T, second: T) -> T:
        """Rows of both; the work goes by the first."""
        return self.minus(first, self.minus(first, second)) if self.backend.size(second) else second

    def common(self, facts: Mapping[Pred, T], others: Mapping[Pred, T]) -> dict[Pred, T]:
        return {pred: self.intersection(table, others[pred]) for pred, table in facts.items() if pred in others}

    # Quads.

    def without_graph(self, quads: T) -> T:
        """The triples of quads."""
        return self._run(_WITHOUT_GRAPH, quads=quads)

    def matching(self, quads: T, triples: T) -> T:
        """Those of the quads whose triple is among some. Few triples are looked up among many quads."""
        return self._run(_MATCHING, quads=quads, triples=triples)

    def in_graph(self, triples: T, graph: Value) -> T:
        """Triples as quads of a graph."""
        plan = project(Atom("", (Constant(graph), *_TRIPLE.terms)), ir.Scan(_TRIPLE))
        return self._run(ir.Distinct(plan), triples=triples)

    def of_graph(self, quads: T, graph: Value) -> T:
        """The triples of a graph."""
        atom = Atom(QUADS.name, (Constant(graph), _S, _P, _O))
        return self._run(ir.Distinct(project(_TRIPLE, ir.Scan(atom))), quads=quads)

    def graphs(self, quads: T) -> dict[Value, int]:
        """The names of the graphs, with their numbers of triples."""
        count = AggregateCall("count", None, Variable("n"))
        found = self._run(ir.GroupBy(ir.Scan(_QUAD), (_G,), (count,)), quads=quads)
        return {name: int(n) for name, n in rows(found, 2, self.backend)}  # type: ignore[arg-type]

    # Facts.

    def from_facts(self, facts: Mapping[Pred, T]) -> T:
        """The triples of facts with one or two arguments."""
        tables = {(pred, Part.ALL): table for pred, table in facts.items() if is_triple(pred)}
        if not any(map(self.backend.size, tables.values())):
            return self.backend.empty(3)
        return run(self.backend, _all_triples(tuple(pred for pred, _ in tables)), tables)

    def not_triples(self, facts: Mapping[Pred, T]) -> dict[Pred, T]:
        """The facts that are no triples."""
        return {pred: table for pred, table in facts.items() if not is_triple(pred) and pred not in GRAPHS}

    def quads_of(self, facts: Mapping[Pred, T], graph: Value) -> dict[Pred, T]:
        """Facts as quads of a graph; UsageError for those that cannot be in one."""
        if QUADS in facts:
            raise UsageError(f"the facts are in graphs of their own, and cannot be put into <{graph}>; leave it out")
        for pred in facts:
            if not is_triple(pred):
                raise UsageError(f"{pred} cannot be in a graph: only facts with one or two arguments are triples")
        return {QUADS: self.in_graph(self.from_facts(facts), graph)} if facts else {}

    def by_predicate(self, triples: T) -> dict[Pred, T]:
        """Triples as facts; an rdf:type whose object is an IRI is a fact of the class."""
        if not self.backend.size(triples):
            return {}
        names = [value for value in self._values(_PREDICATES, triples) if isinstance(value, IRI)]
        plans = {Pred(str(name), 2): _facts(name, _O, (_S, _O)) for name in names if name != RDF_TYPE}
        if RDF_TYPE in names:
            plans |= self._types(triples)
        found = self.backend.run_all(plans, {(_GIVEN, Part.ALL): triples})
        return {pred: table for pred, table in found.items() if self.backend.size(table)}

    def _types(self, triples: T) -> dict[Pred, Plan]:
        classes = [Constant(value) for value in self._values(_CLASSES, triples)]
        named = [c for c in classes if isinstance(c.value, IRI)]
        plans = {Pred(str(c.value), 1): _facts(RDF_TYPE, c, (_S,)) for c in named}
        rest = tuple(_facts(RDF_TYPE, c, (_S, c)) for c in classes if c not in named)
        return {**plans, TYPES: ir.Distinct(ir.Union(rest))} if rest else plans

    # Plans.

    def _values(self, plan: Plan, triples: T) -> list[Value]:
        return self.backend.codec.values(self.backend.rows(self._run(plan, triples=triples))[0])

    def _run(self, plan: Plan, quads: T | None = None, triples: T | None = None) -> T:
        given = {QUADS: quads, _GIVEN: triples}
        tables = {(pred, Part.ALL): table for pred, table in given.items() if table is not None}
        if not all(map(self.backend.size, tables.values())):  # no plan here has rows for an empty table
            return self.backend.empty(len(ir.columns(plan)))
        return run(self.backend, plan, tables)


# Plans, made once: a backend compiles a plan the first time that it sees it.
_WITHOUT_GRAPH = ir.Distinct(project(_TRIPLE, ir.Scan(_QUAD)))
_MATCHING = ir.Distinct(project(_QUAD, ir.Join(ir.Scan(_TRIPLE), ir.Scan(_QUAD))))
_PREDICATES = ir.Distinct(ir.Project(ir.Scan(_TRIPLE), ((_P, _P),)))
_TYPE = Atom(_GIVEN.name, (_S, Constant(RDF_TYPE), _O))
_CLASSES = ir.Distinct(ir.Project(ir.Scan(_TYPE), ((_O, _O),)))


@lru_cache(maxsize=64)
def _all_triples(preds: tuple[Pred, ...]) -> Plan:
    """The triples of the facts of some predicates."""
    plans = [project(Atom("", _as_triple(pred)), ir.facts_of(pred)) for pred in preds]
    return ir.Distinct(ir.Union(tuple(plans)))


@lru_cache(maxsize=1024)
def _facts(name: IRI, object: Term, terms: tuple[Term, ...]) -> Plan:
    """The facts of a predicate among triples."""
    return ir.Distinct(project(Atom("", terms), ir.Scan(Atom(_GIVEN.name, (_S, Constant(name), object)))))


def is_triple(pred: Pred) -> bool:
    """Whether facts of a predicate are triples."""
    return not pred.hidden and (pred.arity in (1, 2) or pred == TRIPLES)


def _as_triple(pred: Pred) -> tuple[Term, ...]:
    """The terms of a fact's triple, over the columns of facts."""
    columns = ir.fact_columns(pred.arity)
    if pred.arity == 1:
        return (*columns, Constant(RDF_TYPE), Constant(IRI(pred.name)))
    return columns if pred == TRIPLES else (columns[0], Constant(IRI(pred.name)), columns[1])
