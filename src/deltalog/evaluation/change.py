"""The result of an update: added and removed facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.naming import Names
from deltalog.core.render.html import html_preview
from deltalog.core.rules import QUADS, Pred, Rule
from deltalog.core.terms import Value
from deltalog.evaluation.facts import Facts, of_predicate
from deltalog.formats.detached_rows import DetachedRows
from deltalog.formats.files import local_path
from deltalog.formats.formats import GRAPH_FORMATS, OutputForm

if TYPE_CHECKING:
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.maintenance.update_state import UpdateReport


class Difference(Mapping[str, Facts[Any]]):
    """Facts by predicate. Iterating gives the predicates that have any; all other known predicates are empty.

    For recomputed relations the difference is computed on demand.
    """

    def __init__(
        self,
        find: Callable[[], Mapping[Pred, Facts[Any]]],
        names: Callable[[Iterable[Pred]], Names],
        backend: Backend[Any],
        columns: Callable[[Pred], Sequence[str]] = lambda _: (),
    ) -> None:
        self._find: Callable[[], Mapping[Pred, Facts[Any]]] | None = find
        self._name, self._backend, self._columns = names, backend, columns
        self._found: Mapping[Pred, Facts[Any]] = {}

    @property
    def _facts(self) -> Mapping[Pred, Facts[Any]]:
        find = self._find
        if find is not None:  # several threads may compute it
            self._found = shielded(find)()
            self._find = None  # releases the previous state
        return self._found

    def by_predicate(self) -> Mapping[Pred, Facts[Any]]:
        """The facts of the predicates that have any."""
        return self._facts

    @cached_property
    def _names(self) -> Names:
        return self._name(self._facts)

    def __getitem__(self, predicate: str) -> Facts[Any]:
        pred = self._names.find(predicate)
        backend = self._backend
        return self._facts.get(pred) or of_predicate(pred, backend.empty(pred.arity), backend, self._columns(pred))

    def __iter__(self) -> Iterator[str]:
        return (name for name, pred in self._names.by_name.items() if pred in self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {count:,}' for name, count in self.counts().items())}}}"

    def _ipython_key_completions_(self) -> list[str]:
        """The predicates that have facts, for completion of `change.added["`."""
        return list(self)

    @shielded
    def _repr_html_(self) -> str:
        counts = sorted(self.counts().items(), key=lambda each: (-each[1], each[0]))
        rows, total = ((name, f"{count:,}") for name, count in counts), sum(count for _, count in counts)
        return html_preview(("predicate", "facts") if counts else (), rows, len(counts), f"{total:,} facts")

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, (dict(self._facts),)

    def counts(self) -> dict[str, int]:
        """The number of facts by predicate."""
        return {name: len(facts) for name, facts in self.items()}

    def write(self, folder: Path, format: str, quads: Collection[tuple[Value, ...]] = ()) -> None:
        """Writes the facts to a folder, as `KnowledgeBase.write` does; and quads, if the format has them."""
        tables = {pred: facts.table for pred, facts in self._facts.items()}
        if format in GRAPH_FORMATS and isinstance(quads, Facts):
            tables[QUADS] = quads.table
        columns = {pred: names for pred in tables if (names := self._columns(pred))}
        self._backend.codec.write(folder, tables, OutputForm(format, columns))


def _detached(facts: Mapping[Pred, Facts[Any]]) -> Difference:
    """A difference that was pickled; it knows the predicates that have facts."""
    return Difference(lambda: facts, lambda others: Names({*facts, *others}), cast("Backend[Any]", DetachedRows()))


@dataclass(frozen=True, repr=False)
class Change:
    """The net facts, explicit or derived, that an update added and removed; its report; and rules by their ids."""

    added: Difference
    removed: Difference
    report: UpdateReport
    added_rules: Mapping[str, Rule] = field(default_factory=dict)
    removed_rules: Mapping[str, Rule] = field(default_factory=dict)
    added_quads: Collection[tuple[Value, ...]] = ()  # of named graphs: graph, subject, predicate, object
    removed_quads: Collection[tuple[Value, ...]] = ()
    notes: tuple[str, ...] = ()  # what was asked for and did not happen: a fact that is deleted still follows

    def __repr__(self) -> str:
        rules = f"; rules +{len(self.added_rules)} -{len(self.removed_rules)}" if self._changes_rules else ""
        return f"<Change: added {self.added}, removed {self.removed}{rules}>"

    @property
    def _changes_rules(self) -> bool:
        return bool(self.added_rules or self.removed_rules)

    def _repr_html_(self) -> str:
        added, removed = self.added.counts(), self.removed.counts()
        names = sorted({*added, *removed}, key=lambda name: (-added.get(name, 0) - removed.get(name, 0), name))
        rows = ((name, f"+{added.get(name, 0):,}", f"-{removed.get(name, 0):,}") for name in names)
        caption = f"{sum(added.values()):,} facts added, {sum(removed.values()):,} removed"
        if self._changes_rules:
            caption += f"; {len(self.added_rules)} rules added, {len(self.removed_rules)} removed"
        return html_preview(("predicate", "added", "removed") if names else (), rows, len(names), caption)

    @shielded
    def write(self, folder: str | PathLike[str], format: str = "csv") -> None:
        """Writes the facts as `KnowledgeBase.write` does, to `added` and `removed` in a folder that is new or empty."""
        from deltalog.formats.write import whole

        def fill(inside: Path) -> None:
            self.added.write(inside / "added", format, self.added_quads)
            self.removed.write(inside / "removed", format, self.removed_quads)

        whole(local_path(folder), fill)
