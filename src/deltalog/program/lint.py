"""Lint warnings: statements that are allowed, and most likely not meant.

Each check is a function from rules to diagnostics, in a module by what it looks at; `CHECKS` has them all. Rules that
the user did not write (ready-made ones, those of ontologies and of stores) are not looked at: they have no place, or
their place is in a ready-made file. Nor are rules that are not as they were written: the language of such a program
looks at its text. `deltalog.program.lint_data` has the checks that need to know the
data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Rule
from deltalog.program.lint_constants import constants_like_variables, ill_typed_literals, kinds_that_never_match
from deltalog.program.lint_predicates import (
    functions_as_predicates,
    heads_in_bodies,
    predicates_by_case,
    repeated_rules,
    several_arities,
    skolem_as_predicate,
)
from deltalog.program.lint_variables import doubtful_variables, hidden_variables

LintCheck = Callable[[Sequence[Rule]], Iterator[Diagnostic]]

CHECKS: tuple[LintCheck, ...] = (
    several_arities,
    predicates_by_case,
    repeated_rules,
    heads_in_bodies,
    doubtful_variables,
    hidden_variables,
    skolem_as_predicate,
    constants_like_variables,
    ill_typed_literals,
    kinds_that_never_match,
)
# Where data may still come, a predicate with the name of a function may have facts (`deltalog.program.lint_data`).
WITHOUT_DATA: tuple[LintCheck, ...] = (*CHECKS, functions_as_predicates)


def lint(rules: Iterable[Rule], checks: tuple[LintCheck, ...] = WITHOUT_DATA) -> tuple[Diagnostic, ...]:
    """All lint warnings, in the order of the text."""
    mine = tuple(rule for rule in rules if is_written(rule) and not rule.is_rewritten)
    found = [diagnostic for check in checks for diagnostic in check(mine)]
    return tuple(sorted(found, key=lambda diagnostic: diagnostic.span.start if diagnostic.span else 0))


def is_written(rule: Rule) -> bool:
    """Whether the user wrote a rule."""
    return rule.span is not None and not rule.span.source.ready_made and not any(one.pred.hidden for one in rule.heads)
