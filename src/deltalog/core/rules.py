"""Rules as frozen values.

A rule is heads and a body; a fact is a rule with constant heads and an empty body. Everything here is immutable and
compares by meaning: where a thing was written (its `span`) never takes part in equality, so a change of a rule set is
a difference of sets.

RDF is read by predicate: the triple `[?x, p, ?y]` is the atom `p(?x, ?y)`, `[?x, rdf:type, C]` is `C(?x)`, and only
where the predicate or the class is a variable does the atom stay a triple: `[?x, ?p, ?y]` is an atom of the
predicate TRIPLE, `[?x, rdf:type, ?c]` one of the binary predicate RDF_TYPE. `triple` is the one place that knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.terms import IRI, RDF_TYPE, Value, key

EXCERPT_CHARACTERS = 120  # the characters of a line that an excerpt shows on either side

TRIPLE = "[]"  # the name of the predicate of triples whose predicate is a variable


@dataclass(frozen=True)
class Source:
    """A parsed text, and its name in messages."""

    name: str
    text: str
    ready_made: bool = False  # it came with deltalog
    rewritten: bool = False  # its rules are not as they were written, but made of other statements

    @cached_property
    def line_starts(self) -> list[int]:
        return [0] + [i + 1 for i, c in enumerate(self.text) if c == "\n"]


@dataclass(frozen=True)
class Span:
    """The characters start to end of a source. Prints as `file:line:column`, all counted from one."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        from bisect import bisect_right

        return bisect_right(self.source.line_starts, self.start)

    @property
    def column(self) -> int:
        return self.start - self.source.line_starts[self.line - 1] + 1

    def excerpt(self) -> str:
        """The line, and carets under the span (as far as it reaches on that line)."""
        whole, starts = self.source.text, self.source.line_starts
        begin = starts[self.line - 1]
        finish = starts[self.line] - 1 if self.line < len(starts) else len(whole)
        left = "" if self.start - begin <= EXCERPT_CHARACTERS else "… "
        begin = begin if not left else self.start - EXCERPT_CHARACTERS // 2
        text = left + whole[begin:finish].rstrip("\r")
        column = self.start - begin + len(left)
        text = text if len(text) <= column + EXCERPT_CHARACTERS else f"{text[: column + EXCERPT_CHARACTERS]} …"
        width = max(1, min(self.end - self.start, len(text) - column))
        indent = "".join(c if c == "\t" else " " for c in text[:column])
        return f"  {text}\n  {indent}{'^' * width}"

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


class HiddenName(str):
    """The name of an internal relation: a backbone, a node of a hypertree, an adorned predicate.

    It equals no plain string, whatever its text. So no name in a program or a file can refer to such a relation, and
    whether a name is hidden never depends on its spelling.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenName) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class PartName(HiddenName):
    """The name of a relation that stands for a part of a rule: `written` is that part, and `columns` are the variables
    whose values the relation has."""

    __slots__ = ("columns", "written")

    written: tuple[BodyLiteral, ...]
    columns: tuple[Variable, ...]

    def __new__(cls, text: str, written: tuple[BodyLiteral, ...], columns: tuple[Variable, ...]) -> PartName:
        made = super().__new__(cls, text)
        made.written, made.columns = written, columns
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return PartName, (str(self), self.written, self.columns)


class Pred(NamedTuple):
    """A predicate: a name (bare, or a full IRI without brackets) and an arity."""

    name: str
    arity: int

    @property
    def hidden(self) -> bool:
        """Whether it is an internal relation."""
        return isinstance(self.name, HiddenName)

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


TRIPLES = Pred(TRIPLE, 3)  # [s, p, o] with a variable for p
TYPES = Pred(str(RDF_TYPE), 2)  # [s, rdf:type, c] with a variable for c
QUADS = Pred(HiddenName("#quad"), 4)  # (graph, s, p, o): the triples of named graphs
UNNAMED = Pred(HiddenName("#unnamed"), 3)  # (s, p, o): those of them that the unnamed graph has, too


@dataclass(frozen=True, slots=True)
class Variable:
    """`?x` or `X`. An anonymous `_` is a fresh variable whose name starts with `_#`."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def anonymous(self) -> bool:
        return self.name.startswith("_#")


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value in a rule. Unlike Python's, its equality never confuses 1, 1.0, True, "a" and <a>."""

    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and key(self.value) == key(other.value)

    def __hash__(self) -> int:
        return hash(key(self.value))


Term = Variable | Constant


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function of an expression, by its lower-case name: `+`, `<`, `&&`, `concat`, `skolem`, ..."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Expression = Variable | Constant | Call


@dataclass(frozen=True, slots=True)
class Atom:
    """`name(terms)`; an atom may be of any arity from 0."""

    name: str
    terms: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def pred(self) -> Pred:
        return Pred(self.name, len(self.terms))


