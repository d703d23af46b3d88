"""Numba functions over arrays. They know nothing of Datalog."""

from deltalog.kernels import compiling  # noqa: F401  (it says when kernels are compiled)
