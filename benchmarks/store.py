"""Stores: opening, durable updates, replay, compaction, and bytes on disk.

    python -m benchmarks.store [--lubm 5,20] [--folder DIR] [--peers]

For each LUBM(n) with program L. Each figure is the best of a few turns in one process; kernels are compiled before.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.datasets import lubm
from benchmarks.registry import PROGRAMS, UNIVERSITY
from deltalog import IRI, KnowledgeBase
from deltalog.extensions.store.acknowledged import Acknowledged, acknowledge, read_acknowledged

PROGRAM = PROGRAMS / "lubm_l.dl"
GOAL = f"<{UNIVERSITY}Student>(?x), <{UNIVERSITY}advisor>(?x, ?y), <{UNIVERSITY}Chair>(?y)"
UPDATES = 200
REPLAYED = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__.splitlines()[0])
    parser.add_argument("--lubm", default="5,20", help="numbers of universities")
    parser.add_argument("--folder", type=Path, help="where data and stores go (default: a temporary folder)")
    parser.add_argument("--peers", action="store_true", help="also the bytes of gzip, Parquet and Oxigraph")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for universities in map(int, options.lubm.split(",")):
            measure(universities, folder, options.peers)


def measure(universities: int, folder: Path, peers: bool) -> None:
    data, store = folder / f"lubm-{universities}.nt", folder / f"store-{universities}"
    if not data.exists():
        lubm(universities, folder)
    shutil.rmtree(store, ignore_errors=True)
    print(f"LUBM({universities})")
    kb, loading = timed(lambda: loaded(data))
    _, saving = timed(lambda: kb.save(store))
    facts = kb.report.facts_total
    show("facts", f"{facts:,}")
    show("load and materialise", f"{loading:.2f} s")
    show("save", f"{saving:.2f} s, {facts / saving / 1e6:.1f} M facts/s")
    kb.close()
    opening = min(timed(lambda: KnowledgeBase.open(store, readonly=True))[1] for _ in range(5))
    show("open", f"{opening * 1e3:.0f} ms: {loading / opening:.0f} times faster than to load and materialise")
    first_query(kb, store)
    durable_updates(data, store)
    replay(store)
    compaction(store)
    show("bytes on disk per fact", f"{disk_bytes(store) / facts:.1f}")
    if peers:
        sizes_of_others(data, folder, store, facts)


def loaded(data: Path) -> KnowledgeBase:
    kb = KnowledgeBase(PROGRAM)
    kb.load(data)
    kb.materialise()
    return kb


def first_query(in_memory: KnowledgeBase, store: Path) -> None:
    goals = (GOAL, f"<{UNIVERSITY}memberOf>(?x, <http://www.Department0.University0.edu>)")
    for name, goal in zip(("a join", "a look-up"), goals, strict=True):
        answered(in_memory, goal)  # kernels are loaded
        in_memory._forget_queries()
        opened = KnowledgeBase.open(store, readonly=True)
        (answers, before), (same, after) = (timed(partial(answered, kb, goal)) for kb in (in_memory, opened))
        assert sorted(map(str, answers)) == sorted(map(str, same))
        show(f"first query, {name}", f"{after * 1e3:.1f} ms after opening, {before * 1e3:.1f} ms in memory")


def answered(kb: KnowledgeBase, goal: str) -> list[Any]:
    return list(kb.query(goal))


def durable_updates(data: Path, store: Path) -> None:
    """In turn: an update in memory, the same in a store, its last step alone, and a page that is appended to a file and
    flushed."""
    memory, times = loaded(data), {name: list[float]() for name in ("memory", "store", "acknowledge", "fsync")}
    known = read_acknowledged(store)
    assert known is not None
    with KnowledgeBase.open(store) as durable, (store / "fsync").open("wb", buffering=0) as file:
        for i in range(UPDATES):
            times["memory"].append(timed(partial(memory.update, new_fact(i)))[1])
            times["store"].append(timed(partial(durable.update, new_fact(i)))[1])
            again = Acknowledged(known.store, durable.version or 0)
            times["acknowledge"].append(timed(partial(acknowledge, store, again))[1])
            times["fsync"].append(timed(partial(appended, file))[1])
    (store / "fsync").unlink()
    here, there, last, flush = (median(each) * 1e3 for each in times.values())
    show("one-fact update", f"{there:.2f} ms, in memory {here:.2f} ms, one fsync {flush:.2f} ms")
    show("of it, to acknowledge", f"{last:.2f} ms, {last / there:.0%}")


def appended(file: Any) -> None:
    file.write(bytes(4096))
    os.fsync(file.fileno())


def new_fact(number: int) -> dict[str, Any]:
    student = IRI(f"http://example.org/student{number}")
    return {f"{UNIVERSITY}takesCourse": [(student, IRI("http://example.org/course"))]}


def replay(store: Path) -> None:
    with KnowledgeBase.open(store) as kb:
        kb.compact()
        for i in range(REPLAYED):
            kb.update(add=new_fact(UPDATES + i))
    opened, seconds = timed(lambda: KnowledgeBase.open(store, readonly=True))
    show(f"open with {REPLAYED:,} changes", f"{seconds:.2f} s")
    opened.close()


def compaction(store: Path) -> None:
    with KnowledgeBase.open(store) as kb:
        facts = kb.report.facts_total
        _, seconds = timed(kb.compact)
    show("compact", f"{seconds:.2f} s, {facts / seconds / 1e6:.1f} M facts/s")


def sizes_of_others(data: Path, folder: Path, store: Path, facts: int) -> None:
    """All facts, explicit and derived, as other formats store them."""
    with KnowledgeBase.open(store, readonly=True) as kb:
        for format in ("nt", "parquet"):
            out = folder / f"facts-{format}"
            shutil.rmtree(out, ignore_errors=True)
            kb.write(out, format)
    plain, packed = folder / "facts-nt" / "facts.nt", folder / "facts.nt.gz"
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    show("N-Triples, gzip", f"{packed.stat().st_size / facts:.1f} bytes per fact")
    show("Parquet", f"{disk_bytes(folder / 'facts-parquet') / facts:.1f} bytes per fact")
    import pyoxigraph

    path = folder / "oxigraph"
    shutil.rmtree(path, ignore_errors=True)
    oxigraph = pyoxigraph.Store(path)
    oxigraph.bulk_load(path=str(plain), format=pyoxigraph.RdfFormat.N_TRIPLES)
    oxigraph.flush()
    with suppress(AttributeError):
        oxigraph.optimize()
    show("Oxigraph", f"{disk_bytes(path) / facts:.1f} bytes per fact")


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = work()
    return result, perf_counter() - start


def show(what: str, figure: str) -> None:
    print(f"  {what:<28} {figure}", flush=True)


if __name__ == "__main__":
    main()
