"""The methods of a knowledge base that answer goals and SPARQL, and that train the choice between methods.

They are a base class of `KnowledgeBase`: a delegate would need every signature a second time, in methods that only
forward calls. The work is done by a `QuerySession`, which is loaded with the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.concurrency.locks import exclusive
from deltalog.core.limits import Limits, count, limited, within_budget
from deltalog.core.render.notebook_text import PlainText
from deltalog.evaluation.failed_expressions import FailedExpression, failed_expressions, reached_rules
from deltalog.knowledge_base.read_methods import ReadMethods

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.evaluation.goals.estimate import Features
    from deltalog.evaluation.goals.goal_evaluator import Answers
    from deltalog.evaluation.goals.selector import Model
    from deltalog.knowledge_base.query_session import QuerySession
    from deltalog.knowledge_base.training_goals import Example
    from deltalog.languages.sparql.graphs import Dataset
    from deltalog.languages.sparql.solutions import Solutions

MAX_GOALS = 1_000_000  # to train a selector with


class QueryMethods(ReadMethods):
    """A knowledge base as far as queries see it."""

    engine: str
    limits: Limits
    examples: list[Example]  # that `learn` has found

    @cached_property
    def _session(self) -> QuerySession[Any]:
        from deltalog.knowledge_base.query_session import QuerySession

        return QuerySession(self.engine, self._backend)

    def _forget_queries(self) -> None:
        """Begins a new session, on the present backend, with the selector of the old one."""
        old = self.__dict__.pop("_session", None)
        if old is not None:
            self._session.take_over(old)

    @exclusive
    @limited
    @within_budget
    def query(self, goal: str, method: str = "auto", *, timeout: float | None = None) -> Answers[Any]:
        """The answers of a goal such as `path(a, ?x)`, or several separated by commas: one row per binding of its
        variables, in the order in which they occur. Prefixes are those of the program. `timeout` is for this goal.

        method: "materialised" looks them up among all that follows; "magic" and "qsqr" derive only what the goal needs,
        by magic sets (bottom-up, for goals that need much) or QSQ-R (top-down, for goals that need little); "auto"
        looks them up if everything is known, and chooses otherwise. The answers say which it was, and why.
        """
        self._warn_of_data()
        now = self._contents_for_goal(timeout)
        with self._failing(now) as failed:
            answers = self._session.query(now, goal, method, timeout)
            answers.failures = failed(answers)
        return answers

    @shielded
    def sparql(
        self, query: str, method: str = "auto", *, dataset: Dataset | None = None, base: str | None = None
    ) -> Solutions | bool:
        """The solutions of a SPARQL SELECT, whether an ASK has one, or the triples of a CONSTRUCT or DESCRIBE. `method`
        is as for `query`.

        A class is a predicate of one argument, a property one of two; predicates with bare names go as `<name>`.
        Prefixes are those of the query and the program, and rdf, rdfs, owl and xsd.
        dataset: the graphs to ask (`languages.sparql.graphs.Dataset`), instead of those of FROM and FROM NAMED.
        base: what relative IRIs are resolved against, unless they name a predicate or the query has a BASE.
        """
        solutions = self.solve(query, method, dataset=dataset, base=base)
        return len(solutions) > 0 if solutions.ask else solutions

    @exclusive
    @limited
    @within_budget
    def solve(
        self, query: str, method: str = "auto", *, dataset: Dataset | None = None, base: str | None = None
    ) -> Solutions:
        """As `sparql`, but an ASK, too, has solutions, which say how they came about: `method`, `reason`, `seconds`."""
        self._warn_of_data()
        now = self._contents_for_goal()
        with self._failing(now) as failed:
            solutions = self._session.solve(now, query, method, dataset, base)
            solutions.failures = tuple(each for each in failed(solutions) if each.rule is not None)
        return solutions

    @contextmanager
    def _failing(self, now: Contents[Any]) -> Iterator[Callable[[Any], tuple[FailedExpression, ...]]]:
        """Around a query: a function that finds the expressions that failed for its answers. Those of the query are
        not the materialisation's."""
        log = self._backend.failures
        before, ids = log.mark(), self._rule_set.ids

        def failed(answers: Any) -> tuple[FailedExpression, ...]:
            if not log.tallies:
                return ()
            if answers.method != "materialised":
                return tuple(failed_expressions(log.since(before), ids))
            needed = reached_rules(answers.reads, ids.values())
            return tuple(each for each in failed_expressions(log, ids) if each.rule is None or each.rule in needed)

        with log.apart(now.state is not None):
            yield failed

    @exclusive
    @limited
    @within_budget
    def plan_goal(self, goal: str) -> PlainText:
        """The rules that magic sets makes for a goal, after the fact that asks it."""
        return PlainText(self._session.plan(self._contents_for_goal(), goal))

    @exclusive
    @limited
    @within_budget
    def estimate(self, goal: str) -> Features:
        """About how much work a goal is (Joshi et al., Algorithm 2): what the choice of a method goes by."""
        return self._session.estimate(self._contents_for_goal(), goal)

    @exclusive
    def learn(self, goal: str, *, timeout: float = 10.0) -> Example:
        """Asks a goal by magic sets and by QSQ-R, and notes in `examples` which was faster, to train a selector."""
        from deltalog.knowledge_base.training_goals import examples

        (example,) = examples(self, [goal], timeout)
        self.examples.append(example)
        return example

    @exclusive
    def training_goals(self, most: int = 500, seed: int = 0) -> list[str]:
        """Goals to train a selector with, made from rules and facts (Joshi et al., Algorithm 3); kinds take turns."""
        from deltalog.knowledge_base.training_goals import training_goals

        most, seed = min(count(most, "goals"), MAX_GOALS), count(seed, "a seed")
        now = self._contents_for_goal()
        return training_goals(now.rules, now.base, now.backend, most, seed)

    @exclusive
    @limited
    @within_budget
    def test_goals(self, most: int = 250, seed: int = 0, without: Iterable[str] = ()) -> list[tuple[str, int]]:
        """Other goals, made from facts that follow in one step, two steps and so on, with that number of steps."""
        from deltalog.knowledge_base.training_goals import test_goals

        most, seed = min(count(most, "goals"), MAX_GOALS), count(seed, "a seed")
        now = self._contents_for_goal()
        return test_goals(now.rules, now.base, now.backend, most, seed, without)

    @property
    @exclusive
    def selector(self) -> Model:
        """The model that chooses the method of a goal: the one that came with deltalog, unless another is set."""
        return self._session.model

    @selector.setter
    @exclusive
    def selector(self, model: Model | str | PathLike[str]) -> None:
        self._session.model = model
