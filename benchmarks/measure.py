"""One step of one measurement, in a process of its own: `python -m benchmarks.measure JOB`, JOB and the answer in JSON.

    {"step": "data", "benchmark": ..., "size": ..., "data": FOLDER}     -> {"files": [...]}
    {"step": "prepare", "way": ..., "program": ..., "files": [...], "folder": ...}
    {"step": "run", "way": ..., "folder": ...}                          -> seconds, counts, peak_memory

Every answer has a status: ok, cannot (the peer cannot express the program), missing (data are not there). The answer is
the last line of standard output, so that a peer may print what it likes before.

Peak memory is the high-water mark of this process alone. (Linux's ru_maxrss would count what the parent held.)
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.ours import Deltalog
from benchmarks.peers import PEERS, CannotExpress, Peer
from benchmarks.registry import BENCHMARKS, NoData


def ways() -> dict[str, Peer]:
    """All ways to run a benchmark, ours first."""
    ours: tuple[Peer, ...] = (Deltalog(), Deltalog("naive"))
    return {way.name: way for way in (*ours, *PEERS)}


def way(name: str) -> Peer:
    """A way by its name, or by `module:name` for one of your own."""
    if ":" in name:
        module, attribute = name.split(":")
        made: Peer = getattr(import_module(module), attribute)()
        return made
    return ways()[name]


def data(job: dict[str, Any]) -> dict[str, Any]:
    files = BENCHMARKS[job["benchmark"]].files(job["size"], Path(job["data"]))
    return {"files": [str(path) for path in files]}


def prepare(job: dict[str, Any]) -> dict[str, Any]:
    from deltalog.syntax.parser import parse

    rules = parse(Path(job["program"]).read_text(encoding="utf-8"), job["program"])
    way(job["way"]).prepare(rules, [Path(path) for path in job["files"]], Path(job["folder"]))
    return {}


def run(job: dict[str, Any]) -> dict[str, Any]:
    from deltalog.limits import peak_memory

    outcome = way(job["way"]).run(Path(job["folder"]))
    return {"seconds": outcome.seconds, "counts": outcome.counts, "peak_memory": peak_memory()}


STEPS = {"data": data, "prepare": prepare, "run": run}


def main(text: str) -> None:
    job = json.loads(text)
    try:
        answer = {"status": "ok"} | STEPS[job["step"]](job)
    except CannotExpress as reason:
        answer = {"status": "cannot", "why": str(reason)}
    except NoData as reason:
        answer = {"status": "missing", "why": str(reason)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
