"""The changed facts of an update.

They are the lines of a table with hash indexes: by key, and for added facts also by their first id, by their second id
and by their relation. An index has the number of a line plus one, and 0 for none.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from deltalog.kernels.compiling import inner
from deltalog.kernels.run_search import MASK
from deltalog.kernels.sorted_keys import HALF

# Of a fact.
PRED, KEY, FLAGS, NEXT = range(4)  # from NEXT on: the next fact in each of four chains
FACT_FIELDS = NEXT + 4
BY_KEY, BY_FIRST, BY_SECOND, BY_PRED = range(4)
SEEN, REMOVED, REDERIVED, ADDED = 1, 2, 4, 8
# Of the state: the number of facts, and of facts before this stratum; the length of the queue, the matches that are
# left of the budget, whether a budget was exceeded, and the number of changed facts that the stratum reads.
COUNT, START, QUEUED, MATCHES_LEFT, TOO_MUCH, CHANGED = range(6)
STATE_FIELDS = 6
MIX = np.uint64(0x9E3779B97F4A7C15)

# `given` are the numbers of relations and the keys of the given changes, in four parts that end at `ends`; `touched`
# says whether facts of a relation were removed, or added.
ChangeArrays = namedtuple("ChangeArrays", "given ends facts buckets queue levels touched state")


@inner
def _bucket(chain, pred, value, buckets):
    h = (np.uint64(value) ^ np.uint64(chain + 4 * pred + 1) * MIX) * MIX
    h = (h ^ (h >> HALF)) * MIX  # keys of one column are 0 in their lower half
    return np.int64(h >> HALF) & np.int64(buckets.shape[1] - 1)


@inner
def find(change, pred, key):
    """The line of a fact, or -1."""
    facts = change.facts
    at = change.buckets[BY_KEY, _bucket(BY_KEY, pred, key, change.buckets)]
    while at > 0 and not (facts[at - 1, KEY] == key and facts[at - 1, PRED] == pred):
        at = facts[at - 1, NEXT]
    return at - 1


@inner
def add_fact(change, pred, key):
    """Adds a line for a fact; -1 if there is no room."""
    facts, buckets = change.facts, change.buckets
    i = change.state[COUNT]
    if i == len(facts):
        change.state[TOO_MUCH] = 1
        return -1
    change.state[COUNT] += 1
    bucket = _bucket(BY_KEY, pred, key, buckets)
    facts[i, PRED], facts[i, KEY], facts[i, FLAGS], facts[i, NEXT] = pred, key, 0, buckets[BY_KEY, bucket]
    buckets[BY_KEY, bucket] = i + 1
    return i


@inner
def link(change, i):
    """Adds an added fact to the indexes by ids and by relation."""
    pred, key = change.facts[i, PRED], np.uint64(change.facts[i, KEY])
    change.touched[pred] |= ADDED
    for chain, value in ((BY_FIRST, np.int64(key >> HALF)), (BY_SECOND, np.int64(key & MASK)), (BY_PRED, 0)):
        bucket = _bucket(chain, pred, value, change.buckets)
        change.facts[i, NEXT + chain] = change.buckets[chain, bucket]
        change.buckets[chain, bucket] = i + 1


@inner
def is_removed(change, pred, key):
    i = find(change, pred, np.int64(key))
    return i >= 0 and change.facts[i, FLAGS] & REMOVED != 0


@inner
def first_added(change, chain, pred, value):
    """The index of the first added fact in a chain, by an id or (BY_PRED) by 0; 0 if there is none. Others may be in
    the same chain."""
    return change.buckets[chain, _bucket(chain, pred, value, change.buckets)]
