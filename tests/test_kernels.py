"""Kernels against what they say, one value at a time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from bisect import bisect_left, bisect_right
from pathlib import Path
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from deltalog import KnowledgeBase
from deltalog.core.terms import BlankNode
from deltalog.engines.local.sorted_runs import pack, sort_distinct, unpack
from deltalog.functions.skolem import skolem_of
from deltalog.kernels.blake2b import NAME, skolem_names
from deltalog.kernels.run_search import STRIDE, search
from deltalog.kernels.sorted_keys import lead_offsets, mark_members, mark_members_words, ranges_pairs, ranges_words

DISPATCHER = search.dispatcher
COMPILED_SEARCH = njit(lambda places, run, key: DISPATCHER(places, run, key))
lines = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40)


def words(rows: list[tuple[int, int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    return np.array(rows, np.uint64).reshape(len(rows), 2)


@given(lines, lines, st.integers(0, 3))
def test_ranges_of_words(rows: list[tuple[int, int]], probe: list[tuple[int, int]], more: int) -> None:
    """Sorted rows, by probes in any order."""
    rows = sorted(set(rows))
    low, high = np.empty(len(probe), np.int64), np.empty(len(probe), np.int64)
    last = [(a, b + more) for a, b in probe]
    ranges_words(words(rows), words(probe), words(last), low, high)
    assert low.tolist() == [bisect_left(rows, row) for row in probe]
    assert high.tolist() == [bisect_right(rows, row) for row in last]
    found = np.zeros(len(probe), np.bool_)
    mark_members_words(words(probe), words(rows), found)
    assert found.tolist() == [row in rows for row in probe]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=60), lines)
def test_ranges_of_pairs(rows: list[tuple[int, int, int]], probe: list[tuple[int, int]]) -> None:
    """The lines that begin with two ids, for pairs in any order, also of ids above all offsets."""
    rows = sorted(set(rows))
    stored = pack([np.array([row[i] for row in rows], np.uint32) for i in range(3)], len(rows))
    offsets = lead_offsets(np.ascontiguousarray(stored[:, 0]), 5)
    a, b = (np.array([pair[i] for pair in probe], np.uint32) for i in range(2))
    low, high = np.empty(len(probe), np.int64), np.empty(len(probe), np.int64)
    ranges_pairs(stored, offsets, a, b, low, high)
    found = [rows[start:end] for start, end in zip(low, high, strict=True)]
    assert found == [[row for row in rows if row[:2] == pair] for pair in probe]


@given(st.integers(3, 6), st.sampled_from([1, 5, 2**16, 2**21, 2**32 - 1]), st.integers(0, 40), st.randoms())
def test_sorted_words(arity: int, most: int, size: int, random: Random) -> None:
    """Lines are sorted in the same way, whether they fit into 64 bits or not."""
    rows = [tuple(random.choice((0, random.randint(0, most), most)) for _ in range(arity)) for _ in range(size)]
    columns = [np.array([row[i] for row in rows], np.uint32) for i in range(arity)]
    lines = sort_distinct(pack(columns, size))
    assert list(zip(*(column.tolist() for column in unpack(lines, arity)), strict=True)) == sorted(set(rows))


@given(st.sets(st.integers(0, 2000), max_size=400), st.lists(st.integers(0, 2001), max_size=12))
def test_sorted_keys(keys: set[int], probe: list[int]) -> None:
    """Searches with and without a fence, one by one and side by side."""
    stored, asked = np.array(sorted(keys), np.uint64), np.array(probe, np.uint64)
    fence, found = stored[:: 1 << STRIDE].copy(), np.zeros(len(asked), np.bool_)
    mark_members(asked, stored, found)
    assert found.tolist() == [value in keys for value in probe]
    for address in [0, *([fence.ctypes.data] if len(keys) else [])]:
        places = np.array([stored.ctypes.data, len(stored), address], np.int64)
        wanted = [bisect_left(sorted(keys), value) for value in probe]
        assert [COMPILED_SEARCH(places, 0, value) for value in asked] == wanted
        assert [search.interpreted(places, 0, value) for value in probe] == wanted


@given(st.lists(st.lists(st.integers(0, 400), min_size=3, max_size=3), min_size=1, max_size=8))
def test_names_of_skolems(rows: list[list[int]]) -> None:
    """Messages of no byte, and of one more or less than a block or two, among others."""
    pieces = [bytes((7 * i + j) % 256 for j in range(i)) for i in range(401)]
    bounds = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    out = np.empty((len(rows), NAME), np.uint8)
    skolem_names(np.frombuffer(b"".join(pieces), np.uint8), bounds, np.array(rows, np.int64), out)
    names = [BlankNode(bytes(name).decode()) for name in out]
    assert names == [skolem_of(b"".join(pieces[i] for i in row)) for row in rows]


def test_many_skolems_are_those_of_one() -> None:
    values = ["", "x" * 200, "ä", 7, 2**70, 1.5, True]
    program = "p(X, Y, S) :- q(X), q(Y), BIND(SKOLEM('s', X, Y, X) AS S).\n"
    program += "r(S) :- p(X, Y, S), BIND(SKOLEM('s', X, Y, X) AS S)."
    kbs = [KnowledgeBase(program, engine=engine) for engine in ("local", "naive")]
    for kb in kbs:
        kb.add("q", [(value,) for value in values])
    assert set(kbs[0].facts("p")) == set(kbs[1].facts("p"))
    assert set(kbs[0].facts("r")) == set(kbs[1].facts("r")) and len(kbs[0].facts("r")) == len(values) ** 2


def test_compiled_kernels_depend_on_all_sources(tmp_path: Path) -> None:
    """A change of an inner kernel in another file makes the compiled outer one stale."""
    from deltalog.kernels import compiling

    folder = tmp_path / "kernels"
    shutil.copytree(Path(compiling.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from deltalog.kernels import compiling; from deltalog.kernels.sorted_keys import mark_members; "
        "compiling.__file__ = r'{}'; print(mark_members.dispatcher._cache._cache_file._source_stamp)"
    ).format(folder / "compiling.py")

    def stamp() -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    before = stamp()
    assert stamp() == before
    with (folder / "arithmetic.py").open("a") as file:
        file.write("# changed\n")
    assert stamp() != before
