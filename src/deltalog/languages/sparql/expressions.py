"""From SPARQL's expressions to those of rules.

A variable may be certain to have a value, may have none in some rows (then UNBOUND stands there), or is not in scope at
all; the last two fail when they are evaluated, which is what SPARQL calls an error. Operators and functions are those
of `deltalog.functions.sparql_operators`; `&&`, `||`, `!`, IF and COALESCE mean in SPARQL what they mean in rules,
once their conditions are booleans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltalog.core.operators import CASTS
from deltalog.core.rules import Call, Constant, Expression, Variable
from deltalog.core.terms import XSD
from deltalog.functions.function import SPARQL_PREFIX as PREFIX
from deltalog.functions.function import Sort
from deltalog.functions.registry import FUNCTIONS
from deltalog.functions.sparql_operators import UNBOUND
from deltalog.languages.sparql.algebra import Expr, Operation
from deltalog.languages.sparql.token_reader import refuse

FAILS: Expression = Call("coalesce", ())
NOTHING = Constant(UNBOUND)


def is_bound(variable: Variable) -> Expression:
    return Call("!", (Call("sameterm", (variable, NOTHING)),))


def is_resource(variable: Variable) -> Expression:
    """Whether a variable is an IRI or a blank node."""
    return Call("!", (Call("isliteral", (variable,)),))


def or_unbound(expression: Expression) -> Expression:
    """An expression that is UNBOUND where it would fail."""
    return Call("coalesce", (expression, NOTHING))


@dataclass(frozen=True)
class ExpressionScope:
    """Which variables an expression sees."""

    certain: frozenset[Variable]
    maybe: frozenset[Variable]
    solution: tuple[Variable, ...] = ()  # the variables that make a solution different from all others

    def condition(self, expression: Expr) -> Expression:
        """An expression that is true or false, or fails."""
        return _condition(self.expression(expression))

    def expression(self, expression: Expr) -> Expression:
        match expression:
            case Variable():
                return self._variable(expression)
            case Constant():
                return expression
            case Operation(name, arguments):
                return self._operation(name, arguments)
        raise AssertionError(expression)  # EXISTS and aggregates are variables by now

    def _variable(self, variable: Variable) -> Expression:
        if variable in self.certain:
            return variable
        if variable in self.maybe:
            return Call("if", (Call("sameterm", (variable, NOTHING)), FAILS, variable))
        return FAILS

    def _operation(self, name: str, given: tuple[Expr, ...]) -> Expression:
        match name:
            case "||" | "&&":
                return _connected(name, [self.condition(side) for side in given])
            case "!":
                return Call("!", (self.condition(given[0]),))
            case "in":
                return self._among(self.expression(given[0]), given[1:])
            case "bound":
                return self._bound(given[0])
            case "if":
                return Call("if", (self.condition(given[0]), *map(self.expression, given[1:])))
            case "coalesce" | "sameterm":
                return Call(name, tuple(map(self.expression, given)))
        arguments = tuple(map(self.expression, given))
        if PREFIX + name not in FUNCTIONS:
            casts = ", ".join(f"xsd:{cast.removeprefix(XSD)}" for cast in CASTS)
            refuse(f"the function <{name}>", f"the functions with an IRI are the casts {casts}")
        if FUNCTIONS[PREFIX + name].instead:  # of what makes a solution different from all others, too
            arguments += self.solution
        return Call(PREFIX + name, arguments)

    def _among(self, left: Expression, others: Sequence[Expr]) -> Expression:
        tests: list[Expression] = [Call(PREFIX + "=", (left, self.expression(other))) for other in others]
        return _connected("||", tests) if tests else Constant(False)

    def _bound(self, variable: Expr) -> Expression:
        assert isinstance(variable, Variable)
        if variable in self.maybe:
            return is_bound(variable)
        return Constant(variable in self.certain)


def _connected(function: str, sides: Sequence[Expression]) -> Expression:
    """`&&` or `||` of any number of conditions, as a tree of little depth: the order makes no difference."""
    if len(sides) == 1:
        return sides[0]
    middle = len(sides) // 2
    return Call(function, (_connected(function, sides[:middle]), _connected(function, sides[middle:])))


def _condition(expression: Expression) -> Expression:
    """An expression as a condition: its effective boolean value."""
    match expression:
        case Constant(bool()):
            return expression
        case Call(function) if FUNCTIONS[function].gives is Sort.TRUTH:
            return expression
    return Call(PREFIX + "boolean", (expression,))
