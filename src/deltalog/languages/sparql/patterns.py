"""From graph patterns to rules.

A pattern is a body (a conjunction, as in a rule) whose rows are the solutions. A basic graph pattern, a join, a filter
and a BIND only add to a body; UNION, OPTIONAL and all other operators that are no conjunction get predicates of their
own (`#1`, `#2`, ...), with rules.

Bags. SPARQL counts solutions, rules have sets. So a pattern keeps, besides the variables that a query sees, `hidden`
ones that distinguish solutions that count separately: blank nodes, the middle of a path, which side of a UNION, the
variables that a subquery does not select. The rows over all of these are distinct, and the bag is their projection
without the hidden columns. Where duplicates do not matter (DISTINCT, MINUS, EXISTS) hidden columns are dropped early.

Variables without a value. `certain` variables have one in every solution, the `maybe` ones can be UNBOUND in some. Two
solutions are compatible if they agree where both have values; for variables that are certain on both sides this is a
join, for the others one rule for each case (`_cases`):

    both the same       #3(x, v) <- #1(x, v), #2(x, v)
    left has none       #3(x, v) <- #1(x, UNBOUND), #2(x, v), v is bound
    right has none      #3(x, v) <- #1(x, v), #2(x, UNBOUND), v is bound

EXISTS. A group is evaluated with the variables of the outside replaced by their values (section 18.6). A group of
triples joins the outside, which is the same. In any other group the distinct bindings of the outside are a relation,
`given`, that every part joins: the variables have values in OPTIONAL, MINUS, UNION, BIND and FILTER at any depth.
A variable without a value in some solution of the outside is free in the group there, so there is one translation for
each set of variables that have values. A subquery sees the variables that it selects.

GRAPH. `graph` is the graph that triples are matched in. Inside of GRAPH ?g it is a variable, whose values, the names of
graphs, are `given` to every part of the group; a subquery that does not select ?g has another variable for the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from typing import Any

from deltalog.core.limits import check_running
from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
)
from deltalog.core.terms import Value
from deltalog.functions.function import SPARQL_PREFIX as PREFIX
from deltalog.functions.sparql_operators import UNBOUND
from deltalog.languages.sparql import paths
from deltalog.languages.sparql.algebra import (
    BGP,
    Aggregation,
    BindPattern,
    Exists,
    Expr,
    GraphPattern,
    Grouping,
    GroupPattern,
    JoinPattern,
    LeftJoinPattern,
    MinusPattern,
    NamedGraphPattern,
    Operation,
    Path,
    RepeatedPath,
    Select,
    ServicePattern,
    UnionPattern,
    ValuesPattern,
    hidden,
    in_scope,
    parts,
    replaced,
    variables_of,
)
from deltalog.languages.sparql.expressions import NOTHING, ExpressionScope, is_bound, or_unbound
from deltalog.languages.sparql.graphs import ALL_GRAPHS, DEFAULT_GRAPH, MERGED, NAMED, ActiveGraph, Dataset
from deltalog.languages.sparql.token_reader import refuse

UNIT = Atom(HiddenName("#unit"), ())  # holds once
ValueRow = tuple[Value, ...]


@dataclass(frozen=True)
class TranslatedPattern:
    """A body and the variables of its solutions."""

    body: tuple[BodyLiteral, ...] = ()
    certain: frozenset[Variable] = frozenset()
    maybe: frozenset[Variable] = frozenset()
    hidden: tuple[Variable, ...] = ()
    computed: frozenset[Variable] = frozenset()  # columns whose values follow from those of the others

    @property
    def visible(self) -> frozenset[Variable]:
        return self.certain | self.maybe

    @property
    def columns(self) -> tuple[Variable, ...]:
        return (*_sorted(self.visible), *self.hidden)

    @property
    def scope(self) -> ExpressionScope:
        solution = tuple(v for v in self.columns if v not in self.computed)
        return ExpressionScope(self.certain.union(self.hidden), self.maybe, solution)

    def with_literals(self, *literals: BodyLiteral) -> TranslatedPattern:
        return replace(self, body=(*self.body, *literals))


@dataclass(frozen=True)
class _Case:
    """One way in which solutions of two patterns are compatible: the joined body, and what stands for the left's
    variables in it."""

    body: tuple[BodyLiteral, ...]
    left: Mapping[Variable, Term]
    same: tuple[Variable, ...] = ()  # of those that may have no value, the ones in which both sides agree


@dataclass
class GeneratedRules:
    """The rules and facts generated so far, with hidden names."""

    rules: list[Rule] = field(default_factory=list)
    tables: dict[Pred, list[ValueRow]] = field(default_factory=dict)
    dataset: Dataset = ALL_GRAPHS
    # The predicates of the closures of paths, and of the nodes, in each graph:
    closures: dict[tuple[Path, bool, ActiveGraph], HiddenName] = field(default_factory=dict)
    nodes: dict[ActiveGraph, HiddenName] = field(default_factory=dict)
    number: int = 0

    def fresh(self) -> HiddenName:
        """A name for a predicate."""
        self.number += 1
        return HiddenName(f"#{self.number}")

    def variable(self) -> Variable:
        return Variable(f"#v{self.fresh()}")

    def add(self, heads: Atom | Sequence[Atom], body: Sequence[BodyLiteral]) -> None:
        self.rules.append(Rule((heads,) if isinstance(heads, Atom) else tuple(heads), tuple(body) or (UNIT,)))

    def used(self) -> tuple[Rule, ...]:
        """The rules, without the one for the names of graphs if no pattern asks for them."""
        read = {pred for rule in self.rules for pred in rule.reads}
        return tuple(rule for rule in self.rules if rule.heads[0].name != NAMED or rule.heads[0].pred in read)

    def default_graph(self) -> ActiveGraph:
        """The graph outside of GRAPH; rules for the merge of the graphs of FROM, if there are several or none."""
        graphs = self.dataset.default
        if graphs is None or len(graphs) == 1:
            return ActiveGraph(None if graphs is None else Constant(graphs[0]))
        s, p, o = Variable("s"), Variable("p"), Variable("o")
        for graph in graphs:
            self.add(Atom(MERGED, (s, p, o)), [ActiveGraph(Constant(graph)).triple(s, p, o)])
        return ActiveGraph(merged=True)

    def named_graph(self, graph: Variable) -> Atom:
        """An atom that holds for the names of graphs."""
        named, pred = self.dataset.named, Pred(NAMED, 1)
        if named is not None:
            self.tables[pred] = [(name,) for name in named]
        elif not any(head.pred == pred for rule in self.rules for head in rule.heads):
            g, s, p, o = Variable("g"), Variable("s"), Variable("p"), Variable("o")
            self.add(Atom(NAMED, (g,)), [ActiveGraph(g).triple(s, p, o)])
        return Atom(NAMED, (graph,))


@dataclass
class PatternTranslator:
    """Translates patterns. `subselect` does what a SELECT inside of a query adds to them (see `query`)."""

    subselect: Callable[[Select, PatternTranslator], TranslatedPattern]
    rules: GeneratedRules = field(default_factory=GeneratedRules)
    given: TranslatedPattern = TranslatedPattern()  # the bindings of the pattern around an EXISTS, or nothing
    graph: ActiveGraph = DEFAULT_GRAPH

    def pattern(self, node: GraphPattern) -> TranslatedPattern:
        check_running()
        match node:
            case BGP():
                return self._triples(node)
            case JoinPattern():
                return self.join(self.pattern(node.left), self.pattern(node.right))
            case NamedGraphPattern():
                return self._named_graph(node)
            case GroupPattern():
                return self._where(self.pattern(node.pattern), node.filters)
            case BindPattern():
                return self._extend(node)
            case UnionPattern():
                return self._union(node)
            case LeftJoinPattern():
                return self._left_join(node)
            case MinusPattern():
                return self._minus(node)
            case ValuesPattern():
                rows = [[None if v is None else v.value for v in row] for row in node.rows]
                return self.join(self.given, self.rows(node.variables, rows))
            case ServicePattern():
                refuse("SERVICE", "queries do not reach other endpoints; load their data, and ask without it")
            case Grouping():
                return self._grouping(node)
            case Select():
                return self.subselect(node, self)

    # Bodies.

    def _triples(self, node: BGP) -> TranslatedPattern:
        """Triples, those with a path last: a path of length zero looks at the others for where it can be."""
        blank: dict[Variable, Variable] = {}
        given = [(self._end(s, blank), p, self._end(o, blank)) for s, p, o in node.triples]
        plain = [self.graph.triple(s, p, o) for s, p, o in given if isinstance(p, Variable | Constant)]
        body: list[BodyLiteral] = [*self._given_beside(plain), *plain]
        unseen: list[Variable] = []
        for s, p, o in given:
            if not isinstance(p, Variable | Constant):
                steps = paths.Paths(self.rules, self.graph, [*self._given_ends(s, o), *plain]).between(p, s, o)
                body += steps.body
                unseen += steps.hidden
        visible = {t for terms in given for t in terms if isinstance(t, Variable)}.difference(blank.values())
        certain = self.given.certain.union(visible, self.graph.variables if given else ())
        return TranslatedPattern(tuple(body), certain, hidden=(*unseen, *blank.values()))

    def _given_beside(self, triples: Sequence[Atom]) -> Iterator[BodyLiteral]:
        """The bindings of the outside; triples with a variable for their graph say themselves that it is a graph."""
        implied = [Atom(NAMED, self.graph.variables)] if triples and self.rules.dataset.named is None else []
        return (literal for literal in self.given.body if literal not in implied)

    def _given_ends(self, *ends: Term) -> list[Atom]:
        """For each end of a path that has a value outside, an atom with its values. The name of a graph is no such
        value: a path of length zero has it only if it is a node of the graph."""
        known = [v for v in paths.variables_of(*ends) if v in self.given.certain.difference(self.graph.variables)]
        return [_atom(self.named(self.correlated(frozenset([v])).given)) for v in known]

    def _end(self, end: Term, blank: dict[Variable, Variable]) -> Term:
        """A subject or object; a blank node is a variable of this pattern alone."""
        if isinstance(end, Variable) and hidden(end):
            return blank.setdefault(end, self.rules.variable())
        return end

    def join(self, left: TranslatedPattern, right: TranslatedPattern) -> TranslatedPattern:
        certain, visible = left.certain | right.certain, left.visible | right.visible
        rest = [literal for literal in right.body if literal not in self.given.body]  # the left has these
        joined = TranslatedPattern((*left.body, *rest), certain, visible - certain, (*left.hidden, *right.hidden))
        if not _unsure(left, right):
            return joined
        which = self.rules.variable()
        result = self._head(replace(joined, hidden=(*joined.hidden, which)))
        for number, case in enumerate(self._cases(left, right)):
            self.rules.add(_substituted(result, {which: Constant(number)}), case.body)
        return replace(joined, body=(result,), hidden=(*joined.hidden, which))

    def _where(self, pattern: TranslatedPattern, conditions: Sequence[Expr]) -> TranslatedPattern:
        for conjunct in _conjuncts(conditions):
            pattern = self._filtered(pattern, conjunct)
        return pattern

    def _filtered(self, pattern: TranslatedPattern, condition: Expr) -> TranslatedPattern:
        if isinstance(condition, Exists):
            pattern = self.named(pattern)
            exists = self._existence(pattern, condition.group)
            return pattern.with_literals(Negation(exists) if condition.negated else exists)
        pattern, condition = self.decided(pattern, condition)
        return pattern.with_literals(Filter(pattern.scope.condition(condition)))

    def _extend(self, node: BindPattern) -> TranslatedPattern:
        inner = self.correlated(self.given.certain - {node.variable})
        pattern, expression = inner.decided(inner.pattern(node.pattern), node.expression)
        extended = self.extend(pattern, node.variable, pattern.scope.expression(expression))
        return extended if inner is self else self.join(self.given, extended)

    def extend(self, pattern: TranslatedPattern, variable: Variable, expression: Expression) -> TranslatedPattern:
        """A pattern with one more variable, without a value where the expression fails."""
        if isinstance(expression, Constant) or expression in pattern.certain:
            extended = pattern.with_literals(Bind(expression, variable))
            return replace(extended, certain=pattern.certain | {variable}, computed=pattern.computed | {variable})
        extended = pattern.with_literals(Bind(or_unbound(expression), variable))
        return replace(extended, maybe=pattern.maybe | {variable}, computed=pattern.computed | {variable})

    # Predicates.

    def _union(self, node: UnionPattern) -> TranslatedPattern:
        sides = [self.pattern(side) for side in node.sides]
        certain = sides[0].certain.intersection(*(side.certain for side in sides))
        visible = sides[0].visible.union(*(side.visible for side in sides))
        which = self.rules.variable()
        unseen = [v for side in sides for v in side.hidden]
        union = TranslatedPattern((), certain, visible - certain, (*unseen, which))
        head = self._head(union)
        for number, side in enumerate(sides):
            missing = {v: NOTHING for v in union.columns if v not in side.columns}
            self.rules.add(_substituted(head, {**missing, which: Constant(number)}), side.body)
        return replace(union, body=(head,))

    def _left_join(self, node: LeftJoinPattern) -> TranslatedPattern:
        """OPTIONAL: #left and its matches, and #left where there are none."""
        left, right = self.named(self.pattern(node.left)), self.pattern(node.right.pattern)
        which = (self.rules.variable(),) if _unsure(left, right) else ()
        optional = TranslatedPattern(
            (), left.certain, (left.visible | right.visible) - left.certain, (*left.hidden, *right.hidden, *which)
        )
        head = self._head(optional)
        matched = self._matched(left, right, node.right.filters, head, which)
        there = set(left.columns)
        missing = {v: NOTHING for v in optional.columns if v not in there}
        self.rules.add(_substituted(head, missing), (*left.body, Negation(matched)))
        return replace(optional, body=(head,))

    def _matched(
        self,
        left: TranslatedPattern,
        right: TranslatedPattern,
        conditions: Sequence[Expr],
        head: Atom | None = None,
        which: Sequence[Variable] = (),
    ) -> Atom:
        """An atom that holds for the solutions of the left that have a compatible one on the right, under conditions;
        rules for it, and for a head with the two joined."""
        certain, visible = left.certain | right.certain, left.visible | right.visible
        joined = TranslatedPattern((), certain, visible - certain, (*left.hidden, *right.hidden))
        key = left.columns if _unsure(left, right) else _key(left, right, conditions)
        matched = Atom(self.rules.fresh(), key)
        for number, case in enumerate(self._cases(left, right)):
            pattern = self._where(replace(joined, body=case.body), conditions)
            heads = [_substituted(matched, case.left)]
            if head is not None:
                heads.append(_substituted(head, {v: Constant(number) for v in which}))
            self.rules.add(heads, pattern.body)
        return matched

    def _minus(self, node: MinusPattern) -> TranslatedPattern:
        left, right = self.pattern(node.left), self.pattern(node.right)
        shared, free = left.visible & right.visible, self._free(node)
        if shared.isdisjoint(free):
            return left
        if not _unsure(left, right):
            key = Atom(self.rules.fresh(), _sorted(shared))
            self.rules.add(key, right.body)
            return left.with_literals(Negation(key))
        left = self.named(left)
        excluded = Atom(self.rules.fresh(), left.columns)
        sure = left.certain & right.certain & free
        for case in self._cases(left, right):
            # The two must agree on the value of one variable at least.
            agreed: list[list[BodyLiteral]] = [[]] if sure else [[Filter(is_bound(v))] for v in case.same]
            for condition in agreed:
                self.rules.add(_substituted(excluded, case.left), (*case.body, *condition))
        return left.with_literals(Negation(excluded))

    def _free(self, node: MinusPattern) -> frozenset[Variable]:
        """The variables that both sides of a MINUS mention: one that only an outside gives to both does not count."""
        return in_scope(node.left) & in_scope(node.right)

    # GRAPH.

    def _named_graph(self, node: NamedGraphPattern) -> TranslatedPattern:
        """A group in a named graph. In each of them, the name is given to every part of the group."""
        if isinstance(node.graph, Constant):
            return self._in_graph(node.graph, node.group)
        scoped = any(isinstance(part, Select) for part in parts(node.group))  # may have the variable for itself
        graph = self.rules.variable() if scoped else node.graph
        outside, known = self.given, node.graph in self.given.certain
        body = [*outside.body, self.rules.named_graph(node.graph if known else graph)]
        if scoped:
            body.append(Bind(node.graph, graph) if known else Bind(graph, node.graph))
        given = replace(outside, body=tuple(body), certain=outside.certain | {node.graph, graph})
        found = replace(self, given=self.named(given), graph=ActiveGraph(graph)).pattern(node.group)
        return replace(found, certain=found.certain - {graph}) if scoped else found

    def _in_graph(self, graph: Constant, group: GroupPattern) -> TranslatedPattern:
        found = replace(self, graph=ActiveGraph(graph)).pattern(group)
        if not self.rules.dataset.has(graph.value):
            return found.with_literals(Filter(Constant(False)))
        if _has_triples(group) or self.rules.dataset.named is not None:
            return found
        exists = Atom(self.rules.fresh(), ())
        self.rules.add(exists, [ActiveGraph(graph).triple(Variable("s"), Variable("p"), Variable("o"))])
        return found.with_literals(exists)

    # EXISTS.

    def _existence(self, pattern: TranslatedPattern, group: GroupPattern) -> Atom:
        """An atom that holds for the solutions of a pattern for which a graph pattern has a solution."""
        if _joins(group.pattern):
            return self._matched(
                pattern, replace(self, given=TranslatedPattern()).pattern(group.pattern), group.filters
            )
        needed = variables_of([group]).union(self.graph.variables)
        outside = self.projected(pattern, _sorted(pattern.visible & needed), distinct=True)
        exists = Atom(self.rules.fresh(), outside.columns)
        for unbound in _subsets(_sorted(outside.maybe)):
            inner = replace(self, given=self._bound(outside, unbound)).pattern(group)
            self.rules.add(_substituted(exists, {v: NOTHING for v in unbound}), inner.body)
        return exists

    def _bound(self, outside: TranslatedPattern, unbound: Collection[Variable]) -> TranslatedPattern:
        """The solutions in which just these variables have no value, without these variables."""
        atom = _substituted(_atom(outside), {v: NOTHING for v in unbound})
        conditions = [Filter(is_bound(v)) for v in _sorted(outside.maybe.difference(unbound))]
        given = TranslatedPattern((atom, *conditions), outside.visible.difference(unbound))
        return self.projected(given, _sorted(given.certain), distinct=True)

    def correlated(self, kept: frozenset[Variable]) -> PatternTranslator:
        """The same with only some of the variables of the outside; the one for the graph stays."""
        kept = kept.union(self.graph.variables)
        if self.given.certain <= kept:
            return self
        if kept.isdisjoint(self.given.certain):
            return replace(self, given=TranslatedPattern())
        return replace(self, given=self.projected(self.given, _sorted(kept), distinct=True))

    def decided(self, pattern: TranslatedPattern, expression: Expr) -> tuple[TranslatedPattern, Expr]:
        """A pattern in which each EXISTS of an expression is a variable, and the expression with these."""
        truths: dict[Expr, Expr] = {}
        for node in _existences(expression):
            if node not in truths:
                pattern, truths[node] = self._with_truth(pattern, node)
        return pattern, replaced(expression, truths.get) if truths else expression

    def _with_truth(self, pattern: TranslatedPattern, node: Exists) -> tuple[TranslatedPattern, Variable]:
        """A pattern with one more variable, that is whether a graph pattern has a solution."""
        pattern = self.named(pattern)
        exists, truth = self._existence(pattern, node.group), self.rules.variable()
        decided = replace(pattern, hidden=(*pattern.hidden, truth))
        head = self._head(decided)
        self.rules.add(_substituted(head, {truth: Constant(not node.negated)}), (*pattern.body, exists))
        self.rules.add(_substituted(head, {truth: Constant(node.negated)}), (*pattern.body, Negation(exists)))
        return replace(decided, body=(head,)), truth

    # Given rows, subqueries and groups.

    def rows(self, names: Sequence[Variable], rows: Sequence[Sequence[Value | None]]) -> TranslatedPattern:
        """Rows as a pattern; a number makes equal ones different."""
        number, atom_name = self.rules.variable(), self.rules.fresh()
        atom = Atom(atom_name, (*names, number))
        self.rules.tables[atom.pred] = [(*(UNBOUND if v is None else v for v in row), i) for i, row in enumerate(rows)]
        certain = frozenset(v for i, v in enumerate(names) if all(row[i] is not None for row in rows))
        return TranslatedPattern((atom,), certain, frozenset(names) - certain, (number,))

    def _grouping(self, node: Grouping) -> TranslatedPattern:
        """GROUP BY: the keys and the results, one row for each group."""
        inner = self.correlated(frozenset(key for expression, key in node.keys if expression == key))
        pattern = inner.pattern(node.pattern)
        for given, key in node.keys:
            if key not in pattern.visible:
                pattern, expression = inner.decided(pattern, given)
                pattern = self.extend(pattern, key, pattern.scope.expression(expression))
        on = tuple(dict.fromkeys([*(key for _, key in node.keys), *self.graph.variables]))
        keys = TranslatedPattern((), pattern.certain.intersection(on), pattern.maybe.intersection(on))
        calls, concatenated = [], []
        for aggregation, result in node.calls:
            if aggregation.function == "group_concat":
                texts = self.rules.variable()
                concatenated.append((result, Call(PREFIX + "joined", (texts, Constant(aggregation.separator)))))
                result = texts
            pattern, call = self._call(pattern, aggregation, result)
            calls.append(call)
        grouped = self._grouped(pattern, keys, on, calls)
        if self.graph.variables and not node.keys:
            self._group_of_nothing(pattern, _atom(grouped), calls)
        for result, joined in concatenated:
            grouped = self.extend(grouped, result, joined)
        return grouped if inner is self else self.join(self.given, grouped)

    def _grouped(
        self, pattern: TranslatedPattern, keys: TranslatedPattern, on: tuple[Variable, ...], calls: list[AggregateCall]
    ) -> TranslatedPattern:
        counts = {call.variable for call in calls if call.function in ("count", PREFIX + "count")}
        others = {call.variable for call in calls} - counts
        grouped = TranslatedPattern((), keys.certain | counts, keys.maybe | others)
        head = self._head(grouped)
        body = [Aggregate(pattern.body or (UNIT,), on, tuple(calls))] if calls else pattern.body
        self.rules.add(head, body)
        return replace(grouped, body=(head,))

    def _group_of_nothing(self, pattern: TranslatedPattern, head: Atom, calls: list[AggregateCall]) -> None:
        """In each graph all solutions are one group, even if there are none."""
        (graph,) = self.graph.variables
        some, none = Atom(self.rules.fresh(), (graph,)), Atom(self.rules.fresh(), tuple(c.variable for c in calls))
        self.rules.add(some, pattern.body)
        self.rules.add(none, [Aggregate((*pattern.body, Filter(Constant(False))), (), tuple(calls))])
        self.rules.add(head, [self.rules.named_graph(graph), Negation(some), none])

    def _call(
        self, pattern: TranslatedPattern, node: Aggregation, result: Variable
    ) -> tuple[TranslatedPattern, AggregateCall]:
        """An aggregate over a variable of the pattern, which is added to it if need be."""
        if node.argument is None and not node.distinct:
            return pattern, AggregateCall("count", None, result)
        pattern, expression = self._argument(pattern, node.argument)
        argument = self.rules.variable()
        pattern = self.extend(pattern, argument, expression)
        pattern = replace(pattern, certain=pattern.certain - {argument}, maybe=pattern.maybe - {argument})
        plain = node.function == "count" and (isinstance(expression, Constant) or expression in pattern.certain)
        return pattern, AggregateCall("count" if plain else PREFIX + node.function, argument, result, node.distinct)

    def _argument(self, pattern: TranslatedPattern, given: Expr | None) -> tuple[TranslatedPattern, Expression]:
        """The argument of an aggregate; for COUNT(DISTINCT *), a value that is the same for equal solutions only."""
        if given is None:
            return pattern, Call("skolem", _sorted(v for v in pattern.visible if not hidden(v)))
        pattern, decided = self.decided(pattern, given)
        return pattern, pattern.scope.expression(decided)

    # Predicates for patterns.

    def _head(self, pattern: TranslatedPattern) -> Atom:
        return Atom(self.rules.fresh(), pattern.columns)

    def named(self, pattern: TranslatedPattern) -> TranslatedPattern:
        """The same solutions as a single atom."""
        if len(pattern.body) == 1 and isinstance(pattern.body[0], Atom):
            return pattern
        head = self._head(pattern)
        self.rules.add(head, pattern.body)
        return replace(pattern, body=(head,))

    def projected(self, pattern: TranslatedPattern, chosen: Sequence[Variable], distinct: bool) -> TranslatedPattern:
        """Only some of the variables; the others are hidden, under names of their own, or dropped if duplicates do not
        matter."""
        kept = frozenset(chosen) & pattern.visible
        certain, maybe = pattern.certain & kept, pattern.maybe & kept
        if distinct:
            head = Atom(self.rules.fresh(), _sorted(kept))
            self.rules.add(head, pattern.body)
            return TranslatedPattern((head,), certain, maybe)
        fresh = {v: self.rules.variable() for v in _sorted(pattern.visible - kept)}
        renamed = _renamed(self._with_atom(pattern), fresh)
        return TranslatedPattern(renamed.body, certain, maybe, (*renamed.hidden, *fresh.values()))

    def _with_atom(self, pattern: TranslatedPattern) -> TranslatedPattern:
        head = self._head(pattern)
        self.rules.add(head, pattern.body)
        return replace(pattern, body=(head,))

    # Compatible solutions.

    def _cases(self, left: TranslatedPattern, right: TranslatedPattern) -> Iterator[_Case]:
        unsure = _unsure(left, right)
        if not unsure:
            yield _Case((*left.body, *right.body), {})
            return
        left, right = self.named(left), self.named(right)
        for choice in product(*[_ways(v, left, right) for v in unsure]):
            lacks_left = {v: NOTHING for v, way in zip(unsure, choice, strict=True) if way == "left"}
            lacks_right = {v: NOTHING for v, way in zip(unsure, choice, strict=True) if way == "right"}
            bound = [v for v in lacks_left if v in right.maybe] + [v for v in lacks_right if v in left.maybe]
            atoms = [_substituted(_atom(side), lacks) for side, lacks in ((left, lacks_left), (right, lacks_right))]
            same = tuple(v for v, way in zip(unsure, choice, strict=True) if way == "same")
            yield _Case((*atoms, *(Filter(is_bound(v)) for v in bound)), lacks_left, same)


