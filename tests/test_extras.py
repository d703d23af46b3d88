"""Without the packages of extras everything else works, and what needs them says how to get them."""

from __future__ import annotations

import subprocess
import sys

EXTRAS = ("pyspark", "pandas", "polars", "sklearn", "starlette", "uvicorn", "rdflib")
PROGRAM = f"""
import sys
for name in {EXTRAS!r}:
    sys.modules[name] = None
from deltalog import KnowledgeBase
kb = KnowledgeBase("path(X, Y) :- edge(X, Y).  path(X, Z) :- path(X, Y), edge(Y, Z).")
kb.add("edge", [("a", "b"), ("b", "c")])
assert len(kb["path"]) == 3 and kb["path"].to_arrow().num_rows == 3
assert len(kb.query("path(a, ?x)")) == 2 and len(kb.sparql("SELECT * {{ ?x <path> ?y }}")) == 3
assert kb.explain("path(a, c)").holds
def said(call):
    try:
        call()
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
print(said(kb["path"].to_pandas))
print(said(kb["path"].to_polars))
print(said(kb["path"].to_spark))
print(said(lambda: KnowledgeBase("", engine="spark")))
"""


def test_without_extras() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], text=True, capture_output=True, timeout=200)
    assert run.stdout.splitlines() == [
        "EngineError: to_pandas needs pandas, which is not installed: pip install 'deltalog[pandas]'",
        "EngineError: to_polars needs polars, which is not installed: pip install 'deltalog[polars]'",
        "EngineError: to_spark needs pyspark, which is not installed: pip install 'deltalog[spark]'",
        "EngineError: the Spark engine needs pyspark, which is not installed: pip install 'deltalog[spark]'",
    ], run.stderr
