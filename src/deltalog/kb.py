"""KnowledgeBase: the whole pipeline.

    parse     text -> rules                          deltalog.syntax
    analyse   rules -> program, hyper-nodes          deltalog.program
    load      files, rows, frames -> tables of ids   deltalog.io, deltalog.dictionary
    plan      rules -> algebra                       deltalog.plan
    run       algebra -> new facts, to the fixpoint  deltalog.engine on deltalog.backends
    read      tables of ids -> values                deltalog.facts

    maintain  changes of facts and rules -> new facts, facts that go   deltalog.engine.maintenance

Explicit facts and rules are what the user gave. The materialisation is made from them when it is first needed; `update`,
`add_rules` and `remove_rules` keep it right from then on, and `add` and `load`, which are for the beginning, make it
stale.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalog.engine.report import Report, Round
from deltalog.errors import EngineError, LimitReached, UsageError
from deltalog.facts import Facts
from deltalog.limits import Limits, parse_memory, peak_memory
from deltalog.plan.ir import Part
from deltalog.program import Program, analyse, read_rules
from deltalog.syntax.ast import TRIPLE, Constant, Pred, Rule
from deltalog.terms import RDF_TYPE, Value

if TYPE_CHECKING:
    from deltalog.backends.base import Backend
    from deltalog.engine.seminaive import Relations

Table = Any  # the backend's own handle

ENGINES = ("local", "naive")
INTERNAL = (Pred(TRIPLE, 3), Pred(RDF_TYPE, 2))


class KnowledgeBase:
    """Facts and rules, and everything that follows from them.

    program: rules as text, a Path to a file of them, several of either, or none yet.
    engine: "local" (this process), or "naive" (slow and obvious, for comparisons).
    timeout (seconds), max_facts, memory ("8GB"): limits of a materialisation; LimitReached is raised at one.
    observe: is called after every round of evaluation with a `Round`.
    """

    def __init__(
        self,
        program: str | Path | Iterable[str | Path] = "",
        *,
        engine: str = "local",
        timeout: float | None = None,
        max_facts: int | None = None,
        memory: str | int | None = None,
        threads: int | None = None,
        observe: Callable[[Round], None] | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise _unknown_engine(engine)
        rules = read_rules(_sources(program))
        self._mentioned = analyse(rules).preds  # a wrong program is refused at once
        self.engine = engine
        self.report = Report(engine=engine)
        self._limits = Limits(timeout, max_facts, parse_memory(memory) if isinstance(memory, str) else memory)
        self._observe = observe or (lambda _: None)
        self._backend = _backend(engine, threads)
        self._backend.check = self._limits.check
        self._rules = tuple(rule for rule in rules if not rule.is_fact)
        self._explicit: dict[Pred, Table] = {}
        self._derived: Relations[Table] | None = None
        self._add_program_facts(rule for rule in rules if rule.is_fact)

    # Facts and rules in.

    def add(self, predicate: str, data: Any) -> None:
        """Adds facts of a predicate: rows (tuples), or an Arrow, pandas, polars or Spark table."""
        started = time.perf_counter()
        arity, table = self._backend.encode(data, predicate)
        if self._backend.size(table):
            self._add({Pred(_split_name(predicate)[0], arity): table})
        self._spent("load", started)

    def load(self, *paths: str | PathLike[str]) -> None:
        """Adds the facts of files and folders: N-Triples, N-Quads, Turtle, RDF/XML, CSV, TSV, .facts, Parquet."""
        started = time.perf_counter()
        self._add(self._backend.read([Path(path) for path in paths]))
        self._spent("load", started)

    def _add(self, facts: Mapping[Pred, Table]) -> None:
        for pred, table in facts.items():
            present = self._explicit.get(pred)
            if present is not None:
                table = self._backend.merge(present, self._backend.minus(table, present))
            self._explicit[pred] = table
        self._derived = None

    def _add_program_facts(self, facts: Iterable[Rule]) -> None:
        rows: dict[Pred, list[tuple[Value, ...]]] = {}
        for head in (head for rule in facts for head in rule.heads):
            rows.setdefault(head.pred, []).append(tuple(t.value for t in head.terms if isinstance(t, Constant)))
        self._add({pred: self._backend.encode(values, pred.name)[1] for pred, values in rows.items()})

    # Changes.

    def update(self, add: Mapping[str, Any] | None = None, remove: Mapping[str, Any] | None = None) -> Change:
        """Adds and removes explicit facts (predicate -> rows or a table) and whatever follows or no longer follows.

        A fact that is in both is added. Removing a fact that was not given does nothing: if it is derived, it stays.
        """
        self.materialise()
        return self._change(self._rules, self._encode(add or {}), self._encode(remove or {}))

    def add_rules(self, rules: str | Path | Iterable[str | Path]) -> Change:
        """Adds rules (and facts) and whatever follows."""
        self.materialise()
        given = [rule for source in _sources(rules) for rule in parse_source(source)]
        facts = self._encode_facts(rule for rule in given if rule.is_fact)
        return self._change(tuple(dict.fromkeys((*self._rules, *(r for r in given if not r.is_fact)))), facts, {})

    def remove_rules(self, rules: str | Path | Iterable[str | Path]) -> Change:
        """Removes rules: by their text, or by their ids (see `rule_ids`)."""
        self.materialise()
        ids = self.rule_ids
        gone: list[Rule] = []
        for source in _sources(rules):
            named = ids.get(source.strip()) if isinstance(source, str) else None
            gone += [named] if named else parse_source(source)
        for rule in gone:
            if rule not in self._rules and not rule.is_fact:
                raise UsageError(f"there is no such rule to remove: {rule}")
        facts = self._encode_facts(rule for rule in gone if rule.is_fact)
        return self._change(tuple(rule for rule in self._rules if rule not in set(gone)), {}, facts)

    @property
    def rule_ids(self) -> dict[str, Rule]:
        """The rules by their ids; an id stays with a rule for as long as the rule is there."""
        return {f"r{self._numbers[rule]}": rule for rule in self._rules}

    def _encode(self, facts: Mapping[str, Any]) -> dict[Pred, Table]:
        found: dict[Pred, Table] = {}
        for predicate, data in facts.items():
            arity, table = self._backend.encode(data, predicate)
            if self._backend.size(table):
                found[Pred(_split_name(predicate)[0], arity)] = table
        return found

    def _change(self, rules: tuple[Rule, ...], add: dict[Pred, Table], remove: dict[Pred, Table]) -> Change:
        """The one way in which facts and rules change: all of it, or nothing."""
        from deltalog.engine.maintenance import apply_update

        assert self._derived is not None and self._program is not None
        explicit, added, removed = changed_facts(self._backend, self._explicit, add, remove)
        program = analyse(rules, explicit)
        relations, update = apply_update(
            self._program, program, self._derived, explicit, added, removed, self._from_scratch, self._maintenance
        )
        self._take(rules, program, explicit, relations)
        return self._describe(update)

    def _from_scratch(self, program: Program, explicit: Mapping[Pred, Table]) -> Relations[Table]:
        """The materialisation of other facts and rules, for when that is faster than maintenance."""
        relations = self._start(explicit)
        self._limits.start()
        self._evaluate(program, relations, Report(engine=self.engine), explicit)
        return relations


    def materialise(self, *, partial: bool = False) -> Report:
        """Derives everything that follows. At a limit: raises LimitReached and keeps nothing, or with `partial` keeps
        what has been derived, which is right but incomplete, and says so in the report."""
        if self._derived is not None:
            return self.report
        report = Report(engine=self.engine, seconds={**self.report.seconds, "plan": 0.0, "evaluate": 0.0})
        started = time.perf_counter()
        from deltalog.engine.triples import distribute

        program = self.program
        analysed = time.perf_counter() - started
        relations = self._start()
        self._limits.start()
        try:
            planning = self._evaluate(program, relations, report)
        except LimitReached as limit:
            if not partial:
                raise LimitReached(f"{limit}, and the answer is not complete") from None
            planning, report.complete, report.why_incomplete = 0.0, False, str(limit)
        distribute(relations)
        report.seconds["plan"] = analysed + planning
        report.seconds["evaluate"] = time.perf_counter() - started - report.seconds["plan"]
        self._derived = relations
        self._count(report)
        return report

    @property
    def program(self) -> Program:
        """The rules, checked, as hyper-nodes in the order of evaluation."""
        return analyse(self._rules, self._explicit)

    def plan(self) -> str:
        """How the rules would be evaluated over the present facts: hyper-nodes, join orders, indexes."""
        from deltalog.plan.explain import explain
        from deltalog.plan.statistics import Partial

        return explain(self.program, Partial(self._start()))

    def _start(self) -> Relations[Table]:
        from deltalog.engine.seminaive import Relations

        return Relations(self._backend, {(pred, Part.ALL): table for pred, table in self._explicit.items()})

    def _evaluate(self, program: Program, relations: Relations[Table], report: Report) -> float:
        def observe(round_: Round) -> None:
            report.rounds.append(round_)
            self._observe(round_)

        if self.engine == "naive":
            self._evaluate_naively(program, relations)
            return 0.0
        from deltalog.engine.seminaive import SemiNaive

        evaluation = SemiNaive(program, relations, observe, self._limits.check_facts)
        evaluation.run()
        return evaluation.planning

    def _evaluate_naively(self, program: Program, relations: Relations[Table]) -> None:
        from deltalog.engine.naive import materialise

        explicit = {pred: list(self._view(pred, table)) for pred, table in self._explicit.items()}
        for pred, rows in materialise(program, explicit, self._limits.max_facts).items():
            values = [tuple(constant.value for constant in row) for row in rows]
            relations.set(pred, self._backend.encode(values, pred.name)[1])

    def _count(self, report: Report) -> None:
        report.per_predicate = {name: self.count(name) for name in self.predicates}
        report.facts_total = sum(report.per_predicate.values())
        report.facts_in = self.explicit_facts
        report.failed_expressions = self._backend.failures
        report.peak_memory_bytes = peak_memory()
        self.report = report

    # Facts out.

    @property
    def explicit_facts(self) -> int:
        """How many facts were given."""
        return sum(self._backend.size(table) for table in self._explicit.values())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they were given."""
        return self._rules

    @property
    def predicates(self) -> list[str]:
        """The names of all predicates that rules or facts speak of, sorted; `name/arity` where a name has several."""
        preds = sorted(self._preds())
        names = [pred.name for pred in preds]
        return [pred.name if names.count(pred.name) == 1 else str(pred) for pred in preds]

    def arity(self, predicate: str) -> int:
        """How many arguments a predicate has; UsageError if there is none of that name."""
        return self._find(predicate).arity

    @property
    def names_are_known(self) -> bool:
        """False where a rule with a variable for a predicate or a class may derive facts of one yet unheard of."""
        return self._derived is not None or self.program.derived.isdisjoint(INTERNAL)

    def facts(self, predicate: str) -> Facts[Table]:
        """The facts of a predicate, derived ones included."""
        self.materialise()
        pred = self._find(predicate)
        return self._view(pred, self._table(pred))

    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        self.materialise()
        return self._backend.size(self._table(self._find(predicate)))

    def query(self, goal: str) -> Facts[Table]:
        """The answers of a goal such as `path(a, ?x)`, or several separated by commas: one row per binding of its
        variables, in the order in which they occur."""
        from deltalog.engine.goal import answer
        from deltalog.syntax.parser import parse_goal

        self.materialise()
        assert self._derived is not None
        return answer(parse_goal(goal, "<goal>"), self._derived)

    def write(
        self, folder: str | PathLike[str], format: str = "csv", *, only: Iterable[str] = (), derived: bool = False
    ) -> None:
        """Writes facts to a folder that is new or empty: one file per predicate (csv, tsv, parquet) or facts.nt."""
        started = time.perf_counter()
        view = self.derived if derived else self.facts
        chosen = {self._find(name): view(name) for name in list(only) or self.predicates}
        facts = {pred: rows.table for pred, rows in chosen.items() if len(rows)}
        self._backend.write(Path(folder), facts, format)
        self._spent("write", started)

    def derived(self, predicate: str) -> Facts[Table]:
        """The facts of a predicate that were not given but derived."""
        self.materialise()
        pred = self._find(predicate)
        explicit = self._explicit.get(pred)
        table = self._table(pred)
        return self._view(pred, table if explicit is None else self._backend.minus(table, explicit))

    def _view(self, pred: Pred, table: Table) -> Facts[Table]:
        return Facts([f"_{i}" for i in range(pred.arity)], table, self._backend)

    def _table(self, pred: Pred) -> Table:
        assert self._derived is not None
        return self._derived.get(pred)

    def _preds(self) -> set[Pred]:
        """Predicates of rules and of facts; the internal ones only where they have facts of their own."""
        mentioned = set(self._mentioned) | set(self._explicit)
        if self._derived is not None:
            mentioned |= {pred for pred, _ in self._derived.parts}
        own = {pred for pred in INTERNAL if self._derived is not None and self._backend.size(self._table(pred))}
        return mentioned - set(INTERNAL) | own

    def _find(self, predicate: str) -> Pred:
        """The predicate of a name, or of `name/arity`."""
        name, arity = _split_name(predicate)
        preds = self._preds()
        found = [p for p in preds if p.name == predicate] or [p for p in preds if p == (name, arity)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{predicate!r} has several arities; say which: {', '.join(map(str, sorted(found)))}")
        raise _unknown_predicate(predicate, [p.name for p in preds])

    def _spent(self, phase: str, started: float) -> None:
        self.report.seconds[phase] += time.perf_counter() - started


def _backend(engine: str, threads: int | None) -> Backend[Table]:
    """The backend of an engine; the naive engine keeps its facts in the local one."""
    from deltalog.backends.local import LocalBackend

    return LocalBackend(threads=threads)


def _sources(program: str | Path | Iterable[str | Path]) -> list[str | Path]:
    return [program] if isinstance(program, str | Path) else list(program)


def _split_name(predicate: str) -> tuple[str, int | None]:
    name, slash, arity = predicate.rpartition("/")
    return (name, int(arity)) if slash and arity.isdigit() and len(arity) < 4 else (predicate, None)


def _unknown_predicate(predicate: str, known: list[str]) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(predicate, known, 3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "kb.predicates lists them"
    return UsageError(f"there is no predicate {predicate!r}; {hint}")


def _unknown_engine(engine: str) -> Exception:
    if engine == "spark":
        return EngineError("the Spark engine is not part of this version yet; use engine='local'")
    return UsageError(f"there is no engine {engine!r}; engines are {', '.join(ENGINES)}")
