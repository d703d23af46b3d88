"""Rules of Soufflé programs with the functions of our own language, for writers that know only these.

Numbers of 32 bits become integers of any size up to 64 bits, floats of single precision doubles, records tuples, and a
branch a tuple with its name first. Where that may give other results, `differences` says so, once for a program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from deltalog.convert.writer import CannotSay
from deltalog.expressions.souffle_functors import PREFIX, RECORD, fields_of
from deltalog.model.terms import XSD, Literal, Value
from deltalog.syntax.ast import (
    Aggregate,
    AggregateCall,
    Atom,
    Bind,
    BodyLiteral,
    Call,
    Constant,
    Expression,
    Filter,
    Negation,
    Rule,
    Term,
    Variable,
    variables,
)

_INTEGERS = {"+": "+", "-": "-", "*": "*", "/": "div", "%": "rem", "&": "band", "|": "bor", "^": "bxor"}
_INTEGERS |= {"<<": "bshl", ">>": "bshr", "min": "min", "max": "max"}
_FLOATS = {each: each for each in ("+", "-", "*", "/", "min", "max")} | {"**": "pow"}
_LOGICAL = {"&&": "&&", "||": "||"}
_SAME = {"cat": "concat", "strlen": "strlen", "i>s": "str", "u>s": "str", "record": "tuple", "smin": "min"} | {
    **{"smax": "max", "s>i": XSD + "integer", "s>f": XSD + "double", "i>f": XSD + "double", "u>f": XSD + "double"}
}
_BITS = "integers have 64 bits here, and 32 in Soufflé: what wraps around there does not"
_PRECISION = "floats have double precision here, and single in Soufflé"


@dataclass
class CoreFunctions:
    """Replaces functions, and collects what may differ."""

    differences: dict[str, None] = field(default_factory=dict)
    names: dict[Variable, Variable] = field(default_factory=dict)  # of the variables of the present rule

    def rule(self, rule: Rule) -> Rule:
        """The rule with functions of our own; CannotSay if there is none for one of them."""
        self.names = _plain_names(rule)
        heads = tuple(self._atom(head) for head in rule.heads)
        body = tuple(self._literal(literal) for literal in rule.body)
        return rule if (heads, body) == (rule.heads, rule.body) else replace(rule, heads=heads, body=body)

    def _literal(self, literal: BodyLiteral) -> BodyLiteral:
        match literal:
            case Atom():
                return self._atom(literal)
            case Negation(atom):
                return replace(literal, atom=self._atom(atom))
            case Filter(condition):
                return replace(literal, condition=self.expression(condition))
            case Bind(expression, variable):
                return replace(literal, expression=self.expression(expression), variable=self._variable(variable))
            case Aggregate(body, on, calls):
                inner, groups = tuple(map(self._literal, body)), tuple(map(self._variable, on))
                return replace(literal, body=inner, on=groups, calls=tuple(map(self._call, calls)))
        return literal

    def _call(self, call: AggregateCall) -> AggregateCall:
        argument = None if call.argument is None else self.expression(call.argument)
        return replace(call, argument=argument, variable=self._variable(call.variable))

    def _atom(self, atom: Atom) -> Atom:
        return replace(atom, terms=tuple(self._term(term) for term in atom.terms))

    def _variable(self, variable: Variable) -> Variable:
        return self.names.get(variable, variable)

    def _term(self, term: Term) -> Term:
        return Constant(_as_tuple(term.value)) if isinstance(term, Constant) else self._variable(term)

    def expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Variable | Constant):
            return self._term(expression)
        arguments = tuple(map(self.expression, expression.arguments))
        if not expression.function.startswith(PREFIX):
            return replace(expression, arguments=arguments)
        return self._replaced(expression.function.removeprefix(PREFIX), arguments)

    def _replaced(self, name: str, arguments: tuple[Expression, ...]) -> Expression:
        letter, operator = name[:1], name[1:]
        if name in _SAME:
            return Call(_SAME[name], arguments)
        if operator == "wrap" or name in ("i>u", "u>i"):
            return arguments[0]
        if operator == "neg" and letter in "if":
            return Call("-", arguments)
        if letter in "iu" and operator in _INTEGERS:
            self.differences[_BITS] = None
            return Call(_INTEGERS[operator], arguments)
        if letter == "f" and operator in _FLOATS:
            self.differences[_PRECISION] = None
            return Call(_FLOATS[operator], arguments)
        if letter in "iu" and operator in _LOGICAL:
            sides = tuple(Call("!=", (side, Constant(0))) for side in arguments)
            return Call("if", (Call(_LOGICAL[operator], sides), Constant(1), Constant(0)))
        return self._other(name, arguments)

    def _other(self, name: str, arguments: tuple[Expression, ...]) -> Expression:
        match name, arguments:
            case "i~", _:
                return Call("bnot", arguments)
            case (("i!" | "u!"), (only,)):
                return Call("if", (Call("=", (only, Constant(0))), Constant(1), Constant(0)))
            case "substr", (text, start, length):
                return Call("substr", (text, Call("+", (start, Constant(1))), length))
            case "contains", (part, text):
                return Call("contains", (text, part))
            case "match", (Constant(str() as pattern), text):
                return Call("regex", (text, Constant(f"^(?:{pattern})$")))
            case "field", (whole, Constant(int() as place)):
                return Call("item", (whole, Constant(place + 1)))
            case "isrecord", (whole,):
                return Call(">", (Call("arity", (whole,)), Constant(0)))
            case "is", (whole, branch):
                return Call("=", (Call("item", (whole, Constant(1))), branch))
        raise CannotSay(f"`{name}` of Soufflé has no counterpart")


def _plain_names(rule: Rule) -> dict[Variable, Variable]:
    """Names that can be written for variables that the reader of Soufflé's language has made."""
    found = dict.fromkeys(v for literal in (*rule.heads, *rule.body) for v in _variables(literal))
    taken = {v.name for v in found}
    free = (name for name in (f"v{i}" for i in count(1)) if name not in taken)
    return {v: Variable(next(free)) for v in found if "#" in v.name and not v.anonymous}


def _variables(literal: BodyLiteral) -> Iterator[Variable]:
    yield from variables(literal)
    if isinstance(literal, Aggregate):
        yield from (v for inner in literal.body for v in _variables(inner))
        yield from (v for call in literal.calls if call.argument is not None for v in variables(call.argument))


def _as_tuple(value: Value) -> Value:
    """A record as a tuple."""
    if isinstance(value, Literal) and value.datatype == RECORD:
        return tuple(map(_as_tuple, fields_of(value)))
    return value
