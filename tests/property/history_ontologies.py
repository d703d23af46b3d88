"""Histories with ontologies: equality with rules of the user, nested aggregates, PER, SPARQL updates, wild cards.

`history(seed)` draws one, `run(history)` plays it against `judge`, which shares nothing with the engine. Facts are
those of the user and of the ontology files that are loaded: what both state stays until both have gone.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from deltalog import IRI, KnowledgeBase, ProgramError, UsageError
from deltalog.core.tuning import Tuning
from tests.property import judge
from tests.property.engine_facts import (
    by_key,
    difference,
    everything,
    large,
    large_facts,
    large_name,
    new_value,
    predicate,
    small_rows,
    typed,
)
from tests.property.history_model import TUNINGS
from tests.property.small_language import (
    PREFIX,
    TYPE,
    Aggregate,
    Atom,
    Bind,
    Call,
    Compare,
    Fact,
    New,
    Not,
    Op,
    Row,
    Rule,
    Spelling,
    _body,
    bound,
    write_rule,
)

METHODS = ("auto", "magic", "qsqr", "materialised")
BASE, MORE = "base.ttl", "more.ttl"
GRAPH = "http://e.x/graph"
HIDDEN_NAME = re.compile(r"(?<![\w-])#")  # and not the end of a namespace
SAME = judge.SAME
CLASSES, PROPERTIES = (":A", ":B", ":C"), (":r", ":s", ":t")
NODES = (":a", ":b", ":c", ":d")
AXIOMS_OF_PROPERTIES = (
    "owl:SymmetricProperty",
    "owl:TransitiveProperty",
    "owl:FunctionalProperty",
    "owl:FunctionalProperty",
    "owl:InverseFunctionalProperty",
)


class Disagreement(AssertionError):
    """A history that went wrong, with a script that plays it."""


@dataclass(frozen=True)
class Step:
    """One call. `update`, `insert` (INSERT DATA), `delete` (DELETE DATA): facts; `add_rules`, `remove_rules`: rules;
    `load`, `unload`: the second ontology file; `modify`: atoms that are deleted and inserted for all solutions of
    `where`; `graph`: facts of a named graph; `clear`: that graph; `reopen`: it is saved as a store, and opened."""

    kind: str
    add: tuple[Any, ...] = ()
    remove: tuple[Any, ...] = ()
    where: tuple[Any, ...] = ()


@dataclass(frozen=True)
class OntologyHistory:
    options: Mapping[str, str]
    tuning: str
    files: Mapping[str, tuple[Row, ...]]  # triples; none: no ontology at all
    rules: tuple[Rule, ...]
    facts: tuple[Fact, ...]
    steps: tuple[Step, ...] = ()
    goals: tuple[tuple[Any, ...], ...] = ()
    asked_first: bool = False  # goals come before the materialisation
    explained: bool = False
    foreseen: bool = False  # by what_if, and read in a frozen copy afterwards
    both_loaded: bool = False  # the second ontology file is there from the beginning
    seed: int = field(default=-1, compare=False)

    def __str__(self) -> str:
        """A script that plays the history (but for its tuning)."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        second = f", folder / {MORE!r}" if self.both_loaded else ""
        ontology = f", ontology=[folder / {BASE!r}{second}]" if self.files else ""
        program = PREFIX + "\n".join(map(write_rule, self.rules))
        lines = [
            f"# seed {self.seed}, tuning {self.tuning!r}",
            "import tempfile",
            "from pathlib import Path",
            "from deltalog import IRI, KnowledgeBase",
            "folder = Path(tempfile.mkdtemp())",
            *(f'(folder / {name!r}).write_text("""{turtle(triples)}""")' for name, triples in self.files.items()),
            f'kb = KnowledgeBase("""{program}"""{ontology}{options})',
            *(f"kb.add({name!r}, {rows})" for name, rows in large_facts(self.facts).items()),
            *([] if self.asked_first else ["kb.materialise()"]),
            *map(_called, self.steps),
            *(f"# asked: {goal_text(goal)}" for goal in self.goals),
        ]
        return "\n".join(lines)


def _called(step: Step) -> str:
    if step.kind == "update":
        return f"kb.update(add={large_facts(step.add)}, remove={large_facts(step.remove)})"
    if step.kind == "graph":
        return f"kb.update(add={large_facts(step.add)}, remove={large_facts(step.remove)}, graph=IRI({GRAPH!r}))"
    if step.kind == "reopen":
        return "kb.save(folder / 'store'); kb.close(); kb = KnowledgeBase.open(folder / 'store')"
    if step.kind in ("insert", "delete", "modify", "clear"):
        return f'kb.sparql_update("""{request(step)}""")'
    if step.kind in ("load", "unload"):
        return f"kb.{'load' if step.kind == 'load' else 'remove'}_ontology(folder / {MORE!r})"
    return f'kb.{step.kind}("""{rules_text(step.add or step.remove)}""")'


