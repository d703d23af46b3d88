"""Nemo (https://github.com/knowsys/nemo), from PyPI as nemo-python: in-memory, columnar, trie joins, one thread.

N-Triples files are read by Nemo itself, as a user would have it: one import, then one rule a predicate that copies its
triples into a relation of its own. (Program L over one ternary relation takes four times as long: 37 s against 9 s for
LUBM(10).) Other data are tables of integers.

Nemo loads when a rule first needs a table, inside `reason()`, and its timers do not tell reading files from building
further column orders. So the load is measured by a program of its own, run first, with the same imports and rules that
read each of them and derive next to nothing; the evaluation is what `reason()` of the whole program takes beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers import tables
from benchmarks.peers.base import Outcome, Stopwatch, package_version
from benchmarks.peers.tables import Clause, Stored
from deltalog.core.rules import Atom, Constant, Pred, Rule, Term
from deltalog.core.terms import RDF_TYPE

PROGRAM, LOAD = "program.rls", "load.rls"


class Nemo:
    name = "nemo"
    measures = "load: reason() of a program that only imports; evaluate: reason() of the whole program, less that"

    def version(self) -> str | None:
        return package_version("nemo-python")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        triples = bool(files) and all(".nt" in path.suffixes for path in files)
        made = tables.write(rules, () if triples else files, folder)
        names = made.names

        def term(term: Term) -> str:
            if not isinstance(term, Constant):
                return "?" + _plain(term.name)
            return tables.spelled(term.value) if triples else str(made.number(term))

        lines = [_clause(clause, names, term) for clause in made.clauses]
        imports = list(_triple_imports(files) if triples else _imports(tables.stored(folder)))
        lines += _by_predicate(names) if triples else []
        lines += [f"@output {names[pred]} ." for pred in made.heads]
        (folder / PROGRAM).write_text("\n".join(imports + lines) + "\n")
        (folder / LOAD).write_text("\n".join([*imports, *_touch(tables.stored(folder), triples), "@output touched ."]))

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        _, load = _reason(folder / LOAD)
        engine, whole = _reason(folder / PROGRAM)
        seconds = {"load": load, "evaluate": max(whole - load, 0.0)}
        made = tables.stored(folder, with_values=keep)
        counts = made.counts(lambda name, _: sum(1 for _ in engine.result(name)))
        facts = None
        if keep:
            facts = made.facts(lambda name, _: map(_row, engine.result(name)))
        return Outcome(seconds, counts, facts)


def _reason(program: Path) -> tuple[Any, float]:
    nemo = import_module("nmo_python")
    engine = nemo.NemoEngine(nemo.load_string(program.read_text()))
    watch = Stopwatch()
    with watch.phase("reason"):
        engine.reason()
    return engine, watch.seconds["reason"]


def _plain(name: str) -> str:
    return "v" + "".join(c if c.isalnum() else "_" for c in name)


def _clause(clause: Clause, names: dict[Pred, str], term: Any) -> str:
    def atom(atom: Atom) -> str:
        return f"{names[atom.pred]}({', '.join(map(term, atom.terms))})"

    body = [atom(a) for a in clause.atoms] + [f"~{atom(a)}" for a in clause.negated]
    body += [f"{term(c.left)} {c.operator} {term(c.right)}" for c in clause.comparisons]
    return f"{atom(clause.head)} :- {', '.join(body)} ." if body else f"{atom(clause.head)} ."


def _triple_imports(files: Sequence[Path]) -> Iterable[str]:
    for path in files:
        yield f'@import triple :- ntriples{{resource="{path.resolve()}"}} .'


def _by_predicate(names: dict[Pred, str]) -> Iterable[str]:
    for pred, name in names.items():
        if pred.arity == 1:
            yield f"{name}(?x) :- triple(?x, <{RDF_TYPE}>, <{pred.name}>) ."
        elif pred.arity == 2:
            yield f"{name}(?x, ?y) :- triple(?x, <{pred.name}>, ?y) ."


def _imports(made: Stored) -> Iterable[str]:
    for pred, name, path in made.stored():
        columns = ", ".join(["int"] * pred.arity)
        yield f'@import {name} :- tsv{{resource="{path.resolve()}", format=({columns})}} .'


def _touch(made: Stored, triples: bool) -> Iterable[str]:
    if triples:
        yield "touched(?x) :- triple(?x, <urn:nothing>, ?y) ."
    for pred, name, _ in made.stored():
        variables = ", ".join(f"?v{i}" for i in range(pred.arity))
        yield f"touched(?v0) :- {name}({variables}) ."


def _row(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(cell) for cell in row)
