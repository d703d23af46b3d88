"""A second oracle that shares nothing with us: clingo, on the part of the language that it can express.

Positive atoms, stratified negation, `= != < <= > >=` and `+ * %` on integers and strings. A negated atom with
existential variables becomes a predicate of its own, projected to the other variables. Arithmetic on a string is
undefined in clingo and drops the instance, as it does here; so does no comparison, hence no order between mixed values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import clingo
from programs import Example

from deltalog.core.rules import (
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Pred,
    Rule,
    Variable,
    variables,
)
from deltalog.core.terms import Value

OPERATORS = {"%": "\\"}


def materialise(example: Example) -> dict[Pred, set[tuple[Value, ...]]]:
    """The one answer set of the example."""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], translate(example))
    control.ground([("base", [])])
    result: dict[Pred, set[tuple[Value, ...]]] = {}
    with control.solve(yield_=True) as handle:
        (symbols,) = [model.symbols(atoms=True) for model in handle]
    for symbol in symbols:
        if not symbol.name.startswith("without_"):
            row = tuple(_value(argument) for argument in symbol.arguments)
            result.setdefault(Pred(symbol.name, len(row)), set()).add(row)
    return result


def _value(symbol: clingo.Symbol) -> Value:
    return symbol.number if symbol.type is clingo.SymbolType.Number else symbol.string


def translate(example: Example) -> str:
    lines = [_atom(Atom(p.name, tuple(map(Constant, row)))) + "." for p, rows in example.facts.items() for row in rows]
    for number, rule in enumerate(example.rules):
        lines.extend(_rule(rule, number))
    return "\n".join(lines)


def _rule(rule: Rule, number: int) -> Iterator[str]:
    bound = {v for literal in rule.body if isinstance(literal, Atom | Bind) for v in variables(literal)}
    body = []
    for position, literal in enumerate(rule.body):
        if isinstance(literal, Negation):
            seen = tuple(dict.fromkeys(v for v in variables(literal) if v in bound))
            projected = Atom(f"without_{number}_{position}", seen)
            yield f"{_atom(projected)} :- {_atom(literal.atom)}."
            body.append(f"not {_atom(projected)}")
        else:
            body.append(_literal(literal))
    for head in rule.heads:
        yield f"{_atom(head)} :- {', '.join(body)}." if body else f"{_atom(head)}."


def _literal(literal: BodyLiteral) -> str:
    match literal:
        case Atom():
            return _atom(literal)
        case Filter(Call(operator, (left, right))):
            return f"{_expression(left)} {operator} {_expression(right)}"
        case Bind(expression, variable):
            return f"{_expression(variable)} = {_expression(expression)}"
    raise AssertionError(f"clingo cannot express {literal}")


def _atom(atom: Atom) -> str:
    return f"{atom.name}({_expressions(atom.terms)})" if atom.terms else atom.name


def _expressions(terms: Sequence[Expression]) -> str:
    return ", ".join(map(_expression, terms))


def _expression(expression: Expression) -> str:
    match expression:
        case Variable(name):
            return name
        case Constant(str() as text):
            return json.dumps(text)
        case Constant(value):
            return str(value)
        case Call(operator, (left, right)):
            return f"({_expression(left)} {OPERATORS.get(operator, operator)} {_expression(right)})"
    raise AssertionError(f"clingo cannot express {expression}")
