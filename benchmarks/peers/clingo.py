"""clingo (https://potassco.org/clingo): for stratified programs its grounder is a semi-naive Datalog engine.

Facts are one text file in clingo's language, and one program part, so that reading and grounding them is the load, and
grounding the part with the rules is the evaluation. No solving: for a stratified program there is nothing to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.peers import tables
from benchmarks.peers.base import Outcome, Stopwatch, package_version
from benchmarks.peers.tables import Clause, Tables
from deltalog.core.rules import Atom, Constant, Rule, Term, Variable


class Clingo:
    name = "clingo"
    measures = "load: parsing and grounding a file of facts (integers); evaluate: grounding the rules"

    def version(self) -> str | None:
        return package_version("clingo")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        made = tables.write(rules, files, folder)
        with (folder / "facts.lp").open("w") as out:
            out.write("#program facts.\n")
            for _, name, path in tables.stored(folder).stored():
                out.writelines(f"{name}({','.join(line.split())}).\n" for line in path.open())
        lines = [_clause(clause, made) for clause in made.clauses]
        (folder / "rules.lp").write_text("#program rules.\n" + "\n".join(lines) + "\n")

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        watch = Stopwatch()
        control = import_module("clingo").Control(["--warn=none"])
        with watch.phase("load"):
            control.load(str(folder / "facts.lp"))
            control.ground([("facts", [])])
        with watch.phase("plan"):
            control.load(str(folder / "rules.lp"))
        with watch.phase("evaluate"):
            control.ground([("rules", [])])
        made = tables.stored(folder, with_values=keep)
        atoms = control.symbolic_atoms
        counts = made.counts(lambda name, arity: sum(1 for _ in atoms.by_signature(name, arity)))
        facts = None
        if keep:
            facts = made.facts(lambda name, arity: (a.symbol.arguments for a in atoms.by_signature(name, arity)))
        return Outcome(watch.seconds, counts, facts)


def _clause(clause: Clause, made: Tables) -> str:
    bound = {t for a in (*clause.atoms, clause.head) for t in a.terms if isinstance(t, Variable)}
    bound |= {t for c in clause.comparisons for t in (c.left, c.right) if isinstance(t, Variable)}

    def term(term: Term) -> str:
        return str(made.number(term)) if isinstance(term, Constant) else _variable(term)

    def atom(atom: Atom, negated: bool = False) -> str:
        # A variable that occurs in a negated atom alone is existential there: `_` in clingo.
        terms = ["_" if negated and isinstance(t, Variable) and t not in bound else term(t) for t in atom.terms]
        return f"{made.names[atom.pred]}({','.join(terms)})" if terms else made.names[atom.pred]

    body = [atom(a) for a in clause.atoms] + [f"not {atom(a, negated=True)}" for a in clause.negated]
    body += [f"{term(c.left)} {c.operator} {term(c.right)}" for c in clause.comparisons]
    return f"{atom(clause.head)} :- {', '.join(body)}." if body else f"{atom(clause.head)}."


def _variable(variable: Variable) -> str:
    return "V" + "".join(c if c.isalnum() else "_" for c in variable.name)
