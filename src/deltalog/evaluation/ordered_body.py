"""The body of a rule as nested loops, in the order in which it is written.

Atoms are loops in the order of writing, conditions are checked as soon as their variables have values. Variables and
constants have places in one list of values, which the loops fill in; so a step only overwrites the values that are new
in it, and what is bound where is known before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter

from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Term,
    Variable,
    variables,
)
from deltalog.core.terms import Value
from deltalog.evaluation.ordered_rows import OrderedRows, StageRow, ValueOrder
from deltalog.functions.ordered import COUNTER
from deltalog.functions.scalar import ExpressionFails, aggregate, compiled, truth

_LOOPS = Atom | Aggregate
BodyStep = Callable[[], None]
StageFunction = Callable[[Sequence[Value]], Value]
RowFound = Callable[[StageRow], object]
Ask = Callable[[StageRow], Value]  # the result of an aggregate for given values; ExpressionFails if it has none


class OrderedBody:
    """A body that can be evaluated many times, over other relations each time. `wanted` are the terms whose values are
    asked for, `given` variables that have values before. Functions in `special` have no arguments and no constant
    value; relations in `ask` are aggregates that are computed for given values."""

    def __init__(
        self,
        body: Sequence[BodyLiteral],
        wanted: Sequence[Term],
        check: Callable[[], None],
        special: Mapping[str, Callable[[], Value]],
        ask: Mapping[Pred, Ask],
        given: Sequence[Variable] = (),
    ) -> None:
        self._check, self._special, self._ask = check, special, ask
        self._values: list[Value] = []
        self._places: dict[Term, int] = {}
        self._reads: dict[int, Pred] = {}
        self._groups: dict[int, Groups] = {}
        self._rows: dict[int, OrderedRows] = {}
        self._found: RowFound = print
        self._given = [self._place(variable) for variable in given]
        bound, steps = set(given), list[tuple[int, frozenset[Variable]]]()
        for at in arranged(body, given):
            steps.append((at, frozenset(bound)))
            if not isinstance(body[at], Negation):
                bound.update(variables(body[at]))
        self._first = self._last_step(wanted)
        for at, known in reversed(steps):
            self._first = self._step(at, body[at], known, self._first)

    def run(self, rows: Callable[[int, Pred], OrderedRows], found: RowFound, given: Sequence[Value] = ()) -> None:
        """Calls `found` with the wanted values of each binding, in order; `rows` gives the facts of an atom, by its
        number (-1: in an aggregate) and its predicate."""
        self._rows = {at: rows(at, pred) for at, pred in self._reads.items()}
        self._rows |= {at: groups.rows(lambda _, pred: rows(-1, pred)) for at, groups in self._groups.items()}
        self._found = found
        for place, value in zip(self._given, given, strict=True):
            self._values[place] = value
        self._first()

    def _place(self, term: Term) -> int:
        """The place of a term in the list of values."""
        if term not in self._places:
            self._places[term] = len(self._values)
            self._values.append(term.value if isinstance(term, Constant) else False)
        return self._places[term]

    # Steps: each calls the next one for every binding.

    def _last_step(self, wanted: Sequence[Term]) -> BodyStep:
        values, row = self._values, _row_of([self._place(term) for term in wanted])

        def last() -> None:
            self._found(row(values))

        return last

    def _step(self, at: int, literal: BodyLiteral, known: frozenset[Variable], then: BodyStep) -> BodyStep:
        match literal:
            case Atom() if literal.pred in self._ask:
                return self._asked(literal, known, then)
            case Atom():
                self._reads[at] = literal.pred
                return self._join(at, literal, known, then)
            case Aggregate():
                self._groups[at] = Groups(literal, self._inner)
                results = Atom("", tuple(variables(literal)))
                return self._join(at, results, known, then)
            case Negation(atom=atom):
                self._reads[at] = atom.pred
                return self._absent(at, atom, known, then)
            case Filter(condition=condition):
                return self._checked(condition, known, then)
            case Bind(expression=expression, variable=variable):
                return self._computed(self._function(expression, known), variable, known, then)
        raise AssertionError(literal)

    def _join(self, at: int, atom: Atom, known: frozenset[Variable], then: BodyStep) -> BodyStep:
        values, check, matches = self._values, self._check, self._matches(at, atom, known)
        new = {t: i for i, t in reversed([*enumerate(atom.terms)]) if isinstance(t, Variable) and t not in known}
        filled = [(self._place(variable), i) for variable, i in new.items()]
        same = _repeated(atom, new)

        def join() -> None:
            check()
            for row in matches():
                for place, i in filled:
                    values[place] = row[i]
                if not same or all(row[i] == row[j] for i, j in same):
                    then()

        return join

    def _absent(self, at: int, atom: Atom, known: frozenset[Variable], then: BodyStep) -> BodyStep:
        matches = self._matches(at, atom, known)
        same = _repeated(atom, {t: i for i, t in enumerate(atom.terms) if isinstance(t, Variable) and t not in known})

        def absent() -> None:
            if not any(all(row[i] == row[j] for i, j in same) for row in matches()):
                then()

        return absent

    def _matches(self, at: int, atom: Atom, known: frozenset[Variable]) -> Callable[[], Sequence[StageRow]]:
        """The facts that agree with what is known."""
        places = tuple(i for i, term in enumerate(atom.terms) if isinstance(term, Constant) or term in known)
        values, sources = self._values, [self._place(atom.terms[i]) for i in places]
        if len(places) == len(atom.terms):
            row = _row_of(sources)
            return lambda: self._rows[at].alone(row(values))
        if not places:
            return lambda: self._rows[at].in_order()
        wanted = itemgetter(*sources)
        return lambda: self._rows[at].having(places, wanted(values))

    def _checked(self, condition: Expression, known: frozenset[Variable], then: BodyStep) -> BodyStep:
        values, value = self._values, self._function(condition, known)

        def checked() -> None:
            try:
                holds = truth(value(values))
            except ExpressionFails:
                return
            if holds:
                then()

        return checked

    def _computed(self, value: StageFunction, term: Term, known: frozenset[Variable], then: BodyStep) -> BodyStep:
        values, place, is_known = self._values, self._place(term), isinstance(term, Constant) or term in known

        def computed() -> None:
            try:
                found = value(values)
            except ExpressionFails:
                return
            if not is_known:
                values[place] = found
                then()
            elif Constant(values[place]) == Constant(found):
                then()

        return computed

    def _inner(self, body: Sequence[BodyLiteral], wanted: Sequence[Term]) -> OrderedBody:
        return OrderedBody(body, wanted, self._check, self._special, self._ask)

    def _asked(self, atom: Atom, known: frozenset[Variable], then: BodyStep) -> BodyStep:
        ask, row = self._ask[atom.pred], _row_of([self._place(term) for term in atom.terms[:-1]])
        return self._computed(lambda values: ask(row(values)), atom.terms[-1], known, then)

    def _function(self, expression: Expression, known: Collection[Variable]) -> StageFunction:
        if isinstance(expression, Call) and expression.function in self._special:
            special = self._special[expression.function]
            return lambda values: special()
        return compiled(expression, {v: self._place(v) for v in variables(expression) if v in known})


class Groups:
    """An aggregate over relations that do not change: its ON variables and results, for each group."""

    def __init__(
        self, literal: Aggregate, body: Callable[[Sequence[BodyLiteral], Sequence[Variable]], OrderedBody]
    ) -> None:
        self._literal = literal
        names = aggregated_variables(literal)
        self._body = body(literal.body, names)
        places = {variable: place for place, variable in enumerate(names)}
        self._arguments = [compiled(call.argument or Constant(True), places) for call in literal.calls]

    def rows(self, rows: Callable[[int, Pred], OrderedRows]) -> OrderedRows:
        """The groups, as facts; an argument that fails is left out, and so is a group of which a result fails."""
        found: dict[StageRow, None] = {}
        self._body.run(rows, found.setdefault)
        on = len(self._literal.on)
        members: dict[StageRow, list[StageRow]] = {} if on else {(): []}
        for row in found:
            with suppress(ExpressionFails):
                arguments = tuple(argument(row) for argument in self._arguments)
                members.setdefault(row[:on], []).append(arguments)
        groups = OrderedRows(ValueOrder())
        for group, arguments_of in members.items():
            with suppress(ExpressionFails):
                groups.add((*group, *self._results(arguments_of)))
        return groups

    def _results(self, arguments: Sequence[StageRow]) -> Iterator[Value]:
        for place, call in enumerate(self._literal.calls):
            yield aggregate(call.function, [row[place] for row in arguments], call.distinct)


def aggregated_variables(literal: Aggregate) -> tuple[Variable, ...]:
    """The variables of an aggregate, those that it is grouped by first: each binding of them counts once."""
    positive = (each for each in literal.body if not isinstance(each, Negation))
    return tuple(dict.fromkeys((*literal.on, *(v for each in positive for v in variables(each)))))


def _repeated(atom: Atom, new: Mapping[Variable, int]) -> list[tuple[int, int]]:
    """The places of a new variable that occurs again, each with one of its other places."""
    again = ((i, new.get(term, i)) for i, term in enumerate(atom.terms) if isinstance(term, Variable))
    return [(i, j) for i, j in again if i != j]


def _row_of(places: Sequence[int]) -> Callable[[Sequence[Value]], StageRow]:
    """A function that takes some values from a list."""
    if not places:
        return lambda values: ()
    if len(places) == 1:
        [place] = places
        return lambda values: (values[place],)
    return itemgetter(*places)


def arranged(body: Sequence[BodyLiteral], given: Iterable[Variable] = ()) -> Iterator[int]:
    """The literals in the order of evaluation: atoms and aggregates as they are written, the others as soon as they can
    be checked."""
    waiting = list(range(len(body)))
    bound = set(given)
    positive = {v for literal in body if isinstance(literal, Bind | _LOOPS) for v in variables(literal)}
    while waiting:
        ready = [
            at for at in waiting if not isinstance(body[at], _LOOPS) and bound.issuperset(_needs(body[at], positive))
        ]
        at = ready[0] if ready else next((at for at in waiting if isinstance(body[at], _LOOPS)), waiting[0])
        waiting.remove(at)
        bound.update(variables(body[at]))
        yield at


def _needs(literal: BodyLiteral, positive: set[Variable]) -> set[Variable]:
    if isinstance(literal, Bind):
        counts = isinstance(literal.expression, Call) and literal.expression.function == COUNTER
        return positive - {literal.variable} if counts else set(variables(literal.expression))
    return positive.intersection(variables(literal))
