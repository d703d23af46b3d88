"""A value that most rows have: no task decodes far more of them than the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from deltalog import KnowledgeBase
from deltalog.core.tuning import Tuning
from deltalog.engines.spark.io.decode import Decoder
from deltalog.knowledge_base.calls import session_of

LARGE = Tuning(spark_broadcast_max_rows=0)  # the dictionary is joined


@pytest.mark.parametrize("hot", ["hot", 7], ids=["text", "integer"])
def test_rows_of_a_frequent_value_are_decoded_everywhere(
    hot: Any, everything_far: None, spark: Any, tmp_path: Path
) -> None:
    facts = [(f"s{i}", hot if i % 10 else f"rare{i}") for i in range(2000)]
    kb = KnowledgeBase("q(X, Y) :- p(X, Y).", engine="spark", tuning=LARGE)
    kb.add("p", facts)
    kb.materialise()
    table = kb.facts("q").table
    decoded, _ = Decoder.of(table.frame(), ["c0", "c1"], session_of(kb).backend)  # type: ignore[arg-type]
    sizes = [row["count"] for row in decoded.groupBy(F.spark_partition_id()).count().collect()]
    assert sum(sizes) == 2000
    assert max(sizes) < 1300, sizes  # two partitions; all rows of one value would be 1800
    assert set(map(tuple, kb.facts("q").to_spark().collect())) == {(x, str(y)) for x, y in facts}
    kb.write(tmp_path / "out", format="parquet")
    again = KnowledgeBase()
    again.load(tmp_path / "out")
    assert set(again.facts("q")) == set(facts)
