"""Does deltalog run on each supported version of Spark? `python -m benchmarks.spark_versions [VERSION]...`

For each version, an environment of its own with that pyspark (below `--folder`; one that is there is used again), and
in it one case on a session of the user's with the web UI and adaptive execution: files that executors read, recursion,
negation, aggregates and expressions in executors, a DataFrame in and out, metrics of jobs; an update; and a pipeline
with state, with a second run over a new file. The facts must be those of the local engine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

VERSIONS = ("4.0", "4.1", "4.2", "4.3")
ROOT = Path(__file__).parent.parent
NEEDED = ("lark", "numba", "numpy", "pandas>=2.2,<3", "pyarrow", "pyoxigraph")
PROGRAM = """
path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).
far(X, N) :- AGGREGATE(path(X, Y) ON X BIND COUNT(Y) AS N).
end(X, M) :- path(_, X), NOT edge(X, _), size(X, W), BIND(W * 2 AS M).
"""
PIPELINE = """
rules = ["rules.dl"]
state = "state"
[sources.edge]
format = "csv"
path = "edges"
schema = "x string, y string"
changes = "files"
[sources.size]
format = "csv"
path = "size.csv"
schema = "x string, s double"
[sinks.end]
path = "end"
mode = "overwrite"
[sinks.path]
path = "changes"
changes = true
"""
SECONDS = 900


def main() -> int:
    """Runs the case on each version and prints one line for each; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "deltalog-spark-versions")
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(case(options.case)))
        return 0
    failed = [version for version in options.versions if not is_fine(version, options.folder)]
    return 1 if failed else 0


def is_fine(version: str, folder: Path) -> bool:
    python = environment(version, folder)
    with tempfile.TemporaryDirectory() as data:
        command = [str(python), "-m", "benchmarks.spark_versions", "--case", data]
        more = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYSPARK_PYTHON": str(python)}
        run = subprocess.run(
            command, env=os.environ | more, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    said = run.stdout.splitlines()[-1:] if run.returncode == 0 else run.stderr.splitlines()[-3:]
    print(f"{version}: {'fine' if run.returncode == 0 else 'FAILED'}: {' | '.join(said)}", flush=True)
    return run.returncode == 0


def environment(version: str, folder: Path) -> Path:
    """The Python of an environment with that version of pyspark."""
    place = folder / f"spark-{version}"
    python = place / "bin" / "python"
    if not python.exists():
        uv = [sys.executable, str(ROOT / "uvw")]
        subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(place)], check=True)
        install = [*uv, "pip", "install", "--quiet", "--python", str(python), f"pyspark=={version}.*", *NEEDED]
        subprocess.run(install, check=True, cwd=folder)
    return python


def case(folder: Path) -> dict[str, Any]:
    """What the Spark engine does with the program; AssertionError if it differs from the local engine."""
    from pyspark.sql import SparkSession

    from deltalog import KnowledgeBase

    settings = {"spark.deltalog.driverBudget": "0", "spark.deltalog.driverTableRows": "0"}
    builder = SparkSession.builder.master("local[2]").config(map=settings | {"spark.sql.shuffle.partitions": "2"})
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    (folder / "edge.csv").write_text("".join(f"n{i},n{i + 1}\n" for i in range(2)))
    sizes = [(f"n{i}", i / 2) for i in range(3)]
    found, kbs = {}, []
    for engine in ("local", "spark"):
        kb = KnowledgeBase(PROGRAM, engine=engine, spark=spark if engine == "spark" else None)
        kbs.append(kb)
        kb.load(folder / "edge.csv")
        kb.add("size", spark.createDataFrame(sizes, "x string, s double") if engine == "spark" else sizes)
        kb.materialise()
        found[engine] = {name: sorted(kb.facts(name)) for name in kb.predicates}
    assert found["spark"] == found["local"], found
    rows = kb.facts("end").to_spark().collect()
    assert sorted(map(tuple, rows)) == found["local"]["end"], rows
    changes = [each.update(remove={"edge": [("n0", "n1")]}) for each in kbs]
    removed = [{name: sorted(facts) for name, facts in change.removed.items()} for change in changes]
    assert removed[0] == removed[1], removed
    ran_pipeline(folder, spark)
    metrics = kb.metrics()
    assert metrics["jobs"] > 5 and metrics["shuffle_bytes"] > 0, metrics
    facts = sum(map(len, found["spark"].values()))
    answer = {"spark": spark.version, "python": sys.version.split()[0], "facts": facts, **metrics}
    spark.stop()
    return answer


def ran_pipeline(folder: Path, spark: Any) -> None:
    """Runs a pipeline twice; AssertionError if it does not write what there is to write."""
    from deltalog.spark import Pipeline

    (folder / "edges").mkdir()
    for name, text in (("pipeline.toml", PIPELINE), ("rules.dl", PROGRAM), ("size.csv", "n1,0.5\nn2,1\n")):
        (folder / name).write_text(text)
    for version, (edge, end, paths) in enumerate((("n0,n1", ("n1", 1.0), 1), ("n1,n2", ("n2", 2.0), 3)), 1):
        (folder / "edges" / f"{version}.csv").write_text(f"{edge}\n")
        report = Pipeline.from_file(folder / "pipeline.toml").run(spark)
        assert report.version == version, report
        written = [tuple(row) for row in spark.read.parquet(f"{folder}/end").collect()]
        assert written == [end], written
        assert spark.read.parquet(f"{folder}/changes").count() == paths


if __name__ == "__main__":
    sys.exit(main())
