"""Replacement of equal individuals where rules derive triples with a variable in the place of the predicate or class.

Such rules derive facts of predicates that no rule and no fact has named, so replacement is in triples, of all classes
and properties of users:

    [?y, ?p, ?z] :- owl:sameAs[?x, ?y], [?x, ?p, ?z], ... .                 and the object likewise
    rdf:type[?y, ?z] :- owl:sameAs[?x, ?y], rdf:type[?x, ?z], ... .
"""

from __future__ import annotations

from deltalog.core.rules import TRIPLES, TYPES, Atom, Call, Constant, Expression, Filter, Rule, Variable
from deltalog.core.terms import IRI
from deltalog.extensions.ontology.vocabulary import DIFFERENT_FROM, RESERVED, SAME_AS

_P, _X, _Y, _Z = map(Variable, "pxyz")
_EQUAL = Atom(SAME_AS, (_X, _Y))


def _is_of_users(name: Variable) -> Filter:
    """Whether a value is the name of a class or a property of users, or owl:differentFrom."""
    text = Call("str", (name,))
    condition: Expression = Call("contains", (text, Constant(":")))
    for namespace in RESERVED:
        condition = Call("&&", (condition, Call("!", (Call("strstarts", (text, Constant(namespace))),))))
    different = Call("=", (name, Constant(IRI(DIFFERENT_FROM))))
    return Filter(Call("&&", (Call("isiri", (name,)), Call("||", (different, condition)))))


REPLACED_SUBJECT = Rule(
    (Atom(TRIPLES.name, (_Y, _P, _Z)),), (_EQUAL, Atom(TRIPLES.name, (_X, _P, _Z)), _is_of_users(_P))
)
REPLACED_OBJECT = Rule(
    (Atom(TRIPLES.name, (_Z, _P, _Y)),), (_EQUAL, Atom(TRIPLES.name, (_Z, _P, _X)), _is_of_users(_P))
)
REPLACED_MEMBER = Rule((Atom(TYPES.name, (_Y, _Z)),), (_EQUAL, Atom(TYPES.name, (_X, _Z)), _is_of_users(_Z)))
