"""The formats of files: those that are read, by the ending of a file's name, and those that are written."""

from __future__ import annotations

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
TABLE_FORMATS = ("csv", "tsv", "parquet", "jsonl")  # a file contains one predicate, whose name is that of the file
TRIPLE_FORMATS = ("nt", "nq", "ttl", "trig")  # one file contains all predicates
GRAPH_FORMATS = ("nq", "trig")  # which have the graphs of triples
TURTLE_FORMATS = ("ttl", "trig")
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "parquet", *TRIPLE_FORMATS)
