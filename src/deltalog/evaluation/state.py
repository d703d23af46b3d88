"""What a knowledge base is at one moment, and the one way in which it changes.

A `State` is a value: tables are immutable, and a change makes another state. So versions of a server, frozen knowledge
bases, snapshots of a store and previews of a change are states, and a change that fails leaves no trace.

    request      facts and rules that are to come and go, as they are asked for
    rewrite      each extension that it concerns rewrites it: quads to facts, axioms to rules
    evaluate     the materialisation follows, if there is one
    state        the state after the change, and the delta

A session assigns the new state, after a store has written the delta to its log; a preview does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from deltalog.core.rules import Pred, Rule
from deltalog.evaluation.backend import Backend, united, without
from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation
from deltalog.evaluation.maintenance.update_state import Update
from deltalog.evaluation.report import Report
from deltalog.evaluation.staged import EvaluationSetting
from deltalog.program.column_names import NamedColumns
from deltalog.program.rule_set import RuleSet
from deltalog.program.stages import OrderedStage

T = TypeVar("T")
TablesByPred = Mapping[Pred, T]


@dataclass(frozen=True)
class State(Generic[T]):
    """All that a knowledge base is at one moment. `mentioned` are the predicates that rules and declarations mention,
    or have mentioned; `kept` is what extensions keep, by their names."""

    rule_set: RuleSet = field(default_factory=RuleSet)
    explicit: dict[Pred, T] = field(default_factory=dict)
    ordered: tuple[OrderedStage, ...] = ()  # relations whose facts depend on the order of derivation
    materialised: Materialisation[T] | None = None
    report: Report = field(default_factory=Report)  # of the materialisation
    prefixes: Mapping[str, str] = field(default_factory=dict)
    columns: NamedColumns = field(default_factory=dict)
    mentioned: frozenset[Pred] = frozenset()
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether there is a materialisation, and no limit has stopped it."""
        return self.materialised is not None and self.report.complete

    @property
    def depends_on_order(self) -> bool:
        """Whether facts of some relations depend on the order of derivation: of stages, or of existential rules."""
        return bool(self.ordered) or len(self.rule_set.ordinary) < len(self.rule_set.rules)


@dataclass(frozen=True)
class ChangeRequest(Generic[T]):
    """A change as it is asked for: the rules after it, and facts to add and to remove. Extensions rewrite it."""

    rule_set: RuleSet
    add: TablesByPred[T] = field(default_factory=dict)
    remove: TablesByPred[T] = field(default_factory=dict)
    rules: Collection[Rule] = ()  # the statements that are added
    prefixes: Mapping[str, str] = field(default_factory=dict)
    columns: NamedColumns | None = None  # after the change; None: as before
    kept: Mapping[str, Any] = field(default_factory=dict)  # what extensions keep from now on
    notes: tuple[str, ...] = ()  # what was asked for and does not happen
    asked: tuple[TablesByPred[T], TablesByPred[T]] | None = None  # the facts before extensions rewrote them
    rewritten_by: frozenset[str] = frozenset()  # extensions that have rewritten it already

    @property
    def asked_facts(self) -> tuple[TablesByPred[T], TablesByPred[T]]:
        """The facts to add and to remove as the user gave them."""
        return self.asked or (self.add, self.remove)


@dataclass(frozen=True)
class StateChange(Generic[T]):
    """What a change did: rules by their ids, and the update of the materialisation, if there was one."""

    added_rules: Mapping[str, Rule]
    removed_rules: Mapping[str, Rule]
    update: Update[T] | None
    notes: tuple[str, ...]


class Extension(Protocol):
    """What takes part in changes beside rules and facts. It keeps its own data in `State.kept`, by its name."""

    @property
    def name(self) -> str: ...

    def concerns(self, request: ChangeRequest[T], state: State[T]) -> bool:
        """Whether it has to rewrite a request."""
        ...

    def rewrite(self, request: ChangeRequest[T], state: State[T], backend: Backend[T]) -> ChangeRequest[T]:
        """The request as a change of rules and explicit facts, with what it keeps from now on."""
        ...


@dataclass(frozen=True)
class StateEvaluator(Generic[T]):
    """How states are evaluated: settings, extensions in their order, and what evaluates rules."""

    equality: str
    schemes: str
    extensions: tuple[Extension, ...]
    evaluator: Callable[[], Evaluator[T]]

    def setting(self, state: State[T]) -> EvaluationSetting:
        return EvaluationSetting(self.equality, self.schemes, state.ordered)


def apply(state: State[T], request: ChangeRequest[T], how: StateEvaluator[T]) -> tuple[State[T], StateChange[T]]:
    """The state after a change, and what it did. A materialisation is maintained; without one, nothing is derived."""
    evaluator = how.evaluator()
    backend = evaluator.backend
    request = rewritten(state, request, how, backend)
    update: Update[T] | None = None
    if state.materialised is None:
        explicit = united(without(state.explicit, request.remove, backend), request.add, backend)
        after = replace(state, explicit=explicit)
    else:
        rules = None if request.rule_set is state.rule_set else request.rule_set.rules
        follow = how.setting(state).follower(state.materialised, rules)
        made, update = follow(state.materialised, rules, request.add, request.remove, evaluator, how.schemes)
        after = replace(state, explicit=made.explicit, materialised=made)
    _check_budget(after, backend)
    new, old = request.rule_set, state.rule_set
    return _described(after, request), StateChange(new.without(old), old.without(new), update, request.notes)


def rewritten(
    state: State[T], request: ChangeRequest[T], how: StateEvaluator[T], backend: Backend[T]
) -> ChangeRequest[T]:
    """A request as a change of rules and explicit facts."""
    for extension in how.extensions:
        if extension.name not in request.rewritten_by and extension.concerns(request, state):
            request = extension.rewrite(replace(request, asked=request.asked_facts), state, backend)
    return request


def _described(after: State[T], request: ChangeRequest[T]) -> State[T]:
    """A state with the names of a request, and with what extensions keep."""
    mentioned = after.mentioned
    if len(request.rule_set.numbers) > len(after.rule_set.numbers):
        program = after.materialised and after.materialised.program
        mentioned |= program.preds if program else request.rule_set.preds
    return replace(
        after,
        rule_set=request.rule_set,
        mentioned=mentioned,
        prefixes={**after.prefixes, **request.prefixes} if request.prefixes else after.prefixes,
        columns=after.columns if request.columns is None else request.columns,
        kept={**after.kept, **request.kept} if request.kept else after.kept,
    )


def _check_budget(state: State[T], backend: Backend[T]) -> None:
    """Raises OverBudget if the backend has a budget, and facts and materialisation exceed it."""
    residence = backend.capabilities.residence
    if residence is not None:
        derived = state.materialised.tables if state.materialised is not None else ()
        residence.check([*state.explicit.values(), *derived])
