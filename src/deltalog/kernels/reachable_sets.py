"""Sets of numbers for the vertices of a graph: what each one reaches.

Vertices (in use: strongly connected components) are numbers in post-order, so what is reached from one is often a few
intervals. Set c is `length[c]` words of `data` from `start[c]` on, in one of two forms, whichever is shorter, as the
containers of roaring bitmaps are:

    intervals   words low << 32 | high, ascending, both ends included
    bits        a first word with the number of its first word of bits, then the bits; the length is negative then

Sets never change: a new one is written behind the others, so who has the old `start` and `length` still reads the old
sets in the same `data`.
"""

from __future__ import annotations

import numpy as np

from deltalog.kernels.compiling import inner, kernel
from deltalog.kernels.memory import ones, trailing_zeros

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ONE = np.uint64(1)
ZERO = np.uint64(0)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner
def popcount(word):
    return ones(word)


@inner
def lowest(word):
    """The number of the lowest bit."""
    return trailing_zeros(word)


@inner
def fill(bits, low, high):
    """Sets the bits low to high."""
    first, last = low >> 6, high >> 6
    head = FULL << np.uint64(low & 63)
    tail = FULL >> np.uint64(63 - (high & 63))
    if first == last:
        bits[first] |= head & tail
        return
    bits[first] |= head
    for w in range(first + 1, last):
        bits[w] = FULL
    bits[last] |= tail


@inner
def include(bits, begin, length, data):
    """Adds a set to bits; gives the first and last word that it touches."""
    if length < 0:
        first = np.int64(data[begin])
        source, target = data[begin + 1 : begin - length], bits[first : first - length - 1]
        for w in range(len(source)):  # without signs to look at, several words are one instruction
            target[w] |= source[w]
        return first, first - length - 2
    for i in range(begin, begin + length):
        fill(bits, np.int64(data[i] >> HALF), np.int64(data[i] & LOW))
    return np.int64(data[begin] >> HALF) >> 6, np.int64(data[begin + length - 1] & LOW) >> 6


@inner
def runs_of(bits, first, last):
    """How many intervals the bits are."""
    runs, carry, part = 0, ZERO, bits[first : last + 1]
    for w in range(len(part)):
        runs += popcount(part[w] & ~((part[w] << ONE) | carry))
        carry = part[w] >> np.uint64(63)
    return runs


@inner
def write_intervals(bits, first, last, data, used):
    """Writes the bits as intervals."""
    low, high = np.int64(-1), np.int64(-2)
    for w in range(first, last + 1):
        word = bits[w]
        if word == FULL and high == 64 * w - 1:
            high += 64
            continue
        while word:
            at = lowest(word)
            rest = ~(word >> np.uint64(at))
            ones = 64 - at if rest == ZERO else min(64 - at, lowest(rest))
            begin = 64 * w + at
            if begin == high + 1 and low >= 0:
                high += ones
            else:
                if low >= 0:
                    data[used] = (np.uint64(low) << HALF) | np.uint64(high)
                    used += 1
                low, high = begin, begin + ones - 1
            if at + ones == 64:
                break
            word &= FULL << np.uint64(at + ones)
    data[used] = (np.uint64(low) << HALF) | np.uint64(high)
    return used + 1


@inner
def write(bits, first, last, data, used):
    """Writes the bits as a set and clears them; the data (larger, if need be), how much is used, and the length."""
    while first <= last and bits[first] == ZERO:
        first += 1
    while last >= first and bits[last] == ZERO:
        last -= 1
    if last < first:
        return data, used, 0
    words = last - first + 1
    runs = runs_of(bits, first, last)
    needed = min(runs, words + 1)
    if used + needed > len(data):
        larger = np.empty(max(2 * len(data), used + needed), np.uint64)
        larger[:used] = data[:used]
        data = larger
    begin = used
    if runs <= words + 1:
        used = write_intervals(bits, first, last, data, used)
        length = used - begin
    else:
        data[used] = np.uint64(first)
        data[used + 1 : used + 1 + words] = bits[first : last + 1]
        used += words + 1
        length = -(words + 1)
    bits[first : last + 1] = ZERO
    return data, used, length


@inner
def has(c, d, start, length, data):
    """Whether set c has d."""
    n, begin = length[c], start[c]
    if n < 0:
        w = (d >> 6) - np.int64(data[begin])
        return 0 <= w < -n - 1 and (data[begin + 1 + w] >> np.uint64(d & 63)) & ONE == ONE
    low, high = begin, begin + n
    while low < high:
        middle = (low + high) >> 1
        if np.int64(data[middle] & LOW) < d:
            low = middle + 1
        else:
            high = middle
    return low < begin + n and np.int64(data[low] >> HALF) <= d


