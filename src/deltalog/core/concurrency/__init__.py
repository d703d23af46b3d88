"""Locks, lazily computed attributes and interrupts, for threads and forked processes."""
