"""Memory by its address, and bits of words, as Python reads them. Compiled, each is one instruction of LLVM
(`kernels.instructions`).

An address is valid for as long as somebody holds the array that is there (`kernels.addresses`). `BYTES` and `WORDS` are
all of the memory of the process: reading them at an address that is not valid ends it, as in compiled code.
"""

from __future__ import annotations

import ctypes
import struct

from deltalog.kernels.compiling import instruction

BYTES = memoryview((ctypes.c_char * (2**63 - 8)).from_address(0)).cast("B")
WORDS = BYTES.cast("q")
_WORD, _DOUBLE = struct.Struct("=q"), struct.Struct("=d")


@instruction
def load8(address: int) -> int:
    """The byte at an address."""
    return BYTES[address]


@instruction
def load64(address: int) -> int:
    """The eight bytes at an address, the first in the lowest bits."""
    return int.from_bytes(BYTES[address : address + 8], "little")


@instruction
def store8(address: int, byte: int) -> None:
    """Put a byte at an address."""
    BYTES[address] = byte & 255


@instruction
def get(address: int, index: int) -> int:
    """The word of an index of the array of words at an address."""
    return WORDS[(address >> 3) + index]


@instruction
def put(address: int, index: int, word: int) -> None:
    """Change the word of an index of the array of words at an address."""
    WORDS[(address >> 3) + index] = word


@instruction
def trailing_zeros(word: int) -> int:
    """How many of the lowest bits are 0; 64 for 0."""
    return (word & -word).bit_length() - 1 if word else 64


@instruction
def ones(word: int) -> int:
    """How many bits of a word are set."""
    return word.bit_count()


@instruction
def real_of(bits: int) -> float:
    """The double that has these bits."""
    return _DOUBLE.unpack(_WORD.pack(bits))[0]  # type: ignore[no-any-return]


@instruction
def bits_of(real: float) -> int:
    """The bits of a double."""
    return _WORD.unpack(_DOUBLE.pack(real))[0]  # type: ignore[no-any-return]
