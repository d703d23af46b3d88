"""Programs in other languages, as far as they can be said there: what the writers of all languages share.

`written` prints a unit statement by statement: each target is a `Writer`, which returns the text of a rule or raises
`CannotSay`. What cannot be said is left out of the text, and named with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import ClassVar, TypeVar

from deltalog.core.errors import Diagnostic
from deltalog.core.rules import (
    Aggregate,
    Atom,
    BodyLiteral,
    HiddenName,
    Negation,
    Pred,
    Rule,
    Variable,
    atoms,
    variables,
)
from deltalog.languages.deltalog.named_file import OwnFile
from deltalog.languages.protocol import ProgramUnit, WrittenProgram
from deltalog.languages.registry import OWN, row_of
from deltalog.languages.rule_map import RuleMap, with_plain_names
from deltalog.program.aggregates import separate
from deltalog.program.binding import directed_rule
from deltalog.program.core_rules import core_rules

S = TypeVar("S")
W = TypeVar("W", Rule, OwnFile)
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CannotSay(Exception):
    """A statement has no counterpart in the other language."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class Writer:
    """Writes the statements of a unit in another language."""

    language: ClassVar[str]

    def __init__(self, unit: ProgramUnit) -> None:
        self.unit = unit
        self.rules: Sequence[Rule] = unit.rules
        self.lost: list[Diagnostic] = []
        self.notes: dict[str, None] = {}  # what may mean something else there
        self.said: set[Pred] = set()  # the predicates of the statements that could be said

    @property
    def outputs_said(self) -> list[Pred]:
        """The predicates of the program that rules derive which could be said."""
        own = {head.pred for rule in self.unit.rules for head in rule.heads}
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


_ORDER = "It has choice-domain, subsumption, .limitsize, autoinc(), or an aggregate over its own recursion."


def written(unit: ProgramUnit, make: type[Writer]) -> WrittenProgram:
    """A unit in another language."""
    lost, notes = list(_ordered(unit)), list[Diagnostic]()
    for name in dict.fromkeys(unit.languages):
        unit = row_of(name).language.plain(unit, lost, notes if name != make.language else [])
    writer = make(unit)
    lines: list[str] = []
    for rule in writer.rules:
        line = attempted(writer.statement, rule, lost)
        if line is not None:
            lines.append(line)
            writer.said.update((*rule.reads, *(head.pred for head in rule.heads)))
    text = "".join(f"{line}\n" for line in (*writer.before(), *lines, *writer.after()))
    notes += [Diagnostic(each, None, None, "note") for each in writer.notes]
    left_out = _left_out(unit, make.language)
    lost += [*writer.lost, *(each for each in left_out if each.severity == "error")]
    notes += [each for each in left_out if each.severity == "note"]
    return WrittenProgram(text, tuple(_in_order(lost)), tuple(notes))


def attempted(say: Callable[[W], S], what: W, lost: list[Diagnostic]) -> S | None:
    """What is made of a rule or a file; None, and why, if that cannot be said."""
    try:
        return say(what)
    except CannotSay as problem:
        lost.append(Diagnostic(problem.message, what.span, problem.hint))
        return None


def _left_out(unit: ProgramUnit, language: str) -> list[Diagnostic]:
    """What the unit says of files in a language that is neither the target nor our own."""
    others = (file for file in unit.files if file.language not in (OWN, language))
    return [each for file in others if (each := file.left_out) is not None]


def _ordered(unit: ProgramUnit) -> Iterator[Diagnostic]:
    """What a unit derives in an order."""
    for rule in (rule for stage in unit.stages for rule in (*stage.rules, *stage.procedures.dominance)):
        yield Diagnostic("what this rule derives depends on the order of derivation", rule.span, _ORDER)


def _in_order(lost: Sequence[Diagnostic]) -> list[Diagnostic]:
    return sorted(dict.fromkeys(lost), key=lambda each: each.span.start if each.span else -1)


def plain_rules(rules: Iterable[Rule], reserved: Container[str] = ()) -> list[Rule]:
    """Rules of the core language with one aggregate alone in a body, names for the relations that this takes, and
    variables with plain names that are not reserved."""
    core = [directed_rule(made) for rule in rules for made in core_rules(rule)]
    made = without_hidden(named_negations(separate(dict.fromkeys(core))))
    return [with_plain_names(rule, reserved) for rule in made]


def without_hidden(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with names for hidden relations: aux1, aux2, ..."""
    mentioned = [atom.name for rule in rules for atom in (*rule.heads, *atoms(rule.body))]
    taken, names = set(mentioned), dict[str, str]()
    free = (f"aux{i}" for i in count(1) if f"aux{i}" not in taken)
    for name in mentioned:
        if isinstance(name, HiddenName) and name not in names:
            names[name] = next(free)
    named = _NamedRelations(names)
    return [named.rule(rule) for rule in rules]


class _NamedRelations(RuleMap):
    """Gives relations other names."""

    def __init__(self, relations: Mapping[str, str]) -> None:
        super().__init__()
        self.relations = relations

    def atom(self, atom: Atom) -> Atom:
        return replace(atom, name=self.relations[atom.name]) if atom.name in self.relations else atom


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
    outside = bound(body)
    inner = [v for v in variables(literal.atom) if v not in outside]
    if len(set(inner)) == len(inner):
        return literal
    kept = tuple(dict.fromkeys(v for v in variables(literal.atom) if v in outside))
    head = Atom(HiddenName(f"#matching {literal.atom}"), kept, literal.span)
    made[Rule((head,), (literal.atom,), literal.span)] = None
    return replace(literal, atom=head)


def bound(body: Iterable[BodyLiteral]) -> set[Variable]:
    """The variables that have values: those of literals that are not negated."""
    return {v for literal in body if not isinstance(literal, Negation) for v in variables(literal)}


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
        for atom in atoms(rule.body):
            found.setdefault(atom.pred, False)
    return found


# Files of our own language, in others.

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".facts": "\t"}
_FORMS = ("delimiter", "header", "columns", "types")


def own_files(unit: ProgramUnit, kind: str) -> list[OwnFile]:
    return [file for file in unit.files if isinstance(file, OwnFile) and file.kind == kind]


def said(
    unit: ProgramUnit, kind: str, say: Callable[[OwnFile], str], lost: list[Diagnostic]
) -> list[tuple[OwnFile, str]]:
    """The files of a kind in another language; what cannot be said is added to `lost`."""
    files = own_files(unit, kind)
    return [(file, text) for file in files if (text := attempted(say, file, lost)) is not None]


def table_delimiter(file: OwnFile) -> str:
    """The delimiter of a table of text that other languages read and write, too."""
    ending = Path(file.path.removesuffix(".gz")).suffix.lower()
    if ending not in _DELIMITERS:
        raise CannotSay(f"{file.path} is not a table of text, and only these can be named there", "Name a .csv file.")
    others = [name for name in file.options.given if name not in _FORMS]
    if others or file.options.header == "auto":
        option = others[0] if others else "header = auto"
        raise CannotSay(f"the option `{option}` cannot be said there", "Write the table anew as plain CSV.")
    return file.options.delimiter or _DELIMITERS[ending]
