"""Contradictions: facts of the predicate `inconsistent`, each with a rule that derives it, and the facts it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deltalog.core.rule_text import print_atom, print_body, print_value
from deltalog.core.rules import Aggregate, Atom, Constant, Pred, Rule, Term, Variable
from deltalog.core.terms import Value
from deltalog.evaluation.goals.contents import Contents
from deltalog.evaluation.goals.goal_evaluator import Answers
from deltalog.extensions.ontology.vocabulary import INCONSISTENT
from deltalog.program.core_rules import core_rules

PREDICATE = Pred(INCONSISTENT, 2)
AskGoal = Callable[[str], Answers[Any]]  # a goal, of the materialisation
PlainFact = tuple[str, tuple[Value, ...]]  # the predicate, and values


@dataclass(frozen=True)
class Inconsistency:
    """An individual that contradicts an axiom. `facts` are the premises of the rule that finds it; `fact` is what it
    derives, and `kb.explain(*inconsistency.fact)` explains that."""

    individual: Value
    axiom: str
    rule: Rule | None  # None if the fact was given
    facts: tuple[PlainFact, ...]

    @property
    def fact(self) -> PlainFact:
        """The derived fact that says so."""
        return INCONSISTENT, (self.individual, self.axiom)

    def __str__(self) -> str:
        facts = ", ".join(print_atom(Atom(name, tuple(map(Constant, values)))) for name, values in self.facts)
        return f"{print_value(self.individual)} contradicts {self.axiom}: {facts}"


def count_inconsistencies(contents: Contents[Any]) -> int:
    """How many there are in a materialisation, without finding the facts of each."""
    return contents.backend.size(contents.table(PREDICATE)) if PREDICATE in contents.preds else 0


def inconsistencies(contents: Contents[Any], rules: Iterable[Rule], ask: AskGoal) -> list[Inconsistency]:
    """All contradictions in a materialisation, each once, in the order of the rules."""
    if not count_inconsistencies(contents):
        return []
    found: dict[PlainFact, Inconsistency] = {}
    for rule in rules:
        for head in rule.heads:
            if head.pred == PREDICATE:
                for each in _of_rule(rule, head, contents, ask):
                    found.setdefault(each.fact, each)
    for individual, axiom in contents.facts(str(PREDICATE)):
        given = Inconsistency(individual, str(axiom), None, ())
        found.setdefault(given.fact, given)
    return list(found.values())


def _of_rule(rule: Rule, head: Atom, contents: Contents[Any], ask: AskGoal) -> Iterator[Inconsistency]:
    """The contradictions that a rule derives: the answers of its body."""
    body = tuple(_named(literal, n) if isinstance(literal, Atom) else literal for n, literal in enumerate(rule.body))
    for values in _solutions(Rule((head,), body), contents, ask):
        individual, axiom = (_value(term, values) for term in head.terms)
        atoms = [literal for literal in body if isinstance(literal, Atom)]
        facts = tuple((atom.name, tuple(_value(term, values) for term in atom.terms)) for atom in atoms)
        yield Inconsistency(individual, str(axiom), rule, facts)


def _solutions(rule: Rule, contents: Contents[Any], ask: AskGoal) -> Iterator[dict[str, Value]]:
    """The values of the variables of a rule; where individuals have representatives, not with all names of each."""
    from deltalog.evaluation.equality.materialise import EqualMaterialisation
    from deltalog.evaluation.equality.witnesses import witnesses

    state, is_core = contents.state, tuple(core_rules(rule)) == (rule,) and not _aggregates(rule)
    if isinstance(state, EqualMaterialisation) and is_core:
        yield from witnesses(state, rule, contents.evaluator())
        return
    answers = ask(print_body(rule.body))
    for row in answers:
        yield dict(zip(answers.columns, row, strict=True))


def _aggregates(rule: Rule) -> bool:
    return any(isinstance(literal, Aggregate) for literal in rule.body)


def _named(atom: Atom, number: int) -> Atom:
    """An atom whose anonymous variables have names, so that answers have their values."""
    names = (f"any_{number}_{place}" for place in range(len(atom.terms)))
    pairs = zip(atom.terms, names, strict=True)
    return Atom(atom.name, tuple(Variable(n) if isinstance(t, Variable) and t.anonymous else t for t, n in pairs))


def _value(term: Term, values: dict[str, Value]) -> Value:
    return values[term.name] if isinstance(term, Variable) else term.value
