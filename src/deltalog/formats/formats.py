"""The formats of files: those that are read, by the ending of a file's name, and those that are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalog.core.rules import Pred

COMPRESSIONS = (".gz", ".bz2", ".zst")
INPUT_FORMATS = {
    ".nt": "ntriples",
    ".nq": "ntriples",
    ".ttl": "turtle",
    ".trig": "trig",
    ".jsonld": "jsonld",
    ".rdf": "xml",
    ".owl": "xml",
    ".xml": "xml",
    ".csv": "csv",
    ".tsv": "tsv",
    ".facts": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
DELIMITERS = {"csv": ",", "tsv": "\t"}
TABLE_FORMATS = ("csv", "tsv", "parquet", "jsonl")  # a file contains one predicate, whose name is that of the file
TRIPLE_FORMATS = ("nt", "nq", "ttl", "trig")  # one file contains all predicates
GRAPH_FORMATS = ("nq", "trig")  # which have the graphs of triples
TURTLE_FORMATS = ("ttl", "trig")
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet", *TRIPLE_FORMATS)


@dataclass(frozen=True, slots=True)
class OutputForm:
    """How facts are written: a format, the names of columns where they have any, whether tables of text have them as a
    header, and the prefixes of Turtle."""

    format: str
    columns: Mapping[Pred, Sequence[str]] = field(default_factory=dict)
    header: bool = False
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def names(self, pred: Pred) -> list[str]:
        """The names of the columns of a predicate in files."""
        return list(self.columns.get(pred, ())) or [f"c{i}" for i in range(pred.arity)]
