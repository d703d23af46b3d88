"""Goals and SPARQL queries of a knowledge base, call after call.

    choose    how to answer: as the caller says, from the materialisation, or by the model and the history
    prepare   rules and facts, kept from one goal to the next while both stay the same
    evaluate  over the materialisation, by magic sets or by QSQ-R
    switch    where a method turns out to be too much work: to the other one, with a larger budget

A call gets the knowledge base's present `Contents`; the session holds no reference to the knowledge base.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Generic, TypeVar

from deltalog.core.arguments import check_choice, checked_text
from deltalog.core.errors import LimitReached, UsageError
from deltalog.core.limits import seconds
from deltalog.core.rules import BodyLiteral, Pred
from deltalog.evaluation.backend import Backend
from deltalog.evaluation.goals import selector
from deltalog.evaluation.goals.choose_method import UNSTRATIFIED, History, MethodChoice, choose, kind, kind_of_goal
from deltalog.evaluation.goals.contents import Contents
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.goal import Goal, as_goal
from deltalog.evaluation.goals.goal_evaluator import Answers, Derived, GoalEvaluator, answer
from deltalog.evaluation.goals.magic import show
from deltalog.evaluation.goals.rulebase import reads
from deltalog.evaluation.plan.work_counter import GivenUp
from deltalog.formats.files import local_path
from deltalog.knowledge_base.training_goals import Example
from deltalog.languages.deltalog.parser import parse_goal
from deltalog.languages.registry import require

if TYPE_CHECKING:
    from deltalog.languages.sparql.algebra import Select
    from deltalog.languages.sparql.answer import SparqlEvaluator
    from deltalog.languages.sparql.graphs import Dataset
    from deltalog.languages.sparql.query import Query
    from deltalog.languages.sparql.solutions import Solutions

_COMPILING_SHARE = 0.5  # of the time of a failed attempt: it is tried once more (16 s of CPU in a first run)

T = TypeVar("T")
R = TypeVar("R")
METHODS = ("auto", "materialised", "magic", "qsqr")


class QuerySession(Generic[T]):
    """What is kept from one query to the next: prepared rules and facts, the history of goals, and the model."""

    def __init__(self, engine: str, backend: Backend[T]) -> None:
        self._engine, self._backend = engine, backend
        self._model: selector.Model | None = None
        self.own_model: selector.Model | None = None  # one that was set
        self._goals: GoalEvaluator[T] | None = None
        self._queries: SparqlEvaluator[T] | None = None
        self.examples: list[Example] = []  # of goals, that were asked to train a model

    # The model.

    @property
    def model(self) -> selector.Model:
        """The model that chooses between magic sets and QSQ-R: the one that came with deltalog, unless one is set."""
        if self._model is None:
            self._model = selector.load()
        return self._model

    @model.setter
    def model(self, model: selector.Model | str | PathLike[str]) -> None:
        self.own_model = model if isinstance(model, selector.Model) else selector.load(local_path(model))
        self._model = self.own_model

    def take_over(self, other: QuerySession[T]) -> None:
        """Takes over the model of another session."""
        self._model, self.own_model = other._model, other.own_model

    # Goals.

    def query(self, now: Contents[T], goal: str, method: str, timeout: float | None) -> Answers[T]:
        """The answers of a goal; see `KnowledgeBase.query`."""
        self._check_method(method)
        literals = parse_goal(goal, "<goal>", now.prefixes)
        started = time.perf_counter()
        with self._backend.limits.running("query", None if timeout is None else seconds(timeout)):
            found, complete = self._answers(now, literals, method)
        answers = Answers(found, time.perf_counter() - started, complete)
        answers.reads = set(reads(literals))
        return answers

    def plan(self, now: Contents[T], goal: str) -> str:
        """The rules that magic sets makes for a goal, after the fact that asks it."""
        asked = self._checked_goal(now, goal)
        goals = self.goals(now).having(asked.derived)
        return show(goals.rewriting(asked).rewriting, asked.constants, now.prefixes)

    def estimate(self, now: Contents[T], goal: str) -> Features:
        """The features of a goal, which the model goes by."""
        asked = self._checked_goal(now, goal)
        return self.goals(now).having(asked.derived).estimate(asked)

    def _checked_goal(self, now: Contents[T], goal: str) -> Goal:
        literals = parse_goal(goal, "<goal>", now.prefixes)
        now.check_goal(literals)
        return as_goal(literals)

    def _answers(self, now: Contents[T], literals: Sequence[BodyLiteral], method: str) -> tuple[Derived[T], bool]:
        """Answers, and whether they are all there are."""
        choice = self._choice_by_state(now, method)
        if choice is None or choice.method != "materialised":
            now.check_goal(literals)
            found = self._derived(now, as_goal(literals), choice)
            choice = found.choice
            if choice.method != "materialised":
                return found, True
        now = now.materialised()
        assert now.state is not None
        now.check_goal(literals)
        return Derived(choice, answer(literals, now.state.facts)), now.report.complete

    def _derived(self, now: Contents[T], goal: Goal, choice: MethodChoice | None) -> Derived[T]:
        """Answers without a materialisation, by the method given or that is chosen here; no facts where the choice is
        to materialise, which has happened then or is left to do."""
        history, meter = self.goals(now).history, self._backend.meter
        goals = self.goals(now).having(goal.derived)
        if not goals.is_stratified(goal.reads):
            return goals.none(goal, UNSTRATIFIED)
        started, asking = meter.work, kind_of_goal(goal)
        found = goals.at_once(goal) if choice is None else None
        if found is None:
            choice = choice or choose(asking, goals.estimate(goal), self.model, history)
            found = goals.at_once(goal, choice.trial) if choice.method == "materialised" else None
            found = found or self._watched(now, self._tried(now, choice), lambda choice: goals.derive(goal, choice))
        history.note(asking, meter.work - started)
        return found

    def goals(self, now: Contents[T]) -> GoalEvaluator[T]:
        """The evaluator of goals over the present rules and facts."""
        settled = self.settled(now)
        facts = {**now.base, **settled}
        goals = self._goals
        if goals is None or goals.rules is not now.rules or goals.settled != settled.keys():
            goals = GoalEvaluator(now.rules, facts, self._backend, settled)
        elif goals.facts != facts:
            goals = goals.changed(facts)
        self._goals = goals
        return goals

    def settled(self, now: Contents[T]) -> dict[Pred, T]:
        """The facts of the predicates that were complete when a limit stopped the materialisation."""
        state = now.state
        if state is None or now.is_complete or self._backend.batch_independent_plans or state.program.stored:
            return {}
        reached = max((series.hyper_node for series in now.report.recent), default=0)
        nodes = state.program.hyper_nodes
        unsettled = {pred for node in nodes[reached:] for pred in node.heads}
        done = {pred for node in nodes[:reached] for pred in node.heads} - unsettled
        return {pred: state.relations.get(pred) for pred in done}

    # SPARQL.

    def solve(
        self, now: Contents[T], text: str, method: str, dataset: Dataset | None = None, base: str | None = None
    ) -> Solutions:
        """The solutions of a SPARQL query; see `KnowledgeBase.solve`."""
        require("sparql")
        from deltalog.languages.sparql.graphs import check_dataset
        from deltalog.languages.sparql.query import translate
        from deltalog.languages.sparql.request_base import request_base

        self._check_method(method)
        check_dataset(dataset)
        text = checked_text(text, "SPARQL as text, such as 'SELECT ?x { ?x a ?c }'")
        query = translate(text, now.prefixes, dataset, request_base(base, text, lambda: now.preds))
        try:
            return self.solve_translated(now, query, method)
        except RecursionError:  # of a plan with a thousand steps
            raise UsageError("the query is too long: it has too many patterns, filters or bindings in a row") from None

    def solve_translated(self, now: Contents[T], query: Query, method: str = "auto") -> Solutions:
        """The same of a query that is rules and a goal already."""
        started, work = time.perf_counter(), self._backend.meter.work
        choice = self._sparql_choice(now, query, method)
        solutions = self._watched(
            now, choice, lambda choice: self._sparql(now, choice.method == "materialised").solve(query, choice)
        )
        solutions.seconds = time.perf_counter() - started
        if solutions.method != "materialised":
            self.goals(now).history.note(kind(query.rules), self._backend.meter.work - work)
        return solutions

    def solve_select(self, now: Contents[T], select: Select) -> Solutions:
        """The solutions of a SELECT that is no text, from the materialisation."""
        from deltalog.languages.sparql.query import of_select

        return self._sparql(now, whole=True).solve(of_select(select), MethodChoice("materialised", "as requested"))

    def _sparql_choice(self, now: Contents[T], query: Query, method: str) -> MethodChoice:
        choice = self._choice_by_state(now, method)
        if choice is not None and choice.method == "materialised":
            return choice
        if self._engine == "naive":
            return MethodChoice("materialised", "the naive engine always materialises")
        queries, history = self._sparql(now, whole=False), self.goals(now).history
        if not queries.is_stratified(query):
            return UNSTRATIFIED
        return choice or self._tried(now, queries.choose(query, self.model, history))

    def _sparql(self, now: Contents[T], whole: bool) -> SparqlEvaluator[T]:
        """The evaluator of queries over the present rules and facts, or over the whole materialisation."""
        from deltalog.languages.sparql.answer import SparqlEvaluator

        rules, facts = now.rules, now.base
        if whole:
            state = now.materialised().state
            assert state is not None
            rules, facts = (), {pred: table for (pred, _), table in state.facts.parts.items()}
        facts = {**facts, **now.quads}
        queries = self._queries
        if queries is None or queries.rules != rules or queries.whole != whole or queries.facts != facts:
            queries = SparqlEvaluator(facts, rules, now.evaluator(), whole)
        self._queries = queries
        return queries

    # Choices.

    def _check_method(self, method: str) -> None:
        check_choice("method", method, METHODS)
        if method == "qsqr" and self._backend.capabilities.point_lookup is None:
            raise UsageError(
                "QSQ-R makes many small look-ups, which only the local engine does fast; "
                'use method="magic", or a knowledge base with engine="local"'
            )

    def _choice_by_state(self, now: Contents[T], method: str) -> MethodChoice | None:
        """A choice that does not depend on the goal."""
        if method != "auto":
            return MethodChoice(method, "as requested")
        if now.is_complete:
            return MethodChoice("materialised", "already materialised")
        if self._backend.capabilities.point_lookup is None:
            return MethodChoice("magic", "not materialised; on Spark goals are evaluated by magic sets")
        reason = now.why_materialise()
        return None if reason is None else MethodChoice("materialised", reason)

    def _tried(self, now: Contents[T], choice: MethodChoice) -> MethodChoice:
        """A choice; if it is to materialise, that is tried for as much work as it may be."""
        if choice.method != "materialised":
            return choice
        history = self.goals(now).history
        if not self._is_materialised(now, history):
            history.give_up_materialising()
            return history.instead_of(choice)
        return choice

    def _is_materialised(self, now: Contents[T], history: History) -> bool:
        """Materialises within the budget of an attempt. If the clock ran out while kernels were compiled, which happens
        once, there is another attempt."""
        from deltalog.kernels.compilations import COMPILATIONS

        compiled, most = COMPILATIONS.seconds, history.allowed_seconds
        with self._backend.limits.running("query", most), self._backend.meter.within(history.allowed):
            try:
                now.materialise()
                return True
            except GivenUp:
                return False
            except LimitReached:
                compiling = COMPILATIONS.seconds - compiled
        is_due_to_compiling = compiling > _COMPILING_SHARE * most
        return is_due_to_compiling and self._is_materialised(now, history)

    def _watched(self, now: Contents[T], choice: MethodChoice, answer: Callable[[MethodChoice], R]) -> R:
        """The answers by a choice; where that is given up, by the other one, and so on."""
        while True:
            try:
                return answer(choice)
            except GivenUp:
                self._backend.limits.check()
                choice = self._tried(now, self.goals(now).history.instead_of(choice))
