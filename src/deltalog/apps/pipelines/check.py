"""`deltalog pipeline check`: every mistake that can be found before a job runs.

`deltalog.apps.pipelines.spec` has found the mistakes of the file itself. Here its rules are parsed, and its sources and
sinks are compared with the rules, the file systems and the catalog: paths, columns, arities, types, predicates,
targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from deltalog.apps.pipelines.check_places import overlaps
from deltalog.apps.pipelines.failures import failed_in_spark, first_line, unlogged
from deltalog.apps.pipelines.hadoop import Hadoop
from deltalog.apps.pipelines.sources import KINDS, arguments, chosen, rdf_files, replaces, source_frame, stream_frame
from deltalog.apps.pipelines.spec import PipelineProblem, SinkSpec, SourceSpec, Spec
from deltalog.core.errors import DeltalogError, ProgramError, UsageError
from deltalog.core.naming import Names, split
from deltalog.core.rules import TRIPLES, TYPES, Atom, Pred, Variable
from deltalog.languages.load_program import read_documents
from deltalog.program import Program, analyse
from deltalog.program.column_names import ColumnNames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIMPLE = {  # Spark's types whose values deltalog has, and the values that they are compared with
    "string": "text",
    "char": "text",
    "varchar": "text",
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "float": "float",
    "double": "float",
    "decimal": "decimal",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "time",
    "timestamp_ntz": "time",
}
INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
BUILT_IN = ("parquet", "orc", "csv", "json", "text", "avro", "xml", "jdbc", "noop", "console")


@dataclass
class Checked:
    """What a check found: all problems, and the DataFrames of the sources, as Spark reads them (`loaded`), and as
    arguments of their predicates."""

    spec: Spec
    problems: list[PipelineProblem] = field(default_factory=list)
    loaded: dict[str, DataFrame] = field(default_factory=dict)  # by the names of sources
    frames: dict[str, DataFrame] = field(default_factory=dict)

    @property
    def errors(self) -> list[PipelineProblem]:
        return [problem for problem in self.problems if problem.severity == "error"]

    def say(self, place: str, message: str, severity: str = "error") -> None:
        self.problems.append(self.spec.problem(place, message, severity))


def check(spec: Spec, spark: Any) -> Checked:
    """Checks a pipeline in a session. No facts are read."""
    found = Checked(spec)
    program = check_rules(found)
    with unlogged():
        _check_with_spark(found, program, spark)
    return found


def _check_with_spark(found: Checked, program: Program | None, spark: Any) -> None:
    spec = found.spec
    for source in spec.sources:
        _check_source(source, found, spark)
    if spec.streams and spec.trigger != "availableNow":
        with reported(found, "stream.trigger", f"{spec.trigger!r} is neither availableNow nor an interval: "):
            spark.sparkContext._jvm.org.apache.spark.sql.streaming.Trigger.ProcessingTime(spec.trigger)
    _check_files(found, spark)
    if program is not None:
        _check_arities(found, program)
        _check_joins(found, program)
        known = known_predicates(found, program)
        for sink in spec.all_sinks:
            _check_columns(sink, found, program, known)
        for constraint in spec.constraints:
            if constraint.sink is None:
                _find(constraint.predicate, f"{constraint.place}.predicate", known, found)
    for sink in spec.all_sinks:
        _check_target(sink, found, spark)
    for place, message in overlaps(spec, spark):
        found.say(place, message)


# Rules.


def check_rules(found: Checked) -> Program | None:
    """The rules; None if there are errors, which are reported with their positions."""
    spec = found.spec
    missing = [path for path in spec.rules if not path.is_file()]
    for path in missing:
        found.say("rules", f"{path}: no such file")
    if missing:
        return None
    try:
        return analyse(read_documents(spec.programs).rules)
    except ProgramError as error:
        for diagnostic in error.diagnostics:
            found.say("rules", str(diagnostic))
    except UsageError as error:
        found.say("rules", str(error))
    return None


# Sources.


def _check_source(source: SourceSpec, found: Checked, spark: Any) -> None:
    if source.is_rdf:
        with reported(found, f"{source.place}.path"):
            rdf_files(source, spark)
        return
    if not _paths_exist(source.paths, f"{source.place}.path", found, spark):
        return
    with reported(found, source.place):
        frame = source_frame(source, spark)
        if all([_has_columns(source, frame, found), _has_types(source, frame, found)]):
            found.loaded[source.name], found.frames[source.name] = frame, arguments(source, frame)
        if source.stream:
            stream_frame(source, spark)


def _paths_exist(paths: Iterable[str], place: str, found: Checked, spark: Any) -> bool:
    fine = True
    for path in paths:
        with reported(found, place) as state:
            if not Hadoop(spark).glob(path):
                found.say(place, f"{path}: no such file or folder")
                fine = False
        fine = fine and not state.failed
    return fine


def _has_columns(source: SourceSpec, frame: DataFrame, found: Checked) -> bool:
    there, fine = {name.lower() for name in frame.columns}, True
    changes = source.changes
    wanted = [("columns", column.column) for column in source.columns or ()]
    wanted += [("changes", name) for name in (changes.version, changes.operation, changes.order) if name]
    for key, name in wanted:
        if name.lower() not in there:
            near = get_close_matches(name, frame.columns, 1)
            hint = f"did you mean {near[0]!r}? The" if near else "the"
            found.say(f"{source.place}.{key}", f"unknown column {name!r}; {hint} columns are {_listed(frame.columns)}")
            fine = False
    return fine


def _has_types(source: SourceSpec, frame: DataFrame, found: Checked) -> bool:
    """Casts are possible, and the values of all chosen columns are values of deltalog."""
    fields = {field.name.lower(): field for field in frame.schema.fields}
    fine = True
    for column in (column for column in chosen(source, frame.columns) if column.column.lower() in fields):
        place = f"{source.place}.columns"
        type_ = fields[column.column.lower()].dataType.simpleString()
        if column.type is not None and column.type not in KINDS:
            with reported(found, place, f"the type {column.type!r} of the column {column.column!r}: ") as state:
                cast = frame.select(frame[f"`{column.column}`"].cast(column.type)).schema.fields[0]
                type_ = cast.dataType.simpleString()
            if state.failed:
                fine = False
                continue
        if column.type not in KINDS and _simple(type_) is None:
            advice = (
                "leave it out with columns, or cast it with type" if source.columns is None else "cast it with type"
            )
            found.say(place, f"the column {column.column!r} is of the type {type_}, which no value has; {advice}")
            fine = False
        elif replaces(source, type_) and not _fits(source.nulls, type_):
            advice = "cast the column with type, or choose a value of its type"
            message = f"the column {column.column!r} has the type {type_}, which has no value {source.nulls}"
            found.say(f"{source.place}.nulls", f"{message}; {advice}")
            fine = False
    return _has_order(source, fields, found) and fine


def _fits(value: Any, type_: str) -> bool:
    """Whether a value that replaces nulls is one of a type."""
    if type_ in INTEGER_BITS:
        return float(value).is_integer() and -(2 ** (INTEGER_BITS[type_] - 1)) <= value < 2 ** (INTEGER_BITS[type_] - 1)
    if not type_.startswith("decimal"):
        return True
    precision, scale = map(int, type_.removeprefix("decimal(").removesuffix(")").split(","))
    number = Decimal(str(value))
    return number.is_finite() and number.adjusted() < precision - scale and number == round(number, scale)


def _has_order(source: SourceSpec, fields: Mapping[str, Any], found: Checked) -> bool:
    """The column of a version is no text, in which 10 is less than 9."""
    changes, fine = source.changes, True
    for name, severity in ((changes.version, "error"), (changes.order, "warning")):
        field = fields.get(name.lower()) if name else None
        if field is not None and _simple(field.dataType.simpleString()) == "text":
            message = f"the column {name!r} is text, and as text '10' is less than '9'; give it a type with schema"
            found.say(f"{source.place}.changes", message, severity)
            fine = fine and severity != "error"
    return fine


def _simple(type_: str) -> str | None:
    return SIMPLE.get(type_.partition("(")[0].partition(" ")[0])


def _check_files(found: Checked, spark: Any) -> None:
    """The other paths of a pipeline: ontologies exist, and the file systems of state and report are known."""
    spec = found.spec
    for path in spec.ontologies:
        _paths_exist([path], "ontologies", found, spark)
    for key, uri in (("state", spec.state), ("report", spec.report)):
        if uri is not None:
            with reported(found, key):
                _check_folder(uri, key, found, spark)


# Predicates.


def _source_pred(source: SourceSpec, found: Checked) -> Pred | None:
    frame = found.frames.get(source.name)
    return None if frame is None else Pred(split(source.predicate)[0], len(frame.columns))


def _check_arities(found: Checked, program: Program) -> None:
    """A source has as many columns as the atoms of its predicate have arguments."""
    spec = found.spec
    named = {split(sink.predicate)[0] for sink in spec.all_sinks} | {one.predicate for one in spec.constraints}
    for source in spec.sources:
        pred = _source_pred(source, found)
        if pred is None:
            continue
        given = split(source.predicate)[1]
        used = {given} if given is not None else {p.arity for p in program.preds if p.name == pred.name}
        if used and pred.arity not in used:
            atoms = " and ".join(f"{pred.name}/{arity}" for arity in sorted(used))
            has = f"{_counted(pred.arity, 'column')} ({_listed(found.frames[source.name].columns)})"
            found.say(
                f"{source.place}.columns", f"the source has {has}, and the rules use {atoms}; choose with columns"
            )
        elif not used and pred.name not in named and not program.has_wildcards:
            near = get_close_matches(pred.name, [p.name for p in program.preds if not p.hidden], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            message = f"no rule, sink or constraint reads {source.predicate!r}{hint}"
            found.say(f"{source.place}.predicate", message, "warning")


def _check_joins(found: Checked, program: Program) -> None:
    """A variable of a rule that is text in one source and a number in another never has a value in both."""
    types: dict[Pred, list[tuple[str, str, str | None]]] = {}
    for source in found.spec.sources:
        pred, frame = _source_pred(source, found), found.frames.get(source.name)
        if pred is not None and frame is not None and pred not in program.derived and pred not in types:
            types[pred] = [
                (f"{source.name}.{field.name}", field.dataType.simpleString(), _value_kind(field))
                for field in frame.schema.fields
            ]
    said: set[tuple[str, str]] = set()
    for rule in program.rules:
        atoms = [literal for literal in rule.body if isinstance(literal, Atom) and literal.pred in types]
        for (first, type_1, kind_1), (other, type_2, kind_2) in _joined(atoms, types):
            if None in (kind_1, kind_2) or kind_1 == kind_2 or (first, other) in said:
                continue
            said.add((first, other))
            message = f"{rule.span}: joins {first} ({type_1}) with {other} ({type_2}), and values of these types are "
            found.say("rules", f"{message}never equal; cast one of them with type", "warning")


def _value_kind(field: Any) -> str | None:
    kind: str | None = field.metadata.get("deltalog:kind")
    return None if kind == "cell" else kind or _simple(field.dataType.simpleString())


def _joined(atoms: Sequence[Atom], types: dict[Pred, Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of columns that have a variable in common."""
    first: dict[str, Any] = {}
    for atom in atoms:
        for term, column in zip(atom.terms, types[atom.pred], strict=True):
            if isinstance(term, Variable):
                known = first.setdefault(term.name, column)
                if known is not column:
                    yield known, column


