"""Pipeline files: TOML to frozen dataclasses, with every mistake of the file reported.

`read_spec` needs no Spark. What only the data can tell (columns, paths, types) is in `deltalog.apps.pipelines.check`.

A relative path is relative to the folder of the file, and becomes a `file:` URI. An absolute path or a URI is left to
Spark.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from deltalog.apps.pipelines.hadoop import escaped
from deltalog.core.errors import UsageError
from deltalog.formats.files import local_path

T = TypeVar("T")

ENGINES = ("auto", "spark")
MODES = ("error", "overwrite", "append", "ignore")
ACTIONS = ("fail", "warn", "quarantine")
RDF_FORMATS = ("rdf", "ntriples", "nquads", "turtle", "rdfxml")  # read by deltalog's parsers, in executors
ENDINGS = {  # formats that the name of a file suggests
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".orc": "orc",
    ".avro": "avro",
    ".nt": "ntriples",
    ".nq": "nquads",
    ".ttl": "turtle",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
}
OPERATION, VERSION = "_op", "_version"  # the columns that a sink of changes adds


@dataclass(frozen=True, slots=True)
class PipelineProblem:
    """A mistake in a pipeline file, or a warning about it; `place` is a dotted key such as `sources.edge.path`."""

    file: str
    place: str
    message: str
    severity: str = "error"  # or "warning"

    def __str__(self) -> str:
        warning = "warning: " if self.severity == "warning" else ""
        return f"{self.file}: {f'{self.place}: ' if self.place else ''}{warning}{self.message}"


class PipelineError(UsageError):
    """The mistakes of a pipeline file; `problems` has them all."""

    def __init__(self, problems: Sequence[PipelineProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source: its name there, its name in the pipeline, and the type to cast it to, if any."""

    column: str
    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """How a run finds out what has changed in a source since the last one."""

    kind: str = "full"  # full | files | version | operation
    version: str = ""  # the column of versions
    operation: str = ""  # the column of operations
    insert: tuple[str, ...] = ("I", "U")
    delete: tuple[str, ...] = ("D",)
    order: str | None = None  # the column that orders operations


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A table `[sources.NAME]`. `columns` is None for all columns."""

    name: str
    predicate: str
    format: str | None = None
    paths: tuple[str, ...] = ()
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    columns: tuple[SourceColumn, ...] | None = None
    nulls: str | int | float | bool = "error"
    base: str | None = None
    shared_blank_nodes: bool = False
    strict: bool = False
    changes: Changes = Changes()
    stream: bool = False

    @property
    def is_rdf(self) -> bool:
        """Whether deltalog's parsers read it: its predicates are in the data."""
        return self.format in RDF_FORMATS

    @property
    def place(self) -> str:
        return f"sources.{self.name}"

    def option(self, name: str) -> str | None:
        """The value of an option of Spark's reader, whose names do not differ by case."""
        return next((value for key, value in self.options.items() if key.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A table `[sinks.NAME]`, or the `sink` of a constraint. `columns` is None for the names of the predicate."""

    name: str
    predicate: str
    format: str | None = None
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str = "error"
    partition_by: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    changes: bool = False
    only: str = "all"  # or "derived"
    place: str = ""


@dataclass(frozen=True, slots=True)
class ConstraintSpec:
    """A table `[constraints.NAME]`: a predicate whose facts are violations, of which `limit` are allowed."""

    name: str
    predicate: str
    limit: int = 0
    action: str = "fail"
    sample: int = 5
    sink: SinkSpec | None = None

    @property
    def place(self) -> str:
        return f"constraints.{self.name}"


@dataclass(frozen=True, slots=True)
class Spec:
    """A pipeline file."""

    file: str
    name: str
    rules: tuple[Path, ...] = ()
    program: str | None = None
    ontologies: tuple[str, ...] = ()
    engine: str = "auto"
    state: str | None = None
    report: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    trigger: str = "availableNow"
    sources: tuple[SourceSpec, ...] = ()
    sinks: tuple[SinkSpec, ...] = ()
    constraints: tuple[ConstraintSpec, ...] = ()

    @property
    def programs(self) -> list[str | Path]:
        """What KnowledgeBase takes: files, and the inline program."""
        return [*self.rules, *([self.program] if self.program is not None else [])]

    @property
    def streams(self) -> tuple[SourceSpec, ...]:
        return tuple(source for source in self.sources if source.stream)

    @property
    def all_sinks(self) -> tuple[SinkSpec, ...]:
        """The sinks, and those of constraints."""
        return (*self.sinks, *(one.sink for one in self.constraints if one.sink is not None))

    def problem(self, place: str, message: str, severity: str = "error") -> PipelineProblem:
        return PipelineProblem(self.file, place, message, severity)


def read_spec(path: str | Path, overrides: Iterable[str] = ()) -> Spec:
    """A pipeline file, with overrides such as `sources.edge.path=other`; PipelineError has all of its mistakes."""
    file = local_path(path)
    reader = _Reader(str(path), [])
    values = _parsed(file, reader)
    for override in overrides:
        _override(values, override, reader)
    spec = _spec(_Table(values, "", reader), file)
    if reader.problems:
        raise PipelineError(reader.problems)
    return spec


def _parsed(file: Path, reader: _Reader) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as problem:
        raise UsageError(f"cannot read the pipeline {file}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise UsageError(f"the pipeline {file} is not UTF-8 text (byte {problem.start}); save it as UTF-8") from None
    except tomllib.TOMLDecodeError as problem:
        raise PipelineError([PipelineProblem(reader.file, "", f"this is not TOML: {problem}")]) from None


def _override(values: dict[str, Any], override: str, reader: _Reader) -> None:
    """Sets one key: the value is TOML, or else plain text."""
    key, equals, text = override.partition("=")
    expected = f"expected KEY=VALUE, such as sources.edge.path=in/edges, got {override!r}"
    if not equals or not key.strip():
        reader.say("--set", expected)
        return
    try:
        path = _keys(tomllib.loads(f"{key} = 0"))
    except tomllib.TOMLDecodeError:
        reader.say("--set", expected)
        return
    for name in path[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            reader.say("--set", f"{key.strip()!r} goes through {name!r}, which is a value and not a table")
            return
    values[path[-1]] = _value(text)


def _keys(nested: dict[str, Any]) -> list[str]:
    name, inner = next(iter(nested.items()))
    return [name, *(_keys(inner) if isinstance(inner, dict) else [])]


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


# Reading tables.


@dataclass(frozen=True, slots=True)
class _Reader:
    """The problems found so far."""

    file: str
    problems: list[PipelineProblem]

    def say(self, place: str, message: str) -> None:
        self.problems.append(PipelineProblem(self.file, place, message))


@dataclass(slots=True)
class _Table:
    """A table of the file. What is asked for is known; `end` reports all other keys."""

    values: dict[str, Any]
    place: str
    reader: _Reader
    asked: set[str] = field(default_factory=set)

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def say(self, key: str, message: str) -> None:
        self.reader.say(self.at(key) if key else self.place, message)

    def has(self, key: str) -> bool:
        return key in self.values

    def get(self, key: str, default: T, is_fine: Callable[[Any], bool], expected: str) -> Any | T:
        """The value of a key; the default if it is missing, or wrong, which is reported."""
        self.asked.add(key)
        if key not in self.values:
            return default
        value = self.values[key]
        if is_fine(value):
            return value
        self.say(key, f"expected {expected}, got {_shown(value)}")
        return default

    def text(self, key: str, default: T = None) -> str | T:  # type: ignore[assignment]
        return self.get(key, default, _is_text, "text in quotes")

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; one text is a list of one."""
        found = self.get(key, None, lambda v: _is_text(v) or _is_texts(v), "a list of texts")
        return (found,) if isinstance(found, str) else None if found is None else tuple(found)

    def flag(self, key: str) -> bool:
        return bool(self.get(key, False, lambda v: isinstance(v, bool), "true or false"))

    def number(self, key: str, default: int) -> int:
        def is_fine(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0

        return int(self.get(key, default, is_fine, "a non-negative integer"))

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        value = self.get(key, default, _is_text, f"one of {', '.join(choices)}")
        if value in choices:
            return str(value)
        self.say(key, f"expected one of {', '.join(choices)}, got {value!r}{_near(value, choices)}")
        return default

    def settings(self, key: str) -> dict[str, str]:
        """A table of options; numbers and booleans become text, as Spark has them."""
        found: dict[str, Any] = self.get(key, {}, lambda v: isinstance(v, dict), "a table of options")
        options = {}
        for name, value in _flat(found):
            if isinstance(value, str | int | float):
                options[name] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                self.say(f"{key}.{name}", f"expected text, a number or a boolean, got {_shown(value)}")
        return options

    def table(self, key: str) -> _Table | None:
        found = self.get(key, None, lambda v: isinstance(v, dict), "a table")
        return None if found is None else _Table(found, self.at(key), self.reader)

    def tables(self, key: str) -> list[tuple[str, _Table]]:
        """The tables `[key.name]`."""
        found = self.table(key)
        if found is None:
            return []
        made = [(name, found.table(name)) for name in found.values]
        return [(name, table) for name, table in made if table is not None]

    def end(self) -> None:
        for key in (key for key in self.values if key not in self.asked):
            hint = _near(key, self.asked) or f"; the keys are {', '.join(sorted(self.asked))}"
            self.say(key, f"unknown key{hint}")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Dotted keys that were not quoted are tables in TOML: `spark.sql.x = 1` is the option `spark.sql.x`."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _shown(value: Any) -> str:
    text = "a table" if isinstance(value, dict) else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _near(word: str, choices: Collection[str]) -> str:
    near = get_close_matches(str(word), sorted(choices), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


# The tables of a pipeline.


def _spec(table: _Table, file: Path) -> Spec:
    folder = file.absolute().parent

    def uri(path: str | None) -> str | None:
        return None if path is None else resolved(path, folder)

    rules, program = table.texts("rules") or (), table.text("program")
    if not rules and program is None and not (table.has("rules") or table.has("program")):
        table.say("", 'no rules; write rules = ["rules.dl"], or program = """..."""')
    spec = Spec(
        file=table.reader.file,
        name=table.text("name", file.stem),
        rules=tuple(_rule_file(path, file.parent, table) for path in rules),
        program=program,
        ontologies=tuple(resolved_pattern(path, folder) for path in table.texts("ontologies") or ()),
        engine=table.choice("engine", ENGINES, "auto"),
        state=uri(table.text("state")),
        report=uri(table.text("report")),
        spark=table.settings("spark"),
        trigger=_trigger(table.table("stream")),
        sources=tuple(_source(name, one, folder) for name, one in table.tables("sources")),
        sinks=tuple(_sink(name, one, folder) for name, one in table.tables("sinks")),
        constraints=tuple(_constraint(name, one, folder) for name, one in table.tables("constraints")),
    )
    table.end()
    _check_whole(spec, table)
    return spec


def _rule_file(path: str, folder: Path, table: _Table) -> Path:
    """Rules are read by the driver, from a local file."""
    local = path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
    if has_scheme(local):
        table.say("rules", f"{path}: rules are local files of the driver; copy it, or use spark-submit --files")
    return folder / local


def _trigger(table: _Table | None) -> str:
    if table is None:
        return "availableNow"
    trigger = table.text("trigger", "availableNow")
    table.end()
    return trigger


def _source(name: str, table: _Table, folder: Path) -> SourceSpec:
    path, paths, catalog = table.texts("path"), table.texts("paths"), table.text("table")
    if path is not None and paths is not None:
        table.say("paths", "both path and paths are given; keep one of them")
    where = paths if path is None else path
    if where is not None and catalog is not None:
        table.say("table", "both a path and a table are given; keep one of them")
    format = _format(table, where or (), catalog)
    source = SourceSpec(
        name=name,
        predicate=table.text("predicate", name),
        format=format,
        paths=tuple(resolved_pattern(one, folder) for one in where or ()),
        table=catalog,
        options=table.settings("options"),
        schema=table.text("schema"),
        columns=_columns(table),
        nulls=table.get("nulls", "error", _is_value, "error, drop, or the text or number that replaces nulls"),
        base=table.text("base"),
        shared_blank_nodes=table.flag("shared_blank_nodes"),
        strict=table.flag("strict"),
        changes=_changes(table),
        stream=table.flag("stream"),
    )
    table.end()
    if not source.is_rdf and not any(map(table.has, ("path", "paths", "table", "options"))):
        table.say("", "nothing to read: give a path, a table, or options")
    if source.changes.kind == "files" and not where:
        table.say("changes", 'only a source with a path has files; set "full", or { version = ... }')
    if source.is_rdf:
        _check_rdf(source, table)
    else:
        for key in ("base", "shared_blank_nodes", "strict"):
            if table.has(key):
                table.say(key, f"this is an option of RDF, and the format is {format or 'that of a table'}")
    return source


def _check_rdf(source: SourceSpec, table: _Table) -> None:
    for key in ("predicate", "table", "options", "columns", "schema", "nulls"):
        if table.has(key):
            table.say(key, f"a source of the format {source.format} has triples: its predicates are in the data")
    if not any(map(table.has, ("path", "paths", "table"))):
        table.say("", f"a source of the format {source.format} needs a path")
    if source.base is not None:
        from deltalog.formats.documents import Reading

        try:
            Reading(source.base)
        except UsageError as problem:
            table.say("base", str(problem))


def _format(table: _Table, paths: Sequence[str], catalog: str | None) -> str | None:
    """The format; a file name that suggests another one than the default needs it written out."""
    given = table.text("format")
    if given is not None and catalog is not None and given in RDF_FORMATS:
        table.say("format", f"a catalog table is not read as {given}; leave out the format")
    if given is not None or catalog is not None or table.has("format"):
        return given
    if not paths and not table.has("path") and not table.has("paths") and table.has("options"):
        table.say("format", 'there are only options: say what reads them, such as format = "jdbc"')
    for path in paths:
        stem = re.sub(r"\.(gz|bz2|zst)$", "", path.lower())
        found = next((format for ending, format in ENDINGS.items() if stem.endswith(ending)), None)
        if found:
            table.say("format", f'{path} looks like {found}, and the default is parquet; write format = "{found}"')
            break
    return "parquet"


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _columns(table: _Table) -> tuple[SourceColumn, ...] | None:
    """Each is the name of a column, or { column, as, type }."""
    listed = table.get("columns", None, lambda v: isinstance(v, list) and bool(v), "a list of columns")
    if listed is None:
        return None
    columns = [_column(value, number, table) for number, value in enumerate(listed, 1)]
    found = tuple(column for column in columns if column is not None)
    _check_distinct([column.name for column in found], table, "columns")
    return found


def _column(value: Any, number: int, table: _Table) -> SourceColumn | None:
    if _is_text(value):
        return SourceColumn(value, value)
    if not isinstance(value, dict):
        expected = 'the name of a column, or { column = "name", as = "name", type = "long" }'
        table.say("columns", f"column {number}: expected {expected}, got {_shown(value)}")
        return None
    inner = _Table(value, f"{table.at('columns')}[{number}]", table.reader)
    column = inner.text("column")
    made = None if column is None else SourceColumn(column, inner.text("as", column), inner.text("type"))
    if not inner.has("column"):
        inner.say("", 'which column? Write { column = "name", ... }')
    inner.asked |= {"as", "type"}
    inner.end()
    return made


def _check_distinct(names: Sequence[str], table: _Table, key: str) -> None:
    """Spark's names of columns do not differ by case alone."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            table.say(key, f"there are two columns {name!r}; Spark does not tell upper from lower case")
        seen.add(name.lower())


def _changes(table: _Table) -> Changes:
    table.asked.add("changes")
    value = table.values.get("changes", "full")
    if value in ("full", "files"):
        return Changes(value)
    if isinstance(value, dict) and value:
        return _column_changes(_Table(value, table.at("changes"), table.reader))
    expected = '"full", "files", { version = "column" } or { operation = "column" }'
    table.say("changes", f"expected {expected}, got {_shown(value)}")
    return Changes()


def _column_changes(table: _Table) -> Changes:
    """Changes that a column of the source tells."""
    if table.has("version") and table.has("operation"):
        table.say("", "both a version and an operation are given; keep one of them (a feed has order = ...)")
        return Changes()
    made = Changes("version", version=table.text("version", "")) if table.has("version") else _feed(table)
    if not table.has("operation"):
        table.asked.add("version")
    table.end()
    return made


def _feed(table: _Table) -> Changes:
    insert, delete, default = table.texts("insert"), table.texts("delete"), Changes()
    for key, values in (("insert", insert), ("delete", delete)):
        if values == ():
            table.say(key, "the list is empty; leave it out for the default, or give the values of the column")
    changes = Changes(
        "operation",
        operation=table.text("operation", ""),
        insert=insert or default.insert,
        delete=delete or default.delete,
        order=table.text("order"),
    )
    for value in sorted(set(changes.insert) & set(changes.delete)):
        table.say("delete", f"{value!r} is a value of insert, too; a row is either inserted or deleted")
    if not table.has("operation"):
        table.say("", 'which column? Write { version = "column" } or { operation = "column" }')
    return changes


def _sink(name: str, table: _Table, folder: Path, predicate: str | None = None) -> SinkSpec:
    """A sink; that of a constraint has the predicate of the constraint."""
    path, catalog = table.text("path"), table.text("table")
    if path is not None and catalog is not None:
        table.say("table", "both a path and a table are given; keep one of them")
    changes = table.flag("changes") if predicate is None else False
    sink = SinkSpec(
        name=name,
        predicate=table.text("predicate", name) if predicate is None else predicate,
        format=table.text("format", None if catalog else "parquet"),
        path=None if path is None else resolved(path, folder),
        table=catalog,
        options=table.settings("options"),
        mode=table.choice("mode", MODES, "append" if changes else "error"),
        partition_by=table.texts("partition_by") or (),
        columns=table.texts("columns"),
        changes=changes,
        only=table.choice("only", ("all", "derived"), "all") if predicate is None else "all",
        place=table.place,
    )
    table.end()
    if not any(map(table.has, ("path", "table", "options"))):
        table.say("", "nowhere to write to: give a path, a table, or options")
    if sink.columns is not None:
        _check_distinct(sink.columns, table, "columns")
    if changes:
        _check_changes(sink, table)
    return sink


def _check_changes(sink: SinkSpec, table: _Table) -> None:
    if sink.mode != "append":
        table.say("mode", f"changes are appended; leave out the mode {sink.mode}")
    if sink.only == "derived":
        table.say("only", "changes are those of all facts; leave out only, or changes")
    for name in sink.columns or ():
        if name.lower() in (OPERATION, VERSION):
            table.say("columns", f"a sink of changes has a column {name!r} of its own; choose another name")


def _constraint(name: str, table: _Table, folder: Path) -> ConstraintSpec:
    predicate, action = table.text("predicate", name), table.choice("action", ACTIONS, "fail")
    sink = table.table("sink")
    constraint = ConstraintSpec(
        name=name,
        predicate=predicate,
        limit=table.number("limit", 0),
        action=action,
        sample=table.number("sample", 5),
        sink=None if sink is None else _sink(name, sink, folder, predicate),
    )
    table.end()
    if action == "quarantine" and not table.has("sink"):
        table.say("sink", 'quarantine needs a sink, such as sink = { path = "quarantine/orphans", mode = "overwrite" }')
    if action != "quarantine" and sink is not None:
        table.say("sink", f'the action {action} writes no violations; choose action = "quarantine", or leave out sink')
    return constraint


def _check_whole(spec: Spec, table: _Table) -> None:
    """Checks across tables."""
    if not spec.sinks and not table.has("sinks"):
        table.say("", "no sinks: nothing would be written; add a table [sinks.NAME]")
    for sink in spec.sinks:
        if sink.changes and spec.state is None:
            table.say(f"{sink.place}.changes", 'changes are differences between runs: say where, with state = "..."')
    for source in spec.sources:
        if source.changes.kind != "full" and spec.state is None and not source.stream:
            table.say(f"{source.place}.changes", 'changes are differences between runs: say where, with state = "..."')
    written: dict[str, str] = {}
    for sink in spec.all_sinks:
        target = sink.path or sink.table
        if target is not None and (other := written.setdefault(target, sink.place)) != sink.place:
            table.say(
                f"{sink.place}.{'path' if sink.path else 'table'}", f"{other} writes there, too; choose another place"
            )


# Paths.


def has_scheme(path: str) -> bool:
    """Whether a path is a URI with a scheme. One letter is none."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) is not None


def resolved(path: str, folder: Path) -> str:
    """The URI of a path of the file: relative paths are local files below the folder."""
    if has_scheme(path) or path.startswith("/"):
        return path
    return f"file://{folder.as_posix()}/{path.removeprefix('./')}"


def resolved_pattern(path: str, folder: Path) -> str:
    """The URI of a path with wildcards; those in the name of the folder stand for themselves."""
    return resolved(path, Path(escaped(folder.as_posix())))
