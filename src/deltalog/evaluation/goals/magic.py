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

The outputs of a program are goals, too (`magic_sets_of_outputs`), all in one program. They have all arguments free, and
what restricts other predicates are the constants and joins in bodies:

    out(Y) <- path(a, Y)    becomes    mgc path^bf(a)  and  out(Y) <- path^bf(a, Y)

A predicate that is asked for with all arguments free stays under its own name, without a magic predicate, and then
serves all other questions as well. So the program is stratified: what is negated or aggregated, with all that it needs,
has its own rules and reads no adorned predicate. And it terminates where the given one does: a value that an expression
computes from a question is never part of another question, so all questions have values of facts or of rules.
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
    Variable,
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


@dataclass(frozen=True)
class OutputRewriting:
    """The rules that derive outputs, with the facts that ask for what they need among them."""

    rules: tuple[Rule, ...]
    adorned: frozenset[tuple[Pred, Adornment]]  # the predicates that are derived in part
    whole: frozenset[Pred]  # those that are derived in full


def magic_sets_of_outputs(
    deriving: Mapping[Pred, Sequence[Rule]],
    outputs: Iterable[Pred],
    explicit: Collection[Pred],
    statistics: Statistics,
    is_restrictable: Callable[[Pred], bool],
    whole: Iterable[Pred] = (),
) -> OutputRewriting:
    """The program for all facts of some predicates. `is_restrictable`: whether a predicate may be derived in part;
    `whole`: predicates that keep their own rules, as do all that they need and what rules negate or aggregate."""
    free, orders = dict.fromkeys(outputs), dict[tuple[Rule, Adornment], list[BodyLiteral]]()
    given = deriving, explicit, statistics, lambda _: None
    complete = dict.fromkeys((*whole, *read_when_complete(deriving, free)))
    while True:
        made = _OutputMagicSets(
            *given, whole=dict(complete), free=free, is_restrictable=is_restrictable, orders=orders
        ).rewrite_outputs()
        if made.whole.issubset(free):
            return made
        free = dict.fromkeys((*free, *made.whole))  # which need no adorned copies


def read_when_complete(deriving: Mapping[Pred, Sequence[Rule]], preds: Iterable[Pred]) -> dict[Pred, Pred]:
    """What rules negate or aggregate that some predicates need, with the predicate of one such rule."""
    needed = needed_by(preds, deriving)
    rules = (rule for pred in needed for rule in deriving[pred])
    return {atom.pred: rule.heads[0].pred for rule in rules for atom, _ in negative(rule.body)}


def needed_by(preds: Iterable[Pred], deriving: Mapping[Pred, Sequence[Rule]]) -> dict[Pred, None]:
    """The derived predicates among some predicates and all that these need."""
    waiting, found = list(preds), dict[Pred, None]()
    while waiting:
        pred = waiting.pop()
        if pred not in found and pred in deriving:
            found[pred] = None
            waiting += [read for rule in deriving[pred] for read in reads(rule.body)]
    return found


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
        self.plain = needed_by(self.whole, self.deriving)

    def rewrite(self, goal: Atom, adornment: Adornment) -> Rewriting:
        self.ask(goal.pred, adornment)
        while self.waiting:  # Algorithm 1, line 2
            self._answer(*self.waiting.pop(0))
        for pred in needed_by(self.whole, self.deriving):
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
        before = self._question(head, adornment)
        bound = {v for question in before for v in variables(question)}
        for literal in self._ordered(rule, adornment):
            if isinstance(literal, Atom) and literal.pred in self.deriving and literal.pred not in self.plain:
                before.append(self._subquery(literal, bound, before))
            else:
                before.append(literal)
            bound.update(self._bound_by(literal, before))
        self._make(self._named(head, adornment), before)
        for atom, _ in negative(rule.body):
            self.whole[atom.pred] = None

    def _question(self, head: Atom, adornment: Adornment) -> list[BodyLiteral]:
        """What the body of a rewritten rule begins with."""
        return [magic(head, adornment)]

    def _named(self, atom: Atom, adornment: Adornment) -> Atom:
        """An atom of a predicate as it is asked for."""
        return adorned(atom, adornment)

    def _ordered(self, rule: Rule, adornment: Adornment) -> list[BodyLiteral]:
        head = rule.heads[0]
        return ordered(rule.body, magic(head, adornment), variables(head), self.statistics)

    def _subquery(self, literal: Atom, bound: Collection[Variable], before: Sequence[BodyLiteral]) -> Atom:
        """Asks for an atom of a body with what is bound before it; the atom that takes its place."""
        inner = adorn(literal, bound)
        self._make(magic(literal, inner), _supported(before))
        self.ask(literal.pred, inner)
        return adorned(literal, inner)

    def _bound_by(self, literal: BodyLiteral, before: Sequence[BodyLiteral]) -> Iterable[Variable]:
        """The variables that a literal binds for those after it."""
        return () if isinstance(literal, Negation | Filter) else variables(literal)

    def _make(self, head: Atom, body: Sequence[BodyLiteral]) -> None:
        if head not in body:
            self.made[Rule((head,), tuple(body))] = None


