"""Lint warnings: statements that are allowed, and most likely not meant. `deltalog check` shows them.

Each check is a function from the rules to diagnostics; `CHECKS` has them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from deltalog.model.errors import Diagnostic
from deltalog.program.body_atoms import negative, positive
from deltalog.program.safety import written
from deltalog.program.stratification import shown
from deltalog.syntax.ast import Aggregate, Atom, BodyLiteral, Negation, Pred, Rule, Span, Variable, variables
from deltalog.syntax.functions import FUNCTIONS, ORDINARY_WORDS


def lint(rules: Sequence[Rule]) -> tuple[Diagnostic, ...]:
    """All lint warnings, in the order of the text."""
    found = [diagnostic for check in CHECKS for diagnostic in check(rules)]
    return tuple(sorted(found, key=lambda diagnostic: diagnostic.span.start if diagnostic.span else 0))


def _warning(message: str, span: Span | None, hint: str | None = None) -> Diagnostic:
    return Diagnostic(message, span, hint, "warning")


def _atoms(rule: Rule) -> Iterator[Atom]:
    yield from rule.heads
    yield from positive(rule.body)
    yield from (atom for atom, _ in negative(rule.body))


def several_arities(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """p(X) and p(X, Y) are two predicates."""
    first: dict[str, Atom] = {}
    reported: set[Pred] = set()
    for atom in (atom for rule in rules for atom in _atoms(rule)):
        other = first.setdefault(atom.name, atom)
        if other.pred != atom.pred and atom.pred not in reported:
            reported.add(atom.pred)
            place = f" (as in {other.span})" if other.span else ""
            message = f"{shown(atom.pred)} has {len(atom.terms)} arguments here and {len(other.terms)} elsewhere{place}"
            yield _warning(message, atom.span, "These are two predicates that have nothing to do with each other.")


def repeated_rules(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    seen: set[Rule] = set()
    for rule in rules:
        if rule in seen:
            yield _warning("this rule has been there before", rule.span)
        seen.add(rule)


def heads_in_bodies(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """p(X) :- p(X) derives nothing."""
    for rule in rules:
        if rule.body and set(rule.heads) <= set(positive(rule.body)):
            yield _warning("this rule derives nothing new: its head is in its body", rule.span)


def lonely_variables(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """A variable that occurs once may be a typo. Variables with a `?` (RDFox), with `_`, and those of negated atoms are
    exempt."""
    for rule in rules:
        occurrences = Counter(_occurrences(rule))
        for literal in rule.body:
            if not isinstance(literal, Negation):
                yield from map(_lonely, (v for v in variables(literal) if occurrences[v] == 1 and _looks_named(v)))


def _lonely(variable: Variable) -> Diagnostic:
    name = written(variable)
    return _warning(f"{name} occurs only once in this rule", variable.span, f"If it is meant so, write _ or _{name}.")


def _occurrences(rule: Rule) -> Iterator[Variable]:
    for head in rule.heads:
        yield from variables(head)
    for literal in rule.body:
        yield from variables(literal)


def _looks_named(variable: Variable) -> bool:
    return not variable.name.startswith("_") and variable.span is not None and not written(variable).startswith("?")


def hidden_variables(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """A variable inside of an AGGREGATE is another one than outside, unless it is an ON variable."""
    for rule in rules:
        for aggregate in (literal for literal in rule.body if isinstance(literal, Aggregate)):
            outside = {v for literal in rule.body if literal is not aggregate for v in variables(literal)}
            outside.update(v for head in rule.heads for v in variables(head))
            for variable in dict.fromkeys(v for literal in aggregate.body for v in variables(literal)):
                if variable in outside and variable not in aggregate.on:
                    name = written(variable)
                    message = f"{name} inside of the AGGREGATE is not the {name} outside"
                    yield _warning(message, variable.span, f"Write ON {name} to make them one.")


def functions_as_predicates(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """contains(?x, "a") in a body is an atom; FILTER(contains(?x, "a")) is the function."""
    derived = {head.name for rule in rules for head in rule.heads}
    for rule in rules:
        for literal in rule.body:
            atom = _bare_atom(literal)
            if atom is not None and atom.name in FUNCTIONS.keys() - ORDINARY_WORDS - derived:
                hint = f"For the function write FILTER({atom.name}(...))."
                yield _warning(f"`{atom.name}` is a predicate here, not the function", atom.span, hint)


def _bare_atom(literal: BodyLiteral) -> Atom | None:
    match literal:
        case Atom():
            return literal
        case Negation(atom=atom):
            return atom
    return None


CHECKS: tuple[Callable[[Sequence[Rule]], Iterator[Diagnostic]], ...] = (
    several_arities,
    repeated_rules,
    heads_in_bodies,
    lonely_variables,
    hidden_variables,
    functions_as_predicates,
)
