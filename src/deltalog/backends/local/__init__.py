"""The local engine: sorted columnar runs in the process, Numba kernels, both cores."""

from deltalog.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
