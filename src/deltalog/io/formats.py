"""The formats of files: those that are read, by the ending of a file's name, and those that are written."""

from __future__ import annotations

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
TABLE_FORMATS = ("csv", "tsv", "parquet")  # a file contains one predicate, whose name is that of the file
TRIPLE_FORMATS = ("nt", "nq")  # one file contains all predicates; nq has the graphs of triples
OUTPUT_FORMATS = ("csv", "tsv", "nt", "nq", "parquet")
