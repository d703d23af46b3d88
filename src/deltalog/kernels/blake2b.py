"""BLAKE2b (RFC 7693) of many messages at once, for the names that SKOLEM makes.

A message is a row of pieces, one for each argument of SKOLEM, and its name is "sk" and the 32 hexadecimal digits of the
digest of all of them: what `expressions.skolem_of` says of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltalog.kernels.compiling import inlined, inner, kernel

SIZE = 16  # bytes of a digest
NAME = 2 + 2 * SIZE  # characters of a name
BLOCK = 128  # bytes
ROUNDS = 12
WORDS = np.array(
    [
        0x6A09E667F3BCC908,
        0xBB67AE8584CAA73B,
        0x3C6EF372FE94F82B,
        0xA54FF53A5F1D36F1,
        0x510E527FADE682D1,
        0x9B05688C2B3E6C1F,
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
    ],
    np.uint64,
)
SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.int64,
)
PARAMETERS = np.uint64(0x01010000 ^ SIZE)  # no key, and the size of the digest
ALL, NONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


@inlined
def _turned(x: Any, n: Any) -> Any:
    return (x >> np.uint64(n)) | (x << np.uint64(64 - n))


@inner
def _mixed(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> Any:
    a = a + b + x
    d = _turned(d ^ a, 32)
    c = c + d
    b = _turned(b ^ c, 24)
    a = a + b + y
    d = _turned(d ^ a, 16)
    c = c + d
    return a, _turned(b ^ c, 63), c, d


@inner
def _compress(h: Any, m: Any, length: Any, last: Any) -> None:
    """The state h after a block of words m, of which the last byte is byte `length` of the message."""
    a0, a1, a2, a3, b0, b1, b2, b3 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    c0, c1, c2, c3 = WORDS[0], WORDS[1], WORDS[2], WORDS[3]
    d0, d1, d2, d3 = WORDS[4] ^ np.uint64(length), WORDS[5], WORDS[6] ^ (ALL if last else NONE), WORDS[7]
    for turn in range(ROUNDS):
        s = SIGMA[turn % 10]
        a0, b0, c0, d0 = _mixed(a0, b0, c0, d0, m[s[0]], m[s[1]])
        a1, b1, c1, d1 = _mixed(a1, b1, c1, d1, m[s[2]], m[s[3]])
        a2, b2, c2, d2 = _mixed(a2, b2, c2, d2, m[s[4]], m[s[5]])
        a3, b3, c3, d3 = _mixed(a3, b3, c3, d3, m[s[6]], m[s[7]])
        a0, b1, c2, d3 = _mixed(a0, b1, c2, d3, m[s[8]], m[s[9]])
        a1, b2, c3, d0 = _mixed(a1, b2, c3, d0, m[s[10]], m[s[11]])
        a2, b3, c0, d1 = _mixed(a2, b3, c0, d1, m[s[12]], m[s[13]])
        a3, b0, c1, d2 = _mixed(a3, b0, c1, d2, m[s[14]], m[s[15]])
    h[0], h[1], h[2], h[3] = h[0] ^ a0 ^ c0, h[1] ^ a1 ^ c1, h[2] ^ a2 ^ c2, h[3] ^ a3 ^ c3
    h[4], h[5], h[6], h[7] = h[4] ^ b0 ^ d0, h[5] ^ b1 ^ d1, h[6] ^ b2 ^ d2, h[7] ^ b3 ^ d3


@inner
def _write_name(h: Any, out: Any) -> None:
    out[0], out[1] = 115, 107  # sk
    for i in range(SIZE):
        byte = np.int64((h[i >> 3] >> np.uint64(8 * (i & 7))) & np.uint64(255))
        out[2 + 2 * i], out[3 + 2 * i] = DIGITS[byte >> 4], DIGITS[byte & 15]


@kernel
def skolem_names(data: Any, bounds: Any, rows: Any, out: Any) -> None:
    """out[i] = the name of the message of the pieces rows[i]; piece p is data[bounds[p]:bounds[p + 1]]."""
    block = np.zeros(BLOCK, np.uint8)
    m = block.view(np.uint64)
    h = np.empty(8, np.uint64)
    for i in range(len(rows)):
        h[:] = WORDS
        h[0] ^= PARAMETERS
        used = length = 0
        for p in rows[i]:
            for at in range(bounds[p], bounds[p + 1]):
                if used == BLOCK:
                    length += BLOCK
                    _compress(h, m, length, False)
                    used = 0
                block[used] = data[at]
                used += 1
        block[used:] = 0
        _compress(h, m, length + used, True)
        _write_name(h, out[i])
