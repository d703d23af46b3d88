"""Random histories with an ontology that makes individuals equal, by representatives and by axioms."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from deltalog import IRI, KnowledgeBase
from tests.ontology.random_ontologies import CLASSES, INDIVIDUALS, PREFIXES, PROPERTIES, RandomOntology, turtle

EX = "http://example.org/"
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
BASE = PREFIXES.replace("@prefix", "PREFIX").replace("> .", ">")
RULES = (
    "pair(?x, ?y) :- :C0[?x], :C1[?y], ?x != ?y .",
    "count(?x, ?n) :- :C2[?x], AGGREGATE(:p0[?x, ?y] ON ?x BIND COUNT(?y) AS ?n) .",
    "total(?n) :- AGGREGATE(:p1[?x, ?y] BIND COUNT(*) AS ?n) .",
    "lonely(?x) :- :C1[?x], NOT :p0[?x, ?y] .",
    "odd(?x) :- :C3[?x], NOT bare(?x) .",
    "bare(?x) :- :C4[?x] .",
    ":C5[?x] :- bare(?x), :p1[?x, ?y] .",
    ":p2[?x, ?y] :- given(?x, ?y) .",
    "owl:sameAs[?x, ?y] :- given(?x, ?y), :C0[?x] .",
    "owl:sameAs[?x, ?y] :- :p3[?x, ?y], NOT blocked(?x) .",
    "owl:sameAs[?x, ?y] :- :p0[?x, ?z], :p1[?z, ?y], ?x != ?y .",
    "named(?x, ?s) :- :C2[?x], BIND(STR(?x) AS ?s) .",
    "made(?x, ?z) :- :C3[?x], BIND(SKOLEM(?x) AS ?z) .",
    "other(?x, ?y) :- owl:sameAs[?x, ?y], ?x != ?y .",
    ":C4[:i0] :- :C3[:i1] .",
    "both(?x, ?y, ?z) :- :p0[?x, ?y], :p1[?y, ?z] .",
)
PREDICATES = [*(EX + name[1:] for name in (*CLASSES, *PROPERTIES)), SAME_AS, "given", "blocked", "bare"]


class History:
    """One step after the other, on two knowledge bases."""

    def __init__(self, seed: int, folder: Path, **settings: Any) -> None:
        self.random, self.folder, self.files = Random(seed), folder, list[Path]()
        self.source = RandomOntology(seed, equality=True)
        self.rules = self.random.sample(RULES, self.random.randrange(4))
        program, ontology = BASE + "\n".join(self.rules), self._file(self.random.randrange(3, 9))
        self.kbs = [
            KnowledgeBase(program, ontology=ontology, equality=equality, **settings)
            for equality in ("axioms", "representatives")
        ]
        self.compare()

    def _file(self, axioms: int) -> Path:
        path = self.folder / f"{len(self.files)}.ttl"
        self.files.append(path)
        path.write_text(turtle(self.source.axioms(axioms), self.source.facts(self.random.randrange(8))))
        return path

    def compare(self) -> None:
        expected, found = ({name: set(kb.facts(name)) for name in kb.predicates} for kb in self.kbs)
        assert found == expected
        first, second = (kb.report.per_predicate for kb in self.kbs)
        assert first == second

    def step(self) -> None:
        kind = self.random.randrange(10)
        if kind < 4:
            self._both("update", add=self._facts(), remove=self._present() if kind < 2 else None)
        elif kind < 7:
            self._both("update", remove=self._present())
        elif kind == 7:
            rule = self.random.choice(RULES)
            present = rule in self.rules
            (self.rules.remove if present else self.rules.append)(rule)
            self._both("remove_rules" if present else "add_rules", BASE + rule)
        elif kind == 8 or len(self.files) < 2:
            self._both("load_ontology", self._file(self.random.randrange(1, 3)))
        else:
            self._both("remove_ontology", self.files.pop(self.random.randrange(1, len(self.files))))
        self.compare()

    def _facts(self) -> dict[str, list[tuple[IRI, ...]]]:
        found: dict[str, list[tuple[IRI, ...]]] = {}
        for _ in range(self.random.randrange(1, 4)):
            name = self.random.choice(PREDICATES)
            arity = 1 if "C" in name or name in ("blocked", "bare") else 2
            found.setdefault(name, []).append(tuple(self._individual() for _ in range(arity)))
        return found

    def _individual(self) -> IRI:
        return IRI(EX + self.random.choice(INDIVIDUALS)[1:])

    def _present(self) -> dict[str, list[tuple[Any, ...]]]:
        """Some explicit facts."""
        kb, found = self.kbs[0], dict[str, list[tuple[Any, ...]]]()
        from deltalog.model.facts import rows

        given = [
            (pred.name, row)
            for pred, table in sorted(kb._explicit.items())
            for row in sorted(rows(table, pred.arity, kb._backend), key=repr)
        ]
        for name, row in self.random.sample(given, min(len(given), self.random.randrange(1, 4))):
            found.setdefault(name, []).append(row)
        return found

    def _both(self, method: str, *given: Any, **named: Any) -> None:
        outcomes = []
        for kb in self.kbs:
            change = getattr(kb, method)(*given, **named)
            outcomes.append([_sets(change.added), _sets(change.removed)])
        assert outcomes[0] == outcomes[1]


def _sets(difference: Any) -> dict[str, set[Any]]:
    return {name: set(rows) for name, rows in difference.items() if len(rows)}
