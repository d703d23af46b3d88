"""From a query to rules and a goal.

SPARQL's operations on sequences of solutions (ORDER BY, LIMIT, OFFSET, and DISTINCT where there is an order) are not
rules: a `Query` has the operations to apply to the rows of its goal afterwards. A subquery with a LIMIT is a `Query` of
its own; its solutions are facts for the rules around it. Inside of an EXISTS, where it can depend on the outside, rules
count the rows before each row instead (`limited_for_each`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from deltalog.core.errors import UsageError
from deltalog.core.limits import check_running
from deltalog.core.rules import (
    TRIPLES,
    TYPES,
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Filter,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
)
from deltalog.core.terms import IRI
from deltalog.functions.fresh_values import Execution
from deltalog.functions.function import SPARQL_PREFIX as PREFIX
from deltalog.languages.sparql.algebra import Expr, Select, TripleTerms, in_scope
from deltalog.languages.sparql.expressions import NOTHING, is_resource, or_unbound
from deltalog.languages.sparql.graphs import ALL_GRAPHS, MERGED, ActiveGraph, Dataset
from deltalog.languages.sparql.parse import NO_EXECUTION, Form, Parsed, is_fresh, parse
from deltalog.languages.sparql.patterns import GeneratedRules, PatternTranslator, TranslatedPattern, ValueRow
from deltalog.languages.sparql.request_base import NO_BASE, RequestBase
from deltalog.languages.sparql.token_reader import refuse

SOLUTION, DESCRIBED = HiddenName("#solution"), HiddenName("#described")
SUBJECT, PREDICATE, OBJECT = Variable("subject"), Variable("predicate"), Variable("object")


@dataclass(frozen=True)
class Query:
    """Rules, and a goal whose rows have the columns of the solutions, then the sort keys, then hidden columns that
    distinguish equal solutions."""

    rules: tuple[Rule, ...]
    tables: Mapping[Pred, Sequence[ValueRow]]
    goal: Atom
    columns: tuple[str, ...]
    subqueries: tuple[tuple[Pred, Query], ...] = ()  # whose solutions are the facts of predicates, with numbers
    form: Form = Form.SELECT
    template: tuple[TripleTerms, ...] = ()  # of a CONSTRUCT
    prefixes: Mapping[str, str] = field(default_factory=dict)  # to write IRIs by
    order: tuple[bool, ...] = ()  # for each sort key, whether it is descending
    distinct: bool = False
    offset: int = 0
    limit: int | None = None
    certain: bool = False  # every column has a value in every solution

    @property
    def plain(self) -> bool:
        """Whether the rows of the goal are the solutions as they are."""
        whole = not self.order and not self.offset and self.limit is None
        return whole and self.certain and self.goal.pred.arity == len(self.columns)

    @property
    def narrow(self) -> bool:
        """Whether to derive only what the goal needs even over a materialisation: rules of the query read all triples,
        or a path starts or ends at a constant."""
        return any(_reads_triples(rule) for rule in self.rules) or self._bound_recursion

    @property
    def _bound_recursion(self) -> bool:
        atoms = [(rule, literal) for rule in self.rules for literal in rule.body if isinstance(literal, Atom)]
        recursive = {atom.name for rule, atom in atoms if any(atom.name == head.name for head in rule.heads)}
        return any(atom.name in recursive and any(isinstance(t, Constant) for t in atom.terms) for _, atom in atoms)


_OF_ALL = (TRIPLES, TYPES, Pred(MERGED, 3))


def _reads_triples(rule: Rule) -> bool:
    return any(isinstance(literal, Atom) and literal.pred in _OF_ALL for literal in rule.body)


def translate(
    text: str, prefixes: Mapping[str, str], dataset: Dataset | None = None, base: RequestBase = NO_BASE
) -> Query:
    """The rules and the goal of a query; recent queries are cached, unless each execution is different. `dataset`: the
    graphs to ask, whatever the query says."""
    if is_fresh(text):
        return _translated(text, prefixes, dataset, base, Execution())
    return _remembered(text, tuple(sorted(prefixes.items())), dataset, base)


@lru_cache(maxsize=128)
def _remembered(text: str, prefixes: tuple[tuple[str, str], ...], dataset: Dataset | None, base: RequestBase) -> Query:
    return _translated(text, dict(prefixes), dataset, base, NO_EXECUTION)


def _translated(
    text: str, prefixes: Mapping[str, str], dataset: Dataset | None, base: RequestBase, execution: Execution
) -> Query:
    try:
        parsed = parse(text, prefixes, execution, base)
        return _query(parsed if dataset is None else replace(parsed, dataset=dataset), text)
    except RecursionError:
        raise UsageError("the query is nested too deeply") from None


def of_select(select: Select) -> Query:
    """The rules and the goal of a SELECT that is no text."""
    return _select(select)


@dataclass
class _Subqueries:
    """Translates the SELECTs inside of a query, and collects those that are evaluated first."""

    found: list[tuple[Pred, Query]] = field(default_factory=list)

    def __call__(self, select: Select, patterns: PatternTranslator) -> TranslatedPattern:
        limited = select.limit is not None or select.offset
        return patterns.join(patterns.given, (self._limited if limited else self._whole)(select, patterns))

    def _whole(self, select: Select, patterns: PatternTranslator) -> TranslatedPattern:
        pattern = patterns.correlated(in_scope(select)).pattern(select.pattern)
        projection = tuple(pattern.visible) if select.projection is None else select.projection
        kept = (*projection, *patterns.graph.variables)
        return patterns.projected(_with_all(pattern, projection), kept, select.distinct)

    def _limited(self, select: Select, patterns: PatternTranslator) -> TranslatedPattern:
        """Asked once, unless it sees variables of the outside of an EXISTS."""
        if patterns.graph.variables:
            refuse("a subquery with LIMIT or OFFSET inside of GRAPH with a variable", "name the graph")
        if not in_scope(select).isdisjoint(patterns.given.certain):
            return limited_for_each(select, patterns.correlated(in_scope(select)))
        query = _select(select, dataset=patterns.rules.dataset, graph=patterns.graph)
        pattern = patterns.rows([Variable(name) for name in query.columns], [])
        self.found.append((_pred(pattern), query))
        return replace(pattern, certain=frozenset(), maybe=pattern.visible)


def limited_for_each(select: Select, patterns: PatternTranslator) -> TranslatedPattern:
    """A SELECT with OFFSET and LIMIT, for each binding of an outside: its solutions, sorted, from some number on.

    #count(row, n) <- AGGREGATE(#row(row), #row(other), other precedes row ON row BIND COUNT(*) AS n)
    #kept(row)     <- #count(row, n), OFFSET <= n < OFFSET + LIMIT
    #kept(row)     <- #row(row), NOT #count(row, _)                            where OFFSET is 0
    """
    pattern = patterns.pattern(select.pattern)
    projection = tuple(pattern.visible) if select.projection is None else tuple(dict.fromkeys(select.projection))
    pattern, keys = _ordered(_with_all(pattern, projection), select.order, patterns)
    chosen = [v for v in pattern.columns if not select.distinct or v in projection or v in keys]
    order = _RowOrder(tuple(keys), tuple(falls for _, falls in select.order), patterns.rules)
    row = order.named(chosen, pattern.body)
    if select.distinct:
        row = order.named(chosen, [row, Negation(order.named(chosen, order.preceding(row, projection)))])
    kept = _slice(row, order.preceding(row, patterns.given.certain), select, patterns.rules)
    hidden = tuple(v for v in pattern.hidden if v in chosen)
    visible = frozenset(chosen) - {*hidden}
    found = TranslatedPattern((kept,), pattern.certain & visible, pattern.maybe & visible, hidden)
    return patterns.projected(found, projection, select.distinct)


@dataclass(frozen=True)
class _RowOrder:
    """An order of rows, by sort keys that are falling or not, and then by all other columns."""

    keys: tuple[Variable, ...]
    falling: tuple[bool, ...]
    rules: GeneratedRules

    def named(self, columns: Sequence[Variable], body: Sequence[BodyLiteral]) -> Atom:
        """An atom for the solutions of a body."""
        atom = Atom(self.rules.fresh(), tuple(columns))
        self.rules.add(atom, body)
        return atom

    def preceding(self, row: Atom, same: Collection[Variable]) -> tuple[BodyLiteral, ...]:
        """A body for a row and another one before it that has the same values of some variables."""
        others = {v: self.rules.variable() for v in row.terms if isinstance(v, Variable) and v not in same}
        by = [*(v for v in self.keys if v in others), *(v for v in others if v not in self.keys)]
        signs = "".join(
            "-" if falls else "+" for key, falls in zip(self.keys, self.falling, strict=True) if key in others
        )
        arguments: tuple[Term, ...] = (Constant(signs), *(others[v] for v in by), *by)
        other = replace(row, terms=tuple(others.get(v, v) if isinstance(v, Variable) else v for v in row.terms))
        return (row, other, Filter(Call(PREFIX + "precedes", arguments)))


def _slice(row: Atom, preceding: tuple[BodyLiteral, ...], select: Select, rules: GeneratedRules) -> Atom:
    """The rows that have between OFFSET and OFFSET + LIMIT others before them."""
    number, kept = rules.variable(), replace(row, name=rules.fresh())
    count = Atom(rules.fresh(), (*row.terms, number))
    on = tuple(v for v in row.terms if isinstance(v, Variable))
    rules.add(count, [Aggregate(preceding, on, (AggregateCall("count", None, number),))])
    rules.add(kept, [count, *_within(number, select)])
    if select.offset == 0 and select.limit != 0:
        rules.add(kept, [row, Negation(count)])
    return kept


def _within(number: Variable, select: Select) -> list[BodyLiteral]:
    """Conditions on the number of rows before one."""
    least: list[BodyLiteral] = [Filter(Call(">=", (number, Constant(select.offset))))]
    if select.limit is None:
        return least
    return [*least, Filter(Call("<", (number, Constant(select.offset + select.limit))))]


def _pred(pattern: TranslatedPattern) -> Pred:
    (atom,) = pattern.body
    assert isinstance(atom, Atom)
    return atom.pred


def _query(parsed: Parsed, text: str) -> Query:
    query = _describe(parsed) if parsed.form is Form.DESCRIBE else _select(parsed.select, text, parsed.dataset)
    return replace(query, form=parsed.form, template=parsed.template, prefixes=parsed.prefixes)


def _describe(parsed: Parsed) -> Query:
    """Triples about resources: those with the resource as subject, and, where their object is a blank node, the triples
    about that (a concise bounded description, without reifications)."""
    subqueries, rules = _Subqueries(), GeneratedRules(dataset=parsed.dataset)
    graph = rules.default_graph()
    found = PatternTranslator(subqueries, rules, graph=graph).pattern(parsed.select)
    for variable in found.visible:
        rules.add(Atom(DESCRIBED, (variable,)), [*found.body, Filter(is_resource(variable))])
    for resource in parsed.resources:
        rules.add(Atom(DESCRIBED, (Constant(resource),)), ())
    about = [Atom(DESCRIBED, (SUBJECT,)), graph.triple(SUBJECT, PREDICATE, OBJECT)]
    rules.add(Atom(DESCRIBED, (OBJECT,)), [*about, Filter(Call("isblank", (OBJECT,)))])
    goal = Atom(SOLUTION, (SUBJECT, PREDICATE, OBJECT))
    rules.add(goal, about)
    columns = tuple(v.name for v in (SUBJECT, PREDICATE, OBJECT))
    return Query(rules.used(), rules.tables, goal, columns, tuple(subqueries.found), certain=True)


def translate_select(select: Select, dataset: Dataset, graph: IRI | None = None) -> Query:
    """The rules and the goal of a SELECT. `graph`: the graph that it is asked in, instead of the default graph."""
    return _select(select, dataset=dataset, graph=None if graph is None else ActiveGraph(Constant(graph)))


def _select(select: Select, text: str = "", dataset: Dataset = ALL_GRAPHS, graph: ActiveGraph | None = None) -> Query:
    """A query by its pattern and modifiers; without a projection, all variables in the order of the text."""
    subqueries, rules = _Subqueries(), GeneratedRules(dataset=dataset)
    patterns = PatternTranslator(subqueries, rules, graph=graph or rules.default_graph())
    pattern = patterns.pattern(select.pattern)
    projection = select.projection
    if projection is None:
        projection = tuple(sorted(pattern.visible, key=lambda v: _place(v, text)))
    chosen = list(dict.fromkeys(projection))
    pattern = _with_all(pattern, chosen)
    pattern, keys = _ordered(pattern, select.order, patterns)
    apart = () if select.distinct else [v for v in pattern.columns if v not in (*chosen, *keys)]
    goal = Atom(SOLUTION, (*chosen, *keys, *apart))
    rules.add(goal, pattern.body)
    return Query(
        rules.used(),
        rules.tables,
        goal,
        tuple(v.name for v in chosen),
        tuple(subqueries.found),
        order=tuple(falls for _, falls in select.order),
        distinct=select.distinct,
        offset=select.offset,
        limit=select.limit,
        certain=pattern.certain.issuperset(chosen),
    )


def _place(variable: Variable, text: str) -> tuple[int, str]:
    """Where a variable is first mentioned."""
    import re

    found = re.search(rf"[?$]{re.escape(variable.name)}(?!\w)", text)
    return (found.start() if found else len(text), variable.name)


def _with_all(pattern: TranslatedPattern, wanted: Sequence[Variable]) -> TranslatedPattern:
    """A pattern in which all of some variables are columns: those that it lacks are never bound."""
    missing = [v for v in wanted if v not in pattern.visible]
    extended = pattern.with_literals(*(Bind(NOTHING, v) for v in missing))
    return replace(extended, maybe=pattern.maybe.union(missing))


def _ordered(
    pattern: TranslatedPattern, order: Sequence[tuple[Expr, bool]], patterns: PatternTranslator
) -> tuple[TranslatedPattern, list[Variable]]:
    """A pattern with the values to order by."""
    keys: list[Variable] = []
    for given, _ in order:
        check_running()
        pattern, expression = patterns.decided(pattern, given)
        key = patterns.rules.variable()
        bound = pattern.with_literals(Bind(or_unbound(pattern.scope.expression(expression)), key))
        pattern = replace(bound, hidden=(*bound.hidden, key))
        keys.append(key)
    return pattern, keys
