"""Expressions, read by precedence: `||`, `&&`, comparisons, `+ -`, `* /`, `! + -` before one, and what is primary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deltalog.core.operators import CASTS
from deltalog.core.rules import Constant
from deltalog.functions import registry
from deltalog.functions.function import ANY_NUMBER, SPARQL
from deltalog.languages.sparql.algebra import Aggregation, Exists, Expr, GroupPattern, Operation
from deltalog.languages.sparql.token_reader import Reader
from deltalog.languages.sparql.tokens import QueryToken, text_of

MAX_CHAINED_OPERATORS = 200  # operators, each of which is two of the 1,000 calls that Python nests when it is evaluated

_NAMED = registry.named(SPARQL)
# How many arguments a function has, at least and at most.
ARGUMENTS: dict[str, tuple[int, int]] = {
    **{name: (each.least, each.most) for name, each in _NAMED.items() if not each.instead},
    **{"SAMETERM": (2, 2), "COALESCE": (0, ANY_NUMBER), "IF": (3, 3)},
}
# With a new value for each solution, or for each execution.
FRESH = {name: (each.least, each.most) for name, each in _NAMED.items() if each.instead}
AGGREGATES = tuple(registry.aggregates_named(SPARQL))
COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
NESTED = "an aggregate cannot be inside of another one"


class ExpressionReader(Reader, ABC):
    """Reads expressions. Subclasses read the graph patterns of EXISTS."""

    @abstractmethod
    def group(self) -> GroupPattern:
        """`{ ... }`"""

    @contextmanager
    def without_aggregates(self, reason: str) -> Iterator[None]:
        before, self.forbidden = self.forbidden, reason
        yield
        self.forbidden = before

    def expression(self) -> Expr:
        return self._connected("||", lambda: self._connected("&&", self._comparison))

    def _connected(self, operator: str, side: Callable[[], Expr]) -> Expr:
        sides = [side()]
        while self.accept(operator):
            sides.append(side())
        return sides[0] if len(sides) == 1 else Operation(operator, tuple(sides))

    def _comparison(self) -> Expr:
        left = self._sum()
        if operator := self.accept(*COMPARISONS):
            return Operation(operator.text, (left, self._sum()))
        if self.accept("IN"):
            return Operation("in", (left, *self._arguments()))
        if self.accept("NOT"):
            self.expect("IN")
            return Operation("!", (Operation("in", (left, *self._arguments())),))
        return left

    def _sum(self) -> Expr:
        return self._calculated(("+", "-"), lambda: self._calculated(("*", "/"), self._unary))

    def _calculated(self, operators: tuple[str, ...], side: Callable[[], Expr]) -> Expr:
        result, count = side(), 0
        while operator := self.accept(*operators):
            count += 1
            if count > MAX_CHAINED_OPERATORS:
                self.fail(f"more than {MAX_CHAINED_OPERATORS} operators in a row", operator)
            result = Operation(operator.text, (result, side()))
        return result

    def _unary(self) -> Expr:
        if self.accept("!"):
            return Operation("!", (self._primary(),))
        if self.sees("+", "-") and not self.sees_literal():
            return Operation("negative" if self.take().text == "-" else "positive", (self._primary(),))
        return self._primary()

    def _primary(self) -> Expr:
        if self.sees("("):
            return self.bracketed()
        if self.next.kind == "variable":
            return self.variable()
        if self.sees_literal():
            return self.literal()
        if self.sees_iri():
            token, iri = self.next, self.iri()
            return self._cast(token, str(iri)) if self.sees("(") else Constant(iri)
        return self._call()

    def bracketed(self) -> Expr:
        self.expect("(")
        inner = self.expression()
        self.expect(")")
        return inner

    def constraint(self) -> Expr:
        """The condition of FILTER, HAVING and ORDER BY: in brackets, or a call."""
        if self.sees("("):
            return self.bracketed()
        if self.sees_iri():
            token, iri = self.next, self.iri()
            return self._cast(token, str(iri))
        return self._call()

    def _cast(self, token: QueryToken, iri: str) -> Expr:
        if self.next.keyword != "(":
            self.expected("`(`")
        if iri in CASTS:
            return Operation(iri, self._counted(token, (1, 1)))
        return Operation(iri, self._arguments(can_be_distinct=True))  # and is refused when it is translated

    def _call(self) -> Expr:
        token, name = self.next, self.next.keyword
        if name == "EXISTS" or name == "NOT":
            return self._exists()
        if name in AGGREGATES:
            return self._aggregate(self.take())
        if name in FRESH:
            return self._fresh(self.take())
        if name == "BOUND":
            return self._bound()
        if name not in ARGUMENTS:
            self.expected("an expression")
        self.take()
        arguments = self._counted(token, ARGUMENTS[name])
        base = self.base or self.request.iri
        if name in ("IRI", "URI") and base:
            arguments = (*arguments, Constant(base))
        return Operation(name.lower(), arguments)

    def _fresh(self, token: QueryToken) -> Expr:
        """A function whose result depends on the execution, and on the call or, for BNODE("label"), the label."""
        name, arguments = token.keyword, self._counted(token, FRESH[token.keyword])
        if name == "NOW":
            return Constant(self.execution.now)
        if arguments:
            return Operation("bnode of", (Constant(self.execution.seed), *arguments))
        return Operation(name.lower(), (Constant(f"{self.execution.seed} {token.span.start}"),))

    def _bound(self) -> Expr:
        self.take()
        self.expect("(")
        variable = self.variable()
        self.expect(")")
        return Operation("bound", (variable,))

    def _exists(self) -> Exists:
        negated = self.accept("NOT") is not None
        self.expect("EXISTS")
        return Exists(self.group(), negated)

    def _counted(self, token: QueryToken, allowed: tuple[int, int]) -> tuple[Expr, ...]:
        arguments, (least, most) = self._arguments(), allowed
        if not least <= len(arguments) <= most:
            wanted = str(least or "no") if least == most else f"{least} or {most}"
            self.fail(
                f"{token.text} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(arguments)}", token
            )
        return arguments

    def _arguments(self, can_be_distinct: bool = False) -> tuple[Expr, ...]:
        if self.nothing_in_brackets():
            return ()
        self.expect("(")
        if can_be_distinct:
            self.accept("DISTINCT")
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        self.expect(")")
        return tuple(found)

    def _aggregate(self, token: QueryToken) -> Aggregation:
        if self.forbidden:
            self.fail(self.forbidden, token)
        self.expect("(")
        distinct = self.accept("DISTINCT") is not None
        argument = None
        if token.keyword != "COUNT" or not self.accept("*"):
            with self.without_aggregates(NESTED):
                argument = self.expression()
        separator = self._separator() if token.keyword == "GROUP_CONCAT" else " "
        self.expect(")")
        return Aggregation(token.keyword.lower(), argument, distinct, separator)

    def _separator(self) -> str:
        if not self.accept(";"):
            return " "
        self.expect("SEPARATOR")
        self.expect("=")
        if self.next.kind != "string":
            self.expected("a string")
        return text_of(self.take().text)
