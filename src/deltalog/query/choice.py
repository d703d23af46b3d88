"""How a goal is answered when nobody says how: the learned choice, and a third one past paper 001.

Between magic sets and QSQ-R a model decides by the features of the goal (`deltalog.query.selector`). They know nothing
of what lies behind a constant: among goals that look the same, one has three answers and the next one thousands. So the
model also says after how much work (rows) QSQ-R is given up, and magic sets takes over. And before there is an estimate
at all QSQ-R may go through a thousand rows, which takes about a millisecond: who asks for a handful of facts waits for
nothing else. Materialising
everything is the third choice, and pays when goals keep coming: when as much time has gone into goals, many of one
kind, as a materialisation should take; or at once, when a goal needs most of the facts and rules anyway. Nobody knows
what a materialisation takes before it is made, so it gets a time, and if that is not enough it is not tried again until
facts or rules change. So at worst a bounded multiple of the better way is spent, as in the ski rental problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from math import inf

from deltalog.query.adornment import Adornment, adorn
from deltalog.query.estimate import Features
from deltalog.query.goal import Goal
from deltalog.query.selector import Model
from deltalog.syntax.ast import Atom, Pred, Rule, Variable

MANY = 20  # goals of one kind
MOST = 0.5  # of the facts, and of the rules
FEW_FACTS = 10_000  # below, a goal that needs everything is no hurry
PER_FACT, AT_LEAST = 2e-7, 0.02  # about the seconds of a materialisation
PATIENCE = 4.0  # times what it should take

Kind = tuple[tuple[Pred, Adornment], ...]


@dataclass(frozen=True)
class Choice:
    """A method, and why."""

    method: str
    reason: str
    features: Features | None = None
    patience: float = inf  # rows after which QSQ-R hands over to magic sets

    def given_up(self) -> Choice:
        reason = f"QSQ-R was given up at {self.patience:,.0f} rows, though {self.reason}"
        return replace(self, method="magic", reason=reason)


@dataclass
class History:
    """The goals that have been asked of the same facts and rules: their kinds, and the time that they took."""

    facts: int
    rules: int
    spent: float = 0.0
    kinds: Counter[Kind] = field(default_factory=Counter)
    tried: bool = False  # to materialise, in vain

    def note(self, asked: Kind, seconds: float) -> None:
        self.kinds[asked] += 1
        self.spent += seconds

    @property
    def expected(self) -> float:
        """About the seconds of a materialisation."""
        return AT_LEAST + PER_FACT * self.facts

    @property
    def allowed(self) -> float:
        """The seconds that a materialisation may take when it is tried."""
        return PATIENCE * max(self.expected, self.spent)

    def why_materialise(self, asking: Kind, features: Features) -> str | None:
        """Why everything should be derived now; None if it should not."""
        if self.tried:
            return None
        asked = self.kinds[asking]
        if asked >= MANY and self.spent >= self.expected:
            return f"{asked} goals of this kind have been asked, and took as long as deriving everything should"
        if self.facts > FEW_FACTS and features.facts > MOST * self.facts and features.rules > MOST * self.rules:
            return "the goal needs most of the facts and most of the rules"
        return None


AT_ONCE = Choice("qsqr", "it was answered before there was anything to choose", patience=1_000)


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
    return Choice(method, reason, features, model.patience(features) if method == "qsqr" else inf)
