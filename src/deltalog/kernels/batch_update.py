"""Updates of a few rows of each of many tables, in one call: a call costs more than a few rows.

Rows come in parts, one for each table; the i-th goes from ends[i] to ends[i + 1]. Tables are described as in
`kernels.run_search`.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.memory import get
from deltalog.kernels.run_search import RUN, is_tombstone, search
from deltalog.kernels.sorted_keys import HALF

ABSENT, LIVE, TOMBSTONE = range(3)


@kernel
def pack_parts(high, low, ends):
    """Rows as keys, sorted and distinct within each part, from where it begins; and their number in each part."""
    keys, counts = np.empty(len(high), np.uint64), np.zeros(len(ends) - 1, np.int64)
    for i in range(len(high)):
        keys[i] = (np.uint64(high[i]) << HALF) | np.uint64(low[i])
    for part in range(len(counts)):
        here = keys[ends[part] : ends[part + 1]]
        here.sort()
        count = 0
        for key in here:
            if count == 0 or here[count - 1] != key:
                here[count] = key
                count += 1
        counts[part] = count
    return keys, counts


@kernel
def sift(keys, ends, tables, adds, places):
    """The rows of each (sorted) part that its table has; or, for rows to be added, those that it does not have, and
    then those that it has as tombstones. And their numbers."""
    found, counts = np.empty(len(keys), np.uint64), np.zeros((len(tables), 2), np.int64)
    status = np.empty(len(keys), np.int64)
    for part in range(len(tables)):
        at = ends[part]
        for i in range(ends[part], ends[part + 1]):
            status[i] = _status(places, tables[part], keys[i])
        for group in range(2 if adds[part] else 1):
            wanted = (TOMBSTONE if group else ABSENT) if adds[part] else LIVE
            for i in range(ends[part], ends[part + 1]):
                if status[i] == wanted:
                    found[at] = keys[i]
                    counts[part, group] += 1
                    at += 1
    return found, counts


@inner
def _status(places, place, key):
    for run in range(places[place]):
        here = place + 2 + RUN * run
        at = search(places, here, key)
        if at < places[here + 1] and np.uint64(get(places[here], at)) == key:
            return TOMBSTONE if places[place + 1] and is_tombstone(places, place, key) else LIVE
    return ABSENT
