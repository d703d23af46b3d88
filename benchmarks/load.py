"""How long N-Triples take from the file to encoded relations, against only iterating `pyoxigraph.parse` over the file.

    python -m benchmarks.load [FILE.nt[.gz]]

Best of three each, in one process, taken in turn so that a busy machine is busy for both. Kernels are compiled before.
Without a file, LUBM(5) of ../shared/data is used where it is there. A compressed file is decompressed first, into a
temporary folder, so that what is measured is parsing.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pyoxigraph

from deltalog.core.dictionary import Dictionary
from deltalog.formats.files import name_of, opened
from deltalog.formats.ntriples import read_ntriples

DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "lubm" / "data" / "lubm-5.nt.gz"
TIMES = 3


def main(arguments: list[str]) -> int:
    source = Path(arguments[0]) if arguments else DEFAULT
    if not source.is_file():
        print(f"{source}: there is no such file; usage: python -m benchmarks.load FILE.nt", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        _warm_up(Path(folder))
        compare(_plain(source, Path(folder)))
    return 0


def compare(path: Path) -> None:
    """Measure both ways, and print the times and their ratio."""
    ways: dict[str, Callable[[Path], int]] = {"deltalog, to encoded relations": ours, "pyoxigraph, iterating": theirs}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    counts: dict[str, int] = {}
    for _turn in range(TIMES):
        for name, way in ways.items():
            start = perf_counter()
            counts[name] = way(path)
            seconds[name].append(perf_counter() - start)
    best = {name: min(times) for name, times in seconds.items()}
    print(f"{path.name}: {path.stat().st_size / 1e6:,.0f} MB")
    for name, time in best.items():
        print(f"  {name:<32} {time:7.3f} s   {counts[name]:>12,} triples   {counts[name] / time / 1e6:6.2f} M/s")
    first, second = best.values()
    print(f"  ratio {second / first:.1f}")


def ours(path: Path) -> int:
    """Load a file; gives the number of facts."""
    return sum(len(columns[0]) for columns in read_ntriples(path, Dictionary()).values())


def theirs(path: Path) -> int:
    """Iterate over a file; gives the number of triples."""
    return sum(1 for _ in pyoxigraph.parse(path=str(path), format=pyoxigraph.RdfFormat.N_TRIPLES))


def _plain(source: Path, folder: Path) -> Path:
    """The file itself, or a decompressed copy."""
    if not name_of(source).compression:
        return source
    copy = folder / source.with_suffix("").name
    with opened(source) as stream, open(copy, "wb") as out:
        while block := stream.read(2**20):
            out.write(block)
    return copy


def _warm_up(folder: Path) -> None:
    """Compile the kernels, or read them from their cache."""
    path = folder / "warm.nt"
    path.write_text('<a> <b> "c" .\n')
    ours(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
