"""Programs in stages: ordinary rules, and relations whose facts depend on the order of derivation.

A relation with choice-domain, subsumption, a size limit, a counter, the number of a round or deltas that are kept
(`deltalog.souffle.procedures`) is evaluated, with everything that is recursive with it, tuple by tuple and in order
(`deltalog.engine.stages`), once all that it reads is known; its facts are explicit ones for the ordinary rules. So is
recursion through an aggregate that asks for groups by facts of the recursion, but aggregates others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deltalog.program.aggregates import separate
from deltalog.program.dependency import DependencyGraph
from deltalog.program.strata import single_heads
from deltalog.souffle.procedures import COUNTER, ITERATION, Procedures
from deltalog.syntax.ast import Atom, Bind, Call, Constant, Expression, Pred, Rule, Variable


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
        return not (in_order or grows or procedures.aggregates or any(map(_counts, self.rules)))

    @property
    def reads(self) -> frozenset[Pred]:
        """What must be known before."""
        asked = (each.rule for each in self.procedures.aggregates.values())
        rules = (*self.rules, *self.procedures.dominance, *asked)
        return frozenset(pred for rule in rules for pred in rule.reads) - self.preds


def in_stages(rules: Sequence[Rule], procedures: Procedures) -> tuple[tuple[Rule, ...], tuple[OrderedStage, ...]]:
    """The ordinary rules, and the stages in the order of evaluation."""
    dominated = (rule.heads[0].name for rule in procedures.dominance)
    ordered = {*procedures.choice, *procedures.limits, *dominated, *procedures.deltas}
    ordered |= {head.name for rule in rules if _counts(rule) for head in rule.heads}
    if not ordered and not procedures.aggregates:
        return tuple(rules), ()
    simple = [single for rule in separate(rules) for single in single_heads(rule)]
    stages = tuple(_stages(simple, ordered, procedures))
    if not stages:
        return tuple(rules), ()
    taken = frozenset(pred for stage in stages for pred in stage.preds)
    return tuple(rule for rule in simple if rule.heads[0].pred not in taken), stages


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


def _counts(rule: Rule) -> bool:
    return any(isinstance(literal, Bind) and _has_counter(literal.expression) for literal in rule.body)


def _has_counter(expression: Expression) -> bool:
    return isinstance(expression, Call) and (
        expression.function in (COUNTER, ITERATION) or any(map(_has_counter, expression.arguments))
    )
