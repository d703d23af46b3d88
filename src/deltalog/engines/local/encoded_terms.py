"""The terms of an atom with ids for its constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltalog.core.rules import Term, Variable

EncodedTerms = tuple[Variable | int, ...]
EncodeTerms = Callable[[Sequence[Term]], EncodedTerms]
