"""Pipelines on Spark: `materialise` for DataFrames, `Pipeline` for pipeline files. See docs/pipelines.md.

Importing this loads no PySpark.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalog.spark.materialise_frames import materialise
    from deltalog.spark.report import PipelineReport
    from deltalog.spark.run import Pipeline

__all__ = ["Pipeline", "PipelineReport", "materialise"]
_MODULES = {"Pipeline": "run", "PipelineReport": "report", "materialise": "materialise_frames"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"deltalog.spark.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'deltalog.spark' has no attribute {name!r}")
