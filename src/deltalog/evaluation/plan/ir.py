"""The algebra of plans, which every engine evaluates.

A plan is a tree of frozen nodes. A node's rows have named columns (variables); joins are natural, on the columns that
both sides have. Rows are bindings, and not distinct except after a `Distinct`.

    Unit                      one row, no columns
    Scan(atom, part)          the facts that match the atom (constants and repeated variables select), as bindings
    Where(input, condition)   rows for which the condition is true; a failing expression drops the row
    Extend(input, x, e)       a new column x = e; a failing expression drops the row
    Join, SemiJoin, AntiJoin  natural; semi and anti keep the left side's columns
    MultiJoin(scans, order)   natural, of scans of at most two columns, variable by variable in this order; planned
                              where the backend has the capability `multiway_joins`; `pairwise` is its equivalent of
                              binary joins
    Project(input, columns)   new columns, each a variable of the input or a constant
    Union(inputs)             inputs have the same columns in the same order; keeps duplicates
    Distinct(input)
    GroupBy(input, on, calls)  over the distinct rows of the input; with no `on`, exactly one group
    Counted(inputs, n)        the distinct rows of the inputs with their multiplicity in a new column n; inputs are
                              Projects over bodies of one row for each rule instance

A rule for head p(t1, ..., tn) becomes Project(body, ((#0, t1), ..., (#n-1, tn))): the columns of facts are `#0`, `#1`,
... (`fact_columns`), so that heads, unions of heads, and the stored relation line up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from deltalog.core.rules import AggregateCall, Atom, Expression, Pred, Term, Variable


class Part(Enum):
    """Which facts of a relation a Scan reads. ALL is OLD and DELTA together; the last two are disjoint."""

    ALL = "all"
    OLD = "old"
    DELTA = "delta"

    __hash__ = object.__hash__  # Enum's own goes through Python, and parts are in the keys of every table


@dataclass(frozen=True, slots=True)
class Unit:
    pass


@dataclass(frozen=True, slots=True)
class Scan:
    atom: Atom
    part: Part = Part.ALL


@dataclass(frozen=True, slots=True)
class Where:
    input: Plan
    condition: Expression


@dataclass(frozen=True, slots=True)
class Extend:
    input: Plan
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Join:
    left: Plan
    right: Plan


@dataclass(frozen=True, slots=True)
class SemiJoin:
    left: Plan
    right: Plan


@dataclass(frozen=True, slots=True)
class AntiJoin:
    left: Plan
    right: Plan


@dataclass(frozen=True, slots=True)
class MultiJoin:
    scans: tuple[Scan, ...]
    order: tuple[Variable, ...]

    @property
    def pairwise(self) -> Plan:
        """The same by binary joins."""
        plan: Plan = self.scans[0]
        for scan in self.scans[1:]:
            plan = Join(plan, scan)
        return plan


@dataclass(frozen=True, slots=True)
class Project:
    input: Plan
    columns: tuple[tuple[Variable, Term], ...]


@dataclass(frozen=True, slots=True)
class Union:
    inputs: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    input: Plan


@dataclass(frozen=True, slots=True)
class GroupBy:
    input: Plan
    on: tuple[Variable, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    inputs: tuple[Project, ...]
    variable: Variable


Plan = (
    Unit
    | Scan
    | Where
    | Extend
    | Join
    | SemiJoin
    | AntiJoin
    | MultiJoin
    | Project
    | Union
    | Distinct
    | GroupBy
    | Counted
)


def columns(plan: Plan) -> tuple[Variable, ...]:
    """The columns of a plan's rows, in order."""
    match plan:
        case Unit():
            return ()
        case Scan(atom):
            return tuple(dict.fromkeys(t for t in atom.terms if isinstance(t, Variable)))
        case Where(input) | Distinct(input):
            return columns(input)
        case Extend(input, variable):
            return (*columns(input), variable)
        case Join(left, right):
            return tuple(dict.fromkeys(columns(left) + columns(right)))
        case SemiJoin(left) | AntiJoin(left):
            return columns(left)
        case MultiJoin(_, order):
            return order
        case Project(_, new):
            return tuple(variable for variable, _ in new)
        case Union(inputs):
            return columns(inputs[0])
        case GroupBy(_, on, calls):
            return on + tuple(call.variable for call in calls)
        case Counted(inputs, variable):
            return (*columns(inputs[0]), variable)


@cache
def fact_columns(arity: int) -> tuple[Variable, ...]:
    """The columns of facts as facts: #0, #1, ..."""
    return tuple(Variable(f"#{i}") for i in range(arity))


@cache
def facts_of(pred: Pred, part: Part = Part.ALL) -> Scan:
    """All facts of a predicate, under the columns of facts."""
    return Scan(Atom(pred.name, fact_columns(pred.arity)), part)
