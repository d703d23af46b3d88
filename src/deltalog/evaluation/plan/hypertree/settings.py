"""The values of the setting `cyclic=`, which determines the rules that are evaluated by a decomposition (`choose`)."""

from __future__ import annotations

CYCLIC_SETTINGS = ("combined", "standard", "hypertree")
