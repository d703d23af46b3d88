"""A query's text to its algebra, by recursive descent; `tokens` has the terminals, `tree` what comes out.

What the standard forbids is refused here, with its place: a variable that is selected and neither grouped by nor
aggregated, `SELECT *` with GROUP BY, one name for two results, rows of VALUES of the wrong length, and so on. Two
queries share no state, so threads can parse at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import NoReturn, TypeVar

from deltalog.core.rules import Variable
from deltalog.core.terms import IRI, RDF, XSD
from deltalog.functions.fresh_values import Execution
from deltalog.languages.sparql.algebra import (
    BGP,
    Aggregation,
    BindPattern,
    Expr,
    GraphPattern,
    Grouping,
    GroupPattern,
    Operation,
    Select,
    TripleTerms,
    ValuesPattern,
    aggregations,
    hidden,
    in_scope,
    join,
    replaced,
)
from deltalog.languages.sparql.graphs import ALL_GRAPHS, Dataset
from deltalog.languages.sparql.parse_expressions import FRESH
from deltalog.languages.sparql.parse_patterns import PatternReader
from deltalog.languages.sparql.request_base import NO_BASE, RequestBase
from deltalog.languages.sparql.tokens import QueryToken, tokenize

T = TypeVar("T")
NO_EXECUTION = Execution(datetime(1970, 1, 1, tzinfo=UTC), "")  # of a query that is only read
MOST_SOLUTIONS = 2**62 - 1  # of a LIMIT and of an OFFSET, so that the sum of both is an index in Python (under 2**63)
WELL_KNOWN = {
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "owl": "http://www.w3.org/2002/07/owl#",
}


class Form(Enum):
    """What a query asks for: rows, yes or no, triples by a template, triples about resources."""

    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"
    DESCRIBE = "DESCRIBE"

    @property
    def is_graph(self) -> bool:
        return self in (Form.CONSTRUCT, Form.DESCRIBE)


@dataclass(frozen=True)
class Parsed:
    """A query's form and its algebra; what a CONSTRUCT makes of a solution, the resources that a DESCRIBE names, and
    the prefixes that were declared."""

    form: Form
    select: Select
    template: tuple[TripleTerms, ...] = ()
    resources: tuple[IRI, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    dataset: Dataset = ALL_GRAPHS


def is_sparql(text: str) -> bool:
    """Whether a text is a query in SPARQL, and no goal: after prefixes, it begins as one. A predicate may be called
    `describe` or `select`, but goals have no braces outside of texts."""
    found = _FORM.match(text)
    if found is None:
        return False
    if found["form"].lower() == "describe":
        return _DESCRIBED.match(text, found.end()) is not None
    return "{" in _QUOTED.sub("", text[found.end() :])


_BLANK = r"(?:\s|#[^\n]*(?:\n|$))"
_FORM = re.compile(
    rf"(?:{_BLANK}|prefix\b{_BLANK}*[^\s<:]*:{_BLANK}*<[^>]*>|base\b{_BLANK}*<[^>]*>)*"
    r"(?P<form>select|ask|construct|describe)\b",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(rf"{_BLANK}*(?:[*?$<]|[^\s,()\[\]<>\"']*:)")  # what a DESCRIBE names first
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def parse(
    text: str, prefixes: Mapping[str, str], execution: Execution = NO_EXECUTION, base: RequestBase = NO_BASE
) -> Parsed:
    """The form and the algebra of a query. Prefixes and the base of the text go before the ones given."""
    return QueryReader(tokenize(text), {**WELL_KNOWN, **prefixes}, execution, request=base).query()


def is_fresh(text: str) -> bool:
    """Whether a query may have another result each time that it is asked: it mentions NOW, RAND, UUID or BNODE."""
    return _FRESH.search(text) is not None


_FRESH = re.compile(rf"(?:{'|'.join(FRESH)})\s*(?:#[^\n]*\s*)*\(", re.IGNORECASE)


@dataclass(frozen=True)
class _Selected:
    """One of what a SELECT selects: a variable, or the result of an expression under a name."""

    token: QueryToken
    variable: Variable
    expression: Expr | None = None


@dataclass(frozen=True)
class _Key:
    """One of what a GROUP BY groups by."""

    token: QueryToken
    expression: Expr
    variable: Variable


@dataclass
class _Clauses:
    """What stands after the pattern of a query."""

    keys: list[_Key] = field(default_factory=list)
    having: list[Expr] = field(default_factory=list)
    order: list[tuple[Expr, bool]] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    values: ValuesPattern | None = None

    def aggregate(self, selected: Iterable[_Selected]) -> bool:
        """Whether solutions are grouped, by keys or all together."""
        expressions = [s.expression for s in selected] + self.having + [expression for expression, _ in self.order]
        return bool(self.keys) or any(any(aggregations(expression)) for expression in expressions)


class _Aggregates:
    """The aggregates of a query, each a variable over the groups."""

    def __init__(self) -> None:
        self.calls: dict[Aggregation, Variable] = {}

    def __call__(self, expression: Expr, known: Iterable[Variable]) -> Expr:
        """An expression over groups: one of the values for a variable that is not the same in all of a group."""
        names = frozenset(known)

        def result(part: Expr) -> Expr | None:
            if isinstance(part, Variable) and part not in names:
                part = Aggregation("sample", part)
            return self._result(part) if isinstance(part, Aggregation) else None

        return replaced(expression, result)

    def _result(self, call: Aggregation) -> Variable:
        return self.calls.setdefault(call, Variable(f"#aggregate{len(self.calls)}"))


class QueryReader(PatternReader):
    """Reads queries. `dataset` is what FROM and FROM NAMED say; a subquery has neither."""

    dataset: Dataset | None = None

    def query(self) -> Parsed:
        self.prologue()
        forms = {"SELECT": self._select, "ASK": self._ask, "CONSTRUCT": self._construct, "DESCRIBE": self._describe}
        read = forms.get(self.next.keyword)
        if read is None:
            self.expected("SELECT, ASK, CONSTRUCT or DESCRIBE")
        parsed = read()
        if self.next.kind != "end":
            self.expected("the end of the query")
        return replace(parsed, prefixes=dict(self.prefixes), dataset=self.dataset or ALL_GRAPHS)

    def prologue(self) -> None:
        while token := self.accept("BASE", "PREFIX"):
            if token.keyword == "BASE":
                self.base = self._iri_in_brackets()
                continue
            name = self.next
            if name.kind != "name" or not name.text.endswith(":") or name.text.count(":") > 1:
                self.expected("a prefix, such as `ex:`")
            self.take()
            self.prefixes[name.text[:-1]] = self._iri_in_brackets()

    def _iri_in_brackets(self) -> str:
        if self.next.kind != "iri":
            self.expected("an IRI in `<` and `>`")
        return str(self.iri())

    def _select(self) -> Parsed:
        return Parsed(Form.SELECT, self.select())

    def _ask(self) -> Parsed:
        self.expect("ASK")
        pattern = self._where()
        clauses = self._clauses(pattern)
        grouped, _ = self._grouped(pattern, [], clauses)
        counted = clauses.offset > 0  # without an OFFSET the first solution decides
        return Parsed(Form.ASK, Select(grouped, (), distinct=not counted, offset=clauses.offset, limit=clauses.limit))

    def _construct(self) -> Parsed:
        """`CONSTRUCT { template } WHERE { ... }`, or `CONSTRUCT WHERE { triples }`, whose pattern is the template."""
        self.expect("CONSTRUCT")
        template = self.template() if self.sees("{") else None
        self._dataset()
        if template is None:
            self.expect("WHERE")
            template = self.template()
            pattern: GraphPattern = BGP(template)
        else:
            pattern = self._where()
        used = {term for triple in template for term in triple if isinstance(term, Variable) and not hidden(term)}
        each = any(isinstance(term, Variable) and hidden(term) for triple in template for term in triple)
        return Parsed(
            Form.CONSTRUCT, self._rows(pattern, sorted(used, key=lambda v: v.name), distinct=not each), template
        )

    def _describe(self) -> Parsed:
        """`DESCRIBE ?x <iri> ... WHERE { ... }`, where the pattern may be left out."""
        self.expect("DESCRIBE")
        star = self.accept("*")
        named: list[Variable | IRI] = []
        while not star and (self.next.kind == "variable" or self.sees_iri()):
            named.append(self.variable() if self.next.kind == "variable" else self.iri())
        if not star and not named:
            self.expected("a variable, an IRI or `*`")
        self._dataset()
        pattern = self._where() if self.sees("WHERE", "{") else BGP()
        variables = None if star else [name for name in named if isinstance(name, Variable)]
        resources = tuple(name for name in named if isinstance(name, IRI))
        return Parsed(Form.DESCRIBE, self._rows(pattern, variables, distinct=True), resources=resources)

    def _rows(self, pattern: GraphPattern, variables: Sequence[Variable] | None, distinct: bool) -> Select:
        """The solutions that a CONSTRUCT or a DESCRIBE goes through; a LIMIT counts equal ones, too."""
        clauses = self._clauses(pattern)
        grouped, order = self._grouped(pattern, [], clauses)
        cut = clauses.limit is not None or clauses.offset > 0
        return Select(
            grouped,
            None if variables is None else tuple(variables),
            tuple(order) if cut else (),
            distinct and not cut,
            clauses.offset,
            clauses.limit,
        )

    def select(self) -> Select:
        self.expect("SELECT")
        modifier = self.accept("DISTINCT", "REDUCED")
        star = self.accept("*")
        selected = [] if star else self._projection()
        pattern = self._where()
        clauses = self._clauses(pattern)
        if star and clauses.aggregate(()):
            self.fail("`SELECT *` cannot be with groups; name the variables", star)
        self._check_names(selected, _visible(pattern, selected, clauses))
        grouped, order = self._grouped(pattern, selected, clauses)
        return Select(
            grouped,
            None if star else tuple(s.variable for s in selected),
            tuple(order),
            modifier is not None and modifier.keyword == "DISTINCT",
            clauses.offset,
            clauses.limit,
        )

    def _projection(self) -> list[_Selected]:
        found: list[_Selected] = []
        while self.next.kind == "variable" or self.sees("("):
            found.append(self._selected())
        return found or self.expected("a variable, an expression in brackets or `*`")

    def _selected(self) -> _Selected:
        if self.next.kind == "variable":
            return _Selected(self.next, self.variable())
        self.expect("(")
        expression = self.expression()
        self.expect("AS")
        token, variable = self.next, self.variable()
        self.expect(")")
        return _Selected(token, variable, expression)

    def _check_names(self, selected: Iterable[_Selected], taken: frozenset[Variable]) -> None:
        """The name of a result is a new one."""
        for one in selected:
            if one.expression is not None and one.variable in taken:
                self._taken(one.token)
            taken |= {one.variable}

    def _taken(self, token: QueryToken) -> NoReturn:
        self.fail(f"{token.text} has values already; give the result of the expression another name", token)

    def _where(self) -> GroupPattern:
        self._dataset()
        self.accept("WHERE")
        return self.group()

    def _dataset(self) -> None:
        """FROM and FROM NAMED, unless they have been read."""
        if self.dataset is None:
            self.dataset = self.graphs("FROM")

    def graphs(self, keyword: str) -> Dataset:
        """`FROM <g>` and `FROM NAMED <g>`, or the same with USING."""
        default: list[IRI] = []
        named: list[IRI] = []
        while self.accept(keyword):
            (named if self.accept("NAMED") else default).append(self.iri())
        return Dataset.of(default, named)

    # What stands after the pattern.

    def _clauses(self, pattern: GraphPattern) -> _Clauses:
        clauses = _Clauses()
        if self._by("GROUP"):
            with self.without_aggregates("GROUP BY cannot have an aggregate"):
                clauses.keys = self._keys(in_scope(pattern))
        if self.accept("HAVING"):
            clauses.having = self._several(self.constraint, self._sees_constraint)
        if self._by("ORDER"):
            clauses.order = self._several(self._order, self._sees_order)
        self._limits(clauses)
        if self.accept("VALUES"):
            clauses.values = self.data_block()
        return clauses

    def _by(self, keyword: str) -> bool:
        if not self.accept(keyword):
            return False
        self.expect("BY")
        return True

    def _several(self, read: Callable[[], T], more: Callable[[], bool]) -> list[T]:
        found = [read()]
        while more():
            found.append(read())
        return found

    def _sees_constraint(self) -> bool:
        words_after = ("ORDER", "LIMIT", "OFFSET", "VALUES", "HAVING")
        return self.sees("(") or self.sees_iri() or (self.next.kind == "word" and not self.sees(*words_after))

    def _sees_order(self) -> bool:
        return self.next.kind == "variable" or self._sees_constraint()

    def _keys(self, taken: frozenset[Variable]) -> list[_Key]:
        keys: list[_Key] = []

        def key() -> _Key:
            return self._key(len(keys), taken.union(key.variable for key in keys))

        keys.append(key())
        while self._sees_order():
            keys.append(key())
        return keys

    def _key(self, number: int, taken: frozenset[Variable]) -> _Key:
        token = self.next
        if token.kind == "variable":
            variable = self.variable()
            return _Key(token, variable, variable)
        unnamed = Variable(f"#key{number}")
        if not self.accept("("):
            return _Key(token, self.constraint(), unnamed)
        expression = self.expression()
        variable = self.new_variable(taken) if self.sees("AS") else unnamed
        self.expect(")")
        return _Key(token, expression, variable)

    def _order(self) -> tuple[Expr, bool]:
        if direction := self.accept("ASC", "DESC"):
            return self.bracketed(), direction.keyword == "DESC"
        return (self.variable() if self.next.kind == "variable" else self.constraint()), False

    def _limits(self, clauses: _Clauses) -> None:
        """LIMIT and OFFSET, each once at most."""
        seen: set[str] = set()
        while self.sees("LIMIT", "OFFSET") and self.next.keyword not in seen:
            keyword = self.take().keyword
            seen.add(keyword)
            if self.next.kind != "integer":
                self.expected("a number")
            number = _count(self.take().text)
            if keyword == "LIMIT":
                clauses.limit = number
            else:
                clauses.offset = number

    # Groups and results, over the pattern.

    def _grouped(
        self, pattern: GraphPattern, selected: list[_Selected], clauses: _Clauses
    ) -> tuple[GraphPattern, list[tuple[Expr, bool]]]:
        """A pattern with groups, HAVING, VALUES and the results of a SELECT; and what to order by, over these."""
        if not clauses.aggregate(selected):
            return self._with_results(pattern, selected, clauses), clauses.order
        aggregates, keys = _Aggregates(), {key.variable for key in clauses.keys}
        over_groups = [self._over_groups(s, aggregates, keys | _names(selected[:i])) for i, s in enumerate(selected)]
        clauses.having = [aggregates(condition, keys) for condition in clauses.having]
        order = [(aggregates(e, keys | _names(selected)), falls) for e, falls in clauses.order]
        given = tuple((key.expression, key.variable) for key in clauses.keys)
        grouping = Grouping(pattern, given, tuple(aggregates.calls.items()))
        return self._with_results(grouping, over_groups, clauses), order

    def _with_results(self, pattern: GraphPattern, selected: Iterable[_Selected], clauses: _Clauses) -> GraphPattern:
        if clauses.having:
            pattern = GroupPattern(pattern, tuple(clauses.having))
        if clauses.values is not None:
            pattern = join(pattern, clauses.values)
        for one in selected:
            if one.expression is not None:
                pattern = BindPattern(pattern, one.variable, one.expression)
        return pattern

    def _over_groups(self, selected: _Selected, aggregates: _Aggregates, known: set[Variable]) -> _Selected:
        expression = selected.variable if selected.expression is None else selected.expression
        for variable in _outside_of_aggregates(expression):
            if variable not in known:
                message = f"?{variable.name} is selected, and neither grouped by nor aggregated; add it to GROUP BY"
                self.fail(message, selected.token)
        if selected.expression is None:
            return selected
        return _Selected(selected.token, selected.variable, aggregates(selected.expression, known))


def _count(digits: str) -> int:
    """The number of a LIMIT or an OFFSET, or one that no sequence of solutions has."""
    digits = digits.lstrip("0")
    return MOST_SOLUTIONS if len(digits) > len(str(MOST_SOLUTIONS)) else min(int(digits or "0"), MOST_SOLUTIONS)


def _visible(pattern: GraphPattern, selected: Iterable[_Selected], clauses: _Clauses) -> frozenset[Variable]:
    """The variables of the solutions that a SELECT chooses from: of groups, only their keys."""
    if clauses.aggregate(selected):
        return frozenset(key.variable for key in clauses.keys)
    return in_scope(pattern)


def _names(selected: Iterable[_Selected]) -> set[Variable]:
    return {one.variable for one in selected if one.expression is not None}


def _outside_of_aggregates(expression: Expr) -> list[Variable]:
    if isinstance(expression, Variable):
        return [expression]
    if isinstance(expression, Operation):
        return [v for argument in expression.arguments for v in _outside_of_aggregates(argument)]
    return []