@dataclass
class _OutputMagicSets(_MagicSets):
    """Magic sets of outputs: a predicate with all arguments free stays as it is."""

    free: Mapping[Pred, None] = field(default_factory=dict)  # known to be needed in full
    is_restrictable: Callable[[Pred], bool] = lambda _: True
    orders: dict[tuple[Rule, Adornment], list[BodyLiteral]] = field(default_factory=dict)

    def rewrite_outputs(self) -> OutputRewriting:
        for pred in self.free:
            if pred in self.deriving and pred not in self.plain:
                self.ask(pred, (False,) * pred.arity)
        while self.waiting:
            self._answer(*self.waiting.pop(0))
        needed = needed_by(self.whole, self.deriving)
        self.made |= dict.fromkeys(rule for pred in needed for rule in self.deriving[pred])
        adorned = frozenset(each for each in self.asked if any(each[1]))
        whole = (*needed, *self.free, *(pred for pred, adornment in self.asked if not any(adornment)))
        return OutputRewriting(tuple(self.made), adorned, frozenset(whole))

    def _answer(self, pred: Pred, adornment: Adornment) -> None:
        if any(adornment):
            super()._answer(pred, adornment)
        else:
            for rule in self.deriving[pred]:
                self._rewrite(rule, adornment)

    def _question(self, head: Atom, adornment: Adornment) -> list[BodyLiteral]:
        return super()._question(head, adornment) if any(adornment) else []

    def _named(self, atom: Atom, adornment: Adornment) -> Atom:
        return super()._named(atom, adornment) if any(adornment) else atom

    def _ordered(self, rule: Rule, adornment: Adornment) -> list[BodyLiteral]:
        if (rule, adornment) not in self.orders:
            self.orders[rule, adornment] = super()._ordered(rule, adornment)
        return self.orders[rule, adornment]

    def _subquery(self, literal: Atom, bound: Collection[Variable], before: Sequence[BodyLiteral]) -> Atom:
        pred = literal.pred
        if any(adorn(literal, bound)) and pred not in self.free and self.is_restrictable(pred):
            return super()._subquery(literal, bound, before)
        self.ask(pred, (False,) * pred.arity)
        return literal

    def _bound_by(self, literal: BodyLiteral, before: Sequence[BodyLiteral]) -> Iterable[Variable]:
        if isinstance(literal, Bind) and not _read(before).issuperset(variables(literal.expression)):
            return ()
        return super()._bound_by(literal, before)


def _read(body: Sequence[BodyLiteral]) -> set[Variable]:
    """The variables that facts or rules give values, and what is computed from these; not those of a question."""
    found: set[Variable] = set()
    for literal in body:
        is_question = isinstance(literal, Atom) and isinstance(literal.name, AdornedName) and literal.name.magic
        if isinstance(literal, Bind):
            found |= {literal.variable} if found.issuperset(variables(literal.expression)) else set()
        elif not isinstance(literal, Negation | Filter) and not is_question:
            found.update(variables(literal))
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
    return show_rules((seed, *rewriting.rules), prefixes)


def show_rules(rules: Iterable[Rule], prefixes: Mapping[str, str]) -> str:
    """Rules with adorned predicates, a rule a line."""
    return "\n".join(_line(rule, prefixes) for rule in rules)


def _line(rule: Rule, prefixes: Mapping[str, str]) -> str:
    """A rule in which mgc p^bf is written as the paper does: mgc_p^bf."""
    names = {atom.name for atom in (*rule.heads, *positive(rule.body)) if isinstance(atom.name, AdornedName)}
    text = print_rule(rule)
    for name in sorted(names, key=len, reverse=True):
        base = name.base[1:] if isinstance(name.base, HiddenName) else shortened(print_predicate(name.base), prefixes)
        plain = f"{'mgc_' if name.magic else ''}{base}^{''.join('b' if bound else 'f' for bound in name.adornment)}"
        text = text.replace(f"{print_predicate(name)}(", f"{plain}(")
    return shortened(text, prefixes).replace("?#", "?c")
