"""The same small graph in a knowledge base and in Oxigraph, and queries that both have to answer alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pyoxigraph as ox

from deltalog import KnowledgeBase
from deltalog.query.sparql.solutions import Solutions
from deltalog.terms import IRI, RDF_TYPE, BlankNode, Value, datatype, key, literal, number

PREFIX = "PREFIX : <http://e/> "


class Twins:
    """A graph, given as the triples of an INSERT DATA, in both."""

    def __init__(self, triples: str, engine: str = "local", program: str = "") -> None:
        self.store = ox.Store()
        self.store.update(f"{PREFIX} INSERT DATA {{ {triples} }}")
        self.kb = KnowledgeBase(program, engine=engine)
        facts: dict[str, list[tuple[Value, ...]]] = {}
        for quad in self.store:
            name, row = fact(quad)
            facts.setdefault(name, []).append(row)
        for name, rows in facts.items():
            self.kb.add(name, rows)

    def check(self, query: str, method: str = "auto") -> None:
        """The two agree: on the truth of an ASK, and on the bag of solutions of a SELECT."""
        expected, got = self.store.query(PREFIX + query), self.kb.sparql(PREFIX + query, method)
        if isinstance(expected, ox.QueryBoolean):
            assert got is bool(expected), query
            return
        assert isinstance(expected, ox.QuerySolutions) and isinstance(got, Solutions)
        names = [variable.value for variable in expected.variables]
        assert set(names) == set(got.columns), query
        places = [got.columns.index(name) for name in names]
        theirs = bag([row[name] for name in names] for row in expected)
        assert bag([row[i] for i in places] for row in got) == theirs, query


def fact(quad: Any) -> tuple[str, tuple[Value, ...]]:
    subject, predicate, object = quad.subject, quad.predicate.value, quad.object
    if IRI(predicate) == RDF_TYPE:
        return object.value, (value(subject),)
    return predicate, (value(subject), value(object))


def value(term: Any) -> Value:
    if isinstance(term, ox.NamedNode):
        return IRI(term.value)
    if isinstance(term, ox.BlankNode):
        return BlankNode(term.value)
    return literal(term.value, None if term.language else term.datatype.value, term.language)


def bag(rows: Iterable[Iterable[Any]]) -> Counter[Any]:
    return Counter(tuple(map(mark, row)) for row in rows)


def mark(term: Any) -> object:
    """A value as something to compare: numbers by datatype and value, whatever the digits."""
    if term is None:
        return None
    if isinstance(term, ox.NamedNode | ox.BlankNode | ox.Literal):
        term = value(term)
    n = None if isinstance(term, str) else number(term)
    return key(term) if n is None else (datatype(term), round(float(n), 9))


# Random graphs and queries.

NODES = (":a", ":b", ":c", ":d")
LITERALS = ("1", "2", "2.5", '"x"', '"y"@en', "true")
VARIABLES = ("?x", "?y", "?z")
PATHS = (":p", ":p", ":q", ":q", "^:p", ":p/:q", ":p+", ":q*", ":p?", "(:p/^:q)*", ":p|:q", "!:p")
CONDITIONS = (
    *("?w > 1", "?w <= 2", "?w = 2", "?w != 1", "?x = ?y", "?x != :a", "BOUND(?w)", "!BOUND(?z)", "isIRI(?y)"),
    *("!(?w < 2)", "?w IN (1, :a, 2.5)", "?w + 1 > 2", "isNumeric(?w)", "COALESCE(?w, 0) < 2", '?w = "x"'),
    *('STR(?w) = "y"', "IF(BOUND(?w), ?w, 1) = 1", "?w * 2 = ?w + ?w", "sameTerm(?x, ?y)", "DATATYPE(?w) != ?x"),
)


def random_graph(random: Random) -> str:
    edges = [f"{random.choice(NODES)} {random.choice((':p', ':q'))} {random.choice(NODES)}" for _ in range(7)]
    values = [f"{random.choice(NODES)} :v {random.choice(LITERALS)}" for _ in range(5)]
    classes = [f"{random.choice(NODES)} a {random.choice((':C', ':D'))}" for _ in range(3)]
    return " . ".join([*edges, *values, *classes])


class RandomQuery:
    """A random query, grown from its patterns. Oxigraph takes `p|p` for a set, so with `|` queries are DISTINCT."""

    def __init__(self, random: Random) -> None:
        self.random, self.fresh, self.as_set = random, 0, False

    def text(self) -> str:
        pattern = self.group(2)
        kind = self.random.random()
        if kind < 0.1:
            return f"ASK {pattern}"
        if kind < 0.3:
            return self.aggregate(pattern)
        chosen = self.random.choice(("*", "?x", "?x ?y", "?y ?z ?w"))
        return f"SELECT {self.distinct()}{chosen} {pattern}"

    def distinct(self) -> str:
        return "DISTINCT " if self.as_set or self.random.random() < 0.2 else ""

    def aggregate(self, pattern: str) -> str:
        inner = f"{{ SELECT DISTINCT * {pattern} }}" if self.as_set else pattern
        call = self.random.choice(("COUNT(*)", "COUNT(?y)", "COUNT(DISTINCT ?y)", "SUM(?w)", "AVG(?w)", "COUNT(?w)"))
        if self.random.random() < 0.4:
            return f"SELECT ({call} AS ?n) {{ {inner} }}"
        having = self.random.choice(("", "", " HAVING (COUNT(*) > 1)"))
        return f"SELECT ?x ({call} AS ?n) {{ {inner} }} GROUP BY ?x{having}"

    def group(self, depth: int) -> str:
        parts = [self.triples()] if self.random.random() < 0.9 else []
        for _ in range(self.random.randint(0, 2)):
            parts.append(self.part(depth))
        return "{ " + " ".join(parts) + " }"

    def part(self, depth: int) -> str:
        flat = (self.triples, self.filter, self.bind, self.values)
        deep = (self.optional, self.optional, self.union, self.minus, self.exists, self.subselect, self.nested)
        if depth and self.random.random() < 0.7:
            return self.random.choice(deep)(depth - 1)
        return self.random.choice(flat)()

    def optional(self, depth: int) -> str:
        return f"OPTIONAL {self.group(depth)}"

    def union(self, depth: int) -> str:
        return f"{self.group(depth)} UNION {self.group(depth)}"

    def minus(self, depth: int) -> str:
        return f"MINUS {self.group(depth)}"

    def nested(self, depth: int) -> str:
        return self.group(depth)

    def exists(self, depth: int) -> str:
        return f"FILTER {self.random.choice(('', 'NOT '))}EXISTS {{ {self.triples()} }}"

    def subselect(self, depth: int) -> str:
        return f"{{ SELECT {self.distinct()}{self.random.choice(('?x', '?x ?y'))} {self.group(depth)} }}"

    def triples(self) -> str:
        return " ".join(self.triple() for _ in range(self.random.randint(1, 2)))

    def triple(self) -> str:
        subject, object = self.node(), self.node()
        kind = self.random.random()
        if kind < 0.2:
            return f"{subject} :v ?w ."
        if kind < 0.3:
            return f"{subject} a {self.random.choice((':C', ':D', '?z'))} ."
        if kind < 0.4:
            return f"{subject} {self.random.choice(('?z', '?y'))} {object} ."
        return f"{subject} {self.path()} {object} ."

    def node(self) -> str:
        return self.random.choice(NODES) if self.random.random() < 0.15 else self.random.choice(VARIABLES)

    def path(self) -> str:
        path = self.random.choice(PATHS)
        self.as_set |= "|" in path
        return path

    def filter(self) -> str:
        return f"FILTER({self.condition(1)})"

    def condition(self, depth: int) -> str:
        if depth and self.random.random() < 0.4:
            both = self.random.choice((" && ", " || "))
            return both.join(f"({self.condition(depth - 1)})" for _ in range(2))
        return self.random.choice(CONDITIONS)

    def bind(self) -> str:
        self.fresh += 1
        expression = self.random.choice(("?w + 1", "?x", "STR(?y)", "?w / 2", "1", "?w > 1", "COALESCE(?z, ?x)"))
        return f"BIND({expression} AS ?b{self.fresh})"

    def values(self) -> str:
        rows = [f"({self.random.choice((*NODES, 'UNDEF'))} {self.random.choice((*NODES, 'UNDEF'))})" for _ in range(3)]
        return f"VALUES (?x ?y) {{ {' '.join(rows)} }}"
