"""Writing facts to a folder: one file for each predicate, or all in one file of triples, such as `facts.nt`.

    csv, tsv    cells as `deltalog.formats.csv_cells` says; a header if it is asked for
    parquet     columns as `deltalog.formats.frames` says
    nt          p(x, y) is the triple x p y, and C(x) is x rdf:type C; other arities are an error
    nq          the same, and the triples of named graphs
    ttl, trig   the same two as Turtle and TriG, with prefixes; relative IRIs are an error
    jsonl       an array of values for each fact (`deltalog.formats.jsonl`)

The files can be read back with `deltalog.formats.read`. A predicate whose name is not a safe file name (such as an IRI)
gets a safe one, and `predicates.tsv` maps the names back. The folder appears under its name only when it is complete:
until then it is a hidden folder beside it, which is deleted if something fails. (For an existing empty folder, the
hidden folder is inside, and its files are moved at the end.)
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deltalog.core.arguments import short_repr
from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError, UsageError
from deltalog.core.rules import Pred
from deltalog.formats.columns import Columns
from deltalog.formats.csv_cells import print_cell
from deltalog.formats.files import name_of
from deltalog.formats.formats import DELIMITERS, OUTPUT_FORMATS, TRIPLE_FORMATS, TURTLE_FORMATS, OutputForm
from deltalog.formats.table_files import NAMES


def write(out: str | os.PathLike[str], facts: Mapping[Pred, Columns], dictionary: Dictionary, form: OutputForm) -> None:
    """Write facts to a folder that does not exist yet, or is empty."""
    format = form.format
    check_format(format)
    if format in TURTLE_FORMATS:
        from deltalog.formats.turtle import write_turtle

        whole(Path(out), lambda folder: write_turtle(folder / f"facts.{format}", facts, dictionary, form.prefixes))
    elif format in TRIPLE_FORMATS:
        from deltalog.formats.triples import write_triples

        whole(Path(out), lambda folder: write_triples(folder / f"facts.{format}", facts, dictionary))
    else:
        whole(Path(out), lambda folder: _write_files(folder, facts, dictionary, form))


def check_format(format: str) -> None:
    """Refuses a format that facts cannot be written in."""
    if not isinstance(format, str) or format not in OUTPUT_FORMATS:
        raise UsageError(f"unknown format {short_repr(format)}: choose one of {', '.join(OUTPUT_FORMATS)}")


def check_output(out: Path) -> None:
    """Refuses a folder that is not empty; also used before the work starts."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out}: exists and is not an empty folder; nothing was written. Choose another, or empty it")


def whole(out: Path, fill: Callable[[Path], None]) -> None:
    """Fills a folder, which appears under its name when it is complete, and not at all on failure."""
    try:
        check_output(out)
        beside = out if out.is_dir() else out.parent
        beside.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".deltalog-", suffix=".partial", dir=beside))
        try:
            fill(partial)
            _reveal(partial, out)
        finally:
            _drop(partial)
    except OSError as problem:
        raise DataError(f"{out}: cannot be written ({problem.strerror or problem})") from None


def _reveal(partial: Path, out: Path) -> None:
    """Renames a complete folder. If the target exists (it may be a mounted volume), the files are moved into it."""
    if out.is_dir():
        _move_into(out, sorted(partial.iterdir()))
    else:
        partial.chmod(0o777 & ~_umask())
        os.replace(partial, out)


def _move_into(out: Path, files: Sequence[Path]) -> None:
    """All of them or none."""
    try:
        for file in files:
            os.replace(file, out / file.name)
    except BaseException:
        for file in files:
            _remove(out / file.name)
        raise


def _remove(path: Path) -> None:
    """Deletes a file or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _drop(partial: Path) -> None:
    """Deletes a folder in which executors may still be writing: it is renamed first."""
    gone = partial.with_suffix(".gone")
    with suppress(OSError):
        os.replace(partial, gone)
    for _ in range(3):  # a file that is being created may still appear
        shutil.rmtree(gone, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_files(folder: Path, facts: Mapping[Pred, Columns], dictionary: Dictionary, form: OutputForm) -> None:
    names = safe_names(facts)
    for pred, columns in facts.items():
        path = folder / f"{names[pred]}.{form.format}"
        try:
            write_file(path, pred, columns, dictionary, form)
        except DataError as problem:
            raise DataError(f"{pred}: {problem}") from None
    names_table(folder, names)


def names_table(folder: Path, names: Mapping[Pred, str]) -> None:
    """Writes `predicates.tsv`, if the name of some predicate differs from its file."""
    if any(name != pred.name for pred, name in names.items()):
        lines = (f"{print_cell(name)}\t{print_cell(pred.name)}\n" for pred, name in names.items())
        (folder / NAMES).write_text("".join(lines), encoding="utf-8", newline="\n")


def write_file(path: Path, pred: Pred, columns: Columns, dictionary: Dictionary, form: OutputForm) -> None:
    """Writes the facts of a predicate as one table."""
    if form.format == "parquet":
        from deltalog.formats.frames import write_parquet

        write_parquet(path, columns, dictionary, form.names(pred))
        return
    from deltalog.formats.jsonl import write_jsonl
    from deltalog.formats.tables import write_table

    with open(path, "wb") as stream:
        if form.format == "jsonl":
            write_jsonl(stream, columns, dictionary)
            return
        stream.write(header_of(pred, form))
        write_table(stream, columns, dictionary, form.format)


def header_of(pred: Pred, form: OutputForm) -> bytes:
    """The header of a table of text, if it is to have one."""
    if not form.header or not pred.arity or form.format not in DELIMITERS:
        return b""
    return (DELIMITERS[form.format].join(map(print_cell, form.names(pred))) + "\n").encode()


def safe_names(preds: Iterable[Pred]) -> dict[Pred, str]:
    """A file name (without ending) for each predicate, all different even where case does not count."""
    names: dict[Pred, str] = {}
    taken = {"predicates"}
    next_numbers: dict[tuple[str, int], int] = {}
    for pred in sorted(preds, key=lambda pred: (not _is_safe(pred.name), pred)):
        name = base = pred.name if _is_safe(pred.name) else _made_safe(pred.name)
        series = base.lower(), pred.arity
        number = next_numbers.get(series, pred.arity)
        while name.lower() in taken:
            name, number = f"{base}-{number}", number + 1
        next_numbers[series] = number
        taken.add(name.lower())
        names[pred] = name
    return names


def _is_safe(name: str) -> bool:
    reserved = r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?"
    is_plain = bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?<!\.)", name)) and not re.fullmatch(reserved, name)
    return is_plain and name_of(Path(name)).stem == name


def _made_safe(name: str) -> str:
    """The last part of an IRI, with everything that is not a letter, digit, - or _ taken out."""
    parts = [part for part in re.split(r"[#/:]", name) if part]
    text = re.sub(r"[^A-Za-z0-9_-]+", "_", parts[-1] if parts else "").strip("_-")[:80]
    return text if text and _is_safe(text) else f"predicate_{text}".rstrip("_")
