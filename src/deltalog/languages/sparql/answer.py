"""Solutions of queries, from a materialisation or without one.

`SparqlEvaluator` has the facts and rules that queries are asked of. Over a materialisation the rules of a query are
evaluated as they are, or, where that would derive much that the goal does not need (`Query.narrow`), by magic sets with
the materialisation as data. Without one they join the rules of the program, and magic sets or QSQ-R derives what the
goal needs of both, as requested or as the model chooses. What is prepared for a query is kept for the next time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from deltalog.core.limits import checked
from deltalog.core.rules import TRIPLES, TYPES, Pred, Rule, variables
from deltalog.core.terms import Value
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.goals.choose_method import History, MethodChoice, choose, kind
from deltalog.evaluation.goals.goal import as_goal
from deltalog.evaluation.goals.goal_evaluator import GoalEvaluator
from deltalog.evaluation.goals.look_up import look_up
from deltalog.evaluation.goals.rulebase import reads
from deltalog.evaluation.goals.selector import Model
from deltalog.evaluation.maintenance.materialisation import Evaluator, start
from deltalog.functions.sparql_operators import UNBOUND
from deltalog.languages.sparql.construct import solutions
from deltalog.languages.sparql.patterns import UNIT
from deltalog.languages.sparql.query import Query
from deltalog.languages.sparql.solutions import Solutions
from deltalog.program import analyse

_PREPARED_QUERIES_KEPT = 128  # queries whose preparation is kept

T = TypeVar("T")
ANY = (TRIPLES, TYPES)
INNER = MethodChoice("magic", "a subquery with a limit is evaluated first")


@dataclass(frozen=True)
class SparqlEvaluator(Generic[T]):
    """Facts, the rules that derive more of them, and how to evaluate. `whole`: the facts are all there are."""

    facts: Mapping[Pred, T]
    rules: Sequence[Rule]
    evaluator: Evaluator[T]
    whole: bool = False
    kept: dict[int, tuple[Query, GoalEvaluator[T]]] = field(default_factory=dict)  # by the id of the query

    def is_stratified(self, query: Query) -> bool:
        """Whether a query can be answered without a materialisation: see `GoalEvaluator.is_stratified`."""
        return self.goals(query).is_stratified(as_goal([query.goal]).reads)

    def choose(self, query: Query, model: Model, history: History) -> MethodChoice:
        """How to answer a query over facts and rules that are not materialised."""
        goal = as_goal([query.goal])
        return choose(kind(query.rules), self.goals(query).estimate(goal), model, history)

    def solve(self, query: Query, choice: MethodChoice) -> Solutions:
        if (facts := self._looked_up(query)) is not None:
            return solutions(query, facts, choice)
        if self.evaluator.naive or (self.whole and not query.narrow):
            return solutions(query, self._evaluated(query), choice)
        way = replace(choice, method="magic") if self.whole else choice
        found = self.goals(query).derive(as_goal([query.goal]), way)
        return solutions(query, found.facts, choice if self.whole else found.choice)

    def _looked_up(self, query: Query) -> Facts[T] | None:
        """The rows of a query that is one look-up; None if it is not."""
        is_one_rule = len(query.rules) == 1 and not query.tables and not query.subqueries
        if self.evaluator.naive or not self.whole or not is_one_rule:
            return None
        backend = self.evaluator.backend
        found = look_up(query.rules[0], self.facts.get, backend)
        return None if found is None else Facts([v.name for v in variables(query.goal)], found, backend)

    def goals(self, query: Query) -> GoalEvaluator[T]:
        kept = self.kept.get(id(query))
        if kept is not None:
            return kept[1]
        if len(self.kept) >= _PREPARED_QUERIES_KEPT:
            self.kept.clear()
        made = GoalEvaluator(needed(query.rules, self.rules), self._all_facts(query), self.evaluator.backend)
        self.kept[id(query)] = query, made
        return made

    def _all_facts(self, query: Query) -> dict[Pred, T]:
        """Facts, and those that the query brings with it: VALUES, and the solutions of its subqueries."""
        backend = self.evaluator.backend
        rows = dict(query.tables) | {pred: _numbered(self.solve(inner, INNER)) for pred, inner in query.subqueries}
        given = {pred: encode_rows(backend.codec, table) for pred, table in rows.items() if table}
        return {**self.facts, **given, UNIT.pred: backend.load((), 0)}

    def _evaluated(self, query: Query) -> Facts[T]:
        backend, rules, facts = self.evaluator.backend, needed(query.rules, self.rules), self._all_facts(query)
        relations = start(facts, backend)
        self.evaluator.run(analyse(rules, facts), relations, goal=True)
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


def _numbered(found: Solutions) -> list[tuple[Value, ...]]:
    return [(*(UNBOUND if v is None else v for v in row), i) for i, row in enumerate(checked(found))]