def rules_text(rules: Sequence[Rule]) -> str:
    return PREFIX + "\n".join(map(write_rule, rules))


def turtle(triples: Sequence[Row]) -> str:
    prefixes = "".join(
        f"@prefix {short} <{large_name(short + 'x')[:-1]}> .\n" for short in (":", "owl:", "rdf:", "rdfs:")
    )
    return prefixes + "".join(f"{s} {p} {o} .\n" for s, p, o in triples)


def request(step: Step) -> str:
    prefixes = "".join(f"PREFIX {short} <{large_name(short + 'x')[:-1]}> " for short in (":", "owl:", "rdfs:"))
    if step.kind == "clear":
        return f"CLEAR GRAPH <{GRAPH}>"
    if step.kind == "modify":
        parts = {"DELETE": step.remove, "INSERT": step.add, "WHERE": step.where}
        written = (f"{word} {_group(map(tuple, atoms))}" for word, atoms in parts.items() if atoms)
        return prefixes + " ".join(written)
    verb, facts = ("INSERT", step.add) if step.kind == "insert" else ("DELETE", step.remove)
    return f"{prefixes}{verb} DATA {_group(facts)}"


def _group(facts: Iterable[Fact]) -> str:
    return f"{{ {' . '.join(map(_triple, facts))} }}"


def _triple(fact: Fact) -> str:
    name, row = fact
    return f"{row[0]} a {name}" if len(row) == 1 else f"{row[0]} {name} {row[1]}"


def goal_text(goal: Sequence[Any]) -> str:
    return _body(goal, Spelling())


# Drawing.


def history(seed: int, length: int = 3) -> OntologyHistory:
    return _Drawn(Random(seed), seed).history(length)


