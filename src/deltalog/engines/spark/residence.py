"""Driver: where the tables of a knowledge base are, in the driver or in executors. `decide` is the one place.

The budget is one of bytes (`settings.driver_budget`). What a load will need is estimated before it is fetched; what
the local engine holds is counted after every call: runs with their indexes, and the dictionary. While a call runs, the
memory of the process is watched, so that a result that is far larger than its input stops in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltalog.core.limits import Ceiling, Limits, OverBudget
from deltalog.core.rules import Pred
from deltalog.engines.local.held_bytes import held_bytes
from deltalog.engines.local.relation import Relation
from deltalog.engines.spark.driver_engine import id_matrix
from deltalog.engines.spark.settings import DRIVER_BUDGET
from deltalog.evaluation.capabilities.residence import Moved

if TYPE_CHECKING:
    from deltalog.engines.spark.driver_backend import DriverBackend

_OVERHEAD_BYTES = 256 * 2**20  # beyond the budget while a call runs: kernels and modules that are loaded, morsels
_INDEX_FACTOR = 2.0  # bytes for each byte of keys, for indexes in other column orders; LUBM(20) with L has 1.4
_BYTES_PER_TERM = 64  # of the dictionary, beside the text: 49 to 98, as its arrays grow by doubling
_TEXT_FACTOR = 1.5  # bytes of the dictionary for each byte of text, for the same reason


class DriverDecision(NamedTuple):
    """Whether tables are in the driver, and why."""

    in_driver: bool
    reason: str


def decide(needed: int, budget: int, what: str = "the facts") -> DriverDecision:
    """Tables that need so many bytes are in the driver if its budget suffices, and else in executors."""
    if budget == 0:
        return DriverDecision(False, f"the driver's budget is 0 ({DRIVER_BUDGET})")
    in_driver = needed <= budget
    than = "not more than" if in_driver else "more than"
    return DriverDecision(in_driver, f"{what} need {shown(needed)}, {than} the driver's budget of {shown(budget)}")


def shown(size: int) -> str:
    """A number of bytes, for people."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):.1f} {unit}"
    return f"{size} bytes"


def table_bytes(rows: int, arity: int) -> int:
    """An estimate of what a table takes with its indexes: a word for each two ids of a row."""
    return int(8 * rows * max(1, (arity + 1) // 2) * _INDEX_FACTOR)


def offload_bytes(rows: int, arity: int) -> int:
    """An estimate for a table that is fetched by its 64-bit ids: they, their dictionary (each id twice in a column, on
    average), and the table itself."""
    return rows * arity * (8 + _BYTES_PER_TERM // 2) + table_bytes(rows, arity)


def dictionary_bytes(terms: int, text: int) -> int:
    """An estimate of what a dictionary takes for so many terms with so many bytes of text."""
    return int(terms * _BYTES_PER_TERM + text * _TEXT_FACTOR)


@contextmanager
def memory_ceiling(limits: Limits, room: int, budget: int) -> Iterator[None]:
    """A context in which OverBudget stops a running call when the process takes so many bytes more than now, and some
    for what is not data."""
    reason = f"evaluation needs more than the driver's budget of {shown(budget)}"
    limits.ceiling = Ceiling(limits.resident() + room + _OVERHEAD_BYTES, reason)
    try:
        yield
    finally:
        limits.ceiling = None


@dataclass(slots=True)
class DriverResidence:
    """The budget of the driver; the tables of a `DriverBackend` move to executors beyond it."""

    backend: DriverBackend
    budget: int
    held: int = 0  # bytes, as last counted

    @property
    def reason(self) -> str:
        return decide(self.held, self.budget).reason

    def expect(self, needed: int) -> None:
        """Raises OverBudget if there is no room for so many bytes more."""
        self._require(self.held + needed)

    def check(self, tables: Iterable[Relation]) -> None:
        held = held_bytes(tables) + self.backend.dictionary.nbytes
        self._require(held)
        self.held = held

    def _require(self, needed: int) -> None:
        decision = decide(needed, self.budget)
        if not decision.in_driver:
            raise OverBudget(decision.reason)

    def watched(self) -> AbstractContextManager[None]:
        self._require(self.held)
        return memory_ceiling(self.backend.limits, self.budget - self.held, self.budget)

    def move(self, tables: Mapping[Pred, Relation]) -> Moved:
        far, check = self.backend.far, self.backend.limits.checker()
        ids = far.dictionary.ids()
        moved = {}
        for pred, table in tables.items():
            rows = id_matrix(table.columns(), table.size, ids, check)
            moved[pred] = far.loaded(rows)
        return Moved(far, moved)
