"""Random histories: a program, its facts and a list of changes, all drawn from one seed.

`history(seed)` draws one, and `run(history)` plays it: after every change the facts of a knowledge base must be those
that the naive engine derives from scratch, and `Change.added` and `Change.removed` the exact difference. A history is
text throughout, so a failure prints as a script that anybody can run.

    python -m tests.property.histories --seeds 0:20000 --jobs 2     a campaign: failing seeds, each shrunk
    python -m tests.property.histories --seeds 17 --show            prints a history without playing it

Programs are stratified and terminate by construction. Derived predicates have levels; a rule reads predicates up to the
level of its heads, and negates, aggregates or makes new values (SKOLEM, arithmetic) only over what is below, or in a
bounded range. Programs with triples have no such levels: rules that close a cycle through a negation are left out, but
for some that come late, which must be refused and change nothing.
"""

from __future__ import annotations

import argparse
import importlib
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from deltalog import IRI, KnowledgeBase, ProgramError
from deltalog.engine import naive
from deltalog.model.limits import FactCount, Limits
from deltalog.model.terms import key, lexical
from deltalog.model.tuning import Tuning
from deltalog.program import analyse
from deltalog.syntax.ast import TRIPLES, TYPES, Constant, Pred, Rule
from deltalog.syntax.parser import parse
from tests.property.questions import METHODS, UNKNOWN, answers, is_query, random_query, right_answers

T = TypeVar("T")
PREFIX = "PREFIX : <http://e.x/>\n"
MAINTENANCE = ("auto", "auto", "dred", "bf", "counting")
SCHEMES = ("auto", "standard", "scheme", "module")
CYCLIC = ("combined", "standard", "hypertree")

# Thresholds so low that small data cross them, by name: fields of `Tuning`.
MAINTAINED = {"recompute_all_min_changed_share": 10.0}  # the change of a large part is maintained, too
BY_SETS = {**MAINTAINED, "tuple_max_changed_facts": -1}
TUNINGS: Mapping[str, Mapping[str, float]] = {
    "defaults": {},
    "by facts": MAINTAINED,
    "by facts, few": {
        **MAINTAINED,
        "bounded_overdeletion_min_facts": 2,
        "bounded_overdeletion_factor": 1,
        "tuple_max_facts": 16,
        "tuple_max_matches": 64,
    },
    "by sets": BY_SETS,
    "by sets, bounded": {**BY_SETS, "bounded_overdeletion_min_facts": 4, "bounded_overdeletion_factor": 2},
    "by columns": {**BY_SETS, "multiway_check_min_facts": 1, "nested_loop_max_leaf_rows": 0},
    "recompute": {
        **BY_SETS,
        "recompute_min_facts": 0,
        "recompute_min_removed_share": 0.05,
        "recompute_min_changed_inputs": 1,
    },
    "spreading": {
        **BY_SETS,
        "recompute_min_facts": 0,
        "recompute_spread_factor": 1e9,
        "recompute_spread_notice_factor": 1e9,
    },
    "wrong choices": {
        **MAINTAINED,
        "replan_min_rows": 0.0,
        "replan_misestimate_factor": 0.0,
        "tree_growth_factor": 0.0,
        "tree_reconsider_factor": 1.0,
        "tree_exchange_factor": 0.0,
        "tree_cost_margin": 1.0,
        "tree_cost_margin_when_safer": 1.0,
        "tree_safe_join_factor": 1.0,
        "tree_min_rows": 1.0,
        "magic_patience_factor": 0.0,
    },
    "wrong choices, twice": {
        "replan_min_rows": 10_000.0,
        "replan_misestimate_factor": 0.0,
        "magic_patience_factor": 0.01,
        "materialisation_patience_factor": 0.01,
    },
    "everything": {"recompute_all_min_changed_facts": 0, "recompute_all_min_changed_facts_of_large_share": 0},
    "tombstones": {**MAINTAINED, "fence_min_rows": 0, "tombstone_min_rows": 0, "tombstone_max_divisor": 3},
    "virtual relations": {
        **MAINTAINED,
        "closure_listed_max_facts": 4,
        "closure_listed_max_facts_per_edge": 0,
    },
}


