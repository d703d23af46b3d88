"""Classes and properties that only data and bridges know: their explicit facts are kept apart.

With rules over triples, every class C of the data has two bridges (`deltalog.program.triple_bridges`):

    rdf:type(x, <C>) :- C(x)            C(x) :- rdf:type(x, <C>)

which form a cycle with each other, and with all rules over triples: an ontology of 10,000 classes then has 20,000
recursive rules that are due in every round. If no other rule reads or derives C, the first one needs only the explicit
facts of C. So these are in a hidden relation, too:

    rdf:type(x, <C>) :- #given C(x)     C(x) :- rdf:type(x, <C>)

Neither is recursive: they are evaluated once, before and after the rules over triples.
"""

from __future__ import annotations

from collections.abc import Collection

from deltalog.core.rules import TRIPLES, TYPES, Atom, Pred, Rule
from deltalog.program.analysis import Analysis
from deltalog.program.schemes import given


def keep_given_facts_apart(analysis: Analysis) -> Analysis:
    """A pass: the bridges of predicates that nothing else reads or derives."""
    if analysis.schemes == "standard" or not analysis.bridges:
        return analysis
    apart = _only_bridged(analysis)
    if not apart:
        return analysis
    rules = tuple(_from_given(rule, apart) for rule in analysis.evaluated)
    return analysis.having(evaluated=rules, given={pred: given(pred) for pred in sorted(apart)})


def _only_bridged(analysis: Analysis) -> frozenset[Pred]:
    """The predicates of data with bridges in both directions, and without any other rule or scheme."""
    bridges = frozenset(analysis.bridges)
    others = [rule for rule in analysis.evaluated if rule not in bridges]
    busy = {TRIPLES, TYPES, *analysis.scheme_of, *analysis.stored}
    busy.update(head.pred for rule in others for head in rule.heads)
    busy.update(pred for rule in others for pred in rule.reads)
    into = {pred for rule in bridges for pred in rule.reads}
    out_of = {head.pred for rule in bridges for head in rule.heads}
    return frozenset((analysis.data & into & out_of) - busy)


def _from_given(rule: Rule, apart: Collection[Pred]) -> Rule:
    """A bridge to triples from the explicit facts."""
    if rule.reads.isdisjoint(apart):
        return rule
    body = (Atom(given(atom.pred).name, atom.terms) for atom in rule.body if isinstance(atom, Atom))
    return Rule(rule.heads, tuple(body))
