"""Packages that not everybody needs: they come with an extra of deltalog."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deltalog.core.errors import EngineError


def extra_package(package: str, extra: str, what: str) -> Any:
    """A package; EngineError that says how to get it if it is not installed. `what` needs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as missing:
        if missing.name is not None and missing.name.partition(".")[0] != package.partition(".")[0]:
            raise
        name = package.partition(".")[0]
        raise EngineError(f"{what} needs {name}, which is not installed: pip install 'deltalog[{extra}]'") from None
