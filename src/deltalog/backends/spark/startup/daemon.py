"""The daemon that Spark forks Python workers from, with what they need imported, and the kernels loaded, once.

A new worker then costs milliseconds. All of that is frozen: a worker collects garbage after each task, and would look
at a million objects of imported modules each time, which takes a tenth of a second. Our own sessions use this daemon
(`spark.python.daemon.module`); in others the workers import by themselves. Where there is a zygote (see `zygote`), it
has imported already, and this process is only its stand-in.
"""

import gc
import io
import sys
import tempfile
from pathlib import Path

from deltalog.backends.spark.startup.zygote import handed_over

LINES = b'<http://a> <http://p> "x" .\n<http://a> <http://a> <http://b> .\n<http://a> <http://q> 1 .\n'
PLAIN = ("http://p", "http://a")  # what is written: for anything but texts pyarrow imports pandas


def warm() -> None:
    """Reads, encodes, decodes and writes a few facts, so that all that this takes is in memory."""
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
    list(read._sent(facts, dictionary, 0, 1))
    hashed_ids.intern_terms(dictionary, hashed_ids.fresh_terms(dictionary, 0)[2])
    with tempfile.TemporaryDirectory() as folder:
        for columns in (columns for pred, columns in facts.items() if pred.name in PLAIN):
            write_file(Path(folder) / "warm.parquet", columns, dictionary, "parquet")


def main() -> int | None:
    """The stand-in's or the daemon's life."""
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
