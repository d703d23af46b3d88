"""Places of a pipeline that overlap: what is written into one of them would destroy or change the other.

Sinks, the state and the report are written; sources and ontologies are read. A place overlaps another one if both are
the same, or if one is inside the other. A pattern overlaps what its wildcards could match. The place of a table is the
location that the catalog has for it, or would give it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from deltalog.apps.pipelines.failures import failed_in_spark
from deltalog.apps.pipelines.hadoop import Hadoop, escaped
from deltalog.apps.pipelines.spec import SinkSpec, Spec
from deltalog.core.errors import UsageError

WILDCARD = re.compile(r"[\\*?\[{]")


@dataclass(frozen=True, slots=True)
class Place:
    """A path of a pipeline: the key that has it, the path, and its whole URI in segments, which may have wildcards; or
    the location of a table, which has a name."""

    key: str
    shown: str
    segments: tuple[str, ...]
    is_written: bool
    table: tuple[str, ...] = ()


def overlaps(spec: Spec, spark: Any) -> Iterator[tuple[str, str]]:
    """Pairs of overlapping places: the key of one that is written, and what is wrong with it."""
    for one, other in combinations(_places(spec, spark), 2):
        same_table = bool(one.table) and one.table == other.table  # reported by its name
        if (one.is_written or other.is_written) and not same_table and _overlap(one, other, spark):
            first, second = (one, other) if one.is_written else (other, one)
            yield first.key, f"{_relation(first, second)}; use another place"
    yield from _table_overlaps(spec, spark)


def _relation(one: Place, other: Place) -> str:
    how, depth = "writes" if other.is_written else "reads", len(one.segments) - len(other.segments)
    if depth == 0:
        return f"{other.key} {how} {other.shown}, too"
    return f"{one.shown} {'is inside' if depth > 0 else 'contains'} {other.shown}, which {other.key} {how}"


def _places(spec: Spec, spark: Any) -> list[Place]:
    paths = [(f"{sink.place}.path", escaped(path), True) for sink in spec.all_sinks if (path := _sink_path(sink))]
    paths += [(key, escaped(uri), True) for key, uri in (("state", spec.state), ("report", spec.report)) if uri]
    paths += [(f"{source.place}.path", path, False) for source in spec.sources for path in source.paths]
    paths += [("ontologies", path, False) for path in spec.ontologies]
    found = ((key, path, _segments(path, spark), is_written) for key, path, is_written in paths)
    places = [Place(key, path, segments, is_written) for key, path, segments, is_written in found if segments]
    return places + list(_table_places(spec, spark))


def _sink_path(sink: SinkSpec) -> str | None:
    return sink.path or next((value for key, value in sink.options.items() if key.lower() == "path"), None)


def _segments(path: str, spark: Any) -> tuple[str, ...]:
    """The file system of a path, then its names; none if the file system is not known, which the check reports."""
    try:
        whole = Hadoop(spark).qualified(path)
    except UsageError:
        return ()
    system, rest = re.fullmatch(r"([^/]*(?://[^/]*)?)(/?.*)", whole, re.DOTALL).groups()  # type: ignore[union-attr]
    return system.removesuffix("//"), *(name for name in posixpath.normpath(rest).split("/") if name)


def _overlap(one: Place, other: Place, spark: Any) -> bool:
    return all(_may_match(*pair, spark) for pair in zip(one.segments, other.segments, strict=False))


def _may_match(one: str, other: str, spark: Any) -> bool:
    """Whether two names, each of them possibly with wildcards, may be the same."""
    if one == other:
        return True
    patterns = [name for name in (one, other) if WILDCARD.search(name)]
    if len(patterns) != 1:
        return len(patterns) == 2
    name = other if patterns[0] is one else one
    try:
        return bool(spark.sparkContext._jvm.org.apache.hadoop.fs.GlobPattern(patterns[0]).matches(name))
    except Exception as problem:
        if not failed_in_spark(problem):
            raise
        return True  # a pattern that goes on after a /, such as {a/b,c}


# Tables.


def _table_overlaps(spec: Spec, spark: Any) -> Iterator[tuple[str, str]]:
    sources = {_table(source.table, spark): f"a source of this pipeline ({source.place})" for source in spec.sources}
    for sink in spec.all_sinks:
        if sink.table is not None:
            name = _table(sink.table, spark)
            if name in sources:
                yield f"{sink.place}.table", f"{sink.table} is {sources[name]}; write to another table"
            sources.setdefault(name, f"the table of {sink.place}, too")


def _table_places(spec: Spec, spark: Any) -> Iterator[Place]:
    """The locations of tables."""
    tables = [(f"{sink.place}.table", sink.table, True) for sink in spec.all_sinks if _sink_path(sink) is None]
    tables += [(f"{source.place}.table", source.table, False) for source in spec.sources]
    for key, name, is_written in tables:
        location = _location(name, spark) if name is not None else None
        if name is not None and location is not None:
            segments = _segments(escaped(location), spark)
            if segments:
                yield Place(key, f"{name} ({location})", segments, is_written, _table(name, spark))


def _location(name: str, spark: Any) -> str | None:
    """Where the files of a table are, or of a new table will be; None if the catalog does not say."""
    try:
        if spark.catalog.tableExists(name):
            rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
            return next((row["data_type"] for row in rows if row["col_name"] == "Location"), None) or None
        catalog, database, table = _table(name, spark)
        folder = spark.catalog.getDatabase(f"`{database}`").locationUri if catalog == "spark_catalog" else None
        return f"{folder}/{table}" if folder else None
    except Exception as problem:  # a name that is none, or no such database: the check of sources and sinks reports it
        if not failed_in_spark(problem) and not isinstance(problem, ValueError):
            raise
        return None


def _table(name: str | None, spark: Any) -> tuple[str, ...]:
    """The whole name of a table, with its catalog and database."""
    if name is None:
        return ()
    parts = re.findall(r"`((?:[^`]|``)+)`|([^.`]+)", name)
    names = [(quoted or plain).lower() for quoted, plain in parts]
    default = [spark.catalog.currentCatalog().lower(), spark.catalog.currentDatabase().lower()]
    return (*default[: max(0, 3 - len(names))], *names)
