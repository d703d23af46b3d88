"""An analysis under way: the frozen value that each pass of `deltalog.program.program.PASSES` takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Atom, Pred, Rule
from deltalog.program.dependency import DependencyGraph
from deltalog.program.hyper_nodes import HyperNode
from deltalog.program.schemes import Scheme
from deltalog.program.value_kinds import Numbers, Scope, no_numbers


@dataclass(frozen=True)
class Analysis:
    """The statements of a program, and the results of the passes so far. A pass reads results of earlier ones, and
    returns a copy with its own."""

    statements: tuple[Rule, ...]  # rules and facts, as written
    data: frozenset[Pred] = frozenset()  # the predicates of explicit facts outside of the program
    schemes: str = "standard"  # one of `recognise.SCHEME_SETTINGS`
    checked: frozenset[Rule] = frozenset()  # rules that are known to be safe
    numbers: Numbers = no_numbers  # the kinds of numbers in the explicit facts of some predicates

    rules: tuple[Rule, ...] = ()  # by split_facts
    facts: tuple[Atom, ...] = ()
    core: tuple[Rule, ...] = ()  # by expand_rules: the rules of the core language
    core_of: Mapping[Rule, tuple[Rule, ...]] = field(default_factory=dict, compare=False)
    unsafe: tuple[Diagnostic, ...] = ()  # by check_safety
    bridges: tuple[Rule, ...] = ()  # by add_bridges
    graph: DependencyGraph | None = field(default=None, compare=False)  # by check_stratification, of rules and bridges
    cycles: tuple[Diagnostic, ...] = ()
    directed: Mapping[Rule, Rule] = field(default_factory=dict)  # by direct_equalities: each rule as it is evaluated
    evaluated: tuple[Rule, ...] = ()  # by direct_equalities; the three passes after it change them
    scheme_of: Mapping[Pred, Scheme] = field(default_factory=dict)  # by recognise_schemes
    stored: Mapping[Pred, Pred] = field(default_factory=dict)
    given: Mapping[Pred, Pred] = field(default_factory=dict)  # by keep_given_facts_apart
    recognised: tuple[str, ...] = ()
    scope: Scope = field(default_factory=Scope)
    hyper_nodes: tuple[HyperNode, ...] = ()  # by order_hyper_nodes

    def having(self, **results: Any) -> Analysis:
        """A copy with the results of a pass; `dataclasses.replace` would read and check every field again."""
        copy = object.__new__(Analysis)
        vars(copy).update(vars(self), **results)
        return copy


Pass = Callable[[Analysis], Analysis]
