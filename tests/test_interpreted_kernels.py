"""Kernels that Python interprets: the same results as compiled ones, and the change from one to the other."""

from __future__ import annotations

import errno
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import as_sets, materialise
from test_cases import PROGRAMS

from deltalog import KnowledgeBase, UsageError
from deltalog.core.dictionary import Dictionary
from deltalog.core.terms import IRI, BlankNode, Literal
from deltalog.kernels import bits, blake2b, compiling, digest, graphs, join, point_lookup, reachable_sets, sorted_keys
from deltalog.kernels.compiling import KERNELS, Kernel, Outgrown
from deltalog.kernels.join import RUNS

ENDS = [0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
HALF = np.uint64(32)
Arguments = tuple[Any, ...]


@pytest.fixture
def interpreted() -> Iterator[None]:
    compiling.choose(compiling.INTERPRET)
    yield
    compiling.choose(compiling.COMPILE)


@pytest.fixture
def automatic() -> Iterator[None]:
    compiling.choose(compiling.AUTO)
    yield
    compiling.choose(compiling.COMPILE)


def test_every_version_for_python_is_one_of_a_kernel() -> None:
    """Same name, same number of arguments; other names are private, or helpers without a kernel of their name."""
    for path in (Path(compiling.__file__).parent / "interpreted").glob("[!_]*.py"):
        kernels, versions = (import_module(f"deltalog.kernels.{prefix}{path.stem}") for prefix in ("", "interpreted."))
        names = [name for name, value in vars(kernels).items() if isinstance(value, Kernel)]
        own = [name for name in names if inspect.isfunction(getattr(versions, name, None))]
        assert own, path
        for name in own:
            if getattr(kernels, name).__module__ == kernels.__name__:
                version, written = getattr(versions, name), getattr(kernels, name).function
                few = version.__code__.co_flags & inspect.CO_VARARGS
                assert few or version.__code__.co_argcount == written.__code__.co_argcount, f"{path.stem}.{name}"
                assert getattr(kernels, name).interpreted is version


# Kernels one by one.


def keys_of(random: np.random.Generator, n: int = 40, ids: int = 9) -> Any:
    """Sorted keys of two ids, sometimes also of the greatest ones."""
    keys = (random.integers(0, ids, n).astype(np.uint64) << HALF) | random.integers(0, ids, n).astype(np.uint64)
    return np.unique(keys)


def with_ends(random: np.random.Generator) -> Any:
    return np.unique(np.concatenate([keys_of(random), random.choice(np.array(ENDS, np.uint64), 3)]))


def rows_of(random: np.random.Generator) -> Any:
    return np.unique(random.choice(np.array([*ENDS, 3, 4], np.uint64), (12, 2)), axis=0)


def of_two_sets(random: np.random.Generator) -> Arguments:
    return with_ends(random), with_ends(random)


def marks(random: np.random.Generator) -> Arguments:
    probe = random.permutation(with_ends(random))
    return probe, with_ends(random), np.zeros(len(probe), np.bool_)


def runs(random: np.random.Generator, ids: int) -> tuple[Any, Any]:
    keys = [keys_of(random), keys_of(random, 5), *[np.empty(0, np.uint64)] * (RUNS - 2)]
    offsets = [sorted_keys.lead_offsets(run, ids) if len(run) else np.zeros(0, np.uint32) for run in keys]
    return tuple(keys), tuple(offsets)


def products(random: np.random.Generator) -> Arguments:
    bitmap = np.zeros(1, np.uint64)
    return keys_of(random, 20), *runs(random, 9), *runs(random, 9), np.zeros(9, np.uint32), np.uint32(0), bitmap


def matrices(random: np.random.Generator, low_y: int = 2) -> Arguments:
    keys = keys_of(random, 60, 200)
    keys = keys[keys >> HALF >= np.uint64(low_y)]
    return keys, low_y, 0, np.zeros((200, 4), np.uint64), np.full(200, 4), np.full(200, -1)


def ids_of(random: np.random.Generator) -> Any:
    return random.choice(np.array([0, 3, 5, 8, 11, 2**32 - 2], np.uint32), 6)


def pairs_in_rows(random: np.random.Generator) -> Arguments:
    """Sorted lines, the offsets of their first ids, and pairs of ids to look up."""
    rows = np.unique(
        np.stack((random.choice(keys_of(random, 20), 60), random.integers(0, 9, 60).astype(np.uint64)), 1), axis=0
    )
    offsets = sorted_keys.lead_offsets(np.ascontiguousarray(rows[:, 0]), 9)
    return rows, offsets, ids_of(random), ids_of(random), *np.zeros((2, 6), np.int64)


def ranges(random: np.random.Generator) -> Arguments:
    low = random.integers(0, 10, 8)
    return low, low + random.integers(0, 4, 8)


def graph(random: np.random.Generator, n: int = 70) -> tuple[Any, Any, int]:
    """Edges in order of their sources, to smaller numbers and around."""
    sources, targets = np.sort(random.integers(0, n, 90)), random.integers(0, n, 90)
    return sources, targets, n


def closed(random: np.random.Generator, dense: bool) -> tuple[Any, ...]:
    """Reachable sets of an acyclic graph, as intervals or bits, and what numbers stand for."""
    n, edges = 200, 1200 if dense else 150
    sources, targets = random.integers(1, n, edges), random.integers(0, n, edges)
    kept = np.flatnonzero(targets < sources)
    order = kept[np.argsort(sources[kept], kind="stable")]
    sources, targets = sources[order], targets[order]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=n)))).astype(np.int64)
    start, length, fresh = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    return np.arange(n), np.ones(n, np.bool_), offsets, targets, start, length, np.empty(9, np.uint64), fresh


