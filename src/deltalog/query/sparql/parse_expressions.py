"""Expressions, read by precedence: `||`, `&&`, comparisons, `+ -`, `* /`, `! + -` before one, and what is primary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deltalog.model.terms import XSD
from deltalog.query.sparql.algebra import Aggregation, Exists, Expr, GroupPattern, Operation
from deltalog.query.sparql.token_reader import Reader, refuse
from deltalog.query.sparql.tokens import Token
from deltalog.syntax.ast import Constant

ANY_NUMBER = 1_000_000  # of arguments
MAX_CHAINED_OPERATORS = 200  # operators, each of which is two of the 1,000 calls that Python nests when it is evaluated

# How many arguments a function has, at least and at most.
ARGUMENTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN"), (1, 1)),
    **dict.fromkeys(("UCASE", "LCASE", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES"), (1, 1)),
    **dict.fromkeys(("ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC"), (1, 1)),
    **dict.fromkeys(("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), (2, 2)),
    **dict.fromkeys(("STRLANG", "STRDT", "SAMETERM"), (2, 2)),
    **dict.fromkeys(("REGEX", "SUBSTR"), (2, 3)),
    **dict.fromkeys(("CONCAT", "COALESCE"), (0, ANY_NUMBER)),
    "REPLACE": (3, 4),
    "IF": (3, 3),
}
AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE")
NOT_SUPPORTED = frozenset(
    (
        *("BNODE", "RAND", "ENCODE_FOR_URI", "SECONDS", "TIMEZONE", "TZ", "NOW", "UUID", "STRUUID"),
        *("MD5", "SHA1", "SHA256", "SHA384", "SHA512"),
    )
)
CAST_TYPES = ("string", "integer", "decimal", "double", "float", "boolean", "date", "dateTime")
CASTS = frozenset(XSD + name for name in CAST_TYPES)
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

    def _cast(self, token: Token, iri: str) -> Expr:
        if self.next.keyword != "(":
            self.expected("`(`")
        if iri not in CASTS:
            types = ", ".join(f"xsd:{name}" for name in CAST_TYPES)
            refuse(f"the function <{iri}>", f"the functions with an IRI are the casts {types}")
        return Operation(iri, self._counted(token, (1, 1)))

    def _call(self) -> Expr:
        token, name = self.next, self.next.keyword
        if name == "EXISTS" or name == "NOT":
            return self._exists()
        if name in NOT_SUPPORTED:
            refuse(name, "rewrite the query without it")
        if name in AGGREGATES or name == "GROUP_CONCAT":
            return self._aggregate(self.take())
        if name == "BOUND":
            return self._bound()
        if name not in ARGUMENTS:
            self.expected("an expression")
        self.take()
        arguments = self._counted(token, ARGUMENTS[name])
        if name in ("IRI", "URI") and self.base:
            arguments = (*arguments, Constant(self.base))
        return Operation(name.lower(), arguments)

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

    def _counted(self, token: Token, allowed: tuple[int, int]) -> tuple[Expr, ...]:
        arguments, (least, most) = self._arguments(), allowed
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} or {most}"
            self.fail(
                f"{token.text} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(arguments)}", token
            )
        return arguments

    def _arguments(self) -> tuple[Expr, ...]:
        if self.nothing_in_brackets():
            return ()
        self.expect("(")
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        self.expect(")")
        return tuple(found)

    def _aggregate(self, token: Token) -> Aggregation:
        if self.forbidden:
            self.fail(self.forbidden, token)
        if token.keyword == "GROUP_CONCAT":
            refuse("GROUP_CONCAT", "aggregates are COUNT, SUM, MIN, MAX, AVG and SAMPLE")
        self.expect("(")
        distinct = self.accept("DISTINCT") is not None
        argument = None
        if token.keyword != "COUNT" or not self.accept("*"):
            with self.without_aggregates(NESTED):
                argument = self.expression()
        elif distinct:
            refuse("COUNT(DISTINCT *)", "count over a subquery: { SELECT DISTINCT * { ... } }")
        self.expect(")")
        return Aggregation(token.keyword.lower(), argument, distinct)
