"""Rules over triples: the W3C's rules of OWL 2 RL with the ontology as data, against other reasoners.

    python -m benchmarks.generic_rules [--lubm 1,10] [--turns 3] [--peers PYTHON] [--owlrl]

LUBM(n) is generated; the rules (`owl/owl2rl.dl`) and the ontology (`lubm/univ-bench.owl`) are published data. PYTHON is
an interpreter with `reasonable`, `owlrl` and numpy. owlrl takes minutes, so it is run once, for the first size.

Every run is a process of its own, ways take turns, and the least CPU time counts. Kernels are compiled before, by a run
that is not measured: this takes 16 s of CPU, whatever the settings. Reasoners differ in what they derive of owl:Thing
and of the axioms themselves, so facts in the vocabulary of the ontology are counted separately. Where these counts
differ from ours, the table shows it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.datasets import lubm, published
from benchmarks.registry import UNIVERSITY

RULES, ONTOLOGY = "owl/owl2rl.dl", "lubm/univ-bench.owl"
OURS, PEERS = ("combined", "standard"), ("reasonable", "owlrl")
SUBCLASSES = f"SELECT ?x {{ ?x <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{UNIVERSITY}Person> }}"
METHODS = ("auto", "magic")
Run = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generic_rules", description=__doc__.splitlines()[0])
    parser.add_argument("--lubm", default="1,10", help="numbers of universities")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with reasonable, owlrl and numpy")
    parser.add_argument("--owlrl", action="store_true", help="owlrl, too, for the first size")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(*options.run)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ontology = ontology_as_triples(folder)
        for number, universities in enumerate(map(int, options.lubm.split(","))):
            lubm(universities, folder)
            data = folder / f"lubm-{universities}.nt"
            ways = [*OURS, *(["reasonable"] if options.peers else [])]
            once = ["owlrl"] if options.peers and options.owlrl and not number else []
            show_runs(universities, measured(ways, once, [data, ontology], options.turns, options.peers))
        show_queries(ontology, options.turns)


def ontology_as_triples(folder: Path) -> Path:
    """The ontology as N-Triples."""
    from deltalog import KnowledgeBase

    kb = KnowledgeBase()
    kb.load(published(ONTOLOGY))
    kb.write(folder / "ontology", "nt")
    return folder / "ontology" / "facts.nt"


# In the process that measures.


def run(way: str, *files: str) -> Run:
    """One run; in a process of its own."""
    if way in METHODS:
        return asked(way, *files)
    return by_peer(way, files) if way in PEERS else by_rules(way, files)


def by_rules(cyclic: str, files: Iterable[str]) -> Run:
    from deltalog import KnowledgeBase

    kb = KnowledgeBase(published(RULES), cyclic=cyclic)
    for path in files:
        kb.load(path)
    loaded = time.process_time()
    report = kb.materialise()
    seconds = time.process_time() - loaded
    known = sum(count for name, count in report.per_predicate.items() if name.startswith(UNIVERSITY))
    return {"load": loaded, "reason": seconds, "facts": report.facts_total, "known": known}


def by_peer(way: str, files: Iterable[str]) -> Run:
    from benchmarks.peers.owl import Owlrl, Reasonable
    from deltalog.core.terms import RDF_TYPE

    peer = Reasonable() if way == "reasonable" else Owlrl()
    graph = peer._load(list(files))
    loaded = time.process_time()
    derived = peer._reason(graph)
    seconds = time.process_time() - loaded
    triples = set(derived)
    names = (str(o) if str(p) == str(RDF_TYPE) else str(p) for _, p, o in triples)
    known = sum(name.startswith(UNIVERSITY) for name in names)
    return {"load": loaded, "reason": seconds, "facts": len(triples), "known": known}


def asked(method: str, *files: str) -> Run:
    """A query without a materialisation."""
    from deltalog import KnowledgeBase

    kb = KnowledgeBase(published(RULES))
    for path in files:
        kb.load(path)
    loaded = time.process_time()
    answers = kb.solve(SUBCLASSES, method=method)
    found = len(list(answers))
    return {"load": loaded, "reason": time.process_time() - loaded, "facts": found, "why": answers.reason}


# In the process that compares.


def measured(
    ways: list[str], once: list[str], files: list[Path], turns: int, peers: str | None = None
) -> dict[str, Run]:
    """The runs with the least CPU time; the first of all, which may compile kernels, does not count."""
    separate(ways[0], files, peers)
    runs = [(way, separate(way, files, peers)) for _ in range(turns) for way in ways]
    runs += [(way, separate(way, files, peers)) for way in once]
    return {
        way: min((found for other, found in runs if other == way), key=lambda found: found["reason"])
        for way in (*ways, *once)
    }


def separate(way: str, files: list[Path], peers: str | None) -> Run:
    root = Path(__file__).parents[1]
    python = peers if way in PEERS and peers else sys.executable
    if way == "reasonable":
        files = [as_turtle(path) for path in files]
    command = [python, "-m", "benchmarks.generic_rules", "--run", way, *map(str, files)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{way} failed:\n{done.stderr}")
    found: Run = json.loads(done.stdout.splitlines()[-1])
    return found


def as_turtle(path: Path) -> Path:
    """The same file under a name that reasonable reads."""
    turtle = path.with_suffix(".ttl")
    if not turtle.exists():
        turtle.symlink_to(path)
    return turtle


def show_runs(universities: int, runs: dict[str, Run]) -> None:
    first = runs[OURS[0]]
    print(f"LUBM({universities}): CPU seconds of a process to the end of loading, and of reasoning")
    for way, found in runs.items():
        ratio, whole = found["reason"] / first["reason"], _whole(found) / _whole(first)
        print(
            f"  {way:<12} {found['load']:8.2f} {found['reason']:8.2f}   {ratio:6.1f} times ours, {whole:5.1f} with"
            f" loading; {found['facts']:,} facts, {found['known']:,} in the ontology's vocabulary"
            f"{'' if found['known'] == first['known'] else ' (not ours)'}",
            flush=True,
        )


def _whole(found: Run) -> float:
    return float(found["load"] + found["reason"])


def show_queries(ontology: Path, turns: int) -> None:
    print("A query over the ontology alone, without a materialisation: CPU seconds")
    for way, found in measured(list(METHODS), [], [ontology], turns).items():
        print(f"  {way:<12} {found['reason']:8.2f}   {found['facts']} answers; {found['why']}", flush=True)


if __name__ == "__main__":
    main()
