"""Changes of knowledge bases that have an ontology.

A change asks for facts and rules. The ontology is compiled again if the change reaches what its rules depend on; the
rules and facts that it no longer has go, those that it has now come. What the user has given, too, stays the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deltalog.core.errors import UsageError
from deltalog.core.rules import UNNAMED, Atom, Constant, Pred, Rule
from deltalog.evaluation.backend import Backend, united, without
from deltalog.evaluation.encode_facts import encode_facts_of
from deltalog.evaluation.facts import rows
from deltalog.evaluation.state import ChangeRequest, State
from deltalog.extensions.graphs.extension import Graphs
from deltalog.extensions.graphs.membership import TripleTables
from deltalog.extensions.ontology.extension import NAME, ontology_of
from deltalog.extensions.ontology.graph import RdfTriple, triples_of
from deltalog.extensions.ontology.known_predicates import KnownPredicates
from deltalog.extensions.ontology.state import Ontology
from deltalog.extensions.ontology.vocabulary import AXIOM_PREDICATES
from deltalog.program.rule_set import RuleSet


def axioms_among(explicit: Mapping[Pred, Any], backend: Backend[Any]) -> Iterable[RdfTriple]:
    """The triples of axioms among explicit facts."""
    found = {pred: table for pred, table in explicit.items() if pred in AXIOM_PREDICATES}
    return triples_of({pred: rows(table, pred.arity, backend) for pred, table in found.items()})


@dataclass(frozen=True)
class RequestRewriting:
    """A request, the state before it, and their differences as the ontology sees them."""

    request: ChangeRequest[Any]
    state: State[Any]
    backend: Backend[Any]
    graphs: Graphs

    def rewritten(self) -> ChangeRequest[Any]:
        old, request = ontology_of(self.state), self.request
        given: Ontology | None = request.kept.get(NAME)
        if given is not None or old is None:
            assert given is not None
            return self._with(self._compiled(given))
        self._check_rules_removed(old)
        same_rules = request.rule_set is self.state.rule_set
        ontology = self._without_removed(old.giving_up(request.rules))
        changed = request.add.keys() | request.remove.keys()
        rules = None if same_rules else ontology.others(request.rule_set.rules)
        if ontology.files != old.files or ontology.follows(changed, rules):
            ontology = self._compiled(ontology)
        elif ontology is old and same_rules and ontology.stated.isdisjoint(changed):
            return replace(request, notes=(*request.notes, *self._not_stated(old)))
        made = self._with(ontology)
        notes = (*self._not_stated(old), *self._still_stated(ontology), *self._kept_rules(made.rule_set))
        return replace(made, notes=(*request.notes, *notes))

    def _compiled(self, ontology: Ontology) -> Ontology:
        """The ontology compiled, beside the explicit facts and the rules of the user after the change."""
        explicit = self._united(self._less(self.state.explicit, self.request.remove), self.request.add)
        rules = ontology.others(self.request.rule_set.rules)
        known = KnownPredicates(frozenset(explicit)).and_rules(rules)
        return ontology.compiled_with(axioms_among(explicit, self.backend), known)

    def _with(self, ontology: Ontology) -> ChangeRequest[Any]:
        """The request with the rules and facts of an ontology, which take the place of those of the old one."""
        old, united, less = ontology_of(self.state), self._united, self._less
        explicit, add, remove = self.state.explicit, self.request.add, self.request.remove
        kept = dict.fromkeys(ontology.others(self.request.rule_set.rules))
        own_rules = frozenset(rule for rule in ontology.rules if rule not in kept)
        owned, stated = self._tables(old.own_facts if old is not None else ()), self._tables(ontology.facts)
        concerned = {pred: explicit[pred] for pred in owned.keys() | stated.keys() if pred in explicit}
        of_user = united(less(less(concerned, owned), remove), add)
        own = less(stated, of_user)
        ontology = replace(ontology, own_rules=own_rules, own_facts=self._atoms(own))
        after = united(less(explicit, remove), add)
        gone = less(less(owned, own), of_user)
        come, gone = self.graphs.in_unnamed_graph(after, own, gone, self.backend)
        return replace(
            self.request,
            rule_set=self.request.rule_set.becoming([*kept, *ontology.rules]),
            add=united(add, come),
            remove=united(remove, gone),
            kept={**self.request.kept, NAME: ontology},
        )

    # Axioms that are to be removed.

    def _check_rules_removed(self, ontology: Ontology) -> None:
        """UsageError if a rule of the ontology alone is to be removed: it would come back with the next axiom."""
        for name, rule in self.state.rule_set.without(self.request.rule_set).items():
            if rule in ontology.own_rules:
                axiom = next((f", {each.axiom}" for each in ontology.compiled.entries if rule in each.rules), "")
                raise UsageError(
                    f"{name} is a rule of the ontology{axiom}; remove its axiom as a fact, by update(remove=...), or "
                    "the file, by remove_ontology(...)"
                )

    def _without_removed(self, ontology: Ontology) -> Ontology:
        """The ontology without the axioms that are to be removed: those of its files go like those among facts."""
        removed, stated = self._axioms_to_remove(ontology), ontology.triples_by_predicate
        concerned = {pred: self._tables(stated[pred])[pred] for pred in stated.keys() & removed.keys()}
        found = self._atoms(self._triples.common(concerned, removed))
        return ontology.without_triples({stated[atom.pred][atom] for atom in found}) if found else ontology

    def _axioms_to_remove(self, ontology: Ontology) -> dict[Pred, Any]:
        found = {} if ontology.is_generic else self._facts_to_remove()
        return {pred: table for pred, table in found.items() if pred in AXIOM_PREDICATES}

    def _facts_to_remove(self) -> dict[Pred, Any]:
        """The facts that are to be removed from the unnamed graph, and not added as well."""
        add, remove = self.request.asked_facts
        removed = {pred: table for pred, table in remove.items() if not pred.hidden}
        if UNNAMED in remove:
            removed = self._united(removed, self._triples.by_predicate(remove[UNNAMED]))
        return self._less(removed, add)

    # What is asked for and does not happen.

    def _not_stated(self, ontology: Ontology) -> Iterator[str]:
        """Of axioms that are to be removed, those that nobody states."""
        axioms = self._axioms_to_remove(ontology)
        stated = {pred: ontology.triples_by_predicate.get(pred, {}) for pred in axioms}
        of_files = self._tables(atom for atoms in stated.values() for atom in atoms)
        for pred, table in self._less(self._less(axioms, self.state.explicit), of_files).items():
            if unknown := self.backend.size(table):
                yield (
                    f"{_counted(unknown, 'axiom')} of {pred.name} to remove: no fact and no ontology file states this; "
                    "axioms with blank nodes go with their file, by `remove_ontology`"
                )

    def _still_stated(self, ontology: Ontology) -> Iterator[str]:
        """Of facts that are to be removed, those that the ontology states: they stay as long as it does."""
        removed = self._facts_to_remove()
        stated = self._tables(fact for fact in ontology.facts if fact.pred in removed)
        for pred, table in self._triples.common(stated, removed).items():
            if kept := self.backend.size(table):
                yield (
                    f"{_counted(kept, 'fact')} of {pred.name} to remove: the ontology states this; `remove_ontology` "
                    "removes its files"
                )

    def _kept_rules(self, after: RuleSet) -> Iterator[str]:
        for name in self.state.rule_set.without(self.request.rule_set):
            if name in after.ids:
                yield f"{name} stays, because it is a rule of the ontology, too"

    # Tables.

    @property
    def _triples(self) -> TripleTables[Any]:
        return TripleTables(self.backend)

    def _united(self, first: Mapping[Pred, Any], second: Mapping[Pred, Any]) -> dict[Pred, Any]:
        return united(first, second, self.backend)

    def _less(self, tables: Mapping[Pred, Any], removed: Mapping[Pred, Any]) -> dict[Pred, Any]:
        return without(tables, removed, self.backend)

    def _tables(self, facts: Iterable[Atom]) -> dict[Pred, Any]:
        return encode_facts_of([Rule((fact,)) for fact in facts], self.backend)

    def _atoms(self, tables: Mapping[Pred, Any]) -> frozenset[Atom]:
        found = ((pred, row) for pred, table in tables.items() for row in rows(table, pred.arity, self.backend))
        return frozenset(Atom(pred.name, tuple(map(Constant, row))) for pred, row in found)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
