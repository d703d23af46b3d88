"""The choice of a method for a goal: the learned one of Joshi et al., and materialising as a third method.

Between magic sets and QSQ-R a model decides by the features of the goal (`deltalog.evaluation.goals.selector`).
Features say nothing about a single constant: of two goals that look the same, one has three answers and the other
thousands. So the model also says after how much work (rows) QSQ-R gives up and magic sets takes over. Before anything
is estimated, QSQ-R may visit a thousand rows, about a millisecond: a goal with a handful of facts costs nothing else.
Materialising is the third method. It pays when goals keep coming: when many goals of one kind have taken as much work
as a materialisation is estimated to take; or at once, when a goal needs most of the facts and rules anyway.

All methods are metered while they run (`plan.work_counter`). Magic sets may do as much work as a materialisation is
estimated to take (`History.expected`), less what QSQ-R has done before it: with rules that have a variable for a
predicate or a class it derives everything, and adorned copies of it besides. Beyond that, everything is materialised
instead. Where estimates say so from the start, QSQ-R has a trial before, for a part of that work: they are far too high
where most of what a goal may ask is never asked. The work of a materialisation is only an estimate, too, so it has a
budget. If it is exceeded the two take turns, with growing budgets, until one of them is
done; for later goals a materialisation is tried again only when magic sets gives up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from math import inf

from deltalog.core.rules import Atom, Pred, Rule, Variable
from deltalog.core.tuning import Tuning
from deltalog.evaluation.goals.adornment import Adornment, adorn
from deltalog.evaluation.goals.estimate import Features
from deltalog.evaluation.goals.goal import Goal
from deltalog.evaluation.goals.selector import Model

_SMALL_RULES = 50  # with fewer rules, and few facts, a goal that needs everything is cheap by any method
_QSQR_BUDGET_SHARE = 0.8  # of the budget of magic sets, at most, is for QSQ-R before it
# Of the work of a materialisation, for a trial of QSQ-R where estimates alone say to materialise:
_QSQR_TRIAL_SHARE = 0.25
# Of CPU; Exp, with SKOLEM and BIND, has 1.7 M, and other load on the machine should change no choice:
_MIN_ROWS_PER_SECOND = 2e5

GoalKind = tuple[tuple[Pred, Adornment], ...]


@dataclass(frozen=True)
class MethodChoice:
    """A method, the reason for it, and its budgets."""

    method: str
    reason: str
    features: Features | None = None
    patience: float = inf  # rows after which QSQ-R hands over to magic sets, or to a materialisation
    allowed: float = inf  # rows after which both have handed over to a materialisation

    def given_up(self, qsqr_row_cost_rows: float) -> MethodChoice:
        """Magic sets instead of QSQ-R, with the budget that is left."""
        reason = f"QSQ-R gave up after {self.patience:,.0f} rows (it was chosen because {self.reason})"
        allowed = self.allowed - qsqr_row_cost_rows * self.patience
        return replace(self, method="magic", reason=reason, allowed=allowed)

    @property
    def trial(self) -> MethodChoice:
        """The attempt before a materialisation: estimates can be far too high."""
        return replace(self, method="qsqr", reason=f"QSQ-R answered it in a trial, although {self.reason}")


@dataclass
class History:
    """The goals so far over the same facts and rules: how many of each kind, and their work in rows."""

    facts: int
    rules: int
    tuning: Tuning = field(default_factory=Tuning)
    spent: float = 0.0
    kinds: Counter[GoalKind] = field(default_factory=Counter)
    tried: bool = False  # to materialise, without success
    known_work: float = 0.0  # a materialisation takes at least this much: it gave up there

    def note(self, asked: GoalKind, work: float) -> None:
        self.kinds[asked] += 1
        self.spent += work + self.tuning.goal_cost_rows

    @property
    def expected(self) -> float:
        """The estimated work of a materialisation, at least that of attempts that gave up."""
        tuning = self.tuning
        rows_per_rule = tuning.planning_cost_rows + tuning.running_cost_rows
        estimate = rows_per_rule * self.rules + tuning.materialisation_rows_per_fact * self.facts
        return max(self.known_work, tuning.materialisation_min_rows + estimate)

    @property
    def allowed(self) -> float:
        """The budget of an attempt to materialise."""
        return self.tuning.materialisation_patience_factor * max(self.expected, self.spent)

    @property
    def allowed_seconds(self) -> float:
        """The same in seconds: an attempt that is far slower than estimated gives up by the clock."""
        return self.allowed / _MIN_ROWS_PER_SECOND

    @property
    def allowed_magic(self) -> float:
        """The work that magic sets may do before everything is materialised instead."""
        return max(self.tuning.magic_patience_factor * self.expected, self.known_work)

    def trial_rows(self, asking: GoalKind) -> float:
        """The rows of QSQ-R that a trial before a materialisation may take: none where goals of a kind keep coming, or
        where they are not many more than the first attempt has had."""
        rows = _QSQR_TRIAL_SHARE * self.expected / self.tuning.qsqr_row_cost_rows
        is_new = self.kinds[asking] < self.tuning.goals_before_materialising
        return rows if is_new and rows > 2 * self.tuning.qsqr_first_attempt_rows else 0.0

    def give_up_materialising(self) -> None:
        """Notes that a materialisation exceeded its budget."""
        self.tried, self.known_work = True, max(self.allowed, 2 * self.expected)

    def instead_of(self, choice: MethodChoice) -> MethodChoice:
        """The choice after another one gave up. The two take turns, each with several times the budget of its last
        turn, so that the total work is at most a bounded multiple of the better one."""
        if choice.method == "materialised":
            reason = f"a materialisation gave up after {self.known_work:,.0f} rows"
            return replace(choice, method="magic", reason=reason, allowed=self.allowed_magic)
        reason = f"magic sets gave up after {choice.allowed:,.0f} rows, the estimated work of a materialisation"
        return MethodChoice("materialised", reason, choice.features)  # without a budget: it reads a complete state

    def why_materialise(self, asking: GoalKind, features: Features) -> str | None:
        """Why to materialise now; None if there is no reason to."""
        if self.tried or not self.rules:
            return None
        asked = self.kinds[asking]
        if asked >= self.tuning.goals_before_materialising and self.spent >= self.expected:
            return f"{asked} goals of this kind, and together as much work as a materialisation is estimated to take"
        most_rules = features.rules > self.tuning.goal_most_of_program_share * self.rules
        is_open = not any(map(any, (adornment for _, adornment in asking)))
        return self._why_everything(features, is_open) if most_rules else None

    def _why_everything(self, features: Features, is_open: bool) -> str | None:
        """The same for a goal that needs most of the rules; an open goal binds no argument that would save work."""
        tuning = self.tuning
        many_rules = self.rules > _SMALL_RULES
        most_facts = features.facts > tuning.goal_most_of_program_share * self.facts
        if most_facts and (is_open or many_rules or self.facts > tuning.goal_small_facts):
            return "the goal needs most of the facts and most of the rules"
        if many_rules and features.substitutions > self.expected:
            return "the goal needs most of the rules, and is estimated to take more work than a materialisation"
        return None


UNSTRATIFIED = MethodChoice("materialised", "the bridges that this goal needs would close a cycle through negation")
AT_ONCE = MethodChoice("qsqr", "QSQ-R answered it before a choice was needed")


def kind(rules: Iterable[Rule], given: Collection[Variable] = ()) -> GoalKind:
    """The kind of a goal: its predicates and which of their arguments are bound."""
    return tuple((atom.pred, adorn(atom, given)) for rule in rules for atom in rule.body if isinstance(atom, Atom))


def kind_of_goal(goal: Goal) -> GoalKind:
    given = {v for v in goal.head.terms[: len(goal.constants)] if isinstance(v, Variable)}
    return kind([goal.rule, *goal.derived], given)


def choose(asking: GoalKind, features: Features, model: Model, history: History) -> MethodChoice:
    """The method for a goal over rules and facts that are not materialised."""
    reason = history.why_materialise(asking, features)
    if reason is not None:
        return MethodChoice("materialised", reason, features, history.trial_rows(asking))
    method = model.choose(features)
    needed = f"about {features.facts:,.0f} facts and {features.rules:,.0f} rules"
    reason = f"the {model.classifier} model predicts that it is faster for {needed}"
    allowed = history.allowed_magic
    most = _QSQR_BUDGET_SHARE * allowed / history.tuning.qsqr_row_cost_rows
    patience = min(model.patience(features), most) if method == "qsqr" else inf
    return MethodChoice(method, reason, features, patience, allowed)