class _Drawn:
    def __init__(self, random: Random, seed: int) -> None:
        self.random, self.seed = random, seed
        self.wild = self.one_in(7)
        self.has_ontology = not self.one_in(5 if not self.wild else 2)
        self.both_loaded = self.has_ontology and self.one_in(2)
        self.nodes = (":a", ":b", ":r", ":A") if self.wild else NODES[: self.pick((3, 4, 4))]
        # Predicates that no fact has: only rules and axioms derive them.
        self.only_derived = set(self.random.sample((*CLASSES, *PROPERTIES), 2))

    def pick(self, things: Sequence[Any]) -> Any:
        return self.random.choice(things)

    def one_in(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def history(self, length: int) -> OntologyHistory:
        options = {"equality": "axioms"} if self.has_ontology and self.one_in(4) else {}
        options |= {"maintenance": self.pick(("auto", "dred", "bf", "counting"))} if self.one_in(3) else {}
        options |= {"schemes": self.pick(("standard", "scheme", "module"))} if self.one_in(3) else {}
        tuning = self.pick(sorted(TUNINGS)) if self.one_in(2) else "defaults"
        self.files = {BASE: self.triples(3), MORE: self.triples(3)} if self.has_ontology else {}
        self.rules = self.stratified([self.rule() for _ in range(self.pick((1, 2, 3, 4)))])
        self.facts = list(dict.fromkeys(self.fact() for _ in range(self.pick((3, 5, 8)))))
        self.in_graph: list[Fact] = []
        rules, facts, self.loaded = tuple(self.rules), tuple(self.facts), self.both_loaded
        steps = tuple(self.step() for _ in range(self.pick((0, 1, 2, length))))
        return OntologyHistory(
            options,
            tuning,
            self.files,
            rules,
            facts,
            steps,
            tuple(self.goal() for _ in range(self.pick((0, 0, 1)))),
            asked_first=self.one_in(2),
            explained=self.one_in(3),
            foreseen=self.one_in(3),
            both_loaded=self.both_loaded,
            seed=self.seed,
        )

    def stratified(self, rules: Sequence[Rule]) -> list[Rule]:
        kept: list[Rule] = []
        axioms = judge.rules_of_axioms(row for rows in self.files.values() for row in rows)
        for rule in rules:
            if rule not in kept and judge.is_stratified([*kept, rule, *axioms], self.has_ontology):
                kept.append(rule)
        return kept

    # Facts and axioms.

    def node(self) -> str:
        return self.pick(self.nodes)  # type: ignore[no-any-return]

    def given(self, names: Sequence[str]) -> str:
        return self.pick([name for name in names if name not in self.only_derived] or names)  # type: ignore[no-any-return]

    def fact(self) -> Fact:
        kinds = [
            ("alias", (self.node(), self.node())),
            ("given", (self.node(), self.node())),
            (self.given(CLASSES), (self.node(),)),
            (self.given(PROPERTIES), (self.node(), self.node())),
            (self.given(PROPERTIES), (self.node(), self.node())),
        ]
        if not self.wild:
            weight = self.pick((1, 2, 3))
            kinds += [("edge", (self.node(), self.node(), weight)), (":v", (self.node(), weight))]
        elif self.one_in(3):
            return "flip", (self.pick((*PROPERTIES, *CLASSES, ":a")),)
        if self.has_ontology and self.one_in(6):
            kinds = [(SAME, (self.node(), self.node()))]
        return self.pick(kinds)  # type: ignore[no-any-return]

    def axiom(self) -> Row:
        (c, d), (p, q) = self.random.sample(CLASSES, 2), self.random.sample(PROPERTIES, 2)
        return self.pick(  # type: ignore[no-any-return]
            (
                (c, "rdfs:subClassOf", d),
                (p, "rdfs:subPropertyOf", q),
                (p, "rdfs:domain", c),
                (p, "rdfs:range", c),
                (p, "owl:inverseOf", q),
                (c, "owl:equivalentClass", d),
                (p, TYPE, self.pick(AXIOMS_OF_PROPERTIES)),
                (p, TYPE, self.pick(AXIOMS_OF_PROPERTIES)),
            )
        )

    def triples(self, most: int) -> tuple[Row, ...]:
        """Of an ontology file: axioms, and facts."""
        found = [self.axiom() for _ in range(self.random.randint(0, most))]
        if self.one_in(2):
            found.append((self.node(), TYPE, self.pick(CLASSES)))
        if self.one_in(2):
            found.append((self.node(), self.pick((*PROPERTIES, SAME)), self.node()))
        return tuple(dict.fromkeys(found))

    # Rules.

    def rule(self) -> Rule:
        makers = [self.equal, self.derived, self.derived, self.join, self.negated, self.aggregated, self.per]
        makers += [self.inventing] * 2
        if self.wild:
            return self.pick((self.wildcard, self.wildcard, self.join, self.derived))()  # type: ignore[no-any-return]
        return self.pick((*makers, self.nested, self.nested))()  # type: ignore[no-any-return]

    def equal(self) -> Rule:
        x, y, n = "?x", "?y", "?n"
        body = self.pick(
            (
                (Atom("alias", (x, y)),),
                (Atom("alias", (y, x)), Atom(self.pick(CLASSES), (x,))),
                (Atom(":v", (x, n)), Atom(":v", (y, n))),
                (Atom(self.pick(PROPERTIES), (x, y)), Atom("alias", (x, n))),
                (Atom("edge", (x, y, n)), Compare(">", n, 2)),
            )
        )
        return Rule((Atom(SAME, (x, y)),), body)

    def head(self, names: Sequence[str]) -> Atom:
        x, y = (self.pick(names) for _ in range(2))
        kinds = [Atom(self.pick(CLASSES), (x,)), Atom(self.pick(PROPERTIES), (x, y))]
        kinds += [Atom(self.pick(PROPERTIES), tuple(self.random.sample(names, 2)))] * 2 if len(names) > 1 else []
        return self.pick((*kinds, Atom("p", (x,)), Atom("q", (x, y))))  # type: ignore[no-any-return]

    def atom(self, names: Sequence[str] = ("?x", "?y", "?z")) -> Atom:
        x, y = (self.pick(names) if not self.one_in(7) else self.node() for _ in range(2))
        kinds = [Atom("given", (x, y)), Atom("p", (x,)), Atom("q", (x, y)), Atom(self.pick(CLASSES), (x,))]
        kinds += [Atom(self.pick(PROPERTIES), (x, y))] * 3
        return self.pick(kinds)  # type: ignore[no-any-return]

    def derived(self) -> Rule:
        """A class or property that perhaps nothing else derives."""
        name = self.pick(sorted(self.only_derived))
        body = (self.pick((Atom("given", ("?x", "?y")), self.atom(("?x", "?y")))),)
        names = bound(body)
        if not names:
            return self.derived()
        terms = (names[0],) if name in CLASSES else (names[-1], names[0])
        return Rule((Atom(name, terms),), body)

    def join(self) -> Rule:
        body = tuple(self.atom() for _ in range(self.pick((1, 2, 2, 3))))
        if not bound(body):
            return self.join()
        return Rule((self.head(bound(body)),), body)

    def negated(self) -> Rule:
        body = (self.atom(), self.pick((self.atom(), Atom("given", ("?x", "?y")))))
        names = bound(body)
        if not names:
            return self.negated()
        inner = (self.atom([*names, "?e"]),)
        if self.one_in(3):
            inner = (*inner, self.atom([*bound(inner), *names]))
        return Rule((self.pick((Atom("lone", (names[0],)), self.head(names))),), (*body, Not(inner)))

    def measured(self) -> tuple[Any, str, str]:
        """An atom with a number, who has it, and the number."""
        x, n = "?x", "?w"
        return self.pick(  # type: ignore[no-any-return]
            ((Atom("edge", (x, "?y", n)), x, n), (Atom("edge", ("?y", x, n)), x, n), (Atom(":v", (x, n)), x, n))
        )

    def aggregate(self, functions: Sequence[str] = ("SUM", "MIN", "MAX", "COUNT")) -> Aggregate:
        if self.one_in(2) or "AVG" in functions:
            atom, x, n = self.measured()
            call = Call(self.pick(functions), n, "?n", self.one_in(3))
            return Aggregate((atom,), (x,) if not self.one_in(4) else (), (call,))
        atom = Atom(self.pick(PROPERTIES), ("?x", "?y"))
        call = Call("COUNT", self.pick(("?y", None)), "?n", False)
        return Aggregate((atom,), ("?x",) if not self.one_in(4) else (), (call,))

    def aggregated(self) -> Rule:
        if self.one_in(4):
            return self.averaged()
        inner = self.aggregate()
        return Rule((Atom("n1" if not inner.on else "n2", (*inner.on, "?n")),), (inner,))

    def averaged(self) -> Rule:
        """Means and medians; each has a predicate of its own, as 1 and 1.0 are one value in the judge's sets."""
        inner = self.aggregate(("AVG", "MED"))
        atom, call = inner.body[0], inner.calls[0]
        places = "".join(str(term)[1:] for term in atom.terms)
        name = f"{call.function}_{call.distinct}_{str(atom.name).strip(':')}_{places}".lower()
        return Rule((Atom(name, (*inner.on, "?n")),), (inner,))

    def nested(self) -> Rule:
        """An aggregate of an aggregate; now and then the outer one has groups, or atoms beside the inner one."""
        inner = self.aggregate()
        beside: tuple[Any, ...] = ()
        if inner.on and self.one_in(2):
            beside = (self.pick((Atom(self.pick(PROPERTIES), ("?x", "?g")), Atom("given", ("?g", "?x")))),)
        on = ("?g",) if beside and self.one_in(2) else ("?x",) if inner.on and self.one_in(3) else ()
        function = self.pick(("SUM", "MAX", "MIN", "COUNT"))
        outer = Aggregate((*beside, inner), on, (Call(function, "?n", "?m"),))
        if self.one_in(4):
            outer = Aggregate((outer,), (), (Call("SUM", "?m", "?k"),))
            return Rule((Atom("m1", ("?k",)),), (outer,))
        return Rule((Atom("m1" if not on else "m2", (*on, "?m")),), (outer,))

    def per(self) -> Rule:
        x = "?x"
        outside = self.pick((Atom(self.pick(CLASSES), (x,)), Atom("given", (x, "?z")), Atom("p", (x,))))
        inner = self.pick(
            (
                (Atom(self.pick(PROPERTIES), (x, "?y")),),
                (Atom("given", ("?y", x)), Compare("!=", "?y", x)),
                (Atom("edge", (x, "?y", "?w")),),
            )
        )
        call = Call("SUM", "?w", "?n") if len(inner) == 1 and inner[0].name == "edge" else Call("COUNT", "?y", "?n")
        more = (Bind(Op("+", "?n", 1), "?k"),) if self.one_in(4) else ()
        return Rule(
            (Atom("size", (x, "?k" if more else "?n")),), (outside, Aggregate(inner, (x,), (call,), True), *more)
        )

    def inventing(self) -> Rule:
        """One or two heads with a new value."""
        x, y, n = "?x", "?y", "?new"
        body = self.pick(
            ((Atom(self.pick(CLASSES), (x,)),), (self.atom((x, y)),), (self.atom((x, y)), self.atom((x, y))))
        )
        names = bound(body)
        if not names:
            return self.inventing()
        if self.one_in(4):
            body = (*body, Not((self.atom(names),)))
        head = Atom(self.pick((*PROPERTIES, "given", "q")), tuple(self.random.sample((names[0], n), 2)))
        more = (Atom(self.pick((*CLASSES, "p")), (n,)),) if self.one_in(3) else ()
        shared = tuple(term for term in head.terms if term != n)
        return Rule((head, *more), (*body, Bind(New(self.pick("abc"), shared), n)))

    def wildcard(self) -> Rule:
        x, y, z, p = "?x", "?y", "?z", "?p"
        return self.pick(  # type: ignore[no-any-return]
            (
                Rule((Atom(None, (y, p, x)),), (Atom(None, (x, p, y)), Atom("flip", (p,)))),
                Rule((Atom(None, (y, p, x)),), (Atom(None, (x, p, y)),)),
                Rule((Atom(None, (z, y, x)),), (Atom(None, (x, y, z)),)),
                Rule((Atom("p", (p,)),), (Atom(None, (x, p, y)),)),
                Rule((Atom("q", (x, y)),), (Atom(None, (x, TYPE, y)),)),
                Rule((Atom(None, (x, TYPE, y)),), (Atom("given", (x, y)),)),
                Rule((Atom(None, (x, ":t", y)),), (Atom(None, (x, p, y)), Atom("flip", (p,)))),
            )
        )

    def goal(self) -> tuple[Any, ...]:
        heads = [head for rule in self.rules for head in rule.heads if head.name is not None]
        atoms = [self.atom(("?x", "?y"))]
        if heads and not self.one_in(4):
            head = self.pick(heads)
            atoms = [
                head._replace(terms=tuple(t if self.one_in(2) else self.pick(("?x", "?y", "?u")) for t in head.terms))
            ]
        elif self.one_in(3):
            atoms.append(self.atom(("?x", "?y")))
        return tuple(atoms)

    # Changes.

    def step(self) -> Step:
        kinds = ["update", "update", "add_rules", "remove_rules", "modify", "graph", "clear", "reopen"]
        kinds += ["insert", "insert", "delete", "load", "load"] * self.has_ontology
        return getattr(self, f"_{self.pick(kinds)}")()  # type: ignore[no-any-return]

    def _update(self) -> Step:
        add = [self.new_fact() for _ in range(self.pick((0, 1, 2)))]
        remove = self.some_facts(self.pick((0, 1, 2)))
        return self._changed("update", add, [fact for fact in remove if fact not in add])

    def _insert(self) -> Step:
        return self._changed("insert", [self.new_triple() for _ in range(self.pick((1, 1, 2)))], [])

    def _delete(self) -> Step:
        found = [fact for fact in self.some_facts(3) if ":" in fact[0]]
        stated = [self.as_fact(row) for rows in self.files.values() for row in rows]
        if stated and self.one_in(3):
            found.append(self.pick(stated))
        return self._changed("delete", [], found) if found else self._insert()

    def _load(self) -> Step:
        self.loaded = not self.loaded
        return Step("load" if self.loaded else "unload")

    def _modify(self) -> Step:
        """DELETE and INSERT of patterns."""
        where = tuple(self.triple_atom() for _ in range(self.pick((1, 1, 2))))
        names = bound(where)
        if not names:
            return self._modify()
        add, remove = (tuple(self.triple_atom(names) for _ in range(self.pick((0, 1)))) for _ in range(2))
        return Step("modify", add, remove, where) if add or remove else self._modify()

    def triple_atom(self, names: Sequence[str] = ("?x", "?y")) -> Atom:
        atom = self.atom(names)
        return atom if ":" in str(atom.name) else self.triple_atom(names)

    def _graph(self) -> Step:
        """Facts of a named graph; some of them elsewhere, too."""
        facts = [fact for fact in (self.fact(), self.fact(), *self.facts) if ":" in fact[0] and len(fact[1]) < 3]
        add = self.random.sample(facts, min(len(facts), self.pick((1, 2))))
        remove = [fact for fact in self.in_graph if fact not in add and self.one_in(2)]
        self.in_graph = [fact for fact in (*self.in_graph, *add) if fact not in remove]
        return Step("graph", tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove)))

    def _clear(self) -> Step:
        return Step("clear") if self.in_graph else self._graph()

    def _reopen(self) -> Step:
        return Step("reopen")

    def _add_rules(self) -> Step:
        rules = [rule for rule in (self.rule() for _ in range(self.pick((1, 1, 2)))) if rule not in self.rules]
        if not rules:
            return self._update()
        self.rules += dict.fromkeys(rules)
        return Step("add_rules", tuple(dict.fromkeys(rules)))

    def _remove_rules(self) -> Step:
        if not self.rules:
            return self._update()
        rule = self.pick(self.rules)
        self.rules.remove(rule)
        return Step("remove_rules", remove=(rule,))

    def _changed(self, kind: str, add: Sequence[Fact], remove: Sequence[Fact]) -> Step:
        self.facts = list(dict.fromkeys([fact for fact in self.facts if fact not in remove] + list(add)))
        return Step(kind, tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove)))

    def some_facts(self, most: int) -> list[Fact]:
        """Facts of the user; now and then axioms of a file."""
        stated = [self.as_fact(row) for rows in self.files.values() for row in rows if self.is_axiom(row)]
        facts = [*self.facts, *(stated if self.one_in(3) else ())]
        return self.random.sample(facts, min(most, len(facts)))

    def new_fact(self) -> Fact:
        return self.fact() if not self.has_ontology or not self.one_in(4) else self.new_triple()

    def new_triple(self) -> Fact:
        """A triple: often one that a file states, now and then an axiom."""
        if self.files.get(MORE) and self.one_in(2):
            return self.as_fact(self.pick(self.files[MORE]))
        if self.one_in(3):
            return self.as_fact(self.axiom())
        fact = self.fact()
        return fact if ":" in fact[0] else self.new_triple()

    @staticmethod
    def is_axiom(row: Row) -> bool:
        return bool(judge.rules_of_axioms([row]))

    @staticmethod
    def as_fact(row: Row) -> Fact:
        s, p, o = row
        return (str(o), (s,)) if p == TYPE else (str(p), (s, o))


