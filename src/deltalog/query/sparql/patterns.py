"""Graph patterns to rules.

A pattern is a body (a conjunction, as in a rule) whose rows are the solutions. A basic graph pattern, a join, a filter
and a BIND only add to a body; UNION, OPTIONAL and what else a conjunction cannot say get predicates of their own
(`#1`, `#2`, ...), whose rules stand beside it.

Bags. SPARQL counts solutions, rules have sets. So a pattern keeps, besides the variables that a query sees, `hidden`
ones that tell apart what is to be counted apart: blank nodes, the middle of a path, which side of a UNION, the
variables that a subquery does not select. The rows over all of these are distinct, and the bag is what is left of them
when the hidden columns are not looked at. Where nobody counts (DISTINCT, MINUS, EXISTS) they are dropped early.

Variables without a value. `certain` variables have one in every solution, the `maybe` ones can be UNBOUND in some. Two
solutions are compatible if they agree where both have values; for variables that are certain on both sides this is a
join, for the others one rule for each case (`_cases`):

    both the same       #3(x, v) <- #1(x, v), #2(x, v)
    left has none       #3(x, v) <- #1(x, UNBOUND), #2(x, v), v is bound
    right has none      #3(x, v) <- #1(x, v), #2(x, UNBOUND), v is bound
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from deltalog.errors import UsageError
from deltalog.query.sparql import paths
from deltalog.query.sparql.expressions import NOTHING, Scope, is_bound, or_unbound
from deltalog.query.sparql.parse import Node, is_variable, nodes, refuse, term, value, variables_of
from deltalog.syntax.ast import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    Constant,
    Expression,
    Filter,
    Literal,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    triple,
)
from deltalog.terms import Value
from deltalog.xpath import PREFIX, UNBOUND

UNIT = Atom("#unit", ())  # holds once
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Pattern:
    """A body and the variables of its solutions."""

    body: tuple[Literal, ...] = ()
    certain: frozenset[Variable] = frozenset()
    maybe: frozenset[Variable] = frozenset()
    hidden: tuple[Variable, ...] = ()

    @property
    def visible(self) -> frozenset[Variable]:
        return self.certain | self.maybe

    @property
    def columns(self) -> tuple[Variable, ...]:
        return (*_sorted(self.visible), *self.hidden)

    def scope(self, outside: frozenset[Variable] = frozenset()) -> Scope:
        return Scope(self.certain.union(self.hidden), self.maybe, outside)

    def with_literals(self, *literals: Literal) -> Pattern:
        return replace(self, body=(*self.body, *literals))


@dataclass(frozen=True)
class _Case:
    """One way in which solutions of two patterns are compatible: the joined body, and what stands for the left's
    variables in it."""

    body: tuple[Literal, ...]
    left: Mapping[Variable, Term]
    same: tuple[Variable, ...] = ()  # of those that may have no value, the ones in which both sides agree


@dataclass
class Rules:
    """The rules and facts made so far, with names that no user can write."""

    rules: list[Rule] = field(default_factory=list)
    tables: dict[Pred, list[Row]] = field(default_factory=dict)
    closures: dict[str, str] = field(default_factory=dict)  # the predicate of a path's closure
    number: int = 0

    def fresh(self) -> str:
        """A name for a predicate."""
        self.number += 1
        return f"#{self.number}"

    def variable(self) -> Variable:
        return Variable(f"#v{self.fresh()}")

    def add(self, heads: Atom | Sequence[Atom], body: Sequence[Literal]) -> None:
        self.rules.append(Rule((heads,) if isinstance(heads, Atom) else tuple(heads), tuple(body) or (UNIT,)))


@dataclass
class Patterns:
    """Translates patterns. `subselect` does what a SELECT inside of a query adds to them (see `query`)."""

    subselect: Callable[[Node, Patterns], Pattern]
    rules: Rules = field(default_factory=Rules)
    outside: frozenset[Variable] = frozenset()  # of the pattern around an EXISTS
    unnamed: list[Variable] = field(default_factory=list)  # keys of a GROUP BY without a name
    sampled: dict[Variable, Variable] = field(default_factory=dict)  # results of SAMPLE, and what of

    def pattern(self, node: Node) -> Pattern:
        translate = getattr(self, f"_{node.name}", None)
        if translate is None:
            refuse(_NAMES.get(node.name, node.name), "rewrite the query without it")
        result: Pattern = translate(node)
        return result

    # Bodies.

    def _BGP(self, node: Node) -> Pattern:
        """Triples, those with a path last: a path of length zero looks at the others for where it can be."""
        blank: dict[Variable, Variable] = {}
        given = [(self._end(s, blank), p, self._end(o, blank)) for s, p, o in node.triples]
        plain = [triple(s, term(p), o) for s, p, o in given if not paths.is_path(p)]
        body: list[Literal] = list(plain)
        hidden: list[Variable] = []
        for s, p, o in given:
            if paths.is_path(p):
                steps = paths.Paths(self.rules, plain).between(p, s, o)
                body += steps.body
                hidden += steps.hidden
        terms = [t for s, p, o in given for t in ((s, o) if paths.is_path(p) else (s, term(p), o))]
        visible = frozenset(paths.variables_of(*terms)).difference(blank.values())
        return Pattern(tuple(body), visible, hidden=(*hidden, *blank.values()))

    def _end(self, given: Any, blank: dict[Variable, Variable]) -> Term:
        """A subject or object; a blank node is a variable of this pattern alone."""
        end = term(given)
        if isinstance(end, Variable) and end.name.startswith("#"):
            return blank.setdefault(end, self.rules.variable())
        return end

    def _Join(self, node: Node) -> Pattern:
        return self.join(self.pattern(node.p1), self.pattern(node.p2))

    def join(self, left: Pattern, right: Pattern) -> Pattern:
        certain, visible = left.certain | right.certain, left.visible | right.visible
        joined = Pattern((*left.body, *right.body), certain, visible - certain, (*left.hidden, *right.hidden))
        if not _unsure(left, right):
            return joined
        which = self.rules.variable()
        result = self._head(replace(joined, hidden=(*joined.hidden, which)))
        for number, case in enumerate(self._cases(left, right)):
            self.rules.add(_substituted(result, {which: Constant(number)}), case.body)
        return replace(joined, body=(result,), hidden=(*joined.hidden, which))

    def _Filter(self, node: Node) -> Pattern:
        return self._where(self.pattern(node.p), node.expr)

    def _where(self, pattern: Pattern, condition: Any) -> Pattern:
        for conjunct in _conjuncts(condition):
            pattern = self._filtered(pattern, conjunct)
        return pattern

    def _filtered(self, pattern: Pattern, condition: Any) -> Pattern:
        name = getattr(condition, "name", "")
        if name in _EXISTS:
            pattern = self.named(pattern)
            exists = self._existence(pattern, condition.graph)
            return pattern.with_literals(exists if name == "Builtin_EXISTS" else Negation(exists))
        pattern, condition = self._exists_decided(pattern, condition)
        return pattern.with_literals(Filter(pattern.scope(self.outside).condition(condition)))

    def _Extend(self, node: Node) -> Pattern:
        pattern, expression = self._exists_decided(self.pattern(node.p), node.expr)
        variable = self._extended(pattern, node)
        if variable is None:
            return pattern
        return self.extend(pattern, variable, pattern.scope(self.outside).expression(expression))

    def _extended(self, pattern: Pattern, node: Node) -> Variable | None:
        """The variable that gets a value; None for what a GROUP BY gave it already."""
        if node.var is None:  # GROUP BY an expression without a name
            self.unnamed.append(self.rules.variable())
            return self.unnamed[-1]
        variable = Variable(str(node.var))
        selected = is_variable(node.expr) and self.sampled.get(Variable(str(node.expr))) == variable
        if selected and variable in pattern.visible:
            return None
        if selected:
            raise UsageError(f"?{variable.name} is selected, and neither grouped by nor aggregated; add it to GROUP BY")
        if variable in pattern.visible:
            raise UsageError(f"?{variable.name} has values already; give the result of the expression another name")
        return variable

    def extend(self, pattern: Pattern, variable: Variable, expression: Expression) -> Pattern:
        """A pattern with one more variable, without a value where the expression fails."""
        if isinstance(expression, Constant) or expression in pattern.certain:
            extended = pattern.with_literals(Bind(expression, variable))
            return replace(extended, certain=pattern.certain | {variable})
        extended = pattern.with_literals(Bind(or_unbound(expression), variable))
        return replace(extended, maybe=pattern.maybe | {variable})

    # Predicates.

    def _Union(self, node: Node) -> Pattern:
        sides = [self.pattern(node.p1), self.pattern(node.p2)]
        certain, visible = sides[0].certain & sides[1].certain, sides[0].visible | sides[1].visible
        which, hidden = self.rules.variable(), (*sides[0].hidden, *sides[1].hidden)
        union = Pattern((), certain, visible - certain, (*hidden, which))
        head = self._head(union)
        for number, side in enumerate(sides):
            missing = {v: NOTHING for v in union.columns if v not in side.columns}
            self.rules.add(_substituted(head, {**missing, which: Constant(number)}), side.body)
        return replace(union, body=(head,))

    def _LeftJoin(self, node: Node) -> Pattern:
        """OPTIONAL: #left and its matches, and #left where there are none."""
        left, right = self.named(self.pattern(node.p1)), self.pattern(node.p2)
        which = (self.rules.variable(),) if _unsure(left, right) else ()
        optional = Pattern(
            (), left.certain, (left.visible | right.visible) - left.certain, (*left.hidden, *right.hidden, *which)
        )
        head = self._head(optional)
        matched = self._matched(left, right, node.expr, head, which)
        missing = {v: NOTHING for v in optional.columns if v not in left.columns}
        self.rules.add(_substituted(head, missing), (*left.body, Negation(matched)))
        return replace(optional, body=(head,))

    def _matched(
        self, left: Pattern, right: Pattern, condition: Any, head: Atom | None = None, which: Sequence[Variable] = ()
    ) -> Atom:
        """An atom that holds for the solutions of the left that have a compatible one on the right, under a condition;
        rules for it, and for a head with the two joined."""
        certain, visible = left.certain | right.certain, left.visible | right.visible
        joined = Pattern((), certain, visible - certain, (*left.hidden, *right.hidden))
        key = left.columns if _unsure(left, right) else _key(left, right, condition)
        matched = Atom(self.rules.fresh(), key)
        for number, case in enumerate(self._cases(left, right)):
            pattern = self._where(replace(joined, body=case.body), condition)
            heads = [_substituted(matched, case.left)]
            if head is not None:
                heads.append(_substituted(head, {v: Constant(number) for v in which}))
            self.rules.add(heads, pattern.body)
        return matched

    def _Minus(self, node: Node) -> Pattern:
        left, right = self.pattern(node.p1), self.pattern(node.p2)
        shared = left.visible & right.visible
        if not shared:
            return left
        if not _unsure(left, right):
            key = Atom(self.rules.fresh(), _sorted(shared))
            self.rules.add(key, right.body)
            return left.with_literals(Negation(key))
        left = self.named(left)
        gone = Atom(self.rules.fresh(), left.columns)
        sure = left.certain & right.certain
        for case in self._cases(left, right):
            # The two must agree on the value of one variable at least.
            agreed: list[list[Literal]] = [[]] if sure else [[Filter(is_bound(v))] for v in case.same]
            for condition in agreed:
                self.rules.add(_substituted(gone, case.left), (*case.body, *condition))
        return left.with_literals(Negation(gone))

    # EXISTS.

    def _existence(self, pattern: Pattern, graph: Node) -> Atom:
        """An atom that holds for the solutions of a pattern for which a graph pattern has a solution."""
        inner = Patterns(self.subselect, self.rules, self.outside | pattern.visible)
        condition = None
        if graph.name == "Filter":
            graph, condition = graph.p, graph.expr
        return self._matched(pattern, inner.pattern(graph), condition)

    def _exists_decided(self, pattern: Pattern, expression: Any) -> tuple[Pattern, Any]:
        """A pattern in which each EXISTS of an expression is a variable, and the expression with these."""
        found = [node for node in nodes(expression) if node.name in _EXISTS]
        names: dict[int, Any] = {}
        for node in found:
            pattern, names[id(node)] = self._with_truth(pattern, node)
        return pattern, _replaced(expression, names) if names else expression

    def _with_truth(self, pattern: Pattern, node: Node) -> tuple[Pattern, Any]:
        """A pattern with one more variable, that is whether a graph pattern has a solution."""
        from rdflib.term import Variable as SparqlVariable

        pattern = self.named(pattern)
        exists, truth = self._existence(pattern, node.graph), self.rules.variable()
        decided = replace(pattern, hidden=(*pattern.hidden, truth))
        head = self._head(decided)
        yes = node.name == "Builtin_EXISTS"
        self.rules.add(_substituted(head, {truth: Constant(yes)}), (*pattern.body, exists))
        self.rules.add(_substituted(head, {truth: Constant(not yes)}), (*pattern.body, Negation(exists)))
        return replace(decided, body=(head,)), SparqlVariable(truth.name)

    # Given rows, subqueries and groups.

    def _ToMultiSet(self, node: Node) -> Pattern:
        if isinstance(node.p, list):
            return self.rows((), [])
        if node.p.name == "values":
            return self._values(node.p)
        return self.subselect(node.p, self)

    def _values(self, node: Node) -> Pattern:
        names = list(dict.fromkeys(name for row in node.res for name in row))
        rows = [[None if row[n] == "UNDEF" else value(row[n]) for n in names] for row in node.res]
        return self.rows([Variable(str(name)) for name in names], rows)

    def rows(self, names: Sequence[Variable], rows: Sequence[Sequence[Value | None]]) -> Pattern:
        """Rows as a pattern; a number makes equal ones different."""
        number, atom_name = self.rules.variable(), self.rules.fresh()
        atom = Atom(atom_name, (*names, number))
        self.rules.tables[atom.pred] = [(*(UNBOUND if v is None else v for v in row), i) for i, row in enumerate(rows)]
        certain = frozenset(v for i, v in enumerate(names) if all(row[i] is not None for row in rows))
        return Pattern((atom,), certain, frozenset(names) - certain, (number,))

    def _AggregateJoin(self, node: Node) -> Pattern:
        """GROUP BY: the keys and the results, one row for each group."""
        pattern = self.pattern(node.p.p)
        on: list[Variable] = []
        for given in node.p.expr or ():
            pattern, key = self._group_key(pattern, given)
            on += [key] if key not in on else []
        keys = Pattern((), pattern.certain.intersection(on), pattern.maybe.intersection(on))
        sampled = dict(pair for pair in map(_sampled, node.A) if pair is not None)
        samples = {result: key for result, key in sampled.items() if key in on}
        calls = []
        for given in node.A:
            if Variable(str(given.res)) not in samples:
                pattern, call = self._call(pattern, given)
                calls.append(call)
        grouped = self._grouped(pattern, keys, tuple(on), calls)
        for result, key in samples.items():
            grouped = _copied(grouped, result, key)
        self.sampled |= sampled
        return grouped

    def _group_key(self, pattern: Pattern, given: Any) -> tuple[Pattern, Variable]:
        if given is None:
            return pattern, self.unnamed.pop(0)
        key = Variable(str(given)) if is_variable(given) else self.rules.variable()
        if key in pattern.visible:
            return pattern, key
        return self.extend(pattern, key, pattern.scope().expression(given)), key

    def _grouped(
        self, pattern: Pattern, keys: Pattern, on: tuple[Variable, ...], calls: list[AggregateCall]
    ) -> Pattern:
        counts = {call.variable for call in calls if call.function in ("count", PREFIX + "count")}
        others = {call.variable for call in calls} - counts
        grouped = Pattern((), keys.certain | counts, keys.maybe | others)
        head = self._head(grouped)
        body = [Aggregate(pattern.body or (UNIT,), on, tuple(calls))] if calls else pattern.body
        self.rules.add(head, body)
        return replace(grouped, body=(head,))

    def _call(self, pattern: Pattern, node: Node) -> tuple[Pattern, AggregateCall]:
        """An aggregate over a variable of the pattern, which is added to it if need be."""
        name, result, distinct = (
            node.name.removeprefix("Aggregate_").lower(),
            Variable(str(node.res)),
            bool(node.distinct),
        )
        if name not in _AGGREGATES:
            refuse(_NAMES.get(node.name, name.upper()), "aggregates are COUNT, SUM, MIN, MAX, AVG and SAMPLE")
        if node.vars == "*":
            if distinct:
                refuse("COUNT(DISTINCT *)", "count over a subquery: { SELECT DISTINCT * { ... } }")
            return pattern, AggregateCall("count", None, result)
        expression = pattern.scope(self.outside).expression(node.vars)
        argument = self.rules.variable()
        pattern = self.extend(pattern, argument, expression)
        pattern = replace(pattern, certain=pattern.certain - {argument}, maybe=pattern.maybe - {argument})
        plain = name == "count" and (isinstance(expression, Constant) or expression in pattern.certain)
        return pattern, AggregateCall("count" if plain else PREFIX + name, argument, result, distinct)

    # Predicates for patterns.

    def _head(self, pattern: Pattern) -> Atom:
        return Atom(self.rules.fresh(), pattern.columns)

    def named(self, pattern: Pattern) -> Pattern:
        """The same solutions as a single atom."""
        if len(pattern.body) == 1 and isinstance(pattern.body[0], Atom):
            return pattern
        head = self._head(pattern)
        self.rules.add(head, pattern.body)
        return replace(pattern, body=(head,))

    def projected(self, pattern: Pattern, chosen: Sequence[Variable], distinct: bool) -> Pattern:
        """Only some of the variables; the others are hidden, under names of their own, or dropped if nobody counts."""
        kept = frozenset(chosen) & pattern.visible
        certain, maybe = pattern.certain & kept, pattern.maybe & kept
        if distinct:
            head = Atom(self.rules.fresh(), _sorted(kept))
            self.rules.add(head, pattern.body)
            return Pattern((head,), certain, maybe)
        fresh = {v: self.rules.variable() for v in _sorted(pattern.visible - kept)}
        renamed = _renamed(self._with_atom(pattern), fresh)
        return Pattern(renamed.body, certain, maybe, (*renamed.hidden, *fresh.values()))

    def _with_atom(self, pattern: Pattern) -> Pattern:
        head = self._head(pattern)
        self.rules.add(head, pattern.body)
        return replace(pattern, body=(head,))

    # Compatible solutions.

    def _cases(self, left: Pattern, right: Pattern) -> Iterator[_Case]:
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


