"""The triples of a CONSTRUCT or a DESCRIBE.

A DESCRIBE is rules whose rows are the triples. A CONSTRUCT puts each solution into its template. A blank node of the
template is a new one for each solution; its label comes from a random number of the result, the number of the solution
and the label in the template. A triple with a variable that has no value, a literal as subject or a predicate that is
no IRI is left out, as the standard says, and each triple comes once.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.limits import checked
from deltalog.core.rules import Constant, Term, Variable
from deltalog.core.terms import IRI, BlankNode, Value, key
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.goals.choose_method import MethodChoice
from deltalog.languages.sparql.algebra import hidden
from deltalog.languages.sparql.parse import Form
from deltalog.languages.sparql.query import Query
from deltalog.languages.sparql.solutions import SolutionRow, Solutions

TRIPLE_COLUMNS = ("subject", "predicate", "object")
GraphTriple = tuple[Value, Value, Value]


def solutions(query: Query, facts: Facts[Any], choice: MethodChoice) -> Solutions:
    """What the rows of a query's goal stand for."""
    made = {Form.CONSTRUCT: ConstructedTriples, Form.DESCRIBE: Triples}.get(query.form, Solutions)
    return made(query, facts, choice)


class Triples(Solutions):
    """A graph: a sequence of triples of a subject, a predicate and an object, each once."""

    def __repr__(self) -> str:
        return f"<{len(self):,} triples>"


class ConstructedTriples(Triples):
    """The triples that the solutions of a query make from a template."""

    def __init__(self, query: Query, facts: Facts[Any], choice: MethodChoice) -> None:
        super().__init__(query, facts, choice)
        self.columns = TRIPLE_COLUMNS
        self._mark = secrets.token_hex(8)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def plain(self) -> bool:
        return False

    @cached_property
    def rows(self) -> list[SolutionRow]:
        found = {tuple(map(key, triple)): triple for triple in self._instances()}
        return list(found.values())

    def _instances(self) -> Iterator[GraphTriple]:
        names = self._query.columns
        for number, row in enumerate(checked(self._solution_rows())):
            values = dict(zip(names, row, strict=True))
            for s, p, o in self._query.template:
                triple = (
                    self._value(s, values, number),
                    self._value(p, values, number),
                    self._value(o, values, number),
                )
                if _is_triple(triple):
                    yield triple  # type: ignore[misc]

    def _value(self, term: Term, values: dict[str, Value | None], number: int) -> Value | None:
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Variable) and hidden(term):
            return BlankNode(f"c{self._mark}{number}-{_label(term)}")
        return values[term.name]


def _label(variable: Variable) -> str:
    """The label of a blank node, or its number."""
    label = variable.name.removeprefix("#_:")
    return f"n{label[1:-1]}" if label.startswith("[") else f"l{label}"


def _is_triple(triple: tuple[Value | None, Value | None, Value | None]) -> bool:
    subject, predicate, object_ = triple
    return isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and object_ is not None
