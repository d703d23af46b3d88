"""Graph patterns: groups, triples and property paths.

A group is folded as it is read (section 18.2.2): each part joins what is before it, a BIND extends it, OPTIONAL and
MINUS take it as their left side, and filters wait for the end. Triples with nothing but filters between them are one
basic graph pattern; blank nodes do not reach out of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from deltalog.core.rules import Constant, Term, Variable
from deltalog.core.terms import IRI, RDF
from deltalog.languages.sparql.algebra import (
    BGP,
    AlternativePath,
    BindPattern,
    Expr,
    GraphPattern,
    GroupPattern,
    InversePath,
    LeftJoinPattern,
    MinusPattern,
    NamedGraphPattern,
    NegatedPath,
    Path,
    RepeatedPath,
    Select,
    SequencePath,
    ServicePattern,
    TripleTerms,
    UnionPattern,
    ValuesPattern,
    in_scope,
    join,
)
from deltalog.languages.sparql.parse_expressions import ExpressionReader
from deltalog.languages.sparql.token_reader import NIL, refuse
from deltalog.languages.sparql.tokens import QueryToken

FIRST, REST = Constant(IRI(RDF + "first")), Constant(IRI(RDF + "rest"))
TriplePattern = tuple[Term, Term | Path, Term]


class _Parts:
    """The parts of a group so far."""

    def __init__(self) -> None:
        self.pattern: GraphPattern = BGP()
        self.triples: list[TriplePattern] = []  # of the basic graph pattern that is being read
        self.filters: list[Expr] = []

    def joined(self) -> GraphPattern:
        """The pattern up to here; the basic graph pattern ends."""
        self.pattern = join(self.pattern, BGP(tuple(self.triples)))
        self.triples = []
        return self.pattern


class PatternReader(ExpressionReader):
    """Reads graph patterns. Subclasses read a SELECT."""

    @abstractmethod
    def select(self) -> Select:
        """`SELECT ...`, inside of a query"""

    def group(self) -> GroupPattern:
        self.expect("{")
        with self._own_pattern(), self.without_aggregates("an aggregate cannot be in a graph pattern"):
            found = GroupPattern(self._subquery()) if self.sees("SELECT") else self._parts()
        self.expect("}")
        return found

    @contextmanager
    def _own_pattern(self) -> Iterator[None]:
        """A group starts a basic graph pattern of its own; after it, the one around it goes on."""
        before = self.pattern
        self._new_pattern()
        yield
        self.pattern = before

    def _new_pattern(self) -> None:
        self.pattern = self.patterns = self.patterns + 1

    def _subquery(self) -> Select:
        with self.without_aggregates(""):
            return self.select()

    def _parts(self) -> GroupPattern:
        parts, dot = _Parts(), True
        while not self.sees("}"):
            if self._sees_triples():
                if not dot:
                    self.expected("`.` or `}`")
                parts.triples += self._same_subject()
                dot = self.accept(".") is not None
            else:
                self._part(parts)
                self.accept(".")
                dot = True
        return GroupPattern(parts.joined(), tuple(parts.filters))

    def _part(self, parts: _Parts) -> None:
        token = self.next
        if self.accept("FILTER"):
            parts.filters.append(self.constraint())
            return
        left = parts.joined()
        match token.keyword:
            case "OPTIONAL":
                self.take()
                parts.pattern = LeftJoinPattern(left, self.group())
            case "MINUS":
                self.take()
                parts.pattern = MinusPattern(left, self.group())
            case "BIND":
                self.take()
                parts.pattern = self._bind(left)
            case "VALUES":
                self.take()
                parts.pattern = join(left, self.data_block())
            case "{":
                parts.pattern = join(left, self._union())
            case "GRAPH":
                self.take()
                parts.pattern = join(left, NamedGraphPattern(self.variable_or_iri(), self.group()))
            case "SERVICE":
                self.take()
                parts.pattern = join(left, self._service())
            case _:
                self.expected("a triple, FILTER, OPTIONAL, ... or `}`")
        self._new_pattern()

    def variable_or_iri(self) -> Variable | Constant:
        if self.next.kind == "variable":
            return self.variable()
        if not self.sees_iri():
            self.expected("a variable or an IRI")
        return Constant(self.iri())

    def _union(self) -> GraphPattern:
        sides = [self.group()]
        while self.accept("UNION"):
            sides.append(self.group())
        return sides[0] if len(sides) == 1 else UnionPattern(tuple(sides))

    def _service(self) -> ServicePattern:
        self.accept("SILENT")
        endpoint: Term = self.variable() if self.next.kind == "variable" else Constant(self.iri())
        return ServicePattern(endpoint, self.group())

    def _bind(self, left: GraphPattern) -> BindPattern:
        self.expect("(")
        expression = self.expression()
        variable = self.new_variable(in_scope(left))
        self.expect(")")
        return BindPattern(left, variable, expression)

    def new_variable(self, taken: frozenset[Variable]) -> Variable:
        """`AS ?x`, where ?x is not taken yet."""
        self.expect("AS")
        token, variable = self.next, self.variable()
        if variable in taken:
            self.fail(f"{token.text} has values already; give the result of the expression another name", token)
        return variable

    # VALUES.

    def data_block(self) -> ValuesPattern:
        variables = self._data_variables()
        if isinstance(variables, Variable):
            return ValuesPattern((variables,), tuple((value,) for value in self._data_values("{", "}")))
        rows = []
        self.expect("{")
        while not self.sees("}"):
            rows.append(self._data_row(variables))
        self.take()
        return ValuesPattern(variables, tuple(rows))

    def _data_variables(self) -> Variable | tuple[Variable, ...]:
        if self.next.kind == "variable":
            return self.variable()
        if not self.sees("("):
            self.expected("a variable or `(`")
        self.take()
        names: list[Variable] = []
        while not self.accept(")"):
            token, name = self.next, self.variable()
            if name in names:
                self.fail(f"VALUES has {token.text} twice", token)
            names.append(name)
        return tuple(names)

    def _data_row(self, variables: tuple[Variable, ...]) -> tuple[Constant | None, ...]:
        start = self.next
        row = self._data_values("(", ")")
        if len(row) != len(variables):
            self.fail(f"VALUES has {len(variables)} variables, and this row {len(row)} values", start)
        return row

    def _data_values(self, opening: str, closing: str) -> tuple[Constant | None, ...]:
        self.expect(opening)
        found: list[Constant | None] = []
        while not self.accept(closing):
            found.append(self._data_value(closing))
        return tuple(found)

    def _data_value(self, closing: str) -> Constant | None:
        if self.accept("UNDEF"):
            return None
        if self.sees_iri():
            return Constant(self.iri())
        if not self.sees_literal():
            self.expected(f"an IRI, a literal, UNDEF or `{closing}`")
        return self.literal()

    # Triples.

    def template(self) -> tuple[TripleTerms, ...]:
        """`{ triples }` without paths, each of whose blank nodes is a new one for every solution."""
        self.expect("{")
        found: list[TripleTerms] = []
        labels, self.labels, self.has_paths = self.labels, {}, False
        while not self.sees("}"):
            found += self.plain_triples()
            if not self.accept(".") and not self.sees("}"):
                self.expected("`.` or `}`")
        self.labels, self.has_paths = labels, True
        self.expect("}")
        return tuple(found)

    def plain_triples(self) -> list[TripleTerms]:
        """The triples of one subject in a template, where there are no paths."""
        if not self._sees_triples():
            self.expected("a triple or `}`")
        return self._same_subject()  # type: ignore[return-value]

    def _sees_triples(self) -> bool:
        return self.next.kind in ("variable", "blank") or self.sees("(", "[") or self.sees_iri() or self.sees_literal()

    def _same_subject(self) -> list[TriplePattern]:
        triples: list[TriplePattern] = []
        node = self._sees_node()
        subject = self._node(triples)
        if not node or self._sees_verb():
            self._properties(subject, triples)
        return triples

    def _sees_node(self) -> bool:
        """Whether a collection or the properties of a blank node come, which are triples already."""
        following = self.after.keyword
        return (self.sees("(") and following != ")") or (self.sees("[") and following != "]")

    def _node(self, triples: list[TriplePattern]) -> Term:
        """A subject or an object, and the triples that it stands for."""
        if self.next.kind == "variable":
            return self.variable()
        if self.next.kind == "blank":
            return self.blank_node()
        if self.sees("("):
            return self._collection(triples)
        if self.sees("["):
            return self._anonymous(triples)
        if self.sees_iri():
            return Constant(self.iri())
        if not self.sees_literal():
            self.expected("a variable, an IRI, a literal or a blank node")
        return self.literal()

    def _anonymous(self, triples: list[TriplePattern]) -> Variable:
        self.expect("[")
        node = self.new_blank_node()
        if not self.sees("]"):
            self._properties(node, triples)
        self.expect("]")
        return node

    def _collection(self, triples: list[TriplePattern]) -> Term:
        if self.nothing_in_brackets():
            return Constant(NIL)
        self.expect("(")
        first = cell = self.new_blank_node()
        while True:
            triples.append((cell, FIRST, self._node(triples)))
            if self.accept(")"):
                triples.append((cell, REST, Constant(NIL)))
                return first
            following = self.new_blank_node()
            triples.append((cell, REST, following))
            cell = following

    def _sees_verb(self) -> bool:
        return self.next.kind == "variable" or self._sees_path()

    def _properties(self, subject: Term, triples: list[TriplePattern]) -> None:
        if not self._sees_verb():
            self.expected("a predicate")
        while self._sees_verb():
            self._objects(subject, triples)
            if not self.sees(";"):
                return
            while self.accept(";"):
                pass

    def _objects(self, subject: Term, triples: list[TriplePattern]) -> None:
        verb = self._verb()
        triples.append((subject, verb, self._node(triples)))
        while self.accept(","):
            triples.append((subject, verb, self._node(triples)))

    def _verb(self) -> Term | Path:
        if self.next.kind == "variable":
            return self.variable()
        path = self._path() if self.has_paths else self.verb_or_iri()
        return Constant(path) if isinstance(path, IRI) else path

    # Paths.

    def _sees_path(self) -> bool:
        return self.sees_iri() or self.sees_verb() or self.sees("!", "(", "^")

    def _path(self) -> Path:
        parts = [self._sequence()]
        while self.accept("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else AlternativePath(tuple(parts))

    def _sequence(self) -> Path:
        parts = [self._step()]
        while self.accept("/"):
            parts.append(self._step())
        return parts[0] if len(parts) == 1 else SequencePath(tuple(parts))

    def _step(self) -> Path:
        if self.accept("^"):
            return InversePath(self._repeated())
        return self._repeated()

    def _repeated(self) -> Path:
        path = self._path_primary()
        modifier = self._modifier()
        return RepeatedPath(path, modifier.text) if modifier else path

    def _modifier(self) -> QueryToken | None:
        """`*`, `?` or `+`, unless the `+` is the sign of a number that follows."""
        if self.sees("{"):
            refuse("a path with a number of repetitions, {n,m},", "write the path several times, or use * or +")
        return self.accept("*", "?") if self.sees("+") and self.sees_literal() else self.accept("*", "?", "+")

    def _path_primary(self) -> Path:
        if self.accept("!"):
            return self._negated()
        if self.accept("("):
            path = self._path()
            self.expect(")")
            return path
        if not (self.sees_iri() or self.sees_verb()):
            self.expected("a predicate or a path")
        return self.verb_or_iri()

    def _negated(self) -> NegatedPath:
        if not self.accept("("):
            return _negated([self._one_negated()])
        found: list[tuple[bool, IRI]] = []
        if not self.sees(")"):
            found.append(self._one_negated())
            while self.accept("|"):
                found.append(self._one_negated())
        self.expect(")")
        return _negated(found)

    def _one_negated(self) -> tuple[bool, IRI]:
        return (self.accept("^") is not None, self.verb_or_iri())


def _negated(found: list[tuple[bool, IRI]]) -> NegatedPath:
    forwards, backwards = (tuple(iri for back, iri in found if back is which) for which in (False, True))
    return NegatedPath(forwards, backwards)
