"""Pipelines on Spark: `materialise` for DataFrames, `Pipeline` for pipeline files, states as stores.

See docs/pipelines.md. Importing this loads no PySpark.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalog.apps.pipelines.materialise_frames import materialise
    from deltalog.apps.pipelines.report import PipelineReport
    from deltalog.apps.pipelines.run import Pipeline
    from deltalog.apps.pipelines.store_state import export_store, import_state

__all__ = ["Pipeline", "PipelineReport", "export_store", "import_state", "materialise"]
_MODULES = {
    "Pipeline": "run",
    "PipelineReport": "report",
    "export_store": "store_state",
    "import_state": "store_state",
    "materialise": "materialise_frames",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"deltalog.apps.pipelines.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'deltalog.spark' has no attribute {name!r}")
