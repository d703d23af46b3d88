"""rdflib's expressions to ours.

A variable may be certain to have a value, may have none in some rows (then UNBOUND stands there), or is not in scope at
all; the last two fail when they are evaluated, which is what SPARQL calls an error. Operators and functions are those
of `deltalog.xpath`; `&&`, `||`, `!`, IF and COALESCE mean in SPARQL what they mean in rules, once their conditions are
booleans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from deltalog.query.sparql.parse import Node, is_variable, refuse, value
from deltalog.syntax.ast import Call, Constant, Expression, Variable
from deltalog.xpath import CONDITIONS, FUNCTIONS, PREFIX, UNBOUND

FAILS: Expression = Call("coalesce", ())
NOTHING = Constant(UNBOUND)
_RULES_OWN = frozenset(("&&", "||", "!", "sameterm"))  # conditions that rules have, too


def is_bound(variable: Variable) -> Expression:
    return Call("!", (Call("sameterm", (variable, NOTHING)),))


def or_unbound(expression: Expression) -> Expression:
    """An expression that is UNBOUND where it would fail."""
    return Call("coalesce", (expression, NOTHING))


@dataclass(frozen=True)
class Scope:
    """Which variables an expression sees. `outside`: those of the pattern around an EXISTS."""

    certain: frozenset[Variable]
    maybe: frozenset[Variable]
    outside: frozenset[Variable] = frozenset()

    def condition(self, node: Any) -> Expression:
        """An expression that is true or false, or fails."""
        return _condition(self.expression(node))

    def expression(self, node: Any) -> Expression:
        if is_variable(node):
            return self._variable(Variable(str(node)))
        if not hasattr(node, "name"):
            return Constant(value(node))
        if node.name.startswith("Builtin_"):
            return self._builtin(node.name.removeprefix("Builtin_"), node)
        translate = getattr(self, f"_{node.name}", None)
        if translate is None:
            refuse(node.name, "rewrite the query without it")
        result: Expression = translate(node)
        return result

    def _variable(self, variable: Variable) -> Expression:
        if variable in self.certain:
            return variable
        if variable in self.maybe:
            return Call("if", (Call("sameterm", (variable, NOTHING)), FAILS, variable))
        if variable in self.outside:
            refuse(
                f"?{variable.name} of the outside, deep inside of EXISTS,",
                "use it in the FILTER of its outermost group",
            )
        return FAILS

    # Operators, by the names that rdflib gives them.

    def _ConditionalOrExpression(self, node: Node) -> Expression:
        return self._connected("||", node)

    def _ConditionalAndExpression(self, node: Node) -> Expression:
        return self._connected("&&", node)

    def _connected(self, function: str, node: Node) -> Expression:
        sides = [self.condition(side) for side in (node.expr, *node.other)]
        return reduce(lambda left, right: Call(function, (left, right)), sides)

    def _RelationalExpression(self, node: Node) -> Expression:
        left = self.expression(node.expr)
        if node.op in ("IN", "NOT IN"):
            return self._among(left, _listed(node.other), node.op == "IN")
        return Call(PREFIX + node.op, (left, self.expression(node.other)))

    def _among(self, left: Expression, others: Sequence[Any], inside: bool) -> Expression:
        tests: list[Expression] = [Call(PREFIX + "=", (left, self.expression(other))) for other in others]
        found = reduce(lambda a, b: Call("||", (a, b)), tests) if tests else Constant(False)
        return found if inside else Call("!", (found,))

    def _AdditiveExpression(self, node: Node) -> Expression:
        return self._calculated(node)

    def _MultiplicativeExpression(self, node: Node) -> Expression:
        return self._calculated(node)

    def _calculated(self, node: Node) -> Expression:
        result = self.expression(node.expr)
        for operator, other in zip(node.op, node.other, strict=True):
            result = Call(PREFIX + str(operator), (result, self.expression(other)))
        return result

    def _UnaryNot(self, node: Node) -> Expression:
        return Call("!", (self.condition(node.expr),))

    def _UnaryMinus(self, node: Node) -> Expression:
        return Call(PREFIX + "negative", (self.expression(node.expr),))

    def _UnaryPlus(self, node: Node) -> Expression:
        return Call(PREFIX + "positive", (self.expression(node.expr),))

    def _Function(self, node: Node) -> Expression:
        name = str(node.iri)
        if name not in FUNCTIONS or ":" not in name:
            refuse(f"the function <{name}>", "casts to the datatypes of XML Schema are the only ones with an IRI")
        return Call(PREFIX + name, tuple(self.expression(argument) for argument in _listed(node.expr)))

    def _builtin(self, name: str, node: Node) -> Expression:
        """A function by its name."""
        given = _arguments(node)
        match name:
            case "BOUND":
                return self._bound(Variable(str(given[0])))
            case "IF":
                condition, then, otherwise = given
                return Call("if", (self.condition(condition), self.expression(then), self.expression(otherwise)))
            case "COALESCE":
                return Call("coalesce", tuple(map(self.expression, given)))
            case "sameTerm":
                return Call("sameterm", tuple(map(self.expression, given)))
        if name.lower() not in FUNCTIONS:
            refuse(name, "rewrite the query without it")
        return Call(PREFIX + name.lower(), tuple(map(self.expression, given)))

    def _bound(self, variable: Variable) -> Expression:
        if variable in self.maybe:
            return is_bound(variable)
        if variable in self.outside and variable not in self.certain:
            self._variable(variable)
        return Constant(variable in self.certain)


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else [given]


def _arguments(node: Node) -> list[Any]:
    """The arguments of a function, in the order in which it was written."""
    given = [part for name, part in node.items() if name not in ("_vars", "distinct") and part is not None]
    return [argument for part in given for argument in _listed(part)]


def _condition(expression: Expression) -> Expression:
    """An expression as a condition: its effective boolean value."""
    match expression:
        case Constant(bool()):
            return expression
        case Call(function) if function in _RULES_OWN or function.removeprefix(PREFIX) in CONDITIONS:
            return expression
    return Call(PREFIX + "boolean", (expression,))
