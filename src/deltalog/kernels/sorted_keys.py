"""Sorted sets of rows.

A row of one or two ids is one `uint64` key, the first id in the high half (a single id has a zero low half). A row of
more ids is several such words, compared from left to right: a two-dimensional array, one row a line. Kernels for keys
are the fast path; the ones for words take any width.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import inner, kernel

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
SIDE = 32  # searches side by side
FAR = 64  # with this many keys per probe, searches miss the cache
NEAR = 8  # sets are of like size when neither is this many times larger


@kernel
def pack(high, low):
    """Keys of two columns."""
    out = np.empty(len(high), np.uint64)
    for i in range(len(high)):
        out[i] = (np.uint64(high[i]) << HALF) | np.uint64(low[i])
    return out


@kernel
def pack_into(words, word, high, low):
    """The same, as one word of every line."""
    for i in range(len(high)):
        words[i, word] = (np.uint64(high[i]) << HALF) | np.uint64(low[i])


@kernel
def swap(keys):
    """Keys with their halves exchanged."""
    out = np.empty(len(keys), np.uint64)
    for i in range(len(keys)):
        out[i] = (keys[i] << HALF) | (keys[i] >> HALF)
    return out


@kernel
def unpack(keys, high, low):
    """Both columns of keys."""
    for i in range(len(keys)):
        high[i] = np.uint32(keys[i] >> HALF)
        low[i] = np.uint32(keys[i] & LOW)


@kernel
def is_sorted(keys):
    for i in range(1, len(keys)):
        if keys[i - 1] > keys[i]:
            return False
    return True


@kernel
def unique(keys):
    """Sorted keys without repetitions, in place: how many there are."""
    if len(keys) == 0:
        return 0
    n = 1
    for i in range(1, len(keys)):
        if keys[i] != keys[n - 1]:
            keys[n] = keys[i]
            n += 1
    return n


@kernel
def union(a, b):
    """The merge of two sorted sets that may share keys."""
    out = np.empty(len(a) + len(b), np.uint64)
    i = j = n = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        out[n] = x if x <= y else y
        n += 1
        i += x <= y
        j += y <= x
    while i < len(a):
        out[n] = a[i]
        n += 1
        i += 1
    while j < len(b):
        out[n] = b[j]
        n += 1
        j += 1
    return out[:n]


@inner
def gallop(keys, key, start):
    """The first position from `start` on whose key is not less than `key`: fast when it is near."""
    n = len(keys)
    step = 1
    low = start
    high = start
    while high < n and keys[high] < key:
        low = high + 1
        high += step
        step *= 2
    high = min(high, n)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def mark_by_search(probe, keys, found):
    """The same for few probes: many searches are interleaved, so that their cache misses overlap."""
    at = np.empty(SIDE, np.int64)
    for first in range(0, len(probe), SIDE):
        count = min(SIDE, len(probe) - first)
        at[:] = 0
        length = len(keys)
        while length > 1:
            half = length >> 1
            for i in range(count):
                at[i] += half if keys[at[i] + half - 1] < probe[first + i] else 0
            length -= half
        for i in range(count):
            if keys[at[i]] == probe[first + i]:
                found[first + i] = True


@kernel
def mark_members(probe, keys, found):
    """found[i] becomes True where probe[i] is a key; a sorted probe walks, any other jumps."""
    if len(keys) == 0:
        return
    if FAR * len(probe) < len(keys):
        mark_by_search(probe, keys, found)
        return
    at = 0
    for i in range(len(probe)):
        if i > 0 and probe[i] < probe[i - 1]:
            at = 0
        at = gallop(keys, probe[i], at)
        if at < len(keys) and keys[at] == probe[i]:
            found[i] = True


@kernel
def mark_leads(probe, keys, found):
    """found[i] becomes True where probe[i] is the high half of a key."""
    at = 0
    for i in range(len(probe)):
        if i > 0 and probe[i] < probe[i - 1]:
            at = 0
        at = gallop(keys, np.uint64(probe[i]) << HALF, at)
        if at < len(keys) and keys[at] >> HALF == np.uint64(probe[i]):
            found[i] = True


@kernel
def difference(keys, removed):
    """The sorted keys that are not in the sorted set `removed`."""
    out = np.empty(len(keys) + 1, np.uint64)
    n = at = 0
    if len(removed) < NEAR * len(keys) and len(keys) < NEAR * len(removed):  # of similar size: one branch-free merge
        i = 0
        while i < len(keys) and at < len(removed):
            x, y = keys[i], removed[at]
            out[n] = x
            n += x < y
            i += x <= y
            at += y <= x
        out[n : n + len(keys) - i] = keys[i:]
        return out[: n + len(keys) - i]
    for i in range(len(keys)):
        at = gallop(removed, keys[i], at)
        if at == len(removed) or removed[at] != keys[i]:
            out[n] = keys[i]
            n += 1
    return out[:n]


@kernel
def lead_offsets(keys, ids):
    """offsets[a] to offsets[a + 1] are the keys whose high half is a, for every id a below `ids`."""
    offsets = np.zeros(ids + 1, np.uint32)
    for i in range(len(keys)):
        offsets[np.int64(keys[i] >> HALF) + 1] += np.uint32(1)
    total = np.uint32(0)
    for a in range(ids + 1):
        total += offsets[a]
        offsets[a] = total
    return offsets


@kernel
def count_leads(keys):
    """How many distinct high halves sorted keys have."""
    n = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] >> HALF != keys[i - 1] >> HALF:
            n += 1
    return n


@kernel
def distinct_ids(column, ids):
    """The distinct ids of a column as sorted keys, by a bitmap."""
    bits = np.zeros((ids >> 6) + 1, np.uint64)
    for i in range(len(column)):
        bits[column[i] >> 6] |= np.uint64(1) << np.uint64(column[i] & 63)
    n = 0
    for w in range(len(bits)):
        word = bits[w]
        while word:
            word &= word - np.uint64(1)
            n += 1
    out = np.empty(n, np.uint64)
    n = 0
    for w in range(len(bits)):
        if bits[w]:
            for b in range(64):
                if (bits[w] >> np.uint64(b)) & np.uint64(1):
                    out[n] = np.uint64(w * 64 + b) << HALF
                    n += 1
    return out


# Rows of several words.


@inner
def compare_words(a, i, b, j):
    """-1, 0 or 1 for line i of a against line j of b."""
    for w in range(a.shape[1]):
        if a[i, w] < b[j, w]:
            return -1
        if a[i, w] > b[j, w]:
            return 1
    return 0


@kernel
def is_sorted_words(rows):
    for i in range(1, len(rows)):
        if compare_words(rows, i - 1, rows, i) > 0:
            return False
    return True


@kernel
def unique_words(rows):
    """Sorted rows without repetitions, in place: how many there are."""
    if len(rows) == 0:
        return 0
    n = 1
    for i in range(1, len(rows)):
        if compare_words(rows, i, rows, n - 1) != 0:
            rows[n] = rows[i]
            n += 1
    return n


@inner
def near_words(rows, probe, i, after, start):
    """The first line of `rows` not less than line i of `probe` (after: greater than), from a position on in either
    direction: fast when it is near."""
    step, low, high = 1, start, start
    while high < len(rows):
        order = compare_words(rows, high, probe, i)
        if order > 0 or (order == 0 and not after):
            break
        low = high + 1
        high += step
        step *= 2
    high, step = min(high, len(rows)), 1
    while low == start and low > 0:  # it is not above the start
        low = max(0, high - step)
        order = compare_words(rows, low, probe, i)
        if order < 0 or (order == 0 and after):
            low += 1
            break
        high, start = low, low
        step *= 2
    while low < high:
        middle = (low + high) >> 1
        order = compare_words(rows, middle, probe, i)
        if order < 0 or (after and order == 0):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def ranges_words(rows, first, last, low, high):
    """low[i] to high[i] are the lines from first[i] to last[i], both included."""
    at = 0
    for i in range(len(first)):
        low[i] = at = near_words(rows, first, i, False, at)
        high[i] = near_words(rows, last, i, True, at)


@inner
def first_not_below(rows, key, low, high):
    """The first line from low to high whose first word is not less than a key."""
    while low < high:
        middle = (low + high) >> 1
        if rows[middle, 0] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def ranges_pairs(rows, offsets, a, b, low, high):
    """low[i] to high[i] are the lines that begin with the ids a[i] and b[i]. The offsets are those of their first ids
    (`lead_offsets`)."""
    for i in range(len(a)):
        if i > 0 and a[i] == a[i - 1] and b[i] == b[i - 1]:
            low[i], high[i] = low[i - 1], high[i - 1]
            continue
        lead = np.int64(a[i])
        if lead + 1 >= len(offsets):
            low[i] = high[i] = 0
            continue
        end = np.int64(offsets[lead + 1])
        key = (np.uint64(a[i]) << HALF) | np.uint64(b[i])
        low[i] = at = first_not_below(rows, key, np.int64(offsets[lead]), end)
        step = 1  # ranges are short beside what is left
        while at + step < end and rows[at + step, 0] == key:
            step *= 2
        high[i] = at if at == end else first_not_below(rows, key + np.uint64(1), at, min(at + step, end))


@kernel
def widest_halves(rows):
    """The bitwise or of each column of ids: as many bits as its largest id."""
    widest = np.zeros(2 * rows.shape[1], np.uint64)
    for i in range(len(rows)):
        for w in range(rows.shape[1]):
            widest[2 * w] |= rows[i, w] >> HALF
            widest[2 * w + 1] |= rows[i, w] & LOW
    return widest


@kernel
def narrowed(rows, bits):
    """Each line as one number, in the same order: `bits` for each id, no more than 64 in all."""
    out = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        value = np.uint64(0)
        for w in range(rows.shape[1]):
            value = (value << bits[2 * w]) | (rows[i, w] >> HALF)
            value = (value << bits[2 * w + 1]) | (rows[i, w] & LOW)
        out[i] = value
    return out


@kernel
def spread(numbers, bits):
    """The lines of `narrowed`."""
    words = len(bits) // 2
    one = np.uint64(1)
    out = np.empty((len(numbers), words), np.uint64)
    for i in range(len(numbers)):
        value = numbers[i]
        for w in range(words - 1, -1, -1):
            low = value & ((one << bits[2 * w + 1]) - one)
            value >>= bits[2 * w + 1]
            high = value & ((one << bits[2 * w]) - one)
            value >>= bits[2 * w]
            out[i, w] = (high << HALF) | low
    return out


@kernel
def union_words(a, b):
    """The merge of two sorted sets of rows that may share rows."""
    out = np.empty((len(a) + len(b), a.shape[1]), np.uint64)
    i = j = n = 0
    while i < len(a) or j < len(b):
        order = 1 if i == len(a) else (-1 if j == len(b) else compare_words(a, i, b, j))
        out[n] = a[i] if order <= 0 else b[j]
        n += 1
        i += order <= 0
        j += order >= 0
    return out[:n]


@kernel
def mark_members_words(probe, rows, found):
    """found[i] becomes True where line i of probe is a row."""
    at = 0
    for i in range(len(probe)):
        at = near_words(rows, probe, i, False, at)
        if at < len(rows) and compare_words(rows, at, probe, i) == 0:
            found[i] = True
