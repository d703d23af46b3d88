"""How a goal is answered when nobody says how: the learned choice, and a third one past paper 001.

Between magic sets and QSQ-R a model decides by the features of the goal (`deltalog.query.selector`). They know nothing
of what lies behind a constant: among goals that look the same, one has three answers and the next one thousands. So the
model also says after how much work (rows) QSQ-R is given up, and magic sets takes over. And before there is an estimate
at all QSQ-R may go through a thousand rows, which takes about a millisecond: who asks for a handful of facts waits for
nothing else. Materialising
everything is the third choice, and pays when goals keep coming: when as much work has gone into goals, many of one
kind, as a materialisation should take; or at once, when a goal needs most of the facts and rules anyway.

All of this is watched while it runs (`plan.work_counter`). Magic sets may do as much work as a materialisation should
take (`History.expected`): rules with a variable for a predicate or a class make it derive everything, and questions
about everything besides. Beyond that everything is derived instead. Nobody knows what a materialisation takes before it
is made, so it, too, is allowed only some work. If that is not enough the two take turns, with growing budgets, until
one of them is done; for later goals a materialisation is tried again only when magic sets is given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from math import inf

from deltalog.model.tuning import Tuning
from deltalog.query.adornment import Adornment, adorn
from deltalog.query.estimate import Features
from deltalog.query.goal import Goal
from deltalog.query.selector import Model
from deltalog.syntax.ast import Atom, Pred, Rule, Variable

MANY = 20  # goals of one kind
MOST = 0.5  # of the facts, and of the rules
FEW_FACTS, FEW_RULES = 10_000, 50  # with neither more facts nor more rules, a goal that needs everything is no hurry
# About the rows of a materialisation: every rule is planned and run, every fact goes through a few steps. Measured:
# LUBM(1) with L 0.4 M for 57 rules and 100,000 facts, with RDFS 2.1 M for 126 rules.
ROWS_PER_FACT, ROWS_PER_RULE = 3, Tuning().planning_cost_rows + Tuning().running_cost_rows
AT_LEAST = 50_000  # rows, for planning and the first rounds of the smallest programs (`python -m benchmarks.choices`)
PATIENCE = 4.0  # times what a materialisation should take, when it is tried
MAGIC = 1.0  # times the same, for magic sets
QSQR_ROWS = 20  # rows of a plan that take as long as one row of QSQ-R
GOAL_ROWS = 10_000  # the same for a goal, whatever it asks
SLOWEST = 1e6  # rows a second; a materialisation that is slower is given up by the clock

GoalKind = tuple[tuple[Pred, Adornment], ...]


@dataclass(frozen=True)
class Choice:
    """A method, and why."""

    method: str
    reason: str
    features: Features | None = None
    patience: float = inf  # rows after which QSQ-R hands over to magic sets
    allowed: float = inf  # rows after which magic sets hands over to a materialisation

    def given_up(self) -> Choice:
        reason = f"QSQ-R was given up at {self.patience:,.0f} rows, though {self.reason}"
        return replace(self, method="magic", reason=reason)


@dataclass
class History:
    """The goals that have been asked of the same facts and rules: their kinds, and the work (rows) that they were."""

    facts: int
    rules: int
    spent: float = 0.0
    kinds: Counter[GoalKind] = field(default_factory=Counter)
    tried: bool = False  # to materialise, in vain
    known_work: float = 0.0  # a materialisation is at least so much: it was given up there

    def note(self, asked: GoalKind, work: float) -> None:
        self.kinds[asked] += 1
        self.spent += work + GOAL_ROWS

    @property
    def expected(self) -> float:
        """About the work of a materialisation: by an estimate, and by what is known of those that were given up."""
        return max(self.known_work, AT_LEAST + ROWS_PER_RULE * self.rules + ROWS_PER_FACT * self.facts)

    @property
    def allowed(self) -> float:
        """The work that a materialisation may be when it is tried."""
        return PATIENCE * max(self.expected, self.spent)

    @property
    def allowed_magic(self) -> float:
        """The work that magic sets may do before everything is derived instead."""
        return max(MAGIC * self.expected, self.known_work)

    def give_up_materialising(self) -> None:
        """Notes that everything was more work than it was allowed."""
        self.tried, self.known_work = True, max(self.allowed, 2 * self.expected)

    def instead_of(self, choice: Choice) -> Choice:
        """The choice when another one has been given up. The two take turns, each with several times the work of the
        turn before, so that in the end at most a bounded multiple of the better one has been spent."""
        if choice.method == "materialised":
            reason = f"deriving everything was given up at {self.known_work:,.0f} rows"
            return replace(choice, method="magic", reason=reason, allowed=self.allowed_magic)
        reason = f"magic sets was given up at {choice.allowed:,.0f} rows, which is what deriving everything should take"
        return replace(choice, method="materialised", reason=reason)

    def why_materialise(self, asking: GoalKind, features: Features) -> str | None:
        """Why everything should be derived now; None if it should not."""
        if self.tried:
            return None
        asked = self.kinds[asking]
        if asked >= MANY and self.spent >= self.expected:
            return f"{asked} goals of this kind have been asked, and were as much work as deriving everything should be"
        return self._why_everything(features) if features.rules > MOST * self.rules else None

    def _why_everything(self, features: Features) -> str | None:
        """The same for a goal that needs most of the rules."""
        if features.facts > MOST * self.facts and (self.facts > FEW_FACTS or self.rules > FEW_RULES):
            return "the goal needs most of the facts and most of the rules"
        if self.rules > FEW_RULES and features.substitutions > self.expected:
            return "the goal needs most of the rules, and is estimated to be more work than deriving everything"
        return None


UNSTRATIFIED = Choice("materialised", "with every class and property in one relation, rules would negate themselves")
AT_ONCE = Choice("qsqr", "it was answered before there was anything to choose", patience=1_000)


def kind(rules: Iterable[Rule], given: Collection[Variable] = ()) -> GoalKind:
    """Goals of one kind ask the same predicates with the same arguments bound, by their rules."""
    return tuple((atom.pred, adorn(atom, given)) for rule in rules for atom in rule.body if isinstance(atom, Atom))


def kind_of_goal(goal: Goal) -> GoalKind:
    given = {v for v in goal.head.terms[: len(goal.constants)] if isinstance(v, Variable)}
    return kind([goal.rule], given)


def choose(asking: GoalKind, features: Features, model: Model, history: History) -> Choice:
    """The method for a goal over rules and facts that are not materialised."""
    reason = history.why_materialise(asking, features)
    if reason is not None:
        return Choice("materialised", reason, features)
    method = model.choose(features)
    expected = f"about {features.facts:,.0f} facts and {features.rules:,.0f} rules"
    reason = f"the {model.classifier} model expects it to be faster for {expected}"
    patience = min(model.patience(features), history.allowed_magic / QSQR_ROWS) if method == "qsqr" else inf
    return Choice(method, reason, features, patience, history.allowed_magic)
