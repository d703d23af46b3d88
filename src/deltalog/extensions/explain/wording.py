"""Texts of an explanation: literals and conditions with values put in, and the arithmetic of aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deltalog.core.rule_text import print_expression, print_value
from deltalog.core.rules import (
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Pred,
    Rule,
    Term,
    Variable,
)
from deltalog.core.terms import Value, key
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.extensions.explain.model import Absent, Condition, RuleRef
from deltalog.extensions.explain.rule_parts import atom_text, literal_text, predicate_text

Values = Mapping[Variable, Value]
SIGNS = {"sum": " + ", "avg": " + "}


@dataclass(frozen=True)
class Wording:
    """Texts in the rule language with the prefixes of a program. `size` is the number of facts of a predicate."""

    prefixes: Mapping[str, str]
    size: Callable[[Pred], int]
    written: dict[BodyLiteral, BodyLiteral] = field(default_factory=dict)  # what the user wrote for a literal
    shown_values: int = 10

    def rule(self, name: str, rule: Rule) -> RuleRef:
        """A rule as users know it."""
        text, span = shortened(str(rule), self.prefixes), rule.span
        if span is None:
            return RuleRef(name, text)
        is_text = span.source.name.startswith("<")
        return RuleRef(name, text, None if is_text else span.source.name, span.line)

    def literal(self, literal: BodyLiteral) -> str:
        return shortened(literal_text(self.written.get(literal, literal)), self.prefixes)

    def atom(self, atom: Atom, values: Values | None = None) -> str:
        """An atom with the values of those variables that have one."""
        return shortened(atom_text(instance(atom, values or {})), self.prefixes)

    def value(self, value: Value) -> str:
        return shortened(print_value(value), self.prefixes)

    def predicate(self, pred: Pred) -> str:
        return "triples" if pred.name == "[]" else shortened(predicate_text(pred), self.prefixes)

    def absent(self, atom: Atom, values: Values) -> Absent:
        """A negated atom that nothing matches."""
        if atom.pred.hidden:
            return Absent(self.atom(atom, values), "nothing matches")
        ground = instance(atom, values)
        count = self.size(atom.pred)
        name = self.predicate(atom.pred)
        if not count:
            reason = f"{name} has no facts"
        elif any(isinstance(term, Variable) for term in ground.terms):
            reason = f"none of the {count:,} facts of {name} matches" if count > 1 else f"the fact of {name} differs"
        else:
            reason = f"not among the {count:,} facts of {name}" if count > 1 else f"the fact of {name} differs"
        return Absent(self.atom(atom, values), reason)

    def condition(self, literal: Filter | Bind, values: Values) -> Condition:
        """A condition that holds."""
        if isinstance(literal, Filter):
            return Condition(self.literal(literal), self.expression(literal.condition, values))
        computed = self.expression(literal.expression, values)
        result = self.value(values[literal.variable])
        steps = [f"?{literal.variable.name}", *([computed] if computed != result else []), result]
        return Condition(self.literal(literal), " = ".join(steps))

    def expression(self, expression: Expression, values: Values) -> str:
        return shortened(print_expression(substituted(expression, values)), self.prefixes)

    def arithmetic(self, call: AggregateCall, members: Sequence[Value] | None, count: int, result: Value) -> str:
        """How an aggregate gets its result: `2 + 3 + ... = 17`."""
        if members is None:
            return f"count = {self.value(result)}"
        if call.distinct:
            members = list({key(value): value for value in members}.values())
        words = [self.value(value) for value in members[: self.shown_values]]
        words += ["..."] * (len(members) > len(words))
        sign = SIGNS.get(call.function)
        text = sign.join(words) if sign else f"{call.function}({', '.join(words)})"
        if call.function == "avg":
            text = f"({text}) / {len(members)}"
        return f"{text or '0'} = {self.value(result)}"


def instance(atom: Atom, values: Values) -> Atom:
    """An atom with values for variables; the others stay."""
    return replace(atom, terms=tuple(_valued(term, values) for term in atom.terms))


def _valued(term: Term, values: Values) -> Term:
    return Constant(values[term]) if isinstance(term, Variable) and term in values else term


def substituted(expression: Expression, values: Values) -> Expression:
    """An expression with values for variables."""
    match expression:
        case Variable():
            return _valued(expression, values)
        case Call():
            return replace(expression, arguments=tuple(substituted(one, values) for one in expression.arguments))
        case _:
            return expression
