"""What got slower, beyond the noise.

Old and new results have several runs each, and runs differ. Something got slower when even its best new run took longer
than the worst old one, and the best of both differ by more than a tenth and by more than two milliseconds. (A single
run has no spread, so there the best must differ by more than a quarter.) What was right and is not any more counts,
too: an answer that does not come is the slowest of all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.tasks import TASKS
from deltalog.core.errors import UsageError

TENTH, QUARTER = 0.10, 0.25
LEAST = 0.002
KEY = ("benchmark", "size", "task", "way")
MACHINE = ("cores", "processor", "memory_bytes", "system")
Results = dict[str, Any]


def read(path: Path) -> Results:
    """A file of results; UsageError when it is none."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path} is not a JSON file of results") from None
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise UsageError(f"{path} has no results; it should be what `deltalog bench --json` wrote")
    if not all(_is_result(result) for result in found["results"]):
        raise UsageError(f"{path} has results in another form than `deltalog bench --json` writes")
    return found


def _is_result(result: Any) -> bool:
    return isinstance(result, dict) and {*KEY, "status", "runs"} <= result.keys() and result["task"] in TASKS


def compare(old: Results, new: Results) -> list[str]:
    """A line for each measurement that got slower."""
    before = {key(result): result for result in old["results"]}
    lines = (_slower(before[key(result)], result) for result in new["results"] if key(result) in before)
    return [line for line in lines if line]


def conclusion(old: Results, new: Results) -> str:
    """What can be said of the comparison as a whole: of how much, and of what it is not worth."""
    before = {key(result) for result in old["results"] if result["status"] == "ok"}
    both = [result for result in new["results"] if key(result) in before]
    if not both:
        return "nothing to compare: the old results have none of these benchmarks, sizes, tasks and ways"
    slower = len(compare(old, new))
    found = f"{slower:,} of {len(both):,} measurements" if slower else f"nothing of {len(both):,} measurements"
    return f"{found} got slower beyond the noise{_elsewhere(old, new)}"


def _elsewhere(old: Results, new: Results) -> str:
    machines = [{name: results.get("machine", {}).get(name) for name in MACHINE} for results in (old, new)]
    if machines[0] == machines[1]:
        return ""
    return "; but the old results are of another machine, so times say little"


def seconds(result: dict[str, Any]) -> list[float]:
    """The seconds of each run that are compared: those of the task itself; from scratch, those of the evaluation."""
    phase = TASKS[result["task"]].phase
    return [run["seconds"].get(phase, run["seconds"].get("evaluate", 0.0)) for run in result["runs"]]


def key(result: dict[str, Any]) -> tuple[str, ...]:
    """What a result is of."""
    return tuple(result[part] for part in KEY)


def _slower(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    name = " ".join(key(new))
    if old["status"] != "ok":
        return None
    if new["status"] != "ok":
        return (
            None if new["status"] in ("missing", "skipped") else f"{name}: was right, now {new['status']}: {new['why']}"
        )
    was, now = seconds(old), seconds(new)
    alone = len(was) == 1 or len(now) == 1
    least = min(was) * (1 + (QUARTER if alone else TENTH))
    if min(now) <= max([*was, least]) or min(now) - min(was) <= LEAST:
        return None
    return f"{name}: {min(now):.3f} s, was {min(was):.3f} s ({min(was):.3f} to {max(was):.3f})"
