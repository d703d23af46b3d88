"""A reader of stores that knows nothing of deltalog but docs/store.md: it proves that the page describes the format.

It uses the standard library alone. A value is (kind, word or text): a word for integers and doubles (their bits: NaN is
not equal to itself), a text otherwise.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

INTEGER, DOUBLE = 4, 6
LETTERS = {"|u1": "B", "<u4": "I", "<u8": "Q", "<i8": "q", "<f8": "d"}
MASK = 2**64 - 1

Value = tuple[int, int | str]
Fact = tuple[str, tuple[Value, ...]]


class Contents(NamedTuple):
    """A version of a store."""

    version: int
    facts: set[Fact]  # explicit ones, of relations that are not hidden
    rules: dict[str, str]  # by id
    prefixes: dict[str, str]


def read_store(folder: Path, version: int | None = None) -> Contents:
    """A version of a store, by default the newest."""
    database = sqlite3.connect(f"file:{folder}/catalog.db?mode=ro", uri=True)
    assert database.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() == ("1",)
    if version is None:
        (version,) = database.execute("SELECT max(version) FROM versions").fetchone()
    find = "SELECT version, folder, crc FROM snapshots WHERE version <= ? ORDER BY version DESC LIMIT 1"
    base, name, crc = database.execute(find, (version,)).fetchone()
    texts, ids, prefixes, facts = read_snapshot(folder / "snapshots" / name, crc)
    for number in range(base + 1, version + 1):
        find = "SELECT data, crc FROM changes WHERE version = ? ORDER BY part"
        parts = database.execute(find, (number,)).fetchall()
        assert parts and all(zlib.crc32(data) == crc for data, crc in parts)
        apply_change(b"".join(data for data, _ in parts), texts, ids, prefixes, facts)
    database.close()
    return Contents(version, facts, {f"r{i}": texts[i - 1] for i in ids}, prefixes)


def apply_change(data: bytes, texts: list[str], ids: list[int], prefixes: dict[str, str], facts: set[Fact]) -> None:
    """Applies an entry of the log."""
    magic, line, blocks = data.split(b"\n", 2)
    assert magic in (b"deltalog change 1", b"deltalog change 2")
    header = json.loads(line)
    added, removed = header["facts"]
    assert len(blocks) == added + removed
    facts -= set(read_block(blocks[added:]))
    facts |= set(read_block(blocks[:added]))
    for id in header["removed_rules"]:
        ids.remove(int(id[1:]))
    for text in header["added_rules"]:
        if text not in texts:
            texts.append(text)
        ids.append(texts.index(text) + 1)
    prefixes.update(header["prefixes"])


def read_block(block: bytes) -> Iterator[Fact]:
    """The facts of a block of the log."""
    if not block:
        return
    line, _, rest = block.partition(b"\n")
    header, arrays, place = json.loads(line), [], 0
    for dtype, length in header["arrays"]:
        arrays.append(struct.unpack_from(f"<{length}{LETTERS[dtype]}", rest, place))
        place += struct.calcsize(f"<{length}{LETTERS[dtype]}")
    assert place == len(rest)
    kinds, words, bounds, heap = arrays[:4]
    columns = iter(arrays[4:])
    values = [value_of(kind, words[i], bytes(heap[bounds[i] : bounds[i + 1]])) for i, kind in enumerate(kinds)]
    for name, hidden, arity, rows in header["relations"]:
        for row in zip(*(next(columns) for _ in range(arity)), strict=True) if arity else [()] * rows:
            if not hidden:
                yield name, tuple(values[i] for i in row)


def value_of(kind: int, word: int, text: bytes) -> Value:
    return kind, word if kind in (INTEGER, DOUBLE) else text.decode("utf-8", "surrogatepass")


def read_snapshot(folder: Path, crc: int) -> tuple[list[str], list[int], dict[str, str], set[Fact]]:
    """The rules there ever were, the numbers of the present ones, the prefixes and the explicit facts."""
    text = (folder / "manifest.json").read_bytes()
    assert zlib.crc32(text) == crc
    manifest = json.loads(text)
    assert manifest["format"] == (3 if "souffle" in manifest["settings"] else 2)
    arrays = {name: read_array(folder / "dictionary.bin", at) for name, at in manifest["dictionary"].items()}
    values = read_values(arrays, manifest["ids"])
    facts: set[Fact] = set()
    for relation in manifest["relations"]:
        rows = [row for i in relation["runs"] for row in read_run(folder, manifest["runs"][i])]
        assert len(rows) == len(set(rows)) == relation["rows"]
        if relation["kind"] == "explicit" and not relation["hidden"]:
            facts |= {(relation["name"], tuple(values[id] for id in row)) for row in rows}
    return manifest["rules"]["texts"], manifest["rules"]["present"], manifest["prefixes"], facts


def read_array(path: Path, listed: list[Any]) -> tuple[Any, ...]:
    """An array of a file, by what the manifest says of it."""
    offset, dtype, shape, crc, _ = listed
    count = 1
    for length in shape:
        count *= length
    letters = f"<{count}{LETTERS[dtype]}"
    with path.open("rb") as file:
        assert file.read(16) == b"deltalog arrays\n"
        assert offset % 4096 == 0
        file.seek(offset)
        data = file.read(struct.calcsize(letters))
    assert zlib.crc32(data) == crc
    return struct.unpack(letters, data)


def read_values(arrays: dict[str, tuple[Any, ...]], ids: int) -> list[Value]:
    """The values by their ids."""
    heap, offsets, found = bytes(arrays["heap"]), arrays["offsets"], list[Value]()
    assert len(arrays["kinds"]) == ids
    for id, kind in enumerate(arrays["kinds"]):
        word, text = arrays["integers"][id], heap[offsets[id] : offsets[id + 1]]
        if kind == DOUBLE:
            word = struct.unpack("<q", struct.pack("<d", arrays["doubles"][id]))[0]
        found.append(value_of(kind, word, text))
        if id:
            hash = hash_of(kind, struct.pack("<q", word) if kind in (INTEGER, DOUBLE) else text)
            assert hash == arrays["hashes"][id]
            assert id_of(hash, id, arrays["table"])
    return found


def hash_of(kind: int, text: bytes) -> int:
    """The hash of a value."""
    h = 0x9E3779B97F4A7C15 * kind & MASK
    for first in range(0, len(text), 8):
        h = (h ^ int.from_bytes(text[first : first + 8], "little")) * 0xBF58476D1CE4E5B9 & MASK
        h ^= h >> 32
    h = (h ^ len(text)) * 0x94D049BB133111EB & MASK
    return h ^ h >> 31


def id_of(hash: int, id: int, table: tuple[int, ...]) -> bool:
    """Whether the hash table leads from a hash to an id."""
    slot = hash % len(table)
    while table[slot] % 2**32 != id:
        assert table[slot] != 0
        slot = (slot + 1) % len(table)
    return table[slot] >> 32 == hash >> 32


def read_run(folder: Path, run: dict[str, Any]) -> list[tuple[int, ...]]:
    """The rows of a run, as ids; every index has the same rows."""
    arity, rows = run["arity"], run["rows"]
    found = unpacked(read_array(folder / "relations.bin", run["keys"]), arity, rows)
    assert found == sorted(found)
    for order, listed in run["orders"]:
        other = unpacked(read_array(folder / "relations.bin", listed), arity, rows)
        assert other == sorted(tuple(row[i] for i in order) for row in found)
    return found


def unpacked(words: tuple[int, ...], arity: int, rows: int) -> list[tuple[int, ...]]:
    width = max(1, (arity + 1) // 2)
    assert len(words) == rows * width
    lines = [words[first : first + width] for first in range(0, len(words), width)]
    return [tuple(half for word in line for half in (word >> 32, word % 2**32))[:arity] for line in lines]