@kernel
def close(order, must, offsets, successors, start, length, data, used, bits, fresh):
    """Writes the set of each vertex of `order`: its successors and their sets, which are there or come earlier.

    The successors of the i-th are successors[offsets[i]:offsets[i + 1]]; who reaches most should come first, as what it
    reaches needs no second look. A vertex among its own successors is in its own set. Those that are not a `must` are
    written only if a set of a successor is. `fresh` marks the sets that are other than before. Gives the data, and how
    much of it is used.
    """
    for i in range(len(order)):
        c = order[i]
        due = must[i]
        for j in range(offsets[i], offsets[i + 1]):
            due = due or fresh[successors[j]]
        if not due:
            continue
        first, last = len(bits), -1
        for j in range(offsets[i], offsets[i + 1]):
            s = successors[j]
            if (bits[s >> 6] >> np.uint64(s & 63)) & ONE:
                continue  # and so is all that it reaches
            bits[s >> 6] |= ONE << np.uint64(s & 63)
            first, last = min(first, s >> 6), max(last, s >> 6)
            if s != c and length[s] != 0:
                low, high = include(bits, start[s], length[s], data)
                first, last = min(first, low), max(last, high)
        begin = used
        data, used, n = write(bits, first, last, data, used)
        if n == length[c] and same(data, start[c], begin, abs(n)):
            used = begin
        else:
            start[c], length[c], fresh[c] = begin, n, True
    return data, used


@inner
def same(data, a, b, n):
    for i in range(n):
        if data[a + i] != data[b + i]:
            return False
    return True


@kernel
def cardinalities(cs, start, length, data, offsets):
    """How many members the sets cs have, where number d stands for offsets[d + 1] - offsets[d] members."""
    out = np.empty(len(cs), np.int64)
    single = singles(offsets) if len(cs) >= len(offsets) >> 6 else np.zeros(0, np.bool_)
    for i in range(len(cs)):
        n, begin, total = length[cs[i]], start[cs[i]], 0
        if n >= 0:
            for j in range(begin, begin + n):
                total += offsets[np.int64(data[j] & LOW) + 1] - offsets[np.int64(data[j] >> HALF)]
        else:
            first = np.int64(data[begin])
            for w in range(-n - 1):
                word, base = data[begin + 1 + w], 64 * (first + w)
                if first + w < len(single) and single[first + w]:
                    total += popcount(word)
                    continue
                while word:
                    d = base + lowest(word)
                    total += offsets[d + 1] - offsets[d]
                    word &= word - ONE
        out[i] = total
    return out


@inner
def singles(offsets):
    """For each word of bits, whether all 64 numbers have one member."""
    out = np.ones((len(offsets) - 1) >> 6, np.bool_)
    for d in range(len(out) << 6):
        if offsets[d + 1] - offsets[d] != 1:
            out[d >> 6] = False
    return out


@kernel
def expand(cs, place, start, length, data, offsets, members, out):
    """Writes the members of the sets cs, those of the i-th from place[i] on."""
    for i in range(len(cs)):
        n, begin, at = length[cs[i]], start[cs[i]], place[i]
        if n >= 0:
            for j in range(begin, begin + n):
                low, high = offsets[np.int64(data[j] >> HALF)], offsets[np.int64(data[j] & LOW) + 1]
                for k in range(low, high):
                    out[at] = members[k]
                    at += 1
        else:
            for w in range(-n - 1):
                word, base = data[begin + 1 + w], 64 * (np.int64(data[begin]) + w)
                while word:
                    d = base + lowest(word)
                    for k in range(offsets[d], offsets[d + 1]):
                        out[at] = members[k]
                        at += 1
                    word &= word - ONE


@kernel
def mark_related(sources, targets, component, start, length, data, found):
    """Marks the pairs of which the set of the first one's component has the second one's."""
    n = len(component)
    for i in range(len(sources)):
        if sources[i] < n and targets[i] < n:
            c, d = component[sources[i]], component[targets[i]]
            found[i] = c >= 0 and d >= 0 and has(c, d, start, length, data)


@kernel
def meeting(wanted, start, length, data, count):
    """The numbers below `count` whose sets have one of those wanted."""
    bits, below = np.zeros((count >> 6) + 1, np.uint64), np.zeros(count + 1, np.int64)
    for d in wanted:
        bits[d >> 6] |= ONE << np.uint64(d & 63)
        below[d + 1] = 1
    below = np.cumsum(below)
    out, found = np.empty(count, np.int64), 0
    for c in range(count):
        if length[c] != 0 and _meets(c, wanted, bits, below, start, length, data):
            out[found] = c
            found += 1
    return out[:found]


@inner
def _meets(c, wanted, bits, below, start, length, data):
    """Whether set c has one of those wanted, which are also given as bits and by how many are below each number: each
    of them is looked for in the set, or the set looked through, whichever is shorter."""
    n, begin = length[c], start[c]
    if abs(n) > 4 * len(wanted):
        for d in wanted:
            if has(c, d, start, length, data):
                return True
    elif n < 0:
        base = np.int64(data[begin])
        for w in range(-n - 1):
            if data[begin + 1 + w] & bits[base + w]:
                return True
    else:
        for i in range(begin, begin + n):
            if below[np.int64(data[i] & LOW) + 1] > below[np.int64(data[i] >> HALF)]:
                return True
    return False


