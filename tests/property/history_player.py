"""Plays a history, and compares every state of the knowledge base with the naive engine.

After every change the facts must be those that the naive engine derives from scratch, and `Change.added` and
`Change.removed` the exact difference. Goals and SPARQL queries are asked by all methods.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deltalog import IRI, KnowledgeBase, ProgramError
from deltalog.core.limits import FactCount, Limits
from deltalog.core.rules import TRIPLES, TYPES, Pred
from deltalog.core.terms import key, lexical
from deltalog.core.tuning import Tuning
from deltalog.evaluation import naive
from deltalog.evaluation.goals.rulebase import reads
from deltalog.knowledge_base.calls import session_of
from deltalog.languages.deltalog.parser import parse
from deltalog.program import analyse
from tests.property.history_model import PREFIX, TUNINGS, History, Step, is_rule, parsed, rows
from tests.property.questions import ANSWER, METHODS, UNKNOWN, answers, is_query, right_answers

Facts = dict[tuple[str, int], set[tuple[object, ...]]]


class Disagreement(AssertionError):
    """A history that went wrong, with a script that plays it."""


def run(history: History) -> None:
    """Plays a history; a Disagreement, or whatever else is raised, if something is wrong."""
    _Player(history).play()


class _Player:
    """A knowledge base, and beside it the rules and facts that it should have."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.rules, self.facts = list(dict.fromkeys(history.rules)), set(history.facts)
        tuning = Tuning(**TUNINGS[history.tuning])  # type: ignore[arg-type]
        self.kb = KnowledgeBase(PREFIX + "\n".join(self.rules), tuning=tuning, **history.options)
        for predicate, found in rows(sorted(self.facts)).items():
            self.kb.add(predicate, found)

    def _program(self) -> str:
        return PREFIX + "\n".join((*self.rules, *sorted(self.facts)))

    def _expected(self) -> Facts:
        return from_scratch(self.rules, self.facts)

    def play(self) -> None:
        expected = self._expected()
        self._ask("before the materialisation", expected, METHODS[:-1])
        self.kb.materialise()
        if self.history.counted:
            counted().count_all(self.kb)
        before = self._agreed("the materialisation", expected)
        for number, step in enumerate(self.history.steps):
            self._follow(step)
            try:
                expected = self._expected()
            except ProgramError:
                self._refused(step, number, before)
                return
            change = self._call(step)
            after = self._agreed(f"step {number}", expected)
            self._same(f"step {number}, added", shown(change.added), without(after, before))
            self._same(f"step {number}, removed", shown(change.removed), without(before, after))
            self._ask(f"step {number}", after, METHODS)
            counted().check_counts(self.kb)
            before = after

    def _ask(self, where: str, facts: Facts, methods: Sequence[str]) -> None:
        """Asks all questions by all methods."""
        for question in self.history.questions:
            if is_query(question) and not (is_graph_of_iris(facts) and has_nodes_of_paths(question, facts)):
                continue
            right = right_answers(self._program(), PREFIX, facts, question)
            found = {m: answers(self.kb, PREFIX, question, m) for m in methods if m != "qsqr" or self._has_lookups}
            refused = all(one == UNKNOWN for one in found.values())
            if refused and (not right or is_unheard_of(question, self._program())):
                continue
            if any(one != right for one in found.values()):
                raise self._wrong(f"{where}, {question}: {found} and not {right}", {}, {})

    @property
    def _has_lookups(self) -> bool:
        """Whether the engine has QSQ-R; "auto" has it until it moves to executors."""
        return session_of(self.kb).backend.capabilities.point_lookup is not None

    def _follow(self, step: Step) -> None:
        gone = set(step.remove).difference(step.add)
        self.rules = [rule for rule in self.rules if rule not in gone]
        self.rules += [line for line in dict.fromkeys(step.add) if is_rule(line) and line not in self.rules]
        self.facts = (self.facts - gone) | {line for line in step.add if not is_rule(line)}

    def _call(self, step: Step) -> Any:
        if step.kind == "update":
            return self.kb.update(rows(step.add), rows(step.remove))
        text = PREFIX + "\n".join(step.add or step.remove)
        return self.kb.add_rules(text) if step.kind == "add_rules" else self.kb.remove_rules(text)

    def _refused(self, step: Step, number: int, before: Facts) -> None:
        """A rule that closes a cycle through a negation is refused, and nothing changes."""
        try:
            self._call(step)
        except ProgramError:
            self._same(f"step {number}, refused", everything(self.kb), before)
        else:
            raise self._wrong(f"step {number} was not refused", {}, {})

    def _agreed(self, where: str, expected: Facts) -> Facts:
        self._same(where, everything(self.kb), expected)
        return expected

    def _same(self, where: str, found: Facts, expected: Facts) -> None:
        if found != expected:
            raise self._wrong(where, without(found, expected), without(expected, found))

    def _wrong(self, where: str, surplus: Facts, missing: Facts) -> Disagreement:
        return Disagreement(f"{where}: not expected {_legible(surplus)}, missing {_legible(missing)}\n{self.history}")


