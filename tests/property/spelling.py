"""Rules as text, in the three spellings of the language. Independent of the printer that is under test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from deltalog.core.rules import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Disjunction,
    Expression,
    Filter,
    NegatedBody,
    Negation,
    Pred,
    Rule,
    Term,
    Variable,
)
from deltalog.core.terms import IRI, BlankNode, Value, lexical
from deltalog.core.terms import Literal as RDFLiteral

INFIX = ("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&&", "||")


@dataclass(frozen=True)
class Spelling:
    variable: str
    brackets: str
    conjunction: str
    negation: str
    zodiac: bool = False  # COMP and `aggregate(...) on X with ...`


SPELLINGS = (
    Spelling("", "()", ", ", "not "),
    Spelling("?", "[]", ", ", "NOT "),
    Spelling("", "()", " and ", "not ", zodiac=True),
    Spelling("?", "()", ", ", "!"),
)


def spell_fact(pred: Pred, row: Sequence[Value]) -> str:
    return f"{pred.name}({', '.join(map(spell_value, row))})."


def spell_value(value: Value) -> str:
    match value:
        case IRI():
            return f"<{value}>"
        case BlankNode():
            return f"_:{value}"
        case bool() | int() | float():
            return lexical(value)
        case Decimal():
            return f'"{lexical(value)}"^^xsd:decimal'
        case RDFLiteral(language=str()):
            return f"{json.dumps(value.text)}@{value.language}"
        case RDFLiteral():
            return f"{json.dumps(value.text)}^^<{value.datatype}>"
        case tuple():
            return f"[{', '.join(map(spell_value, value))}]"
        case _:
            return json.dumps(lexical(value))


def spell_rule(rule: Rule, spelling: Spelling) -> str:
    heads = ", ".join(_atom(head, spelling) for head in rule.heads)
    return f"{heads} :- {_body(rule.body, spelling)} ." if rule.body else f"{heads} ."


def _body(body: Sequence[BodyLiteral], spelling: Spelling) -> str:
    return spelling.conjunction.join(_literal(literal, spelling) for literal in body)


def _atom(atom: Atom, spelling: Spelling) -> str:
    brackets = spelling.brackets if atom.terms else "()"
    return atom.name + brackets[0] + ", ".join(_term(term, spelling) for term in atom.terms) + brackets[1]


def _term(term: Term, spelling: Spelling) -> str:
    return spelling.variable + term.name if isinstance(term, Variable) else spell_value(term.value)


def _literal(literal: BodyLiteral, spelling: Spelling) -> str:
    match literal:
        case Atom():
            return _atom(literal, spelling)
        case Negation(atom):
            return spelling.negation + _atom(atom, spelling)
        case Filter(Call(("=" | "!=" | "<" | "<=" | ">" | ">=") as operator, (left, right))) if (
            spelling.zodiac and not isinstance(left, Call) and not isinstance(right, Call)
        ):
            return f"COMP({_term(left, spelling)}, {operator}, {_term(right, spelling)})"
        case Filter(condition):
            return f"FILTER({_expression(condition, spelling)})"
        case Bind(expression, variable):
            return f"BIND({_expression(expression, spelling)} AS {_term(variable, spelling)})"
        case Aggregate():
            return _aggregate(literal, spelling)
        case NegatedBody(body):
            return (
                f"{spelling.negation}({_body(body, spelling)})"
                if len(body) > 1
                else f"NOT EXISTS ({_body(body, spelling)})"
            )
        case Disjunction(alternatives):
            return f"({' ; '.join(_body(body, spelling) for body in alternatives)})"


def _expression(expression: Expression, spelling: Spelling) -> str:
    """Brackets around every operator: what binds tighter than what is the parser's own test."""
    if not isinstance(expression, Call):
        return _term(expression, spelling)
    arguments = [_expression(argument, spelling) for argument in expression.arguments]
    if expression.function == "%":  # between brackets it starts no comment
        arguments = [f"({argument})" for argument in arguments]
    if expression.function in INFIX and len(arguments) == 2:
        return f"({arguments[0]} {expression.function} {arguments[1]})"
    if expression.function in ("!", "-"):
        return f"({expression.function}({arguments[0]}))"
    return f"{expression.function}({', '.join(arguments)})"


def _aggregate(aggregate: Aggregate, spelling: Spelling) -> str:
    body = _body(aggregate.body, spelling)
    on = [_term(variable, spelling) for variable in aggregate.on]
    word = "PER" if aggregate.per else "ON"
    calls = [_call(call, spelling) for call in aggregate.calls]
    if spelling.zodiac:
        grouped = f" {word.lower()} {', '.join(on)}" if on else ""
        return f"aggregate({body}){grouped} {' '.join('with ' + call for call in calls)}"
    grouped = f" {word} {' '.join(on)}" if on else ""
    return f"AGGREGATE({body}{grouped} {' '.join('BIND ' + call for call in calls)})"


def _call(call: AggregateCall, spelling: Spelling) -> str:
    argument = "*" if call.argument is None else _expression(call.argument, spelling)
    distinct = "DISTINCT " if call.distinct else ""
    return f"{call.function.upper()}({distinct}{argument}) AS {_term(call.variable, spelling)}"