@dataclass(frozen=True)
class KnownPreds:
    """The predicates of rules and sources. Sources whose columns are not known are `unread`; there may be others still
    (`open`) in RDF, or from rules with variables for predicates."""

    names: Names
    unread: frozenset[str]
    open: bool


def known_predicates(found: Checked, program: Program) -> KnownPreds:
    spec = found.spec
    preds = {pred for pred in program.preds.difference((TRIPLES, TYPES)) if not pred.hidden}
    sources = {source.predicate: _source_pred(source, found) for source in spec.sources if not source.is_rdf}
    unread = frozenset(split(name)[0] for name, pred in sources.items() if pred is None)
    is_open = program.has_wildcards or bool(spec.ontologies) or any(source.is_rdf for source in spec.sources)
    return KnownPreds(Names(preds.union(pred for pred in sources.values() if pred is not None)), unread, is_open)


def _find(predicate: str, place: str, known: KnownPreds, found: Checked) -> Pred | None:
    try:
        return known.names.find(predicate)
    except UsageError as problem:
        message = str(problem)
    if "several arities" not in message:
        if known.open or split(predicate)[0] in known.unread:
            return None
        if "did you mean" not in message:
            message = f"unknown predicate {predicate!r}; the predicates are {', '.join(known.names.by_name)}"
    found.say(place, message)
    return None