def triple(subject: Term, predicate: Term, object: Term, span: Span | None = None) -> Atom:
    """The atom of a triple: by predicate where that is known, else a TRIPLE (or, for an unknown class, RDF_TYPE)."""
    if not isinstance(predicate, Constant):
        return Atom(TRIPLE, (subject, predicate, object), span)
    if predicate.value == RDF_TYPE and isinstance(object, Constant) and isinstance(object.value, IRI):
        return Atom(str(object.value), (subject,), span)
    return Atom(str(predicate.value), (subject, object), span)


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT atom`: no fact matches. Variables that occur nowhere else in the rule are existential inside."""

    atom: Atom
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition: a comparison, or any expression that is true or false."""

    condition: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bind:
    """`BIND(expression AS ?x)`: gives ?x a value; if it has one already, it must be the same."""

    expression: Expression
    variable: Variable
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`COUNT(?x) AS ?n`. The argument of COUNT may be None: `COUNT(*)`."""

    function: str  # count, sum, min, max, avg, med
    argument: Expression | None
    variable: Variable
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`AGGREGATE(body ON ?g ... BIND f(?x) AS ?y ...)`: f over the distinct bindings of the body, per value of ?g.

    Variables of the body other than the ON variables are local to it. With PER instead of ON, the rest of the rule
    gives the group variables their values, and each of these has a group, which may be empty.
    """

    body: tuple[BodyLiteral, ...]
    on: tuple[Variable, ...]
    calls: tuple[AggregateCall, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    per: bool = False


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`(a, b ; c)`: at least one of the alternatives holds."""

    alternatives: tuple[tuple[BodyLiteral, ...], ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NegatedBody:
    """`NOT (a, b)`: the literals do not hold together, whatever the variables are that occur nowhere else."""

    body: tuple[BodyLiteral, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


# `deltalog.program.core_rules` rewrites rules so that engines know only the first four, and AGGREGATEs without PER.
BodyLiteral = Atom | Negation | Filter | Bind | Aggregate | Disjunction | NegatedBody


def atoms(body: tuple[BodyLiteral, ...]) -> Iterator[Atom]:
    """The atoms of a body, negated and aggregated ones included."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation):
            yield literal.atom
        elif isinstance(literal, Aggregate | NegatedBody):
            yield from atoms(literal.body)
        elif isinstance(literal, Disjunction):
            yield from (atom for body in literal.alternatives for atom in atoms(body))


@dataclass(frozen=True, slots=True)
class Rule:
    """heads :- body. A fact when the body is empty. Rules are in many sets, and every change of rules asks what they
    read, so both are computed once."""

    heads: tuple[Atom, ...]
    body: tuple[BodyLiteral, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    _hash: int = field(default=0, init=False, compare=False, repr=False)
    _reads: frozenset[Pred] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def reads(self) -> frozenset[Pred]:
        """The predicates in the body, negated and aggregated ones included."""
        if self._reads is None:
            object.__setattr__(self, "_reads", frozenset(atom.pred for atom in atoms(self.body)))
        return self._reads  # type: ignore[return-value]

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash((self.heads, self.body)) or 1)
        return self._hash

    def __reduce__(self) -> tuple[type[Rule], tuple[object, ...]]:
        return Rule, (self.heads, self.body, self.span)  # without the hash, which differs between processes

    @property
    def is_fact(self) -> bool:
        return not self.body

    @property
    def is_rewritten(self) -> bool:
        """Whether it was made of statements in another language, and is not as it was written."""
        return self.span is not None and self.span.source.rewritten

    def __str__(self) -> str:
        from deltalog.core.rule_text import print_rule

        return print_rule(self)

    def __repr__(self) -> str:
        return f"<Rule: {self}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<code>{escape(str(self))}</code>"


def variables(node: BodyLiteral | Expression | None) -> Iterator[Variable]:
    """The variables of a literal or an expression, each occurrence, in the order of writing. For an aggregate: those
    that the rest of the rule sees, so ON variables and results."""
    if isinstance(node, Atom):
        return iter([t for t in node.terms if isinstance(t, Variable)])
    return _variables(node)


def _variables(node: BodyLiteral | Expression | None) -> Iterator[Variable]:
    match node:
        case Variable():
            yield node
        case Call():
            for argument in node.arguments:
                yield from variables(argument)
        case Negation():
            yield from variables(node.atom)
        case Filter():
            yield from variables(node.condition)
        case Bind():
            yield from variables(node.expression)
            yield node.variable
        case Aggregate():
            yield from node.on
            yield from (call.variable for call in node.calls)
        case NegatedBody():
            yield from (variable for literal in node.body for variable in variables(literal))
        case Disjunction():
            for body in node.alternatives:
                yield from (variable for literal in body for variable in variables(literal))
        case _:
            return
