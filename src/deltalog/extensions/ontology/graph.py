"""Triples, as the readers of axioms see them: by subject and by predicate, and lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from deltalog.core.rules import TRIPLES, TYPES, Pred
from deltalog.core.terms import IRI, RDF, RDF_TYPE, BlankNode, Value

RdfTriple = tuple[Value, IRI, Value]
FIRST, REST, NIL = RDF + "first", RDF + "rest", IRI(RDF + "nil")


class NotAList(Exception):
    """A node that should be an RDF list is none."""


class RdfGraph:
    """A set of triples. Predicates are looked up by plain strings."""

    def __init__(self, triples: Iterable[RdfTriple]) -> None:
        self._objects: dict[tuple[Value, str], list[Value]] = {}
        self._pairs: dict[str, list[tuple[Value, Value]]] = {}
        for subject, predicate, object in triples:
            name = str(predicate)
            self._objects.setdefault((subject, name), []).append(object)
            self._pairs.setdefault(name, []).append((subject, object))
        types = [(subject, str(type)) for subject, type in self.pairs(str(RDF_TYPE)) if isinstance(type, IRI)]
        self._types = set(types)
        self._members: dict[str, list[Value]] = {}
        for subject, type in types:
            self._members.setdefault(type, []).append(subject)

    def objects(self, subject: Value, predicate: str) -> list[Value]:
        return self._objects.get((subject, predicate), [])

    def object(self, subject: Value, predicate: str) -> Value | None:
        """The object, or the first one; None if there is none."""
        found = self.objects(subject, predicate)
        return found[0] if found else None

    def pairs(self, predicate: str) -> list[tuple[Value, Value]]:
        """Subjects and objects of a predicate."""
        return self._pairs.get(predicate, [])

    def of_type(self, type: str) -> list[Value]:
        return self._members.get(type, [])

    def is_a(self, subject: Value, *types: str) -> bool:
        return any((subject, type) in self._types for type in types)

    def items(self, node: Value) -> tuple[Value, ...]:
        """The members of an RDF list; NotAList if it is broken or goes in a circle."""
        found: list[Value] = []
        seen: set[Value] = set()
        while node != NIL:
            first, rest = self.object(node, FIRST), self.object(node, REST)
            if first is None or rest is None or node in seen:
                raise NotAList
            seen.add(node)
            found.append(first)
            node = rest
        return tuple(found)


def triples_of(facts: Mapping[Pred, Iterable[tuple[Value, ...]]]) -> Iterator[RdfTriple]:
    """The triples of facts by predicate."""
    for pred, rows in facts.items():
        if pred == TRIPLES:
            yield from ((s, IRI(str(p)), o) for s, p, o in rows)
        elif pred.arity == 1:
            yield from ((row[0], RDF_TYPE, IRI(pred.name)) for row in rows)
        elif pred.arity == 2:
            yield from ((row[0], RDF_TYPE if pred == TYPES else IRI(pred.name), row[1]) for row in rows)


def is_node(value: Value) -> bool:
    return isinstance(value, IRI | BlankNode)
