"""The languages that programs may be in; "auto" decides by the text and by the name of the file."""

from __future__ import annotations

LANGUAGES = ("auto", "deltalog", "souffle", "nemo", "rif")
