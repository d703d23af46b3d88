"""Magic sets: a program that derives only what a goal needs (Joshi et al., Algorithm 1).

For an adorned predicate p^a that is asked for, every rule p(t) <- B becomes

    p^a(t) <- mgc p^a(bound t), B'        B' is B with its derived atoms adorned
    mgc q^b(bound s) <- mgc p^a(bound t), S     for each derived atom q(s) of B, where S comes before it in B

in the order that the planner would join B in, when p's bound arguments are known. The program is run by the ordinary
engine, from the one fact that asks the goal.

What is negated or aggregated must be complete: such predicates, and all that they need, keep their own rules. Explicit
facts of a derived predicate are taken over by a rule, too: p^a(t) <- mgc p^a(bound t), p(t).

The same can be asked for other predicates (`whole`). TRIPLE and rdf:type depend, through the bridges, on almost every
rule in almost every adornment, and adorned copies may derive all facts several times; their own rules derive them once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deltalog.core.rule_text import print_predicate, print_rule
from deltalog.core.rules import (
    Atom,
    Bind,
    BodyLiteral,
    Constant,
    Filter,
    HiddenName,
    Negation,
    Pred,
    Rule,
    variables,
)
from deltalog.core.terms import Value
from deltalog.evaluation.goals.adornment import AdornedName, Adornment, adorn, adorned, magic
from deltalog.evaluation.goals.rulebase import ordered, reads
from deltalog.evaluation.plan.ir import fact_columns
from deltalog.evaluation.plan.iri_display import shortened
from deltalog.evaluation.plan.statistics import Statistics
from deltalog.program.body_atoms import negative, positive


@dataclass(frozen=True)
class Rewriting:
    """The rewritten rules, the fact that asks the goal, and the predicate that has the answers."""

    rules: tuple[Rule, ...]
    seed: Atom
    answers: Pred


def magic_sets(
    deriving: Mapping[Pred, Sequence[Rule]],
    goal: Atom,
    adornment: Adornment,
    explicit: Collection[Pred],
    statistics: Statistics,
    spend: Callable[[float], None] = lambda _: None,
    whole: Iterable[Pred] = (),
) -> Rewriting:
    """The program for a goal over rules by head, of which one derives the goal's predicate. `spend`: counts work.
    `whole`: predicates that keep their own rules, as do all that they need."""
    rewriting = _MagicSets(deriving, explicit, statistics, spend, whole=dict.fromkeys(whole))
    return rewriting.rewrite(goal, adornment)


@dataclass
class _MagicSets:
    deriving: Mapping[Pred, Sequence[Rule]]
    explicit: Collection[Pred]
    statistics: Statistics
    spend: Callable[[float], None]
    made: dict[Rule, None] = field(default_factory=dict)  # P_M, in order
    asked: dict[tuple[Pred, Adornment], None] = field(default_factory=dict)  # A
    waiting: list[tuple[Pred, Adornment]] = field(default_factory=list)  # A without B
    whole: dict[Pred, None] = field(default_factory=dict)  # needed in full
    plain: dict[Pred, None] = field(init=False)  # those that are so from the beginning: read without adornments

    def __post_init__(self) -> None:
        self.plain = self._needed_by(self.whole)

    def rewrite(self, goal: Atom, adornment: Adornment) -> Rewriting:
        self.ask(goal.pred, adornment)
        while self.waiting:  # Algorithm 1, line 2
            self._answer(*self.waiting.pop(0))
        for pred in self._needed_by(self.whole):
            self.made |= dict.fromkeys(self.deriving[pred])
        return Rewriting(tuple(self.made), magic(goal, adornment), adorned(goal, adornment).pred)

    def ask(self, pred: Pred, adornment: Adornment) -> None:
        if (pred, adornment) not in self.asked:
            self.asked[pred, adornment] = None
            self.waiting.append((pred, adornment))

    def _answer(self, pred: Pred, adornment: Adornment) -> None:
        """The rules for one adorned predicate."""
        if pred in self.explicit:
            fact = Atom(pred.name, fact_columns(pred.arity))
            self._make(adorned(fact, adornment), (magic(fact, adornment), fact))
        for rule in self.deriving[pred]:
            self._rewrite(rule, adornment)

    def _rewrite(self, rule: Rule, adornment: Adornment) -> None:
        """Algorithm 1, lines 8 to 15."""
        self.spend(self.statistics.tuning.planning_cost_rows)
        head = rule.heads[0]
        question = magic(head, adornment)
        bound = set(variables(question))
        before: list[BodyLiteral] = [question]
        for literal in ordered(rule.body, question, variables(head), self.statistics):
            if isinstance(literal, Atom) and literal.pred in self.deriving and literal.pred not in self.plain:
                inner = adorn(literal, bound)
                self._make(magic(literal, inner), _supported(before))
                self.ask(literal.pred, inner)
                before.append(adorned(literal, inner))
            else:
                before.append(literal)
            bound.update(v for v in variables(literal) if not isinstance(literal, Negation | Filter))
        self._make(adorned(head, adornment), before)
        for atom, _ in negative(rule.body):
            self.whole[atom.pred] = None

    def _make(self, head: Atom, body: Sequence[BodyLiteral]) -> None:
        if head not in body:
            self.made[Rule((head,), tuple(body))] = None

    def _needed_by(self, preds: Iterable[Pred]) -> dict[Pred, None]:
        """The derived predicates among some predicates and all that these need."""
        waiting, found = list(preds), dict[Pred, None]()
        while waiting:
            pred = waiting.pop()
            if pred not in found and pred in self.deriving:
                found[pred] = None
                waiting += [read for rule in self.deriving[pred] for read in reads(rule.body)]
        return found


def _supported(body: Sequence[BodyLiteral]) -> list[BodyLiteral]:
    """The part of a body that stands on its own: atoms, and what their variables bind."""
    bound = {v for literal in body if not isinstance(literal, Negation | Filter | Bind) for v in variables(literal)}
    kept: list[BodyLiteral] = []
    for literal in body:
        if isinstance(literal, Bind) and bound.issuperset(variables(literal.expression)):
            bound.add(literal.variable)
            kept.append(literal)
        elif not isinstance(literal, Negation | Filter | Bind) or bound.issuperset(variables(literal)):
            kept.append(literal)
    return kept


def show(rewriting: Rewriting, constants: Sequence[Value], prefixes: Mapping[str, str]) -> str:
    """The rewritten rules for people: first the question that is asked, then a rule a line."""
    seed = Rule((Atom(rewriting.seed.name, tuple(map(Constant, constants))),))
    return "\n".join(_line(rule, prefixes) for rule in (seed, *rewriting.rules))


def _line(rule: Rule, prefixes: Mapping[str, str]) -> str:
    """A rule in which mgc p^bf is written as the paper does: mgc_p^bf."""
    names = {atom.name for atom in (*rule.heads, *positive(rule.body)) if isinstance(atom.name, AdornedName)}
    text = print_rule(rule)
    for name in sorted(names, key=len, reverse=True):
        base = name.base[1:] if isinstance(name.base, HiddenName) else shortened(print_predicate(name.base), prefixes)
        plain = f"{'mgc_' if name.magic else ''}{base}^{''.join('b' if bound else 'f' for bound in name.adornment)}"
        text = text.replace(f"{print_predicate(name)}(", f"{plain}(")
    return shortened(text, prefixes).replace("?#", "?c")
