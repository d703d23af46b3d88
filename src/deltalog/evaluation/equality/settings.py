"""The settings for equality, apart from everything that evaluates it."""

from __future__ import annotations

EQUALITY_SETTINGS = ("representatives", "axioms")
