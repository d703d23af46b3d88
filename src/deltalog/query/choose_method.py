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

Kind = tuple[tuple[Pred, Adornment], ...]


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
    tuning: Tuning = field(default_factory=Tuning)
    spent: float = 0.0
    kinds: Counter[Kind] = field(default_factory=Counter)
    tried: bool = False  # to materialise, in vain
    known_work: float = 0.0  # a materialisation is at least so much: it was given up there

    def note(self, asked: Kind, work: float) -> None:
        self.kinds[asked] += 1
        self.spent += work + self.tuning.goal_cost_rows

    @property
    def expected(self) -> float:
        """About the work of a materialisation: by an estimate, and by what is known of those that were given up."""
        tuning = self.tuning
        rows_per_rule = tuning.planning_cost_rows + tuning.running_cost_rows
        estimate = rows_per_rule * self.rules + tuning.materialisation_rows_per_fact * self.facts
        return max(self.known_work, tuning.materialisation_min_rows + estimate)

    @property
    def allowed(self) -> float:
        """The work that a materialisation may be when it is tried."""
        return self.tuning.materialisation_patience_factor * max(self.expected, self.spent)

    @property
    def allowed_seconds(self) -> float:
        """The same in seconds: a materialisation that is far slower is given up by the clock."""
        return self.allowed / self.tuning.materialisation_min_rows_per_second

    @property
    def allowed_magic(self) -> float:
        """The work that magic sets may do before everything is derived instead."""
        return max(self.tuning.magic_patience_factor * self.expected, self.known_work)

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

    def why_materialise(self, asking: Kind, features: Features) -> str | None:
        """Why everything should be derived now; None if it should not."""
        if self.tried:
            return None
        asked = self.kinds[asking]
        if asked >= self.tuning.goals_before_materialising and self.spent >= self.expected:
            return f"{asked} goals of this kind have been asked, and were as much work as deriving everything should be"
        most_rules = features.rules > self.tuning.goal_most_of_program_share * self.rules
        return self._why_everything(features) if most_rules else None

    def _why_everything(self, features: Features) -> str | None:
        """The same for a goal that needs most of the rules."""
        tuning = self.tuning
        many_rules = self.rules > tuning.goal_small_rules
        most_facts = features.facts > tuning.goal_most_of_program_share * self.facts
        if most_facts and (many_rules or self.facts > tuning.goal_small_facts):
            return "the goal needs most of the facts and most of the rules"
        if many_rules and features.substitutions > self.expected:
            return "the goal needs most of the rules, and is estimated to be more work than deriving everything"
        return None


UNSTRATIFIED = Choice("materialised", "with every class and property in one relation, rules would negate themselves")
AT_ONCE = Choice("qsqr", "it was answered before there was anything to choose")


def kind(rules: Iterable[Rule], given: Collection[Variable] = ()) -> Kind:
    """Goals of one kind ask the same predicates with the same arguments bound, by their rules."""
    return tuple((atom.pred, adorn(atom, given)) for rule in rules for atom in rule.body if isinstance(atom, Atom))


def kind_of_goal(goal: Goal) -> Kind:
    given = {v for v in goal.head.terms[: len(goal.constants)] if isinstance(v, Variable)}
    return kind([goal.rule], given)


def choose(asking: Kind, features: Features, model: Model, history: History) -> Choice:
    """The method for a goal over rules and facts that are not materialised."""
    reason = history.why_materialise(asking, features)
    if reason is not None:
        return Choice("materialised", reason, features)
    method = model.choose(features)
    expected = f"about {features.facts:,.0f} facts and {features.rules:,.0f} rules"
    reason = f"the {model.classifier} model expects it to be faster for {expected}"
    allowed = history.allowed_magic
    patience = min(model.patience(features), allowed / history.tuning.qsqr_row_cost_rows) if method == "qsqr" else inf
    return Choice(method, reason, features, patience, allowed)
