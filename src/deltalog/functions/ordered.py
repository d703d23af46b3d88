"""Names of functions whose values depend on the order of derivation: only stages evaluate them."""

from __future__ import annotations

COUNTER = "souffle:counter"
ITERATION = "souffle:iteration"
