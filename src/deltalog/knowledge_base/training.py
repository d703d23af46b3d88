"""Training of the choice between methods for goals, of one knowledge base."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from deltalog.core.limits import count
from deltalog.knowledge_base import training_goals
from deltalog.knowledge_base.calls import exclusive, limited
from deltalog.knowledge_base.training_goals import Example

if TYPE_CHECKING:
    from deltalog.evaluation.goals.estimate import Features
    from deltalog.evaluation.goals.selector import Model
    from deltalog.knowledge_base.facade import KnowledgeBase

MAX_GOALS = 1_000_000


class Training:
    """Goals to learn from, what they cost by each method, and the model that is made of that."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._session = kb, kb._session

    @limited
    def estimate(self, goal: str) -> Features:
        """About how much work a goal is (Joshi et al., Algorithm 2): what the choice of a method goes by."""
        return self._session.queries.estimate(self._session.contents_for_goal(), goal)

    @property
    def examples(self) -> list[Example]:
        """What `learn` has found."""
        return self._session.queries.examples

    @exclusive
    def learn(self, goal: str, *, timeout: float = 10.0) -> Example:
        """Asks a goal by magic sets and by QSQ-R, and notes in `examples` which was faster, to train a selector."""
        (example,) = training_goals.examples(self._kb, [goal], timeout)
        self.examples.append(example)
        return example

    @exclusive
    def goals(self, most: int = 500, seed: int = 0) -> list[str]:
        """Goals to train a selector with, made from rules and facts (Joshi et al., Algorithm 3); kinds take turns."""
        most, seed = min(count(most, "goals"), MAX_GOALS), count(seed, "a seed")
        now = self._session.contents_for_goal()
        return training_goals.training_goals(now.rules, now.base, now.backend, most, seed)

    @limited
    def test_goals(self, most: int = 250, seed: int = 0, without: Iterable[str] = ()) -> list[tuple[str, int]]:
        """Other goals, made from facts that follow in one step, two steps and so on, with that number of steps."""
        most, seed = min(count(most, "goals"), MAX_GOALS), count(seed, "a seed")
        now = self._session.contents_for_goal()
        return training_goals.test_goals(now.rules, now.base, now.backend, most, seed, without)

    @property
    @exclusive
    def selector(self) -> Model:
        """The model that chooses the method of a goal: the one that came with deltalog, unless another is set."""
        return self._session.queries.model

    @selector.setter
    @exclusive
    def selector(self, model: Model | str | PathLike[str]) -> None:
        self._session.queries.model = model
