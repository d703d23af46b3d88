"""Versions of kernels that are written for Python, by the names of their modules (see `kernels.compiling`)."""
