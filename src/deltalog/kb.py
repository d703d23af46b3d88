"""KnowledgeBase: the whole pipeline.

    parse     text -> rules                          deltalog.syntax
    analyse   rules -> program, hyper-nodes          deltalog.program
    load      files, rows, frames -> tables of ids   deltalog.io, deltalog.dictionary
    plan      rules -> algebra                       deltalog.plan
    run       algebra -> new facts, to the fixpoint  deltalog.engine on deltalog.backends
    maintain  changes -> what is added and removed   deltalog.engine.maintenance
    read      tables of ids -> values                deltalog.facts

Explicit facts and rules are what the user gave. The materialisation is made from them when it is first needed. From
then on `update`, `add_rules` and `remove_rules` keep it right; `add` and `load` are for the beginning, and drop it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from deltalog.concurrency.locks import CallLock, exclusive
from deltalog.engine.report import Report, Round
from deltalog.io.documents import Reading
from deltalog.model.change import Change, Difference
from deltalog.model.errors import LimitReached, UsageError
from deltalog.model.facts import Facts
from deltalog.model.limits import Limits, count, memory_bytes, peak_memory
from deltalog.model.naming import Names, split, unknown_predicate
from deltalog.model.terms import Value
from deltalog.model.tuning import Tuning
from deltalog.plan.work_counter import GivenUp
from deltalog.program import Program, analyse, changed, read_documents, read_rules
from deltalog.program.recognise import WAYS
from deltalog.program.triple_bridges import is_rdf
from deltalog.syntax.ast import TRIPLES, TYPES, Constant, Literal, Pred, Rule

if TYPE_CHECKING:
    from deltalog.backends.base import Backend
    from deltalog.maintenance.materialisation import Evaluator, Materialisation
    from deltalog.maintenance.update_state import Update
    from deltalog.plan.statistics import Statistics
    from deltalog.program.value_kinds import Numbers
    from deltalog.query.choose_method import Choice
    from deltalog.query.estimate import Features
    from deltalog.query.goal import Goal
    from deltalog.query.goal_session import Answers, Derived, Questions
    from deltalog.query.selector import Model
    from deltalog.query.sparql.answer import Asked
    from deltalog.query.sparql.query import Query
    from deltalog.query.sparql.solutions import Solutions
    from deltalog.query.training_goals import Example

P = ParamSpec("P")
R = TypeVar("R")
Table = Any  # the backend's own handle
Rules = str | Path | Iterable[str | Path]

ENGINES = ("local", "spark", "auto", "naive")
LOCAL = ("local", "naive")  # engines whose facts are in this process
STRATEGIES = ("auto", "dred", "bf", "counting")
CYCLIC = ("combined", "standard", "hypertree")
METHODS = ("auto", "materialised", "magic", "qsqr")
INTERNAL = (TRIPLES, TYPES)
_RULE_ID = re.compile(r"r[0-9]+")


def limited(method: Callable[Concatenate[KnowledgeBase, P], R]) -> Callable[Concatenate[KnowledgeBase, P], R]:
    """A method that obeys the limits, as one call; when it fails, no expression is counted that failed in it."""
    call = method.__name__.strip("_")

    @wraps(method)
    def within_limits(self: KnowledgeBase, /, *args: P.args, **kwargs: P.kwargs) -> R:
        failures = self._backend.failures
        try:
            with self.limits.running(call):
                return method(self, *args, **kwargs)
        except BaseException:
            self._backend.failures = failures
            raise

    return within_limits


class KnowledgeBase:
    """Facts and rules, and everything that follows from them.

    program: rules as text, a Path to a file of them, several of either, or none yet.
    engine: "local" (this process), "spark" (the active SparkSession, or a new one on `master`), "auto" (facts in Spark,
        reasoning in its driver by the local engine while that fits, else in Spark), or "naive" (slow and obvious, for
        comparisons).
    timeout (seconds), max_facts, memory ("8GB"): limits of every call that derives facts or answers. At a limit it
        raises LimitReached, and the knowledge base is as it was. `limits` has them, and they may be changed there.
    maintenance: how rules lose facts: "dred" deletes and rederives, "bf" searches for other proofs first, "auto" does
        the first unless it would delete far too much, and then the second; "counting" deletes and rederives by counts
        of derivations, which it makes at the first change and keeps. All give the same facts.
    cyclic: how rules with cyclic bodies are evaluated: "standard" joins them like others, "hypertree" takes a hypertree
        decomposition for every rule, "combined" for cyclic ones where it is estimated to pay. All give the same facts.
    schemes: how relations that are transitive, symmetric, inverse to each other or unions are kept: "scheme" by their
        structure and not row by row, "module" as tables with rules of their own, "standard" as all others; "auto" is
        "scheme", but lists what is small. All give the same facts.
    observe: is called after every round of evaluation with a `Round`.
    tuning: the thresholds of evaluation and maintenance (`deltalog.model.tuning`). All give the same facts.

    Threads may share a knowledge base: calls take turns. What they return does not change any more, and any thread may
    read it at any time. See docs/concurrency.md.
    """

    def __init__(
        self,
        program: Rules = "",
        *,
        engine: str = "local",
        timeout: float | None = None,
        max_facts: int | None = None,
        memory: str | int | None = None,
        threads: int | None = None,
        master: str | None = None,
        maintenance: str = "auto",
        cyclic: str = "combined",
        schemes: str = "auto",
        observe: Callable[[Round], None] | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise _unknown_engine(engine)
        if maintenance not in STRATEGIES:
            raise UsageError(f"there is no way of maintenance {maintenance!r}; there are {', '.join(STRATEGIES)}")
        if cyclic not in CYCLIC:
            raise UsageError(f"there is no way {cyclic!r} for cyclic rules; there are {', '.join(CYCLIC)}")
        if schemes not in WAYS:
            raise UsageError(f"there is no way of schemes {schemes!r}; there are {', '.join(WAYS)}")
        threads = None if threads is None else count(threads, "threads", least=1)
        document = read_documents(_sources(program))
        rules, self.prefixes = document.rules, document.prefixes
        self._mentioned = analyse(rules).preds  # a wrong program is refused at once
        self.engine, self._lock = engine, CallLock()
        self._maintenance, self._cyclic = maintenance, cyclic
        self._schemes = schemes if engine != "naive" else "standard"
        self._report = Report(engine=engine)
        self.limits = Limits(timeout, max_facts, None if memory is None else memory_bytes(memory))
        self._observe = observe or (lambda _: None)
        self._backend = _backend(engine, self.limits, tuning or Tuning(), threads, master)
        self._numbers: dict[Rule, int] = {}
        self._ids = self._numbered(rule for rule in rules if not rule.is_fact)
        self._rules = tuple(self._ids.values())
        self._numbers = self._with_numbers(self._ids)
        self._explicit: dict[Pred, Table] = {}
        self._program: Program | None = None
        self._state: Materialisation[Table] | None = None
        self._stopped: Materialisation[Table] | None = None  # by a limit
        self._asked: Questions[Table] | None = None
        self._queried: Asked[Table] | None = None
        self._selector: Model | None = None
        self.examples: list[Example] = []
        self._add(self._encode_facts(rules))

    # Facts and rules in.

    @exclusive
    def add(self, predicate: str, data: Any) -> None:
        """Adds facts of a predicate: rows (tuples), or an Arrow, pandas, polars or Spark table."""
        started = time.perf_counter()
        self._add(self._encode({_name(predicate): data}))
        self._spent("load", started)

    @exclusive
    def load(
        self,
        *paths: str | PathLike[str],
        base: str | None = None,
        shared_blank_nodes: bool = False,
        strict: bool = False,
    ) -> None:
        """Adds the facts of files and folders: N-Triples, N-Quads, Turtle, RDF/XML, CSV, TSV, .facts, Parquet.

        base: the IRI against which relative IRIs in Turtle and RDF/XML are resolved (default: the file's own).
        shared_blank_nodes: a blank-node label means one node in all RDF files, not one in each.
        strict: relative IRIs, bare numbers and booleans in N-Triples and N-Quads are errors.
        """
        started = time.perf_counter()
        reading = Reading(base, shared_blank_nodes, strict)
        self._add(self._backend.read([Path(path) for path in paths], reading))
        self._spent("load", started)

    def _add(self, facts: Mapping[Pred, Table]) -> None:
        explicit = dict(self._explicit)
        for pred, table in facts.items():
            present = explicit.get(pred)
            if present is not None:
                table = self._backend.merge(present, self._backend.minus(table, present))
            explicit[pred] = table
        self._assign(_explicit=explicit, _state=None, _program=None)

    def _assign(self, **attributes: Any) -> None:
        """Takes attributes over, all at once: no interrupt comes in between."""
        vars(self).update(attributes)

    def _encode(self, facts: Mapping[str, Any]) -> dict[Pred, Table]:
        found: dict[Pred, Table] = {}
        for predicate, (arity, table) in self._backend.encode_all(facts).items():
            if self._backend.size(table):
                found[self._pred_of(predicate, arity)] = table
        return found if found.keys().isdisjoint(INTERNAL) else self._by_predicate(found)

    def _pred_of(self, predicate: str, arity: int) -> Pred:
        """The predicate of facts that are given under a name."""
        if split(predicate)[1] is None:
            return Pred(predicate, arity)
        return Names({*self._mentioned, *self._explicit}).for_rows(predicate, arity)

    def _by_predicate(self, facts: dict[Pred, Table]) -> dict[Pred, Table]:
        """Facts in which triples, and types whose class is an IRI, are under their own predicates."""
        from deltalog.engine.distribute_triples import distributed

        return distributed(facts, self._backend)

    def _encode_facts(self, rules: Iterable[Rule]) -> dict[Pred, Table]:
        """The facts among some rules."""
        rows: dict[Pred, list[tuple[Value, ...]]] = {}
        for head in (head for rule in rules if rule.is_fact for head in rule.heads):
            rows.setdefault(head.pred, []).append(tuple(t.value for t in head.terms if isinstance(t, Constant)))
        return {pred: self._backend.encode(values, pred.name)[1] for pred, values in rows.items()}

    def _numbered(self, rules: Iterable[Rule]) -> dict[str, Rule]:
        """Rules by their ids, each once; new ones would get the next."""
        ids, last = {}, len(self._numbers)
        for rule in dict.fromkeys(rules):
            number = self._numbers.get(rule)
            if number is None:
                number = last = last + 1
            ids[f"r{number}"] = rule
        return ids

    def _with_numbers(self, ids: Mapping[str, Rule]) -> dict[Rule, int]:
        """The numbers that nobody else gets, with those of these ids."""
        return {**self._numbers, **{rule: int(name[1:]) for name, rule in ids.items()}}

    # The fixpoint.

    @exclusive
    def materialise(self, *, partial: bool = False) -> Report:
        """Derives everything that follows. At a limit: raises LimitReached and keeps nothing, or with `partial` keeps
        what has been derived, which is right but incomplete, and says so in the report."""
        if self._state is None or not (partial or self._is_complete):
            self._materialise(partial)
        return self.report

    @property
    def _is_complete(self) -> bool:
        """Whether there is a materialisation, and no limit has stopped it."""
        return self._state is not None and self._state is not self._stopped

    @limited
    def _materialise(self, partial: bool) -> None:
        from deltalog.maintenance.materialisation import Materialisation, start

        report = Report(engine=self.engine, seconds={**self._report.seconds, "plan": 0.0, "evaluate": 0.0})
        started = time.perf_counter()
        program = self.program
        analysed, planned = time.perf_counter() - started, 0.0
        relations, evaluator = start(program.placed(self._explicit), self._backend), self._evaluator(report)
        try:
            planned = evaluator.run(program, relations)
        except LimitReached as limit:
            if not partial:
                raise
            report.complete, report.why_incomplete = False, limit.reason
        state = Materialisation(program, self._explicit, relations, evaluator.trees)
        report.seconds["plan"] = analysed + planned
        report.seconds["evaluate"] = time.perf_counter() - started - report.seconds["plan"]
        report.peak_memory_bytes = peak_memory()
        if self.engine != "naive":
            report.engine, report.engine_reason = self._backend.reasoned_by
        report.pipeline = self._backend.name
        report.cyclic_rules = evaluator.trees.reported()
        self._assign(_state=state, _stopped=None if report.complete else state, _report=report)

    def _evaluator(self, report: Report) -> Evaluator[Table]:
        from deltalog.engine.hypertree import Trees
        from deltalog.maintenance.materialisation import Evaluator

        def observe(round_: Round) -> None:
            report.add_round(round_)
            self._observe(round_)

        naive = self.engine == "naive"
        trees = Trees("standard" if naive else self._cyclic, tuning=self._backend.tuning)
        return Evaluator(self._backend, naive, self._maintenance, observe, trees)

    @property
    @exclusive
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        known = self._program
        if known is None or known.rules != self._rules or known.data != self._explicit.keys():
            numbers = self._numbers_of(self._explicit)
            known = self._program = analyse(self._rules, self._explicit, self._schemes, numbers=numbers)
        return known

    @exclusive
    def plan(self) -> str:
        """How the rules would be evaluated over the present facts: hyper-nodes, join orders, decompositions."""
        from deltalog.plan.explain import explain

        program = self.program
        return explain(program, self._statistics(program), self.prefixes, self._cyclic)

    @exclusive
    def draw(self) -> str:
        """The dependency graph of the rules, and the hypertree decompositions of those that have one, as SVG."""
        from deltalog.plan.rule_graph_svg import draw

        program = self.program
        return draw(program, self.prefixes, self._statistics(program), self._cyclic)

    def _statistics(self, program: Program) -> Statistics:
        """What is known of the data before anything is derived."""
        from deltalog.maintenance.materialisation import start
        from deltalog.plan.statistics import Partial

        return Partial(start(program.placed(self._explicit), self._backend))

    @exclusive
    @limited
    def plan_goal(self, goal: str) -> str:
        """The rules that magic sets makes for a goal, after the fact that asks it."""
        from deltalog.query.goal import as_goal
        from deltalog.query.magic import show
        from deltalog.syntax.parser import parse_goal

        literals = parse_goal(goal, "<goal>", self.prefixes)
        self._check_predicates(literals)
        asked = as_goal(literals)
        return show(self._questions().rewriting(asked).rewriting, asked.constants, self.prefixes)

    # Changes.

    @exclusive
    @limited
    def update(self, add: Mapping[str, Any] | None = None, remove: Mapping[str, Any] | None = None) -> Change:
        """Adds and removes explicit facts (predicate -> rows or a table) and what follows, or no longer follows.

        A fact that is in both is added. Removing a fact that was not given does nothing: if it is derived, it stays.
        """
        return self._change(self._ids, self._encode(_by_name(add)), self._encode(_by_name(remove)))

    @exclusive
    @limited
    def add_rules(self, rules: Rules) -> Change:
        """Adds rules (and facts) and what follows."""
        document = read_documents(_sources(rules))
        given = document.rules
        ids = self._numbered((*self._rules, *(rule for rule in given if not rule.is_fact)))
        ids = ids if len(ids) > len(self._ids) else self._ids
        return self._change(ids, self._encode_facts(given), {}, document.prefixes)

    @exclusive
    @limited
    def remove_rules(self, rules: Rules) -> Change:
        """Removes rules (and facts): by their text, or by their ids (see `rule_ids`)."""
        left, texts = dict(self._ids), []
        for source in _sources(rules):
            if isinstance(source, str) and source.strip() in self._ids:
                left.pop(source.strip(), None)
            elif isinstance(source, str) and _RULE_ID.fullmatch(source.strip()):
                raise UsageError(f"there is no rule {source.strip()}; kb.rule_ids lists them")
            else:
                texts.append(source)
        given = read_rules(texts) if texts else []
        for rule in given:
            name = f"r{self._numbers.get(rule)}"
            if not rule.is_fact and name not in self._ids:
                raise UsageError(f"there is no such rule to remove: {rule}")
            left.pop(name, None)
        return self._change(
            left if len(left) < len(self._ids) else self._ids, {}, self._encode_facts(given) if given else {}
        )

    @property
    @exclusive
    def rule_ids(self) -> dict[str, Rule]:
        """The rules by their ids: r1, r2, ... in the order in which they were first given; an id never changes."""
        return dict(self._ids)

    def _change(
        self,
        ids: dict[str, Rule],
        add: dict[Pred, Table],
        remove: dict[Pred, Table],
        prefixes: Mapping[str, str] | None = None,
    ) -> Change:
        """The one way in which facts and rules (by their ids) change: all of it, or nothing."""
        old, rules = self._completed(), tuple(ids.values())
        if ids is not self._ids and not add and not remove and self.engine != "naive":
            cut = old.without_leaves(rules)
            if cut is not None:
                return self._become(ids, prefixes, *cut)
        from deltalog.maintenance.materialisation import ChangedFacts, updated

        facts = ChangedFacts.of(self._explicit, add, remove, self._backend)
        program = old.program
        same_data = facts.explicit.keys() <= program.data or not program.depends_on_data
        same_scope = program.scope.covers(facts.added, self._numbers_of(facts.added))
        if ids is not self._ids or not (same_data and same_scope):
            numbers = self._numbers_of(facts.explicit)
            program = changed(program, rules, facts.explicit, self._schemes, numbers, same_scope)
        return self._become(ids, prefixes, *updated(old, program, facts, self._evaluator(Report(engine=self.engine))))

    def _numbers_of(self, facts: Mapping[Pred, Table]) -> Numbers:
        """The kinds of numbers in facts, by predicates."""
        return lambda preds: self._backend.number_kinds([facts[pred] for pred in preds if pred in facts])

    def _become(
        self,
        ids: dict[str, Rule],
        prefixes: Mapping[str, str] | None,
        state: Materialisation[Table],
        update: Update[Table],
    ) -> Change:
        """A new state takes the place of the old one, at once."""
        change, after = self._described(update), dict[str, Any](_state=state, _explicit=state.explicit)
        if prefixes:
            after["prefixes"] = {**self.prefixes, **prefixes}
        if len(ids) > len(self._ids):
            after |= {"_mentioned": self._mentioned | state.program.preds, "_numbers": self._with_numbers(ids)}
        if self._state is not None and state.program is not self._state.program:
            after["_program"] = state.program
        if ids is not self._ids:
            after |= {"_ids": ids, "_rules": tuple(ids.values())}
        self._assign(**after)
        return change

    def _described(self, update: Update[Table]) -> Change:
        added, removed = update.differences()
        return Change(self._difference(added), self._difference(removed), update.report)

    def _difference(self, find: Callable[[], Mapping[Pred, Table]]) -> Difference:
        def views() -> dict[Pred, Facts[Table]]:
            with self._lock:
                return {pred: self._view(pred, table) for pred, table in find().items()}

        return Difference(views, self._names, lambda pred: self._view(pred, self._backend.empty(pred.arity)))

    # Facts out.

    @property
    @exclusive
    def report(self) -> Report:
        """What the last materialisation did, with the present numbers of facts."""
        report = self._report
        if self._state is not None:
            names = self._names().by_name
            report.per_predicate = {name: self._backend.size(self._table(pred)) for name, pred in names.items()}
            report.facts_total = sum(report.per_predicate.values())
            report.failed_expressions = self._backend.failures
        report.facts_in = self.explicit_facts
        return report

    @exclusive
    def tally(self) -> dict[str, int]:
        """What Spark has done so far: jobs, stages, tasks, shuffles; empty where there is none."""
        return self._backend.tally()

    @property
    @exclusive
    def explicit_facts(self) -> int:
        """How many facts were given."""
        return sum(self._backend.size(table) for table in self._explicit.values())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they were given."""
        return self._rules

    @property
    @exclusive
    def predicates(self) -> list[str]:
        """The names of all predicates that rules or facts speak of, sorted; `name/arity` where a name has several."""
        return list(self._names().by_name)

    @exclusive
    def _names(self, others: Iterable[Pred] = ()) -> Names:
        """What the predicates, and others, are called."""
        return Names(self._preds().union(others))

    @exclusive
    def arity(self, predicate: str) -> int:
        """How many arguments a predicate has; UsageError if there is none of that name."""
        return self._find(predicate).arity

    @property
    @exclusive
    def names_are_known(self) -> bool:
        """False where a rule with a variable for a predicate or a class may derive facts of one yet unheard of."""
        return self._state is not None or not self._has_wildcard_heads

    @property
    def _has_wildcard_heads(self) -> bool:
        """Whether a rule with a variable for a predicate or a class can derive facts of any class or property."""
        return any(head.pred in INTERNAL for rule in self._rules for head in rule.heads)

    @exclusive
    def facts(self, predicate: str) -> Facts[Table]:
        """The facts of a predicate, derived ones included."""
        self._materialised()
        pred = self._find(predicate)
        return self._view(pred, self._table(pred))

    @exclusive
    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        self._materialised()
        return self._backend.size(self._table(self._find(predicate)))

    @exclusive
    @limited
    def query(self, goal: str, method: str = "auto", *, timeout: float | None = None) -> Answers[Table]:
        """The answers of a goal such as `path(a, ?x)`, or several separated by commas: one row per binding of its
        variables, in the order in which they occur. Prefixes are those of the program. `timeout` is for this goal.

        method: "materialised" looks them up among all that follows; "magic" and "qsqr" derive only what the goal needs,
        by magic sets (bottom-up, for goals that need much) or QSQ-R (top-down, for goals that need little); "auto"
        looks them up if everything is known, and chooses otherwise. The answers say which it was, and why.
        """
        from deltalog.query.goal import as_goal
        from deltalog.query.goal_session import Answers, Derived, answer
        from deltalog.syntax.parser import parse_goal

        self._check_method(method)
        literals = parse_goal(goal, "<goal>", self.prefixes)
        started = time.perf_counter()
        with self.limits.running("query", timeout):
            choice, complete = self._settled_choice(method), True
            if choice is None or choice.method != "materialised":
                self._check_predicates(literals)
                choice = self._stratified_choice(as_goal(literals), choice)
            if choice is None or choice.method != "materialised":
                found = self._derived_answers(as_goal(literals), choice)
                choice = found.choice
            if choice.method == "materialised":
                facts = self._materialised().facts
                self._check_predicates(literals)
                found, complete = Derived(choice, answer(literals, facts)), self._report.complete
        return Answers(found, time.perf_counter() - started, complete)

    def _stratified_choice(self, goal: Goal, choice: Choice | None) -> Choice | None:
        """The choice, unless only a materialisation can answer the goal."""
        from deltalog.query.choose_method import UNSTRATIFIED

        return choice if self._questions().is_stratified(goal.reads) else UNSTRATIFIED

    def _derived_answers(self, goal: Goal, choice: Choice | None) -> Derived[Table]:
        """Answers by deriving what a goal needs, in the way chosen or that is chosen here; no facts where that is to
        derive everything, which has happened then."""
        from deltalog.query.choose_method import choose, kind_of_goal

        started, questions = self._backend.meter.work, self._questions()
        history, asking = questions.history, kind_of_goal(goal)
        found = questions.at_once(goal) if choice is None else None
        if found is None:
            if choice is None:
                features = questions.estimate(goal)
                choice = self._tried(choose(asking, features, self.selector, history))
            found = self._watched(choice, lambda choice: questions.derive(goal, choice))
        history.note(asking, self._backend.meter.work - started)
        return found

    def _settled_choice(self, method: str) -> Choice | None:
        """A choice for which nobody needs to look at the goal."""
        from deltalog.query.choose_method import Choice

        if method != "auto":
            return Choice(method, "as asked")
        if self._state is not None and self._report.complete:
            return Choice("materialised", "everything that follows is known already")
        if self.engine not in LOCAL:
            return Choice("magic", "there is no materialisation, and this is the way without one on Spark")
        return None

    def _tried(self, choice: Choice) -> Choice:
        """A choice; if it is to derive everything, that is tried for as much work as it may be."""
        from deltalog.query.choose_method import SLOWEST

        history = self._questions().history
        if choice.method != "materialised":
            return choice
        seconds = history.allowed / SLOWEST
        with self.limits.running("query", seconds), self._backend.meter.within(history.allowed):
            try:
                self._materialise(partial=False)
            except (LimitReached, GivenUp):
                history.give_up_materialising()
                return history.instead_of(choice)
        return choice

    def _watched(self, choice: Choice, answer: Callable[[Choice], R]) -> R:
        """The answers by a choice; where that is given up, by the other one, and so on."""
        while True:
            try:
                return answer(choice)
            except GivenUp:
                self.limits.check()
                choice = self._tried(self._questions().history.instead_of(choice))

    @exclusive
    @limited
    def estimate(self, goal: str) -> Features:
        """About how much work a goal is (paper 001, Algorithm 2): what the choice of a method goes by."""
        from deltalog.query.goal import as_goal
        from deltalog.syntax.parser import parse_goal

        literals = parse_goal(goal, "<goal>", self.prefixes)
        self._check_predicates(literals)
        return self._questions().estimate(as_goal(literals))

    @exclusive
    def learn(self, goal: str, *, timeout: float = 10.0) -> Example:
        """Asks a goal by magic sets and by QSQ-R, and notes in `examples` which was faster, to train a selector."""
        from deltalog.query.training_goals import examples

        (example,) = examples(self, [goal], timeout)
        self.examples.append(example)
        return example

    @exclusive
    def training_goals(self, most: int = 500, seed: int = 0) -> list[str]:
        """Goals to train a selector with, made from rules and facts (paper 001, Algorithm 3); kinds take turns."""
        from deltalog.query.training_goals import training_goals

        return training_goals(self._rules, self._explicit, self._backend, most, seed)

    @exclusive
    @limited
    def test_goals(self, most: int = 250, seed: int = 0, without: Iterable[str] = ()) -> list[tuple[str, int]]:
        """Other goals, made from facts that follow in one step, two steps and so on, with that number of steps."""
        from deltalog.query.training_goals import test_goals

        return test_goals(self._rules, self._explicit, self._backend, most, seed, without)

    @property
    @exclusive
    def selector(self) -> Model:
        """The model that chooses the method of a goal: the one that came with deltalog, unless another is set."""
        from deltalog.query.selector import load

        if self._selector is None:
            self._selector = load()
        return self._selector

    @selector.setter
    @exclusive
    def selector(self, model: Model | str | PathLike[str]) -> None:
        from deltalog.query.selector import Model, load

        self._selector = model if isinstance(model, Model) else load(Path(model))

    def _check_method(self, method: str) -> None:
        if method not in METHODS:
            raise UsageError(f"there is no method {method!r}; methods are {', '.join(METHODS)}")
        if method == "qsqr" and self.engine not in LOCAL:
            raise UsageError(
                "QSQ-R asks facts one small question after the other, which only the local engine can answer fast; "
                'ask with method="magic", or make the knowledge base with engine="local"'
            )

    def _check_predicates(self, literals: Sequence[Literal]) -> None:
        from deltalog.query.goal_session import predicates

        state = self._state.facts.parts if self._state is not None else {}
        for pred in predicates(literals) - {*INTERNAL, *self._mentioned, *self._explicit, *(p for p, _ in state)}:
            if not (self._has_wildcard_heads and is_rdf(pred)):
                raise unknown_predicate(str(pred), sorted(map(str, self._preds())))

    def _questions(self) -> Questions[Table]:
        """What goals are asked of, kept from one to the next."""
        from deltalog.query.goal_session import Questions

        settled = self._settled()
        facts = {**self._explicit, **settled}
        asked = self._asked
        if asked is None or asked.rules is not self._rules or asked.settled != settled.keys():
            asked = Questions(self._rules, facts, self._backend, settled)
        elif asked.facts != facts:
            asked = asked.changed(facts)
        self._asked = asked
        return asked

    def _settled(self) -> dict[Pred, Table]:
        """Of a materialisation that a limit has stopped: the predicates that were done with."""
        state = self._stopped
        if state is None or state is not self._state or self._backend.batches or state.program.stored:
            return {}
        reached = max((round_.hyper_node for round_ in self._report.rounds), default=0)
        nodes = state.program.hyper_nodes
        unsettled = {pred for node in nodes[reached:] for pred in node.heads}
        done = {pred for node in nodes[:reached] for pred in node.heads} - unsettled
        return {pred: state.relations.get(pred) for pred in done}

    def sparql(self, query: str, method: str = "auto") -> Solutions | bool:
        """The solutions of a SPARQL SELECT, or whether an ASK has one. `method` is as for `query`.

        A class is a predicate of one argument, a property one of two; predicates with bare names go as `<name>`.
        Prefixes are those of the query and the program, and rdf, rdfs, owl and xsd.
        """
        solutions = self.solve(query, method)
        return len(solutions) > 0 if solutions.ask else solutions

    @exclusive
    @limited
    def solve(self, query: str, method: str = "auto") -> Solutions:
        """As `sparql`, but an ASK, too, has solutions, which say how they came about: `method`, `reason`, `seconds`."""
        from deltalog.query.choose_method import kind
        from deltalog.query.sparql.query import translate

        self._check_method(method)
        translated = translate(query, self.prefixes)
        started, work = time.perf_counter(), self._backend.meter.work
        choice = self._sparql_choice(translated, method)
        solutions = self._watched(
            choice, lambda choice: self._sparql_asked(choice.method == "materialised").solve(translated, choice)
        )
        solutions.seconds = time.perf_counter() - started
        if solutions.method != "materialised":
            self._questions().history.note(kind(translated.rules), self._backend.meter.work - work)
        return solutions

    def _sparql_choice(self, query: Query, method: str) -> Choice:
        from deltalog.query.choose_method import UNSTRATIFIED, Choice

        choice = self._settled_choice(method)
        if choice is not None and choice.method == "materialised":
            return choice
        if self.engine == "naive":
            return Choice("materialised", "the naive engine derives everything")
        asked, history = self._sparql_asked(whole=False), self._questions().history
        if not asked.is_stratified(query):
            return UNSTRATIFIED
        return choice or self._tried(asked.choose(query, self.selector, history))

    def _sparql_asked(self, whole: bool) -> Asked[Table]:
        """What queries are asked of, kept from one to the next."""
        from deltalog.query.sparql.answer import Asked

        rules = () if whole else self._rules
        facts = (
            {pred: table for (pred, _), table in self._materialised().facts.parts.items()} if whole else self._explicit
        )
        asked = self._queried
        if asked is None or asked.rules != rules or asked.whole != whole or asked.facts != facts:
            asked = Asked(dict(facts), rules, self._evaluator(Report(engine=self.engine)), whole)
        self._queried = asked
        return asked

    @exclusive
    def derived(self, predicate: str) -> Facts[Table]:
        """The facts of a predicate that were not given but derived."""
        self._materialised()
        pred = self._find(predicate)
        explicit = self._explicit.get(pred)
        table = self._table(pred)
        return self._view(pred, table if explicit is None else self._backend.minus(table, explicit))

    @exclusive
    def write(
        self, folder: str | PathLike[str], format: str = "csv", *, only: Iterable[str] = (), derived: bool = False
    ) -> None:
        """Writes facts to a folder that is new or empty: one file per predicate (csv, tsv, parquet) or facts.nt."""
        started = time.perf_counter()
        view = self.derived if derived else self.facts
        self._materialised()
        chosen = {self._find(name): view(name) for name in list(only) or self.predicates}
        facts = {pred: rows.table for pred, rows in chosen.items() if len(rows)}
        self._backend.write(Path(folder), facts, format)
        self._spent("write", started)

    def _completed(self) -> Materialisation[Table]:
        """The materialisation; one that a limit has stopped is made again, from its facts and rules."""
        if not self._is_complete:
            self._materialise(partial=False)
        return self._materialised()

    def _materialised(self) -> Materialisation[Table]:
        if self._state is None:
            self._materialise(partial=False)
        assert self._state is not None
        return self._state

    def _view(self, pred: Pred, table: Table) -> Facts[Table]:
        return Facts([f"_{i}" for i in range(pred.arity)], table, self._backend)

    def _table(self, pred: Pred) -> Table:
        return self._materialised().facts.get(pred)

    def _preds(self) -> set[Pred]:
        """Predicates of rules and of facts; the internal ones only where they have facts of their own."""
        mentioned = set(self._mentioned) | set(self._explicit)
        own: set[Pred] = set()
        if self._state is not None:
            mentioned |= {pred for pred, _ in self._state.facts.parts}
            own = {pred for pred in INTERNAL if self._backend.size(self._table(pred))}
        return {pred for pred in mentioned - set(INTERNAL) if not pred.hidden} | own

    def _find(self, predicate: str) -> Pred:
        return self._names().find(predicate)

    def _spent(self, phase: str, started: float) -> None:
        self._report.seconds[phase] += time.perf_counter() - started


def _backend(engine: str, limits: Limits, tuning: Tuning, threads: int | None, master: str | None) -> Backend[Table]:
    """The backend of an engine; the naive engine keeps its facts in the local one."""
    if engine in ("spark", "auto"):
        from deltalog.backends.spark.startup.session import session

        spark = session(master)  # first: the engine is imported while the JVM comes up
        from deltalog.backends.spark.backend import SparkBackend

        return SparkBackend(limits, spark, driver_first=engine == "auto", tuning=tuning)
    from deltalog.backends.local import LocalBackend

    return LocalBackend(limits, threads=threads, tuning=tuning)


def _name(predicate: str) -> str:
    """The name of a predicate, checked, as a plain string."""
    if not isinstance(predicate, str):
        raise UsageError(f"expected the name of a predicate, such as 'edge', and not {predicate!r:.80}")
    if predicate.startswith("<") and predicate.endswith(">"):
        raise UsageError(f"there is no predicate {predicate!r}: write the IRI without <>, {predicate[1:-1]!r}")
    return str.__str__(predicate)


def _by_name(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    return {_name(predicate): data for predicate, data in (facts or {}).items()}


def _sources(program: Rules) -> list[str | Path]:
    return [program] if isinstance(program, str | Path) else list(program)


def _unknown_engine(engine: str) -> Exception:
    return UsageError(f"there is no engine {engine!r}; engines are {', '.join(ENGINES)}")
