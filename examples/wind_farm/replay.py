"""Replays the readings of a morning, one file after the other, and prints what each of them changes."""

import csv
import sys
from pathlib import Path

from deltalog import IRI, KnowledgeBase

HERE = Path(__file__).parent
WIND = "http://example.org/wind#"
MEASURED = WIND + "hasAirTemperatureMeasurement"


def readings(path: Path, op: str) -> list[tuple[IRI, float]]:
    with path.open(encoding="utf-8") as file:
        return [(IRI(row["turbine"]), float(row["degrees"])) for row in csv.DictReader(file) if row["op"] == op]


def short(rows) -> str:
    return ", ".join(sorted(turbine.removeprefix(WIND) for (turbine, *_) in rows)) or "-"


kb = KnowledgeBase(HERE / "wind.rules")
kb.load(HERE / "layout.ttl")
for path in sorted((HERE / "readings").glob("*.csv")):
    change = kb.update(add={MEASURED: readings(path, "I")}, remove={MEASURED: readings(path, "D")})
    anomaly, calm = change.added.get(WIND + "SensorAnomaly", ()), change.removed.get(WIND + "SensorAnomaly", ())
    facts = sum(change.added.counts().values()) + sum(change.removed.counts().values())
    print(f"{path.stem}  {facts:3} facts changed; anomaly: {short(anomaly)}; over: {short(calm)}")
if len(sys.argv) > 1:
    kb.write(sys.argv[1])