@kernel
def gather(cs, start, length, data, bits):
    """Adds some numbers and their sets to bits."""
    for c in cs:
        bits[c >> 6] |= ONE << np.uint64(c & 63)
        if length[c] != 0:
            include(bits, start[c], length[c], data)


@kernel
def numbers(bits):
    """The numbers of the bits that are set."""
    total = 0
    for word in bits:
        total += popcount(word)
    out, n = np.empty(total, np.int64), 0
    for w in range(len(bits)):
        word = bits[w]
        while word:
            out[n] = 64 * w + lowest(word)
            n += 1
            word &= word - ONE
    return out


@kernel
def compacted(start, length, data):
    """The sets in data without gaps; their new starts, and the data."""
    total = 0
    for n in length:
        total += abs(n)
    out, begin, used = np.empty(total, np.uint64), np.zeros(len(start), np.int64), 0
    for c in range(len(start)):
        n = abs(length[c])
        out[used : used + n] = data[start[c] : start[c] + n]
        begin[c] = used
        used += n
    return begin, out


@inner
def _exclude(bits, begin, length, data, first, last):
    """Takes a set out of bits, of which only the words first to last matter."""
    if length < 0:
        base = np.int64(data[begin])
        for w in range(max(first, base), min(last, base - length - 2) + 1):
            bits[w] &= ~data[begin + 1 + w - base]
        return
    for i in range(begin, begin + length):
        low, high = np.int64(data[i] >> HALF), np.int64(data[i] & LOW)
        low, high = max(low, 64 * first), min(high, 64 * last + 63)
        if low > high:
            continue
        for w in range(low >> 6, (high >> 6) + 1):
            mask = FULL
            if w == low >> 6:
                mask &= FULL << np.uint64(low & 63)
            if w == high >> 6:
                mask &= FULL >> np.uint64(63 - (high & 63))
            bits[w] &= ~mask


@kernel
def gained(before, after, old_start, old_length, old_data, start, length, data, offsets, bits):
    """For pairs of numbers: what the set of the second has that the set of the first, among the old ones, has not
    (number -1: the empty set). Where what is found for each pair begins, the numbers, and how many members they have.
    """
    begins = np.zeros(len(before) + 1, np.int64)
    weights = np.zeros(len(before), np.int64)
    out, n = np.empty(1024, np.int64), 0
    for i in range(len(before)):
        c, b = after[i], before[i]
        if c >= 0 and length[c] != 0:
            first, last = include(bits, start[c], length[c], data)
            if b >= 0 and old_length[b] != 0:
                _exclude(bits, old_start[b], old_length[b], old_data, first, last)
            for w in range(first, last + 1):
                word = bits[w]
                bits[w] = ZERO
                while word:
                    if n == len(out):
                        larger = np.empty(2 * n, np.int64)
                        larger[:n] = out
                        out = larger
                    out[n] = 64 * w + lowest(word)
                    weights[i] += offsets[out[n] + 1] - offsets[out[n]]
                    n += 1
                    word &= word - ONE
        begins[i + 1] = n
    return begins, out[:n], weights


@kernel
def pairs(sources, group, begins, found, offsets, members, total):
    """Keys of each source with the members of what was found for its group."""
    out, n = np.empty(total, np.uint64), 0
    for i in range(len(sources)):
        g = group[i]
        for j in range(begins[g], begins[g + 1]):
            for k in range(offsets[found[j]], offsets[found[j] + 1]):
                out[n] = (np.uint64(sources[i]) << HALF) | np.uint64(members[k])
                n += 1
    return out


@kernel
def sorted_pairs(sources, cs, start, length, data, offsets, members, bits, out):
    """Writes the pairs of each source with the members of its set, in order: members are marked as bits of ids, and
    read off. Gives how many pairs there are."""
    n = 0
    for i in range(len(cs)):
        size, begin = length[cs[i]], start[cs[i]]
        first, last = len(bits), -1
        for j in range(abs(size) if size >= 0 else -size - 1):
            word, base = ZERO, np.int64(0)
            low, high = np.int64(0), np.int64(-1)
            if size >= 0:
                low, high = np.int64(data[begin + j] >> HALF), np.int64(data[begin + j] & LOW)
            else:
                word, base = data[begin + 1 + j], 64 * (np.int64(data[begin]) + j)
            while True:
                if size < 0:
                    if word == ZERO:
                        break
                    low = base + lowest(word)
                    high = low
                    word &= word - ONE
                for k in range(offsets[low], offsets[high + 1]):
                    w = np.int64(members[k]) >> 6
                    bits[w] |= ONE << np.uint64(members[k] & np.uint32(63))
                    first, last = min(first, w), max(last, w)
                if size >= 0:
                    break
        lead = np.uint64(sources[i]) << HALF
        for w in range(first, last + 1):
            word = bits[w]
            bits[w] = ZERO
            while word:
                out[n] = lead | np.uint64(64 * w + lowest(word))
                n += 1
                word &= word - ONE
    return n
