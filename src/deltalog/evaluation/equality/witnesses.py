"""Why a rule derives its facts, over representatives.

With a class of n names, owl:sameAs[?x, ?y] has n * n answers, and what a rule finds about ?x can be shown with any of
the ?y. So a body is solved over representatives: variables of the head have all names, others one of each class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from deltalog.core.rules import Atom, HiddenName, Negation, Pred, Rule, Variable, variables
from deltalog.core.terms import Value
from deltalog.evaluation.equality.materialise import EqualMaterialisation, constants_of
from deltalog.evaluation.equality.rewrite import name_of
from deltalog.evaluation.facts import rows
from deltalog.evaluation.hypertree import Trees
from deltalog.evaluation.maintenance.materialisation import Evaluator
from deltalog.evaluation.seminaive import Relations
from deltalog.program import analyse

T = TypeVar("T")
_WITNESS = HiddenName("#witness")


def witnesses(state: EqualMaterialisation[T], rule: Rule, evaluator: Evaluator[T]) -> Iterator[dict[str, Value]]:
    """Values of the variables of a rule with one head and no aggregates, for every fact that it derives."""
    equal, backend = state.equal, evaluator.backend
    evaluator = replace(evaluator, trees=Trees("standard", tuning=backend.tuning))
    for copy in equal.rewriting.copies(rule, constants_of(equal.rewriting, equal.classes, backend)):
        terms = tuple(dict.fromkeys(v for each in copy.body if not isinstance(each, Negation) for v in variables(each)))
        asked = Pred(_WITNESS, len(terms))
        found = Relations(backend, dict(equal.inner.relations.parts))
        known = {pred for pred, _ in found.whole()}
        evaluator.run(analyse([Rule((Atom(_WITNESS, terms),), copy.body)], known), found)
        for row in rows(found.get(asked), len(terms), backend):
            yield _by_variable(dict(zip(terms, row, strict=True)))


def _by_variable(values: dict[Variable, Value]) -> dict[str, Value]:
    """The name that stands for a variable, where there is one, or else its representative."""
    return {v.name: values.get(name_of(v), value) for v, value in values.items()}
