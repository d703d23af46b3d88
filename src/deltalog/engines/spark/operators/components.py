"""JVM (Spark SQL): connected components in few rounds (Kiveris et al., Connected Components in MapReduce and Beyond).

Edges are rewired until each vertex has an edge to the least vertex of its component, and no other edge:

    large star   connects the larger neighbours of a vertex to the least of its neighbours and itself
    small star   connects the smaller neighbours of a vertex, and the vertex itself, to the least of them

A round of both has two joins and two aggregations. The number of rounds grows with the logarithm of the diameter.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Checkpoint = Callable[[DataFrame], DataFrame]
Check = Callable[[], None]
A, B = F.col("a"), F.col("b")


def same_component(edges: DataFrame, guarded: bool, checkpoint: Checkpoint, check: Check) -> DataFrame:
    """The pairs of vertices of the same component; with a guard, a vertex with itself only if that is an edge."""
    edges = edges.select(F.col("c0").alias("a"), F.col("c1").alias("b"))
    labels = component_labels(edges, checkpoint, check)
    other = labels.select(F.col("vertex").alias("c1"), F.col("label").alias("same"))
    pairs = labels.join(other, F.col("label") == F.col("same")).select(F.col("vertex").alias("c0"), "c1")
    if not guarded:
        return pairs
    loops = edges.where(A == B).select(A.alias("c0"), B.alias("c1"))
    return pairs.where(F.col("c0") != F.col("c1")).unionAll(loops)


def component_labels(edges: DataFrame, checkpoint: Checkpoint, check: Check) -> DataFrame:
    """Each vertex with the least vertex of its component, as `vertex` and `label`."""
    vertices = edges.select(A.alias("vertex")).unionAll(edges.select(B.alias("vertex"))).distinct()
    stars = _stars(edges.where(A != B), checkpoint, check).select(A.alias("leaf"), B.alias("label"))
    joined = vertices.join(stars, F.col("vertex") == F.col("leaf"), "left")
    return checkpoint(joined.select("vertex", F.coalesce("label", "vertex").alias("label")))


def _stars(edges: DataFrame, checkpoint: Checkpoint, check: Check) -> DataFrame:
    """Edges from each vertex to the least vertex of its component, without loops."""
    before = None
    while True:
        check()
        edges = checkpoint(_small_star(_large_star(edges)))
        now = edges.agg(F.count(F.lit(1)), F.bit_xor(F.xxhash64("a", "b"))).collect()[0]
        if now == before:
            return edges
        before = now


def _large_star(edges: DataFrame) -> DataFrame:
    both = edges.select("a", "b").unionAll(edges.select(B.alias("a"), A.alias("b")))
    centre = both.groupBy(A.alias("at")).agg(F.min("b").alias("least"))
    wired = both.where(A < B).join(centre, F.col("at") == A)
    return wired.select(B.alias("a"), F.least("least", "at").alias("b")).where(A != B).distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    down = edges.select(F.greatest("a", "b").alias("a"), F.least("a", "b").alias("b"))
    centre = down.groupBy(A.alias("at")).agg(F.min("b").alias("least"))
    wired = down.join(centre, F.col("at") == A).select(B.alias("a"), F.col("least").alias("b"))
    return wired.unionAll(centre.select(F.col("at").alias("a"), F.col("least").alias("b"))).where(A != B).distinct()
