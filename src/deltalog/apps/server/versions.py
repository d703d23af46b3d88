"""The knowledge base that is served: one writer, and the versions that readers see.

    present   the version that a request reads from when it begins; replaced as a whole when a change is done
    steps     what each of the last changes added and removed, for reconnecting clients (`subscriptions`)

A version is a frozen knowledge base (`deltalog.knowledge_base.frozen`), so readers hold no lock, and a change waits for
none of them. The last few versions are kept whole, and of more the facts that changed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from deltalog.apps.server.errors import HTTPError
from deltalog.apps.server.readers import Readers, Version
from deltalog.apps.server.settings import ServerSettings
from deltalog.core.rules import Pred, Rule
from deltalog.core.user_warnings import noted_warnings
from deltalog.evaluation.facts import Facts, of_predicate
from deltalog.evaluation.maintenance.update_state import difference
from deltalog.extensions.graphs.relations import without_graphs
from deltalog.extensions.store.catalog import VersionRow
from deltalog.extensions.store.store import Store
from deltalog.knowledge_base.calls import session_of
from deltalog.program import Program

if TYPE_CHECKING:
    from deltalog.evaluation.change import Change
    from deltalog.knowledge_base.facade import KnowledgeBase

MARK = r"[0-9]{1,15}(?:\.[0-9a-f]{8})?"  # of a version
FactsByPredicate = Mapping[Pred, Facts[Any]]
RuleTexts = Mapping[str, Rule]


@dataclass(slots=True)
class Step:
    """What a version changed. `before` and `after` are there for the last few only."""

    number: int
    added: FactsByPredicate
    removed: FactsByPredicate
    added_rules: RuleTexts
    removed_rules: RuleTexts
    before: Version | None
    after: Version | None
    facts: int = field(init=False)

    def __post_init__(self) -> None:
        self.facts = sum(len(facts) for each in (self.added, self.removed) for facts in each.values())


@dataclass(slots=True)
class Made:
    """A change that was made, or described by a dry run, at a version."""

    change: Change
    number: int
    seconds: float
    durable: bool


@dataclass(slots=True)
class Versions:
    """A knowledge base and its versions. One thread at a time calls what changes it; any may read."""

    kb: KnowledgeBase
    settings: ServerSettings
    present: Version = field(init=False)
    evaluated: Program = field(init=False)  # the program that was materialised at the start
    readers: Readers = field(default_factory=Readers)
    rows: list[VersionRow] = field(default_factory=list)
    steps: deque[Step] = field(default_factory=deque)
    # Without a store, versions count from 1 at every start. Marks of versions then say of which start they are.
    start: str = field(init=False)
    _facts: int = 0  # in all steps

    def __post_init__(self) -> None:
        self.kb.materialise()
        self.evaluated = session_of(self.kb).completed().program
        store = self._store
        if store is None:
            self.rows = [VersionRow(1, _now(), self.kb.explicit_facts, 0, len(self.kb.rules), 0)]
        else:
            self.rows = store.catalog.versions()
        self.start = token_hex(4) if store is None else ""
        self.present = Version(self.kb.version or 1, self.kb.frozen())

    @property
    def _store(self) -> Store | None:
        link = session_of(self.kb).link
        return None if link is None else link.store

    # Marks: what clients send back to name a version.

    def mark(self, number: int) -> str:
        return f"{number}.{self.start}" if self.start else str(number)

    def marked(self, mark: str) -> int | None:
        """The version of a mark; None if it is of another start of the server."""
        number, _, start = mark.partition(".")
        return int(number) if start == self.start else None

    # Changes.

    def change(self, make: Callable[[KnowledgeBase], Change], expect: int | None = None) -> Made:
        """Makes a change, all or nothing; `expect` is the version that it is meant for."""
        self._check_expected(expect)
        started = time.perf_counter()
        with self.kb.limits.running("the change", self.settings.seconds):
            change = _with_warnings(make, self.kb)
        seconds = time.perf_counter() - started
        added, removed = change.added.by_predicate(), change.removed.by_predicate()
        self._publish(added, removed, change.added_rules, change.removed_rules)
        return Made(change, self.present.number, seconds, self.kb.version is not None)

    def describe(self, kb: KnowledgeBase, number: int, make: Callable[[KnowledgeBase], Change]) -> Made:
        """What a change would do, found out by a reader of a version."""
        started = time.perf_counter()
        change = _with_warnings(make, kb)
        return Made(change, number, time.perf_counter() - started, False)

    def follow(self) -> None:
        """Takes over what another process has written to a store that is open for reading."""
        before = self.present
        with self.kb.limits.running("following the store", None):
            self.kb.refresh()
        if self.kb.version != before.number:
            self._publish_difference(before)

    def _check_expected(self, expect: int | None) -> None:
        if expect is not None and expect != self.present.number:
            message = f"the present version is {self.present.number}, and the change expects {expect}; look again"
            raise HTTPError(409, "conflict", message, present=self.present.number)

    def _publish(
        self, added: FactsByPredicate, removed: FactsByPredicate, added_rules: RuleTexts, removed_rules: RuleTexts
    ) -> None:
        before, frozen = self.present, self.kb.frozen()
        rules = len(added_rules), len(removed_rules)
        row = self._row(before, frozen, *rules)
        if row is None and not (added or removed or any(rules)):
            return
        after = Version(self.kb.version or before.number + 1, frozen)
        self.rows.append(row or VersionRow(after.number, _now(), 0, 0, *rules))
        self._keep(Step(after.number, added, removed, added_rules, removed_rules, before, after))
        self.present = after

    def _row(self, before: Version, after: KnowledgeBase, added_rules: int, removed_rules: int) -> VersionRow | None:
        """The new version in numbers; None if no explicit fact and no rule has changed."""
        store = self._store
        if store is not None:
            version = self.kb.version or 0
            return store.catalog.version_row(version) if version != before.number else None
        changed = _changed_explicit(before.kb, after)
        if not any(changed) and not added_rules and not removed_rules:
            return None
        added, removed = (
            sum(map(session_of(after).backend.size, without_graphs(tables).values())) for tables in changed
        )
        return VersionRow(before.number + 1, _now(), added, removed, added_rules, removed_rules)

    def _publish_difference(self, before: Version) -> None:
        """Publishes what is there now, found by comparison."""
        after, store = Version(self.kb.version or 0, self.kb.frozen()), self._store
        assert store is not None
        with store.catalog.reading():
            self.rows = store.catalog.versions()
        if _dictionary(after.kb) is not _dictionary(before.kb):  # it was opened again: ids mean other values
            self.steps.clear()
            self._facts = 0
        else:
            added, removed = _differences(before.kb, after.kb)
            rules, old = session_of(after.kb).state.rule_set, session_of(before.kb).state.rule_set
            self._keep(Step(after.number, added, removed, rules.without(old), old.without(rules), before, after))
        self.present = after

    # History.

    def _keep(self, step: Step) -> None:
        settings, steps = self.settings, self.steps
        steps.append(step)
        if len(steps) > settings.recent_versions:
            old = steps[-settings.recent_versions - 1]
            old.before = old.after = None
        self._facts += step.facts
        while len(steps) > settings.recent_changes or (self._facts > settings.recent_facts and len(steps) > 1):
            self._facts -= steps.popleft().facts

    def since(self, number: int) -> list[Step] | None:
        """The changes after a version, in order; None if they are not all known."""
        steps, present = list(self.steps), self.present
        if number == present.number:
            return []
        first = next((i for i, step in enumerate(steps) if _origin(steps, i) == number), None)
        return None if first is None else list(islice(steps, first, None))

    def at(self, mark: str) -> Version:
        """A version that is still kept whole."""
        number, present = self.marked(mark), self.present.number
        for version in self._kept():
            if version.number == number:
                return version
        message = (
            f"version {mark} is no longer kept, the present one is {self.mark(present)}; start over without a cursor"
        )
        raise HTTPError(410, "gone", message)

    def _kept(self) -> Iterator[Version]:
        yield self.present
        for step in list(self.steps):
            yield from (version for version in (step.before, step.after) if version is not None)

    def step(self, number: int) -> Step:
        """The change that led to a version."""
        for step in list(self.steps):
            if step.number == number:
                return step
        raise HTTPError(
            410, "gone", f"the changes of version {number} are no longer kept; /versions lists the versions"
        )


def _origin(steps: list[Step], i: int) -> int:
    """The version before a step; numbers of a followed store may skip some."""
    if i > 0:
        return steps[i - 1].number
    before = steps[0].before
    return steps[0].number - 1 if before is None else before.number


def _changed_explicit(before: KnowledgeBase, after: KnowledgeBase) -> list[Mapping[Pred, Any]]:
    """The explicit facts that have come and gone, and those of them that are in named graphs."""
    return _compared(session_of(before).state.explicit, session_of(after).state.explicit, after)


def _differences(before: KnowledgeBase, after: KnowledgeBase) -> list[FactsByPredicate]:
    """The facts that have come and gone, explicit and derived."""
    old, new = (dict(session_of(kb).completed().facts.whole()) for kb in (before, after))
    found = _compared(old, new, after)
    backend, names = session_of(after).backend, session_of(after).columns.known
    return [{pred: of_predicate(pred, table, backend, names(pred)) for pred, table in each.items()} for each in found]


def _compared(old: Mapping[Pred, Any], new: Mapping[Pred, Any], kb: KnowledgeBase) -> list[Mapping[Pred, Any]]:
    """What is only in the new tables, and only in the old ones."""
    same = {pred for pred in old.keys() & new.keys() if old[pred] is new[pred]}
    one, other = ({pred: table for pred, table in each.items() if pred not in same} for each in (old, new))
    return [difference(a, b, session_of(kb).backend) for a, b in ((other, one), (one, other))]


def _dictionary(kb: KnowledgeBase) -> Any:
    return session_of(kb).backend.dictionary  # type: ignore[attr-defined]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _with_warnings(make: Callable[[KnowledgeBase], Change], kb: KnowledgeBase) -> Change:
    """A change whose notes have the warnings of making it."""
    with noted_warnings() as found:
        change = make(kb)
    return replace(change, notes=(*change.notes, *found)) if found else change
