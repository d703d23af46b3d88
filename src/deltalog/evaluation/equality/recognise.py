"""Rules by which owl:sameAs is equality, among others.

    owl:sameAs[?y, ?x] :- owl:sameAs[?x, ?y] .                              symmetric
    owl:sameAs[?x, ?z] :- owl:sameAs[?x, ?y], owl:sameAs[?y, ?z] .          transitive
    C[?y] :- owl:sameAs[?x, ?y], C[?x] .                                    replacement in a class
    p[?y, ?z] :- owl:sameAs[?x, ?y], p[?x, ?z] .                            replacement in a property, in both columns
    p[?z, ?y] :- owl:sameAs[?x, ?y], p[?z, ?x] .

Ontologies are compiled to such rules (`deltalog.extensions.ontology.compile`): they are what equality means, however it is
evaluated. Relations with all of their replacement rules are over representatives, all others are over names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deltalog.core.rules import TRIPLES, TYPES, Atom, Pred, Rule, Variable
from deltalog.program.core_rules import core_rules

SAME_AS = Pred("http://www.w3.org/2002/07/owl#sameAs", 2)
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")
_EQUAL = Atom(SAME_AS.name, (_X, _Y))
SYMMETRIC = Rule((Atom(SAME_AS.name, (_Y, _X)),), (_EQUAL,))
TRANSITIVE = Rule((Atom(SAME_AS.name, (_X, _Z)),), (_EQUAL, Atom(SAME_AS.name, (_Y, _Z))))
WILDCARDS = "rules have a variable in the place of a predicate or a class"


def replacements(pred: Pred) -> Iterator[Rule]:
    """The rules by which equal individuals have the same facts of a class or property."""
    if pred.arity == 1:
        yield Rule((Atom(pred.name, (_Y,)),), (_EQUAL, Atom(pred.name, (_X,))))
    else:
        yield Rule((Atom(pred.name, (_Y, _Z)),), (_EQUAL, Atom(pred.name, (_X, _Z))))
        yield Rule((Atom(pred.name, (_Z, _Y)),), (_EQUAL, Atom(pred.name, (_Z, _X))))


@dataclass(frozen=True)
class EqualityRules:
    """The relations over representatives (owl:sameAs among them), and the rules that are not about equality itself."""

    preds: frozenset[Pred]
    others: tuple[Rule, ...]


def recognise_equality(rules: Iterable[Rule]) -> EqualityRules | None:
    """What rules say about equality; None if owl:sameAs is a relation like any other."""
    known = dict.fromkeys(core for rule in rules for core in core_rules(rule))
    if SYMMETRIC not in known or TRANSITIVE not in known:
        return None
    heads = {rule.heads[0].pred for rule in known if SAME_AS in rule.reads and len(rule.heads) == 1}
    heads = {pred for pred in heads if pred.arity in (1, 2) and pred not in (SAME_AS, TRIPLES, TYPES)}
    replaced = {pred: found for pred in heads if (found := set(replacements(pred))) <= known.keys()}
    own = {SYMMETRIC, TRANSITIVE}.union(*replaced.values())
    return EqualityRules(frozenset(replaced) | {SAME_AS}, tuple(rule for rule in known if rule not in own))


def why_axioms(rules: Iterable[Rule]) -> str | None:
    """Why rules must be evaluated with those of equality, as they are; None if there is no reason."""
    mentioned = {pred for rule in rules for pred in (*rule.reads, *(head.pred for head in rule.heads))}
    return WILDCARDS if not mentioned.isdisjoint((TRIPLES, TYPES)) else None
