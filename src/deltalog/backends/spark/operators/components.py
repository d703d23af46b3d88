"""Connected components by executors, in few rounds (Kiveris et al., Connected Components in MapReduce and Beyond).

Edges are rewired until each vertex has an edge to the least one of its component, and no others:

    large star   the larger neighbours of a vertex are connected to the least of its neighbours and itself
    small star   so are the smaller neighbours, and the vertex itself

A round of both needs two joins and two aggregations; rounds grow with the logarithm of the longest distance.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Cut = Callable[[DataFrame], DataFrame]
Check = Callable[[], None]
A, B = F.col("a"), F.col("b")


def same_component(edges: DataFrame, guarded: bool, cut: Cut, check: Check) -> DataFrame:
    """The pairs of vertices of one component; with a guard, one with itself only where that is an edge."""
    edges = edges.select(F.col("c0").alias("a"), F.col("c1").alias("b"))
    labels = least(edges, cut, check)
    other = labels.select(F.col("vertex").alias("c1"), F.col("label").alias("same"))
    pairs = labels.join(other, F.col("label") == F.col("same")).select(F.col("vertex").alias("c0"), "c1")
    if not guarded:
        return pairs
    loops = edges.where(A == B).select(A.alias("c0"), B.alias("c1"))
    return pairs.where(F.col("c0") != F.col("c1")).unionAll(loops)


def least(edges: DataFrame, cut: Cut, check: Check) -> DataFrame:
    """Each vertex with the least one of its component, as `vertex` and `label`."""
    vertices = edges.select(A.alias("vertex")).unionAll(edges.select(B.alias("vertex"))).distinct()
    stars = _stars(edges.where(A != B), cut, check).select(A.alias("leaf"), B.alias("label"))
    joined = vertices.join(stars, F.col("vertex") == F.col("leaf"), "left")
    return cut(joined.select("vertex", F.coalesce("label", "vertex").alias("label")))


def _stars(edges: DataFrame, cut: Cut, check: Check) -> DataFrame:
    """Edges from every vertex that is not the least of its component to the one that is."""
    before = None
    while True:
        check()
        edges = cut(_small_star(_large_star(edges)))
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
