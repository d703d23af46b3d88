"""Delete and rederive, fact by fact: a small change of one stratum in one call (paper 003, Algorithm 3).

`engine.dred` goes set by set, which is right for much, and for everything that a rule can say. A small change has sets
of a handful of facts, and what it costs is the calls. Here a fact is taken, the rules are seen from it (the fact for
one atom, look-ups for the others), and what they give is put into a queue, until that is empty.

A **plan** is a rule seen from a fact: a line of `plans`. The fact goes to the registers PUT_FIRST and PUT_SECOND, or
must be equal to the registers TEST_FIRST and TEST_SECOND (-1: neither). Then follow its steps, the lines LINES to END
of `code`, as in `kernels.nested`, but each reads a relation BEFORE the change or AFTER it. Of the stratum's own
relations (OWN, not -1) there is only the table from before; what they are after it is that without what was removed,
and with what was added.

The **facts** that a change is about are lines of a table, found by hashes: of their keys, and for those that were added
also of their first and of their second id and of their relation. An index there is one more than the line's number, and
0 is none.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import njit

from deltalog.kernels.intern import get
from deltalog.kernels.nested import ABSENT, JOIN, MASK, RUN, is_dead, search
from deltalog.kernels.rows import HALF

# Of a step.
KIND, FIRST, SECOND, HIGH, LOW, EQUAL, BEFORE, AFTER, OWN, SWAPPED = range(10)
# Of a plan. LOST and WON: where the facts are that a rule is seen from, if they are of relations before the stratum.
LINES, END, TEST_FIRST, TEST_SECOND, PUT_FIRST, PUT_SECOND, HEAD, HEAD_FIRST, HEAD_SECOND, LOST, WON = range(11)
# Of a relation of the stratum: where it is, its explicit facts after the change, and those removed and added.
TABLE, EXPLICIT, LESS, MORE = range(4)
# Of a fact.
PRED, KEY, FLAGS, NEXT = range(4)  # from NEXT on: the next fact in each of four chains
FACT_FIELDS = NEXT + 4
BY_KEY, BY_FIRST, BY_SECOND, BY_PRED = range(4)
SEEN, REMOVED, BACK, ADDED = 1, 2, 4, 8
# Of the state: how many facts there are, how many of them in the queue, matches looked at, and that may be looked at,
# whether it became too much; how many facts may be overdeleted at least, and for each that is lost at first.
COUNT, QUEUED, LOOKED, MOST, TOO_MUCH, LEAST, BOUND = range(7)
CHECK, DELETE, INSERT = range(3)
MIX = np.uint64(0x9E3779B97F4A7C15)


# `bounds` says where plans begin: those seen from facts of relations before the stratum, and then, for each relation of
# the stratum, the recursive ones seen from its facts, the nonrecursive ones that give its facts, the recursive ones.
Stratum = namedtuple("Stratum", "plans bounds code registers places own")
Change = namedtuple("Change", "facts buckets queue levels state")


def inner(function):
    return njit(nogil=True, no_cpython_wrapper=True)(function)


@inner
def _bucket(chain, pred, value, buckets):
    h = (np.uint64(value) ^ np.uint64(chain + 4 * pred + 1) * MIX) * MIX
    return np.int64(h >> np.uint64(20)) & np.int64(buckets.shape[1] - 1)


# The facts that the change is about.


@inner
def _find(change, pred, key):
    """The line of a fact, or -1."""
    facts = change.facts
    at = change.buckets[BY_KEY, _bucket(BY_KEY, pred, key, change.buckets)]
    while at > 0 and not (facts[at - 1, KEY] == key and facts[at - 1, PRED] == pred):
        at = facts[at - 1, NEXT]
    return at - 1


@inner
def _note(change, pred, key):
    """A new line for a fact; -1 if there is no room."""
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
    """An added fact is found by its ids and by its relation."""
    pred, key = change.facts[i, PRED], np.uint64(change.facts[i, KEY])
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
    """A fact loses an instance."""
    if _find(change, pred, np.int64(key)) < 0:
        i = _note(change, pred, np.int64(key))
        if i >= 0:
            change.facts[i, FLAGS] = SEEN


@inner
def _insert(stratum, change, pred, key):
    """A fact holds: it goes to the queue if that is news."""
    facts, state = change.facts, change.state
    i = _find(change, pred, np.int64(key))
    if i < 0:
        if _holds(stratum.places, stratum.own[pred, TABLE], key):
            return
        i = _note(change, pred, np.int64(key))
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
            return places[place + 1] == 0 or not is_dead(places, place, key)
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
def _next_stored(stratum, change, line, bound, after, run, at):
    """The next match from a position of a run on: its run, the position after it, and the key; the run after the last
    one if there is none."""
    code, places = stratum.code, stratum.places
    place = code[line, AFTER] if after else code[line, BEFORE]
    own = code[line, OWN] if after else -1
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
            if places[place + 1] and is_dead(places, place, key):
                continue
            if own < 0 or not _is_removed(change, own, _turned(key, code[line, SWAPPED])):
                return run, at, key
        run += 1
        at = -1
    return run, -1, np.uint64(0)


@inner
def _next_added(stratum, change, line, bound, at):
    """The next match among the added facts: the index after it (0: the end), and the key; -1 if there is none."""
    code, facts = stratum.code, change.facts
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
def _next(stratum, change, line, after, run, at):
    """The next match of a step: a run, a position, the key; run -1 when there is none."""
    code = stratum.code
    bound = _bound(code, line, stratum.registers)
    runs = stratum.places[code[line, AFTER] if after else code[line, BEFORE]]
    if run < runs:
        run, at, key = _next_stored(stratum, change, line, bound, after, run, at)
        if run < runs:
            return run, at, key
    if after and code[line, OWN] >= 0 and at != 0:
        at, key = _next_added(stratum, change, line, bound, at)
        if at >= 0:
            return runs, at, key
    return -1, -1, np.uint64(0)


# Rules seen from facts.


@inner
def _seen_from(plans, plan, registers, key):
    """Gives a fact to the registers of a plan; False if it is none that the rule's atom can be."""
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
def _advance(stratum, change, line, after, level):
    """One step of the search at a level; the level where it goes on."""
    code, levels, registers = stratum.code, change.levels, stratum.registers
    if levels[level, 0] < 0:  # done: the level above goes on
        return level - 1
    run, at, key = _next(stratum, change, line, after, levels[level, 0], levels[level, 1])
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
def _solve(stratum, change, plan, key, phase, after):
    """A rule seen from a fact: whether it gives anything (CHECK), or all that it gives, to be deleted or inserted."""
    plans, levels, state = stratum.plans, change.levels, change.state
    if not _seen_from(plans, plan, stratum.registers, key):
        return False
    first = plans[plan, LINES]
    depth = plans[plan, END] - first
    level = 0
    levels[0, 0], levels[0, 1] = 0, -1
    while level >= 0 and not state[TOO_MUCH]:
        if level < depth:
            state[LOOKED] += 1
            state[TOO_MUCH] |= state[LOOKED] > state[MOST]
            before, level = level, _advance(stratum, change, first + level, after, level)
            if before < level < depth:
                levels[level, 0], levels[level, 1] = 0, -1
            continue
        if phase == CHECK:
            return True
        if phase == DELETE:
            _delete(change, plans[plan, HEAD], _head(plans, plan, stratum.registers))
        else:
            _insert(stratum, change, plans[plan, HEAD], _head(plans, plan, stratum.registers))
        level -= 1
    return False


