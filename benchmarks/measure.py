"""One step of a benchmark, in a process of its own: `python -m benchmarks.measure JOB`, JOB and the answer in JSON.

    {"step": "prepare", "benchmark": ..., "size": ..., "folder": ..., "tasks": [...], "units": [[way, what], ...]}
        the data, its states, and their translations for each unit: a way and a session, or a way and a state;
        and the sessions over a few rows, so that kernels are compiled before anything is measured
        -> {"facts": ..., "heads": {state: [...]}, "units": [{"status": ..., "why": ...}, ...]}
    {"step": "run", "way": ..., "what": ..., "folder": ...}    -> {"tasks": {task or state: runs and counts}}

Every answer has a status: ok, cannot (the peer cannot express the program), missing (data or an engine are not there),
failed. The answer is the last line of standard output, so that a peer may print what it likes before.

Peak memory is the high-water mark of this process and of those that it started and that live, such as a JVM.
(Linux's ru_maxrss would count what the parent held.)
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import states
from benchmarks.ours import Deltalog, ours
from benchmarks.peers import PEERS, CannotExpress, Measured, Peer, enough
from benchmarks.peers.base import family_peak
from benchmarks.registry import BENCHMARKS, NoData
from benchmarks.tasks import STATES, TASKS
from deltalog.core.errors import EngineError

TIMES = 3


def ways() -> dict[str, Peer]:
    """All ways to run a benchmark, ours first."""
    return {way.name: way for way in (*ours(), *PEERS)}


def way(name: str) -> Peer:
    """A way by its name, or by `module:name` for one of your own."""
    if ":" in name:
        module, attribute = name.split(":")
        made: Peer = getattr(import_module(module), attribute)()
        return made
    return ways()[name]


def unit_folder(folder: Path, name: str, what: str) -> Path:
    return folder / f"{name.replace(':', '.')}-{what}"


def prepare(job: dict[str, Any]) -> dict[str, Any]:
    benchmark, folder = BENCHMARKS[job["benchmark"]], Path(job["folder"])
    program = benchmark.program_path()
    benchmark.files(job["size"], folder / "full")
    wanted = {TASKS[task].after or "" for task in job["tasks"]}
    made = states.write(folder, program, benchmark.rule, benchmark.goal, wanted)
    units = [_prepare_unit(made, name, what, folder) for name, what in job["units"]]
    return {"facts": made.facts, "heads": made.heads, "units": units}


def _prepare_unit(made: states.States, name: str, what: str, folder: Path) -> dict[str, str]:
    chosen, own = way(name), unit_folder(folder, name, what)
    if what not in STATES:
        if isinstance(chosen, Deltalog) and chosen.engine == "local":
            with suppress(Exception):  # the measurement will say what it is
                chosen.warm(what, folder, own)
        return {"status": "ok"}
    try:
        chosen.prepare(made.rules(what), made.files(STATES[what][1]), own)
    except CannotExpress as reason:
        return {"status": "cannot", "why": str(reason)}
    except Exception as error:  # a peer that fails must not take the others with it
        return {"status": "failed", "why": f"{type(error).__name__}: {error}"[:200]}
    return {"status": "ok"}


def run(job: dict[str, Any]) -> dict[str, Any]:
    name, what, folder = job["way"], job["what"], Path(job["folder"])
    chosen, own = way(name), unit_folder(folder, name, what)
    if what in STATES:
        measured = {what: _from_scratch(chosen, own)}
    else:
        assert isinstance(chosen, Deltalog)
        measured = chosen.session(what, folder, own)
    return {"tasks": {task: vars(found) for task, found in measured.items()}}


def _from_scratch(chosen: Peer, folder: Path) -> Measured:
    measured = Measured()
    for _ in enough(TIMES):
        outcome = chosen.run(folder)
        measured.add(outcome.seconds, outcome.peak_memory or family_peak(), outcome.counts)
    return measured


STEPS = {"prepare": prepare, "run": run}


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Do a step."""
    try:
        return {"status": "ok"} | STEPS[job["step"]](job)
    except CannotExpress as reason:
        return {"status": "cannot", "why": str(reason)}
    except NoData as reason:
        return {"status": "missing", "why": str(reason)}
    except EngineError as reason:
        return {"status": "missing", "why": f"not available: {reason}"}


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.argv[1]))))
