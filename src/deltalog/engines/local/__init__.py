"""The local engine: sorted columnar runs in the process, Numba kernels, all cores."""

from deltalog.engines.local.backend import LocalBackend

__all__ = ["LocalBackend"]
