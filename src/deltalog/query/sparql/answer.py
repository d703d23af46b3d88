"""Solutions of queries, from a materialisation or without one.

`Asked` has what a goal is asked of. Over a materialisation the rules of a query are evaluated as they are, or, where
that would derive much that the goal does not need (`Query.narrow`), by magic sets with the materialisation as data.
Without one they join the rules of the program, and magic sets or QSQ-R derives what the goal needs of both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from deltalog.engine.materialisation import Evaluator, start
from deltalog.facts import Facts
from deltalog.program import analyse
from deltalog.query.answer import Questions
from deltalog.query.goal import as_goal
from deltalog.query.rulebase import reads
from deltalog.query.sparql.patterns import UNIT
from deltalog.query.sparql.query import Query
from deltalog.query.sparql.solutions import Solutions
from deltalog.syntax.ast import TRIPLES, TYPES, Pred, Rule, variables
from deltalog.terms import Value
from deltalog.xpath import UNBOUND

T = TypeVar("T")
ANY = (TRIPLES, TYPES)


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
        backend, rules = self.evaluator.backend, needed(query.rules, self.rules)
        if not self.evaluator.naive and (self.method != "materialised" or query.narrow):
            questions = Questions(rules, facts, backend)
            way = questions.by_qsqr if self.method == "qsqr" else questions.by_magic
            return way(as_goal([query.goal]), self.evaluator.check)
        relations = start(facts, backend)
        self.evaluator.run(analyse(rules, facts), relations)
        return Facts([v.name for v in variables(query.goal)], relations.get(query.goal.pred), backend)


def needed(asking: Sequence[Rule], rules: Sequence[Rule]) -> list[Rule]:
    """The rules of a query, and those of a program that it can need; all, if a predicate or a class is a variable."""
    deriving: dict[Pred, list[Rule]] = defaultdict(list)
    for rule in rules:
        for head in rule.heads:
            deriving[head.pred].append(rule)
    if not deriving.keys().isdisjoint(ANY):
        return [*rules, *asking]
    found: dict[Pred, None] = {}
    waiting = [pred for rule in asking for pred in reads(rule.body)]
    while waiting:
        pred = waiting.pop()
        if pred in ANY:
            return [*rules, *asking]
        if pred in deriving and pred not in found:
            found[pred] = None
            waiting += [read for rule in deriving[pred] for read in reads(rule.body)]
    return [*(rule for pred in found for rule in deriving[pred]), *asking]


def _numbered(solutions: Solutions) -> list[tuple[Value, ...]]:
    return [(*(UNBOUND if v is None else v for v in row), i) for i, row in enumerate(solutions)]
