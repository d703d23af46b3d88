"""A session: the present state of a knowledge base, and what evaluates, changes and reads it.

`KnowledgeBase` has the public methods; each takes its turn and calls a session, itself or by a module of its topic:

    changes.py       from facts and rules as users give them to a request
    ontologies.py    ontology files come and go
    graphs.py        SPARQL Update
    queries.py       goals and SPARQL
    programs.py      files that programs read and write
    outputs.py       only what the outputs of programs need
    stores.py        states kept in a folder
    rule_warnings.py what is most likely not meant

Servers, pipelines and tests work with the session of a knowledge base, too (`session_of`). One thread at a time changes
a session, under its `lock`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.concurrency.collector import rare_collections
from deltalog.core.concurrency.interrupts import shielded
from deltalog.core.concurrency.locks import CallLock
from deltalog.core.errors import UsageError
from deltalog.core.limits import COLLECTED_OBJECTS, Limits, OverBudget
from deltalog.core.naming import Names
from deltalog.core.rules import Pred, Rule
from deltalog.core.watching import watcher
from deltalog.evaluation.change import Change, Difference
from deltalog.evaluation.facts import Facts, of_predicate
from deltalog.evaluation.failed_expressions import failed_expressions
from deltalog.evaluation.report import Report, RoundSeries
from deltalog.evaluation.state import ChangeRequest, State, StateChange, StateEvaluator, apply
from deltalog.extensions.explain.source_files import SourceFiles
from deltalog.extensions.graphs.extension import Graphs
from deltalog.extensions.graphs.relations import GRAPHS, without_graphs
from deltalog.extensions.ontology.extension import Ontologies
from deltalog.knowledge_base.rule_warnings import RuleWarnings
from deltalog.program import Program, analyse
from deltalog.program.column_names import ColumnNames

if TYPE_CHECKING:
    from deltalog.core.table_options import TableSettings
    from deltalog.evaluation.backend import Backend
    from deltalog.evaluation.goals.contents import Contents
    from deltalog.evaluation.maintenance.materialisation import Evaluator, Materialisation
    from deltalog.evaluation.maintenance.update_state import Update
    from deltalog.evaluation.staged import EvaluationSetting
    from deltalog.extensions.explain.explainer import Explainer
    from deltalog.knowledge_base.outputs import DerivedOutputs
    from deltalog.knowledge_base.query_session import QuerySession
    from deltalog.knowledge_base.settings import Settings
    from deltalog.knowledge_base.stores import StoreLink
    from deltalog.languages.protocol import ProgramUnit

R = TypeVar("R")


class _Attempt:
    """A context that an engine watches, and has begun to. It ends without an error when a budget is exceeded, and notes
    why."""

    reason = ""

    def __init__(self, watched: AbstractContextManager[None]) -> None:
        self._watched = watched

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        swallowed = self._watched.__exit__(kind, error, trace)
        self.reason = str(error) if isinstance(error, OverBudget) else ""
        return bool(self.reason) or swallowed


class Session:
    """`state` is what the knowledge base is now; the rest is what works on it, and caches of what follows from it."""

    def __init__(self, engine: str, settings: Settings, limits: Limits, backend: Backend[Any]) -> None:
        self.engine, self.settings, self.limits, self.backend = engine, settings, limits, backend
        self.lock = CallLock()
        self.state: State[Any] = State(report=Report(engine=engine))
        self.warnings = RuleWarnings()
        self.sources = SourceFiles(backend.tuning)
        self.link: StoreLink | None = None  # to the store that keeps the state
        self.is_frozen = False  # for reading: a state of another knowledge base
        self.frozen_version: int | None = None  # the version of that, if it has a store
        self.why_moved = ""  # from one backend to another
        self.declared_columns: frozenset[Pred] = frozenset()  # of programs, which may rename those of data
        self.outputs: DerivedOutputs | None = None
        has_schemes = engine != "naive" and backend.capabilities.virtual_relations is not None
        self.schemes = settings.schemes if has_schemes else "standard"
        self.graphs = Graphs(settings.default_graph)
        self._program: Program | None = None
        self._columns: ColumnNames | None = None
        self._explainer: Explainer[Any] | None = None

    # The programs of the knowledge base, as they were read.

    document: ProgramUnit
    table_settings: TableSettings  # of the file beside them
    skipped_inputs: tuple[str, ...] = ()  # relations whose files were not read
    imported_nulls: int = 0  # blank nodes that programs import, whose names are the numbers before

    # Calls.

    def run(self, call: str, work: Callable[[], R]) -> R:
        """Does some work within the limits, as one call."""
        with self.running(call):
            return self.within_budget(work)

    @contextmanager
    def running(self, call: str) -> Iterator[None]:
        """A context for one call, within the limits; when it fails, no expression is counted that failed in it."""
        failures = self.backend.failures.mark()
        try:
            with self.limits.running(call), rare_collections(COLLECTED_OBJECTS):
                yield
        except BaseException:
            self.backend.failures.restore(failures)
            raise

    def within_budget(self, work: Callable[[], R]) -> R:
        """Does some work, in as many attempts as it takes."""
        for attempt in self.attempts():
            with attempt:
                return work()
        raise AssertionError("the last attempt has a result, or it raises")

    def attempts(self) -> Iterator[AbstractContextManager[None]]:
        """Contexts for the attempts at some work. When the engine exceeds its budget in the first one
        (`evaluation.capabilities.residence`), there is a second one on another engine. Inside of other such work, that
        starts over."""
        residence = self.backend.capabilities.residence
        if residence is not None and self.limits.ceiling is None:
            try:
                watched = residence.watched()
                watched.__enter__()
            except OverBudget as over:
                self._move(str(over))
            else:
                yield (attempt := _Attempt(watched))
                self._move(attempt.reason)
        yield nullcontext()

    def _move(self, reason: str) -> None:
        """Moves the explicit facts to the backend without a budget; everything else is derived there again."""
        from deltalog.evaluation.capabilities import required

        moved = required(self.backend.capabilities.residence).move(self.state.explicit)
        moved.backend.failures.restore({})
        state = replace(self.state, explicit=dict(moved.tables), materialised=None)
        self.backend, self.state, self._program, self.why_moved = moved.backend, state, None, reason
        self.forget_queries()

    # StateEvaluator.

    def evaluator(self) -> Evaluator[Any]:
        """What evaluates rules, with the settings of the knowledge base."""
        from deltalog.evaluation.hypertree import Trees
        from deltalog.evaluation.maintenance.materialisation import Evaluator

        naive = self.engine == "naive"
        trees = Trees("standard" if naive else self.settings.cyclic, tuning=self.backend.tuning)
        observe = self.settings.observe

        def observed(series: RoundSeries) -> None:
            watcher().rounds(series)
            if observe is not None:
                for round_ in series:
                    observe(round_)

        return Evaluator(self.backend, naive, self.settings.maintenance, observed, trees)

    @property
    def how(self) -> StateEvaluator[Any]:
        extensions = self.graphs, Ontologies(self.graphs)
        return StateEvaluator(self.settings.equality, self.schemes, extensions, self.evaluator)

    @property
    def setting(self) -> EvaluationSetting:
        return self.how.setting(self.state)

    @property
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        from deltalog.evaluation.maintenance.apply_change import number_kinds

        state, made = self.state, self.state.materialised
        if state.ordered and made is not None:
            return made.program  # over the facts of stages
        rules, data = state.rule_set.rules, state.explicit.keys()
        for known in (None if made is None else made.program, self._program):
            if known is not None and known.rules == rules and known.data == data:
                return known
        self._program = analyse(rules, state.explicit, self.schemes, numbers=number_kinds(state.explicit, self.backend))
        return self._program

    def materialise(self, partial: bool = False) -> None:
        """Derives everything that follows, from scratch."""
        self.run("materialise", lambda: self._materialise(partial))

    def _materialise(self, partial: bool) -> None:
        watcher().phase("plan")
        state, evaluator = self.state, self.evaluator()
        self.backend.failures.restore({})
        report = self.new_report()
        made = self.setting.materialise(lambda: self.program, state.explicit, evaluator, report, partial)
        residence = self.backend.capabilities.residence
        if report.complete and residence is not None:
            residence.check([*state.explicit.values(), *made.tables])
        report.engine_reason = self.engine_reason
        self.state, self.outputs = replace(state, materialised=made, report=report), None

    def materialise_if_needed(self, partial: bool = False) -> None:
        """The same, unless that is done; with `partial`, a part of it is enough."""
        if self.state.materialised is None or not (partial or self.state.is_complete):
            self.materialise(partial)

    def new_report(self) -> Report:
        """A report of a materialisation that begins now."""
        return Report(engine=self.engine, seconds={**self.state.report.seconds, "plan": 0.0, "evaluate": 0.0})

    @property
    def engine_reason(self) -> str:
        """Why the facts are where they are, where there is a choice."""
        residence = self.backend.capabilities.residence
        return self.why_moved if residence is None else residence.reason

    def materialised(self) -> Materialisation[Any]:
        """The materialisation, made if there is none; it may be one that a limit has stopped."""
        if self.state.materialised is None:
            self.materialise()
        assert self.state.materialised is not None
        return self.state.materialised

    def completed(self) -> Materialisation[Any]:
        """The materialisation, made if there is none, or made anew if a limit had stopped it."""
        if not self.state.is_complete:
            self.materialise()
        return self.materialised()

    # Changes.

    def check_writable(self) -> None:
        """UsageError if there is a store that cannot be changed. A change that was interrupted after it was written is
        made here."""
        if self.is_frozen:
            raise UsageError("this is a frozen state, for reading; change the knowledge base that it was made from")
        if self.link is not None:
            self.link.check_writable(self)

    def make(self, request: ChangeRequest[Any]) -> tuple[Change, Update[Any]]:
        """Makes a change: all of it, or nothing. A store has it before the knowledge base has."""
        self.check_writable()
        self.completed()
        after, delta = apply(self.state, request, self.how)
        change = self._change(after, delta)
        assert delta.update is not None
        if self.link is None:
            self.state = after
        else:
            self.link.commit(self, after, delta)
        self.sources.has_others |= bool(request.add)
        return change, delta.update

    def preview(self, request: ChangeRequest[Any]) -> tuple[Change, State[Any], StateChange[Any]]:
        """What a change would do, and the state after it."""
        self.completed()
        before = self.state
        after, delta = apply(before, request, self.how)
        return self._change(after, delta), after, delta

    def replace_facts(self, request: ChangeRequest[Any]) -> tuple[str, ...]:
        """Makes a change of explicit facts, and drops what was derived, unless there is a store: what was asked for
        and did not happen."""
        if self.link is not None:
            return self.make(request)[0].notes
        after, delta = apply(replace(self.state, materialised=None), request, self.how)
        self.state, self._program = after, None
        return delta.notes

    def _change(self, after: State[Any], delta: StateChange[Any]) -> Change:
        """A change as users see it."""
        update = delta.update
        assert update is not None
        columns = self._columns_of(after)
        added, removed = (self._difference(find, columns) for find in update.differences())
        new, old = map(self._quad_facts, (update.added_facts, update.removed_facts))
        return Change(added, removed, update.report, delta.added_rules, delta.removed_rules, new, old, delta.notes)

    def _difference(self, find: Callable[[], Mapping[Pred, Any]], columns: ColumnNames) -> Difference:
        backend = self.backend  # of the difference, even if the knowledge base moves later

        def views() -> dict[Pred, Facts[Any]]:
            with self.lock.held:
                return {pred: of_predicate(pred, table, backend, columns.known(pred)) for pred, table in find().items()}

        @shielded
        def names(others: Iterable[Pred]) -> Names:
            with self.lock.held:
                return self.names(others)

        return Difference(views, names, backend, columns.known)

    def _quad_facts(self, tables: Mapping[Pred, Any]) -> Any:
        """The quads among the facts of a change."""
        quads = tables.get(GRAPHS[0])
        return () if quads is None else Facts(("graph", "subject", "predicate", "object"), quads, self.backend)

    # Reading.

    def contents(self) -> Contents[Any]:
        """The present rules and facts, for one call."""
        return self.contents_of(self.state)

    def contents_of(self, state: State[Any]) -> Contents[Any]:
        """The rules and facts of a state, for one call."""
        from deltalog.evaluation.goals.contents import Contents

        def materialised() -> Contents[Any]:
            self.materialised()
            self.warn_of_data()
            return self.contents()

        made = state.materialised
        given = state.rule_set.ordinary, without_graphs(state.explicit), state.mentioned, state.prefixes
        base = without_graphs(made.base) if state.depends_on_order and made is not None else None
        derive = self.evaluator, self.materialise, materialised, self._why_materialise
        quads = {pred: table for pred, table in state.explicit.items() if pred in GRAPHS}
        columns = self._columns_of(state).known
        return Contents(self.backend, *given, made, state.report, *derive, quads, columns, base)

    def contents_for_goal(self, timeout: float | None = None) -> Contents[Any]:
        """The same for a goal: what depends on the order of derivation is derived before."""
        if self.state.depends_on_order:
            with self.limits.running("query", timeout):
                self.completed()
        return self.contents()

    def _why_materialise(self) -> str | None:
        return self.setting.why_materialise(self.state.rule_set.rules, self.evaluator())

    def names(self, others: Iterable[Pred] = ()) -> Names:
        """What the predicates, and others, are called."""
        return self.contents().names(others)

    @property
    def version(self) -> int | None:
        """The number of the version of the store that the state is; None without a store."""
        return self.frozen_version if self.link is None else self.link.version

    def predicate(self, name: str) -> Pred:
        """The predicate of a name, with its arity; UsageError if there is none of that name."""
        return self.names().find(name)

    @property
    def columns(self) -> ColumnNames:
        """The names of the columns of all predicates."""
        return self._columns_of(self.state)

    def _columns_of(self, state: State[Any]) -> ColumnNames:
        known = self._columns
        if known is None or known.rules is not state.rule_set.rules or known.given is not state.columns:
            known = self._columns = ColumnNames(state.rule_set.rules, state.columns)
        return known

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.state.rule_set.rules

    @property
    def prefixes(self) -> Mapping[str, str]:
        return self.state.prefixes

    @property
    def explicit_facts(self) -> int:
        """How many facts were given."""
        given = without_graphs(self.state.explicit)
        return sum(self.backend.size(table) for pred, table in given.items() if not pred.hidden)

    def report(self) -> Report:
        """What the last materialisation did, with the present numbers of facts."""
        state, report = self.state, self.state.report
        made = state.materialised
        if made is not None:
            report.per_predicate = self.contents().counts()
            report.facts_total = sum(report.per_predicate.values())
            report.failures = failed_expressions(self.backend.failures, state.rule_set.ids)
            report.failed_expressions = sum(each.count for each in report.failures)
            report.equality = self.setting.described(made, self.evaluator())
            report.facts_dominated = self._facts_dominated(made)
            report.magic_sets = report.magic_sets or self._magic_sets_not_used
        report.facts_in, report.skipped_inputs = self.explicit_facts, list(self.skipped_inputs)
        return report

    @property
    def _magic_sets_not_used(self) -> Any:
        from deltalog.knowledge_base.outputs import NOT_USED

        return NOT_USED if self.document.magic else None

    def _facts_dominated(self, made: Materialisation[Any]) -> int:
        """How many given facts are left out, because others dominate them."""
        given = ((pred, made.explicit[pred]) for pred in made.in_order if pred in made.explicit)
        minus, size = self.backend.minus, self.backend.size
        return sum(size(minus(table, made.facts.get(pred))) for pred, table in given if not pred.hidden)

    def spent(self, phase: str, started: float) -> None:
        """Notes in the report how long a phase took."""
        self.state.report.seconds[phase] += time.perf_counter() - started

    def warn_of_data(self) -> None:
        self.warnings.warn_of_data(self)

    # Queries and explanations.

    @cached_property
    def queries(self) -> QuerySession[Any]:
        from deltalog.knowledge_base.query_session import QuerySession

        return QuerySession(self.engine, self.backend)

    def forget_queries(self) -> None:
        """Begins a new query session, on the present backend, with the selector of the old one."""
        old = vars(self).pop("queries", None)
        if old is not None:
            self.queries.take_over(old)

    def explainer(self, made: Materialisation[Any]) -> Explainer[Any]:
        """What explains facts of a materialisation; kept as long as that is."""
        from deltalog.extensions.explain.explainer import Explainer

        known = self._explainer
        if known is None or known.state is not made:
            ids = dict(self.state.rule_set.ids)
            known = self._explainer = Explainer(made, ids, self.prefixes, self.sources.find)
        return known

    # Other sessions.

    def beside(self, **attributes: Any) -> Session:
        """A session of its own with the same state, without a store; what changes with calls is its own."""
        made = copy.copy(self)
        vars(made).pop("queries", None)
        made.lock, made.link, made.warnings = CallLock(), None, copy.copy(self.warnings)
        made._explainer = None
        vars(made).update(attributes)
        return made
