"""The functions of Nemo's language by their upper-case names, and ours for each."""

from __future__ import annotations

from deltalog.functions.function import NEMO as LANGUAGE
from deltalog.functions.registry import aggregates_named, named

_SIGN = "INVERTSIGN"
_NAMED = named(LANGUAGE)
AGGREGATES = tuple(aggregates_named(LANGUAGE))
NEMO = {**{name: function.name for name, function in _NAMED.items()}, _SIGN: "-"}


def arguments(name: str) -> tuple[int, int]:
    """The least and the greatest number of arguments of one of Nemo's functions."""
    return (1, 1) if name == _SIGN else (_NAMED[name].least, _NAMED[name].most)
