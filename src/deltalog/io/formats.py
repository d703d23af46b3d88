"""The formats of files: those that are read, by the ending of a file's name, and those that are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalog.syntax.ast import Pred

COMPRESSIONS = (".gz", ".bz2", ".zst")
INPUT_FORMATS = {
    ".nt": "ntriples",
    ".nq": "ntriples",
    ".ttl": "turtle",
    ".trig": "trig",
    ".rdf": "xml",
    ".owl": "xml",
    ".xml": "xml",
    ".csv": "csv",
    ".tsv": "tsv",
    ".facts": "tsv",
    ".parquet": "parquet",
}
DELIMITERS = {"csv": ",", "tsv": "\t"}
TABLE_FORMATS = ("csv", "tsv", "parquet")  # a file contains one predicate, whose name is that of the file
TRIPLE_FORMATS = ("nt", "nq")  # one file contains all predicates; nq has the graphs of triples
OUTPUT_FORMATS = ("csv", "tsv", "nt", "nq", "parquet")


@dataclass(frozen=True, slots=True)
class OutputForm:
    """How facts are written: a format, the names of columns where they have any, and whether tables of text have them
    as a header."""

    format: str
    columns: Mapping[Pred, Sequence[str]] = field(default_factory=dict)
    header: bool = False

    def names(self, pred: Pred) -> list[str]:
        """The names of the columns of a predicate in files."""
        return list(self.columns.get(pred, ())) or [f"c{i}" for i in range(pred.arity)]
