"""A cursor over the tokens of a query, and the terms that it can read: IRIs, literals, variables and blank nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from deltalog.core.errors import UsageError
from deltalog.core.iri_references import resolved
from deltalog.core.rules import Constant, Variable
from deltalog.core.terms import IRI, RDF, RDF_TYPE, XSD, Value, literal
from deltalog.functions.fresh_values import Execution
from deltalog.languages.sparql.request_base import NO_BASE, RequestBase
from deltalog.languages.sparql.tokens import QueryToken, error_at, local_name, text_of
from deltalog.languages.tokens import Cursor

NIL = IRI(RDF + "nil")
NUMBERS = ("integer", "decimal", "double")


def refuse(what: str, instead: str) -> NoReturn:
    raise UsageError(f"{what} in SPARQL is not supported; {instead}")


@dataclass
class Reader(Cursor[QueryToken]):
    """Reads tokens one after the other. `forbidden` says why there can be no aggregate here, if so."""

    tokens: Sequence[QueryToken]
    prefixes: dict[str, str]
    execution: Execution
    base: str = ""  # of BASE
    request: RequestBase = NO_BASE
    at: int = 0
    forbidden: str = ""
    blank_nodes: int = 0
    labels: dict[str, int] = field(default_factory=dict)  # of blank nodes, and the number of the pattern they are in
    pattern: int = 0  # the number of the basic graph pattern
    patterns: int = 0  # how many there have been
    has_paths: bool = True  # whether a predicate may be a path

    # Tokens.

    def key(self, token: QueryToken) -> str:
        return token.keyword

    def named(self, key: str) -> str:
        return key if key.isalpha() else f"`{key}`"

    def unexpected(self, wanted: str, hint: str | None = None) -> UsageError:
        return error_at(self.next.span, f"expected {wanted}, found {self.next}")

    def expected(self, what: str) -> NoReturn:
        raise self.unexpected(what)

    def fail(self, message: str, token: QueryToken | None = None) -> NoReturn:
        raise error_at((token or self.next).span, message)

    def nothing_in_brackets(self) -> bool:
        """Takes `()`, if that is what comes."""
        empty = self.sees("(") and self.after.keyword == ")"
        self.at += 2 * empty
        return empty

    # Terms.

    def variable(self) -> Variable:
        if self.next.kind != "variable":
            self.expected("a variable")
        return Variable(self.take().text[1:])

    def sees_iri(self) -> bool:
        return self.next.kind in ("iri", "name")

    def iri(self) -> IRI:
        if not self.sees_iri():
            self.expected("an IRI")
        token = self.take()
        if token.kind == "iri":
            reference = token.text[1:-1]
            return IRI(resolved(self.base, reference) if self.base else self.request.absolute(reference))
        prefix, _, local = token.text.partition(":")
        if prefix not in self.prefixes:
            self.fail(f"the prefix `{prefix}:` is not declared", token)
        return IRI(self.prefixes[prefix] + local_name(local))

    def sees_verb(self) -> bool:
        """Whether `a` comes, the one keyword that is not to be written in capitals."""
        return self.next.kind == "word" and self.next.text == "a"

    def verb_or_iri(self) -> IRI:
        if self.sees_verb():
            self.take()
            return RDF_TYPE
        return self.iri()

    def sees_literal(self) -> bool:
        signed = self.sees("+", "-") and self._number_follows()
        return self.next.kind in ("string", *NUMBERS) or self.sees("TRUE", "FALSE") or signed

    def literal(self) -> Constant:
        if self.next.kind == "string":
            return Constant(self._string())
        if self.sees("TRUE", "FALSE"):
            return Constant(self.take().keyword == "TRUE")
        sign = self.take().text if self.sees("+", "-") else ""
        number = self.take()
        return Constant(literal(sign + number.text, XSD + number.kind))

    def _number_follows(self) -> bool:
        """Whether a number comes right after a sign, without a space."""
        return self.after.kind in NUMBERS and self.after.joined

    def _string(self) -> Value:
        text = text_of(self.take().text)
        if self.next.kind == "language":
            return literal(text, language=self.take().text[1:])
        if self.accept("^^"):
            return literal(text, str(self.iri()))
        return text

    def blank_node(self) -> Variable:
        """A blank node by its label, which belongs to one basic graph pattern."""
        token = self.take()
        if self.labels.setdefault(token.text, self.pattern) != self.pattern:
            self.fail(f"the blank node {token.text} belongs to another graph pattern; use a variable", token)
        return Variable(f"#{token.text}")

    def new_blank_node(self) -> Variable:
        self.blank_nodes += 1
        return Variable(f"#_:[{self.blank_nodes}]")
