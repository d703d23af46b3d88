"""W3C's OWL 2 test cases of the profile RL under the RDF-based semantics, by their manifest.

    python -m benchmarks.owl_tests [MANIFEST] [--python EXE]

MANIFEST is a file in the format of the W3C's suite, such as its `all.rdf` or `profile-RL.rdf`; without one, our own
cases in that format are run (`tests/ontology/owl_tests/rules.py`, every rule of tables 4 to 9). EXE is an interpreter
with owlrl, which runs the same tests. Each miss is listed with what is missing; compiled rules derive no schema
triples, and such misses say so. The exit code is 1 if the rules for all ontologies miss a test that owlrl passes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.ontology import terms_of
from tests.ontology.owl_tests.manifest import (
    POSITIVE,
    Closure,
    OwlTest,
    closure,
    failures,
    is_about_schema,
    read_manifest,
    write_documents,
)
from tests.ontology.owl_tests.rules import write_manifest

Missed = dict[str, str]
OWLRL = """
import json, sys, owlrl, rdflib
from pathlib import Path
for folder in sys.argv[1:]:
    graph = rdflib.Graph()
    for path in Path(folder).glob("*.rdf"):
        if path.name != "conclusion.rdf":
            graph.parse(path, format="xml")
    try:
        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    except Exception as problem:
        print(json.dumps(str(problem)))
        continue
    terms = lambda t: [type(t).__name__, str(t), str(getattr(t, "datatype", None) or ""), getattr(t, "language", None)]
    print(json.dumps([[terms(t) for t in triple] for triple in graph]))
"""


def ours(tests: list[OwlTest], profile: str, folder: Path) -> Missed:
    missed = {}
    for test in tests:
        try:
            wrong = failures(test, closure(test, profile, folder / test.name), folder / test.name)
        except Exception as problem:  # a test that cannot be read is missed
            wrong = [f"{type(problem).__name__}: {problem}"]
        if wrong:
            missed[test.name] = "; ".join(wrong)
    return missed


def owlrls(tests: list[OwlTest], python: str, folder: Path) -> Missed:
    folders = [write_documents(test, folder / test.name).parent for test in tests]
    run = subprocess.run([python, "-c", OWLRL, *map(str, folders)], capture_output=True, text=True, check=True)
    missed = {}
    for test, place, line in zip(tests, folders, run.stdout.splitlines(), strict=True):
        found = json.loads(line)
        if isinstance(found, str):
            missed[test.name] = found
            continue
        graph = frozenset(terms_of(found))
        wrong = failures(test, Closure(graph, any(str(p).endswith("agent-ont#error") for _, p, _ in graph)), place)
        if wrong:
            missed[test.name] = "; ".join(wrong)
    return missed


def show(name: str, tests: list[OwlTest], missed: Missed, folder: Path, why: bool = False) -> None:
    print(f"{name}: {len(tests) - len(missed)} of {len(tests)} tests")
    by_name = {test.name: test for test in tests}
    for test, wrong in missed.items():
        schema = why and POSITIVE in by_name[test].kinds and is_about_schema(by_name[test], folder)
        print(f"  {test}: {wrong}{' (compiled rules derive no schema triples)' if schema else ''}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", nargs="?", type=Path)
    parser.add_argument("--python", help="an interpreter with owlrl")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        everything = read_manifest(options.manifest or write_manifest(folder / "own"))
        tests = [test for test in everything if test.applies]
        print(f"{len(tests)} of {len(everything)} tests are of the profile RL, with documents in RDF/XML")
        generic = ours(tests, "owl2rl-rdf", folder)
        show("owl2rl-rdf", tests, generic, folder)
        show("owl2rl", tests, ours(tests, "owl2rl", folder), folder, why=True)
        if not options.python:
            return 0
        theirs = owlrls(tests, options.python, folder)
        show("owlrl", tests, theirs, folder)
        return 1 if generic.keys() - theirs.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