def _sorted(variables: Any) -> tuple[Variable, ...]:
    return tuple(sorted(variables, key=lambda v: v.name))


def _unsure(left: TranslatedPattern, right: TranslatedPattern) -> tuple[Variable, ...]:
    """The shared variables that have no value in some solution of either."""
    return _sorted((left.visible & right.visible) - (left.certain & right.certain))


def _ways(variable: Variable, left: TranslatedPattern, right: TranslatedPattern) -> list[str]:
    """How solutions can be compatible in a variable: the same, or one side has none."""
    sides = (("left", left), ("right", right))
    return ["same", *(name for name, side in sides if variable in side.maybe)]


def _key(left: TranslatedPattern, right: TranslatedPattern, conditions: Sequence[Expr]) -> tuple[Variable, ...]:
    """The variables of the left that decide which solutions of the right match."""
    return _sorted(left.visible & (right.visible | variables_of(conditions)))


def _conjuncts(conditions: Sequence[Expr]) -> Iterator[Expr]:
    for condition in conditions:
        if isinstance(condition, Operation) and condition.name == "&&":
            yield from _conjuncts(condition.arguments)
        else:
            yield condition


def _joins(pattern: GraphPattern) -> bool:
    """Whether a pattern has only triples and rows to join, so that it can join an outside after its evaluation. A path
    of length zero cannot: it starts at any value of the outside."""
    match pattern:
        case BGP():
            return not any(isinstance(part, RepeatedPath) and part.modifier != "+" for part in parts(pattern))
        case JoinPattern(left, right):
            return _joins(left) and _joins(right)
        case NamedGraphPattern(_, group):
            return not group.filters and _has_triples(group) and _joins(group.pattern)
    return isinstance(pattern, ValuesPattern)


