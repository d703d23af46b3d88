"""The graphs that patterns are matched in.

Outside of GRAPH a pattern sees the default graph: all facts, derived ones included. Inside of GRAPH it sees the triples
that were given for a named graph. FROM and FROM NAMED put other graphs in the place of these: the default graph is the
merge of some named graphs then, and GRAPH finds only some.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deltalog.core.arguments import check_type
from deltalog.core.rules import QUADS, Atom, HiddenName, Term, Variable, triple
from deltalog.core.terms import IRI

NAMED = HiddenName("#named graph")
MERGED = HiddenName("#merged graph")


@dataclass(frozen=True, slots=True)
class Dataset:
    """The graphs of a query. `default`: those that FROM names; `named`: those that FROM NAMED does. None is all: the
    default graph of the knowledge base, and every named graph."""

    default: tuple[IRI, ...] | None = None
    named: tuple[IRI, ...] | None = None

    @classmethod
    def of(cls, default: Iterable[IRI], named: Iterable[IRI]) -> Dataset:
        """The dataset of FROM and FROM NAMED: with either of them, only what they name."""
        merged, single = tuple(dict.fromkeys(default)), tuple(dict.fromkeys(named))
        return cls(merged, single) if merged or single else cls()

    def has(self, graph: object) -> bool:
        """Whether GRAPH can find a graph."""
        return self.named is None or graph in self.named


@dataclass(frozen=True, slots=True)
class ActiveGraph:
    """A graph that triples are matched in: a named one, which may be a variable; the merge of some; or, if it is none
    of these, the default graph."""

    name: Term | None = None
    merged: bool = False

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variable that stands for the graph, if there is one."""
        return (self.name,) if isinstance(self.name, Variable) else ()

    def triple(self, s: Term, p: Term, o: Term) -> Atom:
        """The atom of a triple in this graph."""
        if self.name is not None:
            return Atom(QUADS.name, (self.name, s, p, o))
        return Atom(MERGED, (s, p, o)) if self.merged else triple(s, p, o)


ALL_GRAPHS, DEFAULT_GRAPH = Dataset(), ActiveGraph()


def check_dataset(dataset: object) -> None:
    """UsageError for what is no dataset."""
    if dataset is not None:
        check_type(dataset, Dataset, "a Dataset, such as Dataset.of([IRI('http://e.org/g')], [])")


def node_terms(atom: Atom) -> tuple[Term, ...]:
    """The subject and the object of a triple's atom."""
    match atom.terms:
        case (_, s, _, o) | (s, _, o):
            return (s, o)
    return atom.terms
