"""deltalog itself, measured like a peer.

Kernels are compiled once on a machine and cached on disk, and read from there by each process. Neither is what we want
to know here, so `run` first evaluates the same program over a few rows of the same files, in the same process, and
measures only what comes after. (How long a start takes is measured by itself.)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers import tables
from benchmarks.peers.base import Outcome, package_version
from deltalog.syntax.ast import Rule

if TYPE_CHECKING:
    from deltalog.kb import KnowledgeBase

WARM_ROWS = 500


class Deltalog:
    name = "deltalog"
    measures = "load: from the files to encoded relations; plan; evaluate: to the fixpoint; kernels already compiled"

    def __init__(self, engine: str = "local") -> None:
        self.engine = engine
        self.name = "deltalog" if engine == "local" else f"deltalog-{engine}"

    def version(self) -> str | None:
        return package_version("deltalog")

    def prepare(self, rules: Sequence[Rule], files: Sequence[Path], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "warm").mkdir()
        few = [_few_rows(path, folder / "warm") for path in files]
        heads = sorted({head.name for rule in rules for head in rule.heads})
        job = {"files": list(map(str, files)), "few": list(map(str, few)), "heads": heads}
        (folder / "job.json").write_text(json.dumps(job))
        (folder / "program.dl").write_text("\n".join(map(str, rules)) + "\n")

    def run(self, folder: Path, keep: bool = False) -> Outcome:
        job = json.loads((folder / "job.json").read_text())
        self._materialised(folder, job["few"])
        kb = self._materialised(folder, job["files"])
        counts = {name: kb.count(name) for name in job["heads"]}
        facts = None
        if keep:
            facts = {name: {tuple(map(tables.spelled, row)) for row in kb.facts(name)} for name in job["heads"]}
        seconds = {phase: kb.report.seconds[phase] for phase in ("load", "plan", "evaluate")}
        return Outcome(seconds, counts, facts)

    def _materialised(self, folder: Path, files: list[str]) -> KnowledgeBase:
        from deltalog.kb import KnowledgeBase

        kb = KnowledgeBase(folder / "program.dl", engine=self.engine)
        kb.load(*files)
        kb.materialise()
        return kb


def _few_rows(path: Path, folder: Path) -> Path:
    few = folder / path.name.removesuffix(".gz").removesuffix(".bz2")
    with tables.opened(path) as lines:
        few.write_text("".join(islice(lines, WARM_ROWS)), encoding="utf-8")
    return few
