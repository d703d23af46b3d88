"""Delete and rederive: arrays as lists and memory views, whose items are Python's integers."""

from __future__ import annotations

from typing import Any

from deltalog.kernels import tuple_dred as kernels
from deltalog.kernels.changed_facts import MATCHES_LEFT
from deltalog.kernels.compiling import INTERPRET, Outgrown, form, setting
from deltalog.kernels.tuple_dred import MAX_MATCHES

MOST_MATCHES = 1 << 12  # of a stratum


@form(work=lambda *arguments: len(arguments[7]), patience=4.0)  # the given changes
def delete_and_rederive(
    plans: Any,
    affected: Any,
    inner: Any,
    code: Any,
    registers: Any,
    places: Any,
    own: Any,
    given: Any,
    ends: Any,
    facts: Any,
    buckets: Any,
    queue: Any,
    levels: Any,
    limits: Any,
    state: Any,
) -> int:
    lowered = limits.copy()
    if setting() != INTERPRET:
        lowered[:, MAX_MATCHES] = lowered[:, MAX_MATCHES].clip(max=MOST_MATCHES)
    listed = (code.tolist(), registers.tolist(), places.tolist())
    views = [memoryview(array) for array in (own, given, ends, facts, buckets, queue, levels, lowered, state)]
    rules = (memoryview(array) for array in (plans, affected, inner))
    done: int = kernels.delete_and_rederive.straight(*rules, *listed, *views)
    if done < len(limits) and state[MATCHES_LEFT] < 0 and lowered[done, MAX_MATCHES] < limits[done, MAX_MATCHES]:
        buckets[:], state[:] = 0, 0
        raise Outgrown
    return done
