"""Pipelines on Spark: specifications, checks, runs, sources and sinks, state, reports (`deltalog.spark` is public)."""
