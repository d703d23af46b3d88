"""Pipelines on Spark: `materialise` for DataFrames, `Pipeline` for pipeline files. See docs/pipelines.md."""
