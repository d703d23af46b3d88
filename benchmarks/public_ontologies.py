"""Closures of public ontologies against owlrl's: the rules for all ontologies (profile owl2rl-rdf).

    python -m benchmarks.public_ontologies --python EXE [--only foaf,skos] [--out FILE]

Ontologies come from npm, from the packages @vocabulary/NAME (each has one ontology as N-Quads), fetched by `npm pack`
into a temporary folder. EXE is an interpreter with owlrl. Blank nodes become IRIs before both are run, so that closures
are comparable as sets of triples. Not compared, as the reasoners differ by choice:

  axioms     triples with names of RDF, RDFS, OWL and XML Schema only: both state different axiomatic triples
  eq-ref     x owl:sameAs x, which only owlrl derives for everything
  literals   triples about literals as subjects, which are no RDF

The table has the numbers of triples that only one side has, after that, with the reasons (`only_owlrl`, `only_ours`),
and our seconds of the processor. The exit code is 1 if a difference has no explanation.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.ontology import OWLRL, terms_of
from deltalog import KnowledgeBase
from deltalog.core.rules import TRIPLES
from deltalog.core.terms import IRI, RDF, XSD
from deltalog.extensions.ontology.graph import RdfTriple, triples_of
from deltalog.extensions.ontology.vocabulary import OWL, RDFS, SAME_AS
from deltalog.knowledge_base.calls import session_of

NAMES = (
    *("foaf", "skos", "dcterms", "prov", "time", "ssn", "sosa", "org", "dcat", "gr", "vcard", "doap", "sioc", "qb"),
    *("as", "void", "cc", "bibo", "geo", "sh", "hydra", "ldp", "oa", "dash", "rdfs", "owl"),
)
UNEXPLAINED = "unexplained:"
SKOLEM = "http://example.org/.well-known/genid/"
QUOTED_OR_BLANK = re.compile(r'"(?:[^"\\]|\\.)*"|_:(\w+)')
RESERVED = (RDF, RDFS, OWL, XSD)
Triples = set[RdfTriple]


def fetched(name: str, folder: Path) -> Path:
    """An ontology as N-Triples without blank nodes."""
    command = ["npm", "pack", f"@vocabulary/{name}", "--silent", "--pack-destination", str(folder)]
    packed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
    with tarfile.open(folder / packed) as archive:
        member = next(each for each in archive.getnames() if each.endswith(f"/{name}.nq"))
        source = archive.extractfile(member)
        assert source is not None
        (folder / f"{name}.nq").write_bytes(source.read())
    kb = KnowledgeBase()
    kb.load(folder / f"{name}.nq")
    kb.write(folder / name, "nt")
    path = folder / f"{name}.nt"
    text = (folder / name / "facts.nt").read_text()
    path.write_text(QUOTED_OR_BLANK.sub(lambda m: m[0] if m[1] is None else f"<{SKOLEM}{m[1]}>", text))
    return path


def _triples(kb: KnowledgeBase) -> Triples:
    preds = [session_of(kb).predicate(name) for name in kb.predicates]
    return set(triples_of({pred: kb.facts(str(pred)) for pred in preds if ":" in pred.name or pred == TRIPLES}))


def by_us(path: Path, program: str = "") -> Triples:
    kb = KnowledgeBase(program, ontology=path, profile="owl2rl-rdf")
    kb.materialise()
    return _triples(kb)


def by_owlrl(path: Path, python: str, timeout: float) -> Triples | None:
    """None if it takes too long."""
    try:
        run = subprocess.run(
            [python, "-c", OWLRL, str(path)], capture_output=True, text=True, check=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return None
    return set(terms_of(json.loads(run.stdout)))


def compared(triples: Triples) -> Triples:
    """The triples that are compared."""
    return {t for t in triples if isinstance(t[0], IRI) and not _is_axiomatic(t) and not _is_same(t)}


def _is_same(triple: RdfTriple) -> bool:
    return str(triple[1]) == SAME_AS and triple[0] == triple[2]


def _is_axiomatic(triple: RdfTriple) -> bool:
    return all(isinstance(term, IRI) and term.startswith(RESERVED) for term in triple)


SUB_PROPERTY, SUB_CLASS = RDFS + "subPropertyOf", RDFS + "subClassOf"
SAME_PROPERTY, SAME_CLASS = OWL + "equivalentProperty", OWL + "equivalentClass"


def only_owlrl(triple: RdfTriple, by_eq_ref: Triples) -> str:
    """Why owlrl has a triple that the tables of OWL 2 RL do not derive without eq-ref."""
    if triple in by_eq_ref:
        return "eq-ref, and then the domain or range of owl:sameAs"
    if triple[0] == triple[2] and str(triple[1]) in (SUB_PROPERTY, SAME_PROPERTY):
        return "scm-op and scm-dp for every rdf:Property, not only for object and data properties"
    return f"{UNEXPLAINED} {shape(triple)}"


def only_ours(triple: RdfTriple) -> str:
    """Why we have a triple that owlrl does not derive, and the tables do."""
    if triple[0] == triple[2] and str(triple[1]) in (SUB_PROPERTY, SAME_PROPERTY, SUB_CLASS, SAME_CLASS):
        return "scm-sco and scm-spo around a cycle, which owlrl leaves out"
    if not isinstance(triple[2], IRI):
        return "dt-eq and eq-rep-o: equal literals of other datatypes"
    return f"{UNEXPLAINED} {shape(triple)}"


def shape(triple: RdfTriple) -> str:
    """A triple without names of users."""
    return " ".join(str(term) if isinstance(term, IRI) and term.startswith(RESERVED) else "..." for term in triple)


def counted(reasons: Counter[str]) -> str:
    return "; ".join(f"{count:,}: {reason}" for reason, count in reasons.most_common())


def line(name: str, path: Path, python: str, timeout: float) -> tuple[str, bool]:
    started = time.process_time()
    ours = by_us(path)
    seconds = time.process_time() - started
    theirs = by_owlrl(path, python, timeout)
    stated = sum(1 for _ in path.open())
    if theirs is None:
        return f"| {name} | {stated:,} | {seconds:.2f} | {len(compared(ours)):,} | none in {timeout:.0f} s | | |", True
    ours, theirs = compared(ours), compared(theirs)
    by_eq_ref = compared(by_us(path, "@owl2rl-eq-ref")) - ours if theirs - ours else set()
    missing = Counter(only_owlrl(triple, by_eq_ref) for triple in theirs - ours)
    more = Counter(map(only_ours, ours - theirs))
    fine = not any(reason.startswith(UNEXPLAINED) for reason in (*missing, *more))
    both = f"{len(ours):,} | {len(theirs):,} | {counted(missing)} | {counted(more)}"
    return f"| {name} | {stated:,} | {seconds:.2f} | {both} |", fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with owlrl")
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for owlrl, each")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = ["| ontology | triples | s | ours | owlrl's | only owlrl | only ours |", "| --- " * 7 + "|"]
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(",") if options.only else NAMES:
            text, good = line(name, fetched(name, Path(folder)), options.python, options.timeout)
            print(text, flush=True)
            lines.append(text)
            fine &= good
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
