"""Executors: the daemon from which Spark forks Python workers, with imports done and kernels loaded.

A new worker then takes milliseconds. Imported objects are frozen: a worker collects garbage after each task, and would
otherwise scan a million objects each time, which takes a tenth of a second. Sessions that deltalog starts use this
daemon (`spark.python.daemon.module`); in other sessions the workers import by themselves. Where there is a zygote (see
`zygote`), it has done the imports, and this process is only its stand-in.
"""

import gc
import io
import sys
import tempfile
from pathlib import Path

from deltalog.backends.spark.startup.zygote import handed_over

LINES = b'<http://a> <http://p> "x" .\n<http://a> <http://a> <http://b> .\n<http://a> <http://q> 1 .\n'
PLAIN = ("http://p", "http://a")  # written as Parquet: for anything but text pyarrow imports pandas


def warm() -> None:
    """Reads, encodes, decodes and writes a few facts, so that all code for that is loaded."""
    import pyspark.sql.conversion
    import pyspark.worker

    from deltalog.backends.spark.io import hashed_ids, read, write
    from deltalog.backends.spark.operators import aggregate
    from deltalog.io import tables
    from deltalog.io.ntriples import read_stream
    from deltalog.io.write import write_file
    from deltalog.model.dictionary import Dictionary

    assert pyspark and aggregate and write and tables
    dictionary = Dictionary()
    facts = read_stream(io.BytesIO(LINES), Path("warm.nt"), dictionary)
    list(read.encoded_blocks(facts, dictionary, 0))
    hashed_ids.intern_terms(dictionary, hashed_ids.fresh_terms(dictionary, 0)[2])
    with tempfile.TemporaryDirectory() as folder:
        for columns in (columns for pred, columns in facts.items() if pred.name in PLAIN):
            write_file(Path(folder) / "warm.parquet", columns, dictionary, "parquet")


def main() -> int | None:
    """Runs as the stand-in, or as the daemon if there is no zygote."""
    code = handed_over()
    if code is not None:
        return code
    from pyspark.daemon import manager

    warm()
    gc.collect()
    gc.freeze()
    manager()
    return None


if __name__ == "__main__":
    sys.exit(main())
