"""DuckDB (https://duckdb.org) with the loop that somebody would write by hand: one SQL statement a rule and round.

Semi-naive evaluation, predicates in the order of their strongly connected components. Each relation is one table, whose
last column `r` is the round that added the row; so in round k, with j the round before,

    DELTA is r = j,    OLD is r < j,    ALL is the whole table as it was when the round began (r <= j).

    -- round k of path(x, z) :- path(x, y), edge(y, z)
    INSERT INTO path SELECT DISTINCT t.c0, t.c1, k FROM (
        SELECT t0.c0 AS c0, t1.c1 AS c1 FROM path t0, edge t1 WHERE t0.r = j AND t0.c1 = t1.c0
    ) t ANTI JOIN path USING (c0, c1)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers import tables
from benchmarks.peers.base import Outcome, Stopwatch, package_version
from benchmarks.peers.tables import Clause, Tables
from deltalog.core.rules import Atom, Constant, Pred, Rule, Term, Variable

SCRIPT = "components.json"


class DuckDB:
    name = "duckdb"
    measures = "load: CREATE TABLE from files of integers; evaluate: the loop, all threads"

    def version(self) -> str | None:
        return package_version("duckdb")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        made = tables.write(rules, files, folder)
        script = [_component(component, made) for component in components(made)]
        wide = any(len(cell) > 9 for _, _, path in tables.stored(folder).stored() for cell in path.read_text().split())
        (folder / SCRIPT).write_text(json.dumps({"type": "BIGINT" if wide else "INTEGER", "components": script}))

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        made = tables.stored(folder, with_values=keep)
        script = json.loads((folder / SCRIPT).read_text())
        watch, database = Stopwatch(), import_module("duckdb").connect()
        with watch.phase("load"):
            for pred, name in made.names.items():
                database.execute(_create(pred, name, folder / f"{name}.tsv", script["type"]))
        with watch.phase("evaluate"):
            for component in script["components"]:
                _evaluate(database, component)
        counts = made.counts(lambda name, _: _one(database, f"SELECT count(*) FROM {name}"))
        facts = None
        if keep:
            facts = made.facts(
                lambda name, n: (row[:n] for row in database.execute(f"SELECT * FROM {name}").fetchall())
            )
        return Outcome(watch.seconds, counts, facts)


def _one(database: Any, query: str) -> int:
    return int(database.execute(query).fetchone()[0])


def _create(pred: Pred, name: str, path: Path, kind: str) -> str:
    columns = [f"c{i}" for i in range(pred.arity)]
    if not path.exists():
        return f"CREATE TABLE {name} ({', '.join([*(f'{c} {kind}' for c in columns), 'r INTEGER'])})"
    types = ", ".join(f"'{c}': '{kind}'" for c in columns)
    source = f"read_csv('{path}', delim='\\t', header=false, columns={{{types}}})"
    return f"CREATE TABLE {name} AS SELECT {', '.join([*columns, '0::INTEGER AS r'])} FROM {source}"


def _evaluate(database: Any, component: dict[str, list[str]]) -> None:
    """Round 0 is what is given and what the exit rules give; then rounds until one adds nothing."""
    for statement in component["once"]:
        database.execute(statement)
    number, added = 0, 1
    while component["loop"] and added:
        number += 1
        values = {"k": number, "j": number - 1}
        added = sum(_one(database, _bound(statement, values)) for statement in component["loop"])


def _bound(statement: str, values: dict[str, int]) -> str:
    return statement.replace("$k", str(values["k"])).replace("$j", str(values["j"]))


def components(made: Tables) -> Iterator[tuple[set[Pred], list[Clause]]]:
    """The strongly connected components of the derived predicates, each after those that it reads, with its rules."""
    reads: dict[Pred, set[Pred]] = {pred: set() for pred in made.heads}
    for clause in made.clauses:
        reads[clause.head.pred] |= {a.pred for a in (*clause.atoms, *clause.negated) if a.pred in reads}
    reach = {pred: _reachable(pred, reads) for pred in reads}
    done: set[Pred] = set()
    for pred in sorted(reads, key=lambda p: len(reach[p])):
        if pred not in done:
            together = {pred} | {q for q in reach[pred] if pred in reach[q]}
            done |= together
            yield together, [c for c in made.clauses if c.head.pred in together]


def _reachable(start: Pred, reads: dict[Pred, set[Pred]]) -> set[Pred]:
    found: set[Pred] = set()
    waiting = list(reads[start])
    while waiting:
        pred = waiting.pop()
        if pred not in found:
            found.add(pred)
            waiting.extend(reads[pred])
    return found


def _component(component: tuple[set[Pred], list[Clause]], made: Tables) -> dict[str, list[str]]:
    preds, rules = component
    recursive = [c for c in rules if any(a.pred in preds for a in c.atoms)]
    return {
        "once": [_insert(c, [_select(c, made, preds, None)], made, "0") for c in rules if c not in recursive],
        "loop": [_insert(c, _variants(c, made, preds), made, "$k") for c in recursive],
    }


def _variants(clause: Clause, made: Tables, preds: set[Pred]) -> list[str]:
    return [_select(clause, made, preds, i) for i, atom in enumerate(clause.atoms) if atom.pred in preds]


def _insert(clause: Clause, selects: list[str], made: Tables, number: str) -> str:
    name, columns = (
        made.names[clause.head.pred],
        [f"c{i}" for i in range(len(clause.head.terms))],
    )
    union = " UNION ALL ".join(selects)
    if not columns:
        return f"INSERT INTO {name} SELECT DISTINCT {number} FROM ({union}) t WHERE NOT EXISTS (FROM {name})"
    chosen = ", ".join([*(f"t.{c}" for c in columns), number])
    return f"INSERT INTO {name} SELECT DISTINCT {chosen} FROM ({union}) t ANTI JOIN {name} USING ({', '.join(columns)})"


def _select(clause: Clause, made: Tables, preds: set[Pred], delta: int | None) -> str:
    """The body as one SELECT; `delta` is the atom that reads DELTA: those before it read OLD, those after it ALL."""
    places: dict[Variable, str] = {}
    where: list[str] = []
    for i, atom in enumerate(clause.atoms):
        if delta is not None and atom.pred in preds:
            where.append(f"t{i}.r {'<' if i < delta else '=' if i == delta else '<='} $j")
        where += _matches(atom, f"t{i}", places, made)

    def value(term: Term) -> str:
        return str(made.number(term)) if isinstance(term, Constant) else places[term]

    for c in clause.comparisons:
        where.append(f"{value(c.left)} {'<>' if c.operator == '!=' else c.operator} {value(c.right)}")
    for atom in clause.negated:
        inner = " AND ".join(_matches(atom, "n", dict(places), made)) or "true"
        where.append(f"NOT EXISTS (SELECT 1 FROM {made.names[atom.pred]} n WHERE {inner})")
    columns = ", ".join(f"{value(term)} AS c{i}" for i, term in enumerate(clause.head.terms)) or "1"
    sources = ", ".join(f"{made.names[atom.pred]} t{i}" for i, atom in enumerate(clause.atoms)) or "(SELECT 1)"
    return f"SELECT {columns} FROM {sources} WHERE {' AND '.join(where) or 'true'}"


def _matches(atom: Atom, alias: str, places: dict[Variable, str], made: Tables) -> list[str]:
    """Conditions under which a row of the alias matches the atom; a variable's first place goes into `places`."""
    conditions = []
    for i, term in enumerate(atom.terms):
        here = f"{alias}.c{i}"
        if isinstance(term, Constant):
            conditions.append(f"{here} = {made.number(term)}")
        elif term in places:
            conditions.append(f"{here} = {places[term]}")
        else:
            places[term] = here
    return conditions