def closing(random: np.random.Generator) -> Arguments:
    *first, fresh = closed(random, bool(random.integers(2)))
    return *first, 0, np.zeros(4, np.uint64), fresh


def sets(random: np.random.Generator) -> tuple[Any, Any, Any]:
    arguments = closing(random)
    words, used = reachable_sets.close(*arguments)
    return arguments[4], arguments[5], words[:used]


def members(random: np.random.Generator) -> tuple[Any, Any]:
    sizes = random.integers(0, 3, 200) if random.integers(2) else np.ones(200, np.int64)
    return np.concatenate(([0], np.cumsum(sizes))), random.permutation(400)[: int(sizes.sum())].astype(np.uint32)


def expansions(random: np.random.Generator) -> Arguments:
    found, (offsets, ids), cs = sets(random), members(random), random.integers(0, 200, 30)
    counts = reachable_sets.cardinalities(cs, *found, offsets)
    return cs, np.cumsum(counts) - counts, *found, offsets, ids, np.zeros(int(counts.sum()), np.uint32)


def related(random: np.random.Generator) -> Arguments:
    asked = random.integers(0, 220, (2, 50))
    return asked[0], asked[1], random.permutation(200) - 1, *sets(random), np.zeros(50, np.bool_)


def gains(random: np.random.Generator) -> Arguments:
    before, after = random.integers(-1, 200, 20), random.integers(-1, 200, 20)
    return before, after, *sets(random), *sets(random), members(random)[0], np.zeros(4, np.uint64)


def gained_pairs(random: np.random.Generator) -> Arguments:
    (offsets, ids), group = members(random), random.integers(0, 20, 30)
    begins, found, weights = reachable_sets.gained(*(given := gains(random))[:8], offsets, given[9])
    return (
        random.integers(0, 2**32, 30).astype(np.uint32),
        group,
        begins,
        found,
        offsets,
        ids,
        int(weights[group].sum()),
    )


def all_pairs(random: np.random.Generator) -> Arguments:
    found, (offsets, ids), cs = sets(random), members(random), random.integers(0, 200, 30)
    room = int(reachable_sets.cardinalities(cs, *found, offsets).sum())
    return cs.astype(np.uint32), cs, *found, offsets, ids, np.zeros(8, np.uint64), np.zeros(room, np.uint64)


