"""Warnings that only data can tell: rules read predicates that have no facts, and that no rule derives.

Most of these are typos, so the predicates that exist are searched for one that was meant: with another number of
arguments, in another case, in another namespace, or spelled almost alike. Absence alone is less of a sign:

  - a predicate that is only negated or aggregated may well be empty, and is named only if another one was meant;
  - data rarely have all classes and properties of a vocabulary; IRIs without one that was meant are named only if none
    of those that the rules read has facts;
  - without any facts, or rules that need none, there is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from deltalog.core.errors import Diagnostic, warning
from deltalog.core.naming import local_name
from deltalog.core.prefixes import PREFIXES
from deltalog.core.rules import TRIPLES, TYPES, Atom, Pred, Rule, atoms
from deltalog.program.body_atoms import needs_facts, positive
from deltalog.program.lint import is_written
from deltalog.program.lint_predicates import function_hint, is_function_name

MAX_COMPARED = 2_000  # names that a name is compared with, letter by letter
MAX_NAMED = 3  # predicates that one message names
LEAST_ALIKE = 0.7  # of the letters
LONG_NAME = 8  # letters; longer names may differ in two
_NO_DIGITS = str.maketrans("", "", "0123456789")


def lint_data(rules: Sequence[Rule], data: Collection[Pred], given: Collection[str] = ()) -> tuple[Diagnostic, ...]:
    """Warnings about the predicates that rules read. `data` are those of explicit facts, `given` are names under which
    data were given, maybe without rows."""
    if not data and all(needs_facts(rule.body) for rule in rules):
        return ()
    have = {head.pred for rule in rules for head in rule.heads}.union(data)
    missing = _missing(rules, have, given)
    if not missing:
        return ()
    near = Alike.of(pred for pred in have if not pred.hidden)
    found = {pred: near.hint(pred) for pred in missing}
    meant = [_of_meant(missing[pred], hint) for pred, hint in found.items() if hint is not None]
    return (*meant, *_of_others([missing[pred] for pred, hint in found.items() if hint is None], rules, data))


def _missing(rules: Iterable[Rule], have: set[Pred], given: Collection[str]) -> dict[Pred, Atom]:
    """The predicates without facts, with an atom that reads them, without negation or aggregate if there is one."""
    internal, empty = (TRIPLES, TYPES), set(given) - {pred.name for pred in have}
    found: dict[Pred, Atom] = {}
    needed: dict[Pred, Atom] = {}
    for rule in rules:
        if not rule.reads <= have and is_written(rule):
            for atom in atoms(rule.body):
                pred = atom.pred
                if pred not in have and pred.name not in empty and not pred.hidden and pred not in internal:
                    found.setdefault(pred, atom)
            for atom in positive(rule.body):
                needed.setdefault(atom.pred, atom)
    return {pred: needed.get(pred, atom) for pred, atom in found.items() if not _may_be_derived(pred, have)}


def _may_be_derived(pred: Pred, have: set[Pred]) -> bool:
    """Whether a rule with a variable for a predicate or a class may derive facts of it."""
    return _is_iri(pred) and (TRIPLES in have or (pred.arity == 1 and TYPES in have))


def _is_iri(pred: Pred) -> bool:
    return ":" in pred.name


def _of_meant(atom: Atom, hint: str) -> Diagnostic:
    return warning(f"there are no facts of {_shown(atom.pred)}, and no rule derives any", atom.span, hint)


def _of_others(missing: list[Atom], rules: Sequence[Rule], data: Collection[Pred]) -> Iterator[Diagnostic]:
    """Of the predicates that resemble no other."""
    read = {atom.pred for rule in rules for atom in positive(rule.body)}
    for atom in missing:
        if atom.pred in read and not _is_iri(atom.pred):
            yield _of_meant(atom, _how_to_give(atom))
    of_rdf = [atom for atom in missing if atom.pred in read and _is_iri(atom.pred) and not _is_standard(atom.name)]
    if of_rdf and not any(_is_iri(pred) and not _is_standard(pred.name) for pred in read.intersection(data)):
        names = ", ".join(_shown(atom.pred) for atom in of_rdf[:MAX_NAMED])
        more = f" and {len(of_rdf) - MAX_NAMED} more" if len(of_rdf) > MAX_NAMED else ""
        message = f"none of the classes and properties that the rules read has facts: {names}{more}"
        yield warning(message, of_rdf[0].span, "Do the rules have the prefixes and namespaces of the data?")


def _how_to_give(atom: Atom) -> str:
    """What to do about a predicate without facts."""
    if atom.span is not None and atom.span.source.rewritten:
        return f"Rules that need it derive nothing. If a file has its facts, write .input {atom.name}"
    return function_hint(atom.name) if is_function_name(atom.name) else _EMPTY


_EMPTY = "Rules that need it derive nothing. If it is meant to be empty, give it an empty file, or kb.add(name, [])."


def _is_standard(name: str) -> bool:
    return name.startswith(tuple(PREFIXES.values()))


def _shown(pred: Pred) -> str:
    return f"`{pred.name}` with {pred.arity} argument{'' if pred.arity == 1 else 's'}"


@dataclass(frozen=True)
class Alike:
    """Predicates by what their names have in common with others."""

    by_name: dict[str, list[Pred]] = field(default_factory=dict)
    by_case: dict[str, list[Pred]] = field(default_factory=dict)
    by_local: dict[str, list[Pred]] = field(default_factory=dict)  # without the namespace

    @classmethod
    def of(cls, preds: Iterable[Pred]) -> Alike:
        found = cls()
        for pred in sorted(preds):
            found.by_name.setdefault(pred.name, []).append(pred)
            found.by_case.setdefault(pred.name.casefold(), []).append(pred)
            found.by_local.setdefault(local_name(pred.name).casefold(), []).append(pred)
        return found

    def hint(self, pred: Pred) -> str | None:
        """What was most likely meant instead of a predicate that does not exist."""
        if others := self.by_name.get(pred.name):
            arities = " or ".join(str(other.arity) for other in others)
            return f"There are facts or rules of `{pred.name}` with {arities} arguments; that is another predicate."
        same = [other for other in self._candidates(pred) if other.arity == pred.arity]
        return f"Did you mean {' or '.join(f'`{other.name}`' for other in same[:MAX_NAMED])}?" if same else None

    def _candidates(self, pred: Pred) -> list[Pred]:
        local = local_name(pred.name).casefold()
        return self.by_case.get(pred.name.casefold()) or self.by_local.get(local) or self._spelled_alike(local, pred)

    def _spelled_alike(self, local: str, pred: Pred) -> list[Pred]:
        """Predicates of the same namespace whose names are almost the same."""
        if len(self.by_local) > MAX_COMPARED or len(local) < 3:
            return []
        space = pred.name[: len(pred.name) - len(local_name(pred.name))]
        near = [
            name for name in get_close_matches(local, self.by_local, 2 * MAX_NAMED, LEAST_ALIKE) if is_typo(local, name)
        ]
        found = [other for name in near for other in self.by_local[name]]
        return [other for other in found if other.name.startswith(space) and _is_iri(other) is _is_iri(pred)]


def is_typo(one: str, other: str) -> bool:
    """Whether two names differ in a letter or two, and not in digits: q1 and q2 are two names."""
    if one.translate(_NO_DIGITS) == other.translate(_NO_DIGITS):
        return False
    return _edits(one, other) <= (1 if min(len(one), len(other)) < LONG_NAME else 2)


def _edits(one: str, other: str) -> int:
    """How many letters are missing, too many, others, or swapped with the next."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, right in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right)))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]
