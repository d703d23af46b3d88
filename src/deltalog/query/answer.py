"""Goals: over a materialisation, or by magic sets without one.

A goal is a conjunction; it becomes the rule #goal(variables) <- goal, whose facts are the answers. Over a
materialisation that rule is all there is to evaluate. (Facts of a materialisation are under their own predicates; for a
goal with a variable for a predicate or a class, triples are made from them by the bridges that such a rule needs.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from deltalog.backends.base import Backend
from deltalog.engine.materialisation import start
from deltalog.engine.seminaive import Relations, SemiNaive
from deltalog.facts import Facts
from deltalog.plan.statistics import Partial
from deltalog.program import Program, analyse
from deltalog.program.dependency import negative, positive
from deltalog.query.magic import Rewriting, magic_sets
from deltalog.syntax.ast import TRIPLES, TYPES, Atom, Literal, Negation, Pred, Rule, variables

T = TypeVar("T")
GOAL = "#goal"


def goal_rule(goal: Sequence[Literal]) -> Rule:
    """#goal(variables in the order in which they occur) <- goal; `_` is not one of them."""
    names = dict.fromkeys(
        v for literal in goal if not isinstance(literal, Negation) for v in variables(literal) if not v.anonymous
    )
    return Rule((Atom(GOAL, tuple(names)),), tuple(goal))


def answer(goal: Sequence[Literal], facts: Relations[T]) -> Facts[T]:
    """The answers of a goal over a materialisation."""
    rule = goal_rule(goal)
    program = analyse([rule], {pred for pred, _ in facts.parts})  # an unsafe goal is refused like an unsafe rule
    return _evaluated(program, rule, Relations(facts.backend, dict(facts.parts)), rule.heads[0].pred)


def _evaluated(
    program: Program, rule: Rule, relations: Relations[T], answers: Pred, check: Callable[[int], None] = lambda _: None
) -> Facts[T]:
    SemiNaive(program, relations, check=check).run()
    names = [v.name for v in variables(rule.heads[0])]
    return Facts(names, relations.get(answers), relations.backend)


def predicates(literals: Sequence[Literal]) -> set[Pred]:
    """The predicates that a goal reads."""
    return {atom.pred for atom in positive(literals)} | {atom.pred for atom, _ in negative(literals)}


def rewrite(
    goal: Sequence[Literal], rules: Sequence[Rule], explicit: Mapping[Pred, T], backend: Backend[T]
) -> tuple[Program, Rewriting]:
    """The magic program of a goal, checked."""
    rule = goal_rule(goal)
    program = analyse(_reachable(rule, rules), explicit)  # an unsafe goal is refused like an unsafe rule
    all_rules = [rule for hyper_node in program.hyper_nodes for rule in hyper_node.rules]
    statistics = Partial(start(explicit, backend))
    rewriting = magic_sets(all_rules, rule.heads[0], explicit.keys(), statistics)
    return analyse(rewriting.rules), rewriting


def _reachable(goal: Rule, rules: Sequence[Rule]) -> list[Rule]:
    """The goal and the rules that it can need; all, where a predicate or a class is a variable."""
    deriving: dict[Pred, list[Rule]] = {}
    for rule in rules:
        for head in rule.heads:
            deriving.setdefault(head.pred, []).append(rule)
    found = {id(goal): goal}
    waiting = [goal]
    while waiting:
        body = waiting.pop().body
        for pred in predicates(body):
            if pred in (TRIPLES, TYPES):
                return [*rules, goal]
            new = [rule for rule in deriving.get(pred, ()) if id(rule) not in found]
            found.update((id(rule), rule) for rule in new)
            waiting += new
    return list(found.values())


def answer_by_magic(
    goal: Sequence[Literal],
    rules: Sequence[Rule],
    explicit: Mapping[Pred, T],
    backend: Backend[T],
    check: Callable[[int], None],
) -> Facts[T]:
    """The answers of a goal over rules and facts that are not materialised."""
    program, rewriting = rewrite(goal, rules, explicit, backend)
    relations = start(explicit, backend)
    relations.set(rewriting.seed.pred, backend.load((), 0))  # a goal has no bound arguments of its own
    return _evaluated(program, goal_rule(goal), relations, rewriting.answers, check)
