"""The papers' figures, from papers.json: each with its table, its system, and the machine that it was measured on.

They are facts to compare orders of magnitude with, not races: other machines, in part other data (the remark says so).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("papers.json")


@dataclass(frozen=True)
class Figure:
    benchmark: str
    task: str
    source: str
    machine: str
    system: str
    seconds: float
    facts: int | None
    memory_bytes: int | None
    remark: str

    @property
    def facts_text(self) -> str:
        return f"{self.facts:,}" if self.facts else ""


def figures(path: Path = FILE) -> list[Figure]:
    """All figures, in the order of the file."""
    saved = json.loads(path.read_text("utf-8"))
    found = []
    for table in saved["tables"]:
        machine = saved["machines"][table["machine"]]
        for system, tasks in table["seconds"].items():
            for task, seconds in tasks.items():
                memory = table.get("memory_bytes", {}).get(system)
                known = (table["benchmark"], task, table["source"], machine, system, seconds)
                found.append(Figure(*known, table.get("facts"), memory, table["remark"]))
    return found
