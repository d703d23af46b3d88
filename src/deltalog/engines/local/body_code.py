"""Bodies as code, for all kernels that evaluate tuple at a time: nested loops, DRed and small rounds.

A body is a left-deep plan: rows of a first relation, and for each row one look-up after the other. The variables and
constants of a body have registers. A look-up is a line of code; those of relations of up to two columns are as
`kernels.interpreter` describes them, and those of `kernels.small_rounds` have any number of columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from deltalog.core.rules import Variable
from deltalog.engines.local.index_join import IndexJoin
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Plan
from deltalog.kernels import interpreter

KINDS = {ir.Join: interpreter.JOIN, ir.SemiJoin: interpreter.EXISTS, ir.AntiJoin: interpreter.ABSENT}


class Registers:
    """The numbers of the variables and constants of one body. `values` are what all registers begin with; those of the
    body come after those that are there."""

    def __init__(self, values: list[int]) -> None:
        self.values = values
        self._numbers: dict[Variable | int, int] = {}

    def of(self, term: Variable | int) -> int:
        if term not in self._numbers:
            self._numbers[term] = len(self.values)
            self.values.append(term if isinstance(term, int) else 0)
        return self._numbers[term]

    def pair(self, terms: Sequence[Variable | int]) -> tuple[int, int]:
        """The registers of up to two terms, and -1 for none."""
        first, second = ([self.of(term) for term in terms] + [-1, -1])[:2]
        return first, second


def key_line(kind: int, join: IndexJoin, registers: Registers, place: int) -> list[int]:
    """The line of a look-up in a relation of up to two columns."""
    keys, new = registers.pair(join.keys), {position: variable for variable, position in join.new}
    goes = [registers.of(new[i]) if i in new and kind == interpreter.JOIN else -1 for i in range(2)]
    return [kind, *keys, *goes, int(bool(join.equal)), place]


def left_deep(plan: Plan) -> list[Plan] | None:
    """The nodes of a left-deep plan from its scan on; None if a node reads another plan on its right. A projection may
    drop columns only."""
    above: list[Plan] = []
    while not isinstance(plan, ir.Scan):
        above.append(plan)
        match plan:
            case ir.Where(input) | ir.Extend(input):
                plan = input
            case ir.Join(left, ir.Scan()) | ir.SemiJoin(left, ir.Scan()) | ir.AntiJoin(left, ir.Scan()):
                plan = left
            case ir.Distinct(ir.Project(input, new)) if all(v == t for v, t in new):
                plan = input
            case _:
                return None
    return [plan, *above[::-1]]
