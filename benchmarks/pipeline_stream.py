"""A stream over a large state: `python -m benchmarks.pipeline_stream [--lubm 5] [--batches 1000] [--facts 20]`.

LUBM with program L is the state of a pipeline. Then a stream of files, one in each micro-batch, adds and removes facts
of `takesCourse` in turn; the students that follow are a sink of changes. Reported are the seconds until the state is
there, and of the batches: how many there are in a second, the median and the 99th percentile of their seconds (as
Spark's own progress tells them), and the memory of the driver and its JVM after each tenth of them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from pyspark.sql.streaming import StreamingQueryListener

from benchmarks.generators import lubm
from deltalog.engines.spark.startup.session import session
from deltalog.spark import Pipeline

PROGRAM = Path(__file__).parent / "programs" / "lubm_l.dl"
ONTOLOGY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
PIPELINE = """
rules = ["{program}"]
state = "state"
{stream}
[sources.base]
format = "ntriples"
path = "data.nt"
changes = "files"
[sinks.students]
predicate = "{ontology}Student"
path = "students"
changes = true
"""
STREAM = """
[sources.taken]
predicate = "{ontology}takesCourse"
stream = true
format = "csv"
path = "batches"
schema = "student string, course string, op string"
columns = [{{ column = "student", type = "iri" }}, {{ column = "course", type = "iri" }}]
options = {{ maxFilesPerTrigger = 1 }}
changes = {{ operation = "op" }}
"""


class Progress(StreamingQueryListener):
    """Notes the seconds of each micro-batch with rows, and the memory of the processes now and then."""

    def __init__(self, every: int) -> None:
        self.seconds, self.bytes, self.every = list[float](), list[int](), every

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        if event.progress.numInputRows:
            self.seconds.append(event.progress.batchDuration / 1000)
            if len(self.seconds) % self.every == 0:
                self.bytes.append(family_bytes())

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None: ...


def family_bytes() -> int:
    """The resident memory of this process and of all that it started and that live."""
    found: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = (int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return sum(size for pid, (_, size) in found.items() if pid in family)


def write_batches(folder: Path, batches: int, facts: int) -> None:
    """Files that add facts of new students, and remove them again."""
    folder.mkdir()
    start = time.time() - batches
    for number in range(batches):
        way, first = "D" if number % 2 else "I", facts * (number // 2)
        lines = (
            f"http://example.org/student{i},http://example.org/course{i % 50},{way}\n"
            for i in range(first, first + facts)
        )
        path = folder / f"{number:06}.csv"
        path.write_text("".join(lines))
        os.utime(path, (start + number, start + number))  # Spark reads older files first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lubm", type=int, default=5)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--facts", type=int, default=20)
    arguments = parser.parse_args()
    spark = session()
    progress = Progress(max(1, arguments.batches // 10))
    spark.streams.addListener(progress)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lubm.write(arguments.lubm, folder / "data.nt")
        write_batches(folder / "batches", arguments.batches, arguments.facts)
        for stream in ("", STREAM.format(ontology=ONTOLOGY)):
            text = PIPELINE.format(program=PROGRAM, ontology=ONTOLOGY, stream=stream)
            (folder / "pipeline.toml").write_text(text)
            started = time.perf_counter()
            report = Pipeline.from_file(folder / "pipeline.toml").run(spark)
            what = "the stream" if stream else "the state"
            taken = time.perf_counter() - started
            print(f"{what}: {taken:.1f} s, version {report.version}, {sum(report.facts.values()):,} facts", flush=True)
    seconds = progress.seconds
    rate = len(seconds) / taken
    print(f"{len(seconds)} batches: {rate:.2f} a second, {rate * arguments.facts:.0f} facts a second")
    print(f"a batch: median {median(seconds):.2f} s, 99th percentile {quantiles(seconds, n=100)[98]:.2f} s")
    print("memory (MB):", *(size // 2**20 for size in progress.bytes))


if __name__ == "__main__":
    main()
