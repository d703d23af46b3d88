"""Lint warnings about predicates and whole rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltalog.core.errors import Diagnostic, warning
from deltalog.core.rules import Atom, Pred, Rule, Span, atoms
from deltalog.functions.signatures import AGGREGATES, FUNCTIONS, ORDINARY_WORDS
from deltalog.program.stratification import shown


def _atoms(rules: Sequence[Rule]) -> Iterator[Atom]:
    for rule in rules:
        yield from rule.heads
        yield from atoms(rule.body)


def several_arities(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """p(X) and p(X, Y) are two predicates."""
    first: dict[str, Atom] = {}
    reported: set[Pred] = set()
    for atom in _atoms(rules):
        other = first.setdefault(atom.name, atom)
        if len(other.terms) != len(atom.terms) and atom.pred not in reported:
            reported.add(atom.pred)
            place = f" (as in {other.span})" if other.span else ""
            message = f"{shown(atom.pred)} has {len(atom.terms)} arguments here and {len(other.terms)} elsewhere{place}"
            yield warning(message, atom.span, "These are two predicates that have nothing to do with each other.")


def predicates_by_case(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """edge(X, Y) and Edge(X, Y) are two predicates. Where one rule has both, they are meant to be."""
    distinct: dict[tuple[str, int], Atom] = {}
    for atom in _atoms(rules):
        distinct.setdefault((atom.name, len(atom.terms)), atom)
    first: dict[tuple[str, int], Atom] = {}
    for atom in distinct.values():
        other = first.setdefault((atom.name.casefold(), len(atom.terms)), atom)
        if other is atom:
            continue
        if not any({other.pred, atom.pred} <= _mentioned(rule) for rule in rules):
            place = f" ({other.span})" if other.span else ""
            message = f"{shown(atom.pred)} and {shown(other.pred)}{place} differ only in case"
            yield warning(message, atom.span, "These are two predicates. Write them alike if they are meant to be one.")


def _mentioned(rule: Rule) -> frozenset[Pred]:
    return rule.reads.union(head.pred for head in rule.heads)


def repeated_rules(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    seen: dict[Rule, Rule] = {}
    for rule in rules:
        first = seen.setdefault(rule, rule)
        if first is not rule:
            yield repeated(rule.span, first.span, not rule.body)


def repeated(span: Span | None, first: Span | None, is_fact: bool) -> Diagnostic:
    return warning(f"this {'fact' if is_fact else 'rule'} has been there before", span, f"It is also at {first}.")


def heads_in_bodies(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """p(X) :- p(X) derives nothing."""
    for rule in rules:
        if rule.body and all(head in rule.body for head in rule.heads):
            yield nothing_new(rule.span)


def nothing_new(span: Span | None) -> Diagnostic:
    return warning("this rule derives nothing new: its head is in its body", span)


def skolem_as_predicate(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """SKOLEM("a", ?x, ?e) in a rule is how others write BIND(SKOLEM("a", ?x) AS ?e)."""
    for atom in _atoms([rule for rule in rules if rule.body]):
        if len(atom.name) == len("skolem") and atom.name.lower() == "skolem":
            yield warning(f"`{atom.name}` is a predicate here, not the function", atom.span, function_hint(atom.name))


def functions_as_predicates(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """contains(?x, "a") in a body is an atom; FILTER(contains(?x, "a")) is the function."""
    derived = {head.name for rule in rules for head in rule.heads}
    for atom in (atom for rule in rules for atom in atoms(rule.body)):
        name = atom.name.lower()
        if is_function_name(name) and name not in ORDINARY_WORDS and name != "skolem" and atom.name not in derived:
            yield warning(f"`{atom.name}` is a predicate here, not the function", atom.span, function_hint(atom.name))


def is_function_name(name: str) -> bool:
    return name.lower() in FUNCTIONS or name.lower() in AGGREGATES


def function_hint(name: str) -> str:
    """How to write a function that was written as an atom."""
    if name.lower() == "skolem":
        return f"For the function write BIND({name}(...) AS ?x)."
    if name.lower() in FUNCTIONS:
        return f"For the function write FILTER({name}(...))."
    return f"For the aggregate write AGGREGATE(... BIND {name}(?x) AS ?y)."
