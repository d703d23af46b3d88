"""Programs in stages: ordinary rules, and relations whose facts depend on the order of derivation.

A relation with choice-domain, subsumption, a size limit, a counter, the number of a round or deltas that are kept
(`deltalog.program.procedures`) is evaluated, with everything that is recursive with it, tuple by tuple and in order
(`deltalog.evaluation.stages`), once all that it reads is known; for the ordinary rules, its facts are given. So is
recursion through an aggregate that asks for groups by facts of the recursion, but aggregates others.

Facts that the text states of such a relation are explicit, as all others are, unless choice-domain chooses among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deltalog.core.concurrency.cached import cached_property
from deltalog.core.errors import Diagnostic, ProgramError
from deltalog.core.existential import existential_rules
from deltalog.core.rules import Atom, Bind, Call, Constant, Expression, Pred, Rule, Variable
from deltalog.functions.ordered import COUNTER, ITERATION
from deltalog.program.aggregates import separate
from deltalog.program.dependency import DependencyGraph
from deltalog.program.procedures import Procedures
from deltalog.program.strata import single_heads


@dataclass(frozen=True)
class OrderedStage:
    """The rules and facts of relations that are evaluated together, in the order of the text."""

    preds: frozenset[Pred]
    rules: tuple[Rule, ...]
    procedures: Procedures

    @property
    def by_sets(self) -> bool:
        """Whether subsumption is all that it has, so that its rounds can be computed a set at a time."""
        procedures = self.procedures
        names = {pred.name for pred in self.preds}
        in_order = not names.isdisjoint({*procedures.choice, *procedures.limits, *procedures.deltas})
        conditions = (Rule(rule.heads, rule.body[2:]) for rule in procedures.dominance)
        grows = any(not rule.reads.isdisjoint(self.preds) for rule in conditions)
        return not (
            in_order or grows or procedures.aggregates or any(_calls(rule, COUNTER, ITERATION) for rule in self.rules)
        )

    @cached_property
    def counts(self) -> bool:
        """Whether rules of it take numbers by autoinc()."""
        return any(_calls(rule, COUNTER) for rule in self.rules)

    @cached_property
    def reads(self) -> frozenset[Pred]:
        """What must be known before."""
        asked = (each.rule for each in self.procedures.aggregates.values())
        rules = (*self.rules, *self.procedures.dominance, *asked)
        return frozenset(pred for rule in rules for pred in rule.reads) - self.preds


@dataclass(frozen=True)
class StageLevel:
    """A stage, and the ordinary rules that derive what it reads."""

    stage: OrderedStage
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class StagedRules:
    """Ordinary rules, and stages in an order in which each comes after all that it depends on."""

    rules: tuple[Rule, ...]
    levels: tuple[StageLevel, ...] = ()

    @classmethod
    def of(cls, rules: Sequence[Rule], stages: Sequence[OrderedStage]) -> StagedRules:
        """ProgramError if rules derive facts of a stage, or something that it reads from them."""
        _check_heads(rules, stages)
        needs = [_needs(stage.reads, rules, stages) for stage in stages]
        waiting, levels, known = list(range(len(stages))), list[StageLevel](), set[Pred]()
        every = frozenset(pred for stage in stages for pred in stage.preds)
        while waiting:
            ready = next((at for at in waiting if needs[at] & every <= known), None)
            if ready is None:
                names = ", ".join(sorted({pred.name for at in waiting for pred in stages[at].preds if not pred.hidden}))
                raise ProgramError([Diagnostic(f"{_OWN} ({names}), and other rules make them depend on each other")])
            waiting.remove(ready)
            known |= stages[ready].preds
            before = (rule for rule in rules if any(head.pred in needs[ready] for head in rule.heads))
            levels.append(StageLevel(stages[ready], tuple(before)))
        return cls(tuple(rules), tuple(levels))


def check_stages(rules: Sequence[Rule], stages: Sequence[OrderedStage]) -> None:
    """ProgramError if rules cannot be evaluated together with stages."""
    StagedRules.of(rules, stages)
    if stages and (new := next(existential_rules(rules), None)):
        message = (
            "existential rules cannot be evaluated together with a program that has choice-domain, "
            "subsumption, .limitsize, autoinc() or the like"
        )
        hint = "Run one of the programs first, and give its facts to the other, as with --data."
        raise ProgramError([Diagnostic(message, new.skolem.span, hint)])


_OWN = "relations with choice-domain, subsumption, .limitsize, autoinc() or the like have only the rules of one program"


def _check_heads(rules: Sequence[Rule], stages: Sequence[OrderedStage]) -> None:
    """ProgramError for rules of a relation that are outside of its stage."""
    taken: set[Pred] = set()
    wrong = list[Diagnostic]()
    for stage in stages:
        wrong += [_outside(rule) for rule in stage.rules if rule.heads[0].pred in taken]
        taken |= stage.preds
    wrong += [_outside(rule) for rule in rules if rule.body and any(head.pred in taken for head in rule.heads)]
    if wrong:
        raise ProgramError(wrong)


def _outside(rule: Rule) -> Diagnostic:
    names = ", ".join(dict.fromkeys(head.name for head in rule.heads))
    return Diagnostic(f"{_OWN}: {names}", rule.span, "Write all rules of it in one text or file.")


def _needs(preds: frozenset[Pred], rules: Sequence[Rule], stages: Sequence[OrderedStage]) -> frozenset[Pred]:
    """What some relations depend on, through rules and stages; and themselves."""
    sources = [(frozenset(head.pred for head in rule.heads), rule.reads) for rule in rules]
    sources += [(stage.preds, stage.reads) for stage in stages]
    found, grows = set(preds), True
    while grows:
        read = [reads for heads, reads in sources if not found.isdisjoint(heads)]
        grows = not found.issuperset(more := frozenset().union(*read))
        found |= more
    return frozenset(found)


def in_stages(rules: Sequence[Rule], procedures: Procedures) -> tuple[tuple[Rule, ...], tuple[OrderedStage, ...]]:
    """The ordinary rules, and the stages in the order of evaluation."""
    dominated = (rule.heads[0].name for rule in procedures.dominance)
    ordered = {*procedures.choice, *procedures.limits, *dominated, *procedures.deltas}
    ordered |= {head.name for rule in rules if _calls(rule, COUNTER, ITERATION) for head in rule.heads}
    if not ordered and not procedures.aggregates:
        return tuple(rules), ()
    simple = [single for rule in separate(rules) for single in single_heads(rule)]
    is_given = partial(_is_given, choice=procedures.choice)
    stages = tuple(_stages([rule for rule in simple if not is_given(rule)], ordered, procedures))
    if not stages:
        return tuple(rules), ()
    taken = frozenset(pred for stage in stages for pred in stage.preds)
    return tuple(rule for rule in simple if is_given(rule) or rule.heads[0].pred not in taken), stages


def _is_given(rule: Rule, choice: Mapping[str, object]) -> bool:
    """Whether a statement is a fact that holds whatever else does."""
    return rule.is_fact and not rule.heads[0].pred.hidden and rule.heads[0].name not in choice


def _stages(rules: Sequence[Rule], ordered: set[str], procedures: Procedures) -> Iterator[OrderedStage]:
    heads = {rule.heads[0].pred for rule in rules} | {rule.heads[0].pred for rule in procedures.dominance}
    kept = {
        pred: Pred(procedures.deltas[pred.name], pred.arity + 1) for pred in heads if pred.name in procedures.deltas
    }
    links = [_link(pred, into) for pred, into in kept.items()]
    graph = DependencyGraph.of([rule for rule in (*rules, *procedures.dominance, *links) if rule.body])
    by_node = {node: pred for pred, node in graph.preds.items()}
    without_rules = [frozenset((pred,)) for pred in sorted(heads) if pred not in graph.preds]
    members = [frozenset(by_node[node] for node in each if node in by_node) for each in reversed(graph.members)]
    for preds in (*without_rules, *members):
        asked = {pred: each for pred, each in procedures.aggregates.items() if pred in preds and len(preds) > 1}
        if asked or any(pred.name in ordered for pred in preds):
            replaced = frozenset(asked).union(*(each.helpers for each in asked.values()))
            own = tuple(rule for rule in rules if rule.heads[0].pred in preds - replaced)
            dominance = tuple(rule for rule in procedures.dominance if rule.heads[0].pred in preds)
            into = frozenset(kept[pred] for pred in preds if pred in kept)
            yield OrderedStage(preds | into, own, replace(procedures, dominance=dominance, aggregates=asked))


def _link(pred: Pred, deltas: Pred) -> Rule:
    """What the deltas of a relation depend on, as a rule."""
    terms = tuple(Variable(f"x{i}") for i in range(pred.arity))
    return Rule((Atom(deltas.name, (*terms, Constant(0))),), (Atom(pred.name, terms),))


def _calls(rule: Rule, *functions: str) -> bool:
    return any(isinstance(literal, Bind) and _has_call(literal.expression, functions) for literal in rule.body)


def _has_call(expression: Expression, functions: Sequence[str]) -> bool:
    return isinstance(expression, Call) and (
        expression.function in functions or any(_has_call(each, functions) for each in expression.arguments)
    )