def is_graph_of_iris(facts: Facts) -> bool:
    """Whether all triples consist of IRIs, as the oracle of queries has them; aggregates also derive numbers."""
    triples = (row for (name, _), found in facts.items() if ":" in name for row in found)
    return all(kind is IRI for row in triples for kind, _ in row)  # type: ignore[misc]


def has_nodes_of_paths(query: str, facts: Facts) -> bool:
    """Whether the constants of a query with paths of length zero are nodes of the graph: others match themselves in
    SPARQL, too, and the oracle has no such solutions."""
    if not re.search(r"[\w)][?*](?=[ )/|])", query):
        return True
    nodes = {value for (name, _), found in facts.items() if ":" in name for row in found for _, value in row}
    return all(f"http://e.x/{name}" in nodes for name in re.findall(r":([a-zA-Z])\b(?!\S)", query))


def is_unheard_of(question: str, program: str) -> bool:
    """Whether a question has a predicate that is neither in rules nor in facts: it may be refused."""
    known = {pred for rule in parse(program) for pred in (*reads(rule.body), *(head.pred for head in rule.heads))}
    (rule,) = parse(f"{PREFIX}{ANSWER}() :- {question} .")
    return any(pred not in known and pred not in (TRIPLES, TYPES) for pred in reads(rule.body))


def everything(kb: KnowledgeBase) -> Facts:
    """All facts by name and arity, without predicates that have none; 1, 1.0, "1" and <1> are different."""
    kb.materialise()  # rules with a variable for a class or a predicate derive facts of predicates unheard of
    return _keyed({(_bare(name, kb.arity(name)), kb.arity(name)): list(kb.facts(name)) for name in kb.predicates})


def from_scratch(rules: Iterable[str], facts: Iterable[str]) -> Facts:
    """The same by the naive engine, past the knowledge base (which would parse everything again and again)."""
    given = {Pred(_bare(name, len(found[0])), len(found[0])): found for name, found in rows(facts).items()}
    found: dict[tuple[str, int], list[Any]] = {}
    program, count = analyse(map(parsed, rules), given), FactCount(Limits())
    for pred, constants in naive.materialise(program, given, count).items():  # type: ignore[arg-type]
        for row in () if pred.hidden else constants:
            name, values = _placed(pred.name, tuple(constant.value for constant in row))
            found.setdefault((name, len(values)), []).append(values)
    return _keyed(found)


def _placed(name: str, row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Where a user finds a fact: triples are under their predicate or class."""
    if name == TRIPLES.name:
        name, row = lexical(row[1]), (row[0], row[2])
    if name == TYPES.name and len(row) == 2 and isinstance(row[1], IRI):
        name, row = lexical(row[1]), (row[0],)
    return name, row


def shown(difference: Mapping[str, Any]) -> Facts:
    found: dict[tuple[str, int], list[Any]] = {}
    for name, facts in difference.items():
        for row in facts:
            found.setdefault((_bare(name, len(row)), len(row)), []).append(row)
    return _keyed(found)


def _bare(name: str, arity: int) -> str:
    return name.removesuffix(f"/{arity}")


def _keyed(facts: Mapping[tuple[str, int], Sequence[Any]]) -> Facts:
    return {pred: {tuple(map(key, row)) for row in found} for pred, found in facts.items() if found}


def without(facts: Facts, others: Facts) -> Facts:
    left = {pred: found - others.get(pred, set()) for pred, found in facts.items()}
    return {pred: found for pred, found in left.items() if found}


def _legible(facts: Facts) -> str:
    return str(
        {f"{name}/{arity}": [tuple(v for _, v in row) for row in found] for (name, arity), found in facts.items()}
    )  # type: ignore[misc]


def counted() -> Any:
    """The module of tests that counts rule instances: pytest has its folder in the path, a campaign may not."""
    folder = str(Path(__file__).parents[1])
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("counted")
