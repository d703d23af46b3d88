"""All benchmarks: a benchmark is data, a program, sizes, and what the right answer is.

Data are generated, with fixed seeds, or are published data sets that lie in the folder that DELTALOG_DATA names (by
default ../shared/data beside the project). A benchmark whose data are not there is shown as such.

Generators are imported where they are used: a process that measures has no need of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.generators.draws import Ints

PROGRAMS = Path(__file__).parent / "programs"


class NoData(Exception):
    """The data set of a benchmark is not on this machine."""


@dataclass(frozen=True)
class Size:
    """How to write the data of one size into a folder, and how many facts the derived predicates must have."""

    make: Callable[[Path], None]
    facts: int | None = None


@dataclass(frozen=True)
class Benchmark:
    name: str
    what: str
    program: Path
    sizes: Mapping[str, Size] = field(default_factory=dict)
    ways: tuple[str, ...] | None = None  # the ways that are run unless others are asked for; None: all

    def files(self, size: str, folder: Path) -> list[Path]:
        """Make the data of a size; the files."""
        folder.mkdir(parents=True, exist_ok=True)
        self.sizes[size].make(folder)
        return sorted(folder.iterdir())


def data_folder() -> Path:
    named = os.environ.get("DELTALOG_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        raise NoData("its data are published, not generated: set DELTALOG_DATA to the folder that has them")
    return folder


def _write_rows(folder: Path, name: str, rows: Ints) -> None:
    import numpy as np

    np.savetxt(folder / f"{name}.csv", rows, "%d", ",")


def _dag(nodes: int, edges: int, seed: int, folder: Path) -> None:
    from benchmarks.generators import graphs

    _write_rows(folder, "edge", graphs.dag(nodes, edges, seed))


def _chain(nodes: int, folder: Path) -> None:
    from benchmarks.generators import graphs

    _write_rows(folder, "edge", graphs.chain(nodes))


def _tree(nodes: int, folder: Path) -> None:
    from benchmarks.generators import graphs

    _write_rows(folder, "parent", graphs.tree(nodes))


def _lubm(universities: int, folder: Path) -> None:
    from benchmarks.generators import lubm

    lubm.write(universities, folder / f"lubm-{universities}.nt")


def _motivating(n: int, k: int, folder: Path) -> None:
    from benchmarks.generators.motivating import motivating

    for name, rows in motivating(n, k).items():
        (folder / f"{name}.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))


def _published(path: str, folder: Path) -> None:
    """A published RDF file, as N-Triples."""
    import pyoxigraph

    from benchmarks.peers.tables import opened

    source = data_folder() / path
    if not source.exists():
        raise NoData(f"{path} is not in the folder of data")
    with opened(source) as lines, (folder / f"{source.name.split('.')[0]}.nt").open("wb") as out:
        quads = pyoxigraph.parse(lines.read().encode(), format=pyoxigraph.RdfFormat.TURTLE)
        pyoxigraph.serialize((quad.triple for quad in quads), out, format=pyoxigraph.RdfFormat.N_TRIPLES)


def _closure_sizes() -> dict[str, Size]:
    return {
        "small": Size(partial(_dag, 300, 900, 0), facts=8_497),
        "full": Size(partial(_dag, 2_000, 10_000, 132), facts=413_733),
        "large": Size(partial(_dag, 10_000, 100_000, 0), facts=22_247_851),
    }


def _lubm_sizes() -> dict[str, Size]:
    known = {1: 55_272, 5: 329_679, 10: 668_475}
    sizes = {str(n): Size(partial(_lubm, n), known.get(n)) for n in (1, 5, 10, 20, 50, 100)}
    return sizes | {"small": sizes["1"], "full": sizes["10"]}


BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("tc_linear", "closure of a random DAG, linear", PROGRAMS / "tc_linear.dl", _closure_sizes()),
        Benchmark("tc_nonlinear", "closure of a random DAG, nonlinear", PROGRAMS / "tc_nonlinear.dl", _closure_sizes()),
        Benchmark(
            "tc_chain",
            "closure of a chain: a thousand tiny rounds",
            PROGRAMS / "tc_linear.dl",
            {
                "small": Size(partial(_chain, 100), facts=4_950),
                "full": Size(partial(_chain, 1_000), facts=499_500),
            },
            ways=("deltalog", "clingo", "egglog", "duckdb"),  # Nemo takes a minute
        ),
        Benchmark(
            "same_generation",
            "same generation over a random tree",
            PROGRAMS / "same_generation.dl",
            {"small": Size(partial(_tree, 500), facts=33_269), "full": Size(partial(_tree, 4_640), facts=2_202_325)},
        ),
        Benchmark("lubm_l", "LUBM with program L, from N-Triples", PROGRAMS / "lubm_l.dl", _lubm_sizes()),
        Benchmark(
            "motivating",
            "the cyclic rule of paper 000",
            PROGRAMS / "motivating.dl",
            {
                "small": Size(partial(_motivating, 30, 40), facts=3_640),
                "full": Size(partial(_motivating, 300, 400), facts=360_400),
            },
        ),
        Benchmark(
            "dag_r",
            "DAG-R: 100,000 edges, 22.8 M facts",
            PROGRAMS / "dag_r.dl",
            {"full": Size(partial(_published, "multischeme/facts/DAG.ttl.bz2"), facts=22_786_066)},
            ways=("deltalog",),  # 10 thousand million derivations: peers would take the better part of an hour
        ),
    )
}
