"""Goals and SPARQL queries of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deltalog.evaluation.failed_expressions import FailedExpression, failed_expressions, reached_rules
from deltalog.evaluation.goals.contents import Contents
from deltalog.knowledge_base.session import Session

if TYPE_CHECKING:
    from deltalog.evaluation.goals.goal_evaluator import Answers
    from deltalog.languages.sparql.graphs import Dataset
    from deltalog.languages.sparql.solutions import Solutions


def query(session: Session, goal: str, method: str = "auto", timeout: float | None = None) -> Answers[Any]:
    """The answers of a goal."""
    session.warn_of_data()
    now = session.contents_for_goal(timeout)
    with _failing(session, now) as failed:
        answers = session.queries.query(now, goal, method, timeout)
        answers.failures = failed(answers)
    return answers


def solve(
    session: Session, text: str, method: str = "auto", dataset: Dataset | None = None, base: str | None = None
) -> Solutions:
    """The solutions of a SPARQL query; an ASK, too, has solutions, which say how they came about."""
    session.warn_of_data()
    now = session.contents_for_goal()
    with _failing(session, now) as failed:
        solutions = session.queries.solve(now, text, method, dataset, base)
        solutions.failures = tuple(each for each in failed(solutions) if each.rule is not None)
    return solutions


@contextmanager
def _failing(session: Session, now: Contents[Any]) -> Iterator[Callable[[Any], tuple[FailedExpression, ...]]]:
    """Around a query: a function that finds the expressions that failed for its answers. Those of the query are not
    the materialisation's."""
    log = session.backend.failures
    before, ids = log.mark(), session.state.rule_set.ids

    def failed(answers: Any) -> tuple[FailedExpression, ...]:
        if not log.tallies:
            return ()
        if answers.method != "materialised":
            return tuple(failed_expressions(log.since(before), ids))
        needed = reached_rules(answers.reads, ids.values())
        return tuple(each for each in failed_expressions(log, ids) if each.rule is None or each.rule in needed)

    with log.isolated(now.state is not None):
        yield failed
