"""Equality: by representatives, by axioms, and by other reasoners.

    python -m benchmarks.equality cliques                     names of one individual, by owl:sameAs and by a property
    python -m benchmarks.equality lubm                        LUBM(1) with duplicates that an e-mail address identifies
    python -m benchmarks.equality peers [--python EXE]        small cliques, with reasonable and owlrl

LUBM's ontology is published data (see `datasets`). `--python` is an interpreter that has owlrl and reasonable; by
default it is the present one. Seconds are of the processor, each of one run after a run that compiles kernels. The exit
code is 1 if two ways do not give the same numbers of facts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.datasets import published
from benchmarks.generators import lubm
from deltalog.core.terms import IRI
from deltalog.knowledge_base.facade import KnowledgeBase

R = TypeVar("R")
EX = "http://example.org/"
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
UNIV_BENCH = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
WAYS = ("representatives", "axioms")
ONTOLOGY = f"""@prefix : <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:p a owl:ObjectProperty, owl:FunctionalProperty . :q a owl:ObjectProperty ; rdfs:subPropertyOf :r .
:r a owl:ObjectProperty ; rdfs:domain :A . :A rdfs:subClassOf :B .
"""


def timed(work: Callable[[], R]) -> tuple[R, float]:
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


# Cliques.


def clique(names: int, by: str) -> dict[str, list[tuple[IRI, IRI]]]:
    """Facts that make names one individual, and a fact about each of them."""
    individuals = [IRI(f"{EX}i{n}") for n in range(names)]
    about = [(each, IRI(f"{EX}o{n}")) for n, each in enumerate(individuals)]
    if by == "sameAs":
        return {SAME_AS: list(pairwise(individuals)), EX + "q": about}
    return {EX + "p": [(IRI(EX + "x"), each) for each in individuals], EX + "q": about}


def cliques(folder: Path) -> bool:
    fine = True
    for by in ("sameAs", "functional"):
        for names, ways in ((300, WAYS), (10_000, WAYS[:1])):
            found = [_clique(folder, names, by, way) for way in ways]
            fine &= len(set(found)) == 1
    return fine


def _clique(folder: Path, names: int, by: str, way: str) -> int:
    kb, facts = _empty(folder, way), clique(names, by)
    for name, rows in facts.items():
        kb.add(name, rows)
    report, seconds = timed(kb.materialise)
    total = report.facts_total
    print(f"{names:,} names by {by}, {way}: {total:,} facts in {seconds:.3f} s")
    first = next(iter(facts))
    middle = {first: [facts[first][names // 2]]}
    _change(kb, "a link in the middle", remove=middle)
    _change(kb, "the same", add=middle)
    _change(kb, "a name", add={first: [(facts[first][0][0], IRI(EX + "new"))]})
    _change(kb, "the name", remove={first: [(facts[first][0][0], IRI(EX + "new"))]})
    _change(kb, "a fact", add={EX + "q": [(facts[EX + "q"][5][0], IRI(EX + "new"))]})
    return total


def _change(kb: KnowledgeBase, what: str, **change: Any) -> None:
    made, seconds = timed(lambda: kb.update(**change))
    counts, counting = timed(lambda: [sum(map(len, each.values())) for each in (made.added, made.removed)])
    print(f"  {what} {'added' if 'add' in change else 'removed'}: {seconds * 1000:.1f} ms;", end=" ")
    print(f"{counts[0]:,} facts more, {counts[1]:,} less, counted in {counting * 1000:.1f} ms")


def _empty(folder: Path, way: str) -> KnowledgeBase:
    path = folder / "ontology.ttl"
    path.write_text(ONTOLOGY)
    return KnowledgeBase(ontology=path, equality=way)


# LUBM with duplicates.


def duplicates(data: Path) -> Iterator[str]:
    """A second name for every tenth individual that has an e-mail address, with its address and its degrees."""
    copied = ("emailAddress", "undergraduateDegreeFrom", "takesCourse", "advisor")
    people: dict[str, list[str]] = {}
    for line in data.open():
        subject, predicate, rest = line.split(" ", 2)
        if predicate.startswith(f"<{UNIV_BENCH}") and predicate[len(UNIV_BENCH) + 1 : -1] in copied:
            people.setdefault(subject, []).append(f"{predicate} {rest}")
    for number, (subject, facts) in enumerate(people.items()):
        if number % 10 == 0:
            yield from (f"{subject[:-1]}-again> {fact}" for fact in facts)


def with_duplicates(folder: Path) -> bool:
    data, more, axiom = folder / "lubm.nt", folder / "more.nt", folder / "key.nt"
    lubm.write(1, data)
    more.write_text("".join(duplicates(data)))
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    axiom.write_text(f"<{UNIV_BENCH}emailAddress> {kind} <http://www.w3.org/2002/07/owl#InverseFunctionalProperty> .\n")
    totals = set()
    for way in WAYS:
        for _ in range(2):
            kb = KnowledgeBase(ontology=[published("lubm/univ-bench.owl"), axiom], equality=way)
            kb.load(data, more)
            report, seconds = timed(kb.materialise)
        totals.add(report.facts_total)
        print(f"LUBM(1) with duplicates, {way}: {report.facts_total:,} facts in {seconds:.2f} s; {report.equality}")
        name = f"{UNIV_BENCH}emailAddress"
        row = next(row for row in kb.facts(name) if "-again" in str(row[0]))
        for _ in range(2):
            _change(kb, "an address of a duplicate", remove={name: [row]})
            _change(kb, "the same", add={name: [row]})
    return len(totals) == 1


# Peers.

OWLRL = """
import sys, time, rdflib, owlrl
graph = rdflib.Graph().parse(sys.argv[1])
started = time.process_time()
owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
print(len(graph), time.process_time() - started)
"""
REASONABLE = """
import sys, time, reasonable
reasoner = reasonable.PyReasoner()
reasoner.load_file(sys.argv[1])
started = time.process_time()
print(len(reasoner.reason()), time.process_time() - started)
"""


def peers(folder: Path, python: str) -> bool:
    for names in (30, 100, 300):
        file = folder / "clique.ttl"
        facts = clique(names, "sameAs")
        file.write_text(ONTOLOGY + "\n".join(f"<{a}> <{p}> <{b}> ." for p, rows in facts.items() for a, b in rows))
        for way in WAYS:
            kb = KnowledgeBase(ontology=file, equality=way)
            report, seconds = timed(kb.materialise)
            print(f"{names} names: deltalog, {way}: {report.facts_total:,} facts in {seconds:.3f} s")
        for name, program in (("reasonable", REASONABLE), ("owlrl", OWLRL)):
            if name == "owlrl" and names > 30:
                continue
            ran = subprocess.run([python, "-c", program, str(file)], capture_output=True, text=True, timeout=600)
            print(f"{names} names: {name} (triples, seconds): {ran.stdout.strip() or ran.stderr.strip()[-200:]}")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equality")
    parser.add_argument("what", choices=["cliques", "lubm", "peers"])
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _empty(Path(folder), "representatives").update(add=clique(50, "sameAs"))
        if options.what == "peers":
            return not peers(Path(folder), options.python)
        return not (cliques if options.what == "cliques" else with_duplicates)(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
