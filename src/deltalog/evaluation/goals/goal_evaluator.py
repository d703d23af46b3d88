"""Goals over rules and facts, by the method that is asked for.

Over a materialisation the goal's rule is all there is to evaluate. (Facts of a materialisation are under their own
predicates; for a goal with a variable for a predicate or a class, triples are made from them by the bridges that such a
rule needs.) Without one, magic sets or QSQ-R derive what the goal needs. `GoalEvaluator` has what is worth keeping
from one goal to the next: the rules by head, rewritings and adorned rules, look-ups.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import NotStratified, UsageError
from deltalog.core.rules import TRIPLES, TYPES, Atom, BodyLiteral, HiddenName, Pred, Rule, variables
from deltalog.evaluation.backend import Backend, run
from deltalog.evaluation.codec import encode_rows
from deltalog.evaluation.facts import Facts
from deltalog.evaluation.goals.goal import Goal, as_goal, goal_rule
from deltalog.evaluation.goals.look_up import look_up
from deltalog.evaluation.goals.magic import Rewriting, magic_sets
from deltalog.evaluation.goals.rulebase import Rulebase, reads
from deltalog.evaluation.maintenance.materialisation import start
from deltalog.evaluation.plan import ir
from deltalog.evaluation.plan.ir import Part, fact_columns
from deltalog.evaluation.plan.statistics import PartialStatistics
from deltalog.evaluation.plan.work_counter import GivenUp
from deltalog.evaluation.seminaive import HyperNodePlans, Relations, SemiNaive
from deltalog.program import Program, analyse, rewritten
from deltalog.program.triple_bridges import is_rdf

if TYPE_CHECKING:
    from deltalog.evaluation.failed_expressions import FailedExpression
    from deltalog.evaluation.goals.choose_method import History, MethodChoice
    from deltalog.evaluation.goals.estimate import Estimator, Features
    from deltalog.evaluation.goals.qsqr import Stored

T = TypeVar("T")


def answer(goal: Sequence[BodyLiteral], facts: Relations[T]) -> Facts[T]:
    """The answers of a goal over a materialisation."""
    rule = goal_rule(goal)
    names = [v.name for v in variables(rule.heads[0])]
    found = look_up(rule, lambda pred: facts.parts.get((pred, Part.ALL)), facts.backend)
    if found is not None:
        return Facts(names, found, facts.backend)
    program = analyse([rule], {pred for pred, _ in facts.parts})  # an unsafe goal is refused like an unsafe rule
    relations = Relations(facts.backend, dict(facts.parts))
    SemiNaive(program, relations, goal=True).run()
    return Facts(names, relations.get(rule.heads[0].pred), facts.backend)


class Answers(Facts[T]):
    """The answers of a goal: rows, as `Facts` are, and how they came about.

    `method` is the one that ran, `reason` why, `seconds` what it took, `work` the rows that QSQ-R went through;
    `complete` is False only for answers from a materialisation that was stopped by a limit. `failures` are the
    expressions that had no value for some rows, of the goal and of rules that it depends on: answers may be missing.
    """

    def __init__(self, derived: Derived[T], seconds: float = 0.0, complete: bool = True) -> None:
        choice, facts, self.work = derived
        super().__init__(facts.columns, facts.table, facts._backend)
        self.method, self.reason, self.features = choice.method, choice.reason, choice.features
        self.seconds, self.complete = seconds, complete
        self.reads: Collection[Pred] = ()
        self.failures: tuple[FailedExpression, ...] = ()

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]} by {self.method}: {self.reason}>"


class Rewritten(NamedTuple):
    """The magic program of a goal, and the plans of its rules."""

    program: Program
    rewriting: Rewriting
    plans: dict[tuple[int, int], HyperNodePlans]


class Derived(NamedTuple, Generic[T]):
    """Answers, the choice that led to them, and the work that they were for QSQ-R."""

    choice: MethodChoice
    facts: Facts[T]
    work: int | None = None


class GoalEvaluator(Generic[T]):
    """Rules and facts that goals are asked of, as long as both stay the same.

    `settled` predicates have all their facts among `facts`, which need not be explicit ones: their rules are not used.
    """

    def __init__(
        self, rules: Sequence[Rule], facts: Mapping[Pred, T], backend: Backend[T], settled: Collection[Pred] = ()
    ) -> None:
        self.facts, self.backend = facts, backend
        self.rules, self.settled = rules, frozenset(settled)
        self._rulebases: dict[frozenset[Pred], Rulebase] = {}
        self._rewritings: dict[tuple[Rule, bool], Rewritten] = {}
        self._estimators: dict[int, Estimator[T]] = {}

    def changed(self, facts: Mapping[Pred, T]) -> GoalEvaluator[T]:
        """The same rules over other facts of the same predicates."""
        other = GoalEvaluator(self.rules, facts, self.backend, self.settled)
        if other.present == self.present:
            other._rulebases, other._rewritings = self._rulebases, self._rewritings
        return other

    def having(self, rules: Sequence[Rule]) -> GoalEvaluator[T]:
        """The same with more rules, which one goal needs."""
        return GoalEvaluator((*self.rules, *rules), self.facts, self.backend, self.settled) if rules else self

    @cached_property
    def present(self) -> frozenset[Pred]:
        """The predicates that have facts."""
        return frozenset(pred for pred, table in self.facts.items() if self.backend.size(table))

    @cached_property
    def statistics(self) -> PartialStatistics:
        return PartialStatistics(start(self.facts, self.backend))

    def rulebase(self, read: Collection[Pred] = ()) -> Rulebase:
        """The rules by head, with the bridges for a goal that reads some predicates."""
        bridged = frozenset(pred for pred in read if pred in (TRIPLES, TYPES) or self._has_only_wildcards(pred))
        if bridged not in self._rulebases:
            rules = [*self.rules, *(_reader(pred) for pred in sorted(bridged))]
            self._rulebases[bridged] = Rulebase.of(rules, self.present, self.settled)
        return self._rulebases[bridged]

    def is_stratified(self, read: Collection[Pred] = ()) -> bool:
        """Whether the bridges for a goal that reads some predicates close no cycle through a negation. A program that
        has none can have one with them: they make every class, or property, part of one relation."""
        try:
            self.rulebase(read)
        except NotStratified:
            return False
        return True

    @cached_property
    def _mentioned(self) -> frozenset[Pred]:
        """The predicates that have facts or that a rule mentions by name."""
        atoms = {pred for rule in self.rules for pred in (*(head.pred for head in rule.heads), *reads(rule.body))}
        return self.present | atoms

    def _has_only_wildcards(self, pred: Pred) -> bool:
        """Whether only rules with a variable for a predicate or a class can derive facts of a predicate."""
        return is_rdf(pred) and pred not in self._mentioned and not self._mentioned.isdisjoint((TRIPLES, TYPES))

    # What a goal will take.

    @cached_property
    def history(self) -> History:
        from deltalog.evaluation.goals.choose_method import History

        facts = sum(self.backend.size(table) for table in self.facts.values())
        return History(facts, sum(map(len, self.rulebase().deriving.values())), self.backend.tuning)

    def estimate(self, goal: Goal) -> Features:
        """The features of a goal (Algorithm 2)."""
        from deltalog.evaluation.goals.estimate import Estimator

        rulebase = self.rulebase(goal.reads)
        name = id(rulebase)
        if name not in self._estimators:
            self._estimators[name] = Estimator(rulebase, self.stored)
        return self._estimators[name].features(goal)

    # Magic sets.

    def rewriting(self, goal: Goal, all_triples: bool = False) -> Rewritten:
        """The magic program of a goal, made once for goals that differ in constants alone. `all_triples`: TRIPLE and
        rdf:type are derived in full, by their own rules."""
        name = goal.rule, all_triples
        if name not in self._rewritings:
            deriving = ChainMap(dict(goal.rules), self.rulebase(goal.reads).deriving)
            spend, whole = self.backend.meter.spend, (TRIPLES, TYPES) if all_triples else ()
            made = magic_sets(deriving, goal.head, goal.adornment, self.present, self.statistics, spend, whole)
            self._rewritings[name] = Rewritten(rewritten(made.rules), made, {})
        return self._rewritings[name]

    def at_once(self, goal: Goal, choice: MethodChoice | None = None) -> Derived[T] | None:
        """The answers of a goal that is less work than choosing how to answer it, or than a choice of QSQ-R allows;
        None
        for others."""
        from deltalog.evaluation.goals.choose_method import AT_ONCE

        first = replace(AT_ONCE, patience=self.backend.tuning.qsqr_first_attempt_rows)
        try:
            return self.derive(goal, choice or first, again=False)
        except GivenUp:
            return None

    def derive(self, goal: Goal, choice: MethodChoice, again: bool = True) -> Derived[T]:
        """The answers of a goal by magic sets or QSQ-R, as chosen; where QSQ-R is given up, by magic sets, or GivenUp
        is raised if not `again`. It is raised where magic sets is more work than allowed, too. Where everything has
        been derived instead, the answers are there: none here."""
        if choice.method == "materialised":
            return self.none(goal, choice)
        if self._needs_what_is_not(goal):
            return self.none(goal, choice)._replace(work=0)
        if choice.method == "qsqr":
            try:
                return Derived(choice, *self.by_qsqr(goal, choice.patience))
            except GivenUp:
                if not again:
                    raise
                choice = choice.given_up(self.backend.tuning.qsqr_row_cost_rows)
        with self.backend.meter.within(choice.allowed):
            return Derived(choice, self.by_magic(goal))

    def none(self, goal: Goal, choice: MethodChoice) -> Derived[T]:
        """No answers."""
        return Derived(choice, Facts(goal.names, self.backend.empty(len(goal.names)), self.backend))

    def _needs_what_is_not(self, goal: Goal) -> bool:
        """Whether an atom has a constant that is in no fact and no rule, so that nothing matches it. Such a constant
        gets no id: whoever asks for a million things that are not there would fill the dictionary with them."""
        ids = self.backend.capabilities.point_lookup
        if ids is None:
            return False
        unknown = {v for v, c in zip(goal.head.terms, goal.constants, strict=False) if ids.find(c) is None}
        if not unknown:
            return False
        values, rulebase = dict(zip(goal.head.terms, goal.constants, strict=False)), self.rulebase(goal.reads)
        atoms = [
            (atom, v) for atom in goal.rule.body if isinstance(atom, Atom) for v in unknown.intersection(atom.terms)
        ]
        return any(not rulebase.may_have(atom.pred, values[v]) for atom, v in atoms)

    def by_magic(self, goal: Goal) -> Facts[T]:
        """The answers by magic sets. With rules that have a variable for a predicate or a class, once that is as much
        work as a materialisation is estimated to take, TRIPLE and rdf:type are derived in full."""
        if self.rulebase(goal.reads).deriving.keys().isdisjoint((TRIPLES, TYPES)):
            return self._by_rewriting(goal)
        meter = self.backend.meter
        try:
            with meter.within(self.history.expected):
                return self._by_rewriting(goal)
        except GivenUp:
            if meter.work > meter.most:
                raise  # the budget of magic sets as a whole
        return self._by_rewriting(goal, all_triples=True)

    def _by_rewriting(self, goal: Goal, all_triples: bool = False) -> Facts[T]:
        program, rewriting, plans = self.rewriting(goal, all_triples)
        relations = start(self.facts, self.backend)
        relations.set(rewriting.seed.pred, self._seed(goal))
        SemiNaive(program, relations, goal=True, plans=plans).run()
        return Facts(goal.names, self._without_constants(goal, rewriting.answers, relations), self.backend)

    def _seed(self, goal: Goal) -> T:
        return encode_rows(self.backend.codec, [goal.constants]) if goal.constants else self.backend.load((), 0)

    def _without_constants(self, goal: Goal, answers: Pred, relations: Relations[T]) -> T:
        if not goal.constants:
            return relations.get(answers)
        columns = fact_columns(answers.arity)
        kept = tuple((v, v) for v in columns[len(goal.constants) :])
        plan = ir.Distinct(ir.Project(ir.Scan(Atom(answers.name, columns)), kept))
        return run(self.backend, plan, relations.parts)

    # QSQ-R.

    @cached_property
    def stored(self) -> Stored[T]:
        from deltalog.evaluation.goals.qsqr import Stored

        lookups = self.backend.capabilities.point_lookup
        if lookups is None:
            raise UsageError(
                "QSQ-R and the estimate of a goal need point look-ups, which this engine does not have; "
                'make the knowledge base with engine="local"'
            )
        return Stored(self.facts, start(self.facts, self.backend), lookups)

    def by_qsqr(self, goal: Goal, patience: float = inf) -> tuple[Facts[T], int]:
        """The answers, and the work that they were; GivenUp where that is more than the patience."""
        from deltalog.evaluation.goals.qsqr import Qsqr

        lookups = self.stored.lookups
        key = tuple(lookups.intern(value) for value in goal.constants)
        evaluation = Qsqr(self.rulebase(goal.reads), self.stored, self.backend, goal.rules, patience)
        try:
            rows = evaluation.ask(goal.head.pred, goal.adornment, key)
        finally:
            self.backend.meter.work += self.backend.tuning.qsqr_row_cost_rows * evaluation.work
        return Facts(goal.names, lookups.table(rows, len(goal.names)), self.backend), evaluation.work


def _reader(pred: Pred) -> Rule:
    """A rule that reads a whole predicate: TRIPLE, rdf:type, or one that the program does not mention."""
    return Rule((Atom(HiddenName(f"#reader of {pred}"), ()),), (Atom(pred.name, fact_columns(pred.arity)),))


def rewrite(
    goal: Sequence[BodyLiteral], rules: Sequence[Rule], explicit: Mapping[Pred, T], backend: Backend[T]
) -> tuple[Program, Rewriting]:
    """The magic program of a goal, checked."""
    asked = as_goal(goal)
    return GoalEvaluator(rules, explicit, backend).having(asked.derived).rewriting(asked)[:2]