def messages(random: np.random.Generator) -> Arguments:
    lengths = random.integers(0, 300, 6)
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    rows = random.integers(0, 6, (4, 2))
    return (
        random.integers(0, 256, int(bounds[-1])).astype(np.uint8),
        bounds,
        rows,
        np.zeros((4, blake2b.NAME), np.uint8),
    )


CHECKS: list[tuple[Kernel, Callable[[np.random.Generator], Arguments]]] = [
    (sorted_keys.pack, lambda r: tuple(r.choice(np.array([0, 5, 2**32 - 1], np.uint32), (2, 9)))),
    (sorted_keys.pack_into, lambda r: (np.zeros((6, 2), np.uint64), int(r.integers(2)), ids_of(r), ids_of(r))),
    (sorted_keys.swap, lambda r: (with_ends(r),)),
    (sorted_keys.unpack, lambda r: (k := with_ends(r), *np.zeros((2, len(k)), np.uint32))),
    (sorted_keys.is_sorted, lambda r: (r.permutation(with_ends(r))[:2],)),
    (sorted_keys.unique, lambda r: (np.sort(r.choice(with_ends(r), 30)),)),
    (sorted_keys.union, of_two_sets),
    (sorted_keys.difference, of_two_sets),
    (sorted_keys.mark_members, marks),
    (sorted_keys.mark_leads, lambda r: (r.integers(0, 12, 9).astype(np.uint32), with_ends(r), np.zeros(9, np.bool_))),
    (sorted_keys.lead_offsets, lambda r: (keys_of(r), 12)),
    (sorted_keys.count_leads, lambda r: (with_ends(r)[: r.integers(40)],)),
    (sorted_keys.distinct_ids, lambda r: (r.integers(0, 200, 30).astype(np.uint32), 200)),
    (sorted_keys.is_sorted_words, lambda r: (r.permutation(rows_of(r))[:2],)),
    (sorted_keys.unique_words, lambda r: (np.sort(rows_of(r), axis=0),)),
    (sorted_keys.union_words, lambda r: (rows_of(r), rows_of(r))),
    (sorted_keys.mark_members_words, lambda r: (p := rows_of(r)[::-1].copy(), rows_of(r), np.zeros(len(p), np.bool_))),
    (sorted_keys.ranges_words, lambda r: (rows_of(r), p := rows_of(r), p, *np.zeros((2, len(p)), np.int64))),
    (sorted_keys.ranges_pairs, pairs_in_rows),
    (sorted_keys.widest_halves, lambda r: (rows_of(r)[: r.integers(9)],)),
    (sorted_keys.narrowed, lambda r: (rows_of(r), np.array([32, 5, 20, 4], np.uint64))),
    (sorted_keys.spread, lambda r: (r.integers(0, 2**63, 9).astype(np.uint64), np.array([32, 5, 20, 7], np.uint64))),
    (join.ranges_offsets, lambda r: (np.arange(9, dtype=np.uint32), ids_of(r), *np.zeros((2, 6), np.int64))),
    (join.ranges_search, lambda r: (with_ends(r), ids_of(r), *np.zeros((2, 6), np.int64))),
    (join.total, ranges),
    (join.expand, lambda r: (*ranges(r), *np.zeros((2, 40), np.int64))),
    (join.expand_keys, lambda r: (*ranges(r), keys_of(r, 400), np.zeros(40, np.int64), np.zeros(40, np.uint32))),
    (join.compose, products),
    (bits.fill_matrix, matrices),
    (point_lookup.lookup_pairs, lambda r: (with_ends(r), r.integers(0, 12, int(r.integers(3))).astype(np.uint32))),
    (point_lookup.scan_pairs, lambda r: (with_ends(r), r.integers(0, 12, 5).astype(np.uint32))),
    (point_lookup.lookup_keys, of_two_sets),
    (graphs.offsets_of, lambda r: (graph(r)[0], 70)),
    (graphs.strong_components, lambda r: (graphs.offsets_of((g := graph(r))[0], g[2]), g[1])),
    (graphs.connected_components, graph),
    (graphs.grouped, lambda r: (r.integers(0, 9, 30), r.integers(0, 99, 30), 9)),
    (reachable_sets.cardinalities, lambda r: (r.integers(0, 200, int(r.choice([2, 90]))), *sets(r), members(r)[0])),
    (reachable_sets.expand, expansions),
    (reachable_sets.mark_related, related),
    (reachable_sets.meeting, lambda r: (r.integers(0, 200, int(r.choice([1, 50]))), *sets(r), 200)),
    (reachable_sets.gather, lambda r: (r.integers(0, 200, 9), *sets(r), np.zeros(4, np.uint64))),
    (reachable_sets.numbers, lambda r: (r.choice(np.array(ENDS, np.uint64), 5),)),
    (reachable_sets.compacted, sets),
    (reachable_sets.gained, gains),
    (reachable_sets.pairs, gained_pairs),
    (reachable_sets.sorted_pairs, all_pairs),
    (blake2b.skolem_names, messages),
    (digest.hash_bytes, lambda r: (r.integers(0, 256, int(r.integers(90))).astype(np.uint8), int(r.integers(2**62)))),
]  # fmt: skip


