"""The inverse of SKOLEM, for recent names.

The name that SKOLEM gives to values is a digest of them, which has no inverse. But a candidate deletion is found by a
rule that computes its name, in the same change. So the last names are cached with their arguments, and the check
whether such a fact still has a derivation starts from the arguments. Distinct arguments have distinct names, so the
arguments of a cached name are complete; nothing is known about other names.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from deltalog.core.tuning import Tuning
from deltalog.engines.local.sorted_runs import Ids
from deltalog.functions.skolem import SkolemForm

_ENTRY_NAMES = 1 << 6  # an entry costs as much memory as this many names, and one more for each name


@dataclass(frozen=True, slots=True)
class NamedTerms:
    """Names that were computed together, with their arguments: the distinct variables of the SKOLEM."""

    form: SkolemForm
    arguments: tuple[Ids, ...]
    names: Ids


@dataclass(slots=True)
class SkolemCache:
    """The last names of every form of SKOLEM."""

    tuning: Tuning
    last: deque[NamedTerms] = field(default_factory=deque)
    cost: int = 0

    def remember(self, named: NamedTerms) -> None:
        cost, most = self._cost(named), self.tuning.skolem_cache_names
        if cost > most:
            return
        self.last.append(named)
        self.cost += cost
        while self.cost > most:
            self.cost -= self._cost(self.last.popleft())

    def _cost(self, named: NamedTerms) -> int:
        return len(named.names) + _ENTRY_NAMES

    def inverse(self, form: SkolemForm, names: Ids, ids: int) -> list[Ids] | None:
        """The arguments of some names (whose ids are below `ids`), and the names; None if one is not cached."""
        missing = np.zeros(ids, np.bool_)
        missing[names] = True
        found = [[names[:0]] * (len({a for a in form if isinstance(a, int)}) + 1)]
        for named in (named for named in reversed(self.last) if named.form == form):
            known = np.flatnonzero(missing[named.names])
            if len(known):
                found.append([column[known] for column in (*named.arguments, named.names)])
                missing[named.names] = False
        return None if missing[names].any() else [np.concatenate(columns) for columns in zip(*found, strict=True)]
