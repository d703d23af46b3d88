"""The functions of Nemo's language by their upper-case names, and ours for each.

Those that mean something else than ours of that name are `nemo_...` (`deltalog.functions.nemo_functions`).
"""

from __future__ import annotations

from deltalog.functions.signatures import FOREIGN, arguments_of

# Names of operators, which NOT(NUMLESS(?x, 3)) and its like need.
COMPARISONS: dict[str, str] = {
    "EQUALITY": "=",
    "UNEQUALITY": "!=",
    "NUMGREATER": ">",
    "NUMGREATEREQ": ">=",
    "NUMLESS": "<",
    "NUMLESSEQ": "<=",
}
_ARITHMETIC = {"SUBTRACTION": "-", "DIVISION": "nemo_div", "INVERTSIGN": "-"}
NEMO: dict[str, str] = {
    "/": "nemo_div",
    "ABS": "abs",
    "CEIL": "ceil",
    "FLOOR": "floor",
    "ISIRI": "isiri",
    "ISNULL": "isblank",
    "STRLANG": "strlang",
    **{name.removeprefix("nemo_").upper(): name for name in FOREIGN if name != "nemo_div"},
    **_ARITHMETIC,
    **COMPARISONS,
}


def arguments(name: str) -> tuple[int, int]:
    """The least and the greatest number of arguments of one of Nemo's functions."""
    if name in _ARITHMETIC or name in COMPARISONS:
        return (1, 1) if name == "INVERTSIGN" else (2, 2)
    return arguments_of(NEMO[name])
