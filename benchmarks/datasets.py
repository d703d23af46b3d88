"""Writes the data of a benchmark into a folder: generated, or published and found in the folder of data.

Published data lie in the folder that DELTALOG_DATA names (by default ../shared/data beside the project). Generators are
imported where they are used: a process that measures has no need of them.
"""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.generators.draws import Ints


class NoData(Exception):
    """The data set or the program of a benchmark is not on this machine."""


def data_folder() -> Path:
    named = os.environ.get("DELTALOG_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        raise NoData("published, not generated: set DELTALOG_DATA to the folder that has it")
    return folder


def published(path: str) -> Path:
    """A file of the folder of data."""
    source = data_folder() / path
    if not source.exists():
        raise NoData(f"{path} is not in the folder of data")
    return source


def write_rows(folder: Path, relations: Mapping[str, Ints]) -> None:
    """One CSV file a relation."""
    import numpy as np

    for name, rows in relations.items():
        np.savetxt(folder / f"{name}.csv", rows, "%d", ",")


def dag(nodes: int, edges: int, seed: int, folder: Path) -> None:
    from benchmarks.generators import graphs

    write_rows(folder, {"edge": graphs.dag(nodes, edges, seed)})


def chain(nodes: int, folder: Path) -> None:
    from benchmarks.generators import graphs

    write_rows(folder, {"edge": graphs.chain(nodes)})


def link(nodes: int, folder: Path) -> None:
    """A chain, as given facts of the predicate that is to be closed."""
    from benchmarks.generators import graphs

    write_rows(folder, {"near": graphs.chain(nodes)})


def tree(nodes: int, folder: Path) -> None:
    from benchmarks.generators import graphs

    write_rows(folder, {"parent": graphs.tree(nodes)})


def lubm(universities: int, folder: Path) -> None:
    from benchmarks.generators import lubm

    lubm.write(universities, folder / f"lubm-{universities}.nt")


def lubm_department(folder: Path) -> None:
    from benchmarks.generators import lubm

    (folder / "department.nt").write_text("".join(sorted(lubm.department())))


def lubm_with_ontology(universities: int, folder: Path) -> None:
    """A department (0), or LUBM(n), and its ontology."""
    lubm(universities, folder) if universities else lubm_department(folder)
    ontology(folder)


def ontology(folder: Path) -> None:
    """The ontology of LUBM as triples, its blank nodes as IRIs: a change of facts can name them."""
    import pyoxigraph

    def named(node: pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal) -> object:
        return pyoxigraph.NamedNode(names[node]) if node in names else node

    triples = [
        quad.triple
        for quad in pyoxigraph.parse(path=published("lubm/univ-bench.owl"), format=pyoxigraph.RdfFormat.RDF_XML)
    ]
    blank = dict.fromkeys(n for t in triples for n in (t.subject, t.object) if isinstance(n, pyoxigraph.BlankNode))
    names = {node: f"http://example.org/restriction/{i}" for i, node in enumerate(blank)}
    with (folder / "univ-bench.nt").open("w") as out:
        out.writelines(f"{named(t.subject)} {t.predicate} {named(t.object)} .\n" for t in triples)


def motivating(n: int, k: int, folder: Path) -> None:
    from benchmarks.generators.motivating import motivating

    for name, rows in motivating(n, k).items():
        (folder / f"{name}.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))


def expressions(count: int, instances: int, folder: Path) -> None:
    from benchmarks.generators import expressions

    expressions.write(count, instances, folder / "expressions.nt")


def labelled(nodes: int, edges: int, folder: Path) -> None:
    from benchmarks.generators.labelled import labelled

    with (folder / "graph.nt").open("w") as out:
        for label, rows in labelled(nodes, edges).items():
            out.writelines(f"<http://n{a}> <{label}> <http://n{b}> .\n" for a, b in rows.tolist())


def tc_plus(nodes: int, facts: int, folder: Path) -> None:
    from benchmarks.generators import relations

    write_rows(folder, relations.tc_plus(nodes, facts))


def tcu(nodes: int, facts: int, folder: Path) -> None:
    from benchmarks.generators import relations

    write_rows(folder, relations.tcu(nodes, facts))


def union(facts: int, folder: Path) -> None:
    from benchmarks.generators import relations

    write_rows(folder, relations.union(facts))


def categories(count: int, folder: Path) -> None:
    from benchmarks.generators import categories

    categories.write(count, folder / "categories.nt")


def wind_neighbours(turbines: int, folder: Path) -> None:
    from benchmarks.generators import windfarm

    write_rows(folder, windfarm.neighbours(turbines))


def wind_relations(turbines: int, folder: Path) -> None:
    from benchmarks.generators import windfarm

    write_rows(folder, windfarm.relations(turbines))


def rdf(path: str, folder: Path) -> None:
    """A published RDF file, as N-Triples."""
    import pyoxigraph

    source = published(path)
    stem, kind, *_ = source.name.split(".")
    with _opened(source) as stream, (folder / f"{stem}.nt").open("wb") as out:
        if kind == "nt":
            shutil.copyfileobj(stream, out)
            return
        quads = pyoxigraph.parse(stream.read(), format=pyoxigraph.RdfFormat.TURTLE)
        pyoxigraph.serialize((quad.triple for quad in quads), out, format=pyoxigraph.RdfFormat.N_TRIPLES)


def hypernyms(folder: Path) -> None:
    """WordNet's hypernyms, of instances, too, as edges."""
    with _opened(published("wordnet/pointers.tsv.gz")) as stream, (folder / "edge.csv").open("wb") as out:
        for line in stream:
            synset, relation, other = line.rstrip(b"\n").split(b"\t")
            if relation in (b"hypernym", b"instance_hypernym"):
                out.write(b"%s,%s\n" % (synset, other))


def pointers(folder: Path) -> None:
    """WordNet's pointers: synset, relation, synset."""
    shutil.copy(published("wordnet/pointers.tsv.gz"), folder)


def snap(path: str, folder: Path) -> None:
    """A graph of the SNAP collection: two numbers a line, after comments."""
    with _opened(published(path)) as stream, (folder / "edge.csv").open("wb") as out:
        out.writelines(b",".join(line.split()) + b"\n" for line in stream if not line.startswith(b"#"))


def _opened(path: Path) -> IO[bytes]:
    kinds: dict[str, Callable[[Path], IO[bytes]]] = {".gz": gzip.open, ".bz2": bz2.open}  # type: ignore[dict-item]
    return kinds[path.suffix](path) if path.suffix in kinds else path.open("rb")