def plain(value: Any) -> Any:
    """A result as Python's lists and numbers."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def copied(arguments: Arguments) -> Arguments:
    return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)


@pytest.mark.parametrize(("kernel", "make"), CHECKS, ids=lambda value: str(value) if isinstance(value, Kernel) else "")
def test_a_kernel_gives_the_same(kernel: Kernel, make: Callable[[np.random.Generator], Arguments]) -> None:
    """Results, and what is written into arguments."""
    for seed in range(12):
        arguments = make(np.random.default_rng(seed))
        ways = [(form, copied(arguments)) for form in (kernel.interpreted, kernel.dispatcher)]
        results = [(plain(form(*given)), plain(given)) for form, given in ways]
        assert results[0][0] == results[1][0]
        if kernel.__name__ not in ("compose", "unique", "unique_words"):  # what is left over there differs
            assert results[0][1] == results[1][1]


def test_closures_are_the_same() -> None:
    for seed in range(12):
        given = closing(np.random.default_rng(seed))
        results = []
        for form in (reachable_sets.close.interpreted, reachable_sets.close.dispatcher):
            arguments = copied(given)
            words, used = form(*arguments)
            results.append((words[:used].tolist(), plain(arguments[4:6]), plain(arguments[-2:])))
        assert results[0] == results[1] and results[0][0]


def test_products_by_bits_give_the_same() -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        keys, low_y, first_word, matrix, low, high = matrices(random)
        bits.fill_matrix(keys, low_y, first_word, matrix, low, high)
        known, offsets = runs(random, 9)
        given = (keys_of(random, 20, 250), matrix, low, high, low_y, first_word, known, offsets, np.zeros(5, np.uint64))
        results = [
            form(*copied(given)).tolist() for form in (bits.compose_dense.interpreted, bits.compose_dense.dispatcher)
        ]
        assert results[0] == results[1]


# Dictionaries.

VALUES = [0, -1, 2**63 - 1, -(2**63), 2**70, 0.0, -1.5, 1e300, "", "a", "12345678", "x" * 300, "ä€😀", True]
VALUES += [IRI("http://example.org/a"), BlankNode("b"), Literal("x", language="en"), Literal("1", "http://e.org/t")]


def test_a_dictionary_is_filled_in_both_ways() -> None:
    """Ids, hashes and tables are the same, whichever way a value came in, and each way finds those of the other."""
    made = []
    for how in (compiling.INTERPRET, compiling.COMPILE):
        compiling.choose(how)
        dictionary = Dictionary()
        ids = [dictionary.encode(VALUES).tolist(), dictionary.encode([f"t{i}" for i in range(3000)]).tolist()]
        made.append(
            (dictionary, ids, dictionary._hashes[: len(dictionary)].tolist(), sorted(dictionary._table.tolist()))
        )
    assert made[0][1:] == made[1][1:]
    for how, (dictionary, ids, *_) in zip((compiling.COMPILE, compiling.INTERPRET), made, strict=True):
        compiling.choose(how)
        assert [dictionary.find(value) for value in VALUES] == ids[0]
        assert dictionary.decode(np.array(ids[0])) == VALUES and dictionary.find("no such") is None
        assert dictionary.encode([*VALUES, "one more"]).tolist() == [*ids[0], len(dictionary) - 1]
        assert (
            dictionary.merge(made[0][0]).tolist()[: len(VALUES)] == made[1][0].merge(made[1][0]).tolist()[: len(VALUES)]
        )
    compiling.choose(compiling.COMPILE)


def test_digests_are_the_same() -> None:
    dictionary = Dictionary()
    dictionary.encode(VALUES)
    found = [np.zeros(len(dictionary), np.int64) for _ in range(2)]
    digest.digests.interpreted(dictionary.room, 7, found[0])
    digest.digests.dispatcher(dictionary.room, 7, found[1])
    assert found[0].tolist() == found[1].tolist()


# Files.

CSV = b"""1,-2,0,-0,007,1.5,-0.25,0.0,-0.0,123456789012345678,1234567890123456789,0.1234567890123456789,1e5,2020-01-01,-
a,,<http://e.org/a>,<not an iri,<a\\u0041b>,_:b1,_:b.,_:,_x,_:\\u0041,"q","q""r",""\"x""\",a"b,\xc3\xa4
"a
b",c,d,e,f,g,h,i,j,k,l,m,n,o,p\r

