"""The ontology of a knowledge base: its files, and the rules and facts that it has become."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.rules import Atom, Constant, Pred, Rule, triple
from deltalog.extensions.ontology.compile import CompiledOntology, compile_graph
from deltalog.extensions.ontology.graph import RdfGraph, RdfTriple
from deltalog.extensions.ontology.imports import Import, missing, still_imported
from deltalog.extensions.ontology.known_predicates import KnownPredicates
from deltalog.extensions.ontology.load import OntologyFile, merged_prefixes
from deltalog.extensions.ontology.print_rules import Prefixes
from deltalog.extensions.ontology.read_axioms import read_facts
from deltalog.extensions.ontology.vocabulary import AXIOM_PREDICATES, DIFFERENT_FROM, NOTHING, SAME_AS
from deltalog.languages.load_program import read_rules

GENERIC = ("@owl2rl", "@owl2rl-datatypes")  # the rules of the profile owl2rl-rdf
_NEW_RULES = (Pred(SAME_AS, 2), Pred(DIFFERENT_FROM, 2), Pred(str(NOTHING), 1))  # if there may be facts of them


@dataclass(frozen=True)
class Ontology:
    """Files and axioms among the facts, compiled. A change makes a new one."""

    profile: str = "owl2rl"
    files: tuple[OntologyFile, ...] = ()
    compiled: CompiledOntology = field(default_factory=CompiledOntology)
    known: KnownPredicates | None = None  # of facts and of the user's rules; None if it was compiled without them
    rules: tuple[Rule, ...] = ()
    own_rules: frozenset[Rule] = frozenset()  # those that the knowledge base would not have without it
    facts: frozenset[Atom] = frozenset()
    own_facts: frozenset[Atom] = frozenset()  # the same of facts

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
        from deltalog.extensions.ontology.stored import as_json

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

    def others(self, rules: Iterable[Rule]) -> list[Rule]:
        """Of rules, those that the knowledge base would have without it."""
        return [rule for rule in rules if rule not in self.own_rules]

    def giving_up(self, rules: Collection[Rule]) -> Ontology:
        """The ontology after the user has given rules: they are the user's, even if axioms become them, too."""
        own = self.own_rules.difference(rules)
        return self if len(own) == len(self.own_rules) else replace(self, own_rules=own)

    @cached_property
    def triples_by_predicate(self) -> Mapping[Pred, Mapping[Atom, RdfTriple]]:
        """What its files say, as facts: axioms, too."""
        found = dict[Pred, dict[Atom, RdfTriple]]()
        for stated in dict.fromkeys(each for file in self.files for each in file.triples):
            atom = _atom(stated)
            found.setdefault(atom.pred, {})[atom] = stated
        return found

    def without_triples(self, triples: Collection[RdfTriple]) -> Ontology:
        """The ontology without triples that its files say; it is to be compiled."""
        return replace(self, files=tuple(file.without(triples) for file in self.files))

    @cached_property
    def missing_imports(self) -> tuple[Import, ...]:
        """The documents that its files import, and that were not found."""
        return missing(self.files)

    def follows(self, changed: Collection[Pred], rules: Iterable[Rule] | None) -> bool:
        """Whether other facts of some predicates, or other rules of the user (None: the same), can change its rules."""
        if self.is_generic:
            return False
        if self.known is None or not AXIOM_PREDICATES.isdisjoint(changed):
            return True
        known = self.known if rules is None else KnownPredicates(self.known.facts).and_rules(rules)
        after = known.and_facts(changed)
        if self._has_equality:
            return after != self.known
        return any(after.may_have(pred) != self.known.may_have(pred) for pred in _NEW_RULES)

    @cached_property
    def _has_equality(self) -> bool:
        return any(entry.group == "Equality" for entry in self.compiled.entries)

    def compiled_with(self, triples: Iterable[RdfTriple], known: KnownPredicates) -> Ontology:
        """The ontology compiled, with axioms among the facts, beside facts and rules of some predicates."""
        stated = dict.fromkeys(t for file in self.files for t in file.triples)
        if self.is_generic:
            rules = tuple(rule for rule in read_rules(GENERIC))
            facts = frozenset(_atom(each) for each in stated) | _facts(rules)
            return replace(self, known=known, rules=tuple(r for r in rules if not r.is_fact), facts=facts)
        own, others = RdfGraph(stated), tuple(triples)
        facts = frozenset(_atom(each) for each in read_facts(stated, own))
        graph = RdfGraph(dict.fromkeys([*stated, *others])) if others else own
        preds = known.and_facts(fact.pred for fact in facts)
        compiled = compile_graph(graph, Prefixes(self.prefixes).short, self.profile, preds)
        rules = tuple(rule for rule in compiled.rules if not rule.is_fact)
        return replace(self, compiled=compiled, known=known, rules=rules, facts=facts | _facts(compiled.rules))


def _facts(rules: Iterable[Rule]) -> frozenset[Atom]:
    return frozenset(head for rule in rules if rule.is_fact for head in rule.heads)


def _atom(stated: RdfTriple) -> Atom:
    subject, predicate, object = map(Constant, stated)
    return triple(subject, predicate, object)
