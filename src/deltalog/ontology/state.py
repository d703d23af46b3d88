"""The ontology of a knowledge base: its files, and the rules and facts that it has become."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deltalog.concurrency.cached import cached_property
from deltalog.model.tuning import Tuning
from deltalog.ontology.compile import CompiledOntology, compile_graph
from deltalog.ontology.graph import RdfGraph, RdfTriple
from deltalog.ontology.imports import Import, missing, still_imported
from deltalog.ontology.load import OntologyFile, merged_prefixes
from deltalog.ontology.print_rules import Prefixes
from deltalog.ontology.read_axioms import read_facts
from deltalog.ontology.vocabulary import AXIOM_PREDICATES, NOTHING, SAME_AS
from deltalog.program import read_rules
from deltalog.syntax.ast import Atom, Constant, Pred, Rule, triple

GENERIC = ("@owl2rl", "@owl2rl-datatypes")  # the rules of the profile owl2rl-rdf
_NEW_RULES = frozenset((Pred(SAME_AS, 2), Pred(str(NOTHING), 1)))  # if the data have facts of them


@dataclass(frozen=True)
class Ontology:
    """Files and axioms among the facts, compiled. A change makes a new one."""

    profile: str = "owl2rl"
    files: tuple[OntologyFile, ...] = ()
    compiled: CompiledOntology = field(default_factory=CompiledOntology)
    known: frozenset[Pred] = frozenset()  # predicates of the data
    rules: tuple[Rule, ...] = ()
    own_rules: frozenset[Rule] = frozenset()  # those that the knowledge base would not have without it
    facts: frozenset[Atom] = frozenset()
    own_facts: frozenset[Atom] = frozenset()  # the same of facts
    tuning: Tuning = field(default_factory=Tuning, compare=False)

    @property
    def is_generic(self) -> bool:
        """Whether axioms are facts, and the rules are those for all ontologies."""
        return self.profile == "owl2rl-rdf"

    @cached_property
    def stated(self) -> frozenset[Pred]:
        """The predicates of its facts."""
        return frozenset(fact.pred for fact in self.facts)

    @cached_property
    def as_json(self) -> dict[str, Any]:
        """What a store keeps of it."""
        from deltalog.ontology.stored import as_json

        return as_json(self)

    @cached_property
    def prefixes(self) -> dict[str, str]:
        return merged_prefixes(self.files)

    def with_files(self, files: Iterable[OntologyFile]) -> Ontology:
        """The ontology with files added, or read again; it is to be compiled."""
        new = {file.path.resolve(): file for file in files}
        kept = [file for file in self.files if file.path.resolve() not in new]
        return replace(self, files=tuple(still_imported([*kept, *new.values()])))

    def loaded_from(self, path: Path) -> list[Path]:
        """The files of a folder that were given; a file is itself."""
        given = [file.path for file in self.files if not file.is_imported]
        folder = path.resolve()
        return [each for each in given if folder in each.resolve().parents] or [path]

    def without_files(self, paths: Collection[Path]) -> Ontology:
        gone = {path.resolve() for path in paths}
        return replace(
            self, files=tuple(still_imported(file for file in self.files if file.path.resolve() not in gone))
        )

    @cached_property
    def missing_imports(self) -> tuple[Import, ...]:
        """The documents that its files import, and that were not found."""
        return missing(self.files)

    def follows(self, changed: Collection[Pred]) -> bool:
        """Whether a change of facts of some predicates can change the rules."""
        if self.is_generic:
            return False
        new = frozenset(changed) - self.known
        equality = self._has_equality or not _NEW_RULES.isdisjoint(new)
        return not AXIOM_PREDICATES.isdisjoint(changed) or (bool(new) and equality)

    @cached_property
    def _has_equality(self) -> bool:
        return any(entry.group == "Equality" for entry in self.compiled.entries)

    def compiled_with(self, triples: Iterable[RdfTriple], known: Iterable[Pred]) -> Ontology:
        """The ontology compiled, with axioms among the facts, for data of some predicates."""
        stated = dict.fromkeys(t for file in self.files for t in file.triples)
        if self.is_generic:
            rules = tuple(rule for rule in read_rules(GENERIC))
            facts = frozenset(_atom(each) for each in stated) | _facts(rules)
            return replace(self, rules=tuple(r for r in rules if not r.is_fact), facts=facts)
        own, others, known = RdfGraph(stated), tuple(triples), frozenset(known)
        facts = frozenset(_atom(each) for each in read_facts(stated, own))
        graph = RdfGraph(dict.fromkeys([*stated, *others])) if others else own
        preds = known | {fact.pred for fact in facts}
        compiled = compile_graph(graph, Prefixes(self.prefixes).short, self.profile, preds, self.tuning)
        rules = tuple(rule for rule in compiled.rules if not rule.is_fact)
        return replace(self, compiled=compiled, known=known, rules=rules, facts=facts | _facts(compiled.rules))


def _facts(rules: Iterable[Rule]) -> frozenset[Atom]:
    return frozenset(head for rule in rules if rule.is_fact for head in rule.heads)


def _atom(stated: RdfTriple) -> Atom:
    subject, predicate, object = map(Constant, stated)
    return triple(subject, predicate, object)
