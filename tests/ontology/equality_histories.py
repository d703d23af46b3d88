"""Random histories of facts, rules and ontologies that make individuals equal: by representatives, by axioms, and by a
judge of the definition (`equality_judge`).

    python -m tests.ontology.equality_histories --count 1000 --seed 0
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from deltalog import IRI, KnowledgeBase
from deltalog.extensions.ontology.load import OntologyFile, read_document
from deltalog.knowledge_base.calls import session_of
from tests.ontology.equality_judge import judged
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
    # Equality and properties that only rules derive, or know.
    "owl:sameAs[?x, ?y] :- given(?x, ?y) .",
    ":likes[?x, ?y] :- given(?y, ?x) .",
    ":Liked[?y], :likedBy[?y, ?x] :- :likes[?x, ?y] .",
    "liked(?x, ?n) :- :C0[?x], AGGREGATE(:likes[?x, ?y] ON ?x BIND COUNT(?y) AS ?n) .",
    "owl:differentFrom[?x, ?y] :- :likes[?x, ?y] .",
    "owl:Nothing[?x] :- :Liked[?x], blocked(?x) .",
    "[?x, ?p, ?y] :- said(?x, ?p, ?y) .",
    "[?x, rdf:type, ?c] :- typed(?x, ?c) .",
    "about(?x, ?p) :- [?x, ?p, ?y], given(?x, ?z) .",
    ":between(?x, ?y, ?z) :- :p0[?x, ?y], :p1[?y, ?z] .",
)
SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
PREDICATES = [
    *(EX + name[1:] for name in (*CLASSES, *PROPERTIES)),
    SAME_AS,
    "given",
    "blocked",
    "bare",
    "given",
    "said",
]
SAID = tuple(map(IRI, (EX + "p0", EX + "unheard", SAME_AS, "http://www.w3.org/2000/01/rdf-schema#seeAlso")))
TYPED = tuple(map(IRI, (EX + "C1", EX + "Unheard", "http://www.w3.org/2002/07/owl#Nothing")))
Facts = dict[str, list[tuple[Any, ...]]]


class History:
    """One step after the other, on two knowledge bases and by a judge."""

    def __init__(self, seed: int, folder: Path, **settings: Any) -> None:
        self.random, self.folder, self.settings = Random(seed), folder, settings
        self.files, self.given = list[Path](), dict[str, set[tuple[Any, ...]]]()
        self.documents = dict[Path, OntologyFile]()
        self.source = RandomOntology(seed, equality=seed % 2 == 0)
        self.rules = self.random.sample(RULES, self.random.randrange(6))
        program, ontology = BASE + "\n".join(self.rules), self._file(self.random.randrange(9))
        self.kbs = [
            KnowledgeBase(program, ontology=ontology, equality=equality, **settings)
            for equality in ("axioms", "representatives")
        ]
        self.compare()

    def _file(self, axioms: int) -> Path:
        path = self.folder / f"{len(self.documents)}.ttl"
        self.files.append(path)
        path.write_text(turtle(self.source.axioms(axioms), self.source.facts(self.random.randrange(8))))
        self.documents[path] = read_document(path)
        return path

    def compare(self) -> None:
        axioms = [(sub, IRI(SUB_CLASS), sup) for sub, sup in self.given.get(SUB_CLASS, ())]
        expected = judged(BASE + "\n".join(self.rules), map(self.documents.__getitem__, self.files), self.given, axioms)
        for kb in self.kbs:
            kb.materialise()
            found = {name: set(kb.facts(name)) for name in kb.predicates}
            assert {name: rows for name, rows in found.items() if rows} == expected
        first, second = (kb.report.per_predicate for kb in self.kbs)
        assert first == second

    def step(self) -> None:
        kind = self.random.randrange(13)
        if kind < 4:
            self._update(self._facts(), self._present() if kind < 2 else {})
        elif kind < 7:
            self._update({}, self._present())
        elif kind == 7 or kind == 8:
            rule = self.random.choice(RULES)
            present = rule in self.rules
            (self.rules.remove if present else self.rules.append)(rule)
            self._both("remove_rules" if present else "add_rules", BASE + rule)
        elif kind == 9 or (kind == 10 and len(self.files) < 2):
            self._both("load_ontology", self._file(self.random.randrange(1, 3)))
        elif kind == 10:
            self._both("remove_ontology", self.files.pop(self.random.randrange(1, len(self.files))))
        elif kind == 11:
            self._remove_axiom()
        else:
            self._reopen()
        self.compare()

    def _update(self, add: Facts, remove: Facts) -> None:
        """By `update`, or facts of RDF by SPARQL."""
        names = [*add, *remove]
        if all(":" in name for name in names) and self.random.random() < 0.5:
            self._both("sparql_update", f"DELETE DATA {{ {_triples(remove)} }} ; INSERT DATA {{ {_triples(add)} }}")
        else:
            self._both("update", add=add, remove=remove)
        for name, rows in remove.items():
            self.given.setdefault(name, set()).difference_update(rows)
        for name, rows in add.items():
            self.given.setdefault(name, set()).update(rows)

    def _remove_axiom(self) -> None:
        """Removes a subclass axiom of a file, as a fact; or adds one, if there is none."""
        found = sorted(
            {
                (s, o)
                for path in self.files
                for s, p, o in self.documents[path].triples
                if str(p) == SUB_CLASS and isinstance(s, IRI) and isinstance(o, IRI)
            }
        )
        if not found:
            return self._update({SUB_CLASS: [(IRI(EX + "C0"), IRI(EX + "C1"))]}, {})
        row = self.random.choice(found)
        for path in self.files:
            self.documents[path] = self.documents[path].without({(row[0], IRI(SUB_CLASS), row[1])})
        self._update({}, {SUB_CLASS: [row]})

    def _reopen(self) -> None:
        """Saves the knowledge bases, and goes on with what is opened."""
        for number, kb in enumerate(self.kbs):
            folder = self.folder / f"store {number} {self.random.random()}"
            kb.save(folder)
            kb.close()
            with KnowledgeBase.open(folder, equality=session_of(kb).settings.equality, **self.settings) as opened:
                opened.update(add={"kept": [(number,)]})
                opened.update(remove={"kept": [(number,)]})
            self.kbs[number] = KnowledgeBase.open(folder, equality=session_of(kb).settings.equality, **self.settings)

    def close(self) -> None:
        for kb in self.kbs:
            kb.close()

    def _facts(self) -> Facts:
        found: Facts = {}
        for _ in range(self.random.randrange(1, 4)):
            name = self.random.choice(PREDICATES)
            found.setdefault(name, []).append(self._row(name))
        return found

    def _row(self, name: str) -> tuple[IRI, ...]:
        if name == "said":
            return self._individual(), self.random.choice(SAID), self._individual()
        if name == "typed":
            return self._individual(), self.random.choice(TYPED)
        arity = 1 if "C" in name or name in ("blocked", "bare") else 2
        return tuple(self._individual() for _ in range(arity))

    def _individual(self) -> IRI:
        return IRI(EX + self.random.choice(INDIVIDUALS)[1:])

    def _present(self) -> dict[str, list[tuple[Any, ...]]]:
        """Some explicit facts."""
        kb, found = self.kbs[0], dict[str, list[tuple[Any, ...]]]()
        from deltalog.evaluation.facts import rows

        given = [
            (pred.name, row)
            for pred, table in sorted(session_of(kb).state.explicit.items())
            for row in sorted(rows(table, pred.arity, session_of(kb).backend), key=repr)
        ]
        given = [each for each in given if not each[0].startswith("#")]
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


def _triples(facts: Facts) -> str:
    rows = [(name, row) for name, rows in facts.items() for row in rows]
    return " ".join(
        f"<{row[0]}> a <{name}> ." if len(row) == 1 else f"<{row[0]}> <{name}> <{row[1]}> ." for name, row in rows
    )


def main() -> int:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    failed = list[int]()
    for seed in range(options.seed, options.seed + options.count):
        with TemporaryDirectory() as folder:
            try:
                history = History(seed, Path(folder))
                for _ in range(options.steps):
                    history.step()
                history.close()
            except Exception as error:
                failed.append(seed)
                print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(f"{options.count} histories, {len(failed)} failed: {failed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
