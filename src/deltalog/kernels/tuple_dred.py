"""Delete and rederive (DRed), tuple at a time: a small change of several strata in one call (Hu et al., Algorithm 3).

`maintenance.dred` goes set at a time, for large changes and for all rules. A small change has sets of a handful of
facts, and costs as much as the calls that it takes. Here a fact is taken for one atom of a rule, the other atoms are
looked up, and the heads go to a queue, until that is empty; stratum after stratum.

A **plan** is a rule that starts from a fact: a line of `plans`. The fact goes to the registers PUT_FIRST and
PUT_SECOND, or must be equal to the registers TEST_FIRST and TEST_SECOND (-1: neither). Then follow its steps, the lines
LINES to END of `code`, as in `kernels.nested_loop`. Tables are those from before the change; the state after it is the
table without the removed facts and with the added ones.

The changed **facts** are lines of a table with hash indexes: by key, and for added facts also by their first id, by
their second id and by their relation. An index has the number of a line plus one, and 0 for none. The changes of the
inputs come first, and then those of each stratum.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import njit

from deltalog.kernels.intern import get
from deltalog.kernels.nested_loop import ABSENT, JOIN, MASK, RUN, is_tombstone, search
from deltalog.kernels.sorted_keys import HALF

# Of a step; OWN is the number of its relation.
KIND, FIRST, SECOND, HIGH, LOW, EQUAL, PLACE, OWN, SWAPPED = range(9)
# Of a plan. NEGATED: the fact is one of a negated atom.
LINES, END, TEST_FIRST, TEST_SECOND, PUT_FIRST, PUT_SECOND, HEAD, HEAD_FIRST, HEAD_SECOND, NEGATED = range(10)
# Of a relation: where it is, its explicit facts after the change, and its stratum (-1: it is an input).
TABLE, EXPLICIT, STRATUM = range(3)
# Of a fact.
PRED, KEY, FLAGS, NEXT = range(4)  # from NEXT on: the next fact in each of four chains
FACT_FIELDS = NEXT + 4
BY_KEY, BY_FIRST, BY_SECOND, BY_PRED = range(4)
SEEN, REMOVED, REDERIVED, ADDED = 1, 2, 4, 8
# Of the state: the number of facts, and of facts before this stratum; the length of the queue, the matches that are
# left of the budget, whether a budget was exceeded, and the number of changed facts that the stratum reads.
COUNT, START, QUEUED, MATCHES_LEFT, TOO_MUCH, CHANGED = range(6)
STATE_FIELDS = 6
# The budget of a stratum (`TupleBudget`): changed facts that it reads or has as explicit ones; the same if some are
# removed; matches; overdeleted facts: this many in all, or this many for each seed.
MAX_CHANGED, MAX_CHANGED_BY_REMOVAL, MAX_MATCHES, MIN_OVERDELETED, OVERDELETED_PER_SEED = range(5)
CHECK, DELETE, INSERT = range(3)
LOOP, CHECKS, RECHECKS = range(3)
# The given changes: of the inputs, and explicit ones of the relations of the strata.
INPUT_REMOVED, INPUT_ADDED, EXPLICIT_REMOVED, EXPLICIT_ADDED = range(4)
MIX = np.uint64(0x9E3779B97F4A7C15)


# `affected` has, for a stratum and a relation, the range of the plans that start from a change of it; `inner` the same
# for a relation of a stratum: recursive plans that start from its facts, nonrecursive ones that derive its facts, and
# recursive ones that do. `own` are the relations.
RuleArrays = namedtuple("RuleArrays", "plans affected inner code registers places own")
# `given` are the numbers of relations and the keys of the given changes, in four parts that end at `ends`; `touched`
# says whether facts of a relation were removed, or added.
ChangeArrays = namedtuple("ChangeArrays", "given ends facts buckets queue levels touched state")


def inner(function):
    return njit(nogil=True, no_cpython_wrapper=True)(function)


@inner
def _bucket(chain, pred, value, buckets):
    h = (np.uint64(value) ^ np.uint64(chain + 4 * pred + 1) * MIX) * MIX
    h = (h ^ (h >> HALF)) * MIX  # keys of one column are 0 in their lower half
    return np.int64(h >> HALF) & np.int64(buckets.shape[1] - 1)


# The changed facts.


@inner
def _find(change, pred, key):
    """The line of a fact, or -1."""
    facts = change.facts
    at = change.buckets[BY_KEY, _bucket(BY_KEY, pred, key, change.buckets)]
    while at > 0 and not (facts[at - 1, KEY] == key and facts[at - 1, PRED] == pred):
        at = facts[at - 1, NEXT]
    return at - 1


@inner
def _add_fact(change, pred, key):
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
def _link(change, i):
    """Adds an added fact to the indexes by ids and by relation."""
    pred, key = change.facts[i, PRED], np.uint64(change.facts[i, KEY])
    change.touched[pred] |= ADDED
    for chain, value in ((BY_FIRST, np.int64(key >> HALF)), (BY_SECOND, np.int64(key & MASK)), (BY_PRED, 0)):
        bucket = _bucket(chain, pred, value, change.buckets)
        change.facts[i, NEXT + chain] = change.buckets[chain, bucket]
        change.buckets[chain, bucket] = i + 1


@inner
def _is_removed(change, pred, key):
    i = _find(change, pred, np.int64(key))
    return i >= 0 and change.facts[i, FLAGS] & REMOVED != 0


@inner
def _delete(change, pred, key):
    """A fact loses a derivation: it is a candidate deletion."""
    if _find(change, pred, np.int64(key)) < 0:
        i = _add_fact(change, pred, np.int64(key))
        if i >= 0:
            change.facts[i, FLAGS] = SEEN


@inner
def _insert(rules, change, pred, key):
    """A fact is derived: it goes to the queue if it was not there."""
    facts, state = change.facts, change.state
    i = _find(change, pred, np.int64(key))
    if i < 0:
        if _holds(rules.places, rules.own[pred, TABLE], key):
            return
        i = _add_fact(change, pred, np.int64(key))
        if i < 0:
            return
    elif facts[i, FLAGS] & ADDED or not facts[i, FLAGS] & REMOVED:
        return
    facts[i, FLAGS] |= ADDED
    _link(change, i)
    change.queue[state[QUEUED]] = i
    state[QUEUED] += 1


# Look-ups.


@inner
def _holds(places, place, key):
    """Whether a key is in a table."""
    for run in range(places[place]):
        here = place + 2 + RUN * run
        at = search(places, here, key)
        if at < places[here + 1] and np.uint64(get(places[here], at)) == key:
            return places[place + 1] == 0 or not is_tombstone(places, place, key)
    return False


@inner
def _turned(key, swapped):
    return (key << HALF) | (key >> HALF) if swapped else key


@inner
def _bound(code, line, registers):
    """The key that a step looks for, with 0 for what is not bound."""
    bound = np.uint64(0)
    if code[line, FIRST] >= 0:
        bound = np.uint64(registers[code[line, FIRST]]) << HALF
    if code[line, SECOND] >= 0:
        bound |= np.uint64(registers[code[line, SECOND]])
    return bound


@inner
def _in_range(code, line, bound, key):
    """Whether a key has what is bound."""
    if code[line, SECOND] >= 0:
        return key == bound
    return code[line, FIRST] < 0 or key >> HALF == bound >> HALF


@inner
def _next_stored(rules, change, line, bound, after, run, at):
    """The next match from a position of a run on: its run, the position after it, and the key; the run after the last
    one if there is none."""
    code, places = rules.code, rules.places
    place, own = code[line, PLACE], code[line, OWN]
    loses = after and change.touched[own] & REMOVED
    while run < places[place]:
        address, length = places[place + 2 + RUN * run], places[place + 3 + RUN * run]
        if at < 0:
            at = search(places, place + 2 + RUN * run, bound)
        while at < length:
            key = np.uint64(get(address, at))
            if not _in_range(code, line, bound, key):
                break
            at += 1
            if code[line, EQUAL] and key >> HALF != key & MASK:
                continue
            if places[place + 1] and is_tombstone(places, place, key):
                continue
            if not loses or not _is_removed(change, own, _turned(key, code[line, SWAPPED])):
                return run, at, key
        run += 1
        at = -1
    return run, -1, np.uint64(0)


@inner
def _next_added(rules, change, line, bound, at):
    """The next match among the added facts: the index after it (0: the end), and the key; -1 if there is none."""
    code, facts = rules.code, change.facts
    own, swapped = code[line, OWN], code[line, SWAPPED]
    chain = BY_PRED
    if code[line, FIRST] >= 0:
        chain = BY_SECOND if swapped else BY_FIRST
    if at < 0:
        value = np.int64(bound >> HALF) if chain != BY_PRED else 0
        at = change.buckets[chain, _bucket(chain, own, value, change.buckets)]
    while at > 0:
        i = at - 1
        at = facts[i, NEXT + chain]
        key = _turned(np.uint64(facts[i, KEY]), swapped)
        equal = code[line, EQUAL] == 0 or key >> HALF == key & MASK
        if facts[i, PRED] == own and equal and _in_range(code, line, bound, key):
            return at, key
    return -1, np.uint64(0)


@inner
def _next(rules, change, line, after, run, at):
    """The next match of a step: a run, a position, the key; run -1 when there is none."""
    code = rules.code
    bound = _bound(code, line, rules.registers)
    runs = rules.places[code[line, PLACE]]
    if run < runs:
        run, at, key = _next_stored(rules, change, line, bound, after, run, at)
        if run < runs:
            return run, at, key
    if after and at != 0 and change.touched[code[line, OWN]] & ADDED:
        at, key = _next_added(rules, change, line, bound, at)
        if at >= 0:
            return runs, at, key
    return -1, -1, np.uint64(0)


# Rules, starting from a fact.


@inner
def _bind_leaf(plans, plan, registers, key):
    """Binds the registers of a plan to a fact; False if the fact does not match the atom of the rule."""
    high, low = np.int64(key >> HALF), np.int64(key & MASK)
    if plans[plan, TEST_FIRST] >= 0 and registers[plans[plan, TEST_FIRST]] != high:
        return False
    if plans[plan, PUT_FIRST] >= 0:
        registers[plans[plan, PUT_FIRST]] = high
    if plans[plan, TEST_SECOND] >= 0 and registers[plans[plan, TEST_SECOND]] != low:
        return False
    if plans[plan, PUT_SECOND] >= 0:
        registers[plans[plan, PUT_SECOND]] = low
    return True


@inner
def _head(plans, plan, registers):
    key = np.uint64(0)
    if plans[plan, HEAD_FIRST] >= 0:
        key = np.uint64(registers[plans[plan, HEAD_FIRST]]) << HALF
    if plans[plan, HEAD_SECOND] >= 0:
        key |= np.uint64(registers[plans[plan, HEAD_SECOND]])
    return key


@inner
def _advance(rules, change, line, after, level):
    """One step of the search at a level; the level where it continues."""
    code, levels, registers = rules.code, change.levels, rules.registers
    if levels[level, 0] < 0:  # done: back to the level above
        return level - 1
    run, at, key = _next(rules, change, line, after, levels[level, 0], levels[level, 1])
    if code[line, KIND] != JOIN:
        levels[level, 0] = -1
        return level + 1 if (run >= 0) == (code[line, KIND] != ABSENT) else level - 1
    if run < 0:
        return level - 1
    if code[line, HIGH] >= 0:
        registers[code[line, HIGH]] = np.int64(key >> HALF)
    if code[line, LOW] >= 0:
        registers[code[line, LOW]] = np.int64(key & MASK)
    levels[level, 0], levels[level, 1] = run, at
    return level + 1


@inner
def _run_plan(rules, change, plan, key, phase, after):
    """A rule that starts from a fact: whether it has a match (CHECK); else all of its heads are deleted or inserted."""
    plans, levels, state = rules.plans, change.levels, change.state
    if not _bind_leaf(plans, plan, rules.registers, key):
        return False
    first = plans[plan, LINES]
    depth = plans[plan, END] - first
    level = 0
    levels[0, 0], levels[0, 1] = 0, -1
    while level >= 0 and not state[TOO_MUCH]:
        if level < depth:
            state[MATCHES_LEFT] -= 1
            state[TOO_MUCH] |= state[MATCHES_LEFT] < 0
            before, level = level, _advance(rules, change, first + level, after, level)
            if before < level < depth:
                levels[level, 0], levels[level, 1] = 0, -1
            continue
        if phase == CHECK:
            return True
        if phase == DELETE:
            _delete(change, plans[plan, HEAD], _head(plans, plan, rules.registers))
        else:
            _insert(rules, change, plans[plan, HEAD], _head(plans, plan, rules.registers))
        level -= 1
    return False


@inner
def _run_plans(rules, change, which, pred, key, phase, after):
    """All plans of a kind for a relation, starting from a fact; for CHECK, whether one of them has a match."""
    for plan in range(rules.inner[which, pred, 0], rules.inner[which, pred, 1]):
        if _run_plan(rules, change, plan, key, phase, after):
            return True
    return False


@inner
def _run_affected(rules, change, stratum, phase, after):
    """The plans that start from removed, or added, facts of relations before the stratum."""
    facts = change.facts
    for i in range(change.state[START]):
        pred, net = facts[i, PRED], facts[i, FLAGS] & (REMOVED | ADDED)
        if net != REMOVED and net != ADDED:
            continue
        for plan in range(rules.affected[stratum, pred, 0], rules.affected[stratum, pred, 1]):
            if (net == ADDED) == (after != (rules.plans[plan, NEGATED] != 0)):
                _run_plan(rules, change, plan, np.uint64(facts[i, KEY]), phase, after)


@inner
def _explicit_changes(rules, change, stratum, part, phase):
    """Deletes or inserts explicit facts of a stratum."""
    for i in range(change.ends[part], change.ends[part + 1]):
        pred, key = change.given[i, 0], np.uint64(change.given[i, 1])
        if rules.own[pred, STRATUM] != stratum:
            continue
        if phase == DELETE:
            _delete(change, pred, key)
        else:
            _insert(rules, change, pred, key)


# Algorithm 3.


@inner
def _is_protected(rules, change, pred, key):
    """Whether a fact is explicit or derived by a nonrecursive rule."""
    explicit = _holds(rules.places, rules.own[pred, EXPLICIT], key)
    return explicit or _run_plans(rules, change, CHECKS, pred, key, CHECK, True)


@inner
def _overdelete(rules, change, stratum, limits):
    facts, state = change.facts, change.state
    _explicit_changes(rules, change, stratum, EXPLICIT_REMOVED, DELETE)
    _run_affected(rules, change, stratum, DELETE, False)
    first, removed, most = state[COUNT], 0, limits[stratum, MIN_OVERDELETED]
    i = state[START]
    while i < state[COUNT] and not state[TOO_MUCH]:
        pred, key = facts[i, PRED], np.uint64(facts[i, KEY])
        if not _is_protected(rules, change, pred, key):
            facts[i, FLAGS] |= REMOVED
            change.touched[pred] |= REMOVED
            removed += 1
            _run_plans(rules, change, LOOP, pred, key, DELETE, False)
        i += 1
        if i == first:
            most = max(most, limits[stratum, OVERDELETED_PER_SEED] * removed)
        state[TOO_MUCH] |= i > first and removed > most


@inner
def _rederive(rules, change):
    facts = change.facts
    for i in range(change.state[START], change.state[COUNT]):
        if facts[i, FLAGS] & REMOVED:
            if _run_plans(rules, change, RECHECKS, facts[i, PRED], np.uint64(facts[i, KEY]), CHECK, True):
                facts[i, FLAGS] |= REDERIVED


@inner
def _insert_all(rules, change, stratum):
    facts, state = change.facts, change.state
    for i in range(state[START], state[COUNT]):
        if facts[i, FLAGS] & REDERIVED:
            _insert(rules, change, facts[i, PRED], np.uint64(facts[i, KEY]))
    _explicit_changes(rules, change, stratum, EXPLICIT_ADDED, INSERT)
    _run_affected(rules, change, stratum, INSERT, True)
    i = 0
    while i < state[QUEUED] and not state[TOO_MUCH]:
        fact = change.queue[i]
        _run_plans(rules, change, LOOP, facts[fact, PRED], np.uint64(facts[fact, KEY]), INSERT, True)
        i += 1


# Strata.


@inner
def _add_inputs(change):
    """The changes of the inputs."""
    for part, flag in ((INPUT_REMOVED, REMOVED), (INPUT_ADDED, ADDED)):
        for at in range(change.ends[part], change.ends[part + 1]):
            i = _add_fact(change, change.given[at, 0], change.given[at, 1])
            if i < 0:
                return
            change.facts[i, FLAGS] = flag
            change.touched[change.given[at, 0]] |= flag
            if flag == ADDED:
                _link(change, i)


@inner
def _is_within_budget(rules, change, stratum, limits):
    """Whether a stratum reads few enough changed facts; notes their number, if that decides."""
    facts, changed, removed = change.facts, 0, 0
    for i in range(change.state[START]):
        pred, net = facts[i, PRED], facts[i, FLAGS] & (REMOVED | ADDED)
        removed |= net == REMOVED
        if net == REMOVED or net == ADDED:
            changed += rules.affected[stratum, pred, 1] > rules.affected[stratum, pred, 0]
    change.state[CHANGED] = 0
    if removed and changed > limits[stratum, MAX_CHANGED_BY_REMOVAL]:
        return False
    for i in range(change.ends[EXPLICIT_REMOVED], change.ends[EXPLICIT_ADDED + 1]):
        changed += rules.own[change.given[i, 0], STRATUM] == stratum
    change.state[CHANGED] = changed
    return changed <= limits[stratum, MAX_CHANGED]


@inner
def _maintain(rules, change, stratum, limits):
    """Maintains one stratum; False, and no change, if a limit is reached."""
    state = change.state
    state[START], state[QUEUED], state[MATCHES_LEFT] = state[COUNT], 0, limits[stratum, MAX_MATCHES]
    if not _is_within_budget(rules, change, stratum, limits):
        return False
    _overdelete(rules, change, stratum, limits)
    if not state[TOO_MUCH]:
        _rederive(rules, change)
        _insert_all(rules, change, stratum)
    if state[TOO_MUCH]:
        state[COUNT] = state[START]
        return False
    return True


@njit(nogil=True, cache=True)
def delete_and_rederive(
    plans, affected, inner, code, registers, places, own, given, ends, facts, buckets, queue, levels, limits, state
):
    """Maintains strata: `facts` get flags that say what became of each. The number of strata that were maintained; the
    next one reached a limit."""
    rules = RuleArrays(plans, affected, inner, code, registers, places, own)
    change = ChangeArrays(given, ends, facts, buckets, queue, levels, np.zeros(len(own), np.int64), state)
    _add_inputs(change)
    for stratum in range(len(limits)):
        if not _maintain(rules, change, stratum, limits):
            return stratum
    return len(limits)


@njit(nogil=True, cache=True)
def net_changes(facts, first, preds):
    """The net changes of the facts from a line on, by relation: the removed and the added keys, sorted, where those of
    each relation end (`preds` times two), and how many facts were overdeleted, rederived and inserted."""
    ends, counts = np.zeros(2 * preds + 1, np.int64), np.zeros((preds, 3), np.int64)
    for i in range(first, len(facts)):
        pred, flags = facts[i, PRED], facts[i, FLAGS]
        counts[pred, 0] += flags & REMOVED != 0
        counts[pred, 1] += flags & REDERIVED != 0
        counts[pred, 2] += flags & ADDED != 0
        if (flags & REMOVED != 0) != (flags & ADDED != 0):
            ends[2 * pred + (flags & ADDED != 0) + 1] += 1
    ends = np.cumsum(ends)
    keys, at = np.empty(ends[-1], np.uint64), ends[:-1].copy()
    for i in range(first, len(facts)):
        flags = facts[i, FLAGS]
        if (flags & REMOVED != 0) != (flags & ADDED != 0):
            part = 2 * facts[i, PRED] + (flags & ADDED != 0)
            keys[at[part]] = np.uint64(facts[i, KEY])
            at[part] += 1
    for part in range(2 * preds):
        if ends[part + 1] - ends[part] > 1:
            keys[ends[part] : ends[part + 1]].sort()
    return keys, ends, counts