@dataclass(frozen=True)
class Step:
    """One call: `update` (facts), `add_rules` or `remove_rules` (rules and facts). Lines are rules and facts."""

    kind: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    options: Mapping[str, str]  # of the knowledge base
    tuning: str
    rules: tuple[str, ...]
    facts: tuple[str, ...]
    steps: tuple[Step, ...]
    counted: bool = False  # every stratum has counts from the beginning, and not when it first loses something
    questions: tuple[str, ...] = ()  # goals and SPARQL queries, asked before everything and after every step
    seed: int = field(default=-1, compare=False)

    def __str__(self) -> str:
        """A script that plays the history (but for its tuning)."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        lines = [
            f"# seed {self.seed}, tuning {self.tuning!r}{', counted' if self.counted else ''}",
            "from deltalog import IRI, KnowledgeBase",
            "",
        ]
        lines += [f'P = """{PREFIX}"""', f"kb = KnowledgeBase(P + {_quoted((*self.rules, *self.facts))}{options})"]
        lines += ["kb.materialise()", *map(_called, self.steps), *(f"# asked: {one}" for one in self.questions)]
        return "\n".join(lines)

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self.rules, *self.facts, *(line for step in self.steps for line in (*step.add, *step.remove)))


def _quoted(lines: Sequence[str]) -> str:
    return '"""\n' + "\n".join(lines) + '\n"""'


def _called(step: Step) -> str:
    if step.kind == "update":
        return f"change = kb.update(add={rows(step.add)!r}, remove={rows(step.remove)!r})"
    return f"change = kb.{step.kind}(P + {_quoted(step.add or step.remove)})"


Rows = dict[str, list[tuple[object, ...]]]


def rows(facts: Iterable[str]) -> Rows:
    """Facts as `update` takes them."""
    found: Rows = {}
    for name, row in map(_row, facts):
        found.setdefault(name, []).append(row)
    return found


@cache
def _row(fact: str) -> tuple[str, tuple[object, ...]]:
    (head,) = parsed(fact).heads
    name = head.name if ":" in head.name else f"{head.name}/{len(head.terms)}"  # the latter is its own name for an IRI
    return name, tuple(term.value for term in head.terms if isinstance(term, Constant))


# Playing a history.

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
            if all(one == UNKNOWN for one in found.values()) and (
                not right or is_unheard_of(question, self._program())
            ):
                continue
            if any(one != right for one in found.values()):
                raise self._wrong(f"{where}, {question}: {found} and not {right}", {}, {})

    @property
    def _has_lookups(self) -> bool:
        """Whether the engine has QSQ-R; "auto" has it until it moves to executors."""
        return self.kb._backend.capabilities.point_lookup is not None

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
    """Whether a question names a predicate that is neither in rules nor in facts: it may be refused."""
    names = re.findall(r"([\w:]+)[(\[]", question)
    return any(f"{name}(" not in program and f"{name}[" not in program for name in names)


def is_rule(line: str) -> bool:
    return ":-" in line


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


@cache
def parsed(line: str) -> Rule:
    (rule,) = parse(PREFIX + line)
    return rule


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


# Drawing a history.

Row = tuple[str, ...]
STORED = (("a", 1), ("b", 2), ("c", 2), ("d", 3))
CLASSES, PROPERTIES = (":A", ":B", ":C", ":D"), (":r", ":s", ":t")
INTEGERS = ("1", "2", "3", "0")
MIXED = ("0", "1", "2", "1.0", "2.5", '"a"', '"1"', "<http://e.x/a>")
NODES = (":a", ":b", ":c", ":A", ":B", ":r", ":s")
VARIABLES = ("?x", "?y", "?z", "?w")
EQUAL_NUMBERS = ("1", "1.0", '"1"^^<http://www.w3.org/2001/XMLSchema#int>', "2", "2.5")
FUNCTIONS = ("COUNT", "SUM", "MIN", "MAX", "AVG", "MED")
STEPS = 5


def history(seed: int) -> History:
    """The history of a seed."""
    random = Random(seed)
    drawing: _Drawing = random.choice((_Drawing, _Drawing, _Aggregates, _Structures, _Triples))(random)
    options = {
        "maintenance": random.choice(MAINTENANCE),
        "schemes": random.choice(SCHEMES),
        "cyclic": random.choice(CYCLIC),
    }
    tuning = random.choice(sorted(TUNINGS))
    rules = _stratified([drawing.rule() for _ in range(random.randint(3, 10))])
    late = [rule for rule in rules if random.random() < 0.35]
    first = [rule for rule in rules if rule not in late]
    late += [drawing.rule() for _ in range(random.choice((0, 0, 1)))]
    facts = list(dict.fromkeys(drawing.fact() for _ in range(random.choice((6, 12, 20, 30)))))
    changes = _Steps(random, drawing, list(first), late, list(facts))
    steps = tuple(changes.draw() for _ in range(STEPS))
    counted = options["maintenance"] == "counting" and random.random() < 0.7
    questions = tuple(drawing.question() for _ in range(random.choice((0, 0, 1, 2))))
    return History(options, tuning, tuple(first), tuple(facts), steps, counted, questions, seed)


def _stratified(rules: Sequence[str]) -> list[str]:
    """The rules, without those that close a cycle through a negation or an aggregate."""
    rules = list(dict.fromkeys(rules))
    if _is_stratified(rules):
        return rules
    kept: list[str] = []
    for rule in rules:
        if _is_stratified([*kept, rule]):
            kept.append(rule)
    return kept


def _is_stratified(rules: Sequence[str]) -> bool:
    try:
        analyse(map(parsed, rules))
    except ProgramError:
        return False
    return True


@dataclass
class _Steps:
    """Draws changes, and knows which rules and facts there are."""

    random: Random
    drawing: _Drawing
    rules: list[str]
    late: list[str]
    facts: list[str]

    def draw(self) -> Step:
        choice = self.random.random()
        if choice < 0.3 and self.late:
            return self._come()
        if choice < 0.5 and self.rules:
            return self._go()
        return self._update()

    def _come(self) -> Step:
        rules = self._some(self.late, self.random.choice((1, 2, 3, 4)))
        facts = [self._new_fact() for _ in range(self.random.choice((0, 0, 1, 2, 3)))]
        self.late = [rule for rule in self.late if rule not in rules]
        self._keep(rules, facts, [])
        return Step("add_rules", add=(*rules, *facts))

    def _go(self) -> Step:
        rules = self._some(self.rules, self.random.choice((1, 1, 2, 3)))
        facts = self._some(self.facts, self.random.choice((0, 0, 1, 2, 3)))
        self.late += rules
        self.rules = [rule for rule in self.rules if rule not in rules]
        self._keep([], [], facts)
        return Step("remove_rules", remove=(*rules, *facts))

    def _update(self) -> Step:
        add = [self._new_fact() for _ in range(self.random.choice((0, 1, 1, 2, 4)))]
        remove = self._some(self.facts, self.random.choice((0, 1, 1, 2, 3, 5)))
        remove += [self.drawing.fact()] * (self.random.random() < 0.2)
        self._keep([], add, remove)
        return Step("update", tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove)))

    def _new_fact(self) -> str:
        return self.random.choice(self.facts) if self.facts and self.random.random() < 0.1 else self.drawing.fact()

    def _some(self, lines: Sequence[T], most: int) -> list[T]:
        return self.random.sample(lines, min(most, len(lines)))

    def _keep(self, rules: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> None:
        self.rules += [rule for rule in rules if rule not in self.rules]
        self.facts = list(dict.fromkeys([fact for fact in self.facts if fact not in remove] + list(add)))


class _Drawing:
    """Draws rules and facts: joins, chains, negation, BIND, FILTER, SKOLEM, several heads, cyclic bodies."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.values = random.choice((INTEGERS[:2], *(INTEGERS[:3],) * 3, INTEGERS, MIXED))
        self.stored = STORED[: random.choice((2, 3, 3, 4))]
        arities = (2, *(random.choice((1, 2, 2, 2, 3)) for _ in range(random.randint(0, 2))))
        levels = random.randint(0, 2)
        self.levels = {(f"p{i}", arity): random.randint(0, levels) for i, arity in enumerate(arities)}
        if random.random() < 0.2:
            self.levels[("p0", 1)] = random.randint(0, levels)
        self._use_level()

    def _use_level(self) -> None:
        self.level = self.random.choice(sorted(set(self.levels.values())))
        self.heads = [pred for pred, level in self.levels.items() if level == self.level]
        self.below = [*self.stored, *(pred for pred, level in self.levels.items() if level < self.level)]

    def pick(self, things: Sequence[T]) -> T:
        return self.random.choice(things)

    def one_in(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def fact(self) -> str:
        derived = self.one_in(4)
        name, arity = self.pick(sorted(self.levels) if derived else self.stored)
        return f"{name}({', '.join(self.pick(self.values) for _ in range(arity))})."

    def rule(self) -> str:
        self._use_level()
        return self.pick(self.makers())()

    def question(self) -> str:
        """A goal: one atom or two, now and then with a negation."""
        preds = [*self.levels, *self.stored]
        body = [self._asked(preds) for _ in range(self.pick((1, 1, 2)))]
        if self.one_in(4):
            body.append("NOT " + self._asked(preds))
        return ", ".join(body)

    def _asked(self, preds: Sequence[tuple[str, int]]) -> str:
        name, arity = self.pick(preds)
        return f"{name}({', '.join(self.pick((*VARIABLES, *VARIABLES, *self.values)) for _ in range(arity))})"

    def makers(self) -> Sequence[Callable[[], str]]:
        return self.join, self.join, self.chain, self.negated, self.computed, self.cycle, self.union, self.aggregated

    # Parts.

    def atom(self, preds: Sequence[tuple[str, int]], names: Sequence[str] = VARIABLES) -> str:
        name, arity = self.pick(preds)
        terms = self.random.sample(names, arity) if len(names) >= arity else [self.pick(names) for _ in range(arity)]
        if self.one_in(5):
            terms[self.random.randrange(arity)] = self.pick((self.pick(self.values), self.pick(names)))
        return f"{name}({', '.join(terms)})"

    def head(self, names: Sequence[str]) -> str:
        """A head over variables, mostly each at most once."""
        name, arity = self.pick(self.heads)
        terms = [*self.random.sample(names, min(arity, len(names)))]
        terms += [self.pick((*names, self.pick(self.values))) for _ in range(arity - len(terms))]
        return f"{name}({', '.join(terms)})"

    def stated(self, body: Sequence[str], names: Sequence[str]) -> str:
        heads = [self.head(names) for _ in range(2 if self.one_in(6) else 1)]
        return f"{', '.join(dict.fromkeys(heads))} :- {', '.join(body)}."

    def atoms(self, most: int, preds: Sequence[tuple[str, int]]) -> list[str]:
        return [self.atom(preds) for _ in range(self.random.randint(1, most))]

    # Rules.

    def join(self) -> str:
        body = self.atoms(3, [*self.below, *self.heads])
        if self.one_in(4):
            body.append(self.condition(names_of(body)))
        return self.stated(body, names_of(body))

    def chain(self) -> str:
        preds = [name for name, arity in [*self.heads, *self.heads, *self.below] if arity == 2]
        names = self.random.sample(VARIABLES, self.pick((2, 3, 3, 4)))
        body = [f"{self.pick(preds)}({one}, {other})" for one, other in pairwise(names)]
        return self.stated(body, (names[0], names[-1]))

    def cycle(self) -> str:
        preds = [name for name, arity in [*self.heads, *self.below] if arity == 2]
        names = self.random.sample(VARIABLES, self.pick((3, 4)))
        pairs = zip(names, (*names[1:], names[0]), strict=True)
        body = [f"{self.pick(preds)}({one}, {other})" for one, other in pairs]
        return self.stated(body, names[: self.pick((1, 2, 3))])

    def union(self) -> str:
        name, arity = self.pick(self.heads)
        alike = [other for other, size in [*self.below, *self.heads] if size == arity]
        names = list(VARIABLES[:arity])
        body = f"{self.pick(alike)}({', '.join(names)})" if alike else self.atom(self.below, names)
        if self.one_in(3):
            self.random.shuffle(names)
        head = f"{name}({', '.join(names)})"
        return f"{head} :- {body}." if set(names) <= set(names_of([body])) else self.join()

    def negated(self) -> str:
        body = self.atoms(2, [*self.below, *self.heads])
        names = names_of(body)
        body.append("NOT " + self.atom(self.below, [*names, "?e"] if self.one_in(3) or not names else names))
        return self.stated(body, names or VARIABLES[:0])

    def computed(self) -> str:
        recursive = self.one_in(2)
        body = self.atoms(2, [*self.below, *self.heads] if recursive else self.below)
        names = names_of(body)
        if not names:
            return self.stated(body, names)
        x, y = self.pick(names), self.pick(names)
        free = (f"{x} + {y}", f"SKOLEM({x}, {y})", f'SKOLEM("f", {x})', f"{x} * 2", f"concat({x}, {y})")
        ring = (f"({x} + {y}) % 4", f"({x} * 2) % (3)", f"min({x}, {y})")
        body.append(f"BIND({self.pick(ring if recursive else (*free, *ring))} AS ?v)")
        if self.one_in(4):
            body.append(self.condition(names))
        return self.stated(body, [*self.random.sample(names, min(1, len(names))), "?v"])

    def condition(self, names: Sequence[str]) -> str:
        one = self.pick(names) if names else "1"
        other = self.pick(names) if names and self.one_in(2) else self.pick(self.values)
        return f"FILTER({one} {self.pick(('=', '!=', '<', '>='))} {other})"

    # Aggregates.

    def aggregated(self) -> str:
        literal, names, results = self.aggregate()
        body = [literal]
        if self.one_in(3):
            body = [*self.atoms(2, [*self.below, *self.heads]), literal]
            self.random.shuffle(body)
        elif self.one_in(2):
            return self.stated(body, [*names, *results][:2])
        outer = list(dict.fromkeys((*results, *names, *names_of(b for b in body if b is not literal))))
        return self.stated(body, outer)

    def aggregate(self) -> tuple[str, list[str], list[str]]:
        """An aggregate over what is below, its groups, and its results."""
        body = self.atoms(self.pick((1, 1, 2)), self.below)
        inner = names_of(body)
        if inner and self.one_in(5):
            body.append("NOT " + self.atom(self.below, inner))
        elif inner and self.one_in(5):
            body.append(self.condition(inner))
        on = self.random.sample(inner, min(self.pick((0, 1, 1, 1, 2)), len(inner)))
        results = ["?n", "?m"][: self.pick((1, 1, 2))]
        calls = [f"{self.call(inner)} AS {result}" for result in results]
        grouped = f" ON {' '.join(on)}" if on else ""
        return f"AGGREGATE({', '.join(body)}{grouped} {' '.join('BIND ' + call for call in calls)})", on, results

    def call(self, inner: Sequence[str]) -> str:
        if not inner or self.one_in(8):
            return "COUNT(*)"
        distinct = "DISTINCT " if self.one_in(3) else ""
        return f"{self.pick(FUNCTIONS)}({distinct}{self.pick(inner)}{' + 1' if self.one_in(8) else ''})"


class _Aggregates(_Drawing):
    """Mostly aggregates, of which several derive one predicate, beside recursion and unions."""

    def makers(self) -> Sequence[Callable[[], str]]:
        return self.aggregated, self.aggregated, self.aggregated, self.union, self.chain, self.join, self.negated


class _Structures(_Drawing):
    """Closures, components, inverses and unions; also over numbers of several types, which guards compare by value."""

    guards = 5  # one closure in so many has a guard

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        if self.one_in(4):
            self.values, self.guards = EQUAL_NUMBERS, 2

    def makers(self) -> Sequence[Callable[[], str]]:
        return (
            *(self.closure,) * 4,
            self.union,
            self.union,
            self.chain,
            self.cycle,
            self.join,
            self.negated,
            self.aggregated,
        )

    def closure(self) -> str:
        binary = [name for name, arity in self.heads if arity == 2]
        if not binary:
            return self.union()
        p, q = self.pick(binary), self.pick([name for name, arity in [*self.heads, *self.below] if arity == 2])
        guard = ", FILTER(?x != ?z)" if self.one_in(self.guards) else ""
        mirrored = ", FILTER(?x != ?y)" if self.one_in(2 * self.guards) else ""
        return self.pick(
            (
                f"{p}(?x, ?z) :- {p}(?x, ?y), {p}(?y, ?z){guard}.",
                f"{p}(?x, ?z) :- {p}(?x, ?y), {q}(?y, ?z){guard}.",
                f"{p}(?x, ?z) :- {q}(?x, ?y), {p}(?y, ?z){guard}.",
                f"{p}(?x, ?y) :- {p}(?y, ?x){mirrored}.",
                f"{p}(?x, ?y) :- {q}(?y, ?x).",
                f"{p}(?x, ?y) :- {q}(?x, ?y).",
                f"{q}(?x, ?y) :- {p}(?y, ?x)." if (q, 2) in self.heads else f"{p}(?x, ?y) :- {q}(?x, ?y).",
            )
        )


class _Triples(_Drawing):
    """Classes and properties, and variables in their places; bare predicates beside them."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.values = NODES
        self.levels = {("p0", 1): 1, ("p1", 2): 1}
        self.wild = random.sample(("type", "triple"), random.randint(1, 2))

    def _use_level(self) -> None:
        self.heads, self.below = [], []

    def question(self) -> str:
        return random_query(self.random) if self.one_in(2) else super().question()

    def _asked(self, preds: Sequence[tuple[str, int]]) -> str:
        """Also of a class and a property that only a variable can derive, or nothing."""
        one, other, third = (self.pick((*VARIABLES, *VARIABLES, *NODES)) for _ in range(3))
        kinds = (f"{self.pick((*CLASSES, ':E'))}[{one}]", f"{self.pick((*PROPERTIES, ':u'))}[{one}, {other}]")
        return self.pick((*kinds, *kinds, f"[{one}, rdf:type, {other}]", f"[{one}, {third}, {other}]", f"p0({one})"))

    def makers(self) -> Sequence[Callable[[], str]]:
        return self.join, self.join, self.wildcard, self.wildcard, self.negated, self.aggregated, self.closure

    def fact(self) -> str:
        one, other = self.pick(NODES), self.pick(NODES)
        if self.one_in(3):
            return self.pick(
                (
                    f"sub({self.pick(CLASSES)}, {self.pick(CLASSES)}).",
                    f"subp({self.pick(PROPERTIES)}, {self.pick(PROPERTIES)}).",
                )
            )
        if self.one_in(8):
            return self.pick((f"p0({one}).", f"p1({one}, {other})."))
        return f"{self.pick(CLASSES)}({one})." if self.one_in(2) else f"{self.pick(PROPERTIES)}({one}, {other})."

    def atom(self, preds: Sequence[tuple[str, int]], names: Sequence[str] = VARIABLES) -> str:
        one, other, third = (self.pick(names) if names and not self.one_in(6) else self.pick(NODES) for _ in range(3))
        kinds = [f"{self.pick(CLASSES)}[{one}]"] * 2 + [f"{self.pick(PROPERTIES)}[{one}, {other}]"] * 2
        kinds += [f"p0({one})", f"p1({one}, {other})", f"sub({one}, {other})", f"subp({one}, {other})"]
        if not preds:
            kinds += [f"[{one}, rdf:type, {other}]"] * 2 * ("type" in self.wild)
            kinds += [f"[{one}, {third}, {other}]"] * 2 * ("triple" in self.wild)
        return self.pick(kinds)

    def head(self, names: Sequence[str]) -> str:
        one, other = (self.pick(names) if names else self.pick(NODES) for _ in range(2))
        kinds = [f"{self.pick(CLASSES)}[{one}]"] * 2 + [f"{self.pick(PROPERTIES)}[{one}, {other}]"] * 2
        return self.pick([*kinds, f"p0({one})", f"p1({one}, {other})"])

    def wildcard(self) -> str:
        rules = [
            "[?x, rdf:type, ?d] :- [?x, rdf:type, ?c], sub(?c, ?d).",
            "[?x, rdf:type, ?d] :- :A[?x], p1(?x, ?d).",
            "[?x, rdf:type, :D] :- p0(?x).",
            "p0(?c) :- [?x, rdf:type, ?c].",
            "p1(?x, ?c) :- [?x, rdf:type, ?c], :r[?x, ?y].",
        ] * ("type" in self.wild)
        rules += [
            "[?x, ?q, ?y] :- [?x, ?p, ?y], subp(?p, ?q).",
            "[?y, ?p, ?x] :- [?x, ?p, ?y], p0(?p).",
            "p1(?p, ?y) :- [?x, ?p, ?y].",
            "[?x, ?p, ?z] :- [?x, ?p, ?y], [?y, ?p, ?z].",
            "p0(?x) :- [?x, ?p, ?x].",
            "[?x, :t, ?y] :- p1(?x, ?y).",
        ] * ("triple" in self.wild)
        return self.pick(rules)

    def closure(self) -> str:
        p, q = self.random.sample(PROPERTIES, 2)
        return self.pick(
            (
                f"{p}[?x, ?z] :- {p}[?x, ?y], {p}[?y, ?z].",
                f"{p}[?x, ?y] :- {q}[?y, ?x].",
                f"{p}[?x, ?y] :- {q}[?x, ?y].",
                f"{p}[?x, ?y] :- {p}[?y, ?x].",
            )
        )


def names_of(body: Any) -> list[str]:
    """The variables of literals, in order."""
    found: dict[str, None] = {}
    for literal in body:
        for word in "".join(c if c.isalnum() or c == "?" else " " for c in literal).split():
            if word.startswith("?"):
                found[word] = None
    return list(found)


# Shrinking.


def shrunk(history: History, fails: Callable[[History], bool]) -> History:
    """A smaller history that fails, too: lines and steps are left out, one by one and in halves, while it does."""
    while True:
        smaller = next((one for one in _smaller(history) if fails(one)), None)
        if smaller is None:
            return history
        history = smaller


def _smaller(history: History) -> Iterator[History]:
    for i in range(len(history.steps) - 1, 0, -1):
        yield replace(history, steps=history.steps[:i])
    for steps in _left_out(history.steps):
        yield replace(history, steps=steps)
    for rules in _left_out(history.rules):
        yield _consistent(replace(history, rules=rules))
    for facts in _left_out(history.facts):
        yield replace(history, facts=facts)
    for i, step in enumerate(history.steps):
        for add in _left_out(step.add):
            yield _consistent(_with_step(history, i, replace(step, add=add)))
        for remove in _left_out(step.remove):
            yield _consistent(_with_step(history, i, replace(step, remove=remove)))
    for questions in _left_out(history.questions):
        yield replace(history, questions=questions)
    if history.counted:
        yield replace(history, counted=False)
    if history.tuning != "defaults":
        yield replace(history, tuning="defaults")
    for name, value in history.options.items():
        simplest = {"maintenance": "auto", "schemes": "standard", "cyclic": "standard"}[name]
        if value != simplest:
            yield replace(history, options={**history.options, name: simplest})


def _left_out(lines: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    size = len(lines) // 2
    while size:
        for i in range(0, len(lines), size):
            yield lines[:i] + lines[i + size :]
        size //= 2
    if len(lines) == 1:
        yield ()


def _with_step(history: History, number: int, step: Step) -> History:
    steps = (*history.steps[:number], step, *history.steps[number + 1 :])
    return replace(history, steps=tuple(step for step in steps if step.add or step.remove))


def _consistent(history: History) -> History:
    """A history in which no rule is removed that is not there."""
    rules, steps = set(history.rules), []
    for step in history.steps:
        step = replace(step, remove=tuple(line for line in step.remove if not is_rule(line) or line in rules))
        rules = (rules | set(filter(is_rule, step.add))) - set(step.remove)
        steps.append(step)
    return replace(history, steps=tuple(step for step in steps if step.add or step.remove))


# A campaign.


class TooLong(Exception):
    """A history took longer than it may."""


MOST_SECONDS = 120


def failure(history: History) -> str | None:
    """What is wrong with a history, in one word or line; None if nothing is."""
    try:
        with _time_limit(MOST_SECONDS):
            run(history)
    except Disagreement as wrong:
        return str(wrong).splitlines()[0]
    except Exception as wrong:
        place = traceback.extract_tb(wrong.__traceback__)[-1]
        return f"{type(wrong).__name__} at {place.filename.rpartition('/')[2]}:{place.lineno}: {wrong}".splitlines()[0]
    return None


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong(f"more than {seconds} seconds")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def kind_of(failure: str) -> str:
    """What must stay the same while a history is shrunk."""
    return failure.split(":")[0].split(" ")[0]


def examined(seed: int, shrink: bool = True) -> str | None:
    """A report of a seed that fails."""
    found = history(seed)
    wrong = failure(found)
    if wrong is None:
        return None
    if shrink:
        kind = kind_of(wrong)
        found = shrunk(found, lambda one: (failure(one) or "").startswith(kind))
        wrong = failure(found)
    return f"seed {seed}: {wrong}\n{found}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Plays random histories against the naive engine.")
    parser.add_argument("--seeds", default="0:1000", help="one seed, or first:last (last not included)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print histories, and do not play them")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    if options.show:
        print("\n\n".join(str(history(seed)) for seed in seeds))
        return 0
    return _campaign(seeds, options.jobs, not options.no_shrink)


def _campaign(seeds: Sequence[int], jobs: int, shrink: bool) -> int:
    failing = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = (pool.submit(_examined_part, seeds[i : i + 50], shrink) for i in range(0, len(seeds), 50))
        for number, future in enumerate(list(futures)):
            for seed, report in future.result():
                failing.append(seed)
                print(report, flush=True)
            done = min(len(seeds), 50 * (number + 1))
            print(f"{done} of {len(seeds)} histories, {len(failing)} failing", file=sys.stderr, flush=True)
    print(f"{len(seeds)} histories, {len(failing)} failing: {failing}")
    return 1 if failing else 0


def _examined_part(seeds: Sequence[int], shrink: bool) -> list[tuple[int, str]]:
    found = ((seed, examined(seed, shrink)) for seed in seeds)
    return [(seed, report) for seed, report in found if report is not None]


if __name__ == "__main__":
    sys.exit(main())