# Sinks.


def _check_columns(sink: SinkSpec, found: Checked, program: Program, known: KnownPreds) -> None:
    """The predicate of a sink, and its columns."""
    pred = _find(sink.predicate, f"{sink.place}.predicate", known, found)
    if pred is None:
        return
    names = {source.predicate: found.frames[source.name].columns for source in _with_frames(found)}
    columns = sink.columns or ColumnNames.of_sources(program.rules, names).of(pred)
    if pred.arity == 0:
        found.say(f"{sink.place}.predicate", f"{pred} has no arguments, and so no columns to write")
    elif len(columns) != pred.arity:
        needed = _counted(pred.arity, "argument")
        found.say(f"{sink.place}.columns", f"{pred.name} has {needed}; columns names {len(columns)}")
        return
    for name in sink.partition_by:
        if name.lower() not in map(str.lower, columns):
            message = f"unknown column {name!r}; the columns are {_listed(columns)}"
            found.say(f"{sink.place}.partition_by", message)
    if pred.arity and len(sink.partition_by) >= len(columns) and not sink.changes:
        found.say(f"{sink.place}.partition_by", "these are all columns, and Spark needs one that is not a partition")


def _with_frames(found: Checked) -> list[SourceSpec]:
    return [source for source in found.spec.sources if source.name in found.frames]


