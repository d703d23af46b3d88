"""What an update changed, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deltalog.facts import Facts

if TYPE_CHECKING:
    from deltalog.engine.update import UpdateReport


class Difference(Mapping[str, Facts[Any]]):
    """Facts by predicate. Iterating gives the predicates that have some; any other known predicate has none.

    Where relations have been computed anew, the difference to what they were is found when it is first asked for.
    """

    def __init__(self, find: Callable[[], Mapping[str, Facts[Any]]], none: Callable[[str], Facts[Any]]) -> None:
        self._find: Callable[[], Mapping[str, Facts[Any]]] | None = find
        self._none = none

    @cached_property
    def _facts(self) -> Mapping[str, Facts[Any]]:
        assert self._find is not None
        found, self._find = self._find(), None  # with what it holds of the state before
        return found

    def __getitem__(self, predicate: str) -> Facts[Any]:
        return self._facts[predicate] if predicate in self._facts else self._none(predicate)

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {len(facts):,}' for name, facts in self._facts.items())}}}"


@dataclass(frozen=True)
class Change:
    """The facts that an update added and removed, net, explicit or derived; and how it was done."""

    added: Difference
    removed: Difference
    report: UpdateReport
