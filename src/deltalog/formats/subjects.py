"""One rule for text in rows: text stays text, and the subject of a triple is an IRI or a blank node.

A fact of a predicate that is an absolute IRI, with one or two arguments, is a triple, so a text or a number as its
first argument is refused where facts enter. An object may be text; if it looks like a prefixed name, a warning says
that it is text. Of facts that are removed, a subject is refused only if it seems to be meant as an IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from deltalog.core.arguments import short_repr
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import UsageError
from deltalog.core.naming import expanded
from deltalog.core.rules import TRIPLES, Pred
from deltalog.core.terms import Kind, Value, is_absolute
from deltalog.core.user_warnings import warn
from deltalog.formats.columns import Column, Columns

RESOURCES = (Kind.IRI, Kind.BLANK)
_PREFIXED = re.compile(r"[\w.-]*:[\w.-]+")


@dataclass(frozen=True, slots=True)
class SubjectCheck:
    """Checks facts that are added or removed. `prefixes` are those that are declared; a warning looks at `sample`
    rows."""

    prefixes: Mapping[str, str] = field(default_factory=dict, hash=False)
    sample: int = 1_000
    adding: bool = True

    def check(self, pred: Pred, columns: Columns, dictionary: Dictionary) -> None:
        """UsageError if the subject of a triple is a literal."""
        if problem := self.problem(pred, columns, dictionary):
            raise UsageError(problem)

    def check_all(self, facts: Iterable[tuple[str, Columns]], dictionary: Dictionary) -> None:
        """The same for rows of several predicates, and a warning of text that looks like a prefixed name."""
        by_pred = {Pred(name, len(columns)): columns for name, columns in facts if len(columns)}
        for pred, columns in by_pred.items():
            self.check(pred, columns, dictionary)
        self.warn_of_names(by_pred, dictionary)

    def problem(self, pred: Pred, columns: Columns, dictionary: Dictionary) -> str | None:
        """What is wrong with the first fact whose subject is a literal, if there is one."""
        if not _has_subjects(pred) or (wrong := _first_literal(columns[0], dictionary)) is None:
            return None
        row = tuple(dictionary.decode(np.array([column[wrong] for column in columns], np.uint32)))
        if not (self.adding or self._meant(row[0])):
            return None
        return (
            f"{pred}, row {wrong + 1:,} {short_repr(row)}: the subject of a triple is an IRI or a blank node, and "
            f"{short_repr(row[0])} is {_noun(row[0])}. {self._remedy(row[0])}"
        )

    def _remedy(self, subject: Value) -> str:
        iri = self._meant(subject)
        if iri is None:
            return 'Pass an IRI: IRI("...") in Python, {"iri": "..."} in JSON, <...> in tables'
        return f'Pass IRI("{iri}") in Python, {{"iri": "{iri}"}} in JSON, <{iri}> in tables'

    def _meant(self, subject: Value) -> str | None:
        """The IRI that a text seems to mean."""
        text = subject if isinstance(subject, str) else ""
        return self._expanded(text) or (text if is_absolute(text) and "://" in text else None)

    def _expanded(self, text: str) -> str | None:
        full = expanded(text, self.prefixes) if _PREFIXED.fullmatch(text) else text
        return None if full == text else full

    def warn_of_names(self, facts: Mapping[Pred, Columns], dictionary: Dictionary) -> None:
        """Warns once of objects that are text and look like prefixed names."""
        found = next(self._prefixed_objects(facts, dictionary), None)
        if found is not None:
            pred, text, iri = found
            warn(
                f'{pred}: the value {text!r} is text, not an IRI. If the IRI is meant, pass IRI("{iri}") in Python, '
                f'{{"iri": "{iri}"}} in JSON, <{iri}> in tables'
            )

    def _prefixed_objects(
        self, facts: Mapping[Pred, Columns], dictionary: Dictionary
    ) -> Iterator[tuple[Pred, str, str]]:
        for pred, columns in facts.items():
            if pred.arity == 2 and is_absolute(pred.name):
                objects = np.unique(columns[1][: self.sample])
                for text in dictionary.strings(objects[dictionary.kinds[objects] == Kind.STRING]):
                    if iri := self._expanded(text):
                        yield pred, text, iri


def _has_subjects(pred: Pred) -> bool:
    return pred == TRIPLES or (pred.arity in (1, 2) and not pred.hidden and is_absolute(pred.name))


def _first_literal(column: Column, dictionary: Dictionary) -> int | None:
    """The place of the first value that is neither an IRI nor a blank node."""
    wrong = ~_IS_RESOURCE[dictionary.kinds[column]]
    first = int(wrong.argmax()) if len(wrong) else 0
    return first if len(wrong) and wrong[first] else None


_IS_RESOURCE = np.isin(np.arange(256), RESOURCES)


def _noun(value: Value) -> str:
    return "text" if isinstance(value, str) else "a literal"