def _has_triples(pattern: GraphPattern) -> bool:
    """Whether every solution of a pattern has a triple in its graph."""
    match pattern:
        case BGP(triples):
            return any(isinstance(p, Variable | Constant) for _, p, _ in triples)
        case JoinPattern(left, right):
            return _has_triples(left) or _has_triples(right)
        case GroupPattern(inner) | BindPattern(inner) | LeftJoinPattern(inner) | MinusPattern(inner):
            return _has_triples(inner)
    return False


def _subsets(variables: Sequence[Variable]) -> Iterator[tuple[Variable, ...]]:
    return chain.from_iterable(combinations(variables, size) for size in range(len(variables) + 1))


def _existences(expression: Expr) -> Iterator[Exists]:
    """The outermost EXISTS of an expression."""
    if isinstance(expression, Exists):
        yield expression
    elif isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from _existences(argument)


def _atom(pattern: TranslatedPattern) -> Atom:
    (atom,) = pattern.body
    assert isinstance(atom, Atom)
    return atom


def _substituted(atom: Atom, terms: Mapping[Variable, Term]) -> Atom:
    return replace(atom, terms=tuple(terms.get(t, t) if isinstance(t, Variable) else t for t in atom.terms))


def _renamed(pattern: TranslatedPattern, names: Mapping[Variable, Variable]) -> TranslatedPattern:
    """A pattern of atoms, with other names for some variables."""
    body = tuple(_substituted(literal, names) if isinstance(literal, Atom) else literal for literal in pattern.body)
    return replace(pattern, body=body, hidden=tuple(names.get(v, v) for v in pattern.hidden))
