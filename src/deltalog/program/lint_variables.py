"""Lint warnings about variables.

A variable that occurs once may be a typo. It is none where its name starts with `_`, where it is in a negation
(there is no value at all), and in a program with many rules of one atom that leave an argument out, such as
`Person(?x) :- advisor(?x, ?y)`: so ontologies are written as rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from deltalog.core.errors import Diagnostic, warning
from deltalog.core.rules import Aggregate, Atom, Constant, NegatedBody, Negation, Rule, Span, Variable, variables
from deltalog.program.safety import written

MAX_PROJECTIONS = 3  # rules of one atom with a variable that occurs once; more of them are a habit of the author


def doubtful_variables(rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """Variables that occur once, and variables that differ only in case."""
    projections: list[Variable] = []
    for rule in rules:
        if not rule.body:
            continue
        times = Counter(names(rule))
        if len(times) != len(set(map(str.casefold, times))):
            yield from _alike_variables(rule)
        if 1 not in times.values():
            continue
        found = _lonely(rule, times)
        if len(rule.body) == 1 and isinstance(rule.body[0], Atom):
            projections += found
        else:
            yield from map(_of_lonely, found)
    if len(projections) <= MAX_PROJECTIONS:
        yield from map(_of_lonely, projections)


def _of_lonely(variable: Variable) -> Diagnostic:
    name = written(variable)
    unnamed = f"?_{name[1:]}" if name.startswith("?") else f"_{name}"
    return occurs_once(name, variable.span, f"_ or {unnamed}")


def occurs_once(name: str, span: Span | None, instead: str) -> Diagnostic:
    return warning(f"{name} occurs only once in this rule", span, f"If it is meant so, write {instead}.")


def differ_in_case(one: str, other: str, span: Span | None) -> Diagnostic:
    hint = "These are two variables. Write them alike if they are one."
    return warning(f"{one} and {other} differ only in case", span, hint)


def _lonely(rule: Rule, times: Counter[str]) -> list[Variable]:
    """The variables that occur once, without those that differ from others in case."""
    once = [
        variable
        for literal in rule.body
        if not isinstance(literal, Negation | NegatedBody)
        for variable in variables(literal)
        if times[variable.name] == 1 and not variable.name.startswith("_") and variable.span is not None
    ]
    if not once:
        return once
    alike = _alike(times) | _alike_constants(rule)
    return [variable for variable in once if variable.name.casefold() not in alike and _is_written_once(variable, rule)]


def _is_written_once(variable: Variable, rule: Rule) -> bool:
    """Whether the text has it once, too: rules of other languages are not always as they were written."""
    assert rule.span is not None
    text = rule.span.source.text[rule.span.start : rule.span.end]
    return len(re.findall(rf"(?<!\w){re.escape(written(variable))}(?!\w)", text)) <= 1


def occurrences(rule: Rule) -> Iterator[Variable]:
    """The variables of a rule, each occurrence."""
    for literal in (*rule.heads, *rule.body):
        yield from variables(literal)


def names(rule: Rule) -> list[str]:
    """The names of the variables of a rule, each occurrence."""
    found: list[str] = []
    for literal in (*rule.heads, *rule.body):
        if type(literal) is Atom:
            found += [term.name for term in literal.terms if type(term) is Variable]
        else:
            found += [variable.name for variable in variables(literal)]
    return found


def _alike(names: Iterable[str]) -> set[str]:
    """Names that are the same but for their case."""
    return {name for name, n in Counter(map(str.casefold, names)).items() if n > 1}


def _alike_constants(rule: Rule) -> set[str]:
    """The constants of heads that are a variable in lower case: `path(x, y) :- edge(X, Y)`."""
    terms = (term for head in rule.heads for term in head.terms if isinstance(term, Constant))
    return {term.value for term in terms if type(term.value) is str}


def _alike_variables(rule: Rule) -> Iterator[Diagnostic]:
    """?x and ?X are two variables. If each occurs several times, they are meant to be."""
    times, first = Counter(occurrences(rule)), dict[str, Variable]()
    for variable in times:
        other = first.setdefault(variable.name.casefold(), variable)
        if other != variable and 1 in (times[other], times[variable]):
            yield differ_in_case(written(other), written(variable), variable.span)


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
                    yield warning(message, variable.span, f"Write ON {name} to make them one.")
