"""egglog (https://github.com/egraphs-good/egglog), from PyPI: semi-naive Datalog with worst-case optimal joins.

Only its relational part is used: relations of i64, rules, and a schedule that saturates. No negation there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers import tables
from benchmarks.peers.base import CannotExpress, Outcome, Stopwatch, package_version
from benchmarks.peers.tables import Clause, Tables
from deltalog.core.rules import Atom, Constant, Rule, Term


class Egglog:
    name = "egglog"
    measures = "load: its (input) of files of integers; evaluate: (run-schedule (saturate (run)))"

    def version(self) -> str | None:
        return package_version("egglog")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        made = tables.write(rules, files, folder)
        lines = [_clause(clause, made) for clause in made.clauses]
        (folder / "rules.egg").write_text("\n".join(lines) + "\n")

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        made = tables.stored(folder, with_values=keep)
        graph, watch = import_module("egglog.bindings").EGraph(), Stopwatch()

        def command(text: str) -> list[Any]:
            return list(graph.run_program(*graph.parse_program(text)))

        command("\n".join(f"(relation {name} ({' '.join(['i64'] * pred.arity)}))" for pred, name in made.names.items()))
        with watch.phase("load"):
            command("\n".join(f'(input {name} "{path}")' for _, name, path in made.stored()))
        with watch.phase("plan"):
            command((folder / "rules.egg").read_text())
        with watch.phase("evaluate"):
            command("(run-schedule (saturate (run)))")
        counts = made.counts(lambda name, _: _size(command(f"(print-size {name})")))
        facts = made.facts(lambda name, _: _rows(command(f"(print-function {name} 100000000)"))) if keep else None
        return Outcome(watch.seconds, counts, facts)


def _size(outputs: list[Any]) -> int:
    return int(outputs[0].size)


def _rows(outputs: list[Any]) -> Iterable[list[str]]:
    """From egglog's print, one fact a line: `(p0 1 2) -> (p0 1 2)`."""
    for line in str(outputs[0]).splitlines():
        fact = re.match(r"\s*\(\w+((?: -?\d+)*)\)", line)
        if fact:
            yield fact[1].split()


def _clause(clause: Clause, made: Tables) -> str:
    if clause.negated:
        raise CannotExpress("negation")

    def term(term: Term) -> str:
        if isinstance(term, Constant):
            return str(made.number(term))
        return "v" + "".join(c if c.isalnum() else "_" for c in term.name)

    def atom(atom: Atom) -> str:
        return f"({' '.join([made.names[atom.pred], *map(term, atom.terms)])})"

    body = [atom(a) for a in clause.atoms]
    body += [f"({c.operator} {term(c.left)} {term(c.right)})" for c in clause.comparisons]
    return f"(rule ({' '.join(body)}) ({atom(clause.head)}))" if body else atom(clause.head)
