"""Small semi-naive rounds, tuple at a time, many rounds in one call.

Evaluated set at a time, a round that derives a handful of facts costs as much as the calls that it takes. Here each
fact of the last round is taken for the atom that reads the DELTA, the other atoms of the rule are looked up, and a head
that is not known yet is a fact of the next round. This ends when a round derives nothing, or when a round is so large
that sets are faster. Rows have any number of columns, and rules may compute (see `kernels.arithmetic`).

A **plan** is a rule variant: its leaf is matched with the fact, then come its steps (JOIN, EXISTS and ABSENT as in
`kernels.interpreter`; WHERE and EXTEND compute, DEFER_VALUE and DEFER_CONDITION leave an expression to the caller,
ESCAPE gives up), and its head. An atom is some lines of arguments, one for each column in the order of the look-up:
first those that are bound (KEY), then those that are new: PUT into a register, SAME as a register, or SKIP.

The **facts** of the call are lines of a table: their relation, and their ids. They have hash indexes: by all columns,
and by the columns that look-ups bind. All indexes have their chains in one hash table; a node of a chain is
fact * slots + slot of the index + 1, and 0 is the end. Facts are in the order of their rounds; those from VISIBLE on
belong to the next round, and look-ups do not see them. So rounds are the same as in evaluation by sets.

**Results** are values of deferred expressions, which the caller has computed, by expression and arguments. A fact that
needs one that is missing is taken again when the result is there; what it has derived by then is found as known.

All tables are words, and a **frame** has their addresses and the widths of their lines (`kernels.intern`). The caller
keeps the arrays alive for as long as the frame (`kernels.addresses`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.arithmetic import computed, interned, truth
from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.interpreter import ABSENT, EXISTS, JOIN
from deltalog.kernels.memory import get, put
from deltalog.kernels.run_search import MASK, RUN, STRIDE
from deltalog.kernels.sorted_keys import HALF

# Of a frame: addresses.
PLANS, CODE, ARGS, OPS, RELATIONS, INDEXES, COLUMNS, REGISTERS, PLACES, ROOM = range(10)
FACTS, CHAINS, BUCKETS, KEYS, LEVELS, STACK, LOG, RESULTS, RESULT_BUCKETS = range(10, 19)
# And numbers: words of a fact, of a key and of a result, most indexes of a relation, the masks of hash tables, the
# line of KEYS for heads (the next one is for lines that may be tombstones), room for facts and for results.
FACT_WORDS, KEY_WORDS, RESULT_WORDS, SLOTS, BUCKET_MASK, RESULT_MASK, HEAD_KEY, MAX_FACTS, MAX_RESULTS = range(19, 28)
# Limits of a round: new facts, matches, and deferred expressions.
MAX_NEW_FACTS, MAX_MATCHES, MAX_DEFERRED = range(28, 31)
# And the state. START, VISIBLE: the facts of the last round. MATCHES_LEFT: matches before the next pause.
COUNT, START, NEXT, VISIBLE, ROUNDS, MATCHES_LEFT = range(31, 37)
# What the round has left of its limits. DEFERRED: the step whose expression is needed.
ROUND_MATCHES_LEFT, DEFERRED_LEFT, STATUS, DEFERRED, RESULT_COUNT = range(37, 42)
FRAME = 42
RUNNING, DONE, LARGE, PAUSED, FULL, TOO_MUCH, ESCAPED, DEFERRING = range(8)
# Of a step. OWN: the number of its relation if that is a recursive one, or -1. FIRST_OP to LAST_OP: its expression.
KIND, PLACE, OWN, SLOT, FIRST_ARG, ARITY, BOUND, FIRST_OP, LAST_OP, TARGET, STEP = range(11)
WHERE, EXTEND, DEFER_VALUE, DEFER_CONDITION, ESCAPE = range(3, 8)  # after JOIN, EXISTS and ABSENT
# Of an argument.
REGISTER, COLUMN, MODE, ARG = range(4)
KEY, PUT, SAME, SKIP = range(4)
# Of a plan: arguments of its leaf, its steps, the relation and the arguments of its head.
LEAF, LINES, END, HEAD, HEAD_ARGS, PLAN = range(6)
# Of a recursive relation: its arity and place, its plans, its indexes, whether it is shown, how many rules read it, and
# the last round with facts of it.
WIDTH, TABLE, FIRST_PLAN, LAST_PLAN, FIRST_INDEX, LAST_INDEX, SHOWN, RULES, ROUND, RELATION = range(10)
# Of an index: the columns it is by, from here to there.
BY, BY_END, INDEX = range(3)
# Of the log of a round: how many facts there are after it, how many of its own are shown, how many rules were due.
AFTER, NEW, DUE, RECORD = range(4)
# Of a result: the expression, its value (an id; of a condition TRUE or FALSE; or FAILS), the next one in its chain, and
# the arguments.
EXPRESSION, RESULT, FOLLOWING, ARGUMENTS = range(4)
FAILS, TRUE, FALSE = range(3)
MIX = np.uint64(0x9E3779B97F4A7C15)


@inner
def _step(f: Any, line: Any, field: Any) -> Any:
    return get(get(f, CODE), line * STEP + field)


@inner
def _arg(f: Any, arg: Any, field: Any) -> Any:
    return get(get(f, ARGS), arg * ARG + field)


@inner
def _plan(f: Any, plan: Any, field: Any) -> Any:
    return get(get(f, PLANS), plan * PLAN + field)


@inner
def _relation(f: Any, pred: Any, field: Any) -> Any:
    return get(get(f, RELATIONS), pred * RELATION + field)


@inner
def _fact(f: Any, i: Any, field: Any) -> Any:
    """The relation of a fact (0), or one of its ids (from 1 on)."""
    return get(get(f, FACTS), i * get(f, FACT_WORDS) + field)


@inner
def _place(f: Any, at: Any) -> Any:
    return get(get(f, PLACES), at)


@inner
def _key(f: Any, level: Any) -> Any:
    """The address of the key of a level."""
    return get(f, KEYS) + 8 * level * get(f, KEY_WORDS)


@inner
def _add(f: Any, field: Any, number: Any) -> Any:
    put(f, field, get(f, field) + number)
    return get(f, field)


# Facts of this call.


@inner
def _mixed(h: Any, value: Any) -> Any:
    h = (h ^ np.uint64(value)) * MIX
    return h ^ (h >> HALF)


@inner
def _seed(pred: Any, slot: Any) -> Any:
    return _mixed(np.uint64(slot + 1), pred)


@inner
def _link(f: Any, i: Any) -> Any:
    """A fact into the chains of the indexes of its relation."""
    pred = _fact(f, i, 0)
    first = _relation(f, pred, FIRST_INDEX)
    for index in range(first, _relation(f, pred, LAST_INDEX)):
        slot = index - first
        h = _seed(pred, slot)
        for at in range(get(get(f, INDEXES), index * INDEX + BY), get(get(f, INDEXES), index * INDEX + BY_END)):
            h = _mixed(h, _fact(f, i, 1 + get(get(f, COLUMNS), at)))
        node, bucket = i * get(f, SLOTS) + slot, np.int64(h) & get(f, BUCKET_MASK)
        put(get(f, CHAINS), node, get(get(f, BUCKETS), bucket))
        put(get(f, BUCKETS), bucket, node + 1)


@inner
def _chain(f: Any, pred: Any, slot: Any, key: Any, bound: Any) -> Any:
    """The first node of the chain for the ids of a key."""
    h = _seed(pred, slot)
    for i in range(bound):
        h = _mixed(h, get(key, i))
    return get(get(f, BUCKETS), np.int64(h) & get(f, BUCKET_MASK))


@inner
def _is_known(f: Any, pred: Any, key: Any, width: Any) -> Any:
    """Whether a fact is one of this call, in this round or before."""
    node, slots = _chain(f, pred, 0, key, width), get(f, SLOTS)
    while node > 0:
        i = (node - 1) // slots
        if node - 1 == i * slots and _fact(f, i, 0) == pred:
            at = 0
            while at < width and _fact(f, i, 1 + at) == get(key, at):
                at += 1
            if at == width:
                return True
        node = get(get(f, CHAINS), node - 1)
    return False


# Stored facts.


@inner
def _words(width: Any) -> Any:
    return max(1, (width + 1) >> 1)


@inner
def _id(address: Any, words: Any, at: Any, column: Any) -> Any:
    word = np.uint64(get(address, at * words + (column >> 1)))
    return np.int64(word & MASK) if column & 1 else np.int64(word >> HALF)


@inner
def _order(address: Any, words: Any, at: Any, key: Any, bound: Any) -> Any:
    """-1, 0 or 1: the first columns of a line against a key."""
    for i in range(bound):
        id = _id(address, words, at, i)
        if id != get(key, i):
            return -1 if id < get(key, i) else 1
    return 0


@inner
def _first(address: Any, words: Any, low: Any, high: Any, key: Any, bound: Any) -> Any:
    """The first line from low on that is not less than the key, or high."""
    while low < high:
        middle = (low + high) >> 1
        if _order(address, words, middle, key, bound) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _search(f: Any, run: Any, words: Any, key: Any, bound: Any) -> Any:
    """The same in a run (by its place)."""
    address, length, fence = _place(f, run), _place(f, run + 1), _place(f, run + 2)
    low, high = np.int64(0), length
    if fence != 0:
        post = _first(fence, words, np.int64(0), ((length - 1) >> STRIDE) + 1, key, bound)
        low, high = max(np.int64(0), ((post - 1) << STRIDE) + 1), min(length, post << STRIDE)
    return _first(address, words, low, high, key, bound)


@inner
def _is_in(f: Any, first: Any, runs: Any, key: Any, width: Any) -> Any:
    """Whether a row is in one of some runs."""
    words = _words(width)
    for run in range(first, first + RUN * runs, RUN):
        at = _search(f, run, words, key, width)
        if at < _place(f, run + 1) and _order(_place(f, run), words, at, key, width) == 0:
            return True
    return False


@inner
def _is_tombstone(f: Any, place: Any, key: Any, width: Any) -> Any:
    runs, tombstones = _place(f, place), _place(f, place + 1)
    return tombstones != 0 and _is_in(f, place + 2 + RUN * runs, tombstones, key, width)


@inner
def _is_tombstone_line(f: Any, place: Any, address: Any, at: Any, width: Any) -> Any:
    if _place(f, place + 1) == 0:
        return False
    key = _key(f, get(f, HEAD_KEY) + 1)
    for i in range(width):
        put(key, i, _id(address, _words(width), at, i))
    return _is_tombstone(f, place, key, width)


# Matches of a step.


@inner
def _bind(f: Any, arg: Any, id: Any) -> Any:
    """Binds a column that is new to an id; False if its register has another one."""
    mode, register = _arg(f, arg, MODE), _arg(f, arg, REGISTER)
    if mode == PUT:
        put(get(f, REGISTERS), register, id)
    return mode != SAME or get(get(f, REGISTERS), register) == id


@inner
def _bind_line(f: Any, line: Any, address: Any, at: Any) -> Any:
    width, arg = _step(f, line, ARITY), _step(f, line, FIRST_ARG)
    for i in range(_step(f, line, BOUND), width):
        if not _bind(f, arg + i, _id(address, _words(width), at, i)):
            return False
    return True


@inner
def _bind_fact(f: Any, first: Any, last: Any, i: Any) -> Any:
    for arg in range(first, last):
        if not _bind(f, arg, _fact(f, i, 1 + _arg(f, arg, COLUMN))):
            return False
    return True


@inner
def _next_stored(f: Any, line: Any, key: Any, run: Any, at: Any) -> Any:
    """Binds the next match from a position of a run on: its run and the position after it; the run after the last one
    if there is none."""
    place, bound, width = _step(f, line, PLACE), _step(f, line, BOUND), _step(f, line, ARITY)
    words, runs = _words(width), _place(f, place)
    while run < runs:
        here = place + 2 + RUN * run
        address, length = _place(f, here), _place(f, here + 1)
        if at < 0:
            at = _search(f, here, words, key, bound)
        while at < length and _order(address, words, at, key, bound) == 0:
            at += 1
            if not _is_tombstone_line(f, place, address, at - 1, width) and _bind_line(f, line, address, at - 1):
                return run, at
            if _add(f, ROUND_MATCHES_LEFT, -1) < 0:
                return runs, np.int64(-1)
        run += 1
        at = np.int64(-1)
    return run, np.int64(-1)


@inner
def _is_match(f: Any, line: Any, key: Any, i: Any) -> Any:
    """Whether a fact has the ids that are bound."""
    first = _step(f, line, FIRST_ARG)
    for at in range(_step(f, line, BOUND)):
        if _fact(f, i, 1 + _arg(f, first + at, COLUMN)) != get(key, at):
            return False
    return _bind_fact(f, first + _step(f, line, BOUND), first + _step(f, line, ARITY), i)


@inner
def _next_found(f: Any, line: Any, key: Any, node: Any) -> Any:
    """Binds the next match among the facts of this call: the node after it, or -1 if there is none."""
    pred, slot, slots = _step(f, line, OWN), _step(f, line, SLOT), get(f, SLOTS)
    if node < 0:
        node = _chain(f, pred, slot, key, _step(f, line, BOUND))
    while node > 0:
        _add(f, ROUND_MATCHES_LEFT, -1)
        i = (node - 1) // slots
        right = node - 1 == i * slots + slot and i < get(f, VISIBLE) and _fact(f, i, 0) == pred
        node = get(get(f, CHAINS), node - 1)
        if right and _is_match(f, line, key, i):
            return node
    return np.int64(-1)


@inner
def _next(f: Any, line: Any, level: Any) -> Any:
    """Binds the next match of a step; False if there is none."""
    key, here = _key(f, level), get(f, LEVELS) + 16 * level
    runs = _place(f, _step(f, line, PLACE))
    if get(here, 0) < runs:
        run, at = _next_stored(f, line, key, get(here, 0), get(here, 1))
        put(here, 0, run)
        put(here, 1, at)
        if run < runs:
            return True
    if _step(f, line, OWN) < 0 or get(here, 1) == 0:
        return False
    put(here, 1, _next_found(f, line, key, get(here, 1)))
    return get(here, 1) >= 0


# Deferred expressions.


@inner
def _result_bucket(f: Any, line: Any) -> Any:
    """The address of the start of the chain for the expression of a step."""
    h = _seed(_step(f, line, SLOT), 0)
    first = _step(f, line, FIRST_ARG)
    for i in range(_step(f, line, BOUND)):
        h = _mixed(h, get(get(f, REGISTERS), _arg(f, first + i, REGISTER)))
    return get(f, RESULT_BUCKETS) + 8 * (np.int64(h) & get(f, RESULT_MASK))


@inner
def _is_result(f: Any, line: Any, entry: Any) -> Any:
    """Whether an entry is the result of the expression of a step."""
    if get(entry, EXPRESSION) != _step(f, line, SLOT):
        return False
    first = _step(f, line, FIRST_ARG)
    for i in range(_step(f, line, BOUND)):
        if get(entry, ARGUMENTS + i) != get(get(f, REGISTERS), _arg(f, first + i, REGISTER)):
            return False
    return True


@inner
def _deferred_result(f: Any, line: Any) -> Any:
    """The result of the expression of a step; -1 if it is missing."""
    number = get(_result_bucket(f, line), 0)
    while number > 0:
        entry = get(f, RESULTS) + 8 * (number - 1) * get(f, RESULT_WORDS)
        if _is_result(f, line, entry):
            return get(entry, RESULT)
        number = get(entry, FOLLOWING)
    put(f, DEFERRED, line)
    put(f, STATUS, DEFERRING if _add(f, DEFERRED_LEFT, -1) >= 0 else TOO_MUCH)
    return np.int64(-1)


@kernel
def take_result(frame: Any, result: int) -> None:
    """Stores the result of the deferred expression."""
    f = np.int64(frame.ctypes.data)
    if get(f, RESULT_COUNT) == get(f, MAX_RESULTS):  # they can be computed again
        put(f, RESULT_COUNT, 0)
        for i in range(get(f, RESULT_MASK) + 1):
            put(get(f, RESULT_BUCKETS), i, 0)
    line = get(f, DEFERRED)
    bucket, first = _result_bucket(f, line), _step(f, line, FIRST_ARG)
    entry = get(f, RESULTS) + 8 * get(f, RESULT_COUNT) * get(f, RESULT_WORDS)
    put(entry, EXPRESSION, _step(f, line, SLOT))
    put(entry, RESULT, result)
    put(entry, FOLLOWING, get(bucket, 0))
    for i in range(_step(f, line, BOUND)):
        put(entry, ARGUMENTS + i, get(get(f, REGISTERS), _arg(f, first + i, REGISTER)))
    put(bucket, 0, _add(f, RESULT_COUNT, 1))


# Rules, starting from a fact.


@inner
def _enter(f: Any, line: Any, level: Any) -> Any:
    """Enters a step: the key that it looks for."""
    key, here, first = _key(f, level), get(f, LEVELS) + 16 * level, _step(f, line, FIRST_ARG)
    if _step(f, line, KIND) <= ABSENT:
        for i in range(_step(f, line, BOUND)):
            put(key, i, get(get(f, REGISTERS), _arg(f, first + i, REGISTER)))
    put(here, 0, 0)
    put(here, 1, -1)


@inner
def _compute(f: Any, line: Any) -> Any:
    """A truth value, or the id of a value; 0 if it is false or fails; -1 if the result is missing."""
    kind, result = _step(f, line, KIND), np.int64(0)
    if kind == DEFER_VALUE or kind == DEFER_CONDITION:
        result = _deferred_result(f, line)
        if kind == DEFER_CONDITION and result == FALSE:
            return np.int64(0)
    elif kind != ESCAPE:
        first, last = _step(f, line, FIRST_OP), _step(f, line, LAST_OP)
        if computed(get(f, STACK), get(f, OPS), first, last, get(f, REGISTERS), get(f, ROOM)):
            if kind == WHERE and truth(get(f, STACK)) >= 0:
                return truth(get(f, STACK))
            result = interned(get(f, STACK), get(f, ROOM)) if kind == EXTEND else result
    if result == 0:
        put(f, STATUS, ESCAPED)
    return result


@inner
def _goes_on(f: Any, line: Any, level: Any) -> Any:
    """A step that goes on once, or not at all."""
    kind = _step(f, line, KIND)
    if kind <= ABSENT:
        return _next(f, line, level) == (kind == EXISTS)
    result = _compute(f, line)
    if kind == EXTEND or kind == DEFER_VALUE:
        put(get(f, REGISTERS), _step(f, line, TARGET), result)
    return result > 0


@inner
def _advance(f: Any, line: Any, level: Any) -> Any:
    """One step of the search at a level; the level where it goes on."""
    here = get(f, LEVELS) + 16 * level
    if get(here, 0) < 0:  # done: the level above goes on
        return level - 1
    if _step(f, line, KIND) == JOIN:
        return level + 1 if _next(f, line, level) else level - 1
    goes_on = _goes_on(f, line, level)
    put(here, 0, -1)
    return level + 1 if goes_on else level - 1


@inner
def _derive(f: Any, plan: Any) -> Any:
    """The head of a rule instance: a fact of the next round, unless it is known."""
    pred, first, key = _plan(f, plan, HEAD), _plan(f, plan, HEAD_ARGS), _key(f, get(f, HEAD_KEY))
    width, place = _relation(f, pred, WIDTH), _relation(f, pred, TABLE)
    for i in range(width):
        put(key, i, get(get(f, REGISTERS), _arg(f, first + i, REGISTER)))
    if _is_known(f, pred, key, width):
        return
    if _is_in(f, place + 2, _place(f, place), key, width) and not _is_tombstone(f, place, key, width):
        return
    i = get(f, COUNT)
    if i == get(f, MAX_FACTS):
        put(f, STATUS, FULL)
        return
    fact = get(f, FACTS) + 8 * i * get(f, FACT_WORDS)
    put(fact, 0, pred)
    for at in range(width):
        put(fact, 1 + at, get(key, at))
    _link(f, i)
    put(f, COUNT, i + 1)


@inner
def _solve(f: Any, plan: Any, i: Any) -> Any:
    """All heads of a plan for a fact."""
    first, leaf = _plan(f, plan, LINES), _plan(f, plan, LEAF)
    depth = _plan(f, plan, END) - first
    if not _bind_fact(f, leaf, leaf + _relation(f, _fact(f, i, 0), WIDTH), i):
        return
    level, new = np.int64(0), True
    while level >= 0 and get(f, STATUS) == RUNNING:
        if _add(f, ROUND_MATCHES_LEFT, -1) < 0:
            put(f, STATUS, TOO_MUCH)
        elif level == depth:
            _derive(f, plan)
            level, new = level - 1, False
        else:
            if new:
                _enter(f, first + level, level)
            before, level = level, _advance(f, first + level, level)
            new = level > before


@inner
def _finish_round(f: Any) -> Any:
    """Writes the record of a finished round."""
    number, due, shown = get(f, ROUNDS), np.int64(0), np.int64(0)
    for i in range(get(f, START), get(f, VISIBLE)):
        pred = _fact(f, i, 0)
        if _relation(f, pred, ROUND) != number:
            put(get(f, RELATIONS), pred * RELATION + ROUND, number)
            due += _relation(f, pred, RULES)
    for i in range(get(f, VISIBLE), get(f, COUNT)):
        shown += _relation(f, _fact(f, i, 0), SHOWN)
    record = get(f, LOG) + 8 * RECORD * number
    put(record, AFTER, get(f, COUNT))
    put(record, NEW, shown)
    put(record, DUE, due)
    put(f, ROUNDS, number + 1)
    put(f, START, get(f, VISIBLE))


@inner
def _round(f: Any) -> Any:
    """The facts of the last round that have not been taken yet."""
    while get(f, NEXT) < get(f, VISIBLE):
        i = get(f, NEXT)
        pred = _fact(f, i, 0)
        for plan in range(_relation(f, pred, FIRST_PLAN), _relation(f, pred, LAST_PLAN)):
            _solve(f, plan, i)
            if get(f, STATUS) != RUNNING:
                return
        put(f, NEXT, i + 1)


@kernel
def rounds(frame: Any) -> None:
    """Round after round, from the facts of the last one; at most MATCHES_LEFT matches, and those of one more round."""
    f = np.int64(frame.ctypes.data)
    goes_on = get(f, STATUS) == DEFERRING
    put(f, STATUS, RUNNING)
    while get(f, STATUS) == RUNNING:
        if not goes_on:
            put(f, ROUND_MATCHES_LEFT, get(f, MAX_MATCHES))
            put(f, DEFERRED_LEFT, get(f, MAX_DEFERRED))
        goes_on = False
        _round(f)
        if get(f, STATUS) != RUNNING:
            return
        _add(f, MATCHES_LEFT, get(f, ROUND_MATCHES_LEFT) - get(f, MAX_MATCHES))
        _finish_round(f)
        new = get(f, COUNT) - get(f, VISIBLE)
        if new == 0:
            put(f, STATUS, DONE)
        elif new > get(f, MAX_NEW_FACTS):
            put(f, STATUS, LARGE)
        elif get(f, MATCHES_LEFT) < 0:
            put(f, STATUS, PAUSED)
        put(f, VISIBLE, get(f, COUNT))


@kernel
def link_all(frame: Any) -> None:
    """Puts the first facts into the indexes."""
    f = np.int64(frame.ctypes.data)
    for i in range(get(f, COUNT)):
        _link(f, i)
