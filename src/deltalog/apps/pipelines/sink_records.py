"""What a manifest says about sinks: what each of them has, so that the next run knows what it lacks.

A sink of changes has the changes of one predicate since it was new. Its record is where it is and what its rows mean;
options of the writer do not matter, nor does the place of the pipeline file, to which a path is relative. Any other
sink is written as a whole, and all of its definition counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deltalog.apps.pipelines.hadoop import Hadoop
from deltalog.apps.pipelines.spec import VERSION, SinkSpec, Spec
from deltalog.core.errors import DataError

Record = Mapping[str, Any]
LOCATION, TYPES = "location", "types"  # of a sink of changes: they do not tell one sink from another


def record(sink: SinkSpec, columns: Sequence[str], spec: Spec) -> dict[str, Any]:
    """The record of a sink whose columns have these names, as JSON."""
    if not sink.changes:
        found = {**asdict(sink), "columns": columns}
    else:
        what = {"predicate": sink.predicate, "columns": columns, "format": sink.format}
        found = {"changes": True, **_target(sink, spec), **what, "partition_by": sink.partition_by}
        found[LOCATION] = sink.path
    made: dict[str, Any] = json.loads(json.dumps(found))
    return made


def _target(sink: SinkSpec, spec: Spec) -> dict[str, Any]:
    """Where a sink is; one that has only options is told by its name, too."""
    if sink.path is not None:
        folder = Path(spec.file).absolute().parent.as_posix()
        return {"path": sink.path.removeprefix(f"file://{folder}/").rstrip("/")}
    return {"table": sink.table} if sink.table is not None else {"place": sink.place, "options": dict(sink.options)}


def same(now: Record, records: Iterable[Record], spark: Any) -> Record | None:
    """The record of the same sink among those of the last version, if it has one. If the pipeline file was moved, a
    sink of changes is the same if its folder was moved, too."""
    found = next((one for one in records if _identity(one) == _identity(now)), None)
    location = now.get(LOCATION)
    if found is None or location is None or found[LOCATION] == location or Hadoop(spark).exists(location):
        return found
    return None


def _identity(one: Record) -> Record:
    return {key: value for key, value in one.items() if key not in (LOCATION, TYPES)}


def check_new(sink: SinkSpec, now: Record, records: Iterable[Record], spark: Any) -> None:
    """DataError if a sink of changes that the last version does not have would get all facts as insertions, and has
    other changes already: then those since are missing, and deletions among them would be lost."""
    found, new = versions(sink, spark), "use a new folder or table"
    before = next((one for one in records if one.get(TYPES) and _place(one) == _place(now)), None)
    if not found and (before is None or "options" not in now):
        return
    other = [] if before is None else [key for key, value in _identity(now).items() if before.get(key) != value]
    if before is not None and other:
        was, now_is = _shown(before.get(other[0])), _shown(now[other[0]])
        raise DataError(
            f"{other[0]} was {was} in the changes that the sink has, and is {now_is} now; {new}, or put it back"
        )
    raise DataError(
        f"the sink has changes up to version {max(found)}, and those since are missing, because the pipeline did not "
        f"write them there; {new}"
    )


def _place(one: Record) -> Any:
    return one.get("path"), one.get("table"), one.get("place")


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def versions(sink: SinkSpec, spark: Any) -> dict[int, str]:
    """The versions that a sink of changes has, each with its folder or its partition."""
    prefix, names = f"{VERSION}=", dict[str, str]()
    if sink.path is not None:
        names = {status.name: status.uri for status in Hadoop(spark).children(sink.path)}
    elif sink.table is not None and spark.catalog.tableExists(sink.table):
        partitions = [row[0].partition("/")[0] for row in spark.sql(f"SHOW PARTITIONS {sink.table}").collect()]
        names = {name: name for name in partitions}
    numbers = {name.removeprefix(prefix): where for name, where in names.items() if name.startswith(prefix)}
    return {int(number): where for number, where in numbers.items() if number.isdecimal()}


def discard(sink: SinkSpec, version: int, spark: Any) -> None:
    """Discards what a sink of changes has of the version after the current one, which does not count."""
    found = versions(sink, spark)
    if max(found, default=0) > version + 1:
        raise DataError(
            f"the sink has changes of version {max(found)}, and the state is at version {version}: they are of another "
            "state; use a new sink, or the state that wrote it"
        )
    if version + 1 not in found:
        return
    if sink.path is not None:
        Hadoop(spark).delete(found[version + 1])
    else:
        spark.sql(f"ALTER TABLE {sink.table} DROP PARTITION ({VERSION} = {version + 1})")