@inner
def _solve_all(stratum, change, group, key, phase, after):
    """All plans of a group, seen from a fact; for CHECK, whether one of them gives anything."""
    for plan in range(stratum.bounds[group], stratum.bounds[group + 1]):
        if _solve(stratum, change, plan, key, phase, after):
            return True
    return False


@inner
def _solve_changes(stratum, change, phase, after):
    """The plans seen from what relations before the stratum have lost, or won."""
    places = stratum.places
    for plan in range(stratum.bounds[0], stratum.bounds[1]):
        place = stratum.plans[plan, WON] if after else stratum.plans[plan, LOST]
        for run in range(places[place]):
            for at in range(places[place + 3 + RUN * run]):
                key = np.uint64(get(places[place + 2 + RUN * run], at))
                if places[place + 1] == 0 or not is_dead(places, place, key):
                    _solve(stratum, change, plan, key, phase, after)


@inner
def _explicit_changes(stratum, change, field, phase):
    """Explicit facts that were removed, or added."""
    places = stratum.places
    for pred in range(len(stratum.own)):
        place = stratum.own[pred, field]
        for run in range(places[place]):
            for at in range(places[place + 3 + RUN * run]):
                key = np.uint64(get(places[place + 2 + RUN * run], at))
                if places[place + 1] and is_dead(places, place, key):
                    continue
                if phase == DELETE:
                    _delete(change, pred, key)
                else:
                    _insert(stratum, change, pred, key)


