"""The file of an `@output`: the facts of one predicate, in the format that the ending of its name says.

Backends write folders (`deltalog.formats.write`); so the file is written in a hidden folder beside its place, and takes
its place, or that of an older file, when it is complete.
"""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from deltalog.core.dictionary import Dictionary
from deltalog.core.errors import DataError
from deltalog.core.rules import Pred
from deltalog.formats.files import local_path
from deltalog.formats.formats import COMPRESSIONS, TRIPLE_FORMATS, OutputForm
from deltalog.formats.named_file import NamedFile
from deltalog.formats.table_files import NAMES

if TYPE_CHECKING:
    from deltalog.evaluation.goals.contents import Contents


def write_named(file: NamedFile, pred: Pred, names: Sequence[str], contents: Contents[Any]) -> Path:
    """Writes the facts of a predicate to the place of a file; the place."""
    place = local_path(file.place)
    form = OutputForm(_format(place), {pred: names} if names else {}, file.options.header is True, contents.prefixes)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".deltalog-", dir=place.parent))
        try:
            os.replace(_compressed(_written(aside, pred, form, contents), place), place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as problem:
        raise DataError(f"{place}: cannot be written ({problem.strerror or problem})") from None
    return place


def _format(place: Path) -> str:
    name = place.name.lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    return name.rpartition(".")[2]


def _written(aside: Path, pred: Pred, form: OutputForm, contents: Contents[Any]) -> Path:
    """The one file that there is then in a folder."""
    table, backend = contents.table(pred), contents.backend
    if not backend.size(table):
        return _empty(aside / "empty", pred, form)
    backend.codec.write(aside / "facts", {pred: table}, form)
    return next(path for path in (aside / "facts").iterdir() if path.name != NAMES)


def _empty(path: Path, pred: Pred, form: OutputForm) -> Path:
    from deltalog.formats.write import write_file

    if form.format in TRIPLE_FORMATS or (form.format != "parquet" and not form.header):
        path.touch()
    else:
        write_file(path, pred, [np.empty(0, np.uint32)] * pred.arity, Dictionary(), form)
    return path


def _compressed(path: Path, place: Path) -> Path:
    """The file, compressed if the name of its place says so."""
    openers: dict[str, Callable[[Path, str], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _zstd}
    opener = openers.get(place.suffix.lower())
    if opener is None:
        return path
    packed = path.with_name("packed")
    with path.open("rb") as file, opener(packed, "wb") as out:
        shutil.copyfileobj(file, out, 1 << 20)
    return packed


def _zstd(path: Path, mode: str) -> IO[bytes]:
    import pyarrow as pa

    return pa.CompressedOutputStream(pa.OSFile(str(path), mode), "zstd")  # type: ignore[no-any-return]
