"""How files are read; and RDF documents: global names for the blank nodes and relative IRIs of a file.

A file is a document, and its IRI is the `file:` URL of its absolute path. In RDF a blank-node label means something
inside one document only, so the node `_:x` of a file is called `f<16 hexadecimal digits of the IRI's hash>_x` here, and
the n-th node without a label (`[]` in Turtle) `f<...>-n`. The names depend only on the path: they are the same in every
engine, and loading a file again adds no second copy of its nodes.

Labels stay as they are where a reader is told that its files share them (they were cut from one document), and in
N-Triples that deltalog wrote, which begin with the line MARK: those labels are the knowledge base's own names.

Relative IRIs in Turtle and RDF/XML are resolved against the base that the reader was given, or else against the IRI of
the document. N-Triples and N-Quads have none by the standard; there a relative IRI is read as the name that it is in a
program, unless the reader is strict.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from deltalog.core.arguments import short_repr
from deltalog.core.errors import UsageError
from deltalog.core.table_options import DEFAULT_TABLES, TableKeywords, TableOptions, TableSettings
from deltalog.core.tuning import Tuning
from deltalog.formats.files import local_path
from deltalog.formats.named_file import NamedFile

if TYPE_CHECKING:
    from deltalog.formats.subjects import SubjectCheck

MARK = b"# deltalog: blank nodes by their global names\n"
HASH_BYTES = 8  # two of a million files have the same hash with a probability of 3e-8
_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f-\x9f<>\"{}|^`\\]*")


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read.

    base: the IRI against which relative IRIs are resolved, instead of the file's own.
    shared_blank_nodes: whether a label means the same node in all files.
    strict: whether N-Triples and N-Quads with relative IRIs, bare numbers or booleans are refused, and graphs in `.nt`.
    graphs: whether the graphs of quads are kept; without them a quad is a triple.
    tables: how tables are read; the other options are those of RDF files.
    max_depth: how many elements of RDF/XML, or objects and arrays of JSON-LD, may be nested.
    subjects: checks the subjects of triples in tables; None where facts are removed.
    """

    base: str | None = None
    shared_blank_nodes: bool = False
    strict: bool = False
    graphs: bool = True
    tables: TableSettings = DEFAULT_TABLES
    max_depth: int = Tuning().rdf_max_depth
    subjects: SubjectCheck | None = None

    def __post_init__(self) -> None:
        if self.base is not None and not (isinstance(self.base, str) and _ABSOLUTE_IRI.fullmatch(self.base)):
            raise UsageError(
                f"the base {short_repr(self.base)} is not an absolute IRI, such as http://example.org/data"
            )

    def base_of(self, path: Path) -> str:
        """The base IRI of a file."""
        return document_iri(path) if self.base is None else self.base

    def label_prefix(self, path: Path) -> str:
        """The prefix of the blank-node labels of a file."""
        return "" if self.shared_blank_nodes else document_name(path) + "_"


DEFAULT = Reading()


@dataclass(frozen=True, slots=True)
class Files:
    """Files and folders of facts, and how they are read."""

    paths: tuple[Path, ...]
    reading: Reading = DEFAULT

    @classmethod
    def of(
        cls,
        *paths: str | PathLike[str],
        base: str | None = None,
        shared_blank_nodes: bool = False,
        strict: bool = False,
        graphs: bool = True,
        predicate: str | None = None,
        **table: Unpack[TableKeywords],
    ) -> Files:
        """Files and folders of this machine; the options are those of `KnowledgeBase.load`."""
        if predicate is not None and (not isinstance(predicate, str) or not predicate):
            raise UsageError(f"predicate is the name of a predicate, such as 'edge', and not {predicate!r}")
        tables = TableSettings(TableOptions.of(table), predicate=predicate)
        return cls(tuple(map(local_path, paths)), Reading(base, shared_blank_nodes, strict, graphs, tables))

    @classmethod
    def named(cls, file: NamedFile) -> Files:
        """The file that a program reads."""
        tables = TableSettings(file.options, predicate=file.predicate)
        return cls((local_path(file.place),), Reading(tables=tables))

    @property
    def named_paths(self) -> tuple[Path, ...]:
        """The paths, and one with the name of the predicate that tables are asked to have, if there is one."""
        predicate = self.reading.tables.predicate
        return self.paths if predicate is None else (*self.paths, Path(f"{predicate}.csv"))

    def checking_subjects(self, prefixes: Mapping[str, str]) -> Files:
        """The same files, to be added: tables may have no literal as the subject of a triple."""
        from deltalog.formats.subjects import SubjectCheck

        check = SubjectCheck(prefixes)
        return replace(self, reading=replace(self.reading, subjects=check))

    def over(self, settings: TableSettings) -> Files:
        """The same files, with settings of tables where the options of the call say nothing."""
        if settings is DEFAULT_TABLES:
            return self
        return replace(self, reading=replace(self.reading, tables=settings.beneath(self.reading.tables)))


def document_iri(path: Path) -> str:
    """The IRI of a file."""
    return Path(os.path.abspath(path)).as_uri()


def document_name(path: Path) -> str:
    """A name for a file that can stand at the beginning of a blank-node label."""
    return "f" + blake2b(document_iri(path).encode(), digest_size=HASH_BYTES).hexdigest()
