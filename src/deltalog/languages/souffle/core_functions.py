"""Rules of Soufflé programs with the functions of our own language, for writers that know only these.

Numbers of 32 bits become integers of any size up to 64 bits, floats of single precision doubles, records tuples, and a
branch a tuple with its name first. Where that may give other results, `differences` says so, once for a program.
"""

from __future__ import annotations

from dataclasses import replace

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Call, Constant, Expression, Rule, Term, Variable
from deltalog.core.terms import Literal, Value
from deltalog.functions.function import SOUFFLE_PREFIX as PREFIX
from deltalog.functions.function import Sort
from deltalog.functions.registry import FUNCTIONS
from deltalog.functions.souffle_functors import RECORD, fields_of
from deltalog.languages.protocol import ProgramUnit
from deltalog.languages.rule_map import RuleMap, new_names
from deltalog.languages.writer import CannotSay, attempted

_LOGICAL = {"&&": "&&", "||": "||"}
_BITS = "integers have 64 bits here, and 32 in Soufflé: what wraps around there does not"
_PRECISION = "floats have double precision here, and single in Soufflé"
_DIFFERENCES = {Sort.INTEGER: {_BITS: None}, Sort.NUMBER: {_PRECISION: None}}  # of what takes such numbers


class CoreFunctions(RuleMap):
    """Replaces functions, and collects what may differ."""

    def __init__(self) -> None:
        super().__init__()
        self.differences: dict[str, None] = {}

    def rule(self, rule: Rule) -> Rule:
        """The rule with functions of our own; CannotSay if there is none for one of them."""
        self.names = new_names(rule, lambda v: "#" in v.name and not v.anonymous)
        return super().rule(rule)

    def term(self, term: Term) -> Term:
        return Constant(_as_tuple(term.value)) if isinstance(term, Constant) else self.variable(term)

    def expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Variable | Constant):
            return self.term(expression)
        arguments = tuple(map(self.expression, expression.arguments))
        if not expression.function.startswith(PREFIX):
            return replace(expression, arguments=arguments)
        return self._replaced(expression.function.removeprefix(PREFIX), arguments)

    def _replaced(self, name: str, arguments: tuple[Expression, ...]) -> Expression:
        letter, operator = name[:1], name[1:]
        if operator == "wrap" or name in ("i>u", "u>i"):
            return arguments[0]
        if operator == "neg" and letter in "if":
            return Call("-", arguments)
        if core := FUNCTIONS[PREFIX + name].core:
            self.differences |= _DIFFERENCES.get(FUNCTIONS[PREFIX + name].sort_of(0), {})
            return Call(core, arguments)
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


def with_core_functions(unit: ProgramUnit, lost: list[Diagnostic], notes: list[Diagnostic]) -> ProgramUnit:
    """A unit with functions of our own."""
    functions = CoreFunctions()
    rules = [made for rule in unit.rules if (made := attempted(functions.rule, rule, lost)) is not None]
    notes += (Diagnostic(each, None, None, "note") for each in functions.differences)
    return replace(unit, rules=tuple(rules))


def _as_tuple(value: Value) -> Value:
    """A record as a tuple."""
    if isinstance(value, Literal) and value.datatype == RECORD:
        return tuple(map(_as_tuple, fields_of(value)))
    return value
