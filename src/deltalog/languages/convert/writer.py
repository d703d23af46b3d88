"""What the writers of all languages share."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import Aggregate, Atom, BodyLiteral, HiddenName, Negation, Pred, Rule, variables
from deltalog.languages.convert.rule_map import with_plain_names
from deltalog.languages.load_program import Documents
from deltalog.program.aggregates import separate
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules

T = TypeVar("T", bound=BodyLiteral)
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CannotSay(Exception):
    """A statement has no counterpart in the other language."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class Writer:
    """Writes the statements of a program in another language."""

    def __init__(self, document: Documents) -> None:
        self.document = document
        self.rules: Sequence[Rule] = document.rules
        self.lost: list[Diagnostic] = []
        self.notes: dict[str, None] = {}  # what may mean something else there
        self.said: set[Pred] = set()  # the predicates of the statements that could be said

    @property
    def outputs_said(self) -> list[Pred]:
        """The predicates of the program that rules derive which could be said."""
        own = {head.pred for rule in self.document.rules for head in rule.heads}
        heads = dict.fromkeys(head.pred for rule in self.rules if rule.body for head in rule.heads)
        return [pred for pred in heads if pred in own and pred in self.said]

    def statement(self, rule: Rule) -> str:
        raise NotImplementedError

    def before(self) -> Iterable[str]:
        """Lines before all statements."""
        return ()

    def after(self) -> Iterable[str]:
        """Lines after all statements."""
        return ()


def plain_rules(rules: Iterable[Rule], reserved: Container[str] = ()) -> list[Rule]:
    """Rules of the core language with one aggregate alone in a body, names for the relations that this takes, and
    variables with plain names that are not reserved."""
    core = [directed_rule(made) for rule in rules for made in core_rules(rule)]
    made = without_hidden(named_negations(separate(dict.fromkeys(core))))
    return [with_plain_names(rule, reserved) for rule in made]


def without_hidden(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with names for hidden relations: aux1, aux2, ..."""
    mentioned = [atom.name for rule in rules for atom in (*rule.heads, *_atoms(rule.body))]
    taken, names = set(mentioned), dict[str, str]()
    free = (f"aux{i}" for i in count(1) if f"aux{i}" not in taken)
    for name in mentioned:
        if isinstance(name, HiddenName) and name not in names:
            names[name] = next(free)
    return [_renamed(rule, names) for rule in rules]


def named_negations(rules: Iterable[Rule]) -> list[Rule]:
    """Rules in which no variable occurs twice in a negated atom and nowhere else, as in NOT p(?x, ?y, ?y): these atoms
    become relations of their own, for languages that have only `_` for such variables."""
    made: dict[Rule, None] = {}
    for rule in rules:
        made[replace(rule, body=tuple(_named(literal, rule.body, made) for literal in rule.body))] = None
    return list(made)


def _named(literal: BodyLiteral, body: Sequence[BodyLiteral], made: dict[Rule, None]) -> BodyLiteral:
    if isinstance(literal, Aggregate):
        return replace(literal, body=tuple(_named(inner, literal.body, made) for inner in literal.body))
    if not isinstance(literal, Negation):
        return literal
    outside = {v for one in body if not isinstance(one, Negation) for v in variables(one)}
    inner = [v for v in variables(literal.atom) if v not in outside]
    if len(set(inner)) == len(inner):
        return literal
    kept = tuple(dict.fromkeys(v for v in variables(literal.atom) if v in outside))
    head = Atom(HiddenName(f"#matching {literal.atom}"), kept, literal.span)
    made[Rule((head,), (literal.atom,), literal.span)] = None
    return replace(literal, atom=head)


def _atoms(body: Iterable[BodyLiteral]) -> Iterator[Atom]:
    for literal in body:
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation):
            yield literal.atom
        elif isinstance(literal, Aggregate):
            yield from _atoms(literal.body)


def _renamed(rule: Rule, names: dict[str, str]) -> Rule:
    if not names:
        return rule
    heads = tuple(_renamed_literal(head, names) for head in rule.heads)
    return replace(rule, heads=heads, body=tuple(_renamed_literal(literal, names) for literal in rule.body))


def _renamed_literal(literal: T, names: dict[str, str]) -> T:
    match literal:
        case Atom(name=name) if name in names:
            return replace(literal, name=names[name])
        case Negation(atom=atom):
            return replace(literal, atom=_renamed_literal(atom, names))
        case Aggregate(body=body):
            return replace(literal, body=tuple(_renamed_literal(inner, names) for inner in body))
    return literal


def several_arities(rules: Iterable[Rule]) -> dict[str, set[int]]:
    """The names of predicates with several numbers of arguments."""
    found: dict[str, set[int]] = {}
    for pred in (pred for rule in rules for pred in (*rule.reads, *(head.pred for head in rule.heads))):
        found.setdefault(pred.name, set()).add(pred.arity)
    return {name: arities for name, arities in found.items() if len(arities) > 1}


def predicates(rules: Iterable[Rule]) -> dict[Pred, bool]:
    """All predicates, in the order of writing, and whether rules or facts derive them."""
    found: dict[Pred, bool] = {}
    for rule in rules:
        found.update(dict.fromkeys((head.pred for head in rule.heads), True))
        for atom in _atoms(rule.body):
            found.setdefault(atom.pred, False)
    return found
