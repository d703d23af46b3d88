"""Names of functions that have a form of their own in the text of rules."""

from __future__ import annotations

from deltalog.core.terms import XSD

COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))
CASTS = tuple(XSD + name for name in ("string", "integer", "decimal", "double", "float", "boolean", "date", "dateTime"))