_EXISTS = ("Builtin_EXISTS", "Builtin_NOTEXISTS")
_AGGREGATES = ("count", "sum", "min", "max", "avg", "sample")
_NAMES = {"Graph": "GRAPH", "ServiceGraphPattern": "SERVICE", "Aggregate_GroupConcat": "GROUP_CONCAT"}


def _sorted(variables: Any) -> tuple[Variable, ...]:
    return tuple(sorted(variables, key=lambda v: v.name))


def _unsure(left: Pattern, right: Pattern) -> tuple[Variable, ...]:
    """The shared variables that have no value in some solution of either."""
    return _sorted((left.visible & right.visible) - (left.certain & right.certain))


def _ways(variable: Variable, left: Pattern, right: Pattern) -> list[str]:
    """How solutions can be compatible in a variable: the same, or one side has none."""
    sides = (("left", left), ("right", right))
    return ["same", *(name for name, side in sides if variable in side.maybe)]


def _key(left: Pattern, right: Pattern, condition: Any) -> tuple[Variable, ...]:
    """The variables of the left that decide which solutions of the right match."""
    return _sorted(left.visible & (right.visible | variables_of(condition)))


def _conjuncts(expression: Any) -> list[Any]:
    if expression is None or getattr(expression, "name", "") == "TrueFilter":
        return []
    if getattr(expression, "name", "") == "ConditionalAndExpression":
        return [c for part in (expression.expr, *expression.other) for c in _conjuncts(part)]
    return [expression]


