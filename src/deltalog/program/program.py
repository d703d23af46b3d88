"""A program: rules that have been checked, in the order of their evaluation.

`analyse` takes rules through PASSES, one after the other, and makes a Program of the result (`rewritten` makes one of
rules that were rewritten from a Program's own). So whoever holds one knows that its rules are safe and stratified, and
that its hyper-nodes are in topological order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import Diagnostic
from deltalog.core.rules import TRIPLES, TYPES, Atom, Pred, Rule
from deltalog.program.aggregates import separate_aggregates
from deltalog.program.analysis import Analysis, Pass
from deltalog.program.binding import direct_equalities
from deltalog.program.core_rules import expand_rules
from deltalog.program.dependency import DependencyGraph
from deltalog.program.given_facts import keep_given_facts_apart
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.lint import lint
from deltalog.program.order_hyper_nodes import order_hyper_nodes
from deltalog.program.recognise import recognise_schemes
from deltalog.program.report_errors import report_errors
from deltalog.program.safety import check_safety
from deltalog.program.schemes import Scheme
from deltalog.program.split_facts import split_facts
from deltalog.program.stratification import check_stratification
from deltalog.program.triple_bridges import add_bridges, bridged
from deltalog.program.value_kinds import Numbers, Scope, no_numbers

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Program:
    """Safe, stratified rules.

    `rules` are the user's, as written, each once, without facts. `hyper_nodes` have these and the bridges, in
    topological order, ready for evaluation: they are rules of the core language (`deltalog.program.core_rules`),
    equalities that give a variable its value are BINDs there, and aggregates have relations of their own.
    """

    rules: tuple[Rule, ...]
    bridges: tuple[Rule, ...]  # added to serve rules with a variable for a predicate or a class
    facts: tuple[Atom, ...]
    hyper_nodes: tuple[HyperNode, ...]
    data: frozenset[Pred] = frozenset()  # the predicates of explicit facts outside of the program
    scheme_of: Mapping[Pred, Scheme] = field(default_factory=dict)  # of the relations that have one
    stored: Mapping[Pred, Pred] = field(default_factory=dict)  # the relation that has the explicit facts of a predicate
    recognised: tuple[str, ...] = ()  # notes on schemes, for `deltalog plan`
    scope: Scope = field(default_factory=Scope)  # the numbers in it decide which schemes are recognised
    # The hyper-node of each rule that is evaluated as written, i.e. not by a scheme or with a separate aggregate.
    home: Mapping[Rule, HyperNode] = field(default_factory=dict, repr=False, compare=False)
    linted: tuple[Rule, ...] = field(default=(), repr=False, compare=False)  # the statements that `warnings` is about
    given: Mapping[Pred, Pred] = field(default_factory=dict)  # relations that have explicit facts of a predicate, too

    def __repr__(self) -> str:
        return f"<Program: {len(self.rules):,} rules in {len(self.hyper_nodes):,} hyper-nodes>"

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Lint warnings."""
        return lint(self.linted)

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
        also = {place: explicit[pred] for pred, place in self.given.items() if pred in explicit}
        return {self.stored.get(pred, pred): table for pred, table in explicit.items()} | also

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


# From statements to hyper-nodes; each pass is a function from an Analysis to an Analysis, in a file of its own.
PASSES: tuple[Pass, ...] = (
    split_facts,
    expand_rules,
    check_safety,
    add_bridges,
    check_stratification,
    report_errors,
    direct_equalities,
    separate_aggregates,
    recognise_schemes,
    keep_given_facts_apart,
    order_hyper_nodes,
)


def analyse(
    rules: Iterable[Rule],
    data: Iterable[Pred] = (),
    schemes: str = "standard",
    checked: Iterable[Rule] = (),
    numbers: Numbers = no_numbers,
) -> Program:
    """A Program of rules (and facts), over data of some predicates. UnsafeRule or NotStratified has all errors.

    `schemes` says what becomes of rules that a scheme implies (`deltalog.program.recognise`); `checked` are rules of
    another Program, which are safe; `numbers` tells the kinds of numbers in the explicit facts of some predicates.
    """
    analysis = Analysis(tuple(rules), frozenset(data), schemes, frozenset(checked), numbers)
    for run in PASSES:
        analysis = run(analysis)
    return _program(analysis)


def _program(analysis: Analysis) -> Program:
    by_rule = {rule: node for node in analysis.hyper_nodes for rule in node.rules}
    written = set(analysis.rules)
    return Program(
        analysis.rules,
        analysis.bridges,
        analysis.facts,
        analysis.hyper_nodes,
        analysis.data,
        analysis.scheme_of,
        analysis.stored,
        analysis.recognised,
        analysis.scope,
        home={
            rule: by_rule[evaluated]
            for rule, evaluated in analysis.directed.items()
            if evaluated in by_rule and rule in written
        },
        linted=analysis.statements,
        given=analysis.given,
    )


def rewritten(rules: Sequence[Rule]) -> Program:
    """A Program of rules that were rewritten from those of another one, and are safe and stratified as these are."""
    return Program(tuple(rules), (), (), DependencyGraph.of(rules).hyper_nodes)
