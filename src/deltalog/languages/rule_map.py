"""Rules with other variables, values or functions, for writers."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from itertools import count

from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Disjunction,
    Expression,
    Filter,
    NegatedBody,
    Negation,
    Rule,
    Term,
    Variable,
    variables,
)

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class RuleMap:
    """Rewrites rules of the core language from the leaves up; itself, it replaces variables by `names`."""

    def __init__(self, names: Mapping[Variable, Variable] | None = None) -> None:
        self.names: Mapping[Variable, Variable] = names or {}

    def rule(self, rule: Rule) -> Rule:
        heads = tuple(self.atom(head) for head in rule.heads)
        body = tuple(self.literal(literal) for literal in rule.body)
        return rule if (heads, body) == (rule.heads, rule.body) else replace(rule, heads=heads, body=body)

    def literal(self, literal: BodyLiteral) -> BodyLiteral:
        match literal:
            case Atom():
                return self.atom(literal)
            case Negation(atom):
                return replace(literal, atom=self.atom(atom))
            case Filter(condition):
                return replace(literal, condition=self.expression(condition))
            case Bind(expression, variable):
                return replace(literal, expression=self.expression(expression), variable=self.variable(variable))
            case Aggregate(body, on, calls):
                inner, groups = tuple(map(self.literal, body)), tuple(map(self.variable, on))
                return replace(literal, body=inner, on=groups, calls=tuple(map(self._call, calls)))
        return literal

    def _call(self, call: AggregateCall) -> AggregateCall:
        argument = None if call.argument is None else self.expression(call.argument)
        return replace(call, argument=argument, variable=self.variable(call.variable))

    def atom(self, atom: Atom) -> Atom:
        return replace(atom, terms=tuple(self.term(term) for term in atom.terms))

    def variable(self, variable: Variable) -> Variable:
        return self.names.get(variable, variable)

    def term(self, term: Term) -> Term:
        return term if isinstance(term, Constant) else self.variable(term)

    def expression(self, expression: Expression) -> Expression:
        if not isinstance(expression, Call):
            return self.term(expression)
        return replace(expression, arguments=tuple(map(self.expression, expression.arguments)))


def new_names(
    rule: Rule, is_wrong: Callable[[Variable], bool], reserved: Container[str] = ()
) -> dict[Variable, Variable]:
    """v1, v2, ... for variables whose names cannot be written; no other variable of the rule has these names."""
    found = dict.fromkeys(v for literal in (*rule.heads, *rule.body) for v in all_variables(literal))
    taken = {v.name for v in found}
    free = (name for name in (f"v{i}" for i in count(1)) if name not in taken and name not in reserved)
    return {v: Variable(next(free), v.span) for v in found if is_wrong(v)}


def with_plain_names(rule: Rule, reserved: Container[str] = ()) -> Rule:
    """A rule whose variables have names of letters and digits, and none that is reserved."""

    def is_wrong(v: Variable) -> bool:
        return not v.anonymous and (not _PLAIN.fullmatch(v.name) or v.name in reserved)

    return RuleMap(new_names(rule, is_wrong, reserved)).rule(rule)


def all_variables(literal: BodyLiteral) -> Iterator[Variable]:
    """Those of bodies inside of it, too."""
    yield from variables(literal)
    bodies = literal.alternatives if isinstance(literal, Disjunction) else ()
    if isinstance(literal, Aggregate | NegatedBody):
        bodies = (literal.body,)
    yield from (v for body in bodies for one in body for v in all_variables(one))
    if isinstance(literal, Aggregate):
        yield from (v for call in literal.calls if call.argument is not None for v in variables(call.argument))