# Algorithm 3.


@inner
def _is_protected(stratum, change, pred, key):
    """Whether a fact holds without the recursive rules."""
    explicit = _holds(stratum.places, stratum.own[pred, EXPLICIT], key)
    return explicit or _solve_all(stratum, change, 1 + len(stratum.own) + pred, key, CHECK, True)


@inner
def _overdelete(stratum, change):
    facts, state = change.facts, change.state
    _explicit_changes(stratum, change, LESS, DELETE)
    _solve_changes(stratum, change, DELETE, False)
    first, removed, most = state[COUNT], 0, state[LEAST]
    i = 0
    while i < state[COUNT] and not state[TOO_MUCH]:
        pred, key = facts[i, PRED], np.uint64(facts[i, KEY])
        if not _is_protected(stratum, change, pred, key):
            facts[i, FLAGS] |= REMOVED
            removed += 1
            _solve_all(stratum, change, 1 + pred, key, DELETE, False)
        i += 1
        if i == first:
            most = max(most, state[BOUND] * removed)
        state[TOO_MUCH] |= i > first and removed > most


@inner
def _rederive(stratum, change):
    facts = change.facts
    for i in range(change.state[COUNT]):
        if facts[i, FLAGS] & REMOVED:
            pred = facts[i, PRED]
            if _solve_all(stratum, change, 1 + 2 * len(stratum.own) + pred, np.uint64(facts[i, KEY]), CHECK, True):
                facts[i, FLAGS] |= BACK


@inner
def _insert_all(stratum, change):
    facts, state = change.facts, change.state
    for i in range(state[COUNT]):
        if facts[i, FLAGS] & BACK:
            _insert(stratum, change, facts[i, PRED], np.uint64(facts[i, KEY]))
    _explicit_changes(stratum, change, MORE, INSERT)
    _solve_changes(stratum, change, INSERT, True)
    i = 0
    while i < state[QUEUED] and not state[TOO_MUCH]:
        fact = change.queue[i]
        _solve_all(stratum, change, 1 + facts[fact, PRED], np.uint64(facts[fact, KEY]), INSERT, True)
        i += 1


@njit(nogil=True, cache=True)
def delete_and_rederive(plans, bounds, code, registers, places, own, facts, buckets, queue, levels, state):
    """What a change does to a stratum: `facts`, with flags that say what became of each; False if it is too much."""
    stratum = Stratum(plans, bounds, code, registers, places, own)
    change = Change(facts, buckets, queue, levels, state)
    _overdelete(stratum, change)
    if not state[TOO_MUCH]:
        _rederive(stratum, change)
        _insert_all(stratum, change)
    return state[TOO_MUCH] == 0
