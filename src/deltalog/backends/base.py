"""The protocol of an engine.

The algorithms (semi-naive evaluation, maintenance, queries) are written once, against this. A backend knows the algebra
of `deltalog.plan.ir` and how to keep sets of facts; it knows nothing of rules, rounds or strategies.

Tables are immutable handles: `merge` and `minus` give new ones, and the old stay valid until they are dropped. So OLD,
DELTA and ALL of a relation are simply three handles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from deltalog.io.documents import Reading
from deltalog.model.limits import Limits
from deltalog.model.terms import Kind, Value
from deltalog.model.tuning import Tuning
from deltalog.plan.delta_rules import TuplePlans
from deltalog.plan.ir import Part, Plan, Project
from deltalog.plan.work_counter import Meter
from deltalog.program.recognise import Structure
from deltalog.syntax.ast import Call, Pred, Rule

T = TypeVar("T")
Tables = Mapping[tuple[Pred, Part], T]


class Twin(NamedTuple):
    """Another backend with the same relations, on which a hyper-node is cheaper to evaluate.

    The rules are those asked for, as they have to be written for that backend; `back` makes a table of ours of one of
    its tables.
    """

    backend: Backend[Any]
    tables: dict[tuple[Pred, Part], Any]
    rules: tuple[Rule, ...]
    back: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """Tables after a change, and its net effect on them."""

    tables: dict[Pred, T]
    removed: dict[Pred, T]
    added: dict[Pred, T]


class TupleBudget(NamedTuple):
    """What the tuple-at-a-time kernel may do in a stratum before it gives up: changed facts that the stratum reads or
    has as explicit ones; the same where some are removed; matches; and overdeleted facts, at least and for each fact
    that is deleted at first."""

    max_changed_facts: int
    max_changed_facts_with_removals: int
    max_matches: int
    overdeletion_min_facts: int
    overdeletion_factor: int


@dataclass(frozen=True, slots=True)
class SmallChange(Generic[T]):
    """A change as some strata see it: relations before it, explicit facts after it, the net changes of relations that
    are settled, and those of explicit facts."""

    before: Tables[T]
    explicit: Mapping[Pred, T]
    removed: Mapping[Pred, T]
    added: Mapping[Pred, T]
    less: Mapping[Pred, T]
    more: Mapping[Pred, T]
    budgets: Sequence[TupleBudget]  # one for each stratum


@dataclass(frozen=True, slots=True)
class SmallResult(Generic[T]):
    """What a change does to strata: how many of them were done, which relations changed, and how; and how many facts of
    each were overdeleted, rederived and inserted."""

    done: int = 0
    tables: dict[Pred, T] = field(default_factory=dict)
    removed: dict[Pred, T] = field(default_factory=dict)
    added: dict[Pred, T] = field(default_factory=dict)
    counts: dict[Pred, tuple[int, int, int]] = field(default_factory=dict)
    # Of the stratum where the kernel gave up: how many changed facts it sees (0 if that is no matter), and whether it
    # was tried in vain or these were more than its budget.
    sees: int = 0
    tried: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class SmallRules:
    """Variants of recursive rules, for rounds over few facts: the predicate whose DELTA each reads, the predicate of
    its head, and its plan (None: it has to be evaluated by sets). `due`: how many rules read a predicate's DELTA.
    `counted`: the predicates whose facts are counted."""

    preds: tuple[Pred, ...]
    counted: frozenset[Pred]
    variants: tuple[tuple[Pred, Pred, Project | None], ...]
    due: Mapping[Pred, int]


class RoundsEnd(Enum):
    """Why a run of rounds ends."""

    DONE = "nothing more follows"
    PAUSED = "it can go on, once limits have been checked"
    FULL = "there is no room for more facts"
    LARGE = "the next round is one over many facts"
    TOO_MUCH = "the next round has much to do, or something that only sets do"


class RoundRecord(NamedTuple):
    """How many facts that are counted a round has found, and how many rules were due in it."""

    new: int
    rules: int


class Rounds(Protocol[T]):
    """A run of semi-naive rounds over few facts."""

    def advance(self) -> tuple[RoundsEnd, list[RoundRecord]]:
        """Some more rounds, of bounded work in all."""
        ...

    def found(self, rounds: int) -> tuple[dict[Pred, T], dict[Pred, T]]:
        """The facts before the last of so many rounds, those from the start included; and what that one found."""
        ...


class Backend(Protocol[T]):
    """An engine: T is its own handle of a set of rows of ids."""

    name: str
    batches: bool  # whether plans that do not depend on each other are wanted in one `run_all`, however many
    multiway: bool  # whether it can join several relations at once (`plan.ir.MultiJoin`)
    few_facts: int  # rounds over at most so many new facts are asked for by `rounds`; 0: never
    reasoned_by: tuple[str, str]  # the engine that the last evaluation was left to, and why (or nothing)
    tuning: Tuning  # the thresholds of evaluation and maintenance
    limits: Limits  # are checked now and then during long work
    failures: int  # how many rows have been dropped so far because an expression failed

    @property
    def meter(self) -> Meter:
        """Counts the work of this thread's plans, where the backend knows it."""
        ...

    # Facts in and out.

    def read(self, paths: Sequence[Path], reading: Reading) -> dict[Pred, T]:
        """The facts of files and folders."""
        ...

    def encode(self, data: Any, predicate: str) -> tuple[int, T]:
        """Rows, or an Arrow, pandas, polars or Spark table, as a table; and its arity."""
        ...

    def encode_all(self, facts: Mapping[str, Any]) -> dict[str, tuple[int, T]]:
        """The same for several predicates."""
        ...

    def write(self, folder: Path, facts: Mapping[Pred, T], format: str) -> None:
        """Writes facts to a folder, all or nothing."""
        ...

    def to_arrow(self, table: T, columns: Sequence[str]) -> Any:
        """The table's values as an Arrow table with these column names."""
        ...

    def values(self, ids: Any) -> list[Value]:
        """The values behind a column of ids."""
        ...

    def contains(self, table: T, row: Sequence[Value]) -> bool: ...

    def number_kinds(self, tables: Sequence[T]) -> frozenset[Kind]:
        """The kinds of numbers in some tables; there may be fewer."""
        ...

    # Sets of rows of ids.

    def load(self, columns: Sequence[Any], arity: int) -> T:
        """A table of the distinct rows of these columns of ids (for arity 0: a table with the one empty row)."""
        ...

    def empty(self, arity: int) -> T: ...

    def run(self, plan: Plan, tables: Tables[T]) -> T:
        """The distinct rows of a plan. A relation that `tables` does not have is empty."""
        ...

    def run_all(self, plans: Mapping[Pred, Plan], tables: Tables[T]) -> dict[Pred, T]:
        """The distinct rows of several plans, computed now; a backend may compute them together."""
        ...

    def rounds(self, rules: SmallRules, tables: Tables[T], new: Mapping[Pred, T], room: int) -> Rounds[T] | None:
        """The start of a run of rounds from new facts, which the tables do not have, with room for so many; None where
        evaluation by sets is better. Asked only for at most `few_facts` new facts."""
        ...

    def twin(self, rules: Sequence[Rule], tables: Mapping[Pred, T], everything: bool = False) -> Twin | None:
        """Where else to evaluate recursive rules (or all of a program) over these relations, if that is better."""
        ...

    def tally(self) -> dict[str, int]:
        """What the engine beneath has done so far, in its own units; for reports."""
        ...

    def structure(self, structure: Structure, inputs: Sequence[T]) -> T:
        """The relation that a structure makes of its inputs, in whatever form is best."""
        ...

    def restructured(
        self, structure: Structure, old: T, inputs: Sequence[T], removed: Sequence[T], added: Sequence[T]
    ) -> tuple[T, Callable[[], tuple[T, T]]]:
        """The same after a change of the inputs; and what finds all that it has lost and won by that."""
        ...

    def maintained(self, strata: Sequence[TuplePlans], change: SmallChange[T]) -> SmallResult[T]:
        """A small change of strata, one after the other, by delete and rederive, as far as that can be done at once."""
        ...

    def exchanged(
        self, tables: Mapping[Pred, T], removed: Mapping[Pred, T], added: Mapping[Pred, T]
    ) -> Exchange[T] | None:
        """Tables without some rows, and then with others, in one kernel call, where that can be done; None otherwise
        (see `maintenance.materialisation.exchanged`)."""
        ...

    def merge(self, old: T, new: T) -> T:
        """The union of two tables that share no row."""
        ...

    def minus(self, old: T, gone: T) -> T: ...

    def recounted(self, counts: T, won: Sequence[T], lost: Sequence[T]) -> T:
        """Rows with a number in their last column, after the numbers of others have been added and taken off; a row
        that comes to 0 goes."""
        ...

    def with_counts(self, rows: T, counts: T) -> T:
        """Those of such rows that begin with one of some rows."""
        ...

    def uncounted(self, counts: T) -> T:
        """Rows without their last column, by which no two of them differ alone."""
        ...

    def skolem_inverse(self, call: Call, table: T, column: int) -> T | None:
        """By which values of its distinct variables a SKOLEM gives what is in a column, and what it gives then; None if
        that is not known of all of it."""
        ...

    def pin(self, table: T) -> T:
        """Compute now, and forget how."""
        ...

    def size(self, table: T) -> int: ...

    def distinct(self, table: T, column: int) -> float:
        """About how many distinct values a column has; cheap, for the planner."""
        ...

    def heaviest(self, table: T, column: int) -> float:
        """At most how many rows the most frequent value of a column has, where multiway joins are possible."""
        ...

    def rows(self, table: T) -> Sequence[Any]:
        """The columns of ids, in the table's order."""
        ...

    def drop(self, table: T) -> None:
        """Free what the handle holds; nobody reads it any more."""
        ...
