"""`deltalog ontology`: the rules that an ontology becomes, and what is lost."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from deltalog.apps.cli.options import add_profile, command_parser, counted, local

if TYPE_CHECKING:
    from deltalog.extensions.ontology.compile import Entry
    from deltalog.extensions.ontology.state import Ontology


def parser() -> ArgumentParser:
    made = command_parser(
        "ontology",
        "Compile ontologies (RDFS, OWL 2 RL, SWRL) to rules, and print them. What is lost goes to standard error.",
    )
    made.add_argument("files", metavar="FILE", type=local, nargs="+", help="an ontology: .ttl, .owl, .rdf or .nt")
    add_profile(made)
    made.add_argument("--out", metavar="RULES", type=local, help="write the rules to this file instead")
    return made


def run(options: Namespace) -> int:
    """Compiles and prints; the exit code."""
    from deltalog.extensions.ontology.imports import with_imports
    from deltalog.extensions.ontology.known_predicates import KnownPredicates
    from deltalog.extensions.ontology.load import read_document, read_ontology
    from deltalog.extensions.ontology.profile_names import check_profile
    from deltalog.extensions.ontology.state import Ontology

    files = with_imports([file for path in options.files for file in read_ontology(path)], (), read_document)
    read = Ontology(check_profile(options.profile or "owl2rl")).with_files(files)
    ontology = read.compiled_with((), KnownPredicates())
    text = _program(ontology)
    if options.out is None:
        print(text, end="", flush=True)  # before what is lost
    else:
        options.out.write_text(text, encoding="utf-8")
    for missing in ontology.missing_imports:
        print(f"warning: {missing}", file=sys.stderr)
    for entry in ontology.compiled.outside:
        print(_lost(entry, ontology), file=sys.stderr)
    print(_summary(ontology), file=sys.stderr)
    return 0


def _program(ontology: Ontology) -> str:
    if not ontology.is_generic:
        from deltalog.extensions.ontology.print_rules import print_rules

        return print_rules(ontology.compiled, ontology.prefixes)
    from deltalog.extensions.ontology.state import GENERIC
    from deltalog.languages.load_program import ready_made

    paths = [path for name in GENERIC if (path := ready_made(name)) is not None]
    return "\n".join(path.read_text("utf-8") for path in paths)


def _lost(entry: Entry, ontology: Ontology) -> str:
    place = entry.place(ontology.files)
    lost = [loss.why if loss.part == entry.axiom else str(loss) for loss in entry.losses]
    return "\n".join([f"{place}: {entry.axiom}", *(f"  lost: {each}" for each in lost)])


def _summary(ontology: Ontology) -> str:
    if ontology.is_generic:
        return f"{len(ontology.rules):,} rules for all ontologies; the axioms stay facts"
    outside = len(ontology.compiled.outside)
    lost = f"parts of {outside:,} are lost" if outside else "nothing is lost"
    rules, axioms = len(ontology.rules), ontology.compiled.axioms
    return f"{counted(rules, 'rule')} from {counted(axioms, 'axiom')}; {lost}"
