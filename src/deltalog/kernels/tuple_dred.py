"""Delete and rederive (DRed), tuple at a time: a small change of several strata in one call (Hu et al., Algorithm 3).

`maintenance.dred` goes set at a time, for large changes and for all rules. A small change has sets of a handful of
facts, and costs as much as the calls that it takes. Here a fact is taken for one atom of a rule, the other atoms are
looked up, and the heads go to a queue, until that is empty; stratum after stratum.

A **plan** is a rule that starts from a fact: a line of `plans`. The fact goes to the registers PUT_FIRST and
PUT_SECOND, or must be equal to the registers TEST_FIRST and TEST_SECOND (-1: neither). Then follow its steps, the lines
LINES to END of `code` (see `kernels.interpreter`).

The changed **facts** are the lines of a table (see `kernels.changed_facts`). The changes of the inputs come first, and
then those of each stratum.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from deltalog.kernels.changed_facts import (
    ADDED,
    CHANGED,
    COUNT,
    FLAGS,
    KEY,
    MATCHES_LEFT,
    PRED,
    QUEUED,
    REDERIVED,
    REMOVED,
    SEEN,
    START,
    TOO_MUCH,
    ChangeArrays,
    add_fact,
    find,
    link,
)
from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.interpreter import advance, joined_key
from deltalog.kernels.run_search import MASK, holds
from deltalog.kernels.sorted_keys import HALF

# Of a plan. NEGATED: the fact is one of a negated atom.
LINES, END, TEST_FIRST, TEST_SECOND, PUT_FIRST, PUT_SECOND, HEAD, HEAD_FIRST, HEAD_SECOND, NEGATED = range(10)
# Of a relation: where it is, its explicit facts after the change, and its stratum (-1: it is an input).
TABLE, EXPLICIT, STRATUM = range(3)
# The budget of a stratum (`TupleBudget`): changed facts that it reads or has as explicit ones; the same if some are
# removed; matches; overdeleted facts: this many in all, or this many for each seed.
MAX_CHANGED, MAX_CHANGED_BY_REMOVAL, MAX_MATCHES, MIN_OVERDELETED, OVERDELETED_PER_SEED = range(5)
CHECK, DELETE, INSERT = range(3)
LOOP, CHECKS, RECHECKS = range(3)
# The given changes: of the inputs, and explicit ones of the relations of the strata.
INPUT_REMOVED, INPUT_ADDED, EXPLICIT_REMOVED, EXPLICIT_ADDED = range(4)


# `affected` has, for a stratum and a relation, the range of the plans that start from a change of it; `inner` the same
# for a relation of a stratum: recursive plans that start from its facts, nonrecursive ones that derive its facts, and
# recursive ones that do. `own` are the relations.
RuleArrays = namedtuple("RuleArrays", "plans affected inner code registers places own")


@inner
def _delete(change, pred, key):
    """A fact loses a derivation: it is a candidate deletion."""
    if find(change, pred, np.int64(key)) < 0:
        i = add_fact(change, pred, np.int64(key))
        if i >= 0:
            change.facts[i, FLAGS] = SEEN


@inner
def _insert(rules, change, pred, key):
    """A fact is derived: it goes to the queue if it was not there."""
    facts, state = change.facts, change.state
    i = find(change, pred, np.int64(key))
    if i < 0:
        if holds(rules.places, rules.own[pred, TABLE], key):
            return
        i = add_fact(change, pred, np.int64(key))
        if i < 0:
            return
    elif facts[i, FLAGS] & ADDED or not facts[i, FLAGS] & REMOVED:
        return
    facts[i, FLAGS] |= ADDED
    link(change, i)
    change.queue[state[QUEUED]] = i
    state[QUEUED] += 1


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
def _run_plan(rules, change, plan, key, phase, after):
    """A rule that starts from a fact: whether it has a match (CHECK); else all of its heads are deleted or inserted."""
    plans, levels, state = rules.plans, change.levels, change.state
    if not _bind_leaf(plans, plan, rules.registers, key):
        return False
    first, code, registers, places = plans[plan, LINES], rules.code, rules.registers, rules.places
    depth = plans[plan, END] - first
    level = 0
    levels[0, 0], levels[0, 1] = 0, -1
    while level >= 0 and not state[TOO_MUCH]:
        if level < depth:
            state[MATCHES_LEFT] -= 1
            state[TOO_MUCH] |= state[MATCHES_LEFT] < 0
            level = advance(registers, places, change, after, levels, code[first + level], level)
            continue
        if phase == CHECK:
            return True
        head = joined_key(registers, plans[plan, HEAD_FIRST], plans[plan, HEAD_SECOND])
        if phase == DELETE:
            _delete(change, plans[plan, HEAD], head)
        else:
            _insert(rules, change, plans[plan, HEAD], head)
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
    explicit = holds(rules.places, rules.own[pred, EXPLICIT], key)
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
            i = add_fact(change, change.given[at, 0], change.given[at, 1])
            if i < 0:
                return
            change.facts[i, FLAGS] = flag
            change.touched[change.given[at, 0]] |= flag
            if flag == ADDED:
                link(change, i)


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


@kernel
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


@kernel
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
