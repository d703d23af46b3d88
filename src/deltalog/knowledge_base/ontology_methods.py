"""The methods of a knowledge base that take ontologies: a base class of `KnowledgeBase`.

load_ontology, remove_ontology   rules and facts of ontology files come and go
_planned_change, _with_axioms    axioms among facts: the rules follow them
inconsistencies                  what contradicts the ontology
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from deltalog.core.arguments import told
from deltalog.core.concurrency.locks import CallLock, exclusive
from deltalog.core.errors import UsageError
from deltalog.core.limits import limited, within_budget
from deltalog.core.rules import UNNAMED, Atom, Constant, Pred, Rule
from deltalog.core.user_warnings import warn
from deltalog.extensions.ontology.planned import Planned, RequestedChange
from deltalog.extensions.ontology.profile_names import check_profile
from deltalog.formats.documents import Reading
from deltalog.formats.files import local_path

if TYPE_CHECKING:
    from pathlib import Path

    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.change import Change
    from deltalog.evaluation.maintenance.materialisation import Materialisation
    from deltalog.extensions.ontology.graph import RdfTriple
    from deltalog.extensions.ontology.inconsistencies import Inconsistency
    from deltalog.extensions.ontology.state import Ontology
    from deltalog.extensions.store.store import Store
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.program.rule_set import RuleSet

OntologyPaths = str | PathLike[str] | Iterable[str | PathLike[str]]


def ontology_files(given: OntologyPaths) -> list[str | PathLike[str]]:
    """One file or several, as a list."""
    if isinstance(given, str | PathLike):
        return [given]
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"expected the paths of ontology files, such as ['univ.owl'], and not {told(given)}")
    return list(given)


def warn_of_notes(notes: Iterable[str]) -> None:
    """Says what was asked for and did not happen, where no change is returned that could say so."""
    for note in notes:
        warn(note)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


class OntologyMethods:
    """A knowledge base as far as ontologies are concerned."""

    prefixes: Mapping[str, str]
    _backend: Backend[Any]
    _lock: CallLock
    _rule_set: RuleSet
    _explicit: dict[Pred, Any]
    _state: Materialisation[Any] | None
    _store: Store | None
    _ontology: Ontology | None = None

    @property
    def _kb(self) -> KnowledgeBase:
        """The knowledge base that this is."""
        return cast("KnowledgeBase", self)

    @property
    def ontology(self) -> Ontology | None:
        """The ontology: `.rules` that it became, `.compiled.outside` with the axioms of which something is lost."""
        return self._ontology

    @exclusive
    @limited
    @within_budget
    def load_ontology(
        self, *paths: str | PathLike[str], profile: str | None = None, base: str | None = None
    ) -> Change | None:
        """Adds the axioms of ontology files (Turtle, RDF/XML, N-Triples) as rules, and their facts.

        profile: "owl2rl" (the default) or "rdfs" compile axioms to rules of their own; "owl2rl-rdf" takes the OWL 2
        RL/RDF rules as they are, and the axioms as facts. One knowledge base has one profile.
        Documents that the files import (owl:imports) are read, too, if they are found without the network; for each one
        that is not, there is a warning, and `ontology.missing_imports` has it.
        Returns the change, if there is a materialisation.
        """
        from deltalog.extensions.ontology.imports import with_imports
        from deltalog.extensions.ontology.load import read_document, read_ontology

        reading, ontology = Reading(base), self._of_profile(profile)
        given = [file for path in paths for file in read_ontology(local_path(path), reading)]
        files = with_imports(given, ontology.files, lambda path: read_document(path, reading))
        change = self._change_ontology(ontology.with_files(files))
        self._warn_of_missing({file.path for file in files})
        return change

    @exclusive
    @limited
    @within_budget
    def remove_ontology(self, *paths: str | PathLike[str]) -> Change | None:
        """Removes the axioms and facts of ontology files, or of folders of them, that were loaded. Returns the change,
        if there is a materialisation."""
        ontology = self._of_profile(None)
        gone = [file for path in paths for file in ontology.loaded_from(local_path(path))]
        self._check_loaded(gone, ontology)
        return self._change_ontology(ontology.without_files(gone))

    def _warn_of_missing(self, loaded: Collection[Path]) -> None:
        assert self._ontology is not None
        for each in self._ontology.missing_imports:
            if each.by in loaded:
                warn(str(each))

    def _check_loaded(self, paths: Iterable[Path], ontology: Ontology) -> None:
        loaded = [file.path.resolve() for file in ontology.files]
        for path in paths:
            if path.resolve() not in loaded:
                known = ", ".join(str(file.path) for file in ontology.files) or "there is none"
                raise UsageError(f"{path}: no such ontology was loaded; loaded: {known}")

    def _of_profile(self, profile: str | None) -> Ontology:
        """The present ontology, or an empty one of a profile."""
        from deltalog.extensions.ontology.state import Ontology

        if self._ontology is None:
            return Ontology(check_profile("owl2rl" if profile is None else profile))
        if profile is not None and check_profile(profile) != self._ontology.profile:
            raise UsageError(
                f"the ontology has the profile {self._ontology.profile}; use another knowledge base for {profile}"
            )
        return self._ontology

    def _change_ontology(self, ontology: Ontology) -> Change | None:
        kb = self._kb
        kb._check_writable()
        ontology = self._compiled(ontology, self._rule_set, self._explicit)
        planned = self._planned(self._rule_set, {}, {}, ontology)
        prefixes = {**ontology.prefixes, **self.prefixes}
        if self._state is None and self._store is None:
            explicit = self._united(self._less(self._explicit, planned.remove), planned.add)
            after = dict[str, Any](_explicit=explicit, _rule_set=planned.rule_set, _program=None, prefixes=prefixes)
            kb._assign(**after, _ontology=planned.ontology, _mentioned=kb._mentioned | planned.rule_set.preds)
            return None
        return kb._change_planned(planned, prefixes)[0]

    # Axioms among facts.

    def _planned_change(self, rule_set: RuleSet, asked: RequestedChange) -> Planned:
        """The change that a user asks for, as a change of rules and explicit facts."""
        return self._with_axioms(rule_set, *self._kb._with_graphs(asked.add, asked.remove), asked)

    def _with_axioms(
        self, rule_set: RuleSet, add: dict[Pred, Any], remove: dict[Pred, Any], asked: RequestedChange
    ) -> Planned:
        """A change of explicit facts, with the change of rules that axioms among what was asked for are."""
        old, changed = self._ontology, add.keys() | remove.keys()
        if old is None:
            return Planned(rule_set, add, remove, None)
        self._check_rules_removed(rule_set, old)
        ontology = self._without_removed(old.giving_up(asked.rules), asked)
        rules = None if rule_set is self._rule_set else ontology.others(rule_set.rules)
        if ontology.files != old.files or ontology.follows(changed, rules):
            ontology = self._compiled(ontology, rule_set, self._united(self._less(self._explicit, remove), add))
        elif ontology is old and rules is None and ontology.stated.isdisjoint(changed):
            return Planned(rule_set, add, remove, ontology, tuple(self._not_stated(old, asked)))
        planned = self._planned(rule_set, add, remove, ontology)
        notes = (
            *self._not_stated(old, asked),
            *self._still_stated(ontology, asked),
            *self._kept_rules(rule_set, planned),
        )
        return planned._replace(notes=notes)

    def _check_rules_removed(self, rule_set: RuleSet, ontology: Ontology) -> None:
        """UsageError if a rule of the ontology alone is to be removed: it would come back with the next axiom."""
        for name, rule in self._rule_set.without(rule_set).items():
            if rule in ontology.own_rules:
                axiom = next((f", {each.axiom}" for each in ontology.compiled.entries if rule in each.rules), "")
                raise UsageError(
                    f"{name} is a rule of the ontology{axiom}; remove its axiom as a fact, by update(remove=...), or "
                    "the file, by remove_ontology(...)"
                )

    def _without_removed(self, ontology: Ontology, asked: RequestedChange) -> Ontology:
        """The ontology without the axioms that are to be removed: those of its files go like those among facts."""
        removed, stated = self._axioms_to_remove(ontology, asked), ontology.triples_by_predicate
        concerned = {pred: self._tables(stated[pred])[pred] for pred in stated.keys() & removed.keys()}
        found = self._atoms(self._kb._triples.common(concerned, removed))
        return ontology.without_triples({stated[atom.pred][atom] for atom in found}) if found else ontology

    def _axioms_to_remove(self, ontology: Ontology, asked: RequestedChange) -> dict[Pred, Any]:
        from deltalog.extensions.ontology.vocabulary import AXIOM_PREDICATES

        found = {} if ontology.is_generic else self._asked_to_remove(asked)
        return {pred: table for pred, table in found.items() if pred in AXIOM_PREDICATES}

    def _asked_to_remove(self, asked: RequestedChange) -> dict[Pred, Any]:
        """The facts that are to be removed from the unnamed graph, and not added as well."""
        removed = {pred: table for pred, table in asked.remove.items() if not pred.hidden}
        if UNNAMED in asked.remove:
            removed = self._united(removed, self._kb._triples.by_predicate(asked.remove[UNNAMED]))
        return self._less(removed, asked.add)

    # What is asked for and does not happen.

    def _not_stated(self, ontology: Ontology, asked: RequestedChange) -> Iterator[str]:
        """Of axioms that are to be removed, those that nobody states."""
        axioms = self._axioms_to_remove(ontology, asked)
        stated = {pred: ontology.triples_by_predicate.get(pred, {}) for pred in axioms}
        of_files = self._tables(atom for atoms in stated.values() for atom in atoms)
        for pred, table in self._less(self._less(axioms, self._explicit), of_files).items():
            if unknown := self._backend.size(table):
                yield (
                    f"{_counted(unknown, 'axiom')} of {pred.name} to remove: no fact and no ontology file states this; "
                    "axioms with blank nodes go with their file, by `remove_ontology`"
                )

    def _still_stated(self, ontology: Ontology, asked: RequestedChange) -> Iterator[str]:
        """Of facts that are to be removed, those that the ontology states: they stay as long as it does."""
        removed = self._asked_to_remove(asked)
        stated = self._tables(fact for fact in ontology.facts if fact.pred in removed)
        for pred, table in self._kb._triples.common(stated, removed).items():
            if kept := self._backend.size(table):
                yield (
                    f"{_counted(kept, 'fact')} of {pred.name} to remove: the ontology states this; `remove_ontology` "
                    "removes its files"
                )

    def _kept_rules(self, rule_set: RuleSet, planned: Planned) -> Iterator[str]:
        for name in self._rule_set.without(rule_set):
            if name in planned.rule_set.ids:
                yield f"{name} stays, because it is a rule of the ontology, too"

    def _united(self, first: Mapping[Pred, Any], second: Mapping[Pred, Any]) -> dict[Pred, Any]:
        from deltalog.evaluation.backend import united

        return united(first, second, self._backend)

    def _less(self, tables: Mapping[Pred, Any], removed: Mapping[Pred, Any]) -> dict[Pred, Any]:
        from deltalog.evaluation.backend import without

        return without(tables, removed, self._backend)

    def _compiled(self, ontology: Ontology, rule_set: RuleSet, explicit: Mapping[Pred, Any]) -> Ontology:
        """The ontology compiled, beside explicit facts and the rules of the user."""
        from deltalog.extensions.ontology.known_predicates import KnownPredicates

        known = KnownPredicates(frozenset(explicit)).and_rules(ontology.others(rule_set.rules))
        return ontology.compiled_with(self._axioms_of(explicit), known)

    def _axioms_of(self, explicit: Mapping[Pred, Any]) -> Iterable[RdfTriple]:
        """The triples of axioms among explicit facts."""
        from deltalog.evaluation.facts import rows
        from deltalog.extensions.ontology.graph import triples_of
        from deltalog.extensions.ontology.vocabulary import AXIOM_PREDICATES

        found = {pred: table for pred, table in explicit.items() if pred in AXIOM_PREDICATES}
        return triples_of({pred: rows(table, pred.arity, self._backend) for pred, table in found.items()})

    def _planned(self, rule_set: RuleSet, add: dict[Pred, Any], remove: dict[Pred, Any], ontology: Ontology) -> Planned:
        """A change that also takes the rules and facts of the old ontology away, and adds those of the new one. What
        the user has given, too, stays the user's."""
        old, united = self._ontology, self._united
        kept = dict.fromkeys(ontology.others(rule_set.rules))
        own_rules = frozenset(rule for rule in ontology.rules if rule not in kept)
        owned, stated = self._tables(old.own_facts if old is not None else ()), self._tables(ontology.facts)
        concerned = {pred: self._explicit[pred] for pred in owned.keys() | stated.keys() if pred in self._explicit}
        of_user = united(self._less(self._less(concerned, owned), remove), add)
        own = self._less(stated, of_user)
        ontology = replace(ontology, own_rules=own_rules, own_facts=self._atoms(own))
        rule_set = rule_set.becoming([*kept, *ontology.rules])
        after = united(self._less(self._explicit, remove), add)
        gone = self._less(self._less(owned, own), of_user)
        come, gone = self._kb._in_unnamed_graph(after, own, gone)
        return Planned(rule_set, united(add, come), united(remove, gone), ontology)

    def _tables(self, facts: Iterable[Atom]) -> dict[Pred, Any]:
        from deltalog.evaluation.encode_facts import encode_facts_of

        return encode_facts_of([Rule((fact,)) for fact in facts], self._backend)

    def _atoms(self, tables: Mapping[Pred, Any]) -> frozenset[Atom]:
        from deltalog.evaluation.facts import rows

        found = ((pred, row) for pred, table in tables.items() for row in rows(table, pred.arity, self._backend))
        return frozenset(Atom(pred.name, tuple(map(Constant, row))) for pred, row in found)

    def _reopen_ontology(self, stored: Mapping[str, Any]) -> None:
        """Takes over the ontology of a store."""
        from deltalog.extensions.ontology.stored import reopened

        ontology = reopened(stored, self._axioms_of(self._explicit), self._explicit)
        self._kb._assign(_ontology=ontology)

    # Inconsistencies.

    @property
    @exclusive
    @limited
    @within_budget
    def inconsistencies(self) -> list[Inconsistency]:
        """Contradictions between facts and the ontology: each has an individual, an axiom, a rule, and facts. They do
        not make everything follow: the materialisation stays usable."""
        from deltalog.extensions.ontology.inconsistencies import inconsistencies

        kb = self._kb
        contents = kb._contents().materialised()
        return inconsistencies(contents, kb.rules, lambda goal: kb.query(goal, "materialised"))

    @exclusive
    def count_inconsistencies(self) -> int:
        """How many `inconsistencies` there are, without finding the facts of each."""
        from deltalog.extensions.ontology.inconsistencies import count_inconsistencies

        return count_inconsistencies(self._kb._contents().materialised())
