"""The result of an update: added and removed facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalog.concurrency.cached import cached_property
from deltalog.model.facts import Facts
from deltalog.model.naming import Names
from deltalog.syntax.ast import Pred

if TYPE_CHECKING:
    from deltalog.maintenance.update_state import UpdateReport


class Difference(Mapping[str, Facts[Any]]):
    """Facts by predicate. Iterating gives the predicates that have any; all other known predicates are empty.

    For recomputed relations the difference is computed on demand.
    """

    def __init__(
        self,
        find: Callable[[], Mapping[Pred, Facts[Any]]],
        names: Callable[[Iterable[Pred]], Names],
        none: Callable[[Pred], Facts[Any]],
    ) -> None:
        self._find: Callable[[], Mapping[Pred, Facts[Any]]] | None = find
        self._name, self._none = names, none
        self._found: Mapping[Pred, Facts[Any]] = {}

    @property
    def _facts(self) -> Mapping[Pred, Facts[Any]]:
        find = self._find
        if find is not None:  # several threads may compute it
            self._found = find()
            self._find = None  # releases the previous state
        return self._found

    @cached_property
    def _names(self) -> Names:
        return self._name(self._facts)

    def __getitem__(self, predicate: str) -> Facts[Any]:
        pred = self._names.find(predicate)
        return self._facts[pred] if pred in self._facts else self._none(pred)

    def __iter__(self) -> Iterator[str]:
        return (name for name, pred in self._names.by_name.items() if pred in self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {len(self[name]):,}' for name in self)}}}"


@dataclass(frozen=True)
class Change:
    """The net facts, explicit or derived, that an update added and removed; and its report."""

    added: Difference
    removed: Difference
    report: UpdateReport
