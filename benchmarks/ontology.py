"""Ontologies: compiled rules against program L, changes of axioms, a large ontology, and closures against owlrl.

    python -m benchmarks.ontology speed                     LUBM(1) and LUBM(10) with univ-bench, and an axiom more
    python -m benchmarks.ontology large                     an ontology of 10,000 classes
    python -m benchmarks.ontology closures [--python EXE]   closures of many small ontologies against owlrl's

LUBM's ontology, program and queries are published data (see `datasets`). `--python` is an interpreter that has owlrl;
by default it is the present one. Closures are compared as far as they are about individuals: without schema triples,
members of classes without a name, and owl:sameAs of an individual with itself, which only owlrl derives for all.
The exit code is 1 if a count or a closure is wrong. Seconds are of the processor, the median of three.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.datasets import published
from benchmarks.generators import lubm
from deltalog.core.terms import IRI, BlankNode, Value, literal
from deltalog.extensions.ontology.graph import RdfTriple
from deltalog.knowledge_base.calls import session_of
from deltalog.knowledge_base.facade import KnowledgeBase
from tests.ontology.closures import is_about_individuals, knowledge_base, line_of, lines
from tests.ontology.random_ontologies import PREFIXES, RandomOntology, turtle

ROOT = Path(__file__).parents[1]
UNIV_BENCH = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
PUBLISHED = (4, 0, 6, 34, 719, 7790, 67, 7790, 208, 4, 224, 15, 1, 5916)  # answers of LUBM(1)
NEW_AXIOM = f"""@prefix : <{UNIV_BENCH}> .
<{UNIV_BENCH}FullProfessor> <http://www.w3.org/2000/01/rdf-schema#subClassOf> :Tenured .
"""


def seconds(work: Callable[[], object], times: int = 3) -> float:
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return median(found)


# Speed.


def speed(folder: Path) -> bool:
    ontology, program = published("lubm/univ-bench.owl"), published("lubm/rules/LUBM_L.rdfox.dlog")
    fine = True
    for universities in (1, 10):
        data = folder / f"lubm-{universities}.nt"
        lubm.write(universities, data)
        compiled, by_hand = loaded(KnowledgeBase(ontology=ontology), data), loaded(KnowledgeBase(program), data)
        mine, theirs = seconds(compiled), seconds(by_hand)
        print(f"LUBM({universities}): univ-bench {mine:.3f} s, program L {theirs:.3f} s, ratio {mine / theirs:.2f}")
        fine &= mine < 1.5 * theirs
        kb = compiled()
        if universities == 1:
            fine &= right_answers(loaded(KnowledgeBase(ontology=ontology), published("lubm/data/lubm-1.nt.gz"))())
        change_axiom(kb, folder)
    return fine


def loaded(kb: KnowledgeBase, data: Path) -> Callable[[], KnowledgeBase]:
    """Materialises facts that are loaded already."""
    kb.load(data)

    def run() -> KnowledgeBase:
        session = session_of(kb)
        session.state = replace(session.state, materialised=None)
        kb.materialise()
        return kb

    run()
    return run


def right_answers(kb: KnowledgeBase) -> bool:
    queries = [published(f"lubm/queries/q{n}.rq").read_text() for n in range(1, 15)]
    found = tuple(len(kb.solve(query)) for query in queries)
    print(f"LUBM's 14 queries: {'the published counts' if found == PUBLISHED else found}")
    return found == PUBLISHED


def change_axiom(kb: KnowledgeBase, folder: Path) -> None:
    axiom = folder / "axiom.ttl"
    axiom.write_text(NEW_AXIOM)
    kb.load_ontology(axiom)
    kb.remove_ontology(axiom)
    added = seconds(lambda: kb.load_ontology(axiom), 1)
    removed = seconds(lambda: kb.remove_ontology(axiom), 1)
    print(f"  an axiom added: {added * 1000:.0f} ms, removed: {removed * 1000:.0f} ms")


# A large ontology.


def large(folder: Path) -> bool:
    ontology, data = folder / "large.ttl", folder / "data.ttl"
    ontology.write_text(PREFIXES + "\n".join(large_ontology(Random(1), 10_000, 50)))
    data.write_text(PREFIXES + "\n".join(large_data(Random(2), 10_000, 50, 5_000)))
    KnowledgeBase(profile="owl2rl").materialise()
    started = time.process_time()
    kb = KnowledgeBase(ontology=ontology)
    compiled = time.process_time()
    kb.load(data)
    report = kb.materialise()
    derived = time.process_time()
    print(
        f"10,000 classes: {len(kb.rules):,} rules in {compiled - started:.1f} s; {report.facts_derived:,} facts derived"
    )
    print(f"  from {report.facts_in:,} in {derived - compiled:.1f} s")
    return True


def large_ontology(random: Random, classes: int, properties: int) -> Iterator[str]:
    """A tree of classes, a quarter of them defined by an existential restriction, a third with one as a superclass."""

    def restriction(below: int) -> str:
        filler = f"owl:someValuesFrom :C{random.randrange(below)}"
        return f"[ a owl:Restriction ; owl:onProperty :p{random.randrange(properties)} ; {filler} ]"

    for n in range(properties):
        yield f":p{n} a owl:ObjectProperty ." + (f" :p{n} rdfs:subPropertyOf :p{random.randrange(n)} ." if n else "")
    for n in range(1, classes):
        yield f":C{n} a owl:Class ; rdfs:subClassOf :C{random.randrange(n)} ."
        if n % 4 == 0:
            yield f":C{n} owl:equivalentClass [ owl:intersectionOf ( :C{random.randrange(n)} {restriction(n)} ) ] ."
        if n % 3 == 0:
            yield f":C{n} rdfs:subClassOf {restriction(n)} ."


def large_data(random: Random, classes: int, properties: int, individuals: int) -> Iterator[str]:
    for n in range(individuals):
        link = f":p{random.randrange(properties)} :i{random.randrange(individuals)}"
        yield f":i{n} a :C{random.randrange(classes)} ; {link} ."


# Closures.

DEVIATIONS = {  # of owlrl from the tables of OWL 2 RL, by the names of ontologies
    "functional_data": "makes different literals the same, where they are a contradiction",
    "key": "takes individuals that agree in one property of a key of two for the same",
}

OWLRL = """
import json, sys, owlrl, rdflib
for path in sys.argv[1:]:
    graph = rdflib.Graph().parse(path)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    terms = lambda t: [type(t).__name__, str(t), str(getattr(t, "datatype", None) or ""), getattr(t, "language", None)]
    print(json.dumps([[terms(t) for t in triple] for triple in graph]))