def _check_target(sink: SinkSpec, found: Checked, spark: Any) -> None:
    """Where a sink writes to: a known format and file system, and nothing there with mode error."""
    if sink.format is not None and sink.format not in BUILT_IN:
        _check_format(sink, found, spark)
    if sink.table is not None:
        with reported(found, f"{sink.place}.table"):
            if sink.mode == "error" and spark.catalog.tableExists(sink.table):
                found.say(f"{sink.place}.table", f"the table {sink.table} exists; {OTHER_MODE}")
    elif sink.path is not None:
        with reported(found, f"{sink.place}.path"):
            _check_folder(sink.path, f"{sink.place}.path", found, spark)
            if sink.mode == "error" and Hadoop(spark).exists(sink.path):
                found.say(f"{sink.place}.path", f"{sink.path} exists; {OTHER_MODE}")


OTHER_MODE = 'set mode = "overwrite", "append" or "ignore", or write to another place'


def _check_folder(uri: str, place: str, found: Checked, spark: Any) -> None:
    """What is written is a folder, which is neither a file nor below one."""
    file = Hadoop(spark).file_above(uri)
    if file is not None:
        found.say(place, f"{file} is a file, and a folder is needed here; use another place")


def _check_format(sink: SinkSpec, found: Checked, spark: Any) -> None:
    """Spark finds the class of a format when it is used: reading nothing tells whether there is one."""
    try:
        spark.read.format(sink.format).load()
    except Exception as problem:
        if "DATA_SOURCE_NOT_FOUND" in str(problem):
            found.say(f"{sink.place}.format", f"Spark has no format {sink.format!r}; add its jar (spark.jars.packages)")


# Messages.


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


class reported:
    """A context whose DeltalogErrors and errors of Spark become problems at a place."""

    def __init__(self, found: Checked, place: str, prefix: str = "") -> None:
        self._found, self._place, self._prefix = found, place, prefix
        self.failed = False

    def __enter__(self) -> reported:
        return self

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> bool:
        if problem is None or not (isinstance(problem, DeltalogError) or failed_in_spark(problem)):
            return False
        text = str(problem) if isinstance(problem, DeltalogError) else first_line(problem)
        self.failed = True
        self._found.say(self._place, self._prefix + text)
        return True
