"""From rules to text, in a canonical spelling: parsing the text gives equal rules.

Variables are `?x`; constants that are plain small names are bare, other strings are quoted; predicates that are not
plain names are `<iri>`s. There are no prefixes, so a printed rule is self-contained.
"""

from __future__ import annotations

import re

from deltalog.core.rules import (
    TRIPLE,
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
)
from deltalog.core.terms import IRI, BlankNode, Literal, Value, datatype, lexical
from deltalog.functions.signatures import CASTS, COMPARISONS

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_BARE_CONSTANT = re.compile(r"[a-z][A-Za-z0-9_]*")
_PLAIN_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
_WORDS = frozenset(("and", "not", "filter", "bind", "comp", "aggregate", "on", "with", "as", "distinct")) | {
    "or",
    "exists",
    "in",
    "per",
    "true",
    "false",
    "prefix",
    "base",
}

# How tightly an operator binds; what is not here is a function.
_BINDS = {"||": 1, "&&": 2, **dict.fromkeys(COMPARISONS, 3), "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_UNARY = 6


def print_rule(rule: Rule) -> str:
    heads = ", ".join(map(print_atom, rule.heads))
    if not rule.body:
        return f"{heads} ."
    return f"{heads} :- {print_body(rule.body)} ."


def print_body(body: tuple[BodyLiteral, ...]) -> str:
    return ", ".join(map(print_literal, body))


def print_atom(atom: Atom) -> str:
    terms = ", ".join(map(print_term, atom.terms))
    return f"[{terms}]" if atom.name == TRIPLE and len(atom.terms) == 3 else f"{print_predicate(atom.name)}({terms})"


def print_predicate(name: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else print_iri(name)


def print_literal(literal: BodyLiteral) -> str:
    match literal:
        case Atom():
            return print_atom(literal)
        case Negation(atom):
            return f"NOT {print_atom(atom)}"
        case Filter(Call(function) as condition) if function in COMPARISONS:
            return print_expression(condition)
        case Filter(condition):
            return f"FILTER({print_expression(condition)})"
        case Bind(expression, variable):
            return f"BIND({print_expression(expression)} AS {print_term(variable)})"
        case Aggregate(body, on, calls):
            group = "".join(f" {print_term(v)}" for v in on)
            binds = "".join(f" BIND {print_aggregate_call(call)}" for call in calls)
            word = (" PER" if literal.per else " ON") if on else ""
            return f"AGGREGATE({print_body(body)}{word}{group}{binds})"
        case NegatedBody(body):
            return f"NOT EXISTS ({print_body(body)})"
        case Disjunction(alternatives):
            return f"({' ; '.join(map(print_body, alternatives))})"


def print_aggregate_call(call: AggregateCall) -> str:
    argument = "*" if call.argument is None else print_expression(call.argument)
    distinct = "DISTINCT " if call.distinct else ""
    return f"{call.function.upper()}({distinct}{argument}) AS {print_term(call.variable)}"


def print_expression(expression: Expression) -> str:
    if not isinstance(expression, Call):
        return print_term(expression)
    function, arguments = expression.function, expression.arguments
    if len(arguments) == 1 and function in ("-", "!"):
        return f"{function}{_unary_operand(arguments[0])}"
    if function in _BINDS:
        left, right = arguments
        binds = _BINDS[function]
        least = binds + 1 if function in COMPARISONS else binds  # a < b < c has no meaning
        if function == "%":
            return f"{_modulo_operand(left)} % {_modulo_operand(right)}"
        return f"{_operand(left, least)} {function} {_operand(right, binds + 1)}"
    if function == "tuple" and not all(isinstance(argument, Constant) for argument in arguments):
        return f"[{', '.join(map(print_expression, arguments))}]"
    name = print_iri(function) if function in CASTS else function
    return f"{name}({', '.join(map(print_expression, arguments))})"


def _operand(expression: Expression, least: int) -> str:
    """An operand, in brackets if its operator binds less tightly than it must."""
    text = print_expression(expression)
    return text if _tightness(expression) >= least else f"({text})"


def _modulo_operand(expression: Expression) -> str:
    """In brackets if it is anything but a variable: what stands around `%` must not look like a comment."""
    text = print_expression(expression)
    is_plain = isinstance(expression, Variable) or (isinstance(expression, Constant) and text.isdigit())
    return text if is_plain else f"({text})"


def _unary_operand(expression: Expression) -> str:
    """In brackets if it is anything but a variable or a function: `-3` is a constant, `-(3)` an operation on one."""
    text = print_expression(expression)
    is_function = isinstance(expression, Call) and _tightness(expression) > _UNARY
    return text if isinstance(expression, Variable) or is_function else f"({text})"


def _tightness(expression: Expression) -> int:
    if not isinstance(expression, Call):
        return _UNARY + 1
    if len(expression.arguments) == 1 and expression.function in ("-", "!"):
        return _UNARY
    return _BINDS.get(expression.function, _UNARY + 1)


# Terms


def print_term(term: Term) -> str:
    if isinstance(term, Variable):
        return "_" if term.anonymous else f"?{term.name}"
    return print_value(term.value)


def print_value(value: Value) -> str:
    """A value as a constant of the language."""
    match value:
        case IRI():
            return print_iri(str(value))
        case BlankNode():
            return f"_:{lexical(value)}"
        case tuple():
            return f"[{', '.join(map(print_value, value))}]"
        case str():
            return value if _is_bare(value) else quoted(value)
        case bool() | int():
            return lexical(value)
        case float() if _PLAIN_FLOAT.fullmatch(repr(value)):
            return repr(value)
        case Literal(language=str(language)):
            return f"{quoted(value.text)}@{language}"
        case _:
            return f"{quoted(lexical(value))}^^{print_iri(datatype(value) or '')}"


def _is_bare(text: str) -> bool:
    return _BARE_CONSTANT.fullmatch(text) is not None and text not in _WORDS


_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f\x85\u2028\u2029\ufeff]')
_NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20\x7f]|^[-=?]')


def quoted(text: str) -> str:
    return '"' + _TO_ESCAPE.sub(lambda m: _ESCAPED.get(m[0]) or f"\\u{ord(m[0]):04X}", text) + '"'


def print_iri(iri: str) -> str:
    return "<" + _NOT_IN_IRI.sub(lambda m: f"\\u{ord(m[0]):04X}", iri) + ">"
