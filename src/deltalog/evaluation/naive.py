"""The oracle: Datalog as its definition says, slow and obvious.

For each hyper-node in order, apply every rule to everything that is known, until nothing is new. A body is evaluated
literal by literal, over the list of all bindings so far. There is no plan, no delta and no statistics, and nothing is
shared with the other engines but the rules, the values and the meaning of expressions; so what this and another engine
agree on is most likely right. Keep it a page long.

Rows are tuples of `Constant`, whose equality keeps 1, 1.0, True, "1" and <1> apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deltalog.core.limits import FactCount, Limits
from deltalog.core.rules import (
    TRIPLES,
    TYPES,
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import IRI, Value
from deltalog.functions.scalar import ExpressionFails, aggregate, evaluate
from deltalog.program import Program

ConstantRow = tuple[Constant, ...]
Binding = dict[Variable, Constant]


class FactStore:
    """The known facts: the rows of each predicate, and the rows that have a given value in a given column."""

    def __init__(self, limits: Limits) -> None:
        self._check = limits.checker()
        self.rows: defaultdict[Pred, set[ConstantRow]] = defaultdict(set)
        self._having: defaultdict[tuple[Pred, int, Constant], list[ConstantRow]] = defaultdict(list)

    def add(self, pred: Pred, row: ConstantRow) -> bool:
        """Whether the fact is new."""
        if row in self.rows[pred]:
            return False
        self.rows[pred].add(row)
        for column, value in enumerate(row):
            self._having[pred, column, value].append(row)
        return True

    def matching(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        """The ways to extend a binding so that the atom is a known fact."""
        self._check()
        known = [(i, value_of(t, binding)) for i, t in enumerate(atom.terms)]
        lists = [self._having.get((atom.pred, i, value), []) for i, value in known if value is not None]
        for row in min(lists, key=len, default=list(self.rows.get(atom.pred, ()))):
            extended = unify(atom.terms, row, binding)
            if extended is not None:
                yield extended


def value_of(term: Term, binding: Binding) -> Constant | None:
    return term if isinstance(term, Constant) else binding.get(term)


def unify(terms: Sequence[Term], row: ConstantRow, binding: Binding) -> Binding | None:
    extended = dict(binding)
    for term, value in zip(terms, row, strict=True):
        if isinstance(term, Variable):
            term = extended.setdefault(term, value)
        if term != value:
            return None
    return extended


def materialise(
    program: Program,
    facts: Mapping[Pred, Iterable[Sequence[Value]]],
    counted: FactCount,
    goal: bool = False,
) -> dict[Pred, set[ConstantRow]]:
    """Everything that follows from the facts and the program, the facts included. Towards the limit of facts counts
    what a user sees; for a goal, everything that is derived."""
    known = FactStore(counted.limits)
    apply([Rule((fact,)) for fact in program.facts], known)
    for pred, rows in facts.items():
        for row in rows:
            known.add(pred, tuple(map(Constant, row)))
    limited = counted.limits.max_facts is not None
    if limited and not goal:
        counted.reach(visible(known.rows))
    for hyper_node in program.hyper_nodes:
        while new := apply(hyper_node.rules, known):
            if limited:
                counted.reach(counted.total + new if goal else visible(known.rows))
    return {pred: rows for pred, rows in known.rows.items() if rows}


def visible(facts: Mapping[Pred, set[ConstantRow]]) -> int:
    """How many facts a user sees: a triple is a fact of its predicate, or of its class."""
    seen: set[tuple[Pred, ConstantRow]] = set()
    for pred, row in ((pred, row) for pred, rows in facts.items() if not pred.hidden for row in rows):
        if pred == TRIPLES and is_name(row[1].value):
            pred, row = Pred(str(row[1].value), 2), (row[0], row[2])
        if pred == TYPES and is_name(row[1].value):
            pred, row = Pred(str(row[1].value), 1), (row[0],)
        seen.add((pred, row))
    return len(seen)


def is_name(value: Value) -> bool:
    """Whether a value is the name of a class or a property."""
    return isinstance(value, IRI) and ":" in value


def apply(rules: Iterable[Rule], known: FactStore) -> int:
    """Adds what the rules derive in one step; how many facts were new."""
    derived = [
        (head.pred, tuple(term if isinstance(term, Constant) else binding[term] for term in head.terms))
        for rule in rules
        for binding in bindings(rule.body, known)
        for head in rule.heads
    ]
    return sum([known.add(pred, row) for pred, row in derived])


def bindings(body: Sequence[BodyLiteral], known: FactStore) -> list[Binding]:
    """The bindings of all variables of a body for which it holds."""
    result: list[Binding] = [{}]
    for literal in in_order(body):
        result = [extended for binding in result for extended in extensions(literal, binding, known)]
    return result


def in_order(body: Sequence[BodyLiteral]) -> Iterator[BodyLiteral]:
    """The literals so that every expression finds its variables bound; negations last, when all is bound."""
    waiting = sorted(body, key=lambda literal: (isinstance(literal, Negation), not isinstance(literal, Aggregate)))
    bound: set[Variable] = set()
    while waiting:
        ready = next(literal for literal in waiting if bound.issuperset(needs(literal)))
        waiting.remove(ready)
        bound.update(variables(ready))
        yield ready


def needs(literal: BodyLiteral) -> Iterator[Variable]:
    match literal:
        case Filter(condition):
            return variables(condition)
        case Bind(expression):
            return variables(expression)
        case _:
            return iter(())


def extensions(literal: BodyLiteral, binding: Binding, known: FactStore) -> Iterator[Binding]:
    match literal:
        case Atom():
            yield from known.matching(literal, binding)
        case Negation(atom):
            if next(known.matching(atom, binding), None) is None:
                yield binding
        case Filter(condition):
            if value_of_expression(condition, binding) == Constant(True):
                yield binding
        case Bind(expression, variable):
            value = value_of_expression(expression, binding)
            if value is not None and binding.get(variable, value) == value:
                yield binding | {variable: value}
        case Aggregate():
            for group in groups(literal, known):
                if all(binding.get(variable, value) == value for variable, value in group.items()):
                    yield binding | group


def value_of_expression(expression: Expression, binding: Binding) -> Constant | None:
    """The value of an expression; None when it fails."""
    try:
        return Constant(evaluate(expression, {variable: constant.value for variable, constant in binding.items()}))
    except ExpressionFails:
        return None


def groups(literal: Aggregate, known: FactStore) -> Iterator[Binding]:
    """One binding of the ON variables and the results for each group; with no ON variables there is one group."""
    members: defaultdict[ConstantRow, list[ConstantRow]] = defaultdict(list)
    if not literal.on:
        members[()] = []
    for binding in {frozenset(binding.items()): binding for binding in bindings(literal.body, known)}.values():
        arguments = [value_of_expression(call.argument or Constant(True), binding) for call in literal.calls]
        if None not in arguments:
            members[tuple(binding[v] for v in literal.on)].append(tuple(a for a in arguments if a is not None))
    columns = (*literal.on, *(call.variable for call in literal.calls))
    for group, rows in members.items():
        try:
            results = unify(columns, group + aggregated(literal.calls, rows), {})
        except ExpressionFails:
            continue
        if results is not None:
            yield results


def aggregated(calls: Sequence[AggregateCall], rows: list[ConstantRow]) -> ConstantRow:
    """The result of each call over the rows of its arguments."""
    return tuple(
        Constant(aggregate(call.function, [row[i].value for row in rows], call.distinct and call.argument is not None))
        for i, call in enumerate(calls)
    )