# Playing.


def run(history: OntologyHistory) -> None:
    """Plays a history; a Disagreement, or whatever else is raised, if something is wrong."""
    folder = Path(tempfile.mkdtemp())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _Player(history, folder).play()
    finally:
        shutil.rmtree(folder)


class _Player:
    """A knowledge base, and beside it what it should have."""

    def __init__(self, history: OntologyHistory, folder: Path) -> None:
        self.history, self.folder = history, folder
        self.rules, self.facts, self.in_graph = list(history.rules), list(history.facts), list[Fact]()
        self.without: set[tuple[str, Row]] = set()  # axioms of files that were removed
        self.files = [BASE, *([MORE] if history.both_loaded else [])] if history.files else []
        for name, triples in history.files.items():
            (folder / name).write_text(turtle(triples))
        options: dict[str, Any] = {**history.options, "tuning": Tuning(**TUNINGS[history.tuning])}  # type: ignore[arg-type]
        if history.files:
            options["ontology"] = [folder / name for name in self.files]
        self.kb = KnowledgeBase(rules_text(self.rules), **options)
        for name, rows in large_facts(self.facts).items():
            self.kb.add(name, rows)

    def expected(self) -> judge.Facts:
        """All facts by the judge."""
        rules, facts = self.program()
        return judge.consequences(rules, facts, bool(self.history.files), new_value)

    def program(self) -> tuple[list[Rule], list[Fact]]:
        """The rules and facts of the moment, those of ontologies among them."""
        stated = [row for file in self.files for row in self.history.files[file] if (file, row) not in self.without]
        facts = [*self.facts, *self.in_graph, *(_Drawn.as_fact(row) for row in stated if not _Drawn.is_axiom(row))]
        axioms = [row for row in stated if _Drawn.is_axiom(row)]
        if self.history.files:
            axioms += [row for row in map(_as_triple, self.facts) if row is not None]
        return [*self.rules, *judge.rules_of_axioms(dict.fromkeys(axioms))], facts

    def play(self) -> None:
        with suppress(judge.Endless):  # up to there everything was right
            self.play_all()

    def play_all(self) -> None:
        expected = self.expected()
        if self.history.asked_first:
            self.ask("before the materialisation", expected, METHODS[:-1])
        else:
            self.kb.materialise()
        listed = everything(self.kb)  # a loop over the predicates that are known before the materialisation
        self.same("facts", listed, {key: rows for key, rows in expected.items() if key in listed})
        self.same("facts", everything(self.kb), expected)
        for number, step in enumerate(self.history.steps):
            before = expected
            self.follow(step, before)
            try:
                expected = self.expected()
            except judge.Unstratified:
                self.refused(step, number, before)
                return
            frozen = self.kb.frozen() if self.history.foreseen else None
            try:
                self.foresee(step, expected, before)
                change = self.call(step)
            except ProgramError:
                if judge.is_stratified(self.program()[0], equality=bool(self.history.files)):
                    raise
                self.same(f"step {number}, refused", everything(self.kb), before)
                return
            where = f"step {number} ({step.kind})"
            self.same(where, everything(self.kb), expected)
            if frozen is not None:
                self.same(f"{where}, frozen before", everything(frozen), before)
            if change is None:
                continue
            self.same(f"{where}, added", by_key(change.added), difference(expected, before))
            self.same(f"{where}, removed", by_key(change.removed), difference(before, expected))
        self.ask("at the end", expected, METHODS)
        if self.history.explained:
            self.explain(expected)

    def foresee(self, step: Step, expected: judge.Facts, before: judge.Facts) -> None:
        """What a change would do, and that it is not done."""
        if not self.history.foreseen or step.kind not in ("update", "add_rules", "remove_rules"):
            return
        if step.kind == "update":
            change = self.kb.what_if(large_facts(step.add), large_facts(step.remove))
        else:
            change = self.kb.what_if(**{step.kind: rules_text(step.add or step.remove)})
        self.same("what_if, added", by_key(change.added), difference(expected, before))
        self.same("what_if, removed", by_key(change.removed), difference(before, expected))
        self.same("after what_if", everything(self.kb), before)

    def follow(self, step: Step, facts: judge.Facts) -> None:
        if step.kind in ("update", "delete"):
            removed = {row for row in map(_as_triple, step.remove) if row is not None}
            self.without |= {(file, row) for file in self.files for row in removed}
            self.in_graph = [fact for fact in self.in_graph if fact not in step.remove]
        if step.kind == "load":
            self.files.append(MORE)
            self.without = {(file, row) for file, row in self.without if file != MORE}
        elif step.kind == "modify":
            self.modify(step, facts)
        elif step.kind in ("graph", "clear"):
            removed_facts = step.remove if step.kind == "graph" else self.in_graph
            self.in_graph = list(dict.fromkeys([f for f in self.in_graph if f not in removed_facts] + list(step.add)))
        elif step.kind == "reopen":
            pass
        elif step.kind == "unload":
            self.files.remove(MORE)
        elif step.kind in ("add_rules", "remove_rules"):
            self.rules = [*(rule for rule in self.rules if rule not in step.remove), *step.add]
        else:
            self.facts = list(dict.fromkeys([*(fact for fact in self.facts if fact not in step.remove), *step.add]))

    def modify(self, step: Step, facts: judge.Facts) -> None:
        """DELETE, INSERT, WHERE."""
        found = [dict(zip(bound(step.where), row, strict=True)) for row in judge.answers(step.where, facts)]
        removed, added = (
            {
                (str(atom.name), row)
                for atom in atoms
                for one in found
                if judge.is_iri((row := tuple(one.get(term, term) for term in atom.terms))[0])
            }
            for atoms in (step.remove, step.add)
        )
        self.in_graph = [fact for fact in self.in_graph if fact not in removed]
        self.facts = list(dict.fromkeys([*(fact for fact in self.facts if fact not in removed), *sorted(added)]))

    def reopen(self) -> None:
        store = self.folder / "store"
        if self.kb.version is None:
            self.kb.save(store)
        self.kb.close()
        self.kb = KnowledgeBase.open(store, tuning=Tuning(**TUNINGS[self.history.tuning]))  # type: ignore[arg-type]

    def call(self, step: Step) -> Any:
        match step.kind:
            case "reopen":
                return self.reopen()
            case "graph":
                return self.kb.update(large_facts(step.add), large_facts(step.remove), graph=IRI(GRAPH))
            case "update":
                return self.kb.update(large_facts(step.add), large_facts(step.remove))
            case "insert" | "delete" | "modify" | "clear":
                return self.kb.sparql_update(request(step))
            case "load":
                return self.kb.load_ontology(self.folder / MORE)
            case "unload":
                return self.kb.remove_ontology(self.folder / MORE)
            case "add_rules":
                return self.kb.add_rules(rules_text(step.add))
        return self.kb.remove_rules(rules_text(step.remove))

    def refused(self, step: Step, number: int, before: judge.Facts) -> None:
        try:
            self.call(step)
        except ProgramError:
            self.same(f"step {number}, refused", everything(self.kb), before)
        else:
            raise self.wrong(f"step {number} was not refused")

    def ask(self, where: str, facts: judge.Facts, methods: Sequence[str]) -> None:
        for goal in self.history.goals:
            right = judge.answers(goal, facts)
            found = {method: self.answers(goal, method) for method in methods}
            if any(one != right and not (one is None and not right) for one in found.values()):
                raise self.wrong(f"answers {where}, {goal_text(goal)}: {found} and not {right}")

    def answers(self, goal: Sequence[Any], method: str) -> Any:
        try:
            return small_rows(self.kb.query(goal_text(goal), method=method))
        except UsageError as refused:
            if "there is no predicate" not in str(refused):
                raise
            return None

    def explain(self, facts: judge.Facts) -> None:
        """One fact of each predicate is explained, in words that a user knows."""
        for (name, arity), rows in sorted(facts.items()):
            row = min(rows, key=str)
            found = self.kb.explain(predicate(name, arity), tuple(map(large, row)))
            if not found.holds or HIDDEN_NAME.search(found.text()):
                raise self.wrong(f"explanation of {name}{row}: {found.text()}")

    def same(self, where: str, found: judge.Facts, expected: judge.Facts) -> None:
        if typed(found) != typed(expected):
            surplus, missing = difference(found, expected), difference(expected, found)
            raise self.wrong(f"{where}: not expected {surplus}, missing {missing}")

    def wrong(self, what: str) -> Disagreement:
        return Disagreement(f"{what}\n{self.history}")


