"""VLog (https://github.com/karmaresearch/vlog), if its binary is on the path: `vlog mat`.

Not tested on the machine where this was written, for it has no VLog; the translation alone is. VLog keeps given and
derived facts apart, so a relation that has rows is `e...` there, and a rule copies it. It has no comparisons. Reading,
evaluating and writing the derived facts, which is how we count them, are one process and one phase.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.peers import tables
from benchmarks.peers.base import CannotExpress, Outcome, Stopwatch, children_peak
from benchmarks.peers.tables import Clause, Stored, Tables
from deltalog.core.rules import Atom, Constant, Pred, Rule, Term

EDB, PROGRAM, OUT = "edb.conf", "program.vlog", "out"


class VLog:
    name = "vlog"
    measures = "evaluate: the whole process, from files of integers to files of derived facts (not tested by us)"

    def version(self) -> str | None:
        return "unknown" if shutil.which("vlog") else None

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        made = tables.write(rules, files, folder)
        stored = tables.stored(folder)
        for _, name, path in stored.stored():
            (folder / f"e{name}.csv").write_text(path.read_text().replace("\t", ","))
        (folder / EDB).write_text("\n".join(_edb(stored)) + "\n")
        (folder / PROGRAM).write_text("\n".join([*_copies(stored), *(_clause(c, made) for c in made.clauses)]) + "\n")

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        watch, out = Stopwatch(), folder / OUT
        shutil.rmtree(out, ignore_errors=True)
        command = ["vlog", "mat", "--edb", str(folder / EDB), "--rules", str(folder / PROGRAM)]
        command += ["--storemat_path", str(out), "--storemat_format", "csv"]
        with watch.phase("evaluate"):
            subprocess.run(command, capture_output=True, text=True, check=True)
        counts = tables.stored(folder).counts(lambda name, _: _lines(out / name))
        return Outcome(watch.seconds, counts, None, children_peak())


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _edb(stored: Stored) -> Iterable[str]:
    for number, (_, name, _path) in enumerate(stored.stored()):
        yield f"EDB{number}_predname=e{name}"
        yield f"EDB{number}_type=INMEMORY"
        yield f"EDB{number}_param0={stored.folder.resolve()}"
        yield f"EDB{number}_param1=e{name}"


def _copies(stored: Stored) -> Iterable[str]:
    for pred, name, _ in stored.stored():
        variables = ",".join(f"V{i}" for i in range(pred.arity))
        yield f"{name}({variables}) :- e{name}({variables})"


def _clause(clause: Clause, made: Tables) -> str:
    if clause.comparisons:
        raise CannotExpress("a comparison")
    if not clause.atoms:
        raise CannotExpress("a fact in the program")

    def term(term: Term) -> str:
        return str(made.number(term)) if isinstance(term, Constant) else f"V_{term.name}"

    def atom(atom: Atom) -> str:
        return f"{made.names[Pred(atom.name, len(atom.terms))]}({','.join(map(term, atom.terms))})"

    body = [atom(a) for a in clause.atoms] + [f"~{atom(a)}" for a in clause.negated]
    return f"{atom(clause.head)} :- {','.join(body)}"
