"""What SKOLEM has named, backwards.

The name that SKOLEM gives to values is a digest of them: from the name alone there is no way back. But a fact that may
be lost is found by a rule that computes its name, in the same change. So the last names and what they were made of are
remembered, and the rule that is asked whether the fact still holds begins with the values. Distinct values have
distinct names, so what is remembered of a name is all that there is; of a name that is not, nothing is known.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from deltalog.backends.local.table import Ids
from deltalog.expressions.scalar import SkolemForm

MOST = 1 << 18  # names that are remembered
EACH = 1 << 6  # so many names cost as much as it does to remember some


@dataclass(frozen=True, slots=True)
class Named:
    """Names that were made at once, with the distinct variables of the SKOLEM."""

    form: SkolemForm
    arguments: tuple[Ids, ...]
    names: Ids

    @property
    def cost(self) -> int:
        return len(self.names) + EACH


@dataclass(slots=True)
class Skolems:
    """The last names of every form of SKOLEM."""

    last: deque[Named] = field(default_factory=deque)
    cost: int = 0

    def remember(self, named: Named) -> None:
        if named.cost > MOST:
            return
        self.last.append(named)
        self.cost += named.cost
        while self.cost > MOST:
            self.cost -= self.last.popleft().cost

    def skolem_inverse(self, form: SkolemForm, asked: Ids, ids: int) -> list[Ids] | None:
        """The arguments that gave the names asked for, and these (of which the greatest is less than `ids`); None if
        one of them is not known."""
        missing = np.zeros(ids, np.bool_)
        missing[asked] = True
        found = [[asked[:0]] * (len({a for a in form if isinstance(a, int)}) + 1)]
        for named in (named for named in reversed(self.last) if named.form == form):
            known = np.flatnonzero(missing[named.names])
            if len(known):
                found.append([column[known] for column in (*named.arguments, named.names)])
                missing[named.names] = False
        return None if missing[asked].any() else [np.concatenate(columns) for columns in zip(*found, strict=True)]