def _triple_of(fact: Fact) -> Row:
    name, row = fact
    return (row[0], TYPE, name) if len(row) == 1 else (row[0], name, *row[1:])


def _as_triple(fact: Fact) -> Row | None:
    triple = _triple_of(fact)
    return triple if len(triple) == 3 and _Drawn.is_axiom(triple) else None


# Smaller ones.


def smaller(history: OntologyHistory) -> Iterator[OntologyHistory]:
    for i in range(len(history.steps) - 1, -1, -1):
        yield from _consistent(replace(history, steps=history.steps[:i] + history.steps[i + 1 :]))
    for i in range(len(history.rules)):
        yield from _consistent(replace(history, rules=history.rules[:i] + history.rules[i + 1 :]))
    for i in range(len(history.facts)):
        yield replace(history, facts=history.facts[:i] + history.facts[i + 1 :])
    for i, step in enumerate(history.steps):
        for name in ("add", "remove"):
            lines = getattr(step, name)
            for j in range(len(lines)) if len(lines) > 1 else ():
                less = replace(step, **{name: lines[:j] + lines[j + 1 :]})
                yield from _consistent(replace(history, steps=(*history.steps[:i], less, *history.steps[i + 1 :])))
    for name, triples in history.files.items():
        for i in range(len(triples)):
            yield replace(history, files={**history.files, name: triples[:i] + triples[i + 1 :]})
    for i in range(len(history.goals)):
        yield replace(history, goals=history.goals[:i] + history.goals[i + 1 :])
    for name in history.options:
        yield replace(history, options={k: v for k, v in history.options.items() if k != name})
    if history.tuning != "defaults":
        yield replace(history, tuning="defaults")
    for flag in ("explained", "asked_first", "foreseen"):
        if getattr(history, flag):
            yield replace(history, **{flag: False})
    for i, rule in enumerate(history.rules):
        for body in (rule.body[:j] + rule.body[j + 1 :] for j in range(len(rule.body)) if len(rule.body) > 1):
            if {t for head in rule.heads for t in head.terms if str(t).startswith("?")} <= set(bound(body)):
                yield from _consistent(
                    replace(history, rules=(*history.rules[:i], Rule(rule.heads, body), *history.rules[i + 1 :]))
                )


def _consistent(history: OntologyHistory) -> Iterator[OntologyHistory]:
    """The history, if it removes no rule and no file that is not there."""
    rules, loaded = set(history.rules), history.both_loaded
    for step in history.steps:
        wrong_file = step.kind in ("load", "unload") and loaded == (step.kind == "load")
        if wrong_file or (step.kind == "remove_rules" and not rules.issuperset(step.remove)):
            return
        loaded = step.kind == "load" or (loaded and step.kind != "unload")
        if step.kind in ("add_rules", "remove_rules"):
            rules = (rules - set(step.remove)) | set(step.add)
    yield history


def shrunk(history: OntologyHistory, fails: Callable[[OntologyHistory], bool]) -> OntologyHistory:
    while True:
        less = next((one for one in smaller(history) if fails(one)), None)
        if less is None:
            return history
        history = less
