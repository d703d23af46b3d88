"""Solutions of queries, from a materialisation or without one.

`Asked` has what a goal is asked of. Over a materialisation the rules of a query are evaluated as they are, or, where
that would derive much that the goal does not need (`Query.narrow`), by magic sets with the materialisation as data.
Without one they join the rules of the program, and magic sets or QSQ-R derives what the goal needs of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from deltalog.engine.materialisation import Evaluator, start
from deltalog.facts import Facts
from deltalog.program import analyse
from deltalog.query.answer import Questions
from deltalog.query.goal import as_goal
from deltalog.query.sparql.patterns import UNIT
from deltalog.query.sparql.query import Query
from deltalog.query.sparql.solutions import Solutions
from deltalog.syntax.ast import Pred, Rule
from deltalog.terms import Value
from deltalog.xpath import UNBOUND

T = TypeVar("T")


@dataclass(frozen=True)
class Asked(Generic[T]):
    """Facts, the rules that derive more of them (none, over a materialisation), and how to evaluate."""

    facts: Mapping[Pred, T]
    rules: Sequence[Rule]
    evaluator: Evaluator[T]
    method: str = "auto"  # "materialised" where the facts are all there are

    def solve(self, query: Query) -> Solutions:
        facts = dict(self.facts) | self._given(query)
        return Solutions(query, self._goal(query, facts))

    def _given(self, query: Query) -> dict[Pred, T]:
        """The facts that the query brings with it: VALUES, and the solutions of its subqueries."""
        backend = self.evaluator.backend
        rows = dict(query.tables) | {pred: _numbered(self.solve(inner)) for pred, inner in query.subqueries}
        given = {pred: backend.encode(table, pred.name)[1] for pred, table in rows.items() if table}
        return given | {UNIT.pred: backend.load((), 0)}

    def _goal(self, query: Query, facts: Mapping[Pred, T]) -> Facts[T]:
        backend, rules = self.evaluator.backend, (*self.rules, *query.rules)
        if not self.evaluator.naive and (self.method != "materialised" or query.narrow):
            questions = Questions(rules, facts, backend)
            way = questions.by_qsqr if self.method == "qsqr" else questions.by_magic
            return way(as_goal([query.goal]), self.evaluator.check)
        relations = start(facts, backend)
        self.evaluator.run(analyse(rules, facts), relations)
        return Facts([str(i) for i in range(query.goal.pred.arity)], relations.get(query.goal.pred), backend)


def _numbered(solutions: Solutions) -> list[tuple[Value, ...]]:
    return [(*(UNBOUND if v is None else v for v in row), i) for i, row in enumerate(solutions)]
