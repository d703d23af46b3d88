"""The operations of SPARQL Update as frozen values.

A quad of a template is a graph (None: the default one), a subject, a predicate and an object. A graph that an operation
names is an IRI, or None for the unnamed graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltalog.core.errors import UsageError
from deltalog.core.rules import Term, Variable
from deltalog.core.terms import IRI
from deltalog.languages.sparql.algebra import BGP, GraphPattern, GroupPattern, NamedGraphPattern, hidden, join
from deltalog.languages.sparql.graphs import ALL_GRAPHS, Dataset, check_dataset

QuadPattern = tuple[Term | None, Term, Term, Term]
Quads = tuple[QuadPattern, ...]


@dataclass(frozen=True, slots=True)
class ChangeData:
    """INSERT DATA and DELETE DATA: quads without variables."""

    delete: Quads = ()
    insert: Quads = ()


@dataclass(frozen=True, slots=True)
class Modify:
    """DELETE and INSERT by templates, for each solution of a pattern; `graph` is that of WITH."""

    delete: Quads
    insert: Quads
    pattern: GroupPattern
    graph: IRI | None = None
    dataset: Dataset = ALL_GRAPHS  # of USING

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the templates."""
        found = {t for quad in (*self.delete, *self.insert) for t in quad if isinstance(t, Variable) and not hidden(t)}
        return tuple(sorted(found, key=lambda v: v.name))


@dataclass(frozen=True, slots=True)
class Load:
    source: IRI
    into: IRI | None = None
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Clear:
    """CLEAR and DROP: a graph, or "DEFAULT", "NAMED" or "ALL"."""

    target: IRI | str
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    graph: IRI
    silent: bool = False


@dataclass(frozen=True, slots=True)
class GraphTransfer:
    """ADD, COPY and MOVE."""

    kind: str
    source: IRI | None
    target: IRI | None
    silent: bool = False


UpdateOperation = ChangeData | Modify | Load | Clear | Create | GraphTransfer


def using(operations: Sequence[UpdateOperation], dataset: Dataset | None) -> tuple[UpdateOperation, ...]:
    """Operations whose patterns are matched in other graphs than all; UsageError if they say themselves in which."""
    check_dataset(dataset)
    if dataset is None or dataset == ALL_GRAPHS:
        return tuple(operations)
    if any(isinstance(each, Modify) and (each.graph is not None or each.dataset != ALL_GRAPHS) for each in operations):
        raise UsageError("the graphs to use are given beside the request, and again in it, by USING or WITH; leave one")
    return tuple(replace(each, dataset=dataset) if isinstance(each, Modify) else each for each in operations)


def pattern_of(quads: Quads) -> GroupPattern:
    """The pattern that a template is in DELETE WHERE."""
    pattern: GraphPattern = BGP()
    for graph in dict.fromkeys(quad[0] for quad in quads):
        triples = BGP(tuple(quad[1:] for quad in quads if quad[0] == graph))
        pattern = join(pattern, triples if graph is None else NamedGraphPattern(graph, GroupPattern(triples)))
    return GroupPattern(pattern)