"""


def closures(folder: Path, python: str) -> bool:
    files = [*write_random(folder, 20), ROOT / "examples" / "university" / "ontology.ttl", *profile_cases()]
    run = subprocess.run([python, "-c", OWLRL, *map(str, files)], capture_output=True, text=True, check=True)
    wrong = 0
    for path, line in zip(files, run.stdout.splitlines(), strict=True):
        theirs = owlrl_lines(json.loads(line))
        for profile in ("owl2rl", "owl2rl-rdf"):
            ours = {each for each in lines(knowledge_base(path, profile)) if not each.startswith("inconsistent")}
            missing, more = theirs - ours, without_reflexive(ours) - without_reflexive(theirs)
            missing = without_reflexive(missing)
            if path.stem in DEVIATIONS and missing and not more:
                print(f"{path.name} ({profile}): owlrl {DEVIATIONS[path.stem]}")
            elif missing or more:
                wrong += 1
                print(f"{path.name} ({profile}): owlrl also has {sorted(missing)[:5]}, we also have {sorted(more)[:5]}")
    print(f"{len(files)} ontologies, {wrong} differences")
    return not wrong


def profile_cases() -> list[Path]:
    """The cases of the tests that are within OWL 2 RL."""
    from tests.ontology.test_axioms import CASES, NOT_GENERIC

    return [case for case in CASES if not case.stem.startswith(NOT_GENERIC)]


def write_random(folder: Path, count: int) -> list[Path]:
    found = []
    for seed in range(count):
        made = RandomOntology(5_000 + seed, equality=seed % 3 == 0)
        found.append(folder / f"random-{seed}.ttl")
        found[-1].write_text(turtle(made.axioms(10), made.facts(15)))
    return found


def owlrl_lines(triples: Iterable[Iterable[list[str]]]) -> set[str]:
    return {line_of(*each) for each in terms_of(triples) if is_about_individuals(*each)}


def terms_of(triples: Iterable[Iterable[list[str]]]) -> list[RdfTriple]:
    """Triples of rdflib."""
    terms = ([_value(*term) for term in triple] for triple in triples)
    return [(s, p, o) for s, p, o in terms if isinstance(p, IRI)]


def _value(kind: str, text: str, datatype: str, language: str | None) -> Value:
    if kind == "Literal":
        return literal(text, datatype or None, language)
    return IRI(text) if kind == "URIRef" else BlankNode(text)


def without_reflexive(found: set[str]) -> set[str]:
    return {line for line in found if not (" owl:sameAs " in line and line.split()[0] == line.split()[2])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "large", "closures"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "closures":
            return 0 if closures(folder, options.python) else 1
        return 0 if {"speed": speed, "large": large}[options.what](folder) else 1


if __name__ == "__main__":
    sys.exit(main())