\r
1,2,3,4,5,6,7,8,9,10,11,12,13,14,\r
"""
TRIPLES = rb"""# a comment
<http://e.org/a> <http://e.org/p> <http://e.org/b> .
  <http://e.org/a>	<http://e.org/p> "text" . # and more
_:b1 <http://e.org/p> _:b2 .
_:b-1 <http://e.org/p> _:b.2 .
<http://e.org/a> <http://e.org/p> "a\tb\u00e4\"" .
<http://e.org/a> <http://e.org/p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e.org/a> <http://e.org/p> "x"^^<http://e.org/t> <http://e.org/g> .
<http://e.org/a> <http://e.org/p> "x"@EN-gb .
<http://e.org/\u0041> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/C>.
<http://e.org/a> <http://e.org/p> "" .
<http://e.org/a> <http://e.org/p> 12 .
<http://e.org/a> <http://e.org/p> true .
"""
WRONG = {
    "quote.csv": b'a,"b\n',
    "after.csv": b'a,"b"c\n',
    "width.csv": b"a,b\nc\n",
    "utf8.csv": b"a,\xff\n",
    "iri.nt": b"<http://e.org/a{> <http://e.org/p> <http://e.org/b> .\n",
    "dot.nt": b"<http://e.org/a> <http://e.org/p> <http://e.org/b>\n",
    "subject.nt": b"<http://e.org/a> <http://e.org/p> <b> .\n'a' <http://e.org/p> <http://e.org/b> .\n",
    "label.nt": b"_:\xc3\x97 <http://e.org/p> <http://e.org/b> .\n",
}


def read(path: Path) -> Any:
    from deltalog.core.errors import DeltalogError

    kb = KnowledgeBase("")
    try:
        kb.load(path)
    except DeltalogError as problem:
        return str(problem)
    return {predicate: sorted(map(repr, kb.facts(predicate))) for predicate in kb.predicates}


@pytest.mark.parametrize("name", ["table.csv", "more.nq", *WRONG])
def test_a_file_is_read_the_same_way(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(WRONG.get(name) or (CSV if name == "table.csv" else TRIPLES))
    found = read(path)
    assert isinstance(found, str) == (name in WRONG)
    compiling.choose(compiling.INTERPRET)
    again = read(path)
    compiling.choose(compiling.COMPILE)
    assert again == found


@pytest.mark.parametrize("format", ["csv", "tsv", "nt"])
def test_a_file_is_written_the_same_way(format: str, tmp_path: Path) -> None:
    written = []
    for how in (compiling.INTERPRET, compiling.COMPILE):
        compiling.choose(how)
        kb = KnowledgeBase("")
        kb.add("http://e.org/p", [(IRI(f"http://e.org/{i}"), value) for i, value in enumerate(VALUES)])
        kb.add("http://e.org/q", [(BlankNode(f"b{i}"), f'"{i}\n,') for i in range(30)])
        kb.write(tmp_path / how, format=format)
        written.append({path.name: path.read_bytes() for path in (tmp_path / how).iterdir()})
    assert written[0] == written[1] and written[0]


# Programs.


@pytest.mark.parametrize("program", PROGRAMS[::4], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_is_the_same(program: Path, interpreted: None) -> None:
    data = program.with_suffix("") / "data"
    given = [data] if data.exists() else []
    found = materialise("local", program, {}, given)
    compiling.choose(compiling.COMPILE)
    assert as_sets(found) == as_sets(materialise("local", program, {}, given))


RULES = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
far(X, Z) :- edge(X, Y), far_step(Y, Z).
far_step(Y, Z) :- edge(Y, Z), NOT short(Y, Z).
far_step(X, Z) :- far_step(X, Y), edge(Y, Z).
triangle(X, Y, Z) :- edge(X, Y), edge(Y, Z), edge(Z, X).
counted(X, N) :- AGGREGATE(edge(X, Y) ON X BIND COUNT(Y) AS N).
number(0). number(Y) :- number(X), BIND(X + 1 AS Y), FILTER(Y <= 60).
named(X, S) :- edge(X, Y), BIND(SKOLEM("e", X, Y) AS S).
"""


