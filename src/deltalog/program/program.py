"""A program: rules that have been checked, in the order of their evaluation.

    rules -> unsafe variables? -> bridges -> dependency graph -> cycles through negation? -> Program

`analyse` is the maker of Programs (`rewritten` makes one of rules that were made from a Program's own), so whoever
holds one knows that its rules are safe and stratified, and that its hyper-nodes come in topological order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from deltalog.concurrency.cached import cached_property
from deltalog.model.errors import Diagnostic, NotStratified, UnsafeRule
from deltalog.program.aggregates import separate
from deltalog.program.dependency import Graph, HyperNode, graph, hyper_nodes, not_stratified
from deltalog.program.lint import doubts
from deltalog.program.recognise import recognise
from deltalog.program.safety import directed_rule, unsafe
from deltalog.program.schemes import Scheme
from deltalog.program.triple_bridges import bridged, bridges
from deltalog.program.value_kinds import Numbers, Scope, no_numbers
from deltalog.syntax.ast import TRIPLES, TYPES, Atom, Pred, Rule

T = TypeVar("T")


@dataclass(frozen=True)
class Program:
    """Safe, stratified rules.

    `rules` are the user's, as written, each once, without facts. `hyper_nodes` have these and the bridges, in
    topological order, ready for evaluation: equalities that give a variable its value are BINDs there, and aggregates
    have relations of their own.
    """

    rules: tuple[Rule, ...]
    bridges: tuple[Rule, ...]  # added to serve rules with a variable for a predicate or a class
    facts: tuple[Atom, ...]
    hyper_nodes: tuple[HyperNode, ...]
    data: frozenset[Pred] = frozenset()  # the predicates of facts elsewhere, as the caller said
    scheme_of: Mapping[Pred, Scheme] = field(default_factory=dict)  # relations that rules of their own imply
    stored: Mapping[Pred, Pred] = field(default_factory=dict)  # where the explicit facts of a predicate go
    recognised: tuple[str, ...] = ()
    scope: Scope = field(default_factory=Scope)  # whose numbers decide which structures are recognised
    # Where each rule is evaluated; one that is part of a structure, or has an aggregate taken out of it, has no place.
    home: Mapping[Rule, HyperNode] = field(default_factory=dict, repr=False, compare=False)
    warned_of: tuple[Rule, ...] = field(default=(), repr=False, compare=False)  # all rules, for warnings

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is allowed, and most likely not meant."""
        return doubts(self.warned_of)

    @cached_property
    def derived(self) -> frozenset[Pred]:
        """The predicates in heads of rules (bridges included)."""
        return frozenset(pred for hyper_node in self.hyper_nodes for pred in hyper_node.heads)

    @cached_property
    def preds(self) -> frozenset[Pred]:
        """Every predicate that the program mentions."""
        read = frozenset(pred for hyper_node in self.hyper_nodes for pred in hyper_node.reads)
        return self.derived | read | {fact.pred for fact in self.facts}

    def placed(self, explicit: Mapping[Pred, T]) -> dict[Pred, T]:
        """Explicit facts under the predicates that the rules of evaluation have them in."""
        return {self.stored.get(pred, pred): table for pred, table in explicit.items()}

    @cached_property
    def _bridges(self) -> frozenset[Rule]:
        return frozenset(self.bridges)

    @cached_property
    def has_wildcards(self) -> bool:
        """Whether a rule has a variable for a predicate or a class."""
        return not self.preds.isdisjoint((TRIPLES, TYPES))

    @property
    def depends_on_data(self) -> bool:
        """Whether facts of other predicates can change how the rules are evaluated: bridges, or what is recognised."""
        return self.has_wildcards or bool(self.recognised)

    @cached_property
    def homes(self) -> frozenset[Pred]:
        """The classes and properties whose facts are all under their own predicates, whatever rules derive them."""
        return bridged(self.bridges)

    def is_bridge(self, rule: Rule) -> bool:
        return rule in self._bridges


def analyse(
    rules: Iterable[Rule],
    data: Iterable[Pred] = (),
    schemes: str = "standard",
    checked: Iterable[Rule] = (),
    numbers: Numbers = no_numbers,
) -> Program:
    """A Program of rules (and facts), over data of some predicates. UnsafeRule or NotStratified has all errors.

    `schemes` says what becomes of rules that a structure implies (`deltalog.program.recognise`); `checked` are rules of
    another Program, which are safe; `numbers` tells the kinds of numbers in the explicit facts of some predicates.
    """
    everything = tuple(rules)
    data, safe = frozenset(data), frozenset(checked)
    unsafe_variables = [diagnostic for rule in everything if rule not in safe for diagnostic in unsafe(rule)]
    distinct = tuple(dict.fromkeys(rule for rule in everything if rule.body))
    facts = tuple(dict.fromkeys(head for rule in everything if not rule.body for head in rule.heads))
    written = set(distinct)
    added = tuple(rule for rule in bridges(everything, data) if rule not in written)
    _refuse_if_wrong(unsafe_variables, graph([*distinct, *added]))
    directed = {rule: directed_rule(rule) for rule in distinct}
    found = recognise([*separate(directed.values()), *added], data, schemes, numbers)
    nodes = hyper_nodes(graph(found.rules))
    kept, home = (found.scheme_of, found.stored, tuple(found.notes), found.scope), _home(directed, nodes)
    return Program(distinct, added, facts, nodes, data, *kept, home, everything)


def _home(directed: Mapping[Rule, Rule], nodes: Iterable[HyperNode]) -> dict[Rule, HyperNode]:
    """The hyper-node of each rule that is evaluated as it is directed."""
    by_rule = {rule: node for node in nodes for rule in node.rules}
    return {rule: by_rule[evaluated] for rule, evaluated in directed.items() if evaluated in by_rule}


def rewritten(rules: Sequence[Rule]) -> Program:
    """A Program of rules that were made from those of another one, in ways that keep them safe and stratified."""
    return Program(tuple(rules), (), (), hyper_nodes(graph(rules)))


def _refuse_if_wrong(unsafe_variables: Sequence[Diagnostic], dependencies: Graph) -> None:
    cycles = list(not_stratified(dependencies))
    errors = sorted([*unsafe_variables, *cycles], key=_place)
    if unsafe_variables:
        raise UnsafeRule(errors)
    if cycles:
        raise NotStratified(errors)


def _place(diagnostic: Diagnostic) -> tuple[str, int]:
    span = diagnostic.span
    return (span.source.name, span.start) if span else ("", 0)
