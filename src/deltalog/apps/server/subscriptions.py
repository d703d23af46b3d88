"""What each change adds to and removes from the answers of a goal, or the facts of a predicate.

A goal of one atom whose variables are all different answers: its answers are facts, so those of a difference are the
difference of its answers. (A conjunction, a negation or a variable that is not shown needs both versions: they are
compared.) A change that touches nothing that a goal reads changes none of its answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.readers import Version
from deltalog.apps.server.versions import Step, Versions
from deltalog.core.rules import TRIPLES, TYPES, Atom, BodyLiteral, Pred, Variable
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.goals.goal_evaluator import answer
from deltalog.evaluation.goals.rulebase import reads
from deltalog.evaluation.plan.ir import Part
from deltalog.evaluation.seminaive import Relations
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.deltalog.parser import parse_goal

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

GoalRows = list[tuple[Any, ...]]
KEPT_ANSWERS = 64  # of goals at versions, for many clients with the same goal


class GoalDelta(NamedTuple):
    """The answers that a change added and removed."""

    added: GoalRows
    removed: GoalRows


@dataclass(frozen=True)
class Watched:
    """What a client watches: a goal, or all facts of a predicate."""

    text: str
    columns: tuple[str, ...]
    literals: tuple[BodyLiteral, ...] = ()
    predicate: Pred | None = None

    @classmethod
    def of_predicate(cls, name: str, kb: KnowledgeBase) -> Watched:
        pred = session_of(kb).predicate(name)
        return cls(str(pred), kb.facts(name).columns, predicate=pred)

    @classmethod
    def of_goal(cls, text: str, kb: KnowledgeBase) -> Watched:
        return cls(text, kb.query(text).columns, parse_goal(text, "<goal>", kb.prefixes))

    @property
    def reads(self) -> frozenset[Pred]:
        return frozenset((self.predicate,) if self.predicate is not None else reads(self.literals))

    @property
    def is_one_atom(self) -> bool:
        """Whether every answer stands for one fact."""
        atom = self.literals[0]
        if len(self.literals) > 1 or not isinstance(atom, Atom) or atom.pred in (TRIPLES, TYPES):
            return False
        return not any(isinstance(term, Variable) and term.anonymous for term in atom.terms)


@dataclass(slots=True)
class GoalDeltas:
    """The differences of watched goals, each found once however many clients watch it."""

    versions: Versions
    _known: dict[tuple[str, int], Facts[Any]] = field(default_factory=dict)

    def of(self, step: Step, watched: Watched) -> GoalDelta:
        """What a change did to the answers; HTTPError if that cannot be told any more, or not in so many rows."""
        if not self._is_touched(step, watched):
            return GoalDelta([], [])
        if (pred := watched.predicate) is not None:
            return self._listed(step.added.get(pred), step.removed.get(pred))
        if watched.is_one_atom:
            with self.versions.readers.reading(self.versions.present) as kb:
                return self._listed(*(_matching(facts, watched, kb) for facts in (step.added, step.removed)))
        return self._compared(step, watched)

    def _is_touched(self, step: Step, watched: Watched) -> bool:
        read = watched.reads
        wild = not read.isdisjoint((TRIPLES, TYPES))
        return any(wild or pred in read for facts in (step.added, step.removed) for pred in facts)

    def _compared(self, step: Step, watched: Watched) -> GoalDelta:
        if step.before is None or step.after is None:
            raise HTTPError(410, "gone", f"version {step.number} is too long ago for a goal of this form")
        before, after = (self._answers(version, watched) for version in (step.before, step.after))
        minus, columns = after._backend.minus, watched.columns
        added, removed = minus(after.table, before.table), minus(before.table, after.table)
        return self._listed(*(Facts(columns, table, after._backend) for table in (added, removed)))

    def _answers(self, version: Version, watched: Watched) -> Facts[Any]:
        name = watched.text, version.number
        known = self._known.get(name)
        if known is None:
            with self.versions.readers.reading(version) as kb:
                known = kb.query(watched.text)
            while len(self._known) >= KEPT_ANSWERS:
                self._known.pop(next(iter(self._known)), None)
            self._known[name] = known
        return known

    def _listed(self, added: Facts[Any] | None, removed: Facts[Any] | None) -> GoalDelta:
        found: Sequence[Facts[Any] | None] = added, removed
        total, most = sum(len(facts) for facts in found if facts is not None), self.versions.settings.rows
        if total > most:
            raise HTTPError(410, "gone", f"the change has {total:,} rows, more than the limit of {most:,}")
        return GoalDelta(*([] if facts is None else list(facts) for facts in found))


def _matching(facts: Mapping[Pred, Facts[Any]], watched: Watched, kb: KnowledgeBase) -> Facts[Any]:
    """The answers of a goal among some facts alone."""
    parts = {(pred, Part.ALL): each.table for pred, each in facts.items() if pred in watched.reads}
    return answer(watched.literals, Relations(session_of(kb).backend, parts))
