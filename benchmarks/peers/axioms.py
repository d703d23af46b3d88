"""Rules as axioms of OWL 2 RL, for peers that know ontologies and not rules.

A rule with a class for its head is an axiom where its body is a tree that hangs on the head's variable, rolled up into
a class expression; one with a property for its head where its body is a path from the head's first variable to the
second:

    C(x) :- D(x)                     D SubClassOf C
    C(x) :- p(x, y)                  p Domain C;  C(y): p Range C
    C(x) :- D(x), p(x, y), E(y)      (D and p some E) SubClassOf C;  p(x, v), v a constant: p value v
    r(x, y) :- p(x, y)               p SubPropertyOf r
    r(x, y) :- p(y, x)               r InverseOf p if the rules say both; else p- SubPropertyOf r, p- InverseOf p
    r(x, y) :- r(y, x)               r Symmetric
    r(x, z) :- p(x, y), q(y, z)      p o q SubPropertyOf r
    r(x, z) :- r(x, y), r(y, z)      r Transitive

Everything else (negation, comparisons, cycles, three columns) has no axiom, and CannotExpress says so. `p-` is a helper
for the inverse of p; nobody counts its facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from benchmarks.peers.base import CannotExpress
from benchmarks.peers.tables import Clause, spelled
from deltalog.core.rules import Atom, Constant, Pred, Term
from deltalog.core.terms import RDF_TYPE

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
VALUE, NAME, INVERSE = "urn:value:", "urn:name:", "urn:inverse:"
TYPE = f"<{RDF_TYPE}>"
NO_PATH = "a property whose body is no path from the head's first variable to its second"
NO_TREE = "a class whose body is no tree"

Triple = tuple[str, str, str]
Step = tuple[str, bool]  # a property, and whether it is followed forwards


def iri(name: str) -> str:
    """The IRI of a predicate: its own, or one for a plain name."""
    return f"<{name}>" if ":" in name else f"<{NAME}{quote(name, safe='')}>"


def value(cell: str) -> str:
    """The IRI of a value as peers spell it: its own, or one that has its text. (A literal cannot be a subject.)"""
    return cell if cell.startswith("<") else f"<{VALUE}{quote(cell, safe='')}>"


def fact(pred: Pred, row: Sequence[str]) -> Triple:
    if pred.arity == 1:
        return value(row[0]), TYPE, iri(pred.name)
    if pred.arity == 2:
        return value(row[0]), iri(pred.name), value(row[1])
    raise CannotExpress(f"{pred.arity} columns: OWL has classes and properties")


def axioms(clauses: Iterable[Clause], chains: bool) -> list[Triple]:
    """The axioms of a program, as triples; `chains`: whether the peer knows property chains."""
    made = Axioms(chains, frozenset(filter(None, map(_reversal, clauses := list(clauses)))))
    for clause in clauses:
        made.add(clause)
    return list(dict.fromkeys(made.triples))


def _reversal(clause: Clause) -> tuple[str, str] | None:
    """(r, p) for the rule r(x, y) :- p(y, x)."""
    if len(clause.atoms) == 1 and clause.head.terms == clause.atoms[0].terms[::-1] and clause.head.pred.arity == 2:
        return clause.head.name, clause.atoms[0].name
    return None


@dataclass
class Axioms:
    """A translation: what the peer and the program have, and the triples so far."""

    chains: bool
    reversals: frozenset[tuple[str, str]]
    triples: list[Triple] = field(default_factory=list)
    blanks: int = 0

    def add(self, clause: Clause) -> None:
        head, body = _checked(clause)
        if not body:
            self.triples.append(fact(head.pred, [_spelled(term) for term in head.terms]))
        elif head.pred.arity == 1:
            self._class(head, body)
        else:
            self._property(head.name, path(head, body))

    def _say(self, subject: str, predicate: str, object: str) -> None:
        self.triples.append((subject, f"<{predicate}>", object))

    def _class(self, head: Atom, body: Sequence[Atom]) -> None:
        (variable,), first = head.terms, body[0]
        ends = {"domain": first.terms[0], "range": first.terms[-1]}
        if len(body) == 1 and first.pred.arity == 2 and first.terms[0] != first.terms[1] and not _constants(first):
            place = next((place for place, term in ends.items() if term == variable), "")
            return self._say(iri(first.name), RDFS + place, iri(head.name))
        waiting = list(body)
        expression = self._rolled_up(variable, waiting, {variable})
        if waiting:
            raise CannotExpress(NO_TREE)
        return self._say(expression, f"{RDFS}subClassOf", iri(head.name))

    def _rolled_up(self, variable: Term, waiting: list[Atom], seen: set[Term]) -> str:
        """The class of a variable: what is said of it, and of everything that hangs on it. Takes atoms out of those
        that wait."""
        mine = [atom for atom in waiting if variable in atom.terms]
        for atom in mine:
            waiting.remove(atom)
        parts = [iri(a.name) if a.pred.arity == 1 else self._restriction(variable, a, waiting, seen) for a in mine]
        if len(parts) < 2:
            return parts[0] if parts else f"<{OWL}Thing>"
        node = self._blank()
        self._say(node, f"{OWL}intersectionOf", self._list(parts))
        return node

    def _restriction(self, variable: Term, atom: Atom, waiting: list[Atom], seen: set[Term]) -> str:
        forward = atom.terms[0] == variable
        end, node = atom.terms[forward], self._blank()
        if end in seen:
            raise CannotExpress(NO_TREE)
        self._say(node, f"{OWL}onProperty", self._followed(atom.name, forward))
        if isinstance(end, Constant):
            self._say(node, f"{OWL}hasValue", value(_spelled(end)))
        else:
            seen.add(end)
            self._say(node, f"{OWL}someValuesFrom", self._rolled_up(end, waiting, seen))
        return node

    def _property(self, head: str, steps: Sequence[Step]) -> None:
        name, forward = steps[0]
        if steps == [(head, False)]:
            self._say(iri(head), RDF_TYPE, f"<{OWL}SymmetricProperty>")
        elif steps == [(head, True)] * 2:
            self._say(iri(head), RDF_TYPE, f"<{OWL}TransitiveProperty>")
        elif len(steps) == 1 and not forward and (name, head) in self.reversals:
            self._say(iri(min(head, name)), f"{OWL}inverseOf", iri(max(head, name)))
        elif len(steps) == 1:
            self._say(self._followed(name, forward), f"{RDFS}subPropertyOf", iri(head))
        elif self.chains:
            self._say(iri(head), f"{OWL}propertyChainAxiom", self._list([self._followed(*step) for step in steps]))
        else:
            raise CannotExpress("a chain of properties, which it does not know")

    def _followed(self, name: str, forward: bool) -> str:
        if forward:
            return iri(name)
        inverse = f"<{INVERSE}{quote(name, safe='')}>"
        self._say(inverse, f"{OWL}inverseOf", iri(name))
        return inverse

    def _list(self, items: Sequence[str]) -> str:
        nodes = [self._blank() for _ in items]
        for node, item, rest in zip(nodes, items, [*nodes[1:], f"<{RDF}nil>"], strict=True):
            self._say(node, f"{RDF}first", item)
            self._say(node, f"{RDF}rest", rest)
        return nodes[0]

    def _blank(self) -> str:
        self.blanks += 1
        return f"_:axiom{self.blanks}"


def path(head: Atom, body: Sequence[Atom]) -> list[Step]:
    """The properties on the way from the head's first variable to its second."""
    (here, end), waiting, seen, steps = head.terms, list(body), {head.terms[0]}, list[Step]()
    while waiting:
        touching = [atom for atom in waiting if here in atom.terms]
        if len(touching) != 1 or touching[0].pred.arity != 2:
            raise CannotExpress(NO_PATH)
        waiting.remove(touching[0])
        forward = touching[0].terms[0] == here
        steps.append((touching[0].name, forward))
        here = touching[0].terms[forward]
        if isinstance(here, Constant) or here in seen or (here == end and waiting):
            raise CannotExpress(NO_PATH)
        seen.add(here)
    if here != end:
        raise CannotExpress(NO_PATH)
    return steps


def _checked(clause: Clause) -> tuple[Atom, Sequence[Atom]]:
    if clause.negated or clause.comparisons:
        raise CannotExpress("negation" if clause.negated else "a comparison")
    for atom in (clause.head, *clause.atoms):
        if atom.pred.arity not in (1, 2):
            raise CannotExpress(f"{atom.pred.arity} columns: OWL has classes and properties")
    if clause.atoms and (_constants(clause.head) or len({*clause.head.terms}) < clause.head.pred.arity):
        raise CannotExpress("a head with a constant, or with one variable twice")
    return clause.head, clause.atoms


def _constants(atom: Atom) -> bool:
    return any(isinstance(term, Constant) for term in atom.terms)


def _spelled(term: Term) -> str:
    assert isinstance(term, Constant)
    return spelled(term.value)