def _replaced(tree: Any, by_identity: Mapping[int, Any]) -> Any:
    """A copy of an expression with some of its nodes replaced."""
    if id(tree) in by_identity:
        return by_identity[id(tree)]
    if hasattr(tree, "items"):
        from rdflib.plugins.sparql.parserutils import CompValue

        return CompValue(tree.name, **{name: _replaced(part, by_identity) for name, part in tree.items()})
    return [_replaced(inner, by_identity) for inner in tree] if isinstance(tree, list) else tree


def _sampled(call: Node) -> tuple[Variable, Variable] | None:
    """The result of SAMPLE(?x), and ?x."""
    if call.name != "Aggregate_Sample" or not is_variable(call.vars):
        return None
    return Variable(str(call.res)), Variable(str(call.vars))


def _copied(pattern: Pattern, copy: Variable, variable: Variable) -> Pattern:
    """A pattern with one more variable, which has the value of another one, or none."""
    copied = pattern.with_literals(Bind(variable, copy))
    if variable in pattern.certain:
        return replace(copied, certain=copied.certain | {copy})
    return replace(copied, maybe=copied.maybe | {copy})


def _atom(pattern: Pattern) -> Atom:
    (atom,) = pattern.body
    assert isinstance(atom, Atom)
    return atom


def _substituted(atom: Atom, terms: Mapping[Variable, Term]) -> Atom:
    return replace(atom, terms=tuple(terms.get(t, t) if isinstance(t, Variable) else t for t in atom.terms))


def _renamed(pattern: Pattern, names: Mapping[Variable, Variable]) -> Pattern:
    """A pattern of atoms, with other names for some variables."""
    body = tuple(_substituted(literal, names) if isinstance(literal, Atom) else literal for literal in pattern.body)
    return replace(pattern, body=body, hidden=tuple(names.get(v, v) for v in pattern.hidden))
