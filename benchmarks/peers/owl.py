"""reasonable (https://github.com/gtfierro/reasonable, in Rust) and owlrl (https://github.com/RDFLib/OWL-RL, in Python).

Both compute the closure of RDF under the rules of OWL 2 RL, so our rules become an ontology (`axioms.py`). What they
give has more than our rules derive: what follows of the axioms among themselves, owl:Thing, owl:sameAs of everything
with itself, types of expressions without a name. All that is work that they do and we do not, and it is not compared:
facts are counted for the predicates that are heads of the rules, and for those they must be ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from benchmarks.peers import tables
from benchmarks.peers.axioms import VALUE, axioms, fact, iri
from benchmarks.peers.base import Facts, Outcome, Stopwatch, package_version
from deltalog.core.rules import Pred, Rule
from deltalog.core.terms import RDF_TYPE

# A reader of Turtle reads N-Triples, and reasonable reads no file whose name ends otherwise.
DATA, AXIOMS, HEADS = "data.ttl", "axioms.ttl", "heads.json"


class Owl:
    """What both have in common. `chains`: whether it knows property chains."""

    name: str
    chains: bool
    measures: str

    def version(self) -> str | None:
        return package_version(self.name)

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        clauses = tables.clauses(rules)
        ontology = axioms(clauses, self.chains)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / AXIOMS).write_text("".join(f"{s} {p} {o} .\n" for s, p, o in ontology), "utf-8")
        with (folder / DATA).open("w", encoding="utf-8") as out:
            for path in files:
                out.writelines(_lines(path))
        (folder / HEADS).write_text(json.dumps(list(dict.fromkeys(clause.head.pred for clause in clauses))))

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        watch = Stopwatch()
        with watch.phase("load"):
            loaded = self._load([str(folder / DATA), str(folder / AXIOMS)])
        with watch.phase("evaluate"):
            triples = self._reason(loaded)
        facts = _facts([Pred(*head) for head in json.loads((folder / HEADS).read_text())], triples)
        return Outcome(watch.seconds, {name: len(rows) for name, rows in facts.items()}, facts if keep else None)

    def _load(self, files: Sequence[str]) -> Any:
        raise NotImplementedError

    def _reason(self, loaded: Any) -> Iterable[tuple[Any, Any, Any]]:
        raise NotImplementedError


class Reasonable(Owl):
    name, chains = "reasonable", False
    measures = "load: load_file of Turtle; evaluate: reason(), all of OWL 2 RL that it has, result as Python's objects"

    def _load(self, files: Sequence[str]) -> Any:
        reasoner = import_module("reasonable").PyReasoner()
        for path in files:
            reasoner.load_file(path)
        return reasoner

    def _reason(self, loaded: Any) -> Iterable[tuple[Any, Any, Any]]:
        found: list[tuple[Any, Any, Any]] = loaded.reason()
        return found


class Owlrl(Owl):
    name, chains = "owlrl", True
    measures = "load: rdflib's parser; evaluate: the closure by OWLRL_Semantics, without axiomatic triples"

    def _load(self, files: Sequence[str]) -> Any:
        graph = import_module("rdflib").Graph()
        for path in files:
            graph.parse(path, format="nt")
        return graph

    def _reason(self, loaded: Any) -> Iterable[tuple[Any, Any, Any]]:
        owlrl = import_module("owlrl")
        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(loaded)
        graph: Iterable[tuple[Any, Any, Any]] = loaded
        return graph


def _lines(path: Path) -> Iterator[str]:
    """A file as N-Triples."""
    if ".nt" in path.suffixes:
        with tables.opened(path) as lines:
            yield from lines
        return
    for pred, row in tables.facts(path):
        yield " ".join((*fact(pred, row), ".\n"))


def _facts(heads: Sequence[Pred], triples: Iterable[tuple[Any, Any, Any]]) -> Facts:
    facts: Facts = {pred.name: set() for pred in heads}
    classes = {iri(pred.name)[1:-1]: facts[pred.name] for pred in heads if pred.arity == 1}
    properties = {iri(pred.name)[1:-1]: facts[pred.name] for pred in heads if pred.arity == 2}
    for subject, predicate, object in triples:
        if str(predicate) in properties:
            properties[str(predicate)].add((_value(subject), _value(object)))
        elif str(predicate) == str(RDF_TYPE) and str(object) in classes:
            classes[str(object)].add((_value(subject),))
    return facts


def _value(term: Any) -> str:
    """What a term of rdflib stands for, as peers spell it."""
    text: str = term.n3()
    return unquote(text[1 + len(VALUE) : -1]) if text.startswith(f"<{VALUE}") else text
