"""Soufflé (https://souffle-lang.github.io), if its binary is on the path: `souffle`, interpreted, all threads.

Not tested on the machine where this was written, for it has no Soufflé; the translation alone is. Soufflé does not tell
reading its files from evaluating, so all of it is the evaluation: a process, from integer files to the sizes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import tables
from benchmarks.peers.base import CannotExpress, Outcome, Stopwatch, children_peak
from benchmarks.peers.tables import Clause, Stored, Tables
from deltalog.core.rules import Atom, Constant, Pred, Rule, Term, Variable

PROGRAM = "program.souffle"


class Souffle:
    name = "souffle"
    measures = "evaluate: the whole process, interpreted, from files of integers (not tested by us)"

    def version(self) -> str | None:
        binary = shutil.which("souffle")
        if binary is None:
            return None
        lines = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.splitlines()
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("Version")), "unknown")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        made = tables.write(rules, files, folder)
        (folder / PROGRAM).write_text("\n".join(program(made, tables.stored(folder))) + "\n")

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        watch = Stopwatch()
        command = [
            "souffle",
            "-j",
            str(os.cpu_count() or 1),
            "-F",
            str(folder),
            "-D",
            str(folder),
            str(folder / PROGRAM),
        ]
        with watch.phase("evaluate"):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        sizes = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
        made = tables.stored(folder)
        return Outcome(watch.seconds, made.counts(lambda name, _: int(sizes[name])), None, children_peak())


def program(made: Tables, stored: Stored) -> list[str]:
    lines = [_declaration(pred, name) for pred, name in made.names.items()]
    lines += [f'.input {name}(IO=file, filename="{path.name}")' for _, name, path in stored.stored()]
    lines += [f".printsize {made.names[pred]}" for pred in made.heads]
    return lines + [_clause(clause, made) for clause in made.clauses]


def _declaration(pred: Pred, name: str) -> str:
    if pred.arity == 0:
        raise CannotExpress("a predicate without arguments")
    return f".decl {name}({', '.join(f'c{i}: number' for i in range(pred.arity))})"


def _clause(clause: Clause, made: Tables) -> str:
    bound = {t for a in (*clause.atoms, clause.head) for t in a.terms if isinstance(t, Variable)}

    def term(term: Term) -> str:
        return str(made.number(term)) if isinstance(term, Constant) else f"v_{term.name}"

    def atom(atom: Atom, negated: bool = False) -> str:
        terms = ["_" if negated and isinstance(t, Variable) and t not in bound else term(t) for t in atom.terms]
        return f"{made.names[atom.pred]}({', '.join(terms)})"

    body = [atom(a) for a in clause.atoms] + [f"!{atom(a, negated=True)}" for a in clause.negated]
    body += [f"{term(c.left)} {c.operator} {term(c.right)}" for c in clause.comparisons]
    return f"{atom(clause.head)} :- {', '.join(body)}." if body else f"{atom(clause.head)}."