def history(kb: KnowledgeBase, between: Callable[[int], None]) -> list[Any]:
    """What a knowledge base says after each of some changes, small and larger ones."""
    random, said = np.random.default_rng(1), []
    kb.add("edge", [(int(a), int(b)) for a, b in random.integers(0, 30, (45, 2))])
    kb.add("short", [(1, 2), (3, 4)])
    for step in range(8):
        between(step)
        size = 20 if step == 5 else 1
        add = [(int(a), int(b)) for a, b in random.integers(0, 35, (size, 2))]
        remove = sorted(kb.facts("edge"))[step : step + size]
        kb.update(add={"edge": add}, remove={"edge": remove})
        said.append(as_sets({predicate: kb.facts(predicate) for predicate in kb.predicates}))
        said.append(sorted(kb.query("path(1, ?x)")))
    return said


def test_updates_interpreted_compiled_and_in_between() -> None:
    """The change from one to the other in the middle of a history, in either direction: the state is the same."""
    wanted = history(KnowledgeBase(RULES), lambda step: None)
    for first, then in (("interpret", "interpret"), ("interpret", "compile"), ("compile", "interpret")):
        compiling.choose(first)
        found = history(KnowledgeBase(RULES), lambda step, then=then: compiling.choose(then) if step == 4 else None)
        assert found == wanted, (first, then)
    compiling.choose(compiling.COMPILE)


def test_a_store_is_opened_interpreted(tmp_path: Path, interpreted: None) -> None:
    """Mapped arrays, which dictionaries and tables extend."""
    compiling.choose(compiling.COMPILE)
    with KnowledgeBase(RULES) as kb:
        kb.add("edge", [(i, i + 1) for i in range(50)])
        kb.save(tmp_path / "store")
    compiling.choose(compiling.INTERPRET)
    with KnowledgeBase.open(tmp_path / "store") as kb:
        kb.update(add={"edge": [(50, 51), ("new", 0)]}, remove={"edge": [(3, 4)]})
        found = as_sets({predicate: kb.facts(predicate) for predicate in ("path", "edge", "counted")})
    compiling.choose(compiling.COMPILE)
    with KnowledgeBase.open(tmp_path / "store", readonly=True) as kb:
        assert as_sets({predicate: kb.facts(predicate) for predicate in ("path", "edge", "counted")}) == found
        assert len(kb.facts("path")) == 4 * 3 // 2 + 48 * 47 // 2 + 4  # 0 to 3, 4 to 51, and new to the first


# The rule.


