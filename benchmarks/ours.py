"""deltalog itself: like a peer, from scratch over files; and, what peers have not, sessions of changes.

Kernels are compiled once on a machine and cached on disk, and read from there by each process. Neither is what we want
to know here, so everything is first done over a few rows of the same files, in the same process, and measured after
that. Few rows do not need every kernel; so where one was compiled all the same, what was measured is thrown away and
measured again. (How long a start takes is measured by itself.)

What takes little time is measured up to three times in a process, so that there is a best and a spread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.peers import tables
from benchmarks.peers.base import Measured, Outcome, enough, family_peak, package_version
from deltalog.core.rules import Rule

if TYPE_CHECKING:
    from deltalog.evaluation.change import Change
    from deltalog.knowledge_base.facade import KnowledgeBase

T = TypeVar("T")
WARM_ROWS = 100
Rows = dict[str, list[tuple[Any, ...]]]


class Deltalog:
    """`sessions`: whether a materialisation is kept right by updates, or made anew."""

    measures = "load: from the files to encoded relations; plan; evaluate: to the fixpoint; update: the maintenance; "
    measures += "encode: the facts of a change into ids; kernels already compiled"

    def __init__(self, name: str = "deltalog", engine: str = "local", sessions: bool = True, **settings: Any) -> None:
        self.name, self.engine, self.sessions, self.settings = name, engine, sessions, settings

    def version(self) -> str | None:
        return package_version("deltalog")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        few = _few_rows(files, folder / "warm")
        heads = sorted({head.name for rule in rules for head in rule.heads})
        job = {"files": list(map(str, files)), "few": list(map(str, few)), "heads": heads}
        (folder / "job.json").write_text(json.dumps(job))
        (folder / "program.dl").write_text("\n".join(map(str, rules)) + "\n", encoding="utf-8")

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        job = json.loads((folder / "job.json").read_text())
        if not keep:
            self.materialised(folder / "program.dl", job["few"])
        kb = _compiled(lambda: self.materialised(folder / "program.dl", job["files"]))
        counts = {name: kb.count(name) for name in job["heads"]}
        facts = None
        if keep:
            facts = {name: {tuple(map(tables.spelled, row)) for row in kb.facts(name)} for name in job["heads"]}
        return Outcome(_phases(kb), counts, facts)

    def _empty(self, program: Path) -> KnowledgeBase:
        from deltalog.knowledge_base.facade import KnowledgeBase

        return KnowledgeBase(program, engine=self.engine, **self.settings)

    def materialised(self, program: Path, files: Sequence[str | Path]) -> KnowledgeBase:
        kb = self._empty(program)
        if files:
            kb.load(*files)
        kb.materialise()
        return kb

    def session(self, name: str, states: Path, warm: Path) -> dict[str, Measured]:
        """The tasks of a session (see `benchmarks.tasks`) over a folder of states, measured."""
        self.warm(name, states, warm)
        session: Callable[[Path, Path, int], dict[str, Measured]] = getattr(self, f"_{name}")
        return _compiled(lambda: session(states, states, 3))

    def warm(self, name: str, states: Path, folder: Path) -> None:
        """Do a session over a few rows: kernels are compiled, or read from where they are kept."""
        getattr(self, f"_{name}")(_few_states(states, folder), states, 1)

    def _materialise(self, facts: Path, programs: Path, times: int) -> dict[str, Measured]:
        load, materialise, query = Measured(), Measured(), Measured()
        goal = programs / "goal.txt"
        for _ in enough(times):
            kb = self._empty(programs / "program.dl")
            kb.load(*sorted((facts / "full").iterdir()))
            load.add({"load": kb.report.seconds["load"]}, family_peak(), {"facts": kb.explicit_facts})
            kb.materialise()
            materialise.add(_phases(kb), family_peak(), _counts(kb))
            if goal.exists():
                started = time.perf_counter()
                answers = len(kb.query(goal.read_text("utf-8")))
                query.add({"query": time.perf_counter() - started}, family_peak(), {"answers": answers})
            del kb
        return {"load": load, "materialise": materialise, "query": query}

    def _small(self, facts: Path, programs: Path, times: int) -> dict[str, Measured]:
        kb = self.materialised(programs / "program.dl", sorted((facts / "full").iterdir()))
        rows = _rows(facts / "small")
        changes = {"small_deletion": lambda: kb.update(remove=rows), "small_addition": lambda: kb.update(add=rows)}
        return _in_turn(kb, changes, times)

    def _large(self, facts: Path, programs: Path, times: int) -> dict[str, Measured]:
        kb = self.materialised(programs / "program.dl", sorted((facts / "full").iterdir()))
        rows = _rows(facts / "large")
        return _in_turn(kb, {"large_deletion": lambda: kb.update(remove=rows)}, 1)

    def _rule(self, facts: Path, programs: Path, times: int) -> dict[str, Measured]:
        kb = self.materialised(programs / "program.dl", sorted((facts / "full").iterdir()))
        rule = (programs / "rule.dl").read_text("utf-8")
        changes = {"rule_deletion": lambda: kb.remove_rules(rule), "rule_addition": lambda: kb.add_rules(rule)}
        return _in_turn(kb, changes, times)


def _compiled(measured: Callable[[], T]) -> T:
    """What is measured, with all kernels that it needs compiled before."""
    from numba.core.event import install_recorder

    while True:
        with install_recorder("numba:compile") as compilations:
            result = measured()
        if not compilations.buffer:
            return result


def _in_turn(kb: KnowledgeBase, changes: dict[str, Callable[[], Change]], times: int) -> dict[str, Measured]:
    measured = {name: Measured() for name in changes}
    for _ in enough(times):
        for name, change in changes.items():
            started = time.perf_counter()
            report = change().report
            seconds = time.perf_counter() - started
            phases = {"encode": max(seconds - report.seconds, 0.0), "update": report.seconds}
            measured[name].add(phases, family_peak(), _counts(kb))
    return measured


def _phases(kb: KnowledgeBase) -> dict[str, float]:
    return {phase: kb.report.seconds[phase] for phase in ("load", "plan", "evaluate")}


def _counts(kb: KnowledgeBase) -> dict[str, int]:
    return {name: kb.count(name) for name in kb.predicates}


def _rows(folder: Path) -> Rows:
    from deltalog.knowledge_base.facade import KnowledgeBase

    kb = KnowledgeBase()
    kb.load(*sorted(folder.iterdir()))
    return {name: list(kb.facts(name)) for name in kb.predicates}


def _few_rows(files: Sequence[Path], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    few = []
    for path in files:
        few.append(folder / path.name.removesuffix(".gz").removesuffix(".bz2"))
        with tables.opened(path) as lines:
            few[-1].write_text("".join(islice(lines, WARM_ROWS)), encoding="utf-8")
    return few


def _few_states(states: Path, warm: Path) -> Path:
    """The same folders with a few rows each; what is taken out is in `full`, too."""
    for name in ("full", "small", "large"):
        if (states / name).is_dir():
            _few_rows(sorted((states / name).iterdir()), warm / name)
    for name in ("small", "large"):
        for path in (warm / name).iterdir() if (warm / name).is_dir() else ():
            with (warm / "full" / path.name).open("a", encoding="utf-8") as out:
                out.write(path.read_text(encoding="utf-8"))
    return warm


class Spark(Deltalog):
    """The Spark engine as it is. What it finds small enough it evaluates in its driver with the local engine's kernels:
    then this is the local engine and a JVM, and that both agree says little."""

    measures = (
        Deltalog.measures + "; the engine may evaluate hyper-nodes in its driver, with the local engine, so this "
    )
    measures += "need not be Spark's executors; memory with the JVM's; its start is not measured"

    def __init__(self, name: str = "spark") -> None:
        super().__init__(name, "spark")


class SparkExecutors(Spark):
    """The Spark engine with a budget of nothing for its driver: everything is done by Spark."""

    measures = (
        Deltalog.measures + "; nothing is evaluated in the driver; memory with the JVM's; its start is not measured"
    )

    def __init__(self) -> None:
        super().__init__("spark-executors")

    def _empty(self, program: Path) -> KnowledgeBase:
        from deltalog.knowledge_base.facade import ENGINES

        if "spark" in ENGINES:
            from deltalog.engines.spark.startup.session import session

            session(None).conf.set("spark.deltalog.driverBudget", "0")
        return super()._empty(program)


def ours() -> Iterator[Deltalog]:
    yield Deltalog()
    yield Deltalog("scratch", sessions=False)
    yield Deltalog("naive", "naive")
    yield Deltalog("standard", cyclic="standard")
    yield Deltalog("hypertree", cyclic="hypertree")
    yield Deltalog("tables", schemes="standard")
    yield Deltalog("modules", schemes="module")
    yield Deltalog("schemes", schemes="scheme")
    yield Spark()
    yield SparkExecutors()
