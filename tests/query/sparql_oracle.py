"""The same small graph in a knowledge base and in Oxigraph, and queries that both have to answer alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isnan
from random import Random
from typing import Any

import pyoxigraph as ox

from deltalog import KnowledgeBase
from deltalog.core.terms import IRI, RDF_TYPE, XSD, BlankNode, Value, datatype, key, literal, number
from deltalog.languages.sparql.construct import Triples
from deltalog.languages.sparql.solutions import Solutions

Row = tuple[Value | None, ...]
PREFIX = "PREFIX : <http://e/> "
XSD_PREFIX = f"PREFIX xsd: <{XSD}> "

# Rules, and updates that add what follows from them: :t is p/q*, and :E has what is of :C and not of :D.
RULES = """
:t[?x, ?y] :- :p[?x, ?y] .
:t[?x, ?z] :- :t[?x, ?y], :q[?y, ?z] .
:E[?x] :- :C[?x], NOT :D[?x] .
"""
UPDATES = ("INSERT { ?x :t ?y } WHERE { ?x :p/:q* ?y }", "INSERT { ?x a :E } WHERE { ?x a :C MINUS { ?x a :D } }")


class Twins:
    """A graph, given as the triples of an INSERT DATA, in both; with `rules`, also what follows from RULES."""

    def __init__(self, triples: str, engine: str = "local", rules: bool = False) -> None:
        self.store = ox.Store()
        self.store.update(f"{PREFIX} {XSD_PREFIX} INSERT DATA {{ {triples} }}")
        self.kb = KnowledgeBase(PREFIX + RULES if rules else "", engine=engine)
        facts: dict[str, list[tuple[Value, ...]]] = {}
        for quad in self.store:
            name, row = fact(quad)
            facts.setdefault(name, []).append(row)
        for name, rows in facts.items():
            self.kb.add(name, rows)
        for update in UPDATES if rules else ():
            self.store.update(f"{PREFIX} {update}")

    def check(self, query: str, method: str = "auto") -> None:
        """The two agree: on the truth of an ASK, on the bag of solutions of a SELECT, and on triples."""
        expected = self.store.query(PREFIX + XSD_PREFIX + query)
        got = self.kb.sparql(PREFIX + query, method)
        if isinstance(expected, ox.QueryBoolean):
            assert got is bool(expected), query
            return
        if isinstance(expected, ox.QueryTriples):
            assert isinstance(got, Triples)
            theirs = [(value(t.subject), value(t.predicate), value(t.object)) for t in expected]
            assert same_rows(list(got), list({tuple(map(key, row)): row for row in theirs}.values())), query
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
    return key(term) if n is None or isnan(n) else (datatype(term), round(float(n), 9))


# Rows and triples with any names of blank nodes.


def same_rows(left: Sequence[Row], right: Sequence[Row], in_order: bool = False) -> bool:
    """Whether two bags (or sequences) of rows are the same, for some renaming of blank nodes."""
    if len(left) != len(right):
        return False
    shapes = [Counter(map(_shape, rows)) for rows in (left, right)]
    if shapes[0] != shapes[1]:
        return False
    if in_order:
        return _paired(list(left), [[row] for row in right], {}, {})
    rest = sorted(left, key=lambda row: (shapes[0][_shape(row)], str(_shape(row))))
    return _matched(rest, list(right), {}, {})


def _shape(row: Row) -> object:
    return tuple("blank" if isinstance(v, BlankNode) else mark(v) for v in row)


def _matched(left: list[Row], right: list[Row], to: dict[str, str], back: dict[str, str]) -> bool:
    if not left:
        return True
    first, *rest = left
    for place, other in enumerate(right):
        renamed = _renamed(first, other, to, back)
        if renamed is not None and _matched(rest, right[:place] + right[place + 1 :], *renamed):
            return True
        if renamed is not None and renamed[0] == to:
            return False  # the same without any choice
    return False


def _paired(left: list[Row], right: list[list[Row]], to: dict[str, str], back: dict[str, str]) -> bool:
    for row, (other,) in zip(left, right, strict=True):
        renamed = _renamed(row, other, to, back)
        if renamed is None:
            return False
        to, back = renamed
    return True


def _renamed(
    left: Row, right: Row, to: dict[str, str], back: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]] | None:
    """The renaming, extended so that two rows are equal; None if they cannot be."""
    if _shape(left) != _shape(right):
        return None
    to, back = dict(to), dict(back)
    for a, b in zip(left, right, strict=True):
        if not isinstance(a, BlankNode):
            continue
        assert isinstance(b, BlankNode)
        if to.setdefault(str(a), str(b)) != str(b) or back.setdefault(str(b), str(a)) != str(a):
            return None
    return to, back


# Random graphs and queries.

NODES = (":a", ":b", ":c", ":d")
LITERALS = ("1", "2", "2.5", '"x"', '"y"@en', "true")
# Values of all datatypes that compare, and of some that do not. Of the same kind, moments with a zone and those without
# are more than 14 hours apart: of others Oxigraph says that they are not equal, and the standard that nobody knows.
TYPED = (
    *("1", "2", "2.5", "-1.0", "2e0", "0.1e0", "0.1", '"0.1"^^xsd:float', '"2"^^xsd:int', '"1E0"^^xsd:decimal'),
    *('"x"', '"x"@en', '"y"@en', '"x"^^:t', '"y"^^:t', '"x"^^xsd:integer', '"2"', "true", "false"),
    *(
        '"2006-08-23"^^xsd:date',
        '"2006-08-25Z"^^xsd:date',
        '"2006-08-25+00:00"^^xsd:date',
        '"2006-08-26+09:00"^^xsd:date',
    ),
    *('"2006-08-23T09:00:00"^^xsd:dateTime', '"2006-08-25T24:00:00Z"^^xsd:dateTime', '"2006-02-30"^^xsd:date'),
    *('"2006-08-26T00:00:00.0Z"^^xsd:dateTime', '"2006-08-26T05:30:00+05:30"^^xsd:dateTime'),
    *('"2006-08-26T00:00:00.25-14:00"^^xsd:dateTime', '"12006-01-01T00:00:00Z"^^xsd:dateTime'),
)
NOT_ORDERED = (
    *("true", "false", '"x"^^:t', '"y"^^:t', '"x"^^xsd:integer', '"1E0"^^xsd:decimal', '"2006-02-30"^^xsd:date'),
)
CASTS = (
    "xsd:string",
    "xsd:integer",
    "xsd:decimal",
    "xsd:double",
    "xsd:float",
    "xsd:boolean",
    "xsd:date",
    "xsd:dateTime",
)
VARIABLES = ("?x", "?y", "?z")
PATHS = (":p", ":p", ":q", ":q", "^:p", ":p/:q", ":p+", ":q*", ":p?", "(:p/^:q)*", ":p|:q", "!:p")
CONDITIONS = (
    *("?w > 1", "?w <= 2", "?w = 2", "?w != 1", "?x = ?y", "?x != :a", "BOUND(?w)", "!BOUND(?z)", "isIRI(?y)"),
    *("!(?w < 2)", "?w IN (1, :a, 2.5)", "?w + 1 > 2", "isNumeric(?w)", "COALESCE(?w, 0) < 2", '?w = "x"'),
    *('STR(?w) = "y"', "IF(BOUND(?w), ?w, 1) = 1", "?w * 2 = ?w + ?w", "sameTerm(?x, ?y)", "DATATYPE(?w) != ?x"),
)


def random_graph(random: Random, literals: tuple[str, ...] = LITERALS) -> str:
    edges = [f"{random.choice(NODES)} {random.choice((':p', ':q'))} {random.choice(NODES)}" for _ in range(7)]
    values = [f"{random.choice(NODES)} :v {random.choice(literals)}" for _ in range(5)]
    classes = [f"{random.choice(NODES)} a {random.choice((':C', ':D'))}" for _ in range(3)]
    return " . ".join([*edges, *values, *classes])


def random_values(random: Random) -> tuple[str, str]:
    """A graph of typed values, and a query that compares each with each, or casts them. Oxigraph orders no booleans,
    and orders literals of any datatype with themselves."""
    operator = random.choice(("=", "!=", "<", "<=", ">", ">=", "cast"))
    ordered = operator not in ("=", "!=", "cast")
    values = random.sample(
        [value for value in TYPED if not ordered or (value not in NOT_ORDERED and "@" not in value)], 8
    )
    graph = " . ".join(f":n{i} :v {value}" for i, value in enumerate(values))
    if operator == "cast":
        return graph, f"SELECT ?x ({random.choice(CASTS)}(?w) AS ?r) {{ ?x :v ?w }}"
    return graph, f"SELECT ?x ?y (?w {operator} ?u AS ?r) {{ ?x :v ?w . ?y :v ?u }}"


class RandomQuery:
    """A random query, grown from its patterns. Oxigraph takes `p|p` for a set, and at times `!p`, so with these
    queries are DISTINCT. In an EXISTS, Oxigraph takes all variables of the outside for shared by the sides of a MINUS,
    so the sides share a variable of their own there.

    A typed one also compares and casts values of all datatypes; one about rules also asks for what they derive.
    """

    def __init__(self, random: Random, typed: bool = False, rules: bool = False) -> None:
        self.random, self.fresh, self.as_set, self.typed, self.in_exists = random, 0, False, typed, False
        self.paths = (*PATHS, *((":t", ":t", "^:t", ":t/:q", ":t*") if rules else ()))
        self.classes = (":C", ":D", "?z", *((":E", ":E") if rules else ()))

    def text(self) -> str:
        pattern = self.group(2)
        kind = self.random.random()
        if kind < 0.1:
            return f"ASK {pattern}"
        if kind < 0.3:
            return self.aggregate(pattern)
        chosen = self.random.choice(("*", "?x", "?x ?y", "?y ?z ?w"))
        return f"SELECT {self.distinct()}{chosen} {pattern}"

    def about_triples(self) -> str:
        """A CONSTRUCT, with a blank node for each solution or without, or a DESCRIBE. Oxigraph describes an IRI only
        where the pattern has a solution."""
        pattern = self.group(2)
        if self.random.random() < 0.3:
            return self.random.choice(
                (f"DESCRIBE {self.random.choice(('?x', '?x ?y', '*'))} {pattern}", "DESCRIBE :a :b")
            )
        blank = "" if self.as_set else self.random.choice(("", "[ :s ?x ] :t ?y .", "_:n :s ?y ; :t [] ."))
        triples = self.random.choice(("?x :r ?y .", "?x ?y ?z .", ":a :r ?w . ?w :r :a .", "?z a :C . ?x :v 1, ?w ."))
        return f"CONSTRUCT {{ {triples} {blank} }} WHERE {pattern}"

    def limited(self) -> tuple[str, str]:
        """A subquery with LIMIT or OFFSET that selects ?x, with a place for what gives ?x a value; and what follows it.
        Where the choice of solutions matters, they are sorted by all of their variables."""
        choose = self.random.choice
        patterns = (
            "?x :p ?y",
            "?x :p ?y . ?y :q ?z",
            "?x ?z ?y",
            "{?x :p ?y} UNION {?x :q ?y}",
            "?x :p ?y OPTIONAL {?y :v ?z}",
        )
        after = choose(("", "?y :q ?k", "FILTER(?y != :a)", "FILTER(BOUND(?y))"))
        order = choose(("STR(?y) ?z", "DESC(?y) ?z", "DESC(STR(?y)) DESC(?z)"))
        limits = choose(("LIMIT 1", "LIMIT 2", "LIMIT 0", "OFFSET 1", "OFFSET 1 LIMIT 1", "LIMIT 3 OFFSET 2"))
        chosen = choose(("?x ?y", "?x", "*", "?x ?z", "DISTINCT ?x ?y", "DISTINCT ?x", "DISTINCT *"))
        return f"SELECT {chosen} {{ %s {choose(patterns)} }} ORDER BY {order} {limits}", after

    def about_exists(self) -> str:
        """Solutions for which a random group has one, or has none. Without paths of length zero: Oxigraph has none for
        a value of the outside that is no node."""
        self.paths = tuple(path for path in self.paths if "*" not in path and "?" not in path)
        before = f"{self.triples()} {self.random.choice(('', self.optional(0), self.values()))}"
        self.in_exists = True
        return f"SELECT DISTINCT * {{ {before} FILTER {self.random.choice(('', 'NOT '))}EXISTS {self.group(2)} }}"

    def distinct(self) -> str:
        return "DISTINCT " if self.as_set or self.random.random() < 0.2 else ""

    def aggregate(self, pattern: str) -> str:
        inner = f"{{ SELECT DISTINCT * {pattern} }}" if self.as_set else pattern
        call = self.random.choice(
            ("COUNT(*)", "COUNT(?y)", "COUNT(DISTINCT ?y)", "COUNT(DISTINCT *)", "SUM(?w)", "AVG(?w)")
        )
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
        if not self.in_exists:
            return f"MINUS {self.group(depth)}"
        self.fresh += 1
        own = f"?i{self.fresh}"
        sides = [f"{self.node()} {self.random.choice((':p', ':q'))} {own} ." for _ in range(2)]
        return f"{sides[0]} MINUS {{ {sides[1]} {self.group(depth)} }}"

    def nested(self, depth: int) -> str:
        return self.group(depth)

    def exists(self, depth: int) -> str:
        """Half of them with other patterns than triples inside, or as the value of an expression."""
        before, self.in_exists = self.in_exists, True
        group = self.group(depth + 1) if self.random.random() < 0.5 else f"{{ {self.triples()} }}"
        self.in_exists = before
        exists = f"{self.random.choice(('', 'NOT '))}EXISTS {group}"
        if self.random.random() < 0.2:
            return f"FILTER({exists} || {self.condition(0)})"
        return f"FILTER {exists}"

    def subselect(self, depth: int) -> str:
        return f"{{ SELECT {self.distinct()}{self.random.choice(('?x', '?x ?y'))} {self.group(depth)} }}"

    def triples(self) -> str:
        return " ".join(self.triple() for _ in range(self.random.randint(1, 2)))

    def triple(self) -> str:
        subject, object = self.node(), self.node()
        kind = self.random.random()
        if kind < 0.2:
            return f"{subject} :v {self.random.choice(('?w', '?u')) if self.typed else '?w'} ."
        if kind < 0.3:
            return f"{subject} a {self.random.choice(self.classes)} ."
        if kind < 0.4:
            return f"{subject} {self.random.choice(('?z', '?y'))} {object} ."
        return f"{subject} {self.path()} {object} ."

    def node(self) -> str:
        return self.random.choice(NODES) if self.random.random() < 0.15 else self.random.choice(VARIABLES)

    def path(self) -> str:
        path = self.random.choice(self.paths)
        self.as_set |= "|" in path or "!" in path
        return path

    def filter(self) -> str:
        return f"FILTER({self.condition(1)})"

    def condition(self, depth: int) -> str:
        if depth and self.random.random() < 0.4:
            both = self.random.choice((" && ", " || "))
            return both.join(f"({self.condition(depth - 1)})" for _ in range(2))
        return self.comparison() if self.typed else self.random.choice(CONDITIONS)

    def comparison(self) -> str:
        """A value with a constant in either order, or with another value for equality; Oxigraph orders no booleans."""
        constant = self.random.choice([value for value in TYPED if value not in ("true", "false")])
        known = constant not in NOT_ORDERED
        operator = self.random.choice(("=", "!=", *(("<", "<=", ">", ">=") if known and "@" not in constant else ())))
        sides = ["?w", constant if operator not in ("=", "!=") or self.random.random() < 0.7 else "?u"]
        self.random.shuffle(sides)
        negation = self.random.choice(("", "", "!"))
        return f"{negation}({sides[0]} {operator} {sides[1]})"

    def bind(self) -> str:
        self.fresh += 1
        if self.typed and self.random.random() < 0.7:
            return f"BIND({self.random.choice(CASTS)}(?w) AS ?b{self.fresh})"
        expression = self.random.choice(("?w + 1", "?x", "STR(?y)", "?w / 2", "1", "?w > 1", "COALESCE(?z, ?x)"))
        return f"BIND({expression} AS ?b{self.fresh})"

    def values(self) -> str:
        rows = [f"({self.random.choice((*NODES, 'UNDEF'))} {self.random.choice((*NODES, 'UNDEF'))})" for _ in range(3)]
        return f"VALUES (?x ?y) {{ {' '.join(rows)} }}"


# Random expressions, of all functions. Oxigraph has other opinions on some, which are not asked: it has durations,
# takes constants of derived datatypes for xsd:integer, and gives texts with a language no effective boolean value.

TEXTS = ('"abc"', '"Straße"', '""', '"a b/c"', '"x"@en', '"Abc"@en-gb', '"a.c"', '"12"', '"-1.5"', '"true"')
NUMBERS = ("0", "1", "-3", "2.5", "-0.5", "1e3", "-2.25e0", '"1.5"^^xsd:float')
MOMENTS = (
    '"2006-08-23T09:05:07Z"^^xsd:dateTime',
    '"2024-02-29T23:59:59.25-08:00"^^xsd:dateTime',
    '"1999-12-31T00:00:00"^^xsd:dateTime',
)
CONSTANTS = {
    "text": TEXTS,
    "number": NUMBERS,
    "moment": MOMENTS,
    "truth": ("true", "false", "0", "2.5", '""', '"x"', ":a"),
    "pattern": ('"b"', '"^a"', '"[a-c]+"', '"c$"', '"."', '"B"', '"(a)(b)?"'),
    "any": (*TEXTS, *NUMBERS, *MOMENTS, ":a", "true", "false"),
}
# The kind of result of functions, their names, and the kinds of their arguments.
SHAPES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("number", ("STRLEN",), ("text",)),
    ("text", ("UCASE", "LCASE", "ENCODE_FOR_URI", "LANG", "STR", "xsd:string"), ("text",)),
    ("text", ("MD5", "SHA1", "SHA256", "SHA384", "SHA512"), ("text",)),
    ("any", ("DATATYPE",), ("any",)),
    ("truth", ("isIRI", "isBlank", "isLiteral", "isNumeric"), ("any",)),
    ("number", ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"), ("moment",)),
    ("text", ("TZ", "STR"), ("moment",)),
    ("any", ("TIMEZONE",), ("moment",)),
    ("number", ("ABS", "CEIL", "FLOOR", "-", "+"), ("number",)),
    ("truth", ("CONTAINS", "STRSTARTS", "STRENDS", "sameTerm"), ("text", "text")),
    ("text", ("STRBEFORE", "STRAFTER", "CONCAT", "COALESCE"), ("text", "text")),
    ("text", ("SUBSTR",), ("text", "number")),
    ("text", ("SUBSTR",), ("text", "number", "number")),
    ("truth", ("REGEX",), ("text", "pattern")),
    ("truth", ("REGEX",), ("text", "pattern", '"i"')),
    ("truth", ("LANGMATCHES",), ("text", '"en"')),
    ("truth", ("!", "xsd:boolean"), ("truth",)),
    ("text", ("REPLACE",), ("text", "pattern", '"<$1>"')),
    ("text", ("REPLACE",), ("text", "pattern", '"-"', '"i"')),
    ("any", ("STRLANG",), ("text", '"fr"')),
    ("any", ("STRDT",), ("text", "xsd:integer")),
    ("any", ("STRDT",), ("text", ":t")),
    ("any", ("IRI",), ('"http://e/x"',)),
    ("any", ("IF",), ("truth", "any", "any")),
    ("number", ("IF",), ("truth", "number", "number")),
    ("number", ("xsd:integer", "xsd:decimal", "xsd:double", "xsd:float"), ("text",)),
    ("number", ("xsd:integer", "xsd:decimal", "xsd:double", "xsd:float"), ("number",)),
    ("any", ("xsd:date", "xsd:dateTime"), ("moment",)),
)
OPERATORS = {"number": ("+", "-", "*", "/"), "truth": ("=", "!=", "<", "<=", ">", ">=")}


def random_expression(random: Random, depth: int, kind: str = "any") -> str:
    """An expression of functions in functions, of a kind of values."""
    if kind not in CONSTANTS:
        return kind  # a constant
    shapes = [shape for shape in SHAPES if kind in ("any", shape[0])]
    if depth == 0 or not shapes or random.random() < 0.2:
        return random.choice(CONSTANTS[kind])
    if kind in OPERATORS and random.random() < 0.3:
        return f" {random.choice(OPERATORS[kind])} ".join(_operand(random, depth, "number") for _ in range(2))
    if kind == "truth" and random.random() < 0.2:
        return random.choice((" && ", " || ")).join(_operand(random, depth, "truth") for _ in range(2))
    _, names, arguments = random.choice(shapes)
    given = ", ".join(random_expression(random, depth - 1, argument) for argument in arguments)
    name = random.choice(names)
    return f"({name}({given}))" if name in "!-+" else f"{name}({given})"


def _operand(random: Random, depth: int, kind: str) -> str:
    return f"({random_expression(random, depth - 1, kind)})"