def test_a_kernel_is_compiled_when_it_pays(automatic: None) -> None:
    kernel, keys = sorted_keys.union, np.arange(10, dtype=np.uint64)
    kernel(keys, keys)
    assert kernel.run == kernel._measured and kernel.seconds > 0
    kernel.seconds = 10.0
    kernel(keys, keys)
    assert kernel.run is kernel.dispatcher
    large = np.arange(compiling.MOST_ITEMS_BY_NUMPY, dtype=np.uint64)
    assert len(sorted_keys.swap(large[:-1])) and sorted_keys.swap.run == sorted_keys.swap._measured
    sorted_keys.swap(np.concatenate([large, large]))
    assert sorted_keys.swap.run is sorted_keys.swap.dispatcher


def test_a_call_that_outgrows_is_made_again(automatic: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops with many matches, changes with many consequences, joins with many candidates."""
    from deltalog.kernels import nested_loop, small_rounds, tuple_dred

    monkeypatch.setattr(compiling, "PATIENCE_IF_CACHED", 1000)
    for module in ("nested_loop", "tuple_dred", "small_rounds"):
        monkeypatch.setattr(import_module(f"deltalog.kernels.interpreted.{module}"), "MOST_MATCHES", 5)
    monkeypatch.setattr(import_module("deltalog.kernels.interpreted.join"), "MOST_CANDIDATES", 5)
    found = history(KnowledgeBase(RULES), lambda step: None)
    assert tuple_dred.delete_and_rederive.run is tuple_dred.delete_and_rederive.dispatcher
    for kernel in (nested_loop.nested_loops, small_rounds.rounds):  # they give up, or pause
        assert kernel.run == kernel._measured
    compiling.choose(compiling.COMPILE)
    assert found == history(KnowledgeBase(RULES), lambda step: None)
    with pytest.raises(Outgrown):
        compiling.outgrown(2, 1)


def test_an_unknown_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiling.SETTING, "fast")
    monkeypatch.setattr(compiling, "_chosen", "")
    with pytest.raises(UsageError, match="DELTALOG_KERNELS=fast"):
        KnowledgeBase("")
    with pytest.raises(ValueError, match="DELTALOG_KERNELS=fast: expected auto, interpret or compile"):
        compiling.setting()


def test_a_small_program_loads_no_numba(tmp_path: Path) -> None:
    """Nor does it compile, whatever is in the cache."""
    (tmp_path / "edge.csv").write_text("".join(f"a{i % 700},a{(7 * i) % 900}\n" for i in range(2000)))
    (tmp_path / "rules.dl").write_text(RULES.replace("path(X, Z) :- path(X, Y), edge(Y, Z).", ""))
    code = (
        "import sys; from deltalog.apps.cli.main import main\n"
        "try: main(['run', 'rules.dl', '--data', 'edge.csv', '--out', 'out', '--quiet'])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'numba' not in sys.modules and 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "out" / "triangle.csv").exists()


def test_the_registry_has_every_kernel() -> None:
    assert {kernel.__name__ for kernel in KERNELS} >= {"rounds", "parse", "compose", "get", "advance"}


# The cache on disk.


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[compiling.KernelCache]:
    """Dispatchers are made anew, in a process that has not noticed yet that they cannot be kept."""
    monkeypatch.setattr(compiling, "_compiled", {})
    monkeypatch.setattr(compiling, "CACHE", compiling.KernelCache())
    yield compiling.CACHE


def test_kernels_without_a_folder_for_the_cache(
    no_cache: compiling.KernelCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from numba.core.caching import CacheImpl

    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert all(each.dispatcher.stats.cache_path is None for each in KERNELS if each.options == compiling.CALLED)  # type: ignore[attr-defined]
    assert sorted_keys.is_sorted.dispatcher(np.array([1, 2], np.uint64))
    (note,) = (record.getMessage() for record in caplog.records if record.name == "deltalog")
    assert "cache folder can be written" in note
    assert "NUMBA_CACHE_DIR" in note


def test_kernels_that_cannot_be_saved(no_cache: compiling.KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import IndexDataCacheFile

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    monkeypatch.setattr(IndexDataCacheFile, "load", lambda *_: None)
    assert sorted_keys.is_sorted.dispatcher(np.array([1, 2], np.uint64))
    assert "No space left on device" in no_cache.problem
