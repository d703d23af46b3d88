"""From rules as written to rules of the core language, which is all that engines know.

    h <- b, (c ; d)               h <- b, c                          one rule for each alternative
                                  h <- b, d

    h <- b(x), NOT (c(x, y), d)   #not(x) <- c(x, y), d              a relation for the negated body, over the
                                  h <- b(x), NOT #not(x)             variables that have values outside of it

    h <- b(x),                    #given(x) <- b(x)                  the values of the group variables
         AGGREGATE(c(x, y)        #per(x, n) <- AGGREGATE(#given(x), c(x, y) ON x BIND COUNT(y) AS n)
         PER x BIND               #per(x, 0) <- #given(x), NOT #some(x)       empty groups: only COUNT and SUM have a
         COUNT(y) AS n)           #some(x) <- #given(x), c(x, y)              value for nothing
                                  h <- b(x), #per(x, n)

A negated body that needs values from outside (`NOT (c(?y), ?y < ?x)`) reads a relation #given as well. It is derived
from as few literals of the rule as give these values, preferably none of the rule's own predicate: the less it reads,
the fewer programs have a cycle through the negation. Disjunctions inside of an aggregate are a relation #any, with the
variables that all alternatives give values to.

Equalities that take tuples apart become BINDs (`deltalog.program.destructure`).

Relations are named after what they stand for, so equal parts of rules share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from deltalog.core.rule_text import print_body, print_term
from deltalog.core.rules import (
    Aggregate,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Disjunction,
    Filter,
    NegatedBody,
    Negation,
    PartName,
    Rule,
    Variable,
    variables,
)
from deltalog.program.analysis import Analysis
from deltalog.program.binding import bound
from deltalog.program.destructure import destructured

CoreBody = tuple[BodyLiteral, ...]
_ZERO = {"count", "sum"}  # the aggregates that have a value for nothing


def expand_rules(analysis: Analysis) -> Analysis:
    """A pass: the rules of the core language, each once."""
    core_of = {rule: core_rules(rule) for rule in analysis.rules}
    return analysis.having(
        core_of=core_of, core=tuple(dict.fromkeys(made for core in core_of.values() for made in core))
    )


def core_rules(rule: Rule) -> tuple[Rule, ...]:
    """The rules of the core language that a rule stands for; itself alone if it is one."""
    if all(isinstance(literal, Atom | Negation | Bind) for literal in rule.body):
        return (rule,)
    made: dict[Rule, None] = {}
    bodies = _conjunctions(rule.body)
    for body in bodies:
        expanded = _Body(body, rule, made).expanded()
        made[rule if expanded == rule.body else replace(rule, body=expanded)] = None
    return tuple(made)


def _conjunctions(body: CoreBody) -> list[CoreBody]:
    """The alternatives of a body, without disjunctions at their top."""
    choices = [_alternatives(literal) for literal in body]
    return [tuple(literal for part in parts for literal in part) for parts in product(*choices)]


def _alternatives(literal: BodyLiteral) -> list[CoreBody]:
    if not isinstance(literal, Disjunction):
        return [(literal,)]
    return [conjunction for body in literal.alternatives for conjunction in _conjunctions(body)]


class _Body:
    """A conjunction, and the rules that are made for its parts."""

    def __init__(self, body: CoreBody, rule: Rule, made: dict[Rule, None]) -> None:
        self.rule, self.made = rule, made
        positive = [one for one in body if not isinstance(one, Negation | NegatedBody)]
        self.outer = destructured([one for one in positive if not (isinstance(one, Aggregate) and one.per)])
        self.body = [self._per(one) if isinstance(one, Aggregate) and one.per and one.on else one for one in body]
        self.outer = destructured([one for one in self.body if not isinstance(one, Negation | NegatedBody)])
        self.has_value = bound(self.outer)

    def expanded(self) -> CoreBody:
        return destructured([self._literal(literal) for literal in self.body])

    def _literal(self, literal: BodyLiteral) -> BodyLiteral:
        match literal:
            case NegatedBody():
                return self._negated(literal)
            case Aggregate():
                return self._aggregate(literal)
            case _:
                return literal

    # NOT (...)

    def _negated(self, literal: NegatedBody) -> BodyLiteral:
        names = tuple(dict.fromkeys(v for v in variables(literal) if v in self.has_value))
        bodies = _conjunctions(literal.body)
        given = self._given(tuple(v for v in names if not all(v in _gives(body) for body in bodies)))
        head = Atom(_name("not", literal.body, names, given), names, literal.span)
        for body in bodies:
            self._add(head, _Body((*given, *body), self.rule, self.made).expanded(), literal)
        return Negation(head, literal.span)

    # AGGREGATE(...)

    def _aggregate(self, literal: Aggregate) -> Aggregate:
        """An aggregate over a body of the core language."""
        body = self._inner(literal)
        return literal if body == literal.body and not literal.per else replace(literal, body=body, per=False)

    def _inner(self, literal: Aggregate, given: CoreBody = ()) -> CoreBody:
        bodies = [_Body((*given, *body), self.rule, self.made).expanded() for body in _conjunctions(literal.body)]
        if len(bodies) == 1:
            return bodies[0]
        inside = dict.fromkeys(v for inner in literal.body for v in variables(inner))
        names = tuple(v for v in inside if all(v in bound(body) for body in bodies))
        head = Atom(_name("any", literal.body, names, given), names, literal.span)
        for body in bodies:
            self._add(head, body, literal)
        return (head,)

    def _per(self, literal: Aggregate) -> Atom:
        given = self._given(literal.on)
        results = tuple(call.variable for call in literal.calls)
        columns = tuple(dict.fromkeys((*literal.on, *results)))
        name = PartName(_text("per", (literal,), literal.on, given), (literal,), columns)
        head = Atom(name, columns, literal.span)
        inner = (*given, *(one for one in self._inner(literal, given) if one not in given))
        self._add(head, (replace(literal, body=inner, per=False),), literal)
        if all(call.function in _ZERO for call in literal.calls):
            text = _text("some", (literal,), literal.on, given)
            some = Atom(PartName(text, literal.body, literal.on), literal.on, literal.span)
            arguments = [Bind(c.argument, Variable(f"#argument{i}")) for i, c in enumerate(literal.calls) if c.argument]
            self._add(some, (*inner, *arguments), literal)
            nothing = Atom(name, tuple(Constant(0) if v in results else v for v in variables(head)), literal.span)
            self._add(nothing, (*given, Negation(some, literal.span)), literal)
        return head

    # What is shared.

    def _add(self, head: Atom, body: CoreBody, literal: BodyLiteral) -> None:
        self.made[Rule((head,), body, literal.span)] = None

    def _given(self, names: tuple[Variable, ...]) -> CoreBody:
        """An atom that gives variables the values that they can have in this body."""
        if not names:
            return ()
        body = self._giving(names)
        if len(body) == 1 and isinstance(body[0], Atom) and set(variables(body[0])) == set(names):
            return body
        head = Atom(_name("given", body, names), names, names[0].span)
        self.made[Rule((head,), body, self.rule.span)] = None
        return (head,)

    def _giving(self, names: Iterable[Variable]) -> CoreBody:
        """Literals of this body that give variables their values."""
        heads = {head.pred for head in self.rule.heads}
        ranked = sorted(self.outer, key=lambda one: not isinstance(one, Atom) or one.pred in heads)
        chosen: list[BodyLiteral] = []
        waiting = list(names)
        while waiting:
            variable = waiting.pop()
            if variable in bound(chosen):
                continue
            source = next((one for one in ranked if one not in chosen and variable in _sources(one)), None)
            if source is not None:
                chosen.append(source)
                waiting += variables(source)
        return tuple(one for one in self.outer if one in chosen)


def _gives(body: CoreBody) -> set[Variable]:
    """The variables that a body as written gives values to."""
    return bound(destructured([literal for literal in body if not isinstance(literal, Negation | NegatedBody)]))


def _sources(literal: BodyLiteral) -> Iterator[Variable]:
    """The variables that a literal can give values to."""
    match literal:
        case Bind(variable=variable):
            yield variable
        case Filter(condition=Call(function="=", arguments=sides)):
            yield from (side for side in sides if isinstance(side, Variable))
        case Atom() | Aggregate():
            yield from variables(literal)


def _name(what: str, written: CoreBody, names: tuple[Variable, ...], given: CoreBody = ()) -> PartName:
    """The name of a relation for a part of a rule, over some of its variables."""
    return PartName(_text(what, written, names, given), written, names)


def _text(what: str, written: CoreBody, names: Sequence[Variable], given: CoreBody) -> str:
    """What a relation stands for, and everything that its rules depend on."""
    after = f" given {' '.join(atom.name for atom in given if isinstance(atom, Atom))}" if given else ""
    return f"#{what}({', '.join(map(print_term, names))}) {print_body(written)}{after}"
